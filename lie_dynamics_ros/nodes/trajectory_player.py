"""Desired motions of a robot's joints from trajectories that come and go. No messages in here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..lie_dynamics.control.hermite import hermite, powers
from ..ros.errors import MessageError
from ..ros.messages import Array
from ..ros.trajectories import KIND, JointPoints


@dataclass(frozen=True)
class Desired:
    """Desired motion at one time, each of shape (n,), in model order; `effort` is feed-forward [N m, N]."""

    position: Array
    velocity: Array
    acceleration: Array
    effort: Array


class _Piece:
    """A trajectory under way: polynomials from the state at its start through its points."""

    def __init__(self, start: int, points: JointPoints, now: Desired) -> None:
        self.start = start
        at = points.joints
        times, position = points.times, points.position
        velocity, acceleration, effort = points.velocity, points.acceleration, points.effort
        if times[0] > 0.0:  # from where the robot is wanted now to the first point
            times = np.concatenate([[0.0], times])
            position = np.vstack([now.position[at], position])
            velocity = None if velocity is None else np.vstack([now.velocity[at], velocity])
            acceleration = None if acceleration is None else np.vstack([now.acceleration[at], acceleration])
            effort = None if effort is None else np.vstack([now.effort[at], effort])
        self.joints, self.times, self.position, self.effort = at, times, position, effort
        self.end = start + round(float(times[-1]) * 1e9)
        self.segments = []
        for k, h in enumerate(np.diff(times)):
            ends = (x for values in (velocity, acceleration) if values is not None for x in (values[k], values[k + 1]))
            self.segments.append(hermite(float(h), position[k + 1] - position[k], *ends))
        self.owned = np.ones(len(at), dtype=bool)  # joints that no later trajectory has taken

    def write(self, time: int, into: Desired) -> None:
        """Write the motion of the joints it owns at a time [ns]."""
        at, own = self.joints[self.owned], self.owned
        t = (time - self.start) * 1e-9
        if time >= self.end or not self.segments:
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


class TrajectoryPlayer:
    """Plays trajectories of a robot's joints, each on the joints it names; the others go on with what they do.

    A trajectory begins at its start time, from the motion desired then, and replaces what its joints did; with
    ``queue`` it begins when all before it has ended. After its last point its joints stay there.

    Parameters
    ----------
    position : ndarray, shape (n,)
        Where the robot stands and is to stay.
    jump : float
        Largest distance [rad or m] from the desired position to a first point at time 0; farther ones are refused.
    """

    def __init__(self, position: Array, jump: float) -> None:
        self.jump = jump
        self._pieces: list[_Piece] = []
        self._waiting: list[tuple[int, JointPoints]] = []
        self.stay(position)

    def stay(self, position: Array) -> None:
        """Forget all trajectories and stay at a position."""
        self._pieces.clear()
        self._waiting.clear()
        zero = np.zeros(len(position))
        self._last = Desired(np.array(position), zero, zero.copy(), zero.copy())

    def stop(self, time: int, within: float) -> None:
        """Forget all trajectories and come to rest at constant deceleration within some time [s]."""
        now = self.at(time)
        velocity = now.velocity.copy()
        self.stay(now.position)
        if velocity.any():
            self._last.velocity[:] = velocity
            every = np.arange(len(velocity))
            end = (now.position + 0.5 * within * velocity)[None]
            self._begin(time, JointPoints(every, np.array([within]), end, np.zeros((1, len(velocity)))))

    @property
    def count(self) -> int:
        """Number of trajectories under way or waiting."""
        return len(self._waiting) + len(self._pieces)

    def add(self, start: int, now: int, points: JointPoints, queue: bool = False) -> None:
        """Take in a trajectory that starts at a time [ns]; raises MessageError where it would jump."""
        if queue:
            ends = [piece.end for piece in self._pieces]
            ends += [begin + round(float(p.times[-1]) * 1e9) for begin, p in self._waiting]
            start = max([start, *ends])
        end = start + round(float(points.times[-1]) * 1e9)
        if end < now or start < end == now:
            raise MessageError(KIND, "a trajectory that ended in the past")
        if points.times[0] == 0.0 and start <= now:
            self._refuse_jump(self.at(now), points)
        if not queue:  # what would begin later on these joints is replaced
            self._waiting = [
                (t, p) for t, p in self._waiting if t < start or not np.isin(p.joints, points.joints).all()
            ]
        if start > now:
            self._waiting.append((start, points))
            self._waiting.sort(key=lambda item: item[0])
        else:
            self._begin(start, points, now)

    def _refuse_jump(self, desired: Desired, points: JointPoints) -> None:
        distance = np.abs(points.position[0] - desired.position[points.joints])
        if (distance > self.jump).any():
            worst = int(np.argmax(distance))
            raise MessageError(
                KIND,
                f"a trajectory that starts {distance[worst]:.3g} rad or m from the desired position of joint "
                f"number {int(points.joints[worst])}; start_tolerance is {self.jump:g}",
            )

    def _begin(self, start: int, points: JointPoints, now: int | None = None) -> None:
        """Start a trajectory from the motion desired at its start, or now where that is past."""
        state = self._last if now is None else self.at(max(start, now))
        if now is not None and start < now and points.times[0] > 0.0:
            # Late: points that are past are left out, and the first of the others is reached at its own time.
            late = (now - start) * 1e-9
            keep = points.times > late
            cut = (None if x is None else x[keep] for x in (points.velocity, points.acceleration, points.effort))
            points = JointPoints(points.joints, points.times[keep] - late, points.position[keep], *cut)
            start = now
        piece = _Piece(start, points, state)
        for other in self._pieces:
            other.owned &= ~np.isin(other.joints, piece.joints)
        self._pieces = [other for other in self._pieces if other.owned.any()]
        self._pieces.append(piece)

    def at(self, time: int) -> Desired:
        """Return the desired motion at a time [ns]; times must not fall."""
        while self._waiting and self._waiting[0][0] <= time:
            start, points = self._waiting.pop(0)
            self._write(start)
            if (
                points.times[0] > 0.0
                or (np.abs(points.position[0] - self._last.position[points.joints]) <= self.jump).all()
            ):
                self._begin(start, points)
        self._write(time)
        done = [piece for piece in self._pieces if time >= piece.end]
        if done:
            self._pieces = [piece for piece in self._pieces if time < piece.end]
        last = self._last
        return Desired(last.position.copy(), last.velocity.copy(), last.acceleration.copy(), last.effort.copy())

    def _write(self, time: int) -> None:
        for piece in self._pieces:
            piece.write(time, self._last)
