"""What comes in for one Stewart platform: joint states as leg lengths, leg by leg."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...core.errors import MessageError
from ...core.joint_mapping import JointMapping
from ...core.leg_state import LEGS, LegState
from ...lie_dynamics.control.kernels.signals import LARGEST, within
from .leg_readings import LegReadings, LegTemperatures
from .state_reader import StateFields

if TYPE_CHECKING:
    from sensor_msgs.msg import JointState


class LegInputs:
    """Makes one value of each state.

    Parameters
    ----------
    legs : sequence of str
        Names of the legs in messages, in the order of the platform.
    readings : LegReadings
        What makes lengths of what messages say.
    partial : bool
        Whether a message may hold some of the legs, each of whose lengths may be no number, and no rates are needed.

    Attributes
    ----------
    temperatures : LegTemperatures
    """

    def __init__(self, legs: Sequence[str], readings: LegReadings, partial: bool = False) -> None:
        self.temperatures = LegTemperatures(tuple(legs))
        self._readings = None if readings.plain else readings
        self._legs = JointMapping(legs)
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
        """
        if self._partial:
            return self._read_part(message, stamp)
        fields = self._fields
        fields.fill(message, self._legs.match(message.name))
        moving = within(fields.velocity, self._largest) == 1
        if not moving:
            self._without_rates = True
        if self._readings is not None:
            self._readings.apply(fields.position, fields.velocity if moving else None, self.temperatures.values)
        return LegState(stamp, fields.position, fields.velocity if moving else None)

    def _read_part(self, message: JointState, stamp: int) -> LegState:
        match = self._legs.match(message.name)
        present = match.indices >= 0
        if match.duplicated or not present.any():
            raise MessageError("missing joints" if match.missing else "ambiguous joints", match.problem)
        if len(message.position) != match.size:
            raise MessageError("malformed", f"{len(message.position)} positions for {match.size} names")
        lengths = np.full(LEGS, np.nan)
        lengths[present] = np.asarray(message.position)[match.indices[present]]
        if self._readings is not None:
            self._readings.apply(lengths, None, self.temperatures.values)
        return LegState(stamp, lengths, None, present)

    def forget(self) -> None:
        """Forget nothing: states do not depend on earlier ones."""

    def take_without_rates(self) -> bool:
        """Tell whether leg rates were absent or not finite in any state since the last call."""
        without, self._without_rates = self._without_rates, False
        return without
