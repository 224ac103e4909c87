"""A client of the action of computed_torque: sends a goal of so many points whenever it is told to.

A process of its own, and never in real time: rclpy makes a message of a long goal for 0.2 s, in which whoever sends
states could send none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rclpy.action import ActionClient
from rclpy.node import Node
from std_msgs.msg import Int32, String

from lie_dynamics_ros.ros.node.spinning import run as run_node
from lie_dynamics_ros.ros.wire import qos

from .long_trajectories import ACCEPTED, trajectory


class GoalSender(Node):
    """Hears on ``send`` how many points; tells on ``sent`` what became of the goal."""

    def __init__(self) -> None:
        from control_msgs.action import FollowJointTrajectory  # which is not installed everywhere

        super().__init__("goal_sender")
        self._type = FollowJointTrajectory
        self._client = ActionClient(self, self._type, "computed_torque/follow_joint_trajectory")
        self._told = self.create_publisher(String, "sent", qos.DESCRIPTION)
        self.create_subscription(Int32, "send", self._send, qos.REQUESTS)

    def _send(self, points: Int32) -> None:
        sent = self._client.send_goal_async(self._type.Goal(trajectory=trajectory(points.data)))
        sent.add_done_callback(self._accepted)

    def _accepted(self, future: Any) -> None:
        handle = future.result()
        self._told.publish(String(data=ACCEPTED if handle.accepted else "rejected"))


def main(args: Sequence[str] | None = None) -> int:
    """Run it."""
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return run_node(GoalSender, args)


if __name__ == "__main__":
    sys.exit(main())
