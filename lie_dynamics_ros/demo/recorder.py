"""Listens to the driver and the node and keeps what they say."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from ..ros.messages import nanoseconds

QUEUE = QoSProfile(depth=2000)


class ShortfallError(Exception):
    """Something fell short; the message says what."""


@dataclass
class Answer:
    """One answer of the node: its efforts, when they came, and how many accelerations had come before."""

    efforts: np.ndarray
    latency: float
    accelerations: int


@dataclass
class Recorder:
    """Everything that was heard on the topics of driver and node, by time stamp [ns].

    Attributes
    ----------
    states : dict
        Names, position and velocity of every joint state.
    answers : dict
        The answer to the state with the same time stamp.
    accelerations : list
        Desired accelerations, in the order they came.
    diagnostics : dict
        Last diagnostic status of each node.
    errors : set
        Messages of diagnostic errors of the node while it was active.
    """

    node: Node
    states: dict[int, tuple[list[str], np.ndarray, np.ndarray]] = field(default_factory=dict)
    answers: dict[int, Answer] = field(default_factory=dict)
    accelerations: list[np.ndarray] = field(default_factory=list)
    diagnostics: dict[str, DiagnosticStatus] = field(default_factory=dict)
    errors: set[str] = field(default_factory=set)
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Subscribe."""
        subscribe = self.node.create_subscription
        subscribe(JointState, "joint_states", self._on_state, QUEUE)
        subscribe(JointState, "inverse_dynamics/joint_efforts", self._on_answer, QUEUE)
        subscribe(JointTrajectoryPoint, "inverse_dynamics/joint_trajectory_point", self._on_point, QUEUE)
        subscribe(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)

    def start(self) -> None:
        """Forget the states and answers so far; a fair recording begins here."""
        self.states.clear()
        self.answers.clear()

    def reported(self, node: str) -> dict[str, str]:
        """Key figures of a node's last diagnostic status."""
        status = self.diagnostics.get(node)
        return {value.key: value.value for value in status.values} if status else {}

    def _on_state(self, message: JointState) -> None:
        stamp = nanoseconds(message.header.stamp)
        self.states[stamp] = (message.name, np.array(message.position), np.array(message.velocity))

    def _on_answer(self, message: JointState) -> None:
        stamp = nanoseconds(message.header.stamp)
        if not self.names:
            self.names = list(message.name)
        self.answers[stamp] = Answer(np.array(message.effort), time.time() - stamp * 1e-9, len(self.accelerations))

    def _on_point(self, message: JointTrajectoryPoint) -> None:
        self.accelerations.append(np.array(message.accelerations))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.diagnostics[status.name] = status
            active = any(value.key == "lifecycle state" and value.value == "active" for value in status.values)
            if active and status.level == DiagnosticStatus.ERROR:
                self.errors.add(f"{status.name}: {status.message}")
