"""`identify BAG --urdf in.urdf --out my_robot/`: from a recording to a URDF, a friction file and a report."""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ..lie_dynamics import InputError, LieDynamicsError, Model, SpatialInertia
from ..lie_dynamics.files import write_file
from ..lie_dynamics.identification import (
    IdentifiedRobot,
    ball_of_water,
    exciting_motion,
    gains_from_payload,
    identify_payload,
    identify_robot,
    write_report,
)
from .bag import read_bag


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 1 where the reasons why not were printed."""
    given = parser().parse_args(arguments)
    return ended("identify", lambda: run(given))


def ended(command: str, run: Callable[[], int]) -> int:
    """Run a command; return its code, or 1 after printing the reason why not, 130 where somebody interrupts."""
    try:
        return run()
    except (LieDynamicsError, OSError) as error:
        print(f"{command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{command}: interrupted", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    found = argparse.ArgumentParser(prog="identify", description=__doc__)
    found.add_argument("bag", type=Path, nargs="?", help="rosbag2: folder, or mcap file")
    found.add_argument("--urdf", type=Path, required=True, help="the robot as it is thought to be")
    found.add_argument("--out", type=Path, default=Path("my_robot"), help="folder for what is written")
    found.add_argument("--states", default="", help="topic of joint states, where there are several")
    found.add_argument("--efforts", default="", help="topic of efforts or effort commands, where there are several")
    found.add_argument("--joint-prefix", default="", help="before the names of joints in the bag")
    found.add_argument("--gravity", type=float, nargs=3, default=(0.0, 0.0, -9.81), help="in the root link [m/s^2]")
    found.add_argument("--base-link", help="take the joints below this link; all others are locked")
    found.add_argument("--lock", nargs="*", default=(), metavar="JOINT[=POSITION]",
                       help="joints that no state names, at zero or at a position [rad, m]")  # fmt: skip
    found.add_argument("--leave-out", nargs="*", default=(), metavar="JOINT", help="joints whose efforts are unusable")
    found.add_argument("--drive-gains", nargs="+", type=float, metavar="GAIN",
                       help="newton metres for each unit of the efforts, as N m/A, by joint; or a matrix, "
                       "row by row, from efforts of coupled drives to those of joints")  # fmt: skip
    found.add_argument("--gains", action="store_true", help="estimate a gain of each drive")
    found.add_argument("--cutoff", type=float, help="of the filter [Hz]; else by the motion")
    found.add_argument("--bandwidth", type=_rate, default=20.0, help="of computed torque, for the report [rad/s]")
    found.add_argument("--despite-problems", action="store_true", help="go on where the recording cannot be right")
    found.add_argument("--loaded", type=Path, help="another bag, with a payload on --payload-frame")
    found.add_argument("--payload-frame", default="", help="link that carries the payload of --loaded")
    found.add_argument(
        "--payload", nargs="+", type=float, metavar="NUMBER",
        help="the payload of --loaded in axes of --payload-frame: mass, x, y, z of its centre of mass and, if known, "
        "ixx, iyy, izz about that [kg, m, kg m^2]; prints the gains of the drives",
    )  # fmt: skip
    found.add_argument("--plan", action="store_true", help="write the motion to record, plan.yaml, instead")
    found.add_argument("--seconds", type=float, default=30.0, help="of the plan")
    found.add_argument(
        "--plane", type=float, nargs=4, action="append", default=[], metavar=("NX", "NY", "NZ", "D"),
        help="of the plan: all links stay where nx x + ny y + nz z >= d, in the root link [m]",
    )  # fmt: skip
    found.add_argument("--clearance", type=float, default=0.1, help="of the plan, from the planes [m]")
    found.add_argument(
        "--capsule", nargs=8, action="append", default=[], metavar=("LINK", "X", "Y", "Z", "X2", "Y2", "Z2", "R"),
        help="of the plan: about a link, in its axes, all within R of the line between two points [m]; --gap apart",
    )  # fmt: skip
    found.add_argument("--gap", type=float, default=0.02, help="of the plan, between capsules [m]")
    found.add_argument("--trials", type=int, default=2000, help="of the plan: motions that are tried")
    found.add_argument("--center", type=float, nargs="+", help="of the plan: where it starts and ends [rad, m]")
    return found


def _rate(text: str) -> float:
    value = float(text)
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"a positive rate is expected, got {text}")
    return value


def _locked(text: str) -> tuple[str, float]:
    """Return a joint and its position of ``JOINT`` or ``JOINT=POSITION``."""
    name, _, position = text.rpartition("=") if "=" in text else (text, "", "0")
    try:
        value = float(position)
    except ValueError:
        value = math.nan
    if not name or not math.isfinite(value):
        raise InputError(f"--lock: JOINT or JOINT=POSITION in rad or m is expected, got {text!r}")
    return name, value


def _payload(numbers: Sequence[float]) -> SpatialInertia:
    """Return the payload of ``--payload``; a ball of water where its inertia is not given."""
    if len(numbers) not in (4, 7) or not all(map(math.isfinite, numbers)) or not numbers[0] > 0.0:
        expected = "a mass, three coordinates and, if known, three moments of inertia are expected"
        raise InputError(f"--payload: {expected}, got {' '.join(map(str, numbers))}")
    mass, *rest = numbers
    return SpatialInertia(mass, rest[:3], np.diag(rest[3:])) if rest[3:] else ball_of_water(mass, rest)


def run(given: argparse.Namespace) -> int:
    """Run the command line."""
    if given.payload is not None and given.loaded is None:
        raise InputError("--payload: --loaded, a bag with it, is expected")
    if given.loaded is None:
        check_output(given.out, given.plan)
    locked = dict(map(_locked, given.lock))
    model = Model.from_urdf(
        given.urdf, gravity=given.gravity, inertia_check="warn", locked=locked, base_link=given.base_link
    )
    if not model.nv:
        raise InputError(f"{str(given.urdf)!r}: no joint is left that moves")
    if given.plan:
        return _plan(given, model)
    if given.bag is None:
        raise InputError("a bag, or --plan, is expected")
    told = given.drive_gains
    gains = np.reshape(told, (model.nv, model.nv)) if told is not None and len(told) == model.nv**2 else told
    bag = read_bag(given.bag, model, given.states, given.efforts, given.joint_prefix, locked)
    for remark in bag.remarks:
        print(remark)
    if given.loaded is not None:
        loaded = read_bag(given.loaded, model, given.states, given.efforts, given.joint_prefix, locked)
        frame = given.payload_frame or model.body_names[-1]
        runs = ((run.time, run.q, run.effort) for run in (bag, loaded))
        if given.payload is not None:
            joints = [name for name in model.joint_names if name not in given.leave_out]
            known = _payload(given.payload)
            found = gains_from_payload(
                model, *runs, frame, known, joints=joints, cutoff=given.cutoff, despite_problems=given.despite_problems
            )
            print(found.report())
            return 0
        payload = identify_payload(
            model, *runs, frame, drive_gains=gains, left_out=given.leave_out, cutoff=given.cutoff,
            despite_problems=given.despite_problems,
        )  # fmt: skip
        for problem in payload.problems:
            print(f"warning: {problem}")
        print(payload.report())
        return 0
    robot = identify_robot(
        model, bag.time, bag.q, bag.effort, gains=given.gains, drive_gains=gains,
        left_out=given.leave_out, cutoff=given.cutoff,
        despite_problems=given.despite_problems, progress=_tell,
    )  # fmt: skip
    for problem in robot.problems:
        print(f"warning: {problem}")
    files = robot.write(given.out, given.urdf)
    report = write_report(robot, given.out / "report.html", bag.remarks, given.bandwidth)
    print(summary(robot))
    print("written: " + ", ".join(str(path) for path in (*files, report)))
    return 0


def check_output(out: Path, plan: bool) -> None:
    """Raise InputError where nothing could be written in the end, before anything takes time."""
    place = next(p for p in (out, *out.absolute().parents) if p.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise InputError(f"--out {str(out)!r}: {str(place)!r} is no folder that can be written")
    if not plan and importlib.util.find_spec("matplotlib") is None:
        raise InputError("the report is drawn by matplotlib, which is not installed (the extra 'bags')")


def _plan(given: argparse.Namespace, model: Model) -> int:
    """Write the motion to record."""
    planes = [(tuple(plane[:3]), plane[3]) for plane in given.plane]
    try:
        capsules = [(link, (x, y, z), (u, v, w), r) for link, *told in given.capsule
                    for x, y, z, u, v, w, r in [map(float, told)]]  # fmt: skip
    except ValueError as error:
        raise InputError(f"--capsule: a link and seven numbers are expected: {error}") from error
    motion = exciting_motion(
        model, given.seconds, planes=planes, clearance=given.clearance, capsules=capsules, gap=given.gap,
        center=given.center, trials=given.trials,
    )  # fmt: skip
    path = given.out / "plan.yaml"
    write_file(path, motion.to_yaml())
    near = f", {motion.clearance:.2f} m from the planes" if given.plane else ""
    near += f", {motion.gap:.2f} m between capsules" if capsules else ""
    print(f"{motion.time[-1]:g} s, condition {motion.condition:.0f}{near}: {path}")
    looked = "beyond its capsules" if capsules else "with itself"
    print(f"collisions of the robot {looked} are not looked for: watch it once, slowly")
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
