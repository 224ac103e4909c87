"""Records the controlled robot and its controller."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ...ros.wire.messages import nanoseconds
from .. import recording

NAMESPACE = "/control"


@dataclass
class Recorder(recording.Recorder):
    """Of robot and controller, in simulated time; joints in model order, as they are published.

    States are positions (n,) [rad, m], answers efforts (n,) [N m, N], with the time since their state had come.

    Attributes
    ----------
    errors : dict
        Desired minus actual position (n,) [rad, m], reported by the controller.
    masses : dict
        Estimated mass of the link that carries the payload [kg].
    names : list
        Joints of the states.
    """

    errors: dict[int, np.ndarray] = field(default_factory=dict)
    masses: dict[int, float] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    _arrivals: dict[int, float] = field(default_factory=dict)

    def listen(self, node: Node) -> None:
        """Subscribe."""
        controller = f"{NAMESPACE}/computed_torque"
        subscribe = self.tape.subscribe
        subscribe(node, JointState, f"{NAMESPACE}/joint_states", self._on_state)
        subscribe(node, JointState, f"{controller}/joint_efforts", self._on_efforts)
        subscribe(node, JointState, f"{controller}/tracking_error", self._on_error)
        subscribe(node, InertiaStamped, f"{controller}/estimated_inertia", self._on_inertia)

    def _on_state(self, message: JointState, arrival: float) -> None:
        if not self.names:
            self.names = list(message.name)
        stamp = nanoseconds(message.header.stamp)
        self._arrivals[stamp] = arrival
        self.states[stamp] = np.array(message.position)

    def _on_efforts(self, message: JointState, arrival: float) -> None:
        stamp = nanoseconds(message.header.stamp)
        # They may overtake their state.
        latency = arrival - self._arrivals.get(stamp, arrival)
        self.answers[stamp] = recording.Answer(np.array(message.effort), latency)

    def _on_error(self, message: JointState, _: float) -> None:
        self.errors[nanoseconds(message.header.stamp)] = np.array(message.position)

    def _on_inertia(self, message: InertiaStamped, _: float) -> None:
        self.masses[nanoseconds(message.header.stamp)] = message.inertia.m
