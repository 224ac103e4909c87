"""Nodes under test as processes of their own over real DDS, and a node that talks to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
import yaml
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters, SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

DEADLINE = 180.0
"""Longest wait for anything [s]; only a failing test waits that long."""

LOST = 5.0
"""Time without an answer after which a request is sent again [s].

A server that answers before it has discovered the client's reader loses the answer: services over DDS are two topics,
which are discovered one by one (ros2/rmw_fastrtps, issue 842). On a busy machine this happens now and then.
"""

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class NodeProcess:
    """One node in a process of its own."""

    def __init__(self, module: str, name: str, namespace: str, parameters: dict[str, Any], arguments: list[str] = ()):
        self.directory = tempfile.TemporaryDirectory()
        file = Path(self.directory.name) / "parameters.yaml"
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}) if parameters else "{}")
        self.log = Path(self.directory.name) / "log"
        command = [sys.executable, "-m", f"lie_dynamics_ros.nodes.{module}", "--ros-args"]
        command += ["-r", f"__ns:={namespace}", "-r", f"__node:={name}"]
        command += ["--params-file", str(file)] if parameters else []
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, *arguments], stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        """End the process and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise


class Bench:
    """A node that plays driver, user and listener for nodes under test in a namespace of their own."""

    def __init__(self) -> None:
        self.namespace = f"/t{uuid.uuid4().hex[:10]}"
        self.node = rclpy.create_node("bench", namespace=self.namespace)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.processes: list[NodeProcess] = []
        self.received: dict[str, list[Any]] = defaultdict(list)
        self.diagnostics: dict[str, DiagnosticStatus] = {}
        self.stamp = 0
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 50)
        self.states = self.node.create_publisher(JointState, "joint_states", 1)
        self._clients: dict[tuple[type, str], Any] = {}

    def close(self) -> None:
        try:
            for process in self.processes:
                assert process.stop() in (0, None), process.output
        finally:
            self.executor.shutdown()
            self.node.destroy_node()

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.diagnostics[status.name] = status

    # Waiting.

    def wait(self, condition: Callable[[], Any], what: str) -> Any:
        """Serve messages until the condition holds; return its value."""
        end = time.monotonic() + DEADLINE
        while True:
            value = condition()
            if value:
                return value
            for process in self.processes:
                assert process.process.poll() is None, f"a node ended while {what} was awaited\n{process.output}"
            if time.monotonic() > end:
                log = "\n".join(process.output for process in self.processes)
                raise AssertionError(f"waited {DEADLINE:.0f} s for {what}\n{self.diagnostics}\n{log}")
            self.executor.spin_once(timeout_sec=0.02)

    # Nodes under test.

    def start(self, module: str, name: str | None = None, arguments: list[str] = (), **parameters: Any) -> str:
        """Start a node and return its full name; does not wait."""
        name = name or module
        self.processes.append(NodeProcess(module, name, self.namespace, parameters, arguments))
        return f"{self.namespace}/{name}"

    def listen(self, type_: type, topic: str, qos: Any = 100) -> list[Any]:
        """Collect what arrives on a topic, relative to the test's namespace."""
        messages = self.received[topic]
        self.node.create_subscription(type_, topic, messages.append, qos)
        return messages

    def publish_description(self, text: str) -> Any:
        """Publish a robot description, or another one."""
        if not hasattr(self, "_description"):
            self._description = self.node.create_publisher(String, "robot_description", LATCHED)
        self._description.publish(String(data=text))
        return self._description

    # Services.

    def client(self, type_: type, name: str) -> Any:
        key = (type_, name)
        if key not in self._clients:
            self._clients[key] = self.node.create_client(type_, name)
        self.wait(self._clients[key].service_is_ready, f"service {name}")
        return self._clients[key]

    def call(self, type_: type, name: str, request: Any) -> Any:
        """Call a service, again where the answer is lost; return the answer."""
        client = self.client(type_, name)
        futures, sent = [client.call_async(request)], time.monotonic()

        def answer() -> Any:
            nonlocal sent
            if time.monotonic() > sent + LOST:
                futures.append(client.call_async(request))
                sent = time.monotonic()
            return next((future for future in futures if future.done()), None)

        return self.wait(answer, f"answer of {name}").result()

    def state(self, node: str) -> str:
        return self.call(GetState, f"{node}/get_state", GetState.Request()).current_state.label

    def wait_state(self, node: str, label: str) -> None:
        self.wait(lambda: self.state(node) == label, f"{node} to become {label}")

    def change_state(self, node: str, transition: str) -> bool:
        """Ask for a transition; return whether the node made it."""
        if (ChangeState, f"{node}/change_state") not in self._clients:
            # A transition cannot be asked for twice. Readers are discovered in the order in which they are made: once a
            # later one has its answer, no answer to this one is lost.
            self.client(ChangeState, f"{node}/change_state")
            self._clients.pop((GetState, f"{node}/get_state"), None)
            self.state(node)
        request = ChangeState.Request()
        request.transition.label = transition
        return self.call(ChangeState, f"{node}/change_state", request).success

    def set(self, node: str, **values: Any) -> Any:
        """Set parameters at once; returns the result with .successful and .reason."""
        parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        request = SetParametersAtomically.Request(parameters=parameters)
        return self.call(SetParametersAtomically, f"{node}/set_parameters_atomically", request).result

    def set_raw(self, node: str, message: ParameterMessage) -> Any:
        request = SetParameters.Request(parameters=[message])
        return self.call(SetParameters, f"{node}/set_parameters", request).results[0]

    def get(self, node: str, name: str) -> Any:
        request = GetParameters.Request(names=[name])
        value = self.call(GetParameters, f"{node}/get_parameters", request).values[0]
        parameter = Parameter.from_parameter_msg(ParameterMessage(name=name, value=value))
        return list(parameter.value) if parameter.type_.name.endswith("ARRAY") else parameter.value

    def describe(self, node: str, name: str) -> Any:
        request = DescribeParameters.Request(names=[name])
        return self.call(DescribeParameters, f"{node}/describe_parameters", request).descriptors[0]

    # Diagnostics.

    def status(self, node: str) -> DiagnosticStatus | None:
        return self.diagnostics.get(node.lstrip("/"))

    def wait_status(self, node: str, condition: Callable[[DiagnosticStatus, dict[str, str]], Any], what: str) -> Any:
        """Wait for a diagnostic report for which the condition holds; return it."""

        def holds() -> DiagnosticStatus | None:
            status = self.status(node)
            if status is not None and condition(status, {v.key: v.value for v in status.values}):
                return status
            return None

        return self.wait(holds, f"diagnostics: {what}")

    # Joint states.

    def now(self) -> int:
        return self.node.get_clock().now().nanoseconds

    def make_state(self, names: Any, position: Any, velocity: Any = (), stamp: int | None = None) -> JointState:
        """A joint state; its time stamp is now, and always another one."""
        message = JointState(name=list(names), position=list(position), velocity=list(velocity))
        if stamp is None:
            stamp = self.stamp = max(self.now(), self.stamp + 1)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        return message

    def ask(self, make: Callable[[], JointState], answers: list[JointState]) -> JointState:
        """Publish states, made anew each time, until one is answered; return the answer."""
        stamps = set()

        def answered() -> JointState | None:
            message = make()
            stamps.add(stamp_of(message))
            self.states.publish(message)
            self.executor.spin_once(timeout_sec=0.02)
            return next((a for a in reversed(answers) if stamp_of(a) in stamps), None)

        return self.wait(answered, "an answer to a joint state")


def stamp_of(message: Any) -> int:
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
