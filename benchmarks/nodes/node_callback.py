"""Each node that answers: time in the callback beyond that of a bare relay.

Both callbacks are called in this process with the same messages, in turns; both publish over DDS to a listener. The
node is given its messages serialized, as it receives them, the relay those that rclpy has made already. What the node
publishes besides has no listener.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message

from lie_dynamics_ros.nodes.computed_torque.node import ComputedTorqueNode
from lie_dynamics_ros.nodes.contact.node import ContactNode
from lie_dynamics_ros.nodes.hybrid_dynamics.node import HybridDynamicsNode
from lie_dynamics_ros.nodes.inverse_dynamics.node import InverseDynamicsNode
from lie_dynamics_ros.nodes.stewart_pose.node import StewartPoseNode
from lie_dynamics_ros.nodes.tool_wrench.node import ToolWrenchNode
from lie_dynamics_ros.ros.wire import qos

from ..results import Figure, at_most
from .relay import Relay
from .ros_bench import ros, stamp
from .subjects import Subject, runs

TURNS = 200
CALLS = 100
NODES = {
    "inverse_dynamics": InverseDynamicsNode,
    "hybrid_dynamics": HybridDynamicsNode,
    "computed_torque": ComputedTorqueNode,
    "stewart_pose": StewartPoseNode,
    "contact": ContactNode,
    "tool_wrench": ToolWrenchNode,
}


def measure(subject: Subject) -> tuple[list[Figure], Any]:
    """Measure one node."""
    with ros():
        relay = Relay(subject)
        values = {**subject.parameters, "state_timeout": 10.0}  # states of a batch grow old on a busy machine
        node = NODES[subject.node](parameter_overrides=[Parameter(k, value=v) for k, v in values.items()])
        node.trigger_configure()
        node.trigger_activate()
        listener: Node = rclpy.create_node("listener")
        for name in ("relay", subject.node):
            listener.create_subscription(subject.answer, f"{name}/{subject.topic}", lambda _: None, qos.STREAM_INPUT)
        times: dict[str, list[float]] = {"relay": [], "node": []}
        inputs = [(s.callback, subject.inputs[t]) for s in node.subscriptions for t in subject.inputs if
                  s.topic_name == f"/{subject.node}/{t}"]  # fmt: skip
        callbacks = {"relay": relay.on_state, "node": node.stream.on_state}
        for _ in range(TURNS):
            for name, callback in callbacks.items():
                # As messages come from DDS: a new object each time.
                for callback_of_input, make in inputs:
                    callback_of_input(make())
                messages = [subject.make_state() for _ in range(CALLS)]
                spent = []
                for message in messages:
                    stamp(message)
                    given = serialize_message(message) if name == "node" else message
                    begin = time.perf_counter()
                    callback(given)
                    spent.append(time.perf_counter() - begin)
                times[name].append(float(np.median(spent)) * 1e6)
        answered = node.stream.statistics.answered
        for each in (relay, node, listener):
            each.destroy_node()
    if answered != TURNS * CALLS:
        raise RuntimeError(f"the node answered {answered} of {TURNS * CALLS} states")
    beyond = [n - r for n, r in zip(times["node"], times["relay"], strict=True)]
    figures = [
        at_most("callback beyond the relay's", float(np.median(beyond)), "us", 40.0),
        Figure("callback of the node", float(np.median(times["node"])), "us"),
        Figure("callback of the relay", float(np.median(times["relay"])), "us"),
    ]
    return figures, None


MEASURED = runs("node_callback", "time in the callback beyond that of a bare relay", measure)
