"""Listens to the simulated platform and to stewart_pose, and keeps true and estimated poses and twists."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, TwistStamped
from rclpy.node import Node

from ...ros.wire.messages import nanoseconds, pose_to_matrix
from .. import recording

NAMESPACE = "/stewart"


@dataclass
class Estimate(recording.Answer):
    """One pose of the node, (4, 4), and its covariance (6, 6) in ROS's order."""

    covariance: np.ndarray


@dataclass
class Recorder(recording.Recorder):
    """Of the simulated platform and the node; states are true poses (4, 4), answers `Estimate`.

    Attributes
    ----------
    true_twists, twists : dict
        (linear, angular) in the axes of the base, (6,) [m/s, rad/s].
    """

    true_twists: dict[int, np.ndarray] = field(default_factory=dict)
    twists: dict[int, np.ndarray] = field(default_factory=dict)

    def listen(self, node: Node) -> None:
        """Subscribe."""
        driver, estimator = f"{NAMESPACE}/simulated_stewart", f"{NAMESPACE}/stewart_pose"
        subscribe = self.tape.subscribe
        subscribe(node, PoseStamped, f"{driver}/true_pose", self._on_truth)
        subscribe(node, TwistStamped, f"{driver}/true_twist", lambda m, _: _keep_twist(self.true_twists, m))
        subscribe(node, PoseWithCovarianceStamped, f"{estimator}/pose", self._on_estimate)
        subscribe(node, TwistStamped, f"{estimator}/twist", lambda m, _: _keep_twist(self.twists, m))

    def _on_truth(self, message: PoseStamped, _: float) -> None:
        self.states[nanoseconds(message.header.stamp)] = pose_to_matrix(message.pose)

    def _on_estimate(self, message: PoseWithCovarianceStamped, arrival: float) -> None:
        stamp = nanoseconds(message.header.stamp)
        covariance = np.array(message.pose.covariance).reshape(6, 6)
        self.answers[stamp] = Estimate(pose_to_matrix(message.pose.pose), arrival - stamp * 1e-9, covariance)


def _keep_twist(kept: dict[int, np.ndarray], message: TwistStamped) -> None:
    v, w = message.twist.linear, message.twist.angular
    kept[nanoseconds(message.header.stamp)] = np.array([v.x, v.y, v.z, w.x, w.y, w.z])
