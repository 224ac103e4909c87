"""Base of all nodes: lifecycle with autostart, parameters, diagnostics, reasons for failures."""

from __future__ import annotations

import functools
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

from lifecycle_msgs.msg import Transition
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode, LifecyclePublisher, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from std_srvs.srv import Trigger

from ...core.errors import ConfigurationError, ParameterError, RequestError, reason_of
from ...core.parameters import parameter, with_default
from ...lie_dynamics.texts import quoted
from ..outputs import diagnostics
from ..outputs.diagnostics import DiagnosticsPublisher, Report
from ..wire import qos
from ..wire.compatibility import (
    destroy_lifecycle,
    given_parameters,
    lifecycle_state,
    put_off_transitions,
    refuse_impossible_transitions,
)
from .parameters import Settings
from .process import ConnectivityWatchdog, RealTimeParameters, freeze_gc, unfreeze_gc
from .services import answer_request
from .spinning import EXECUTORS, REST_CHECK, REST_TIME

# Topics of one node: each for messages of one type, and none that it hears and publishes on.

SHARED_TOPICS = {"/clock", "/diagnostics", "/parameter_events", "/rosout"}
"""Topics that a node may hear and publish on: those of all nodes."""


def check_type(node: Node, type_: type, topic: str) -> None:
    """Raise ParameterError where remappings give one topic to messages of two types, which DDS hardly reports."""
    resolved = node.resolve_topic_name(topic)
    for other in (*node.subscriptions, *node.publishers):
        if other.topic_name == resolved and other.msg_type is not type_:
            raise ParameterError(
                f"{topic} is the topic {resolved}, which this node has for {other.msg_type.__name__}; expected "
                f"another topic for {type_.__name__}"
            )


def check_inputs(node: Node) -> None:
    """Raise ConfigurationError where a remapping makes the node receive its own messages."""
    own = {one.topic_name for one in node.publishers} - SHARED_TOPICS
    for heard in node.subscriptions:
        if heard.topic_name in own:
            raise ConfigurationError(
                f"{heard.topic_name} is an input and an output of this node; expected a topic of its own for each"
            )


@dataclass(frozen=True)
class NodeParameters(RealTimeParameters):
    """Parameters of all nodes."""

    autostart: bool = parameter(True, "Configure and activate the node as soon as possible.", "at start")
    executor: str = parameter(
        EXECUTORS[0],
        "Executor that runs the node; single_threaded is the fallback where rclpy has no EventsExecutor.",
        "at start",
        choices=EXECUTORS,
    )
    end_when_deaf: bool = parameter(
        False,
        "End with exit code 1, for a supervisor to start the process again, where a callback does not return, or "
        "nothing is heard and DDS leaves a network out; otherwise this is only reported.",
        "at start",
    )


@dataclass(frozen=True)
class BackgroundNodeParameters(NodeParameters):
    """Parameters of nodes that command nothing real: the viewer, and simulated drivers.

    In real time, these would set going more than a slow machine can do, and leave nothing of it to others; without,
    states become fewer.
    """

    thread_priority: int = with_default(RealTimeParameters, "thread_priority", 0)


LEAVES_ACTIVE = (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_ACTIVE_SHUTDOWN)
LEAVING_LABELS = ("deactivate", "shutdown")
"""Transitions out of the active state that a service may ask for."""
START_DELAY = 0.01
MOST_NAMED = 10
"""Unknown parameters that the log names."""

LONGEST_REST = 4.0
"""Longest steady time that rest is waited for where simulated time goes slower, or stands still [s]."""

LAST_ANSWERS, LAST_WORDS = 1.0, 0.2
"""Longest wait at the end for what was published to reach its subscribers [s]: answers, and the rest."""


Owned = TypeVar("Owned", bound=Any)
"""An object that has to be closed at the end."""


class ManagedNode(LifecycleNode):
    """A lifecycle node whose subclasses fill in `configure`, `activate`, `deactivate`, `cleanup` and `describe`.

    Any exception in `configure` or `activate` makes the transition fail, and is rolled back; its text is logged and
    stays in the diagnostics until a later transition succeeds. An exception that leaves the callback of a topic or a
    timer deactivates the node, which then publishes its final command as in any deactivation, and leaves the process
    and its other nodes alone.

    Attributes
    ----------
    ros_time : callable
        Returns the time [ns] of the node's clock.
    waiting_time : callable
        Returns the time [s] by which silence and waiting are measured: simulated time where the node uses it, so that a
        simulator that is paused or slow lets nothing run out; else steady time.
    watchdog : ConnectivityWatchdog or None
        Tells whether the process can be reached, while it spins.
    told_to_end : callable
        Returns whether the process is to end, for what waits in a transition.
    """

    def __init__(self, name: str, parameters: type[NodeParameters], **kwargs: Any) -> None:
        self._owned = ExitStack()
        self.failure = ""
        self.watchdog: ConnectivityWatchdog | None = None
        self.told_to_end: Callable[[], bool] = lambda: False
        self.simulated_time: bool | None = None
        self.ros_time: Callable[[], int] = time.time_ns
        self.waiting_time: Callable[[], float] = time.perf_counter
        super().__init__(name, **kwargs)
        refuse_impossible_transitions(self)
        self.settings = Settings(
            self, parameters, self.is_configured, self.check_settings, self.settings_changed,
            self.parameter_joints,
        )  # fmt: skip
        self._follow_time()
        self.add_post_set_parameters_callback(lambda _: self._follow_time())
        self._start_pending: bool = self.settings["autostart"]
        self.rest = RestFirst(self)
        self._diagnostics = DiagnosticsPublisher(self)
        self._start_timer = self.create_timer(
            START_DELAY, self._start_once, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    # For subclasses to fill in.

    def configure(self) -> None:
        """Build everything; raises with the reason where that is not possible."""

    def activate(self) -> None:
        """Begin to publish."""

    def deactivate(self) -> None:
        """Stop publishing."""

    def cleanup(self) -> None:
        """Let go of what `configure` built."""

    def brake(self) -> None:
        """Begin to bring what the node commands to rest, because it is to be deactivated."""

    def at_rest(self) -> bool:
        """Return whether what the node commands is at rest, as far as that can be waited for."""
        return True

    def can_configure(self) -> bool:
        """Return whether `configure` has all it needs; autostart waits for that."""
        return True

    def check_settings(self, values: Mapping[str, Any]) -> None:
        """Check parameter values against each other; raises ParameterError."""
        self.settings.kind.from_values(values)

    def settings_changed(self, names: set[str]) -> None:
        """React to parameters that have changed."""

    def parameter_joints(self) -> Sequence[str]:
        """Return the names of the joints that parameters have entries for; none while they are not known."""
        return ()

    def time_source_changed(self) -> None:
        """React to another `use_sim_time`: times of `waiting_time` before and after cannot be compared."""

    def describe(self, report: Report, period: float) -> None:
        """Fill in a diagnostic report over the last ``period`` seconds; what takes long is left as a part of it."""

    def hears(self) -> bool:
        """Return whether the node receives the inputs that it needs."""
        return True

    def run_when_idle(self, do: Callable[[], None]) -> None:
        """Do something that takes long, when no state waits for it."""
        do()

    # State.

    @property
    def state(self) -> str:
        """Lifecycle state: unconfigured, inactive, active, finalized, or a transition between them."""
        return lifecycle_state(self)

    def is_configured(self) -> bool:
        """Return whether the node is inactive or active."""
        return self.state in ("inactive", "active")

    def _follow_time(self) -> None:
        # Asking the node's clock costs fifty times as much, and matters only where time is simulated.
        simulated = bool(self.get_parameter("use_sim_time").value)
        before, self.simulated_time = self.simulated_time, simulated
        if simulated is before:
            return
        self.ros_time = self._clock_time if simulated else time.time_ns
        self.waiting_time = self._clock_seconds if simulated else time.perf_counter
        if before is not None:
            self.time_source_changed()

    def _clock_time(self) -> int:
        return int(self.get_clock().now().nanoseconds)

    def _clock_seconds(self) -> float:
        return self._clock_time() * 1e-9

    def waiting_clock(self) -> Clock:
        """Return the clock of timers whose work belongs to the robot's time, see `waiting_time`."""
        return self.get_clock() if self.simulated_time else Clock(clock_type=ClockType.STEADY_TIME)

    def start(self) -> None:
        """Configure and activate now, if autostart is still to do so and everything needed is there."""
        if not self._start_pending or self.state != "unconfigured" or not self.can_configure():
            return
        if self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult:
        """Set parameters, numbers that come as text among them; a value of another type is refused with a valid one."""
        result = super().set_parameters_atomically(self.settings.read_numbers(parameter_list))
        if result.reason.startswith("Wrong parameter type") and (valid := self.settings.valid(parameter_list)):
            result.reason = f"{result.reason}; {valid}"
        return result

    def set_values(self, values: Mapping[str, Any]) -> None:
        """Set parameters, all of them or none; raises RequestError with the reason."""
        result = self.set_parameters_atomically([Parameter(name, value=value) for name, value in values.items()])
        if not result.successful:
            raise RequestError(result.reason)

    def _start_once(self) -> None:
        self._start_timer.cancel()
        unknown = [name for name in given_parameters(self) if not self.has_parameter(name)]
        if unknown:
            names = ", ".join(quoted(name) for name in sorted(unknown)[:MOST_NAMED])
            self.get_logger().warning(f"not a parameter of this node, and of no effect: {names}")
        self.start()

    def _fail(self, reason: str) -> None:
        self.failure = reason
        self.get_logger().error(reason)

    # Callbacks.

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Callable[..., Any], *args: Any, **kw: Any
    ) -> Any:
        """Subscribe; see the class for exceptions that leave the callback."""
        check_type(self, msg_type, topic)
        return super().create_subscription(msg_type, topic, self._guarded(callback, topic), *args, **kw)

    def create_publisher(self, msg_type: Any, topic: str, *args: Any, **kw: Any) -> Any:
        """Make a publisher."""
        check_type(self, msg_type, topic)
        return super().create_publisher(msg_type, topic, *args, **kw)

    def create_lifecycle_publisher(self, msg_type: Any, topic: str, *args: Any, **kw: Any) -> Any:
        """Make a publisher that is silent unless the node is active."""
        check_type(self, msg_type, topic)
        return super().create_lifecycle_publisher(msg_type, topic, *args, **kw)

    def listen(
        self,
        type_: type,
        topic: str,
        callback: Callable[[Any], None],
        profile: QoSProfile = qos.SETPOINT_INPUT,
        raw: bool = False,
    ) -> Subscription:
        """Subscribe, to serialized messages where ``raw``, with a quality of service that the user can override."""
        options = qos.overridable()
        return self.create_subscription(type_, topic, callback, profile, qos_overriding_options=options, raw=raw)

    def create_timer(self, timer_period_sec: float, callback: Callable[..., Any], *args: Any, **kw: Any) -> Any:
        """Make a timer; see the class for exceptions that leave the callback."""
        return super().create_timer(timer_period_sec, self._guarded(callback, "a timer"), *args, **kw)

    def serve_trigger(self, name: str, do: Callable[[], str]) -> None:
        """Offer a service std_srvs/Trigger, see `answer_request`."""
        self.create_service(Trigger, name, lambda _, response: answer_request(response, do))

    def _guarded(self, callback: Callable[..., Any], what: str) -> Callable[..., Any]:
        @functools.wraps(callback)
        def guarded(*args: Any) -> Any:
            try:
                return callback(*args)
            except Exception as error:
                self._fault(what, error)

        return guarded

    def _fault(self, what: str, error: Exception) -> None:
        """Come to a safe end after an exception that nobody foresaw."""
        if not self.context.ok():
            return  # the node was asked to end in the middle of the callback
        text = "".join(traceback.format_exception(error)).rstrip()
        self._fail(f"deactivated after a fault in the callback of {what}: {type(error).__name__}: {error}")
        self.get_logger().error(text)
        if self.state == "active":
            self.trigger_deactivate()

    # Transitions.

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See `configure`."""
        if self.watchdog is not None:
            self.watchdog.pause()
        try:
            self.check_settings(self.settings)
            self.configure()
            check_inputs(self)
        except Exception as error:
            self._fail(f"not configured: {reason_of(error)}")
            self.cleanup()
            return TransitionCallbackReturn.FAILURE
        self.failure = ""
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See `activate`."""
        if self.watchdog is not None:
            self.watchdog.pause()
        result = super().on_activate(state)
        try:
            self.activate()
        except Exception as error:
            self._fail(f"not activated: {reason_of(error)}")
            self._deactivate()
            super().on_deactivate(state)
            return TransitionCallbackReturn.FAILURE
        self.failure = ""
        self._start_pending = False
        freeze_gc(self)
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See `deactivate`."""
        self._deactivate()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See `cleanup`."""
        self.cleanup()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop publishing and let go of everything."""
        self._start_pending = False
        self._deactivate()
        self.cleanup()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Return to unconfigured after an error in a transition."""
        self._deactivate()
        self.cleanup()
        return super().on_error(state)

    def _deactivate(self) -> None:
        """Deactivate, whatever is wrong with the node's final command."""
        unfreeze_gc(self)
        try:
            self.deactivate()
        except Exception as error:
            self._fail(f"deactivated with an error: {type(error).__name__}: {error}")

    def end(self) -> None:
        """Deactivate an active node, and wait until what it published has reached those who listen."""
        self._start_pending = False
        self.rest.make_now()
        if self.state == "active":
            self.trigger_deactivate()
        answers = [isinstance(publisher, LifecyclePublisher) for publisher in self.publishers]
        _deliver([p for p, answer in zip(self.publishers, answers, strict=True) if answer], LAST_ANSWERS)
        _deliver([p for p, answer in zip(self.publishers, answers, strict=True) if not answer], LAST_WORDS)

    def own(self, thing: Owned) -> Owned:
        """Return what is to be closed when the node is destroyed, the last one first."""
        self._owned.callback(thing.close)
        return thing

    def destroy_node(self) -> None:
        """Close all that the node has, also where making it failed midway."""
        try:
            self._owned.close()
        finally:
            unfreeze_gc(self)
            super().destroy_node()
            destroy_lifecycle(self)

    # Diagnostics.

    def report(self, period: float) -> Report:
        """Make the whole diagnostic report over the last ``period`` seconds."""
        return self.begin_report(period).complete()

    def begin_report(self, period: float) -> Report:
        """Make the diagnostic report over the last ``period`` seconds, but for the parts that are left in it."""
        report = Report(values={"lifecycle state": self.state})
        if self.failure:
            report.add(diagnostics.ERROR, self.failure)
        self.describe(report, period)
        if self.watchdog is not None and (text := self.watchdog.left_out):
            report.add(diagnostics.WARN if self.hears() else diagnostics.ERROR, text)
            self.get_logger().error(text, throttle_duration_sec=diagnostics.SAY_AGAIN)
        return report


class RestFirst:
    """Transitions of a node out of the active state, which wait until what the node commands is at rest."""

    def __init__(self, node: ManagedNode) -> None:
        self._node = node
        self._waiting: Callable[[], None] | None = None  # the transition
        self._until = 0.0, 0.0  # by `waiting_time`, and at the latest, steady [s]
        self._timer = node.create_timer(REST_CHECK, self._check, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._timer.cancel()
        put_off_transitions(node, self._on_transition)

    def begin(self) -> bool:
        """Begin to come to rest, where the node is active; return whether that takes time."""
        node = self._node
        if node.state != "active" or node.at_rest():
            return False
        node.brake()
        self._until = node.waiting_time() + REST_TIME, time.perf_counter() + LONGEST_REST
        return True

    def awaited(self) -> bool:
        """Return whether rest, which `begin` began, is still to be waited for."""
        due, latest = self._until
        return not self._node.at_rest() and self._node.waiting_time() <= due and time.perf_counter() <= latest

    def _on_transition(self, request: Any, make: Callable[[], None]) -> None:
        """Make a requested transition, out of the active state once what the node commands is at rest."""
        self.make_now()  # requested again: at once
        transition = request.transition
        leaves = transition.label in LEAVING_LABELS if transition.label else transition.id in LEAVES_ACTIVE
        if leaves and self.begin():
            self._waiting = make
            self._timer.reset()
        else:
            make()

    def _check(self) -> None:
        if self._node.state != "active" or not self.awaited():
            self.make_now()

    def make_now(self) -> None:
        """Make the transition that waits, if one does."""
        self._timer.cancel()
        make, self._waiting = self._waiting, None
        if make is not None:
            make()


class Ticker:
    """A timer of a node, which runs between `start` and `stop`."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._timer: Any = None

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self._timer is not None

    def start(self, period: float, do: Callable[[], None], clock: Clock | None = None) -> None:
        """Call a function every so often [s], by steady time unless another clock is given."""
        clock = clock or Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self._node.create_timer(period, do, clock=clock)

    def stop(self) -> None:
        """Call it no more."""
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None


def _deliver(publishers: Sequence[Publisher], longest: float) -> None:
    """Wait until what was published has reached its subscribers; in turns, for one that died acknowledges nothing."""
    waiting, deadline = list(publishers), time.monotonic() + longest
    while waiting and time.monotonic() < deadline:
        waiting = [publisher for publisher in waiting if not publisher.wait_for_all_acked(Duration(seconds=0.01))]
