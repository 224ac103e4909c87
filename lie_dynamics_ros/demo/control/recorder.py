"""Listens to the controlled robot and its controller, and keeps what they say."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ...ros.messages import nanoseconds
from ..showcase import QUEUE

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
    _arrivals: dict[int, float] = field(default_factory=dict)

    def listen(self, node: Node) -> None:
        """Subscribe."""
        controller = f"{NAMESPACE}/computed_torque"
        subscribe = node.create_subscription
        subscribe(JointState, f"{NAMESPACE}/joint_states", self._on_state, QUEUE)
        subscribe(JointState, f"{controller}/joint_efforts", self._on_efforts, QUEUE)
        subscribe(JointState, f"{controller}/tracking_error", self._on_error, QUEUE)
        subscribe(InertiaStamped, f"{controller}/estimated_inertia", self._on_inertia, QUEUE)

    def begin(self) -> None:
        """Forget all that came so far; a fair recording begins here."""
        for kept in (self.states, self.efforts, self.errors, self.masses, self._arrivals):
            kept.clear()

    def _on_state(self, message: JointState) -> None:
        if not self.names:
            self.names = list(message.name)
        stamp = nanoseconds(message.header.stamp)
        self._arrivals[stamp] = time.perf_counter()
        self.states[stamp] = np.array(message.position)

    def _on_efforts(self, message: JointState) -> None:
        stamp = nanoseconds(message.header.stamp)
        now = time.perf_counter()
        # They may overtake their state.
        self.efforts[stamp] = np.array(message.effort), now - self._arrivals.get(stamp, now)

    def _on_error(self, message: JointState) -> None:
        self.errors[nanoseconds(message.header.stamp)] = np.array(message.position)

    def _on_inertia(self, message: InertiaStamped) -> None:
        self.masses[nanoseconds(message.header.stamp)] = message.inertia.m
