"""Values of a Stewart platform: a state as its drives measure it, and the load on its legs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..lie_dynamics import LieDynamicsError, SpatialInertia
from ..lie_dynamics.arrays import Array, Mask
from ..lie_dynamics.stewart.command import PlatformLoad
from .errors import ParameterError
from .parameters import Parameters, parameter

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
    present: Mask | None = None
    ages: Array | None = None


@dataclass(frozen=True)
class LoadParameters(Parameters):
    """Parameters of the load on the legs of a platform."""

    mass: float = parameter(0.0, "Of the platform with its payload, for forces [kg].", high=1e7)
    center_of_mass: tuple[float, ...] = parameter([0.0, 0.0, 0.0], "In the platform frame [m].", low=-1e3, high=1e3)
    inertia: tuple[float, ...] = parameter(
        [0.0],
        "About the centre of mass, in axes of the platform frame: xx, xy, xz, yy, yz, zz [kg m^2]; [0.0]: none.",
        low=-1e7,
        high=1e7,
    )
    gravity: tuple[float, ...] = parameter([0.0, 0.0, -9.81], "In the base frame [m/s^2].", low=-100.0, high=100.0)

    def check(self) -> None:
        """Raise ParameterError where no body has such an inertia."""
        super().check()
        _ = self.load

    @cached_property
    def load(self) -> PlatformLoad:
        """The load that these describe."""
        matrix = np.zeros((3, 3))
        if self.inertia != (0.0,):
            xx, xy, xz, yy, yz, zz = numbers_of(self.inertia, "inertia", 6)
            matrix[:] = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
        gravity, center = numbers_of(self.gravity, "gravity", 3), numbers_of(self.center_of_mass, "center_of_mass", 3)
        try:
            return PlatformLoad(SpatialInertia(self.mass, center, matrix), gravity)
        except LieDynamicsError as error:
            raise ParameterError(f"mass, center_of_mass or inertia: {error}") from error


def numbers_of(numbers: Sequence[float], name: str, count: int) -> Array:
    """Return the numbers of a parameter; raises ParameterError where there are not so many."""
    if len(numbers) != count:
        raise ParameterError(f"{name} has {len(numbers)} numbers; expected {count}")
    return np.array(numbers, dtype=float)
