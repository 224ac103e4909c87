"""Hears all states and answers of a run, and writes down once a second what it found; runs beside the nodes."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from geometry_msgs.msg import PoseWithCovarianceStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from lie_dynamics_ros.ros.node.spinning import run
from lie_dynamics_ros.ros.wire import qos
from lie_dynamics_ros.ros.wire.messages import nanoseconds
from soak.intruder import INTRUDER
from soak.judgement import Answers, Unfounded

ALL = QoSProfile(depth=2000)
"""Reliable, with room for two seconds: what is published is to be heard."""
STATES = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)
"""As the nodes hear states, with room for two seconds: a driver's silence is to be told from that of a node."""
COMMANDS = "computed_torque commands"
TOPICS: dict[str, tuple[type, str]] = {
    "computed_torque": (JointState, "/arm/computed_torque/joint_efforts"),
    COMMANDS: (Float64MultiArray, "/arm/computed_torque/commands"),
    "inverse_dynamics": (JointState, "/arm/inverse_dynamics/joint_efforts"),
    "stewart_pose": (PoseWithCovarianceStamped, "/legs/stewart_pose/pose"),
}


def _numbers(message: Any) -> Sequence[float]:
    if isinstance(message, JointState):
        return message.effort
    if isinstance(message, Float64MultiArray):
        return message.data
    pose = message.pose.pose
    p, q = pose.position, pose.orientation
    return [p.x, p.y, p.z, q.x, q.y, q.z, q.w, float(message.pose.covariance.sum())]


class Listener(Node):
    """Judges every answer as it is heard, by when it was published."""

    def __init__(self) -> None:
        super().__init__("listener")
        for name, value in (("thread_priority", 40), ("cpu_affinity", [-1]), ("lock_memory", False)):
            self.declare_parameter(name, value)
        self.answers = {name: Answers() for name in TOPICS}
        self.unfounded = Unfounded()
        self._states = Answers()
        self._phases: list[str] = []
        self._file = Path(os.environ["SOAK_RECORD"])
        for name, (type_, topic) in TOPICS.items():
            self._hear(type_, topic, self._receiver(name))
        self._hear(JointState, "/arm/joint_states", self._on_state, STATES)
        self.create_subscription(String, "/arm/computed_torque/phase", self._on_phase, qos.DESCRIPTION)
        self.create_timer(1.0, self._write)

    def _hear(self, type_: type, topic: str, callback: Callable[[Any, int], None], profile: QoSProfile = ALL) -> None:
        def receive(message: Any, info: Any = None) -> None:
            if type(message) is tuple:  # as the EventsExecutor hands them over
                message, info = message
            callback(message, info["source_timestamp"])

        self.create_subscription(
            type_, topic, receive, profile
        )._callback_type = Subscription.CallbackType.WithMessageInfo

    def _receiver(self, name: str) -> Callable[[Any, int], None]:
        answers, unfounded = self.answers[name], self.unfounded

        def receive(message: Any, published: int) -> None:
            stamp = None if name == COMMANDS else nanoseconds(message.header.stamp)
            answers.add(published, stamp, all(map(math.isfinite, _numbers(message))))
            if stamp is None:
                unfounded.command(published)
            elif name == "computed_torque":
                unfounded.state(published, stamp)

        return receive

    def _on_state(self, message: JointState, published: int) -> None:
        if message.header.frame_id == INTRUDER:
            return
        self._states.add(published, None, finite=True)
        self.unfounded.state(published, nanoseconds(message.header.stamp))

    def _on_phase(self, message: String) -> None:
        self._phases.append(message.data)

    def _write(self) -> None:
        now = time.time_ns()
        record = {"time": now, "states": self._states.take(), "phases": self._phases}
        record["answers"] = {name: answers.take() for name, answers in self.answers.items()}
        record["unfounded"] = self.unfounded.take(now)
        self._phases = []
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(Listener, args)


if __name__ == "__main__":
    sys.exit(main())
