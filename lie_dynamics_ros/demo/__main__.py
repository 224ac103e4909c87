"""Watch the nodes at work: ``make demo``, or ``ros2 run lie_dynamics_ros demo``.

Starts simulated drivers and nodes as separate processes over DDS, in a ROS domain of their own on this machine: a robot
that follows a trajectory, picks up a payload that its controller does not know, and learns it; an arm whose joint
states become torques; and a Stewart platform whose leg lengths become poses. Shows what happens while they run, checks
it, holds every torque against the library and every pose against the truth, and draws them.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..core.errors import NodeError
from ..lie_dynamics import LieDynamicsError, Model
from ..ros.inputs.model_loading import read_description
from ..ros.node.domain import DomainReservation
from . import processes
from .arm import ArmShowcase
from .control import ControlShowcase
from .processes import Children, ShortfallError
from .showcase import Showcase
from .stewart import StewartShowcase
from .watch import Reports, await_browser, check_view, start_view, watch

OWN_ROBOT = "package://lie_dynamics_ros/urdf/panda_arm.urdf"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; returns 0 where everything was as it should be."""
    options = _parse(argv)
    processes.catch_signals()
    try:
        return _demo(options)
    except KeyboardInterrupt:
        print("\ninterrupted; all processes ended", file=sys.stderr)
        return 130
    except (ShortfallError, NodeError, LieDynamicsError, OSError) as error:
        print(f"\ndemo failed: {error}", file=sys.stderr)
        return 1


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--urdf", default=OWN_ROBOT, help="robot: URDF file, file:// or package:// URI")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=100.0, help="joint states per second (default: %(default)s)")
    parser.add_argument(
        "--inertia-check",
        choices=("error", "warn", "ignore"),
        default="error",
        help="what to do with links whose inertia no body can have (default: %(default)s)",
    )
    parser.add_argument("--view", action="store_true", help="show it on a page in the browser, too (wants viser)")
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for pictures")
    return parser.parse_args(argv)


def _demo(options: argparse.Namespace) -> int:
    if options.view:
        check_view()
    source = options.urdf if "://" in options.urdf else str(Path(options.urdf).expanduser().resolve())
    description = read_description(source)
    model = Model.from_urdf(description, inertia_check=options.inertia_check)
    if not model.nv or any(joint.kind not in ("revolute", "continuous", "prismatic") for joint in model.joints):
        raise ShortfallError("the robot needs at least one moving joint, and only joints with one coordinate")
    print(f"robot {model.name}: {model.nv} joints, from {options.urdf}")
    if "://" not in source:  # meshes of package:// beside the file, for the viewer
        folders = [os.environ.get("ROS_PACKAGE_PATH", ""), *map(str, Path(source).parents)]
        os.environ["ROS_PACKAGE_PATH"] = os.pathsep.join(filter(None, folders))
    showcases: list[Showcase] = [
        ArmShowcase(model, source, options.rate, options.inertia_check),
        StewartShowcase(options.rate),
    ]
    known = options.urdf == OWN_ROBOT  # learning takes longer, and shows less, with some robots
    if not known:
        print("trying out whether its control can be shown ...", flush=True)
    try:
        showcases.insert(0, ControlShowcase(model, source, options.inertia_check, options.seconds, known))
    except ShortfallError as reason:
        print(f"control is not shown: {reason}")
    reservation = DomainReservation()
    reservation.apply(os.environ)
    with tempfile.TemporaryDirectory(prefix="lie_dynamics_demo_") as directory:
        os.environ["ROS_LOG_DIR"] = directory
        with Children(Path(directory)) as children:
            names = ", ".join(name.rpartition("/")[2] for showcase in showcases for name in showcase.nodes)
            print(f"starting {names} as processes in ROS domain {reservation.domain} ...")
            for showcase in showcases:
                showcase.start(children)
            if options.view:
                print(f"watch it at {start_view(showcases, children)}")
                await_browser()
            reports = watch(showcases, children, options.seconds)
            failed = {node: code for node, code in children.stop().items() if code}
            shortfalls = reports.faults()
            for node, code in failed.items():
                shortfalls.append(f"{node} ended with exit code {code}; it printed\n{children.output(node)}")
    return _conclude(showcases, options.output, reports, shortfalls)


def _conclude(showcases: Sequence[Showcase], folder: Path, reports: Reports, shortfalls: list[str]) -> int:
    figures = reports.figures()
    for showcase in showcases:
        showcase.recorder.tape.play()  # where messages came faster than they could be read
        conclusion = showcase.conclude(folder, figures)
        print("", *conclusion.lines, sep="\n")
        shortfalls += [f"{showcase.title}: {shortfall}" for shortfall in conclusion.shortfalls]
    if remarks := reports.remarks():
        print("", *(f"the machine was late: {remark}" for remark in remarks), sep="\n")
    if shortfalls:
        print("\ndemo failed:", *shortfalls, sep="\n  - ", file=sys.stderr)
        return 1
    print("\ndemo passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
