"""Base of nodes that need a robot description: from a parameter, or from a topic, where it may change.

Descriptions are read, and robots made of them, on a thread beside the executor: the robot before answers meanwhile.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import ParseError, canonicalize

from rclpy.clock import Clock, ClockType
from rclpy.qos import DurabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.timer import Timer
from std_msgs.msg import String

from ...core.errors import ConfigurationError, RobotDescriptionError, reason_of
from ...core.setting import Setting
from ..inputs.publishers import subscribe
from ..model.robot_description import MAX_SIZE, check_text, read_description
from ..outputs import diagnostics
from ..outputs.diagnostics import Report
from ..requests.worker import Background, Job
from ..wire import qos
from ..wire.compatibility import take_message
from .managed_node import ManagedNode

DESCRIPTION_SETTINGS = (
    Setting(
        "robot_description",
        "",
        "The robot: URDF text, a file path, file:///path or package://name/path. "
        "Empty: taken from the topic robot_description.",
        "while unconfigured",
    ),
    Setting(
        "robot_description_timeout",
        5.0,
        "How long a configure transition waits for the topic robot_description [s]. Autostart waits without limit.",
        high=600.0,
    ),
    Setting(
        "max_description_size",
        MAX_SIZE,
        "Largest robot description that is read [bytes].",
        low=1000,
        high=2**30,
    ),
    Setting(
        "allow_robot_change",
        False,
        "Take another robot from the topic robot_description while active; otherwise it is refused.",
    ),
)

POLL = 0.01
"""How often a configure transition looks for a message, and the executor for a robot that is ready [s]."""
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


class DescribedNode(ManagedNode):
    """A node that is configured from a robot description; subclasses fill in `build` and `use`."""

    def __init__(self, name: str, settings: Sequence[Setting], **kwargs: Any) -> None:
        self._published: str | None = None  # the last text on the topic that could be a robot
        self._used: str | None = None  # the text from the topic that the robot at hand was made of
        self._refused = ""
        self._job: Job | None = None
        self._poll: Timer | None = None
        super().__init__(name, (*DESCRIPTION_SETTINGS, *settings), **kwargs)
        self._background = self.own(Background("robot description"))
        self._subscription = subscribe(
            self, String, "robot_description", lambda data, _: self._on_description(data), qos.DESCRIPTION
        )

    # For subclasses to fill in.

    @abstractmethod
    def build(self, description: str, values: Mapping[str, Any]) -> Any:
        """Make a robot of URDF text, with parameter values; raises with the reason. Runs beside the executor."""

    @abstractmethod
    def use(self, robot: Any) -> None:
        """Put what `build` made in the place of the robot before."""

    # Where the description comes from.

    @property
    def _from_topic(self) -> bool:
        return not self.settings["robot_description"].strip()

    def _job_for(self, text: str | None) -> Job:
        """Return what there is to build now, for a text from the topic or, without, for the parameter."""
        values = dict(self.settings)

        def build() -> Any:
            most = values["max_description_size"]
            return self.build(read_description(values["robot_description"], most) if text is None else text, values)

        return Job((text, values), build)

    def can_configure(self) -> bool:
        """Return whether a robot has been made, or found to be impossible; begins to make one where possible."""
        if self._from_topic and self._published is None:
            self._say_waiting()
            return False
        job = self._job_for(self._published if self._from_topic else None)
        if self._job is not None and self._job.key == job.key and self._job.done:
            return True
        self._begin_job(job)
        return False

    def configure(self) -> None:
        """Use the robot that was made for the description at hand, or make it now."""
        if self._from_topic:
            self._await_description()
        wanted = self._job_for(self._published if self._from_topic else None)
        ready, self._job = self._job, None  # a file may be another one the next time
        if ready is None or ready.key != wanted.key or not ready.done:
            ready = wanted
            ready.run()
        self._use_made(ready)

    def _use_made(self, job: Job) -> None:
        self.use(job.result())
        self._used, self._refused = job.key[0], ""

    def _await_description(self) -> None:
        """Wait for the topic inside a transition: the executor cannot deliver messages meanwhile, so take them here."""
        deadline = time.monotonic() + self.settings["robot_description_timeout"]
        while self._published is None:
            taken = take_message(self._subscription, String)
            if taken is not None:
                self._keep_text(taken)
            elif self.told_to_end() or time.monotonic() >= deadline:
                raise ConfigurationError(
                    f"no robot description: nothing received on {self._subscription.topic_name}, "
                    "and the parameter robot_description is empty"
                )
            else:
                time.sleep(POLL)

    # Another description.

    def _on_description(self, data: bytes) -> None:
        if not self._keep_text(data) or not self._from_topic:
            return
        if not self.is_configured():
            self.start()
        else:
            self._change_robot()

    def _change_robot(self) -> None:
        """Take another robot, where it is one and where it may be taken."""
        if same_robot(self._published, self._used):
            self._refused = ""
        elif self.state == "active" and self._used is not None and not self.settings["allow_robot_change"]:
            self._refuse_description(
                "another robot was published while this one is in use, and allow_robot_change is false"
            )
        else:
            self._begin_job(self._job_for(self._published))

    def _keep_text(self, data: bytes) -> bool:
        """Keep the text of a message; returns whether it could be that of a robot."""
        try:
            most = self.settings["max_description_size"]
            if len(data) > most + SMALLEST_TEXT + 4:
                raise RobotDescriptionError(f"it has {len(data)} bytes; max_description_size is {most}")
            if len(data) < SMALLEST_TEXT:
                raise RobotDescriptionError("it is no serialized text")
            text = deserialize_message(data, String).data
            check_text(text)
        except Exception as error:
            self._refuse_description(f"a message cannot be a robot description: {reason_of(error)}")
            return False
        self._published = text
        return True

    def _refuse_description(self, reason: str) -> None:
        self._refused = f"refused on {self._subscription.topic_name}: {reason}"
        self.get_logger().error(self._refused, throttle_duration_sec=diagnostics.SAY_AGAIN)

    # Beside the executor.

    def _begin_job(self, job: Job) -> None:
        """Make a robot; where another one is being made, when that is done."""
        if self._poll is not None:
            return
        self._job = job
        self._background.start(job)
        self._poll = self.create_timer(POLL, self._look_for_robot, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _look_for_robot(self) -> None:
        """Go on where a robot has been made."""
        job = self._job
        if job is not None and not job.done:
            return
        if self._poll is not None:
            self.destroy_timer(self._poll)
            self._poll = None
        if not self.is_configured():
            self.start()
            return
        self._job = None
        if job is None or not self._from_topic:
            return
        if job.key != self._job_for(self._published).key:  # another description, or other parameters, since then
            self._change_robot()
            return
        try:
            self._use_made(job)
        except Exception as error:
            self._refuse_description(f"the new robot cannot be used, the one before stays: {reason_of(error)}")
        else:
            self.get_logger().info("the robot description changed; now using the new one")

    # What is reported.

    def settings_changed(self, names: set[str]) -> None:
        """Start where a new description is what autostart was waiting for; take one that was refused before."""
        if "robot_description" in names:
            self.start()
        if "allow_robot_change" in names and self._from_topic and self.is_configured():
            self._change_robot()

    def hears(self) -> bool:
        """Return whether there is a description, or the node needs none from the topic."""
        return super().hears() and not (self._from_topic and self._published is None)

    def _say_waiting(self) -> str:
        topic = self._subscription.topic_name
        text = f"waiting for a robot description on {topic}"
        for publisher in self.get_publishers_info_by_topic(topic):
            if publisher.qos_profile.durability == DurabilityPolicy.VOLATILE:
                text += (
                    f"; {publisher.node_name} publishes it as volatile, which is not heard here: let it be transient "
                    f"local, or set the parameter qos_overrides.{topic}.subscription.durability to volatile"
                )
                break
        self.get_logger().info(text, throttle_duration_sec=diagnostics.SAY_AGAIN)
        return text

    def describe(self, report: Report, period: float) -> None:
        """Say so while waiting for a description, and where one was refused."""
        if self._refused:
            report.add(diagnostics.ERROR, self._refused)
        if self.is_configured():
            return
        if self._from_topic and self._published is None:
            report.add(diagnostics.WARN, self._say_waiting())
        elif self._poll is not None:
            report.add(diagnostics.WARN, BEING_READ)
