"""Conversion between ROS messages and the arrays of the library.

The only place that knows both orders: ROS keeps linear before angular, the library angular before linear.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .errors import MessageError
from .joint_mapping import JointMatch

if TYPE_CHECKING:
    from builtin_interfaces.msg import Time
    from geometry_msgs.msg import Wrench
    from sensor_msgs.msg import JointState

Array = NDArray[np.float64]


def nanoseconds(stamp: Time) -> int:
    """Time stamp of a message [ns]."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def all_finite(values: Array) -> bool:
    """Tell whether a vector, shape (n,), holds neither NaN nor infinity.

    Faster than ``np.isfinite(values).all()`` for short vectors: one sum of squares. Values whose squares
    overflow (beyond 1e154) count as not finite.
    """
    return math.isfinite(values.dot(values))


def read_field(values: array[float], match: JointMatch, field: str) -> Array:
    """One field of a message in model order, shape (n,); a view of the message where its order is that of the model.

    Parameters
    ----------
    values : array of float
        The field, parallel to the name list of the message.
    match : JointMatch
        Where the wanted joints stand; must be complete.
    field : str
        Name of the field, for the error.

    Raises
    ------
    MessageError
        The field is not as long as the name list.
    """
    if len(values) != match.size:
        raise MessageError("malformed", f"{field} has {len(values)} entries for {match.size} names")
    found = np.frombuffer(values)
    return found if match.identity else found[match.indices]


def read_joint_state(message: JointState, match: JointMatch) -> tuple[Array, Array, bool]:
    """Position [rad or m] and velocity [rad/s or m/s] of a JointState in model order, each of shape (n,).

    A velocity field that is absent, and single velocities that are NaN (ros2_control sends both), count as zero.

    Returns
    -------
    position : ndarray, shape (n,)
    velocity : ndarray, shape (n,)
    assumed : bool
        Whether any velocity had to be taken as zero.

    Raises
    ------
    MessageError
        Joints are missing or named twice, a field has the wrong length, a position is not finite or a velocity
        is infinite.
    """
    if not match.complete:
        raise MessageError("missing joints" if match.missing else "ambiguous joints", match.problem)
    position = read_field(message.position, match, "position")
    if not all_finite(position):
        raise MessageError("not finite", "positions that are not finite numbers")
    if not message.velocity:
        return position, np.zeros_like(position), True
    velocity = read_field(message.velocity, match, "velocity")
    if all_finite(velocity):
        return position, velocity, False
    velocity = np.where(np.isnan(velocity), 0.0, velocity)
    if not all_finite(velocity):
        raise MessageError("not finite", "velocities that are infinite")
    return position, velocity, True


def read_accelerations(values: Sequence[float], match: JointMatch, joints: int) -> Array:
    """Read desired accelerations [rad/s^2 or m/s^2] into a new array in model order, shape (joints,).

    Joints that the message does not name get zero.

    Raises
    ------
    MessageError
        There are none, not one per name, or not all are finite; or a joint is named twice.
    """
    if match.duplicated:
        raise MessageError("desired accelerations", match.problem)
    if len(values) != match.size:
        raise MessageError("desired accelerations", f"{len(values)} accelerations for {match.size} joints")
    given = np.asarray(values)
    if not all_finite(given):
        raise MessageError("desired accelerations", "accelerations that are not finite numbers")
    accelerations = np.zeros(joints)
    named = match.indices >= 0
    accelerations[named] = given[match.indices[named]]
    return accelerations


def wrench_to_array(wrench: Wrench) -> Array:
    """Convert a ROS wrench into the library's (moment, force), shape (6,) [N m, N], in the same frame."""
    moment, force = wrench.torque, wrench.force
    return np.array([moment.x, moment.y, moment.z, force.x, force.y, force.z])
