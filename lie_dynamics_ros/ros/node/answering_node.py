"""Base of nodes that answer joint states: each becomes one value, goes through the core, and comes out as one value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from builtin_interfaces.msg import Time
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from ...core.errors import RequestError
from ...core.parameters import Parameters, parameter
from ..inputs.state_stream import StateStream
from ..outputs.diagnostics import Report, TimingParameters
from ..wire import qos
from .managed_node import ManagedNode, NodeParameters
from .services import Services
from .worker import Worker


@dataclass(frozen=True)
class AnswerParameters(TimingParameters):
    """Parameters of nodes that answer states."""

    max_batch: int = parameter(1000, "Largest number of states in one service request.", low=1, high=1_000_000)


Core = TypeVar("Core", bound=Any)


class AnsweringNode(ManagedNode, ABC, Generic[Core]):
    """Joint states in, answers out; subclasses fill in `OPTIONS` and `publish`.

    A core has ``options``, ``with_options(options)``, ``answer(state)``, ``start()`` and ``forget()``, see `RobotCore`;
    inputs have ``read(message, stamp, now, age)``, which makes a state of a message, and ``forget()``.

    Attributes
    ----------
    core, inputs : object or None
        What answers, and what makes its states; None while unconfigured.
    stream : StateStream
    offers : Services
    worker : Worker
        For services that compute: joint states are answered meanwhile.
    """

    OPTIONS: type[Parameters]
    """Parameters of the core, which are some of the node's."""
    STATES = "state"
    """Name of the states in the diagnostics."""
    QUALITY = qos.STREAM_INPUT
    """Quality of service of their topic."""

    def __init__(self, name: str, parameters: type[NodeParameters], **kwargs: Any) -> None:
        self.core: Core | None = None
        self.inputs: Any = None
        self._prepared: Core | None = None
        super().__init__(name, parameters, **kwargs)
        self.worker = self.own(Worker("services"))
        self.offers = Services(self)
        self.open_inputs()
        self.stream = StateStream(self, self._on_state, self.restart, self.STATES, self.QUALITY)

    # For subclasses to fill in.

    def open_inputs(self) -> None:
        """Subscribe to topics that must be received before states."""

    def options_of(self, values: Mapping[str, Any]) -> Any:
        """Make the core's options of parameter values, and of what else decides on them; raises ParameterError."""
        return self.OPTIONS.from_values(values)

    @abstractmethod
    def publish(self, core: Core, answer: Any, stamp: Time) -> None:
        """Publish an answer under the time stamp of its state; raises MessageError where it is not to be published."""

    # Configuration.

    def check_settings(self, values: Mapping[str, Any]) -> None:
        """Check parameter values against each other, and build what they lead to; raises whatever stands against it."""
        super().check_settings(values)
        options = self.options_of(values)
        self._prepared = None
        if self.core is not None and options != self.core.options:
            self._prepared = self.core.with_options(options)

    def settings_changed(self, names: set[str]) -> None:
        """Apply parameters that may change at run time."""
        self.stream.set_timeout()
        if self._prepared is not None:
            self.serve(self.inputs, self._prepared)
        super().settings_changed(names)

    def serve(self, inputs: Any, core: Core) -> None:
        """Answer by this core from now on."""
        self.inputs, self.core, self._prepared = inputs, core, None
        self.stream.publishers.joints = frozenset(inputs.measured)

    @property
    def answering(self) -> Core | None:
        """The core while the node is active."""
        return self.core if self.stream.open else None

    def configure(self) -> None:
        """Build everything; raises with the reason where that fails, or a topic of states has an invalid name."""
        self.stream.topics.check()
        super().configure()

    def activate(self) -> None:
        """Begin to answer states."""
        assert self.core is not None
        self.core.start()
        self.stream.start()

    def deactivate(self) -> None:
        """Stop answering."""
        self.stream.stop()

    def cleanup(self) -> None:
        """Let go of what answers."""
        self.core = self.inputs = self._prepared = None

    def restart(self) -> None:
        """Forget what was received before time ran backwards, as when a bag is played again."""
        if self.core is not None:
            self.inputs.forget()
            self.core.forget()

    def require_core(self) -> Core:
        """Return the core, for a service; raises RequestError where there is none."""
        if self.core is None:
            raise RequestError("the node is not configured")
        return self.core

    def require_active(self) -> Core:
        """Return the core while the node is active; raises RequestError otherwise."""
        if self.answering is None:
            raise RequestError("the node is not active")
        return self.answering

    def serve_reset(self, then: Callable[[Core], str]) -> None:
        """Offer ``~/reset``, by which the node begins afresh; ``then(core)`` says what comes next."""

        def reset() -> str:
            core = self.require_core()
            self.restart()
            return then(core)

        self.serve_trigger("~/reset", reset)

    # Messages.

    def _on_state(self, message: JointState, stamp: Time, time: int, now: int, age: float) -> None:
        core = self.core
        assert core is not None
        self.publish(core, core.answer(self._read(message, time, now, age)), stamp)

    def take_in(
        self,
        type_: type,
        topic: str,
        take: Callable[[Core, Any, Any], None],
        profile: QoSProfile = qos.SETPOINT_INPUT,
    ) -> Subscription:
        """Subscribe to messages besides states, for ``take(core, inputs, message)`` while the node is active.

        What is wrong with one is counted.
        """

        def receive(message: Any) -> None:
            core = self.answering
            if core is not None:
                self.stream.accept(lambda: take(core, self.inputs, message))

        return self.listen(type_, topic, receive, profile)

    def _read(self, message: JointState, time: int, now: int, age: float) -> Any:
        """Return the state in a message; raises MessageError where it holds none."""
        return self.inputs.read(message, time, now, age)

    def time_source_changed(self) -> None:
        """Wait for states anew."""
        super().time_source_changed()
        self.stream.freshness.restart()

    def hears(self) -> bool:
        """Return whether the node receives the inputs that it needs."""
        return super().hears() and self.stream.hears()

    def run_when_idle(self, do: Callable[[], None]) -> None:
        """Do something that takes long, when no state waits for it."""
        self.stream.after_next(do)

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds."""
        super().describe(report, period)
        self.stream.describe(report, period)
        self.offers.describe(report)
