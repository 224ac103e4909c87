"""One trajectory as it is played: polynomials through its points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.joint_points import JointPoints
from ...lie_dynamics.control.hermite import hermite, powers


class Desired(NamedTuple):
    """Desired motion at one time, each of shape (n,), in model order; `effort` is feed-forward [N m, N]."""

    position: Array
    velocity: Array
    acceleration: Array
    effort: Array


class Piece:
    """A trajectory under way: polynomials from the state at its start through its points.

    Parameters
    ----------
    start : int
        When it begins [ns].
    points : JointPoints
    now : Desired or None
        The motion desired then; None leaves out the way to the first point, which is not known before it begins.

    Attributes
    ----------
    joints : ndarray of int, shape (m,)
    times : ndarray, shape (k,)
        Of the points, from the start [s].
    position : ndarray, shape (k, m)
    effort : ndarray, shape (k, m), or None
    segments : ndarray, shape (k - 1, 6, m)
        Coefficients of rising powers of time, from the point where each segment begins.
    led : bool
        Whether the first of these is where the robot is wanted at the start, not a point of the trajectory.
    owned : ndarray of bool, shape (m,)
        Joints that no later trajectory has taken.
    """

    def __init__(self, start: int, points: JointPoints, now: Desired | None) -> None:
        self.start = start
        at = points.joints
        times, position = points.times, points.position
        velocity, acceleration, effort = points.velocity, points.acceleration, points.effort
        self.led = times[0] > 0.0 and now is not None
        if self.led and now is not None:  # from where the robot is wanted now to the first point
            times = np.concatenate([[0.0], times])
            position = np.vstack([now.position[at], position])
            velocity = None if velocity is None else np.vstack([now.velocity[at], velocity])
            acceleration = None if acceleration is None else np.vstack([now.acceleration[at], acceleration])
            effort = None if effort is None else np.vstack([now.effort[at], effort])
        self.joints, self.times, self.position, self.effort = at, times, position, effort
        self.end = start + round(float(times[-1]) * 1e9)
        self.segments = np.zeros((len(times) - 1, 6, len(at)))
        with np.errstate(over="ignore", invalid="ignore"):
            for k, h in enumerate(np.diff(times)):
                ends = (x for field in (velocity, acceleration) if field is not None for x in (field[k], field[k + 1]))
                self.segments[k] = hermite(float(h), position[k + 1] - position[k], *ends)
        self.owned = np.ones(len(at), dtype=bool)

    def write(self, time: int, into: Desired) -> None:
        """Write the motion of the joints it owns at a time [ns]."""
        at, own = self.joints[self.owned], self.owned
        t = (time - self.start) * 1e-9
        if time >= self.end or not len(self.segments):
            into.position[at], into.velocity[at], into.acceleration[at] = self.position[-1][own], 0.0, 0.0
            into.effort[at] = 0.0 if self.effort is None else self.effort[-1][own]
            return
        k = min(int(np.searchsorted(self.times, t, "right")) - 1, len(self.segments) - 1)
        s = t - self.times[k]
        u, du, ddu = powers(float(s)) @ self.segments[k]
        into.position[at], into.velocity[at], into.acceleration[at] = (self.position[k] + u)[own], du[own], ddu[own]
        if self.effort is None:
            into.effort[at] = 0.0
        else:
            part = s / (self.times[k + 1] - self.times[k])
            into.effort[at] = ((1.0 - part) * self.effort[k] + part * self.effort[k + 1])[own]
