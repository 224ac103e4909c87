"""Messages of a moving frame, made once and filled again for every sample: pose, covariance, twist, TF."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, TransformStamped, TwistStamped
from rclpy.node import Node

from . import qos
from .messages import Array, fill_covariance, fill_pose, fill_transform, fill_twist

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
    """

    def __init__(self, node: Node, tf: bool) -> None:
        overridable = qos.overridable()

        def output(type_: type, topic: str, profile: qos.QoSProfile = qos.OUTPUT) -> object:
            return node.create_lifecycle_publisher(type_, topic, profile, qos_overriding_options=overridable)

        self._pose = output(PoseWithCovarianceStamped, "~/pose")
        self._bare = output(PoseStamped, "~/pose_stamped")
        self._twist = output(TwistStamped, "~/twist")
        self.tf = tf and TFMessage is not None
        if self.tf:
            self._tf = output(TFMessage, "/tf", qos.TF)
        self.set_frames("", "")

    def set_frames(self, base: str, moving: str) -> None:
        """Make the messages for the pose of the frame ``moving`` in the frame ``base``."""
        self._pose_message = PoseWithCovarianceStamped()
        self._bare_message = PoseStamped()
        self._twist_message = TwistStamped()
        self._transform = TransformStamped(child_frame_id=moving)
        for message in (self._pose_message, self._bare_message, self._twist_message, self._transform):
            message.header.frame_id = base
        self._with_covariance = self._pose_message.pose
        if self.tf:
            self._tf_message = TFMessage(transforms=[self._transform])

    def publish(
        self,
        pose: Array,
        quaternion: Array,
        covariance: Array,
        body_twist: Array | None,
        stamp: Time,
    ) -> None:
        """Publish one sample.

        Parameters
        ----------
        pose : ndarray, shape (4, 4)
            Of the moving frame in the base frame [m].
        quaternion : ndarray, shape (4,)
            The same rotation as x, y, z, w.
        covariance : ndarray, shape (6, 6)
            Of (small rotation, displacement) in the axes of the base frame [rad^2, rad m, m^2].
        body_twist : ndarray, shape (6,), optional
            (angular, linear) in the moving frame [rad/s, m/s]; None where it is not known.
        stamp : Time
            Of the sample.
        """
        position = pose[:3, 3]
        message = self._pose_message
        message.header.stamp = stamp
        fill_pose(self._with_covariance.pose, position, quaternion)
        fill_covariance(self._with_covariance.covariance, covariance)
        self._pose.publish(message)
        if self._bare.get_subscription_count():
            message = self._bare_message
            message.header.stamp = stamp
            fill_pose(message.pose, position, quaternion)
            self._bare.publish(message)
        if body_twist is not None and self._twist.get_subscription_count():
            message = self._twist_message
            message.header.stamp = stamp
            fill_twist(message.twist, body_twist, pose[:3, :3])
            self._twist.publish(message)
        if self.tf and self._tf.get_subscription_count():
            self._transform.header.stamp = stamp
            fill_transform(self._transform.transform, position, quaternion)
            self._tf.publish(self._tf_message)
