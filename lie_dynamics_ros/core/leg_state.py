"""One state of a Stewart platform, as its drives measure it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .arrays import Array

LEGS = 6
POSITIONS = {"m": "leg lengths", "rad": "motor angles"}
"""Quantities that motors of legs measure, by unit."""


def said(position: float, unit: str) -> str:
    """Return where the motor of a leg is, after "is"."""
    return f"{position:.6g} m long" if unit == "m" else f"at {position:.6g} rad"


@dataclass(eq=False, slots=True)
class LegState:
    """Lengths of the legs at one moment, or angles of their motors [rad], in the order of the platform.

    Attributes
    ----------
    stamp : int
        Time of the state [ns]; that of its arrival where it has none.
    lengths : ndarray, shape (6,), or (6 + k,) with k further sensors
        [m]; what further sensors read [m or rad].
    rates : ndarray, shape (6,), or None
        Of the lengths [m/s]; None where not all are known.
    present : ndarray of bool, shape of `lengths`, or None
        Which lengths there are, where a message may hold some; None for all.
    ages : ndarray, shape of `lengths`, or None
        How much older than `stamp` each is [s]; None for zero.
    """

    stamp: int
    lengths: Array
    rates: Array | None
    present: NDArray[np.bool_] | None = None
    ages: Array | None = None
