"""Commands to a simulated robot from messages: effort, acceleration or position, joint by joint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.arrays import all_finite
from ...core.commands import ACCELERATION, EFFORT, POSITION, JointCommand
from ...core.errors import COMMANDS, MessageError
from ...core.joint_mapping import JointMapping, JointMatch

if TYPE_CHECKING:
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray
    from trajectory_msgs.msg import JointTrajectory


def read_effort_array(message: Float64MultiArray, joints: JointMapping) -> JointCommand:
    """Read the bare efforts that effort controllers take, one for each joint in model order."""
    n = len(joints.joints)
    values = np.array(message.data)
    if len(values) != n:
        raise MessageError(COMMANDS, f"{len(values)} efforts for {n} joints")
    if not all_finite(values):
        raise MessageError(COMMANDS, "efforts that are not finite numbers")
    return JointCommand(np.ones(n, dtype=bool), np.full(n, EFFORT), values, np.zeros(n))


def read_named_efforts(message: JointState, joints: JointMapping) -> JointCommand:
    """Read efforts by name; other fields are not looked at."""
    return _read(joints.match(message.name), len(joints.joints), message.effort, (), (), ())


def read_point(message: JointTrajectory, joints: JointMapping) -> JointCommand:
    """Read the first point of a trajectory, which gives each joint one of position, acceleration and effort.

    What is not given is NaN, or the whole field is absent. Velocities go with positions, zero where absent.
    """
    if not message.points:
        raise MessageError(COMMANDS, "a trajectory without points")
    point, match = message.points[0], joints.match(message.joint_names)
    return _read(match, len(joints.joints), point.effort, point.accelerations, point.positions, point.velocities)


def _read(
    match: JointMatch, n: int, effort: object, acceleration: object, position: object, velocity: object
) -> JointCommand:
    if match.duplicated:
        raise MessageError(COMMANDS, match.problem)
    fields = {}
    for name, values in (
        ("effort", effort), ("acceleration", acceleration), ("position", position), ("velocity", velocity)
    ):  # fmt: skip
        array = np.array(values, dtype=np.float64)
        if len(array) not in (0, match.size):
            raise MessageError(COMMANDS, f"{name} has {len(array)} entries for {match.size} joints")
        fields[name] = array if len(array) else np.full(match.size, np.nan)
    named = match.indices >= 0
    chosen = match.indices[named]
    told, value, rate = np.zeros(n, dtype=int), np.zeros(n), np.zeros(n)
    given = [fields[name][chosen] for name in ("effort", "acceleration", "position")]
    count = sum(~np.isnan(x) for x in given)
    if not chosen.size or (count != 1).any():
        raise MessageError(COMMANDS, "each joint named must be given exactly one of effort, acceleration and position")
    for kind, x in zip((EFFORT, ACCELERATION, POSITION), given, strict=True):
        here = ~np.isnan(x)
        at = np.flatnonzero(named)[here]
        told[at], value[at] = kind, x[here]
    rate[named] = np.nan_to_num(fields["velocity"][chosen], nan=0.0, posinf=np.inf, neginf=-np.inf)
    if not (all_finite(value) and all_finite(rate)):
        raise MessageError(COMMANDS, "values that are not finite numbers")
    return JointCommand(named, told, value, rate)
