"""Joint states on their way through a node: checked for their time, answered, counted; nothing they hold ends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from builtin_interfaces.msg import Time
from rclpy.clock import JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from ...core.errors import ConfigurationError, MessageError, WaitingError, reason_of, start_problem
from ...core.parameters import Parameters, parameter
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.texts import quoted
from ..outputs import diagnostics
from ..outputs.diagnostics import SAY_AGAIN, Report, ResponseTimes, StreamStatistics
from ..wire import qos
from ..wire.compatibility import UNKNOWN
from ..wire.messages import nanoseconds
from ..wire.serialized import StateDecoder
from .publishers import Publishers, subscribe

if TYPE_CHECKING:
    from ..node.managed_node import ManagedNode


# Checks of the time stamps of states.

BACKWARDS = "time ran backwards"
"""Kind of the error for a state that is older than the one before."""
STALE = "stale"
"""Kind of the error for a state that is too old when it arrives."""
EARLY = "from the future"
"""Kind of the error for a state that is ahead of the node's clock."""
MOST_TRACKED = 64
"""Publishers, with joints, whose times are kept; beyond, all are forgotten: who comes and goes takes no memory."""


AGAIN = 500_000_000
"""Time stamps that go back by more than this [ns] may mean that a recording begins again."""


class StateTimes:
    """Refuses states that are too old, from the future, or older than one of the same publisher that was answered.

    Where a publisher sends several lists of joints, each list has times of its own.

    Only states that were answered count as the last: what is refused, for its time or for what it holds, refuses no
    other. A state without a time stamp (zero) is taken as fresh.

    Attributes
    ----------
    timeout : int
        Oldest age [ns] of a state that is answered; 0 switches the check against the clock off.
    went_back : int
        How far time went back [ns] when last it did.
    """

    def __init__(self) -> None:
        self.timeout = 0
        self.went_back = 0
        self._tracks: dict[tuple[bytes | str, ...], _Track] = {}
        self._checked: tuple[_Track, int] | None = None

    def reset(self) -> None:
        """Forget the last states."""
        self._tracks.clear()

    def begins_again(self, simulated: bool) -> bool:
        """Tell a recording that begins again from messages that overtook each other and from a clock that was set.

        Where states are held against the system's clock, an old one is but late: the robot is where it was.
        """
        return self.went_back > AGAIN and (simulated or not self.timeout)

    def check(self, stamp: int, now: int, publisher: bytes = b"", joints: Sequence[str] = ()) -> int:
        """Return the age [ns] of a state stamped ``stamp`` [ns] at the time ``now`` [ns]; 0 for no stamp.

        Parameters
        ----------
        publisher : bytes
            Who sent it; publishers whose clocks differ do not refuse each other's states.
        joints : sequence of str
            Joints that it holds; each may be measured at a time of its own, and sent in any order.

        Raises
        ------
        MessageError
            The state must not be answered. After a jump back in time, states are accepted again as soon as their
            time runs forwards.
        """
        self._checked = None
        if stamp == 0:
            return 0
        key = publisher, *joints
        track = self._tracks.get(key)
        if track is None:
            if len(self._tracks) >= MOST_TRACKED:
                self._tracks.clear()
            track = self._tracks[key] = _Track()
        if stamp < track.last and (not track.back or stamp < track.back):
            track.back = stamp
            self.went_back = track.last - stamp
            raise MessageError(BACKWARDS, f"the time stamp went back by {self.went_back * 1e-9:.6f} s")
        age = now - stamp
        if self.timeout:
            if age > self.timeout:
                raise MessageError(
                    STALE, f"a state was {age * 1e-9:.3f} s old; state_timeout is {self.timeout * 1e-9:.3f} s"
                )
            if -age > self.timeout:
                raise MessageError(
                    EARLY,
                    f"a state was stamped {-age * 1e-9:.3f} s ahead of this node's clock "
                    "(clocks not synchronised, or use_sim_time set on one side only)",
                )
        self._checked = track, stamp
        return age

    def answered(self) -> None:
        """Take note that the state checked last was answered: older ones of its list are refused from now on."""
        if self._checked is not None:
            track, track.last = self._checked
            track.back = 0


@dataclass(slots=True)
class _Track:
    """Times of a publisher's list of joints [ns]: of its last state that was answered, of its last that went back."""

    last: int = 0
    back: int = 0


# Topics that parameters name: subscribed to where each is one of its own, as ROS resolves it, and refused else.

MOST_TOPICS = 100
"""Names in one parameter: each subscription takes threads and memory of DDS."""


class InputTopics:
    """The topics on which a node receives states: one that needs no parameter, and those that parameters name.

    Two names are the same topic where ROS resolves them alike: with or without the namespace, or by a remapping.
    """

    def __init__(self, node: ManagedNode, first: Subscription) -> None:
        self._node, self.heard = node, [first]
        self._names = {first.topic_name: "the input joint_states"}
        self._problems: list[str] = []

    def hear(self, parameter: str, type_: type, listener: Callable[[int], Callable[[bytes, bytes], None]]) -> bool:
        """Subscribe to the topics that a parameter names, with ``listener(place)`` for each that is not empty.

        What cannot be subscribed to is kept for `check`, and no more. Returns whether there are any names.
        """
        topics = self._node.settings.get(parameter, ())
        if len(topics) > MOST_TOPICS:
            self._problems.append(f"{parameter} has {len(topics)} names; expected at most {MOST_TOPICS}")
            return True
        for place, topic in enumerate(topics):
            if topic:
                self._hear(f"{parameter} {place + 1} ({quoted(topic)})", topic, type_, listener(place))
        return any(topics)

    def _hear(self, name: str, topic: str, type_: type, callback: Callable[[bytes, bytes], None]) -> None:
        try:
            resolved = self._node.resolve_topic_name(topic)
            problem = self._taken(resolved, name)
            if resolved in self._names:
                problem = self._both(name, self._names[resolved], resolved)
            if not problem:
                self.heard.append(subscribe(self._node, type_, topic, callback, qos.STREAM_INPUT))
                self._names[resolved] = name
        except Exception as error:
            problem = f"{name} cannot be heard: {start_problem(error)}"
        if problem:
            self._problems.append(problem)

    def check(self) -> None:
        """Raise ConfigurationError where a name is no topic, or that of another name, input or output of the node."""
        taken = [self._taken(topic, name) for topic, name in self._names.items()]
        for problem in (*self._problems, *taken):
            if problem:
                raise ConfigurationError(problem)

    def _taken(self, topic: str, name: str) -> str:
        """Return what else the node has the topic for; empty where nothing."""
        if any(one.topic_name == topic for one in self._node.publishers):
            return f"{name} is the topic {topic}, which this node publishes; expected another"
        if any(one.topic_name == topic for one in self._node.subscriptions if one not in self.heard):
            return self._both(name, "another input of this node", topic)
        return ""

    @staticmethod
    def _both(one: str, other: str, topic: str) -> str:
        return f"{one} and {other} are both the topic {topic}; expected a topic of its own for each"


@dataclass(frozen=True)
class StreamParameters(Parameters):
    """Topics of states."""

    joint_state_topics: tuple[str, ...] = parameter(
        [""],
        "Further topics of joint states, besides joint_states, for drivers that know some joints each.",
        "at start",
    )


FEW_LATE = 10
"""Answers for each state that came too late, from which on such states are a busy machine's and no error."""
SOON = 0.05
"""While the last state is younger than this [s], the next one is near."""


class Freshness:
    """Times of the last state and of the last answer, by `ManagedNode.waiting_time` unless another is named.

    Attributes
    ----------
    last, heard : float
        Arrival of the last state, by steady time, None before the first, and by `ManagedNode.waiting_time` [s].
    answered, since : int or None, float
        Time of the last state that was answered [ns]; its arrival, or since when one is waited for [s].
    age : int
        Of the state that is being answered, at its arrival [ns].
    """

    def __init__(self, node: ManagedNode, times: StateTimes) -> None:
        self._node, self._times = node, times
        self.last: float | None = None
        self.answered: int | None = None
        self.heard = self.since = 0.0
        self.age = 0

    def restart(self) -> None:
        """Count silence from now on."""
        self.answered = None
        self.since = self.heard = self._node.waiting_time()

    def holds(self, share: float = 1.0) -> bool:
        """Return whether the last state that was answered is younger than some share of `state_timeout`.

        By its stamp and its arrival.
        """
        if self.answered is None or not self._times.timeout:
            return self.answered is not None
        oldest, node = share * self._times.timeout, self._node
        return (node.waiting_time() - self.since) * 1e9 <= oldest and node.ros_time() - self.answered <= oldest

    def is_recent(self, moment: float, longest: float) -> bool:
        """Return whether a time [s] is past by no more than some time [s], or `state_timeout`."""
        return self._node.waiting_time() - moment <= max(self._node.settings["state_timeout"], longest)

    def silence(self, longest: float, problem: str) -> str:
        """Tell why no state has been answered for longer; empty where one has, and where no time is too long."""
        if not max(self._node.settings["state_timeout"], longest) or self.is_recent(self.since, longest):
            return ""
        if self.last is None or not self.is_recent(self.heard, longest):
            return "joint states have ceased"
        return f"joint states cannot be answered: {problem or 'some joints are in none'}"

    def require(self) -> None:
        """Raise MessageError where the state has become stale meanwhile, as where the process was frozen."""
        age, timeout = self.age * 1e-9 + self._node.waiting_time() - self.heard, self._times.timeout * 1e-9
        if timeout and age > timeout:
            raise MessageError(
                STALE, f"a state was {age:.3f} s old when its answer was ready; state_timeout is {timeout:.3f} s"
            )


class StateStream:
    """The topic ``joint_states`` of a node, and others of `StreamParameters`, and what became of the states.

    Parameters
    ----------
    node : ManagedNode
        With the parameters of `TimingParameters`.
    answer : callable
        Publishes the answer to a state, ``answer(message, stamp, time, now, age)`` with its time stamp, its time (that
        of its arrival where it has none) and that of its arrival [ns], and how old it was then [s], 0 where that is not
        known; raises `MessageError` or `LieDynamicsError` where there is none.
    restart : callable
        Called when time ran backwards, as when a recording starts again: forgets what belongs to the time before.
    what : str
        What the states are to this node, for the diagnostics.
    quality : QoSProfile
        Of the topic ``joint_states``.

    Attributes
    ----------
    open : bool
        Whether states are answered.
    responses : ResponseTimes
        From a state's time stamp to its answer; from its arrival where it has none, or is not held against a clock.
    publishers : Publishers
        Whose ``joints`` say which matter in states of several; others are not looked at.
    """

    def __init__(
        self,
        node: ManagedNode,
        answer: Callable[[JointState, Time, int, int, float], None],
        restart: Callable[[], None],
        what: str = "state",
        quality: QoSProfile = qos.STREAM_INPUT,
    ) -> None:
        self._node, self._answer, self._restart, self._what = node, answer, restart, what
        self.open = False
        self.statistics = StreamStatistics()
        self.responses = ResponseTimes()
        self._times = StateTimes()
        self._decode = StateDecoder().decode
        self.freshness = Freshness(node, self._times)
        self.require_fresh = self.freshness.require
        self._stood: float | None = None  # simulated time at the last report [s]
        self._said_shared = False  # whether the log has named publishers that share joints
        self._told = (0, 0)  # stale states and answers at the last report
        self._before: int | None = None  # states answered before it was opened, until the first is
        self._then: Callable[[], None] | None = None
        self.set_timeout()
        self._subscription = subscribe(node, JointState, "joint_states", self.on_state, quality)
        self.topics = InputTopics(node, self._subscription)
        self.publishers = Publishers(node, self.topics.heard)
        self.topics.hear("joint_state_topics", JointState, lambda place: self.on_state)
        backwards = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True)
        self._jumps = node.get_clock().create_jump_callback(backwards, post_callback=self._on_time_jump)

    def set_timeout(self) -> None:
        """Take over the parameters ``state_timeout`` and ``deadline``."""
        self.responses.deadline = self._node.settings["deadline"]
        self._times.timeout = round(self._node.settings["state_timeout"] * 1e9)

    def start(self) -> None:
        """Begin to answer."""
        self.responses.reset()
        self._times.reset()
        self.freshness.last = None
        self.freshness.restart()
        self.open = True
        self._before = self.statistics.answered
        self._say_waiting()

    def stop(self) -> None:
        """Stop answering."""
        self.open = False

    def hears(self) -> bool:
        """Return whether states come, where they are to be answered."""
        fresh = self.freshness
        return not self.open or (fresh.last is not None and fresh.is_recent(fresh.heard, diagnostics.PERIOD))

    def silence(self, longest: float) -> str:
        """Tell why no state has been answered for longer than some time [s], and `state_timeout`; empty where one has.

        Silence is measured by `ManagedNode.waiting_time`; where both are 0, none is too long.
        """
        return self.freshness.silence(longest, self.statistics.problem)

    def on_state(self, message: JointState | bytes, publisher: bytes = UNKNOWN) -> None:
        """Answer a state, serialized or not."""
        if not self.open:
            return
        fresh, statistics, times, publishers = self.freshness, self.statistics, self._times, self.publishers
        begin = fresh.last = perf_counter()
        heard = fresh.heard = self._node.waiting_time()
        try:
            # What can wait waits until the answer is out: here all of it is slow, after a millisecond of other work.
            now = self._node.ros_time()
            if isinstance(message, bytes):
                message, stamp, time = self._decode(message)
            else:
                stamp = message.header.stamp
                time = nanoseconds(stamp)
            age = fresh.age = times.check(time, now, publisher, message.name)
            measured = now - age
            if publishers.slower and publishers.passes_over(publisher, message.name, heard):
                raise WaitingError("faster publishers publish the same joints")
            self._answer(message, stamp, measured, now, age * 1e-9 if times.timeout else 0.0)
            times.answered()
            fresh.answered, fresh.since = measured, heard
            if publishers.several:
                publishers.count(publisher, message.name, heard)
        except WaitingError:
            times.answered()
            if publishers.several and not isinstance(message, bytes):
                publishers.count(publisher, message.name, heard)
            return
        except MessageError as error:
            statistics.reject(error.kind, reason_of(error))
            if error.kind == BACKWARDS and times.begins_again(bool(self._node.simulated_time)):
                fresh.answered = None
                self._restart()
            return
        except LieDynamicsError as error:
            statistics.reject("no result", reason_of(error))
            return
        except Exception as error:
            _count_unexpected(self._node, self.statistics, error)
            return
        finally:
            statistics.received += 1
            if publisher != publishers.latest:
                publishers.heard(publisher, () if isinstance(message, bytes) else message.name)
        statistics.answered += 1
        duration = perf_counter() - begin
        statistics.callback.add(duration)
        response = duration
        if age:
            response += age * 1e-9
            if response < 0.0:
                response = 0.0  # clocks of two machines differ
            statistics.latency.add(response)
        self.responses.add(response if times.timeout else duration)
        if self._then is not None:
            then, self._then = self._then, None
            then()

    def after_next(self, do: Callable[[], None]) -> None:
        """Do something after the next answer, when it is longest until another state; at once where none come."""
        last = self.freshness.last
        if self._then is None and self.open and last is not None and perf_counter() - last < SOON:
            self._then = do
        else:
            waiting, self._then = self._then, None
            if waiting is not None and waiting != do:
                waiting()
            do()

    def accept(self, take: Callable[[], None]) -> bool:
        """Take in a message that is not a state; whatever is wrong with it is counted. Returns whether it was taken."""
        try:
            take()
        except MessageError as error:
            self.statistics.reject(error.kind, reason_of(error))
        except Exception as error:
            _count_unexpected(self._node, self.statistics, error)
        else:
            return True
        return False

    def _on_time_jump(self, _: TimeJump) -> None:
        self._times.reset()
        self.freshness.restart()
        self._restart()

    def describe(self, report: Report, period: float) -> None:
        """Write counts and durations into a diagnostic report, and what is wrong while states are to be answered."""
        rejected = self.statistics.describe(report, period)
        told, self._told = self._told, (self.statistics.rejected[STALE], self.statistics.answered)
        late, answered = self._told[0] - told[0], self._told[1] - told[1]
        self.responses.describe(report, self._node.settings["state_timeout"])
        several, shared = self.publishers.take_several(), self.publishers.take_shared()
        if not self.open:
            return
        topic, log = self._subscription.topic_name, self._node.get_logger()
        if self._before is not None and self.statistics.answered > self._before:
            log.info(f"answering: {self._what} received on {topic}")
            self._before = None
        if several:
            who = f"{len(several)} publishers of {topic} take turns with the same joints"
            text = f"{who}, one is expected: {', '.join(several)}"
            report.add(diagnostics.ERROR, text)
            log.error(text, throttle_duration_sec=SAY_AGAIN)
        for text in shared:
            report.add(diagnostics.WARN, text)
        if shared and not self._said_shared:
            log.warning(f"{'; '.join(shared)}. Leave one out, or remap it to another topic, if that is not meant")
            self._said_shared = True
        if rejected:
            text = f"{rejected} messages dropped: {self.statistics.problem}"
            few = rejected == late and rejected * FEW_LATE <= answered
            report.add(diagnostics.WARN if few else diagnostics.ERROR, text)
            if few:
                log.info(text, throttle_duration_sec=SAY_AGAIN)
            else:
                log.error(text, throttle_duration_sec=SAY_AGAIN)
        before, self._stood = self._stood, self._node.waiting_time() if self._node.simulated_time else None
        if self._stood is not None and self._stood == before:
            text = f"simulated time stands still at {self._stood:.3f} s"
            report.add(diagnostics.WARN, f"{text}: the simulator is paused, or nobody publishes /clock")
        if self.freshness.last is None:
            report.add(diagnostics.WARN, self._say_waiting())
        elif not self.hears():
            silent = self._node.waiting_time() - self.freshness.heard
            text = f"stale: no {self._what} received on {topic} for {silent:.1f} s"
            report.add(diagnostics.ERROR, text)
            log.error(text, throttle_duration_sec=SAY_AGAIN)

    def _say_waiting(self) -> str:
        text = f"no {self._what} received on {self._subscription.topic_name} yet"
        self._node.get_logger().info(f"waiting: {text}", throttle_duration_sec=SAY_AGAIN)
        return text


def _count_unexpected(node: ManagedNode, statistics: StreamStatistics, error: Exception) -> None:
    """Count and log an error that nobody foresaw."""
    if not node.context.ok():
        return  # the node was asked to end in the middle of an answer
    text = reason_of(error)
    statistics.reject("unexpected error", text)
    node.get_logger().error(f"a message could not be answered: {text}", throttle_duration_sec=5.0)
