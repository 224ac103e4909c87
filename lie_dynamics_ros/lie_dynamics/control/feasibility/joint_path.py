"""Polynomials of some joints in time, and the motion of the whole robot along them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...errors import InputError
from ...model.arguments import require_coordinates
from ..trajectory import Trajectory


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
