"""Conversion between ROS messages and the arrays of the library.

The only place with both orders: ROS keeps linear before angular, the library angular before linear.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...core.errors import MessageError
from ...core.frames import numbers_to_matrix
from ...core.joint_mapping import JointMatch
from ...lie_dynamics.arrays import Array, all_finite
from ...lie_dynamics.lie import so3

if TYPE_CHECKING:
    from builtin_interfaces.msg import Time
    from geometry_msgs.msg import Accel, Pose, Transform, Twist, Wrench
    from sensor_msgs.msg import Imu, JointState
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

LINEAR_FIRST = np.array([3, 4, 5, 0, 1, 2])
"""Place of each of ROS's six components (x, y, z, about x, about y, about z) among those of the library."""


def nanoseconds(stamp: Time) -> int:
    """Time stamp of a message [ns]."""
    whole: int = stamp.sec * 1_000_000_000 + stamp.nanosec
    return whole


def read_field(values: array[float], match: JointMatch, field: str) -> Array:
    """One field of a message in model order, shape (n,); a view of the message where its order is that of the model.

    ``values`` is parallel to the name list of the message, in which ``match`` has found all joints. Raises MessageError
    where it is not as long.
    """
    if len(values) != match.size:
        raise MessageError("malformed", f"{field} has {len(values)} entries for {match.size} names")
    found = np.frombuffer(values)
    return found if match.identity else found[match.indices]


def read_efforts(message: JointState, match: JointMatch) -> tuple[Array, bool]:
    """Efforts [N m or N] of a JointState in model order, (n,), and whether absent and NaN ones were taken as zero.

    Raises MessageError where the field has the wrong length, or an effort is infinite.
    """
    if not message.effort:
        return np.zeros(len(match.indices)), True
    return _without_nan(read_field(message.effort, match, "effort"), "efforts")


def _without_nan(values: Array, what: str) -> tuple[Array, bool]:
    """Return values with zero in place of NaN, and whether there was any; raises MessageError for infinite ones."""
    if all_finite(values):
        return values, False
    values = np.where(np.isnan(values), 0.0, values)
    if not all_finite(values):
        raise MessageError("not finite", f"{what} that are infinite")
    return values, True


def first_point(message: JointTrajectory) -> JointTrajectoryPoint:
    """Return the first point of a trajectory; raises MessageError where there is none."""
    if not message.points:
        raise MessageError("desired accelerations", "a trajectory without points")
    return message.points[0]


def read_rates(values: Sequence[float], match: JointMatch, what: str) -> Array:
    """Read desired accelerations or velocities, as `what` says, into a new array in model order, shape (n,).

    Joints that the message does not name get zero. Raises MessageError where there are none, not one per name, or not
    all are finite; or a joint is named twice.
    """
    if match.duplicated:
        raise MessageError("desired accelerations", match.problem)
    if len(values) != match.size:
        raise MessageError("desired accelerations", f"{len(values)} {what} for {match.size} joints")
    given = np.asarray(values)
    if not all_finite(given):
        raise MessageError("desired accelerations", f"{what} that are not finite numbers")
    return match.spread(given)


def read_imu(message: Imu) -> tuple[Array | None, Array | None]:
    """Return orientation x, y, z, w and acceleration (3,) [m/s^2]; None for what is marked as not measured."""
    q, a = message.orientation, message.linear_acceleration
    orientation = None if message.orientation_covariance[0] == -1.0 else np.array([q.x, q.y, q.z, q.w])
    return orientation, None if message.linear_acceleration_covariance[0] == -1.0 else np.array([a.x, a.y, a.z])


def wrench_to_array(wrench: Wrench) -> Array:
    """Convert a ROS wrench into the library's (moment, force), shape (6,) [N m, N], in the same frame."""
    moment, force = wrench.torque, wrench.force
    return np.array([moment.x, moment.y, moment.z, force.x, force.y, force.z])


def twist_to_array(twist: Twist | Accel) -> Array:
    """Convert a ROS twist, or its rate, into the library's (angular, linear), shape (6,) [rad/s, m/s], same frame."""
    w, v = twist.angular, twist.linear
    return np.array([w.x, w.y, w.z, v.x, v.y, v.z])


def fill_wrench(wrench: Wrench, values: Array) -> None:
    """Write the library's (moment, force), shape (6,) [N m, N], into a ROS wrench in the same frame."""
    for vector, numbers in ((wrench.torque, values[:3]), (wrench.force, values[3:])):
        vector.x, vector.y, vector.z = numbers.tolist()


def fill_twist(twist: Twist | Accel, body_twist: Array, rotation: Array) -> None:
    """Write a body twist (6,), angular first, into a ROS twist, in the axes of the frame that ``rotation`` leads to.

    That gets the angular velocity and the velocity of the body's origin [rad/s, m/s]; the rotation (3, 3) is the
    body's.
    """
    turned = (rotation @ body_twist.reshape(2, 3).T).tolist()
    for axis, (angular, linear) in zip("xyz", turned, strict=True):
        setattr(twist.angular, axis, angular)
        setattr(twist.linear, axis, linear)


def pose_to_matrix(pose: Pose) -> Array:
    """Convert a ROS pose into a homogeneous matrix, shape (4, 4) [m]; errors as of `numbers_to_matrix`."""
    p, q = pose.position, pose.orientation
    return numbers_to_matrix((p.x, p.y, p.z, q.x, q.y, q.z, q.w))


def fill_pose(pose: Pose, position: Sequence[float], quaternion: Sequence[float]) -> None:
    """Write a position x, y, z [m] and a quaternion x, y, z, w, as plain numbers, into a ROS pose."""
    p, q = pose.position, pose.orientation
    p.x, p.y, p.z = position
    q.x, q.y, q.z, q.w = quaternion


def fill_transform(transform: Transform, position: Sequence[float], quaternion: Sequence[float]) -> None:
    """Write a position x, y, z [m] and a quaternion x, y, z, w, as plain numbers, into a ROS transform."""
    p, q = transform.translation, transform.rotation
    p.x, p.y, p.z = position
    q.x, q.y, q.z, q.w = quaternion


def fill_pose_from_matrix(pose: Pose, matrix: Array) -> None:
    """Write a homogeneous matrix, shape (4, 4) [m], into a ROS pose; its quaternion has w >= 0."""
    fill_pose(pose, matrix[:3, 3].tolist(), so3.to_quaternion(matrix[:3, :3]).tolist())
