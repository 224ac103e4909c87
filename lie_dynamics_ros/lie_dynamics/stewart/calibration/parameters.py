"""Parameters of a calibration: joint centres, length offsets and, where wanted, gains of all legs, in one vector.

With n legs, six of the platform and further ones,

    theta = (a_1, ..., a_n, b_1, ..., b_n, o_1, ..., o_n [, c_1, ..., c_n]),

all in metres: the gain of a leg is ``g = 1 + c / gain_length``, where the gain length is that of a typical reading.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Array
from ..geometry.checks import N_LEGS

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
        """How many parameters there are."""
        return len(self.legs) * (7 if self.gain_length is None else 8)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in order."""
        points = (f"{side} point {leg} {axis}" for side in ("base", "platform") for leg in self.legs for axis in "xyz")
        more = ("offset",) if self.gain_length is None else ("offset", "gain")
        return (*points, *(f"{what} {leg}" for what in more for leg in self.legs))

    @cached_property
    def units(self) -> Array:
        """What each parameter is multiplied by to be one of its own unit: 1, for gains 1 / gain length, (count,)."""
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
