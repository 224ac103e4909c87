"""Desired motions of a robot's joints from trajectories that come and go. No messages in here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.errors import TRAJECTORIES, MessageError
from ...core.joint_points import JointPoints
from .trajectory_piece import Desired, Piece

Judge = Callable[[Piece, Desired], None]
"""Called with a piece and the motion desired at its start before it is taken; raises MessageError to refuse it."""


def accept(piece: Piece, desired: Desired) -> None:
    """Accept every piece."""


@dataclass
class _Waiting:
    start: int
    points: JointPoints

    @property
    def end(self) -> int:
        return self.start + round(float(self.points.times[-1]) * 1e9)


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

    Attributes
    ----------
    jump : float
    dropped : list of tuple
        Start [ns] of trajectories that had been waiting and could not begin, and why; the user takes the entries out.
    """

    def __init__(self, position: Array, jump: float) -> None:
        self.jump = jump
        self.dropped: list[tuple[int, str]] = []
        self._pieces: list[Piece] = []
        self._waiting: list[_Waiting] = []
        self._zero = np.zeros(len(position))
        self._last: Desired  # never changed, as it was handed out
        self.stay(position)

    def stay(self, position: Array) -> None:
        """Forget all trajectories and stay at a position."""
        self._pieces.clear()
        self._waiting.clear()
        zero = self._zero
        self._last = Desired(np.array(position), zero, zero, zero)

    def stop(self, time: int, within: float, lower: Array | None = None, upper: Array | None = None) -> None:
        """Forget all trajectories and come to rest at constant deceleration, each joint within its limits.

        Parameters
        ----------
        time : int
            [ns].
        within : float
            How long it takes [s]; less for joints that would pass a limit.
        lower, upper : ndarray, shape (n,), optional
            Limits of positions.
        """
        now = self.at(time)
        velocity = now.velocity
        self.stay(now.position)
        self._last = self._last._replace(velocity=velocity)
        for joint in np.flatnonzero(velocity):
            v, q, needed = velocity[joint], now.position[joint], within
            bound = (upper if v > 0.0 else lower) if upper is not None and lower is not None else None
            room = abs(bound[joint] - q) if bound is not None else np.inf
            if 0.5 * abs(v) * needed > room:
                needed = max(2.0 * room / abs(v), 1e-3)
            end, zero = np.array([[q + 0.5 * needed * v]]), np.zeros((1, 1))
            self._take(Piece(time, JointPoints(np.array([joint]), np.array([needed]), end, zero), self._last))

    @property
    def count(self) -> int:
        """Number of trajectories under way or waiting."""
        return len(self._waiting) + len(self._pieces)

    @property
    def moving(self) -> bool:
        """Whether a trajectory is under way."""
        return bool(self._pieces)

    def add(self, start: int, now: int, points: JointPoints, queue: bool = False, judge: Judge = accept) -> None:
        """Take in a trajectory that starts at a time [ns].

        Raises
        ------
        MessageError
            It would jump, has ended already, or is refused by ``judge``; nothing has changed then.
        """
        if queue:
            ends = [piece.end for piece in self._pieces] + [waiting.end for waiting in self._waiting]
            start = max([start, *ends])
        new = _Waiting(start, points)
        if new.end < now or start < new.end == now:
            raise MessageError(TRAJECTORIES, "a trajectory that ended in the past")
        if start > now:
            rest = Piece(start, points, None)
            judge(rest, self._last)
            piece = None
        else:
            piece = self._piece(new, now, self.at(now, judge), judge)
        if not queue:  # what would begin later on these joints is replaced
            self._waiting = [
                w for w in self._waiting if w.start < start or not np.isin(w.points.joints, points.joints).all()
            ]
        if piece is None:
            self._waiting.append(new)
            self._waiting.sort(key=lambda waiting: waiting.start)
        else:
            self._take(piece)

    def _piece(self, new: _Waiting, now: int, desired: Desired, judge: Judge) -> Piece:
        """Make the piece of a trajectory that begins now, from the motion desired; raises MessageError."""
        points, start = new.points, new.start
        if points.times[0] == 0.0:
            distance = np.abs(points.position[0] - desired.position[points.joints])
            if (distance > self.jump).any():
                worst = int(np.argmax(distance))
                raise MessageError(
                    TRAJECTORIES,
                    f"a trajectory that starts {distance[worst]:.3g} rad or m from the desired position of joint "
                    f"number {int(points.joints[worst])}; start_tolerance is {self.jump:g}",
                )
        elif start < now:
            # Late: points that are past are left out, and the first of the others is reached at its own time.
            late = (now - start) * 1e-9
            keep = points.times > late
            if not keep.any():
                raise MessageError(TRAJECTORIES, "a trajectory that ended in the past")
            cut = (None if x is None else x[keep] for x in (points.velocity, points.acceleration, points.effort))
            points = JointPoints(points.joints, points.times[keep] - late, points.position[keep], *cut)
            start = now
        piece = Piece(start, points, desired)
        judge(piece, desired)
        return piece

    def _take(self, piece: Piece) -> None:
        for other in self._pieces:
            other.owned &= ~np.isin(other.joints, piece.joints)
        self._pieces = [other for other in self._pieces if other.owned.any()]
        self._pieces.append(piece)

    def at(self, time: int, judge: Judge = accept) -> Desired:
        """Return the desired motion at a time [ns]; times must not fall. What waited and is refused is dropped.

        The arrays are not to be changed.
        """
        while self._waiting and self._waiting[0].start <= time:
            waiting = self._waiting.pop(0)
            self._write(waiting.start)
            try:
                self._take(self._piece(waiting, waiting.start, self._last, judge))
            except MessageError as error:
                self.dropped.append((waiting.start, f"a trajectory that waited cannot begin: {error}"))
        if self._pieces:
            self._write(time)
            if any(time >= piece.end for piece in self._pieces):
                self._pieces = [piece for piece in self._pieces if time < piece.end]
        return self._last

    def _write(self, time: int) -> None:
        self._last = Desired(*(field.copy() for field in self._last))
        for piece in self._pieces:
            piece.write(time, self._last)
