"""Calls of services of nodes under test, so that no answer is lost and none is taken for another."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter

LOST = 5.0
"""Time without an answer after which a request is sent again [s].

A server that answers before it has discovered the client's reader loses the answer: services over DDS are two topics,
which are discovered one by one (ros2/rmw_fastrtps, issue 842). On a busy machine this happens now and then.
"""
PAUSE = 0.02
"""Between two questions for the state that a node is to reach [s]."""


class ServiceCalls:
    """The clients of a test; whoever takes this over has `node` and `wait`."""

    node: Node
    wait: Callable[..., Any]

    def __init__(self) -> None:
        self._clients: dict[tuple[type, str], Any] = {}

    def client(self, type_: type, name: str) -> Any:
        """Return a client whose service is there."""
        key = (type_, name)
        if key not in self._clients:
            self._clients[key] = self.node.create_client(type_, name)
        self.wait(self._clients[key].service_is_ready, f"service {name}")
        return self._clients[key]

    def call(self, type_: type, name: str, request: Any) -> Any:
        """Call a service, again where the answer is lost; return the answer.

        For requests that may be served twice; `call_once` is for others.
        """
        client = self.client(type_, name)
        futures, sent = [client.call_async(request)], time.monotonic()

        def answer() -> Any:
            nonlocal sent
            if time.monotonic() > sent + LOST:
                futures.append(client.call_async(request))
                sent = time.monotonic()
            return next((future for future in futures if future.done()), None)

        return self.wait(answer, f"answer of {name}").result()

    def start_call(self, type_: type, node: str, service: str, request: Any) -> Any:
        """Send a request that must not be served twice; return its future, whose answer is not lost.

        Readers are discovered in the order in which they are made: once a later one has its answer, no answer to an
        earlier one is lost.
        """
        key = (type_, f"{node}/{service}")
        if key not in self._clients:
            self.client(*key)
            self._clients.pop((GetState, f"{node}/get_state"), None)
            self.state(node)
        return self.client(*key).call_async(request)

    def call_once(self, type_: type, node: str, service: str, request: Any) -> Any:
        """Call a service of a node with a request that must not be served twice; return the answer."""
        future = self.start_call(type_, node, service, request)
        self.wait(future.done, f"answer of {node}/{service}")
        return future.result()

    # Lifecycle.

    def state(self, node: str) -> str:
        return self.call(GetState, f"{node}/get_state", GetState.Request()).current_state.label

    def wait_state(self, node: str, label: str) -> None:
        due = 0.0

        def there() -> bool:
            """Ask now and then: the node has other things to do."""
            nonlocal due
            if time.monotonic() < due:
                return False
            due = time.monotonic() + PAUSE
            return self.state(node) == label

        self.wait(there, f"{node} to become {label}")

    def change_state(self, node: str, transition: str | int) -> bool:
        """Ask for a transition by label or id; return whether the node made it."""
        request = ChangeState.Request()
        if isinstance(transition, str):
            request.transition.label = transition
        else:
            request.transition.id = transition
        return self.call_once(ChangeState, node, "change_state", request).success

    # Parameters.

    def set(self, node: str, **values: Any) -> Any:
        """Set parameters at once; returns the result with .successful and .reason."""
        parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        request = SetParametersAtomically.Request(parameters=parameters)
        return self.call(SetParametersAtomically, f"{node}/set_parameters_atomically", request).result

    def set_raw(self, node: str, message: ParameterMessage) -> Any:
        request = SetParameters.Request(parameters=[message])
        return self.call(SetParameters, f"{node}/set_parameters", request).results[0]

    def get(self, node: str, name: str) -> Any:
        return self.get_all(node, [name])[0]

    def get_all(self, node: str, names: list[str]) -> list[Any]:
        response = self.call(GetParameters, f"{node}/get_parameters", GetParameters.Request(names=names))
        found = [
            Parameter.from_parameter_msg(ParameterMessage(name=name, value=value))
            for name, value in zip(names, response.values, strict=True)
        ]
        return [list(one.value) if one.type_.name.endswith("ARRAY") else one.value for one in found]

    def describe_all(self, node: str, names: list[str]) -> Any:
        request = DescribeParameters.Request(names=names)
        return self.call(DescribeParameters, f"{node}/describe_parameters", request).descriptors
