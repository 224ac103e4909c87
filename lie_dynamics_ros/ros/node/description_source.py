"""The robot of a node: its description, from a parameter or from a topic, where it may change.

Descriptions are read, and robots made of them, on a thread beside the executor: the robot before answers meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import ParseError, canonicalize

from rclpy.clock import Clock, ClockType
from rclpy.qos import DurabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.timer import Timer
from std_msgs.msg import String

from ...core.errors import ConfigurationError, RobotDescriptionError, reason_of
from ...core.parameters import Parameters, parameter
from ..inputs.model_loading import MAX_SIZE, check_text, read_description
from ..inputs.publishers import subscribe
from ..outputs import diagnostics
from ..outputs.diagnostics import Report
from ..wire import qos
from ..wire.compatibility import take_message
from .managed_node import ManagedNode
from .worker import Job, Worker


@dataclass(frozen=True)
class DescriptionParameters(Parameters):
    """Source of the description of a node's robot."""

    robot_description: str = parameter(
        "",
        "The robot: URDF text, a file path, file:///path or package://name/path. Empty: taken from the topic "
        "robot_description.",
        "while unconfigured",
    )
    robot_description_timeout: float = parameter(
        5.0,
        "How long a configure transition waits for the topic robot_description [s]. Autostart waits without limit.",
        high=600.0,
    )
    max_description_size: int = parameter(
        MAX_SIZE, "Largest robot description that is read [bytes].", low=1000, high=2**30
    )
    allow_robot_change: bool = parameter(
        False, "Take another robot from the topic robot_description while active; otherwise it is refused."
    )


POLL = 0.01
"""Period at which a configure transition looks for a message, and the executor for a robot that is ready [s]."""
BEING_READ = "the robot description is being read"
"""Diagnostics meanwhile."""
SMALLEST_TEXT = 9
"""Bytes of a serialized empty text: fewer can crash the deserializer of Fast DDS."""


def same_robot(text: str | None, other: str | None) -> bool:
    """Return whether two descriptions are the same but for blanks and comments."""
    if text is None or other is None or "<!DOCTYPE" in text + other:
        return text == other
    try:
        return text == other or _canonical(text) == _canonical(other)
    except ParseError:
        return text.split() == other.split()


def _canonical(text: str) -> str:
    return canonicalize(text.strip(), strip_text=True)


class DescriptionTopic:
    """The topic ``robot_description``.

    ``changed`` is called after each message whose text could be that of a robot.

    Attributes
    ----------
    text : str or None
        The last one that could be that of a robot.
    refused : str
        Why the last description was not taken; empty where it was.
    """

    def __init__(self, node: ManagedNode, changed: Callable[[], None]) -> None:
        self._node, self._changed = node, changed
        self.text: str | None = None
        self.refused = ""
        self._subscription = subscribe(
            node, String, "robot_description", lambda data, _: self._on_message(data), qos.DESCRIPTION
        )

    @property
    def name(self) -> str:
        """Full name of the topic."""
        return self._subscription.topic_name

    def _on_message(self, data: bytes) -> None:
        if self._keep(data):
            self._changed()

    def _keep(self, data: bytes) -> bool:
        """Keep the text of a message; returns whether it could be that of a robot."""
        try:
            most = self._node.settings["max_description_size"]
            if len(data) > most + SMALLEST_TEXT + 4:
                raise RobotDescriptionError(f"it has {len(data)} bytes; max_description_size is {most}")
            if len(data) < SMALLEST_TEXT:
                raise RobotDescriptionError("it is no serialized text")
            text = deserialize_message(data, String).data
            check_text(text)
        except Exception as error:
            self.refuse(f"a message cannot be a robot description: {reason_of(error)}")
            return False
        self.text = text
        return True

    def refuse(self, reason: str) -> None:
        """Say why the last description is not taken."""
        self.refused = f"refused on {self.name}: {reason}"
        self._node.get_logger().error(self.refused, throttle_duration_sec=diagnostics.SAY_AGAIN)

    def wait(self) -> None:
        """Wait for a text inside a transition: the executor cannot deliver messages meanwhile, so take them here."""
        deadline = time.monotonic() + self._node.settings["robot_description_timeout"]
        while self.text is None:
            taken = take_message(self._subscription, String)
            if taken is not None:
                self._keep(taken)
            elif self._node.told_to_end() or time.monotonic() >= deadline:
                raise ConfigurationError(
                    f"no robot description: nothing received on {self.name}, "
                    "and the parameter robot_description is empty"
                )
            else:
                time.sleep(POLL)

    def say_waiting(self) -> str:
        """Log, and return, that a description is waited for."""
        text = f"waiting for a robot description on {self.name}"
        for publisher in self._node.get_publishers_info_by_topic(self.name):
            if publisher.qos_profile.durability == DurabilityPolicy.VOLATILE:
                text += (
                    f"; {publisher.node_name} publishes it as volatile, which is not heard here: let it be transient "
                    f"local, or set the parameter qos_overrides.{self.name}.subscription.durability to volatile"
                )
                break
        self._node.get_logger().info(text, throttle_duration_sec=diagnostics.SAY_AGAIN)
        return text


class DescriptionSource:
    """The robot of a node with the parameters `DescriptionParameters`, made of its description.

    Parameters
    ----------
    node : ManagedNode
    build : callable
        ``build(description, values)`` makes a robot of URDF text, with parameter values; raises with the reason. Runs
        beside the executor.
    use : callable
        Puts what ``build`` made in the place of the robot before.
    """

    def __init__(
        self, node: ManagedNode, build: Callable[[str, Mapping[str, Any]], Any], use: Callable[[Any], None]
    ) -> None:
        self._node, self.build, self._use = node, build, use
        self._used: str | None = None  # the text from the topic that the robot at hand was made of
        self._job: Job | None = None
        self._poll: Timer | None = None
        self._background = node.own(Worker("robot description"))
        self.topic = DescriptionTopic(node, self._change)

    @property
    def _from_topic(self) -> bool:
        return not self._node.settings["robot_description"].strip()

    @property
    def missing(self) -> bool:
        """Whether the description is still to come, on the topic."""
        return self._from_topic and self.topic.text is None

    def _wanted(self) -> Job:
        """Return what there is to build now, of the text from the topic or by the parameter."""
        text, values = self.topic.text if self._from_topic else None, dict(self._node.settings)

        def build() -> Any:
            most = values["max_description_size"]
            return self.build(read_description(values["robot_description"], most) if text is None else text, values)

        return Job((text, values), build)

    def ready(self) -> bool:
        """Return whether a robot has been made, or found to be impossible; begins to make one where possible."""
        if self.missing:
            self.topic.say_waiting()
            return False
        job = self._wanted()
        if self._job is not None and self._job.key == job.key and self._job.done:
            return True
        self._begin(job)
        return False

    def configure(self) -> None:
        """Use the robot that was made for the description at hand, or make it now; raises with the reason."""
        if self._from_topic:
            self.topic.wait()
        wanted = self._wanted()
        ready, self._job = self._job, None  # a file may be another one the next time
        if ready is None or ready.key != wanted.key or not ready.done:
            ready = wanted
            ready.run()
        self._take(ready)

    def _take(self, job: Job) -> None:
        self._use(job.result())
        self._used, self.topic.refused = job.key[0], ""

    def _change(self) -> None:
        """Take the robot on the topic, where it is another one and may be taken."""
        if not self._from_topic:
            return
        if not self._node.is_configured():
            self._node.start()
        elif same_robot(self.topic.text, self._used):
            self.topic.refused = ""
        elif self._node.state == "active" and self._used is not None and not self._node.settings["allow_robot_change"]:
            self.topic.refuse("another robot was published while this one is in use, and allow_robot_change is false")
        else:
            self._begin(self._wanted())

    def _begin(self, job: Job) -> None:
        """Make a robot; where another one is being made, when that is done."""
        if self._poll is not None:
            return
        self._job = job
        self._background.start(job)
        self._poll = self._node.create_timer(POLL, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _look(self) -> None:
        """Go on where a robot has been made."""
        job = self._job
        if job is not None and not job.done:
            return
        if self._poll is not None:
            self._node.destroy_timer(self._poll)
            self._poll = None
        if not self._node.is_configured():
            self._node.start()
            return
        self._job = None
        if job is None or not self._from_topic:
            return
        if job.key != self._wanted().key:  # another description, or other parameters, since then
            self._change()
            return
        try:
            self._take(job)
        except Exception as error:
            self.topic.refuse(f"the new robot cannot be used, the one before stays: {reason_of(error)}")
        else:
            self._node.get_logger().info("the robot description changed; now using the new one")

    def settings_changed(self, names: set[str]) -> None:
        """Start where a new description is what autostart was waiting for; take one that was refused before."""
        if "robot_description" in names:
            self._node.start()
        if "allow_robot_change" in names and self._from_topic and self._node.is_configured():
            self._change()

    def describe(self, report: Report) -> None:
        """Say so while waiting for a description, and where one was refused."""
        if self.topic.refused:
            report.add(diagnostics.ERROR, self.topic.refused)
        if self._node.is_configured():
            return
        if self.missing:
            report.add(diagnostics.WARN, self.topic.say_waiting())
        elif self._poll is not None:
            report.add(diagnostics.WARN, BEING_READ)
