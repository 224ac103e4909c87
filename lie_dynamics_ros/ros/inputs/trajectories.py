"""Joint trajectories from messages: checked, in model order, with all that the points carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.arrays import Array
from ...core.errors import TRAJECTORIES, MessageError
from ...core.joint_mapping import JointMapping
from ...core.joint_points import JointPoints
from ...lie_dynamics.texts import listed
from ..wire.messages import nanoseconds

if TYPE_CHECKING:
    from trajectory_msgs.msg import JointTrajectory


def read_joint_trajectory(message: JointTrajectory, joints: JointMapping) -> tuple[int, JointPoints]:
    """Read a trajectory of some or all joints.

    Parameters
    ----------
    message : JointTrajectory
        Joints by name; those the robot does not have are ignored.
    joints : JointMapping
        The robot's joints.

    Returns
    -------
    start : int
        Start time [ns]; 0 for "now".
    points : JointPoints

    Raises
    ------
    MessageError
        The trajectory cannot be used; says why.
    """
    if not message.points:
        raise MessageError(TRAJECTORIES, "a trajectory without points")
    match = joints.match(message.joint_names)
    if match.duplicated:
        raise MessageError(TRAJECTORIES, match.problem)
    named = np.flatnonzero(match.indices >= 0)
    if not named.size:
        names = listed(message.joint_names)
        raise MessageError(TRAJECTORIES, f"a trajectory that names no joint of the robot: {names}")
    columns = match.indices[named]
    times = np.array([nanoseconds(point.time_from_start) * 1e-9 for point in message.points])
    if times[0] < 0.0 or (np.diff(times) <= 0.0).any():
        raise MessageError(TRAJECTORIES, f"times that do not rise: {', '.join(f'{t:g}' for t in times[:10])} s")
    position = _field(message, "positions", match.size)
    if position is None:
        raise MessageError(TRAJECTORIES, "points without positions")
    velocity, acceleration, effort = (_field(message, f, match.size) for f in ("velocities", "accelerations", "effort"))
    if velocity is None and acceleration is not None:
        raise MessageError(TRAJECTORIES, "points with accelerations and without velocities")
    parts = (None if x is None else x[:, columns] for x in (position, velocity, acceleration, effort))
    return nanoseconds(message.header.stamp), JointPoints(named, times, *parts)  # type: ignore[arg-type]


def _field(message: JointTrajectory, name: str, size: int) -> Array | None:
    """Return a field of all points (k, size), or None where none carries it."""
    values = [getattr(point, name) for point in message.points]
    lengths = {len(v) for v in values}
    if lengths == {0}:
        return None
    if lengths != {size}:
        raise MessageError(TRAJECTORIES, f"{name} has {sorted(lengths)[:10]} entries for {size} joints")
    array = np.array(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise MessageError(TRAJECTORIES, f"{name} with numbers that are not finite")
    return array
