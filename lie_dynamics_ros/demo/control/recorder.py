"""Listens to the controlled robot and its controller, and keeps what they say."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ...ros.wire.messages import nanoseconds
from ..tape import Tape

NAMESPACE = "/control"


@dataclass
class Recorder:
    """Everything that was heard, by time stamp in simulated time [ns]; joints in model order, as they are published.

    Attributes
    ----------
    states : dict
        Positions (n,) [rad, m].
    efforts : dict
        The controller's answers (n,) [N m, N], and when they came after their state had come [s].
    errors : dict
        Desired minus actual position (n,) [rad, m], as the controller says.
    masses : dict
        Estimated mass of the link that carries the payload [kg].
    names : list
        Joints of the states.
    """

    states: dict[int, np.ndarray] = field(default_factory=dict)
    efforts: dict[int, tuple[np.ndarray, float]] = field(default_factory=dict)
    errors: dict[int, np.ndarray] = field(default_factory=dict)
    masses: dict[int, float] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    tape: Tape = field(default_factory=Tape)
    _arrivals: dict[int, float] = field(default_factory=dict)

    def listen(self, node: Node) -> None:
        """Subscribe."""
        controller = f"{NAMESPACE}/computed_torque"
        subscribe = self.tape.subscribe
        subscribe(node, JointState, f"{NAMESPACE}/joint_states", self._on_state)
        subscribe(node, JointState, f"{controller}/joint_efforts", self._on_efforts)
        subscribe(node, JointState, f"{controller}/tracking_error", self._on_error)
        subscribe(node, InertiaStamped, f"{controller}/estimated_inertia", self._on_inertia)

    def begin(self) -> None:
        """Forget all that came so far; a fair recording begins here."""
        for kept in (self.states, self.efforts, self.errors, self.masses, self._arrivals):
            kept.clear()

    def _on_state(self, message: JointState, arrival: float) -> None:
        if not self.names:
            self.names = list(message.name)
        stamp = nanoseconds(message.header.stamp)
        self._arrivals[stamp] = arrival
        self.states[stamp] = np.array(message.position)

    def _on_efforts(self, message: JointState, arrival: float) -> None:
        stamp = nanoseconds(message.header.stamp)
        # They may overtake their state.
        self.efforts[stamp] = np.array(message.effort), arrival - self._arrivals.get(stamp, arrival)

    def _on_error(self, message: JointState, _: float) -> None:
        self.errors[nanoseconds(message.header.stamp)] = np.array(message.position)

    def _on_inertia(self, message: InertiaStamped, _: float) -> None:
        self.masses[nanoseconds(message.header.stamp)] = message.inertia.m
