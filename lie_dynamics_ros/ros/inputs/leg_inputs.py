"""Inputs for one Stewart platform: joint states as leg lengths, leg by leg."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...core.arrays import Array
from ...core.errors import MessageError, WaitingError
from ...core.joint_mapping import JointMapping, JointMatch
from ...core.leg_state import LEGS, LegState
from ...lie_dynamics.control.kernels.signals import LARGEST, within
from ...lie_dynamics.stewart import LegReadings
from .leg_sets import LegSets
from .leg_temperatures import LegTemperatures
from .partial_states import LONGEST_WAIT, JointGroup, PartialStates
from .state_reader import StateFields

if TYPE_CHECKING:
    from sensor_msgs.msg import JointState

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
