"""Any node of this package, driven with what it can answer, in this process or in one of its own."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
from node_cases import ARM_POSITION, CASES
from node_harness import Bench, stamp_of
from node_platforms import HOME, LEGS, lengths
from node_robots import ARM, ARM_JOINTS
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from lie_dynamics_ros.nodes import PROGRAMS
from lie_dynamics_ros.nodes.together.node import NODE_CLASSES as NAMES

NODE_CLASSES = {
    kind: getattr(import_module(f"lie_dynamics_ros.nodes.{kind}.node"), {**NAMES, "viewer": "ViewerNode"}[kind])
    for kind in PROGRAMS
    if kind != "together"  # which is none itself
}
STARTED_WITH = {
    "simulated_robot": {"mode": "dynamics", "position_noise": 0.0},
    "simulated_stewart": {},
    "stewart_command": {"state_timeout": 0.0},
    "viewer": {"robot_description": ARM, "port": 0, "rate": 100.0},
    **{case.module: {"state_timeout": 10.0, **case.parameters} for case in CASES},  # all run on one thread here
}
WAYS = {
    **{name: (name, parameters) for name, parameters in STARTED_WITH.items()},
    "computed_torque, tool": ("computed_torque", {**STARTED_WITH["computed_torque"], "mode": "operational_space"}),
    "stewart_pose, fusing": ("stewart_pose", {**STARTED_WITH["stewart_pose"], "fusion": True, "use_imu": True}),
}
"""Each node, and what makes it another one: module and parameters."""


class Driven:
    """A node that is active, and what it answers.

    Parameters
    ----------
    bench : Bench
        Of its own: only the node whose turn it is runs, and nobody speaks to it beside the bench.
    way : str
        One of `WAYS`.
    room : int
        Where it is given, the node runs in a process of its own, and loses nothing of so many messages at once;
        else on the bench's executor.

    Attributes
    ----------
    node : Node
        Where it runs in this process.
    name : str
        In full.
    heard, said : dict
        Types of the topics that it hears and publishes, by name.
    """

    def __init__(self, bench: Bench, way: str, room: int = 0) -> None:
        self.way, (self.kind, parameters) = way, WAYS[way]
        self.bench, self.case = bench, next((case for case in CASES if case.module == self.kind), None)
        self.name = f"{bench.namespace}/{self.kind}"
        self._make(parameters)
        self.heard = {s.topic_name: s.msg_type for s in self.node.subscriptions}
        self.said = {p.topic_name: p.msg_type for p in self.node.publishers}
        if room:
            self.close()
            self.node = None
            bench.start(self.kind, **parameters, **_with_room(self.heard, room))
            bench.wait_state(self.name, "active")
        if self.case is None:
            self._commands = self.kind == "stewart_command"
            self.answers = bench.listen(JointState, f"{self.kind}/leg_commands" if self._commands else "joint_states")
        else:
            self.answers = self.case.attach(bench, self.name)

    def _make(self, values: dict[str, Any]) -> None:
        overrides = [Parameter(key, value=value) for key, value in {"autostart": False, **values}.items()]
        self.node: Node = NODE_CLASSES[self.kind](namespace=self.bench.namespace, parameter_overrides=overrides)
        self.bench.executor.add_node(self.node)
        for change in (self.node.trigger_configure, self.node.trigger_activate):
            assert change().name == "SUCCESS", self.node.failure

    def answer(self) -> np.ndarray:
        """Numbers of an answer to what is sent from now on; of the viewer, where it draws the robot."""
        if self.kind == "viewer":
            return self._drawn()
        if self.case is not None:
            pause = 0.005 if self.node else 0.0  # on one executor, more states would only delay answers
            answer = self.bench.ask(lambda: self.case.state(self.bench), self.answers, pause=pause)
            return np.array(self.case.numbers(answer))
        begin = self.bench.now()
        found = lambda: next((a for a in reversed(self.answers) if stamp_of(a) >= begin), None)  # noqa: E731
        if self._commands:
            state = self.bench.make_state(LEGS, lengths(HOME))
            message = self.bench.send_until(lambda: self.bench.states.publish(state), found, "set points")
        else:
            message = self.bench.wait(found, "a state")
        return np.array([*message.position, *message.velocity])

    def _drawn(self) -> np.ndarray:
        begin, state = perf_counter(), self.bench.make_state(ARM_JOINTS, ARM_POSITION)
        now = self.bench.now()

        def picture() -> Any:
            if self.node is None:
                drawn = self.bench.reported(self.name, lambda _, v: float(v["pictures per second"] or 0.0) > 0.0, now)
                return drawn and (np.zeros(1),)
            found = self.node._core.picture(perf_counter())
            return (found.poses,) if found.age is not None and perf_counter() - found.age > begin else None

        return self.bench.send_until(lambda: self.bench.states.publish(state), picture, "a picture")[0]

    def report(self, wait: bool = True) -> tuple[str, str, dict[str, str]]:
        """State, message and key figures; of a process those that it reports next, or those that it reported last."""
        if self.node is not None:
            report = self.node.report(1.0)
            return self.node.state, self.node.failure or "; ".join(report.reasons), report.values
        status = self.bench.status(self.name)
        if wait or status is None:
            status = self.bench.wait_status(self.name, lambda *_: True, "a report", self.bench.now())
        values = {pair.key: pair.value for pair in status.values}
        return values["lifecycle state"], status.message, values

    def close(self) -> None:
        """Take it from the bench's executor."""
        self.bench.executor.remove_node(self.node)
        self.node.destroy_node()


def _with_room(topics: Iterable[str], depth: int) -> dict[str, Any]:
    """Parameters for topics that allow it."""
    found = {}
    for side in (f"qos_overrides.{topic}.subscription" for topic in topics):
        found.update({f"{side}.reliability": "reliable", f"{side}.depth": depth})
    return found
