"""A path in time: set points of the legs, and how the motion stops on its path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...lie._arrays import as_real
from .kernels import limit_usage as kernels
from .limits import CommandLimits
from .load import PlatformLoad
from .path import PosePath
from .samples import PathSamples

BETWEEN = np.arange(kernels.PARTS + 1) / kernels.PARTS
"""Where in each step of the grid a motion is checked."""


class LegSetpoints(NamedTuple):
    """Desired motion of the platform and its legs at times.

    Attributes
    ----------
    pose : ndarray, shape (..., 4, 4)
        Of the platform in the base frame.
    twist, acceleration : ndarray, shape (..., 6)
        Body twist (w, v) and its derivative in time.
    lengths, rates, accelerations : ndarray, shape (..., 6)
        Of the legs [m, m/s, m/s^2].
    forces : ndarray, shape (..., 6)
        Of the legs, positive where they push [N]; zero without a load.
    """

    pose: Array
    twist: Array
    acceleration: Array
    lengths: Array
    rates: Array
    accelerations: Array
    forces: Array


@dataclass(frozen=True, eq=False)
class PlannedMotion:
    """A path with a time law: s'' is constant between points of a grid; the motion ends at rest or as its path does.

    Attributes
    ----------
    path : PosePath
    limits : CommandLimits
    load : PlatformLoad or None
    s, times, squares : ndarray, shape (k + 1,)
        Parameters at the points, when they are reached [s], and squares of s' there.
    slopes : ndarray, shape (k,)
        s'' between them.
    """

    path: PosePath
    limits: CommandLimits
    load: PlatformLoad | None
    s: Array
    times: Array
    squares: Array
    slopes: Array

    @classmethod
    def of(
        cls, path: PosePath, limits: CommandLimits, load: PlatformLoad | None, s: Array, squares: Array, slopes: Array
    ) -> PlannedMotion:
        """Return the motion of a time law, with the times that follow."""
        rates = np.sqrt(squares)
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(np.diff(s) > 0.0, 2.0 * np.diff(s) / (rates[:-1] + rates[1:]), 0.0)
        return cls(path, limits, load, s, np.concatenate([[0.0], np.cumsum(steps)]), squares, slopes)

    @property
    def duration(self) -> float:
        """From the first point to the last [s]."""
        return float(self.times[-1])

    def progress(self, t: npt.ArrayLike) -> tuple[Array, Array, Array]:
        """Return s, s', s'' at times (...) from the beginning [s]; from the end on the last point, at rest."""
        t = np.clip(as_real(t, (), "t"), 0.0, self.duration)
        last = len(self.slopes) - 1
        k = np.clip(np.searchsorted(self.times, t, "right") - 1, 0, last)
        span, slope = t - self.times[k], self.slopes[k]
        rate = np.maximum(np.sqrt(self.squares[k]) + slope * span, 0.0)
        s = np.minimum(self.s[k] + span * 0.5 * (np.sqrt(self.squares[k]) + rate), self.s[k + 1])
        over = t >= self.duration
        return np.where(over, self.s[-1], s), np.where(over, 0.0, rate), np.where(over, 0.0, slope)

    def at(self, t: npt.ArrayLike) -> LegSetpoints:
        """Return set points at times (...) from the beginning [s]; from the end on those of rest in the last point."""
        s, rate, slope = self.progress(t)
        shape = s.shape
        s, rate, slope = (np.atleast_1d(x.ravel()) for x in (s, rate, slope))
        found = PathSamples.of(self.limits, self.load, self.path, s)
        points = found.points
        terms = np.stack([slope, rate**2, np.ones_like(s)], axis=-1)
        r, u = rate[:, None], slope[:, None]
        made = (
            points.pose,
            points.slope * r,
            points.slope * u + points.bend * r**2,
            found.lengths,
            found.slope * r,
            found.slope * u + found.bend * r**2,
            (found.forces @ terms[..., None])[..., 0],
        )
        return LegSetpoints(*(x.reshape(*shape, *x.shape[1:]) for x in made))

    def worst(self) -> float:
        """Return the largest rate, acceleration, force or speed over its limit, see `used`."""
        return float(self.used().max(initial=0.0))

    def used(self) -> Array:
        """Return the same for each step (k,), looked at five times.

        Between neighbours values bend by an eighth of their second differences, which is added.
        """
        spans = np.diff(self.s)
        s = (self.s[:-1, None] + spans[:, None] * BETWEEN).ravel()
        inner = np.searchsorted(self.path.knots, self.s[:-1] + 0.5 * spans, "right") - 1
        segment = np.repeat(np.clip(inner, 0, len(self.path.starts) - 1), len(BETWEEN))
        found = PathSamples.of(self.limits, self.load, self.path, s, segment)
        limits, out, work = self.limits, np.empty(len(spans)), np.empty((20, len(BETWEEN)))
        rates = np.append(limits.rate, [limits.speed, limits.angular_speed])
        most = np.append(limits.acceleration, limits.force)
        kernels.limit_usage(found.table, spans, self.squares, self.slopes, rates, most, work, out)
        return out
