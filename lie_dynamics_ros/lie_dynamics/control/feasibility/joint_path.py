"""Polynomials of some joints in time, and the motion of the whole robot along them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...errors import InputError
from ...model.arguments import require_coordinates
from ..kernels.polynomials import mark_hulls
from ..trajectory import Trajectory

_BERNSTEIN = {
    degree: np.array(
        [[comb(j, i) / comb(degree, i) if i <= j else 0.0 for i in range(degree + 1)] for j in range(degree + 1)]
    )
    for degree in range(2, 6)
}


def first_beyond(c: Array, spans: Array, bound: Array) -> tuple[float, int, int] | None:
    """Return the first value above a bound, (m,) or (k, m): itself, its segment and column; None where there is none.

    Segments have coefficients c (k, degree + 1, m) of rising powers of time, degree 2 to 5, and spans (k,) [s]. Their
    Bernstein coefficients bound polynomials; where these are beyond the bound, the extrema are looked for.
    """
    c, bound = np.require(c, float, ["C", "W"]), np.array(np.broadcast_to(bound, (len(c), c.shape[2])), order="C")
    over = np.empty_like(bound)
    if not mark_hulls(c, np.require(spans, float, ["C", "W"]), bound, _BERNSTEIN[c.shape[1] - 1], over):
        return None
    for k, column in np.argwhere(over):
        with np.errstate(over="ignore", invalid="ignore"):
            found = largest(c[k, :, column] * spans[k] ** np.arange(c.shape[1]))  # of t / span
        if not found <= bound[k, column]:
            return found, int(k), int(column)
    return None


def largest(c: Array) -> float:
    """Return the largest value between 0 and 1 of a polynomial with coefficients c (degree + 1,)."""
    return float(np.max(_at_extremes(c), initial=-np.inf)) if np.isfinite(c).all() else np.inf


def largest_against(c: Array, rate: Array) -> float:
    """Return the largest value between 0 and 1 of a polynomial where another one, ``rate``, is negative; or -inf."""
    if not (np.isfinite(c).all() and np.isfinite(rate).all()):
        return np.inf
    cuts = np.concatenate([[0.0], np.sort(_roots(rate)), [1.0]])
    found = -np.inf
    for a, b in pairwise(cuts):
        if np.polynomial.polynomial.polyval(0.5 * (a + b), rate) < 0.0:
            inside = np.concatenate([[a, b], [x for x in _roots(_derivative(c)) if a < x < b]])
            found = max(found, float(np.polynomial.polynomial.polyval(inside, c).max()))
    return found


def _at_extremes(c: Array) -> Array:
    size = float(np.abs(c).max()) or 1.0
    unit = c / size
    unit = np.where(np.abs(unit) < 1e-17, 0.0, unit)  # below round-off; leading ones would overflow in the roots
    at = np.concatenate([[0.0, 1.0], _roots(_derivative(unit))])
    return np.asarray(size * np.polynomial.polynomial.polyval(at, unit))


def _derivative(c: Array) -> Array:
    return np.asarray(np.polynomial.polynomial.polyder(c), np.float64)


def _roots(c: Array) -> Array:
    """Return the real roots between 0 and 1."""
    size = float(np.abs(c).max()) or 1.0
    unit = np.where(np.abs(c) < 1e-17 * size, 0.0, c) / size
    roots = np.polynomial.Polynomial(unit).trim().roots()
    return np.asarray(roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > 0.0) & (roots.real < 1.0)])


class Motion(NamedTuple):
    """Motion of all joints at some times, each (k, n); `ahead` is feed-forward [N m, N]."""

    q: Array
    qd: Array
    qdd: Array
    jerk: Array
    ahead: Array


@dataclass(frozen=True, eq=False)
class JointPath:
    """Motion of some joints of a robot, each with one coordinate; the others stay where they are.

    Attributes
    ----------
    joints : ndarray of int, shape (m,)
    times : ndarray, shape (k,)
        Of the points [s], rising.
    position : ndarray, shape (k, m)
        At the points [rad or m].
    segments : ndarray, shape (k - 1, 6, m)
        Coefficients of rising powers of time, from the point where each segment begins; added to the position there.
    rest : ndarray, shape (n,)
        Where all joints are that the path does not name.
    effort : ndarray, shape (k, m), or None
        Feed-forward at the points, straight lines between [N m, N].
    """

    joints: npt.NDArray[np.intp]
    times: Array
    position: Array
    segments: Array
    rest: Array
    effort: Array | None = None

    @classmethod
    def of(cls, trajectory: Trajectory) -> JointPath:
        """Return a trajectory of the library as a path; raises InputError for joints of several coordinates."""
        if not isinstance(trajectory, Trajectory):
            raise InputError(f"trajectory: a Trajectory is expected, got {trajectory!r}", name="trajectory")
        require_coordinates(trajectory.model, "a path")
        every = np.arange(trajectory.model.nv)
        return cls(every, trajectory.times, trajectory.q, trajectory._coefficients, trajectory.q[0])

    @property
    def duration(self) -> float:
        """From the first point to the last [s]."""
        return float(self.times[-1] - self.times[0])

    def at(self, t: Array) -> Motion:
        """Return the motion at times (k,), on the path's own clock [s]; at the last point it has come to rest."""
        found = np.zeros((5, t.size, self.rest.size))
        found[0] = self.rest
        if not len(self.segments):
            found[0][:, self.joints] = self.position[-1]
            return Motion(*found)
        k = np.clip(np.searchsorted(self.times, t, "right") - 1, 0, len(self.segments) - 1)
        s = t - self.times[k]
        c, falling = self.segments[k], np.ones(6)
        for order in range(4):
            powers = np.zeros((t.size, 6))
            powers[:, order:] = s[:, None] ** np.arange(6 - order) * falling[order:]
            found[order][:, self.joints] = np.einsum("kj,kjm->km", powers, c)
            falling = falling * np.maximum(np.arange(6) - order, 0)
        found[0][:, self.joints] += self.position[k]
        if self.effort is not None:
            part = (s / np.diff(self.times)[k])[:, None]
            found[4][:, self.joints] = (1.0 - part) * self.effort[k] + part * self.effort[k + 1]
        return Motion(*found)

    def head(self, count: int) -> JointPath:
        """Return the part up to the end of a number of segments."""
        effort = None if self.effort is None else self.effort[: count + 1]
        kept = self.times[: count + 1], self.position[: count + 1], self.segments[:count]
        return JointPath(self.joints, *kept, self.rest, effort)
