"""Temperatures of legs, from messages."""

from __future__ import annotations

import numpy as np

from ...core.errors import MessageError
from ...core.leg_state import LEGS

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
