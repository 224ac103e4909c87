"""One trajectory as it is played: polynomials through its points."""

from __future__ import annotations

from bisect import bisect_right
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....core.commands import JointPoints
from ....lie_dynamics.arrays import Array
from ....lie_dynamics.control.feasibility import JointPath, Motion
from ....lie_dynamics.control.kernels.polynomials import write_motion
from ....lie_dynamics.control.trajectory import hermite, powers

SAME = 1e-9  # difference of motions below which one is as the other [SI units]


class Desired(NamedTuple):
    """Desired motion at one time, each of shape (n,), in model order; `effort` is feed-forward [N m, N]."""

    position: Array
    velocity: Array
    acceleration: Array
    effort: Array


class Piece:
    """A trajectory under way: polynomials from the state at its start [ns] through its points.

    The motion desired ``now`` is None for a piece that does not begin yet, whose way to the first point is not known.
    Where the first point has time 0, the difference to it has faded after ``blend`` [s] at least, or the end. One point
    alone at time 0 is reached then, at rest, unless the robot rests there already.

    Attributes
    ----------
    joints, times, position, effort : ndarray, shapes (m,), (k,), (k, m), (k, m)
        Of the points, from the start [s]; no effort where None.
    segments : ndarray, shape (k - 1, 6, m)
        Coefficients of rising powers of time, from the point where each segment begins.
    led : bool
        Whether the first of these is where the robot is wanted at the start, not a point of the trajectory.
    fresh : int
        Number of segments at the beginning that depend on the motion desired now.
    stretches : bool
        Whether a longer ``blend`` makes another beginning.
    owned : ndarray of bool, shape (m,)
        Joints that no later trajectory has taken.
    """

    def __init__(self, start: int, points: JointPoints, now: Desired | None, blend: float = 0.0) -> None:
        self.start, self.points = start, points
        at = points.joints
        times, position = points.times, points.position
        velocity, acceleration, effort = points.velocity, points.acceleration, points.effort
        self.stretches = now is not None and times[-1] == 0.0 and not _rests(now, at, position[0])
        if self.stretches:  # where the robot is to be, without the time to get there
            times, velocity, acceleration = np.array([blend]), np.zeros_like(position), np.zeros_like(position)
        self.led = times[0] > 0.0 and now is not None
        if self.led and now is not None:  # from where the robot is wanted now to the first point
            times = np.concatenate([[0.0], times])
            position = np.vstack([now.position[at], position])
            velocity = None if velocity is None else np.vstack([now.velocity[at], velocity])
            acceleration = None if acceleration is None else np.vstack([now.acceleration[at], acceleration])
            effort = None if effort is None else np.vstack([now.effort[at], effort])
        self.joints, self.times, self.position, self.effort = at, times, position, effort
        self._moments, self._time = times.tolist(), np.zeros(1)
        self.end = start + round(self._moments[-1] * 1e9)
        self.segments = points.joined()
        if self.led:
            way = (None if x is None else x[:2] for x in (velocity, acceleration))
            first = JointPoints(at, times[:2], position[:2], *way)
            self.segments = np.concatenate([first.joined(), self.segments])
        self.fresh = int(self.led)
        if now is not None and times[0] == 0.0 and len(self.segments) and not self.led:
            self._begin_from(now, blend)
        self.owned = np.ones(len(at), dtype=bool)

    def _begin_from(self, now: Desired, blend: float) -> None:
        """Add what fades from the motion desired now to the trajectory's own."""
        at, first = self.joints, self.segments[0]
        away = now.position[at] - self.position[0]
        rate = now.velocity[at] - first[1] if self.points.velocity is not None else np.zeros(len(at))
        bend = now.acceleration[at] - 2.0 * first[2] if self.points.acceleration is not None else np.zeros(len(at))
        if max(np.abs(x).max() for x in (away, rate, bend)) < SAME:
            return
        self.fresh = int(np.searchsorted(self.times[:-1], min(blend, self.times[-1])))
        self.fresh = max(self.fresh, 1)
        self.stretches = self.fresh < len(self.segments)
        zero = np.zeros(len(at))
        fading = hermite(float(self.times[self.fresh]), -away, rate, zero, bend, zero)
        fading[0] += away
        self.position, self.segments = self.position.copy(), self.segments.copy()
        for k in range(self.fresh):
            added = _moved(float(self.times[k])) @ fading
            self.position[k] += added[0]
            self.segments[k, 1:] += added[1:]

    def path(self, rest: Array) -> JointPath:
        """Return the motion in the library's form, with the other joints where they rest (n,)."""
        return JointPath(self.joints, self.times, self.position, self.segments, rest, self.effort)

    def write(self, time: int, into: Desired, bare: bool = False) -> None:
        """Write the motion of the joints it owns at a time [ns], ``bare`` of efforts; nothing before it begins."""
        if time < self.start:
            return
        own, t = self.owned, (time - self.start) * 1e-9
        if time >= self.end or not len(self.segments):
            at = self.joints[own]
            into.position[at], into.velocity[at], into.acceleration[at] = self.position[-1][own], 0.0, 0.0
            into.effort[at] = 0.0 if self.effort is None else self.effort[-1][own]
            return
        k = min(bisect_right(self._moments, t) - 1, len(self.segments) - 1)
        s = t - self._moments[k]
        self._time[0] = s
        segment, position = self.segments[k], self.position[k]
        if write_motion(segment, position, self._time, self.joints, own, *into[:3]) != 0:
            at, (u, du, ddu) = self.joints[own], powers(s) @ segment  # arrays of another layout
            into.position[at], into.velocity[at], into.acceleration[at] = (position + u)[own], du[own], ddu[own]
        if bare:
            return
        if self.effort is None:
            into.effort[self.joints[own]] = 0.0
        else:
            part = s / (self._moments[k + 1] - self._moments[k])
            into.effort[self.joints[own]] = ((1.0 - part) * self.effort[k] + part * self.effort[k + 1])[own]


def _rests(now: Desired, joints: NDArray[np.intp], position: Array) -> bool:
    """Return whether joints (m,) are desired at rest at a position (m,)."""
    away = (now.position[joints] - position, now.velocity[joints], now.acceleration[joints])
    return max(float(np.abs(x).max()) for x in away) < SAME


def _moved(t: float) -> Array:
    """Return the matrix (6, 6) that takes a polynomial's coefficients to those from a later time on [s]."""
    return np.array([[comb(i, j) * t ** (i - j) if i >= j else 0.0 for i in range(6)] for j in range(6)])


class Halt:
    """A piece on its way to rest along its own path: its rate falls from 1 to 0 smoothly.

    It begins at a time [ns] and takes `within` [s]; the way is that of half this time.
    """

    def __init__(self, piece: Piece, begin: int, within: float) -> None:
        self._piece, self._begin, self._within = piece, begin, within
        self.points, self.joints, self.owned, self.effort = piece.points, piece.joints, piece.owned, piece.effort
        self.end = begin + round(within * 1e9)

    def write(self, time: int, into: Desired, bare: bool = False) -> None:
        """Write the motion of the joints it owns at a time [ns], ``bare`` of efforts."""
        x, passed = self._passed(time)
        self._piece.write(passed, into, bare)
        at = self.joints[self.owned]
        rate = 1.0 - x * x * (3.0 - 2.0 * x)
        slope = -6.0 * x * (1.0 - x) / self._within if x < 1.0 else 0.0
        into.acceleration[at] = into.acceleration[at] * rate**2 + into.velocity[at] * slope
        into.velocity[at] *= rate

    def _passed(self, time: int) -> tuple[float, int]:
        """Return the part of the way to rest that has passed, and where the piece is then [ns]."""
        x = 1.0 if time >= self.end else max((time - self._begin) / (self.end - self._begin), 0.0)
        return x, self._begin + round(1e9 * self._within * (x - x**3 + 0.5 * x**4))

    def rest(self, time: int) -> None:
        """End where the piece is at a time [ns], as where the clock stands, so that all has come to rest."""
        self._begin = self.end = self._passed(time)[1]
        self._within = 0.0

    def at(self, x: Array, rest: Array) -> Motion:
        """Return the motion of all joints (k, n) where parts x (k,) of the way to rest have passed, 0 to 1."""
        rate, slope = (1.0 - x * x * (3.0 - 2.0 * x))[:, None], (-6.0 * x * (1.0 - x) / self._within)[:, None]
        begin = (self._begin - self._piece.start) * 1e-9
        path = self._piece.path(rest)
        passed = np.minimum(begin + self._within * (x - x**3 + 0.5 * x**4), path.times[-1] - 1e-9)
        found = path.at(passed)
        return found._replace(qd=found.qd * rate, qdd=found.qdd * rate**2 + found.qd * slope)
