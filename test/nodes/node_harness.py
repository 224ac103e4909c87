"""A node that plays driver, user and listener for nodes under test.

What it hears on one topic says nothing of another: topics are discovered one by one, and their messages travel by
themselves. So tests wait for each thing that they read:

- `Bench.publisher` returns once somebody listens; what is published before is lost.
- `Bench.ask` and `Bench.together` return what several topics say of one state, by its time stamp.
- `Bench.send_until` sends again until the effect is seen: inputs that are best effort may lose any message.
- `Bench.turns` sends until the answers change, and checks every answer on the way.
- `ServiceCalls` repeats only requests that may be served twice.
"""

from __future__ import annotations

import os
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from node_process import DEADLINE, NodeProcess
from node_services import ServiceCalls
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from lie_dynamics_ros.ros.node.domain import QUICK_DISCOVERY
from lie_dynamics_ros.ros.wire.compatibility import events_executor

PATIENCE = 100
"""Messages served at most before something is sent again."""
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def init_ros() -> None:
    """Begin with ROS in this process, which announces itself every 3 s, as by default; processes it starts do so often.

    Where a participant announces itself while others leave, Fast DDS 3.2 can lock up, and a test sees all others leave.
    """
    often = [name for name, value in os.environ.items() if value == str(QUICK_DISCOVERY)]
    for name in often:
        del os.environ[name]
    rclpy.init()
    rclpy.create_node("first").destroy_node()  # Fast DDS reads its profiles once, for the first participant
    os.environ.update(dict.fromkeys(often, str(QUICK_DISCOVERY)))


class Values(dict):
    """Key figures of a report; empty text for those that are not there yet."""

    def __missing__(self, key: str) -> str:
        return ""


class Bench(ServiceCalls):
    """A node in a namespace of its own, and the processes of the nodes under test there."""

    def __init__(self, name: str = "bench", namespace: str = "") -> None:
        super().__init__()
        self.namespace = namespace or f"/t{uuid.uuid4().hex[:10]}"
        self.node = rclpy.create_node(name, namespace=self.namespace)
        self.executor = (events_executor() or SingleThreadedExecutor)()  # takes a quarter less time for what comes
        self.executor.add_node(self.node)
        self.processes: list[NodeProcess] = []
        self.received: dict[str, list[Any]] = defaultdict(list)
        self.diagnostics: dict[str, tuple[int, DiagnosticStatus]] = {}
        """Last report of each node, and when it was made [ns]."""
        self.since: dict[str, int] = {}
        """Since when the reports of a node count [ns]."""
        self.stamp = 0
        self._served = 0
        """Messages heard."""
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 50)
        self.states = self.node.create_publisher(JointState, "joint_states", 1)
        self.readings: Any = None  # publisher of a sensor, for nodes that need one
        self._description: Any = None
        self._own: Counter[str] = Counter()  # subscriptions of the test's own, by topic

    def close(self) -> None:
        try:
            for process in self.processes:
                assert process.stop() in (0, None), process.output
        finally:
            self.executor.shutdown()
            self.node.destroy_node()

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        self._served += 1
        for status in message.status:
            if stamp_of(message) >= self.since.get(status.name, 0):
                self.diagnostics[status.name] = stamp_of(message), status

    # Waiting.

    def wait(self, condition: Callable[[], Any], what: str) -> Any:
        """Serve messages until the condition holds, which is asked after each: let it not look at all of them again."""
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

    def send_until(
        self, send: Callable[[], Any], condition: Callable[[], Any], what: str, pause: float = 0.0
    ) -> Any:
        """Send again and again, with a pause [s] at least, until the condition holds; return its value.

        All that has come is served before something is sent again: where the machine leaves a test little time, each
        sending would bring more than is served, and what is awaited would never be reached.
        """
        due = 0.0

        def sent() -> Any:
            nonlocal due
            if time.monotonic() >= due:
                send()
                due = time.monotonic() + pause
            self.executor.spin_once(timeout_sec=0.02)
            value = condition()
            for _ in range(PATIENCE):
                served = self._served
                if value:
                    break
                self.executor.spin_once(timeout_sec=0.0)
                if self._served == served:
                    break
                value = condition()
            return value

        return self.wait(sent, what)

    # Nodes under test.

    def start(
        self,
        module: str,
        name: str | None = None,
        arguments: Sequence[str] = (),
        fresh: bool = False,
        **parameters: Any,
    ) -> str:
        """Start a node, see `NodeProcess`, and return its full name; does not wait."""
        name = name or module
        self.processes.append(NodeProcess(module, name, self.namespace, parameters, arguments, fresh))
        return f"{self.namespace}/{name}"

    # Topics, relative to the test's namespace.

    def listen(self, type_: type, topic: str, qos: Any = 100) -> list[Any]:
        """Collect what arrives on a topic from now on; nothing need have arrived because something else has."""
        messages = self.received[topic]
        self._own[topic] += 1

        def hear(message: Any) -> None:
            self._served += 1
            messages.append(message)

        self.node.create_subscription(type_, topic, hear, qos)
        return messages

    def publisher(self, type_: type, topic: str, qos: Any = 10, heard: bool = True) -> Any:
        """Make a publisher that somebody listens to, unless it need not be ``heard``.

        Reliable inputs of nodes then get all that is published, best effort ones perhaps: they have yet to discover it.
        """
        publisher = self.node.create_publisher(type_, topic, qos)
        own = self._own[topic]
        if heard:
            self.wait(lambda: publisher.get_subscription_count() > own, f"somebody to listen to {topic}")
        return publisher

    def drive(self, topic: str = "joint_states", qos: Any = 1) -> None:
        """Publish states another way from now on, as one driver still."""
        self.node.destroy_publisher(self.states)
        self.states = self.node.create_publisher(JointState, topic, qos)

    def publish_description(self, text: str) -> None:
        """Publish a robot description, or another one; nodes that come later get it too."""
        if self._description is None:
            self._description = self.node.create_publisher(String, "robot_description", LATCHED)
        self._description.publish(String(data=text))

    # Diagnostics.

    def status(self, node: str, since: int = 0) -> DiagnosticStatus | None:
        """Last report of a node; None where there is none that was made since [ns]."""
        made, status = self.diagnostics.get(node.lstrip("/"), (0, None))
        return status if made >= since else None

    def reported(self, node: str, condition: Callable[[DiagnosticStatus, Values], Any], since: int = 0) -> Any:
        """Return the last report of a node where the condition holds for it and its key figures, else None."""
        status = self.status(node, since)
        if status is not None and condition(status, Values({v.key: v.value for v in status.values})):
            return status
        return None

    def wait_status(
        self, node: str, condition: Callable[[DiagnosticStatus, Values], Any], what: str, since: int = 0
    ) -> Any:
        """Wait for a report for which the condition holds, made since a time [ns]; return it."""
        return self.wait(lambda: self.reported(node, condition, since), f"diagnostics: {what}")

    def forget(self, node: str) -> None:
        """Let what a node has reported so far count no more, even if it is still on its way."""
        self.since[node.lstrip("/")] = self.now()
        self.diagnostics.pop(node.lstrip("/"), None)

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

    def ask(self, make: Callable[[], JointState], *topics: list[Any], pause: float = 0.0) -> Any:
        """Publish states, made anew each time, until one is answered on every topic; return its answer, or answers.

        ``pause`` [s] is the least from one to the next.
        """
        stamps = set()
        to_come = tails(topics)

        def publish() -> None:
            message = make()
            stamps.add(stamp_of(message))
            self.states.publish(message)

        return self.send_until(publish, lambda: of_one_state(to_come(), stamps), "an answer to a joint state", pause)

    def together(self, *topics: list[Any]) -> Any:
        """Wait for what all topics say of one state that is still to come; return their messages."""
        to_come = tails(topics)
        return self.wait(lambda: of_one_state(to_come()), "a state on all topics")

    def turns(
        self, ask: Callable[[], Any], new: Any, *old: Any, numbers: Callable[[Any], Any], tolerance: float = 1e-12
    ) -> Any:
        """Ask until the numbers of an answer are the new ones, and check that all before are among the old; return it.

        ``tolerance`` is relative to the largest of the new numbers.
        """
        scale = max(np.abs(np.asarray(x)).max() for x in (new, *old))

        def turned() -> Any:
            answer = ask()
            found = np.asarray(numbers(answer))
            if np.abs(found - new).max() <= tolerance * scale:
                return answer
            off = [float(np.abs(found - x).max()) for x in old]
            assert any(x <= tolerance * scale for x in off), f"{found} is neither {new} nor any of {old}"
            return None

        return self.wait(turned, f"an answer of {new}")


class SharedNode:
    """A process that several tests share: for each of them the node begins afresh, as it comes but for some parameters.

    Parameters
    ----------
    bench : Bench
    module : str
        Of the node.
    settings : sequence of Setting
        Its parameters, with their defaults.
    at_start : dict
        Parameters that it keeps.
    """

    def __init__(self, bench: Bench, module: str, settings: Sequence[Any], **at_start: Any) -> None:
        self.bench, self._usual = bench, {s.name: s.default for s in settings if s.when != "at start"}
        self.name = bench.start(module, autostart=False, **at_start)

    def end(self) -> None:
        """Leave it unconfigured."""
        for transition in ("deactivate", "cleanup"):
            self.bench.change_state(self.name, transition)
        self.bench.forget(self.name)  # counts in later reports go on

    def begin(self, **parameters: Any) -> str:
        """Let it be active with these parameters; returns its name."""
        self.end()
        result = self.bench.set(self.name, **{**self._usual, **parameters})
        assert result.successful, result.reason
        for transition in ("configure", "activate"):
            assert self.bench.change_state(self.name, transition)
        return self.name


def tails(topics: Sequence[list[Any]]) -> Callable[[], list[list[Any]]]:
    """Return a function that returns what has come on each topic since now."""
    begins = [len(topic) for topic in topics]
    return lambda: [topic[begin:] for topic, begin in zip(topics, begins, strict=True)]


def of_one_state(topics: Sequence[list[Any]], stamps: set[int] | None = None) -> Any:
    """Return the messages that all topics have of one state, the latest one of these stamps; None where there is none.

    Of one topic the message, of several a tuple of messages.
    """
    by_stamp = [{stamp_of(m): m for m in topic} for topic in topics]
    common = set.intersection(*map(set, by_stamp), *([] if stamps is None else [stamps]))
    if not common:
        return None
    found = tuple(messages[max(common)] for messages in by_stamp)
    return found if len(found) > 1 else found[0]


def common_stamps(*topics: list[Any]) -> Callable[[], int]:
    """Return a function that counts the states that all topics have messages of; it looks at each message once."""
    stamps: list[set[int]] = [set() for _ in topics]
    looked = [0] * len(topics)

    def count() -> int:
        for k, topic in enumerate(topics):
            new = topic[looked[k] :]
            stamps[k].update(map(stamp_of, new))
            looked[k] += len(new)
        return len(set.intersection(*stamps))

    return count


def stamp_of(message: Any) -> int:
    stamp = message.clock if isinstance(message, Clock) else message.header.stamp
    return stamp.sec * 10**9 + stamp.nanosec
