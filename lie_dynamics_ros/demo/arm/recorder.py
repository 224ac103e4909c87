"""Records the driver and the node of the arm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from ...ros.wire.compatibility import interfaces
from ...ros.wire.messages import nanoseconds
from .. import recording
from ..recording import Answer

NODE = "inverse_dynamics"


@dataclass
class Account:
    """Inputs of an answer, reported by the node: the fields of ``DynamicsState``, each (n,) in its order."""

    names: list[str]
    position: np.ndarray
    velocity: np.ndarray
    input: np.ndarray
    wrench_effort: np.ndarray
    effort: np.ndarray

    @classmethod
    def of(cls, message: Any) -> Account:
        """Read a message."""
        fields = ("position", "velocity", "input", "wrench_effort", "effort")
        return cls(list(message.joint_names), *(np.array(getattr(message, name)) for name in fields))


@dataclass
class Recorder(recording.Recorder):
    """Of driver and node; states are names, positions and velocities, answers efforts.

    Attributes
    ----------
    accounts : dict
        The node's report of that answer.
    accelerations : set of bytes
        All desired accelerations that were sent, the bytes of their numbers.
    names : list
        Joints of the answers.
    accountable : bool
        Whether the node reports its answers: where its own message types are installed.
    """

    accounts: dict[int, Account] = field(default_factory=dict)
    accelerations: set[bytes] = field(default_factory=set)
    names: list[str] = field(default_factory=list)
    accountable: bool = True

    def listen(self, node: Node) -> None:
        """Subscribe."""
        subscribe = self.tape.subscribe
        subscribe(node, JointState, "joint_states", self._on_state)
        subscribe(node, JointState, f"{NODE}/joint_efforts", self._on_answer)
        subscribe(node, JointTrajectoryPoint, f"{NODE}/joint_trajectory_point", self._on_point)
        type_ = getattr(interfaces("msg"), "DynamicsState", None)
        self.accountable = type_ is not None
        if type_ is not None:
            subscribe(node, type_, f"{NODE}/dynamics_state", self._on_account)

    def _on_state(self, message: JointState, _: float) -> None:
        stamp = nanoseconds(message.header.stamp)
        self.states[stamp] = (message.name, np.array(message.position), np.array(message.velocity))

    def _on_answer(self, message: JointState, arrival: float) -> None:
        stamp = nanoseconds(message.header.stamp)
        if not self.names:
            self.names = list(message.name)
        self.answers[stamp] = Answer(np.array(message.effort), arrival - stamp * 1e-9)

    def _on_account(self, message: Any, _: float) -> None:
        self.accounts[nanoseconds(message.header.stamp)] = Account.of(message)

    def _on_point(self, message: JointTrajectoryPoint, _: float) -> None:
        self.accelerations.add(np.array(message.accelerations).tobytes())
