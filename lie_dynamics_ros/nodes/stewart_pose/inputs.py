"""Readings of a platform's sensors, from messages: lengths leg by leg, put together in sets, and temperatures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from ...core.errors import ConfigurationError, MessageError, WaitingError
from ...core.joint_mapping import JointMapping, JointMatch
from ...core.platform import LEGS, LegState
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control.kernels.signals import LARGEST, within
from ...lie_dynamics.stewart import LegReadings, PlatformSensors
from ...ros.inputs.joint_states import LONGEST_WAIT, JointGroup, PartialStates, StateFields

if TYPE_CHECKING:
    from ...ros.node.answering_node import AnsweringNode
    from ...ros.wire.compatibility import Logger


COLDEST, HOTTEST = -273.15, 2000.0
"""Temperatures that legs may have [deg C]."""

OLD = 60.0
"""A temperature that was given longer ago is reported as old [s]."""


class LegTemperatures:
    """The last temperatures of the legs.

    Attributes
    ----------
    values : ndarray, shape (6,)
        [deg C]; NaN where nothing has been heard.
    """

    def __init__(self, legs: tuple[str, ...]) -> None:
        self._legs = legs
        self.values = np.full(LEGS, np.nan)
        self._told = np.full(LEGS, np.inf)  # times [s]

    def take(self, leg: str, temperature: float, now: float) -> None:
        """Take in the temperature of a leg, or of all where its name is empty [deg C], at a time of a steady clock [s].

        Raises
        ------
        MessageError
            No leg has this name, or it is no temperature.
        """
        if leg and leg not in self._legs:
            raise MessageError("temperature", f"{leg!r} is no leg; expected one of {', '.join(self._legs)}, or nothing")
        if not COLDEST <= temperature <= HOTTEST:
            raise MessageError(
                "temperature",
                f"{leg or 'all legs'}: {temperature} deg C; expected {COLDEST:g} to {HOTTEST:g}",
            )
        place = slice(None) if not leg else self._legs.index(leg)
        self.values[place], self._told[place] = temperature, now

    def old(self, now: float) -> list[str]:
        """Return names of the legs whose temperature was given longer than `OLD` before a time [s]."""
        return [leg for leg, told in zip(self._legs, self._told, strict=True) if now - told > OLD]


# Readings of several messages put together: one set for each round of the sensors that read regularly.


class LegSets:
    """Collects readings until all have come that were in both of the last two sets, or one of the next round comes.

    That is one that comes again, or that is later than the others by more than half of the time from set to set.

    So a set waits neither for a sensor that has fallen silent nor for one that reads more seldom than the others.

    Parameters
    ----------
    size : int
        Number of sensors.
    """

    def __init__(self, size: int) -> None:
        self._values, self._stamps = np.full(size, np.nan), np.zeros(size, dtype=np.int64)
        self._there = np.zeros(size, dtype=np.bool_)
        self._released = self._period = 0  # time of the last set, and since the one before [ns]
        self._last = self._regular = np.ones(size, dtype=np.bool_)

    def forget(self) -> None:
        """Begin afresh."""
        self._there = np.zeros_like(self._there)
        self._released = self._period = 0
        self._last = self._regular = np.ones_like(self._last)

    def take(self, stamp: int, values: Array, present: NDArray[np.bool_], age_limit: int) -> LegState | None:
        """Take in those of the readings (n,) of a time [ns] that are present; return a set where one is complete.

        What is older than the newest of a set by more than `age_limit` [ns] has no part in it.
        """
        whole = not (self._regular & ~present).any()
        found = None
        if ((self._there & present).any() or self._next_round(stamp)) and not whole:
            found = self._release(age_limit)
        self._values[present], self._stamps[present] = values[present], stamp
        self._there |= present
        if found is None and not (self._regular & ~self._there).any():
            found = self._release(age_limit)
        return found

    def _next_round(self, stamp: int) -> bool:
        """Return whether a reading of a time [ns] is too late for the set, as after readings that were lost."""
        others = self._stamps[self._there & self._regular]
        return len(others) > 0 and 2 * (stamp - int(others.max())) > self._period > 0

    def _release(self, age_limit: int) -> LegState:
        newest = int(self._stamps[self._there].max())
        self._period, self._released = newest - self._released if self._released else 0, newest
        there = self._there & (newest - self._stamps <= age_limit)
        ages = np.where(there, newest - self._stamps, 0) * 1e-9
        both = self._last & there
        # Sets that share nothing, as after rubbish, would stay as small as they are.
        self._regular, self._last = both if both.any() else self._last | there, there
        self._there = np.zeros(len(there), dtype=np.bool_)
        return LegState(newest, np.where(there, self._values, np.nan), None, there, ages)


# Joint states as leg lengths, leg by leg.

FILTER_TIME = 0.005
"""Time constant of rates by which lengths are moved on to the time of others [s]."""


class LegInputs:
    """Makes one value of each state.

    Parameters
    ----------
    legs : sequence of str
        Names of the legs in messages, in the order of the platform.
    readings : LegReadings
        Conversion of messages to lengths.
    partial : bool
        Whether readings may be no numbers and are put together in sets, whatever is missing in these, without rates;
        else a state has all legs, and those that a message does not name are moved on to its time.
    further : sequence of (str, float, float)
        Where `partial`: names of further sensors, scales and offsets of their readings.

    Attributes
    ----------
    measured : tuple of str
        Names of the legs, then of further sensors.
    temperatures : LegTemperatures
    age_limit : int
        Largest difference of the times of readings that are put together [ns]; 0 for no limit.
    """

    def __init__(
        self,
        legs: Sequence[str],
        readings: LegReadings,
        partial: bool = False,
        further: Sequence[tuple[str, float, float]] = (),
    ) -> None:
        self.measured = (*legs, *(name for name, _, _ in further))
        self.temperatures = LegTemperatures(tuple(legs))
        self._readings = None if readings.plain else readings
        self._legs = JointMapping(self.measured)
        self._scales, self._offsets = np.array([(s, o) for _, s, o in further]).reshape(-1, 2).T
        self._sets = LegSets(len(self.measured))
        self._parts, self.age_limit = PartialStates(tuple(legs), np.zeros(LEGS, dtype=np.bool_)), 0
        self._parts.time = FILTER_TIME
        self._told, self._none = np.zeros(LEGS, dtype=np.bool_), np.full(len(self.measured), np.nan)
        JointGroup(self._legs.match(legs[:1]), np.zeros(len(self.measured), dtype=np.bool_))  # compiles what it needs
        self._fields = StateFields(LEGS)
        self._largest = np.full(LEGS, LARGEST)
        within(self._largest, self._largest)  # what needs compiling is compiled now
        self._without_rates, self._partial = False, partial

    def read(self, message: JointState, stamp: int, now: int, age: float) -> LegState:
        """Return the state of a time [ns] in a message; it is overwritten by the next one.

        Raises
        ------
        MessageError
            Legs are missing or named twice, or a field has the wrong length.
        WaitingError
            The message is kept for others.
        """
        match = self._legs.match(message.name)
        if self._partial:
            return self._collect(message, match, stamp)
        if match.missing:
            stamp, lengths, rates = self._put_together(message, match, stamp)
        else:
            self._fields.fill(message, match)
            lengths, rates = self._fields.position, self._fields.velocity
        moving = within(rates, self._largest) == 1
        if not moving:
            self._without_rates = True
        if self._readings is not None:
            self._readings.apply(lengths, rates if moving else None, self.temperatures.values)
        return LegState(stamp, lengths, rates if moving else None)

    def _put_together(self, message: JointState, match: JointMatch, stamp: int) -> tuple[int, Array, Array]:
        """Return the newest time [ns] of a set of readings that a message completes, readings and rates (6,) then.

        NaN: not measured.
        """
        for name, reading in zip(message.name, message.position, strict=False):
            if name in self.measured and not abs(reading) <= LARGEST:
                raise MessageError("not finite", f"{name}: its reading is {reading}")
        self._parts.age_limit = self.age_limit
        self._parts.take(message, match, stamp, None, "auto", False)
        present = match.indices >= 0
        self._told |= present
        found = self._sets.take(stamp, self._none, present, self.age_limit or LONGEST_WAIT)
        if found is None and self._told.all():
            raise WaitingError("kept for the lengths of other legs")
        time = stamp if found is None else found.stamp
        lengths, rates, _ = self._parts.at(time)
        return time, lengths, np.full(LEGS, np.nan) if self._parts.filled else rates

    def _collect(self, message: JointState, match: JointMatch, stamp: int) -> LegState:
        """Return the set of readings that a message completes; raises WaitingError where it completes none."""
        present = match.indices >= 0
        if match.duplicated or not present.any():
            raise MessageError("missing joints" if match.missing else "ambiguous joints", match.problem)
        if len(message.position) != match.size:
            raise MessageError("malformed", f"{len(message.position)} positions for {match.size} names")
        values = np.full(len(self.measured), np.nan)
        values[present] = np.asarray(message.position)[match.indices[present]]
        if self._readings is not None:
            self._readings.apply(values[:LEGS], None, self.temperatures.values)
        with np.errstate(over="ignore"):
            values[LEGS:] = self._scales * values[LEGS:] + self._offsets
        state = self._sets.take(stamp, values, present, self.age_limit or LONGEST_WAIT)
        if state is None:
            raise WaitingError("kept for readings of other sensors")
        return state

    def forget(self) -> None:
        """Forget readings that wait for others, because their age is no longer known."""
        self._parts.forget()
        self._told[:] = False
        self._sets.forget()

    def take_without_rates(self) -> bool:
        """Return whether leg rates were absent or not finite in any state since the last call."""
        without, self._without_rates = self._without_rates, False
        return without


# Readings of legs and other sensors on topics of their own, as plain numbers.


class LegTopics:
    """The topics of the parameter ``leg_topics``; each number is a state of one joint, of the time of its arrival.

    Parameters
    ----------
    node : AnsweringNode
        Whose `LegInputs` name the sensors.

    Attributes
    ----------
    heard : bool
        Whether there are any.
    """

    def __init__(self, node: AnsweringNode[Any]) -> None:
        self._node = node
        self.heard = node.stream.topics.hear("leg_topics", Float64, self._listener)

    def _listener(self, place: int) -> Callable[[bytes, bytes], None]:
        node, state = self._node, JointState(name=[""], position=[0.0])

        def take(message: bytes, publisher: bytes) -> None:
            state.position[0] = deserialize_message(message, Float64).data
            node.stream.on_state(state, publisher)

        def listen(message: bytes, publisher: bytes) -> None:
            inputs = node.inputs
            if inputs is not None and node.stream.open and place < len(inputs.measured):
                state.name[0] = inputs.measured[place]
                node.stream.accept(lambda: take(message, publisher))

        return listen


# Sensors of a platform's file: those that are taken in, and a report of the others.


def make_inputs(
    settings: Mapping[str, Any], legs: Sequence[str], readings: LegReadings, sensors: PlatformSensors
) -> LegInputs:
    """Return what makes states of messages; raises ConfigurationError where the topics do not fit the sensors."""
    names = [settings["joint_prefix"] + sensor.name for sensor in sensors.sensors]
    shared = set(names) & set(legs)
    if shared:
        raise ConfigurationError(f"a sensor of the platform's file is named as a leg: {', '.join(shared)}")
    count, topics = len(settings["leg_topics"]), any(settings["leg_topics"])
    if topics and count not in (LEGS, LEGS + len(names)):
        more = f", or also of {', '.join(names)}" if names else ""
        raise ConfigurationError(f"leg_topics has {count} names; expected one for each of {', '.join(legs)}{more}")
    further = list(zip(names, sensors.scales, sensors.offsets, strict=True)) if settings["fusion"] else []
    inputs = LegInputs(legs, readings, settings["fusion"], further)
    inputs.age_limit = round(settings["joint_age_limit"] * 1e9)
    return inputs


def tell_of(sensors: PlatformSensors, settings: Mapping[str, Any], log: Logger) -> None:
    """Tell what of the platform's file does not count."""
    fusion = settings["fusion"]
    for name in sensors.overruled(settings):
        log.warning(f"the parameter {name} counts, not its entry in the platform's file")
    if sensors.sensors and not fusion:
        names = ", ".join(sensor.name for sensor in sensors.sensors)
        log.warning(f"further sensors of the platform's file count with the parameter fusion only: {names}")
    delays = [name for name in ("leg_delays", "leg_delay_deviations") if np.any(sensors.readings.get(name, 0.0))]
    if delays and not fusion:
        log.warning(f"{' and '.join(delays)} of the platform's file count with the parameter fusion only")
