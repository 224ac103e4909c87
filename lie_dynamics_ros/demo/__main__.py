"""Watch the inverse_dynamics node turn joint states into torques: ``make demo``, or ``ros2 run lie_dynamics_ros demo``.

Starts a simulated driver and the node as separate processes over DDS, in a ROS domain of their own on this machine,
shows rate, latency and torques while they run, compares every torque with the library, and draws them.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..lie_dynamics import LieDynamicsError, Model
from ..ros.domain import DomainReservation
from ..ros.errors import NodeError
from ..ros.robot_description import read_description
from .check import Verdict, judge
from .processes import Children
from .recorder import ShortfallError
from .watch import watch

OWN_ROBOT = "package://lie_dynamics_ros/urdf/panda_arm.urdf"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; returns 0 where everything was as it should be."""
    options = _parse(argv)
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    try:
        return _demo(options)
    except KeyboardInterrupt:
        print("\ninterrupted; all processes ended", file=sys.stderr)
        return 130
    except (ShortfallError, NodeError, LieDynamicsError, OSError) as error:
        print(f"\ndemo failed: {error}", file=sys.stderr)
        return 1


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--urdf", default=OWN_ROBOT, help="robot: URDF file, file:// or package:// URI")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=250.0, help="joint states per second (default: %(default)s)")
    parser.add_argument(
        "--inertia-check",
        choices=("error", "warn", "ignore"),
        default="error",
        help="what to do with links whose inertia no body can have (default: %(default)s)",
    )
    parser.add_argument("--output", type=Path, default=Path("demo_output/torques.png"), help="picture to write")
    return parser.parse_args(argv)


def _demo(options: argparse.Namespace) -> int:
    source = options.urdf if "://" in options.urdf else str(Path(options.urdf).expanduser().resolve())
    description = read_description(source)
    model = Model.from_urdf(description, inertia_check=options.inertia_check)
    if not model.nv or any(joint.kind not in ("revolute", "continuous", "prismatic") for joint in model.joints):
        raise ShortfallError("the robot needs at least one moving joint, and only joints with one coordinate")
    print(f"robot {model.name}: {model.nv} joints, from {options.urdf}")
    reservation = DomainReservation()
    reservation.apply(os.environ)
    with tempfile.TemporaryDirectory(prefix="lie_dynamics_demo_") as directory:
        os.environ["ROS_LOG_DIR"] = directory
        with Children(Path(directory)) as children:
            print(f"starting simulated_robot and inverse_dynamics as processes in ROS domain {reservation.domain} ...")
            points, efforts = "/inverse_dynamics/joint_trajectory_point", "/inverse_dynamics/joint_efforts"
            both = {"inertia_check": options.inertia_check}
            driver = {"robot_description": source, "rate": options.rate, **_kept("/joint_states", points), **both}
            children.start("simulated_robot", driver, {"~/joint_trajectory_point": points})
            children.start("inverse_dynamics", {**_kept(efforts), **both}, {})
            recorder = watch(model, children, options.seconds)
            codes = children.stop()
    verdict = judge(recorder, model)
    verdict.shortfalls += sorted(recorder.errors)
    verdict.shortfalls += [f"{node} ended with exit code {code}" for node, code in codes.items() if code]
    return _conclude(options, model, verdict, recorder.reported("inverse_dynamics"))


def _kept(*topics: str) -> dict[str, int]:
    """Parameters that let publishers keep messages until the recorder has them; the nodes do not need that."""
    return {f"qos_overrides.{topic}.publisher.depth": 2000 for topic in topics}


def _conclude(options: argparse.Namespace, model: Model, verdict: Verdict, node: Mapping[str, str]) -> int:
    from .plot import draw

    draw(verdict, model, options.output)
    p50, p95, p99 = (1e6 * value for value in verdict.latency)
    print(f"\nstates answered     {verdict.answered} of {verdict.states} ({verdict.answered / verdict.states:.2%})")
    latency, callback = (node.get(f"{name} p50 [us]", "-") for name in ("latency", "callback"))
    print(f"state to answer     p50 {latency} us, of which {callback} us in the callback (as the node reports)")
    print(f"state to torque     p50 {p50:.0f} us, p95 {p95:.0f} us, p99 {p99:.0f} us (until this process has it)")
    print(f"against the library largest relative difference {verdict.error:.1e} in {verdict.answered} messages")
    print(f"picture             {options.output}")
    if verdict.shortfalls:
        print("\ndemo failed:", *verdict.shortfalls, sep="\n  - ", file=sys.stderr)
        return 1
    print("\ndemo passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
