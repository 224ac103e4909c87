"""Listens to the driver and the node of the arm and keeps what they say."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from ...ros.messages import nanoseconds
from ..tape import Tape


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
    names : list
        Joints of the answers.
    """

    states: dict[int, tuple[list[str], np.ndarray, np.ndarray]] = field(default_factory=dict)
    answers: dict[int, Answer] = field(default_factory=dict)
    accelerations: list[np.ndarray] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    tape: Tape = field(default_factory=Tape)

    def listen(self, node: Node) -> None:
        """Subscribe."""
        subscribe = self.tape.subscribe
        subscribe(node, JointState, "joint_states", self._on_state)
        subscribe(node, JointState, "inverse_dynamics/joint_efforts", self._on_answer)
        subscribe(node, JointTrajectoryPoint, "inverse_dynamics/joint_trajectory_point", self._on_point)

    def begin(self) -> None:
        """Forget the states and answers so far; a fair recording begins here."""
        self.states.clear()
        self.answers.clear()

    def _on_state(self, message: JointState, _: float) -> None:
        stamp = nanoseconds(message.header.stamp)
        self.states[stamp] = (message.name, np.array(message.position), np.array(message.velocity))

    def _on_answer(self, message: JointState, arrival: float) -> None:
        stamp = nanoseconds(message.header.stamp)
        if not self.names:
            self.names = list(message.name)
        self.answers[stamp] = Answer(np.array(message.effort), arrival - stamp * 1e-9, len(self.accelerations))

    def _on_point(self, message: JointTrajectoryPoint, _: float) -> None:
        self.accelerations.append(np.array(message.accelerations))
