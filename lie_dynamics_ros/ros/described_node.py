"""Base of nodes that need a robot description: from a parameter, or from a topic, where it may change."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from std_msgs.msg import String

from . import diagnostics, qos
from .diagnostics import Report
from .errors import ConfigurationError
from .managed_node import ManagedNode
from .parameters import Setting
from .robot_description import read_description

DESCRIPTION_SETTINGS = (
    Setting(
        "robot_description",
        "",
        "The robot: URDF text, a file path, file:///path or package://name/path. "
        "Empty: taken from the topic robot_description, and again whenever another one is published there.",
        "while unconfigured",
    ),
    Setting(
        "robot_description_timeout",
        5.0,
        "How long a configure transition waits for the topic robot_description [s]. Autostart waits without limit.",
        low=0.0,
        high=600.0,
    ),
)

POLL = 0.01


class DescribedNode(ManagedNode):
    """A node that is configured from a robot description; subclasses fill in `configure_model`."""

    def __init__(self, name: str, settings: Sequence[Setting], **kwargs: Any) -> None:
        self._received: str | None = None
        super().__init__(name, (*DESCRIPTION_SETTINGS, *settings), **kwargs)
        self._subscription = self.create_subscription(
            String,
            "robot_description",
            self._on_description,
            qos.DESCRIPTION,
            qos_overriding_options=qos.overridable(),
        )

    def configure_model(self, description: str) -> None:
        """Build everything for this URDF; raises with the reason, and then leaves all as it was."""

    @property
    def _from_topic(self) -> bool:
        return not self.settings["robot_description"].strip()

    def can_configure(self) -> bool:
        """Tell whether there is a description."""
        return self._received is not None or not self._from_topic

    def configure(self) -> None:
        """Build everything for the description at hand."""
        if self._from_topic:
            self._await_description()
            description = self._received
        else:
            description = read_description(self.settings["robot_description"])
        assert description is not None
        self.configure_model(description)

    def _await_description(self) -> None:
        """Wait for the topic inside a transition: the executor cannot deliver messages meanwhile, so take them here."""
        deadline = time.monotonic() + self.settings["robot_description_timeout"]
        while self._received is None:
            with self._subscription.handle:
                taken = self._subscription.handle.take_message(String, False)
            if taken is not None:
                self._received = taken[0].data
            elif time.monotonic() >= deadline:
                raise ConfigurationError(
                    f"no robot description: nothing received on {self._subscription.topic_name}, "
                    "and the parameter robot_description is empty"
                )
            else:
                time.sleep(POLL)

    def _on_description(self, message: String) -> None:
        if message.data == self._received:
            return
        self._received = message.data
        if not self._from_topic:
            return
        if not self.is_configured():
            self.start()
            return
        try:
            self.configure_model(message.data)
        except Exception as error:
            self.fall_back(f"the robot description changed and the new one cannot be used: {error}")
        else:
            self.get_logger().info("the robot description changed; now using the new one")

    def settings_changed(self, names: set[str]) -> None:
        """Start where a new description is what autostart was waiting for."""
        if "robot_description" in names:
            self.start()

    def describe(self, report: Report, period: float) -> None:
        """Say so while waiting for a description."""
        if not self.is_configured() and not self.can_configure():
            report.add(diagnostics.WARN, f"waiting for a robot description on {self._subscription.topic_name}")
