"""Messages of a moving frame, made once and filled again for every sample: pose, covariance, twist, TF."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, TransformStamped, TwistStamped
from rclpy.node import Node

from ...core.arrays import Array
from ..wire import qos
from ..wire.messages import fill_pose, fill_transform, fill_twist
from ..wire.serialized_form import SerializedForm
from .output import Output

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # not among the ROS 2 wheels
    TFMessage = None


class PoseOutputs:
    """Publishes the pose of one frame in another, its covariance, its twist, and TF.

    Only what somebody listens to is filled and published.

    Parameters
    ----------
    node : LifecycleNode
        Publishes only while it is active.
    tf : bool
        Whether TF is wanted; published only where its messages are installed.

    Attributes
    ----------
    tf : bool
        Whether TF is published.
    covariance_matrix : ndarray, shape (1, 6, 6)
        To be filled before a pose is published: covariance of (displacement along, small rotation about the axes of
        the base frame), as ROS orders it [m^2, m rad, rad^2].
    """

    def __init__(self, node: Node, tf: bool) -> None:
        self._pose = Output(node, PoseWithCovarianceStamped, "~/pose")
        self._bare = Output(node, PoseStamped, "~/pose_stamped")
        self._twist = Output(node, TwistStamped, "~/twist")
        self.tf = tf and TFMessage is not None
        if self.tf:
            self._tf = Output(node, TFMessage, "/tf", qos.TF)
        self.set_frames("", "")

    def set_frames(self, base: str, moving: str) -> None:
        """Make the messages for the pose of the frame ``moving`` in the frame ``base``."""
        self._pose_form = SerializedForm(lambda place, covariance: _pose_message(base, place, covariance), 7, 36)
        self._bare_message = PoseStamped()
        self._twist_message = TwistStamped()
        self._transform = TransformStamped(child_frame_id=moving)
        for message in (self._bare_message, self._twist_message, self._transform):
            message.header.frame_id = base
        covariance = np.zeros(36)
        self.covariance_matrix = covariance.reshape(1, 6, 6)
        self._place, self._covariance = self._pose_form.numbers
        self._covariance_source = memoryview(covariance)
        if self.tf:
            self._tf_message = TFMessage(transforms=[self._transform])

    def publish_pose(self, position: Sequence[float], quaternion: Sequence[float], stamp: Time) -> None:
        """Publish a pose, with what is in `covariance_matrix`, and TF.

        Parameters
        ----------
        position : sequence of float
            x, y, z of the origin of the moving frame in the base frame [m].
        quaternion : sequence of float
            Its orientation there as x, y, z, w.
        stamp : Time
        """
        self._place[:] = array("d", (*position, *quaternion))
        self._covariance[:] = self._covariance_source
        self._pose.send_serialized(self._pose_form.stamped(stamp))
        if self._bare.heard:
            self._bare_message.header.stamp = stamp
            fill_pose(self._bare_message.pose, position, quaternion)
            self._bare.send(self._bare_message)
        if self.tf and self._tf.heard:
            self._transform.header.stamp = stamp
            fill_transform(self._transform.transform, position, quaternion)
            self._tf.send(self._tf_message)

    @property
    def twist_wanted(self) -> bool:
        """Whether somebody listens to the twist."""
        return self._twist.heard

    def publish_twist(self, body_twist: Array, rotation: Array, stamp: Time) -> None:
        """Publish a body twist (angular, linear), shape (6,) [rad/s, m/s], in the axes that ``rotation`` leads to."""
        message = self._twist_message
        message.header.stamp = stamp
        fill_twist(message.twist, body_twist, rotation)
        self._twist.send(message)


def _pose_message(base: str, place: Sequence[float], covariance: Sequence[float]) -> PoseWithCovarianceStamped:
    """Pose in the frame ``base``: ``place`` is x, y, z [m] and quaternion x, y, z, w."""
    message = PoseWithCovarianceStamped()
    message.header.frame_id = base
    fill_pose(message.pose.pose, place[:3], place[3:])
    message.pose.covariance[:] = covariance
    return message
