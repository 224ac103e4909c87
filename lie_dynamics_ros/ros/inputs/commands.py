"""Commands and trajectories from messages: checked, by joint in model order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.commands import ACCELERATION, EFFORT, POSITION, HybridCommand, JointCommand, JointPoints
from ...core.errors import COMMANDS, TRAJECTORIES, MessageError
from ...core.joint_mapping import JointMapping, JointMatch
from ...lie_dynamics.arrays import Array, all_finite
from ...lie_dynamics.texts import listed
from ..wire.goal_requests import GoalTrajectory
from ..wire.serialized import FIELDS, decode_trajectory, fields_of

if TYPE_CHECKING:
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray
    from trajectory_msgs.msg import JointTrajectory


# The input of hybrid dynamics, from either kind of message.


def read_hybrid_command(message: Any, joints: JointMapping) -> HybridCommand:
    """Read a HybridCommand; raises MessageError where it is malformed, ambiguous or not finite."""
    match = joints.match(message.joint_names)
    for name, field in (("prescribed", message.prescribed), ("input", message.input)):
        _check_size(name, len(field), match)
    prescribed = np.array(message.prescribed, dtype=bool)
    return _in_model_order(match, prescribed, np.asarray(message.input))


def read_trajectory_command(message: JointTrajectory, joints: JointMapping) -> HybridCommand:
    """Read the first point of a JointTrajectory, which gives each joint an acceleration or an effort, not both.

    What is not given is NaN, or the whole field is absent. Raises MessageError otherwise.
    """
    if not message.points:
        raise MessageError(COMMANDS, "a trajectory without points")
    match = joints.match(message.joint_names)
    point = message.points[0]
    accelerations = _field("accelerations", point.accelerations, match)
    efforts = _field("effort", point.effort, match)
    prescribed = ~np.isnan(accelerations)
    twice_or_never = prescribed != np.isnan(efforts)
    if twice_or_never.any():
        name = message.joint_names[int(np.argmax(twice_or_never))]
        raise MessageError(
            COMMANDS, f"joint {name!r} has both or neither of acceleration and effort; expected one, and the other NaN"
        )
    return _in_model_order(match, prescribed, np.where(prescribed, accelerations, efforts))


def _field(name: str, values: Any, match: JointMatch) -> Array:
    """Return a field as it is named, NaN where it is absent; raises MessageError where it has another size."""
    if len(values):
        _check_size(name, len(values), match)
    return np.array(values, dtype=np.float64) if len(values) else np.full(match.size, np.nan)


def _check_size(field: str, size: int, match: JointMatch) -> None:
    if size != match.size:
        raise MessageError(COMMANDS, f"{field} has {size} entries for {match.size} joints")


def _in_model_order(match: JointMatch, prescribed: NDArray[np.bool_], values: Array) -> HybridCommand:
    if match.duplicated:
        raise MessageError(COMMANDS, match.problem)
    if not all_finite(values):
        raise MessageError(COMMANDS, "values that are not finite numbers")
    return HybridCommand(match.indices >= 0, match.spread(prescribed), match.spread(values))


# Commands to a simulated robot from messages: effort, acceleration or position, joint by joint.


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
    match: JointMatch, n: int, effort: Any, acceleration: Any, position: Any, velocity: Any
) -> JointCommand:
    if match.duplicated:
        raise MessageError(COMMANDS, match.problem)
    fields = {"effort": effort, "acceleration": acceleration, "position": position, "velocity": velocity}
    fields = {name: _field(name, values, match) for name, values in fields.items()}
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


# Joint trajectories from messages: checked, in model order, with all that the points carry.


def read_joint_trajectory(
    message: JointTrajectory | GoalTrajectory | bytes, joints: JointMapping
) -> tuple[int, JointPoints]:
    """Read a trajectory of some or all joints, serialized or not; return its start [ns], 0 for "now", and its points.

    Joints go by name; those the robot does not have are ignored. Raises MessageError where it cannot be used.
    """
    if isinstance(message, bytes):
        found = decode_trajectory(message)
    else:
        found = message.fields() if isinstance(message, GoalTrajectory) else fields_of(message)
    if not len(found.times):
        raise MessageError(TRAJECTORIES, "a trajectory without points")
    match = joints.match(found.names)
    if match.duplicated:
        raise MessageError(TRAJECTORIES, match.problem)
    named = np.flatnonzero(match.indices >= 0)
    if not named.size:
        names = listed(found.names)
        raise MessageError(TRAJECTORIES, f"a trajectory that names no joint of the robot: {names}")
    columns = match.indices[named]
    times = found.times * 1e-9
    if times[0] < 0.0 or (np.diff(times) <= 0.0).any():
        raise MessageError(TRAJECTORIES, f"times that do not rise: {', '.join(f'{t:g}' for t in times[:10])} s")
    fields = found.fields
    for name, values in fields.items():
        if values is not None and not np.isfinite(values).all():
            raise MessageError(TRAJECTORIES, f"{name} with numbers that are not finite")
    if fields["positions"] is None:
        raise MessageError(TRAJECTORIES, "points without positions")
    if fields["velocities"] is None and fields["accelerations"] is not None:
        raise MessageError(TRAJECTORIES, "points with accelerations and without velocities")
    parts = (None if fields[name] is None else fields[name][:, columns] for name in FIELDS)  # type: ignore[index]
    return found.start, JointPoints(named, times, *parts)  # type: ignore[arg-type]
