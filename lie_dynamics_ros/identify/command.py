"""`identify BAG --urdf in.urdf --out my_robot/`: from a recording to a URDF, a friction file and a report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..lie_dynamics import LieDynamicsError, Model
from ..lie_dynamics.identification import IdentifiedRobot, identify_payload, identify_robot, write_report
from .bag import read_bag


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 1 where the reasons why not were printed."""
    given = parser().parse_args(arguments)
    try:
        return run(given)
    except (LieDynamicsError, OSError) as error:
        print(f"identify: {error}", file=sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    found = argparse.ArgumentParser(prog="identify", description=__doc__)
    found.add_argument("bag", type=Path, help="rosbag2: folder, or mcap file")
    found.add_argument("--urdf", type=Path, required=True, help="the robot as it is thought to be")
    found.add_argument("--out", type=Path, default=Path("my_robot"), help="folder for what is written")
    found.add_argument("--states", default="", help="topic of joint states, where there are several")
    found.add_argument("--efforts", default="", help="topic of efforts or effort commands, where there are several")
    found.add_argument("--joint-prefix", default="", help="before the names of joints in the bag")
    found.add_argument("--gravity", type=float, nargs=3, default=(0.0, 0.0, -9.81), help="in the root link [m/s^2]")
    found.add_argument("--base-link", help="take the joints below this link; all others are locked")
    found.add_argument("--lock", nargs="*", default=(), metavar="JOINT", help="joints that no state names, at zero")
    found.add_argument("--gains", action="store_true", help="estimate a gain of each drive")
    found.add_argument("--cutoff", type=float, help="of the filter [Hz]; else by the motion")
    found.add_argument("--bandwidth", type=float, default=20.0, help="of computed torque, for the report [rad/s]")
    found.add_argument("--despite-problems", action="store_true", help="go on where the recording cannot be right")
    found.add_argument("--loaded", type=Path, help="another bag, with a payload on --payload-frame")
    found.add_argument("--payload-frame", default="", help="link that carries the payload of --loaded")
    return found


def run(given: argparse.Namespace) -> int:
    """Do what the command line says."""
    locked = dict.fromkeys(given.lock, 0.0)
    model = Model.from_urdf(
        given.urdf, gravity=given.gravity, inertia_check="warn", locked=locked, base_link=given.base_link
    )
    bag = read_bag(given.bag, model, given.states, given.efforts, given.joint_prefix)
    for remark in bag.remarks:
        print(remark)
    if given.loaded is not None:
        loaded = read_bag(given.loaded, model, given.states, given.efforts, given.joint_prefix)
        frame = given.payload_frame or model.body_names[-1]
        runs = ((run.time, run.q, run.effort) for run in (bag, loaded))
        print(identify_payload(model, *runs, frame, cutoff=given.cutoff).report())
        return 0
    robot = identify_robot(
        model, bag.time, bag.q, bag.effort, gains=given.gains, cutoff=given.cutoff,
        despite_problems=given.despite_problems, progress=_tell,
    )  # fmt: skip
    for problem in robot.problems:
        print(f"warning: {problem}")
    files = robot.write(given.out, given.urdf)
    report = write_report(robot, given.out / "report.html", bag.remarks, given.bandwidth)
    print(summary(robot))
    print("written: " + ", ".join(str(path) for path in (*files, report)))
    return 0


def summary(robot: IdentifiedRobot) -> str:
    """Return the errors on what was not used, a line for each joint."""
    told = robot.prediction
    lines = ["errors on the part that was not used, of the range of the efforts: before, identified"]
    for name, before, after in zip(robot.model.joint_names, told.error_before, told.error, strict=True):
        lines.append(f"  {name}: {100.0 * before:.1f} %, {100.0 * after:.2f} %")
    return "\n".join(lines)


def _tell(done: float, left: float, what: str) -> None:
    print(f"{100.0 * done:3.0f} %, about {left:.0f} s left: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
