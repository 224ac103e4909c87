"""What the node benchmarks share: a domain of their own, nodes as processes, a client that asks and times."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from lie_dynamics_ros.demo.processes import Children
from lie_dynamics_ros.ros.node.domain import DomainReservation
from lie_dynamics_ros.ros.node.spinning import make_executor
from lie_dynamics_ros.ros.wire import qos
from lie_dynamics_ros.ros.wire.messages import nanoseconds

from .subjects import Subject

DEADLINE = 60.0


@contextmanager
def ros() -> Iterator[Children]:
    """ROS in a domain of its own, and a place to start nodes from."""
    reservation = DomainReservation()
    reservation.apply(os.environ)
    with tempfile.TemporaryDirectory() as directory:
        os.environ["ROS_LOG_DIR"] = directory
        with Children(Path(directory)) as children:
            rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
            try:
                yield children
            finally:
                rclpy.shutdown()
    reservation.release()


def stamp(message: JointState) -> int:
    """Stamp a message with the time; returns the stamp [ns]."""
    now = time.time_ns()
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(now, 10**9)
    return now


class Client:
    """Sends joint states to one node and times its answers.

    Parameters
    ----------
    name : str
        Node to which the states go and whose answers are awaited; it listens in a namespace of that name.
    subject : Subject
        What it is sent and what it answers.
    namespace : str
        Where the node is; by default one of its own name.
    executor : optional
        What several clients share.
    """

    def __init__(self, name: str, subject: Subject, namespace: str = "", executor: Any = None) -> None:
        self.node = rclpy.create_node(f"client_of_{name}", namespace=namespace or f"/{name}")
        self._publisher = self.node.create_publisher(JointState, "joint_states", qos.OUTPUT)
        self.node.create_subscription(subject.answer, f"{name}/{subject.topic}", self._on_answer, qos.STREAM_INPUT)
        self._inputs = []
        for topic, make in subject.inputs.items():
            message = make()
            self._inputs.append((self.node.create_publisher(type(message), f"{name}/{topic}", qos.OUTPUT), message))
        self._executor = executor or make_executor("events")
        self._executor.add_node(self.node)
        self._message = subject.make_state()
        self._sent: dict[int, float] = {}
        self.round_trips: list[float] = []

    def _on_answer(self, message: Any) -> None:
        now = time.perf_counter()
        begin = self._sent.pop(nanoseconds(message.header.stamp), None)
        if begin is not None:
            self.round_trips.append(now - begin)

    def _send(self) -> None:
        for publisher, message in self._inputs:
            publisher.publish(message)
        now = stamp(self._message)
        self._sent[now] = time.perf_counter()
        self._publisher.publish(self._message)

    def _spin_until(self, end: float) -> None:
        while (left := end - time.perf_counter()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def await_answers(self, count: int = 50, period: float = 0.01) -> None:
        """Send every ``period`` seconds until ``count`` answers have come back."""
        end = time.monotonic() + DEADLINE
        while len(self.round_trips) < count:
            self._send()
            self._spin_until(time.perf_counter() + period)
            if time.monotonic() > end:
                raise TimeoutError(f"no answers from {self.node.get_namespace()}")

    def stream(self, rate: float, duration: float, first: int = 0) -> int:
        """Send at a steady rate; returns the number of states sent, without those that come ``first``."""
        return stream([self], rate, duration, first)

    def collect(self) -> list[float]:
        """Wait for the last answers, and return the round trips [s]."""
        self._spin_until(time.perf_counter() + 0.2)
        return list(self.round_trips)

    def ask(self, count: int) -> None:
        """Send the next state as soon as the last is answered (or lost), ``count`` times."""
        for _ in range(count):
            before = len(self.round_trips)
            self._send()
            end = time.perf_counter() + 0.05
            while len(self.round_trips) == before and (left := end - time.perf_counter()) > 0.0:
                self._executor.spin_once(timeout_sec=left)
        self._sent.clear()
        self.round_trips.clear()

    def close(self) -> None:
        """Let go of the node."""
        self._executor.shutdown()
        self.node.destroy_node()


def stream(clients: Sequence[Client], rate: float, duration: float, first: int = 0) -> int:
    """Send each client's states at a steady rate, in turns; returns the number sent of each, without ``first``.

    The clients share an executor.
    """
    count, start = round(rate * duration), time.perf_counter()
    for k in range(count):
        for place, client in enumerate(clients):
            client._spin_until(start + (k + place / len(clients)) / rate)
            if k in (0, first):
                client._sent.clear()
                client.round_trips.clear()
            client._send()
    return count - first


def processor_time(process: int) -> float:
    """Time that a process has spent on processors [s]."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
