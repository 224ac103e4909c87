"""Parameters of a calibration: joint centres, length offsets and, where wanted, gains of all legs, in one vector.

With n legs, six of the platform and further ones, which are its displacement sensors,

    theta = (a_1, ..., a_n, b_1, ..., b_n, o_1, ..., o_n [, c_1, ..., c_n]),

all in metres: the gain of a leg is ``g = 1 + c / gain_length``, where the gain length is that of a typical reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...lie._arrays import number_of
from ...texts import quoted
from ..errors import StewartError
from ..fusion.sensors import DisplacementSensor, vector
from ..geometry.checks import N_LEGS
from ..geometry.platform import StewartPlatform

#: Names of the six legs of a platform.
LEGS = tuple(f"{leg}" for leg in range(1, N_LEGS + 1))


@dataclass(frozen=True)
class Parameters:
    """The parameters of a calibration.

    Attributes
    ----------
    legs : names of the legs, the platform's six and further ones.
    gain_length : [m], see above; ``None``: gains are 1, and no parameters.
    """

    legs: tuple[str, ...] = LEGS
    gain_length: float | None = None

    @property
    def count(self) -> int:
        """Number of parameters."""
        return len(self.legs) * (7 if self.gain_length is None else 8)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in order."""
        points = (f"{side} point {leg} {axis}" for side in ("base", "platform") for leg in self.legs for axis in "xyz")
        more = ("offset",) if self.gain_length is None else ("offset", "gain")
        return (*points, *(f"{what} {leg}" for what in more for leg in self.legs))

    @cached_property
    def units(self) -> Array:
        """Factors that take parameters to their own units (count,): 1, for gains 1 / gain length."""
        units = np.ones(self.count)
        if self.gain_length is not None:
            units[7 * len(self.legs) :] /= self.gain_length
        return units

    def split(self, theta: Array) -> tuple[Array, Array, Array, Array]:
        """Return base points (n, 3), platform points (n, 3), offsets (n,) [m] and gains (n,) of parameters (count,)."""
        n = len(self.legs)
        gains = np.ones(n) if self.gain_length is None else 1.0 + theta[7 * n :] / self.gain_length
        return theta[: 3 * n].reshape(n, 3), theta[3 * n : 6 * n].reshape(n, 3), theta[6 * n : 7 * n], gains

    def join(self, base_points: Array, platform_points: Array, offsets: Array, gains: Array | float = 1.0) -> Array:
        """Return the parameters (count,) of points, offsets and gains."""
        parts = [base_points.ravel(), platform_points.ravel(), offsets]
        if self.gain_length is not None:
            parts.append(np.broadcast_to(self.gain_length * (np.asarray(gains) - 1.0), len(self.legs)))
        return np.concatenate(parts)

    def generators(self, theta: Array) -> Array:
        """Parameter changes (count, 12) of rigid motions of all base joints (six) and of all platform joints (six)."""
        n = len(self.legs)
        generators = np.zeros((self.count, 12))
        for side, points in enumerate(self.split(theta)[:2]):
            rows = slice(3 * n * side, 3 * n * (side + 1))
            for axis, unit in enumerate(np.eye(3)):
                generators[rows, 6 * side + axis] = np.cross(unit, points).ravel()
                generators[rows, 6 * side + 3 + axis] = np.tile(unit, n)
        return generators

    def scaling(self, theta: Array) -> Array:
        """Parameter change (count,) by which all lengths grow alike, and readings stay: it takes gains."""
        base, platform, offsets, gains = self.split(theta)
        return self.join(base, platform, offsets, 1.0 + gains)

    def free_of_gauge(self, vectors: Array, theta: Array, scale: bool = False) -> Array:
        """Take out of parameter changes (count, m) what only moves frames, and, with `scale`, the size.

        What is left moves no side's joints as a whole, nor makes both sides larger, in the sense of least squares.
        """
        generators = self.generators(theta)
        if scale:
            generators = np.column_stack((generators, self.scaling(theta)))
        points = 6 * len(self.legs)
        along = np.linalg.lstsq(generators[:points], vectors[:points], rcond=None)[0]
        return np.asarray(vectors - generators @ along)

    def turn(self, base: Array, platform: Array) -> Array:
        """Return the matrix (count, count) that turns base points and platform points by rotations (3, 3)."""
        turn = np.eye(self.count)
        for k in range(2 * len(self.legs)):
            turn[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = base if k < len(self.legs) else platform
        return turn


SIDES = ("base", "platform")
#: Further legs, at most.
MOST_FURTHER = 30
#: Largest reading and coordinate of a further leg [m]: beyond it squares of figures leave float64.
LARGEST = 1e6


def check_further(further: object) -> tuple[DisplacementSensor, ...]:
    """Return further legs; StewartError names what is none, and names that are there twice."""
    if isinstance(further, (str, bytes)) or not isinstance(further, Sequence) or len(further) > MOST_FURTHER:
        raise StewartError(f"further is {quoted(further)}, expected up to {MOST_FURTHER} displacement sensors")
    for place, sensor in enumerate(further):
        if type(sensor) is not DisplacementSensor:
            raise StewartError(f"further {place} is {quoted(sensor)}, expected a DisplacementSensor")
        if not isinstance(sensor.name, str) or not sensor.name:
            raise StewartError(f"further {place} is named {quoted(sensor.name)}, expected a text")
        for key in ("base_point", "platform_point"):
            if not (np.abs(vector(sensor.name, key, getattr(sensor, key), 3)) <= LARGEST).all():
                raise StewartError(f"{sensor.name}: {key} is {getattr(sensor, key)}, expected up to {LARGEST:g} m")
    names = [*LEGS, *(sensor.name for sensor in further)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise StewartError(f"two legs are named {quoted(twice)}; the platform's six are 1 to 6")
    return tuple(further)


def all_points(platform: StewartPlatform, further: Sequence[DisplacementSensor]) -> tuple[Array, Array]:
    """Return base points and platform points (n, 3) of the six legs and further ones [m]."""
    base, moving = (
        np.vstack((six, *(np.asarray(getattr(sensor, key), dtype=np.float64) for sensor in further)))
        for six, key in ((platform.base_points, "base_point"), (platform.platform_points, "platform_point"))
    )
    return base, moving


def at_points(further: Sequence[DisplacementSensor], base: Array, platform: Array) -> tuple[DisplacementSensor, ...]:
    """Return further legs between other points, those of all n legs (n, 3)."""
    ends = zip(further, base[len(LEGS) :].tolist(), platform[len(LEGS) :].tolist(), strict=True)
    return tuple(replace(leg, base_point=tuple(a), platform_point=tuple(b)) for leg, a, b in ends)


@dataclass(frozen=True)
class Distances:
    """Measured distances of joint centres of one side.

    Attributes
    ----------
    first, second : (d,), rows among base points, then platform points. lengths : (d,) [m]. sigma : [m].
    """

    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    lengths: Array
    sigma: float

    @classmethod
    def check(cls, distances: object, sigma: Any, legs: Sequence[str]) -> Distances:
        """Make them of (side, leg, leg, metres); StewartError names what cannot be used."""
        deviation = number_of("distance_sigma", sigma, "a positive length in metres", lambda x: 1e-12 <= x <= 1e3)
        if isinstance(distances, (str, bytes)) or not isinstance(distances, Sequence):
            raise StewartError(f"distances is {quoted(distances)}, expected rows of side, leg, leg, metres")
        rows = []
        for place, row in enumerate(distances):
            if isinstance(row, (str, bytes)) or not isinstance(row, Sequence) or len(row) != 4 or row[0] not in SIDES:
                raise StewartError(
                    f"distance {place} is {quoted(row)}, expected {' or '.join(SIDES)}, leg, leg, metres"
                )
            ends = [str(leg) for leg in row[1:3]]
            unknown = [leg for leg in ends if leg not in legs]
            if unknown or ends[0] == ends[1]:
                raise StewartError(
                    f"distance {place} is of legs {', '.join(map(quoted, ends))}, expected two of {', '.join(legs)}"
                )
            metres = number_of(f"distance {place}", row[3], "a positive length in metres", lambda x: 0.0 < x <= 1e3)
            rows.append((*(len(legs) * SIDES.index(row[0]) + legs.index(leg) for leg in ends), metres))
        table = np.array(rows, dtype=np.float64).reshape(-1, 3)
        return cls(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2], deviation)

    def residuals(self, theta: Array) -> Array:
        """Return weighted residuals (d,) at parameters (count,) of n legs, whose points come first."""
        points = theta[: 3 * (len(theta) // 3)].reshape(-1, 3)
        return np.asarray(
            (np.linalg.norm(points[self.first] - points[self.second], axis=1) - self.lengths) / self.sigma
        )

    def jacobian(self, theta: Array) -> Array:
        """Return the derivatives (d, count) of `residuals`."""
        points = theta[: 3 * (len(theta) // 3)].reshape(-1, 3)
        rows = np.zeros((len(self.lengths), len(theta)))
        for row, i, j in zip(rows, self.first, self.second, strict=True):
            gap = points[i] - points[j]
            # Joints that are one have no direction from one to the other.
            row[3 * i : 3 * i + 3] = gap / ((np.linalg.norm(gap) or 1.0) * self.sigma)
            row[3 * j : 3 * j + 3] = -row[3 * i : 3 * i + 3]
        return rows
