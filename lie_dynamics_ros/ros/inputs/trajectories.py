"""Joint trajectories from messages: checked, in model order, with all that the points carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.errors import TRAJECTORIES, MessageError
from ...core.joint_mapping import JointMapping
from ...core.joint_points import JointPoints
from ...lie_dynamics.texts import listed
from ..wire.trajectory_decoder import FIELDS, decode_trajectory, fields_of

if TYPE_CHECKING:
    from trajectory_msgs.msg import JointTrajectory


def read_joint_trajectory(message: JointTrajectory | bytes, joints: JointMapping) -> tuple[int, JointPoints]:
    """Read a trajectory of some or all joints.

    Parameters
    ----------
    message : JointTrajectory or bytes
        Serialized or not. Joints by name; those the robot does not have are ignored.
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
        The trajectory cannot be used, with the reason.
    """
    found = decode_trajectory(message) if isinstance(message, bytes) else fields_of(message)
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
