"""What comes in for one Stewart platform: joint states as leg lengths, leg by leg."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...core.errors import ConfigurationError
from ...core.joint_mapping import JointMapping
from ...core.leg_state import LEGS, LegState
from ...lie_dynamics.control.kernels.signals import LARGEST, within
from .state_reader import StateFields

if TYPE_CHECKING:
    from sensor_msgs.msg import JointState


class LegInputs:
    """Makes one value of each state.

    Parameters
    ----------
    legs : sequence of str
        Names of the legs in messages, in the order of the platform.
    offsets : sequence of float
        Added to what messages say, one for all legs or six [m].

    Raises
    ------
    ConfigurationError
        There are neither one nor six offsets.
    """

    def __init__(self, legs: Sequence[str], offsets: Sequence[float]) -> None:
        if len(offsets) not in (1, LEGS):
            raise ConfigurationError(f"length_offsets has {len(offsets)} numbers; expected one or six")
        self._legs = JointMapping(legs)
        self._fields = StateFields(LEGS)
        self._offsets = np.broadcast_to(np.array(offsets, dtype=float), (LEGS,)).copy() if any(offsets) else None
        self._largest = np.full(LEGS, LARGEST)
        within(self._largest, self._largest)  # what needs compiling is compiled now
        self._without_rates = False

    def read(self, message: JointState, stamp: int, now: int, age: float) -> LegState:
        """Return the state of a time [ns] in a message; it is overwritten by the next one.

        Raises
        ------
        MessageError
            Legs are missing or named twice, or a field has the wrong length.
        """
        fields = self._fields
        fields.fill(message, self._legs.match(message.name))
        moving = within(fields.velocity, self._largest) == 1
        if not moving:
            self._without_rates = True
        if self._offsets is not None:
            fields.position += self._offsets
        return LegState(stamp, fields.position, fields.velocity if moving else None)

    def forget(self) -> None:
        """Forget nothing: states do not depend on earlier ones."""

    def take_without_rates(self) -> bool:
        """Tell whether leg rates were absent or not finite in any state since the last call."""
        without, self._without_rates = self._without_rates, False
        return without
