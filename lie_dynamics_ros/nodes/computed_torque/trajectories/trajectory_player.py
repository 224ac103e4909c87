"""Desired motions of a robot's joints from trajectories that come and go. No messages in here."""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ....core.commands import JointPoints
from ....core.errors import TRAJECTORIES, MessageError
from ....core.turns import Turns
from ....lie_dynamics.arrays import Array
from .trajectory_piece import Desired, Halt, Piece

SETTLED = 1e-6  # difference to a rate at which it counts as reached, and its change times the time constant
SHARE = 4.74  # time constants in which all but 5 % of a change of rate has been made


class PathClock:
    """A clock whose rate follows a `wanted` one, 0 to 1, through two lags of one time constant, one after the other.

    So the rate and its change, `slope` [1/s], are continuous, efforts do not jump, and the rate stays in the range of
    what was wanted.
    """

    def __init__(self) -> None:
        self.rate, self.slope, self.wanted = 1.0, 0.0, 1.0
        self._pole = SHARE / 0.5
        self._stamp: int | None = None
        self._time = 0

    def follow(self, wanted: float, within: float) -> None:
        """Let the rate go to another one, most of the way within some time [s]."""
        self.wanted, self._pole = wanted, SHARE / max(within, 1e-3)

    def put_back(self, by: int) -> None:
        """Let it show less, or, below 0, more [ns]."""
        self._time -= by

    def restart(self) -> None:
        """Show time itself from the next time on, at the rate it has."""
        self._stamp = None

    def pause(self, stamp: int, share: float, within: float) -> None:
        """Let nothing have passed on it until a time [ns], from a share of its rate rise again, as by `follow`."""
        if self._stamp is not None:
            self._stamp, self.rate, self.slope = stamp, share * self.rate, 0.0
            self.follow(self.wanted, within)

    @property
    def steady(self) -> bool:
        """Whether it is as fast as time, and stays so."""
        return self.rate == 1.0 and self.slope == 0.0 and self.wanted == 1.0

    def at(self, stamp: int) -> int:
        """Return what it shows at a time [ns], which must not fall; at first that time itself."""
        if self._stamp is None:
            self._time = stamp
        elif self.steady:
            self._time += stamp - self._stamp
        elif stamp > self._stamp:
            self._time += round(1e9 * self._pass((stamp - self._stamp) * 1e-9))
        self._stamp = stamp
        return self._time

    def shown(self, stamp: int) -> int:
        """Return what it shows at a time to come, or past, if it ran as time does from now on [ns]."""
        return stamp if self._stamp is None else self._time + stamp - self._stamp

    def _pass(self, t: float) -> float:
        """Let time pass [s]; return what passes on the clock."""
        w, goal = self._pole, self.wanted
        away = self.rate - goal
        lead = self.slope + w * away  # rate = goal + (away + lead t) exp(-w t)
        fade = math.exp(-w * t)
        total = away + lead * t
        passed = goal * t + (away + lead / w - (total + lead / w) * fade) / w
        self.rate, self.slope = goal + total * fade, (lead - w * total) * fade
        if abs(self.rate - goal) < SETTLED and abs(self.slope) < SETTLED * w:
            self.rate, self.slope = goal, 0.0
        return passed


#: Called with a piece, the motion desired at its start, and whether all of the piece is new, or what is `fresh` alone;
#: raises MessageError to refuse it.
Judge = Callable[[Piece, Desired, bool], None]
#: Makes the way to rest of a piece at a time on its clock [ns], with the motion desired then and the clock's rate.
Brake = Callable[[Piece, int, Desired, float], Halt]
#: Times in which a difference to the motion under way may fade, the shortest that is accepted [s].
BLENDS = (0.25, 0.5, 1.0, 2.0)


class PastError(MessageError):
    """A trajectory that ended in the past."""

    def __init__(self) -> None:
        super().__init__(TRAJECTORIES, "a trajectory that ended in the past")


class FarError(MessageError):
    """A trajectory whose first point, at time 0, is too far from the motion desired then."""

    code = -4  # PATH_TOLERANCE_VIOLATED, by which the joint trajectory controller aborts such a goal


def accept(piece: Piece, desired: Desired, whole: bool) -> None:
    """Accept every piece."""


def in_place(piece: Piece, time: int, _: Desired, rate: float) -> Halt:
    """Come to rest within 0.3 s."""
    return Halt(piece, time, 0.3 * rate)


@dataclass
class _Waiting:
    start: int
    points: JointPoints
    validated_by: object

    @property
    def end(self) -> int:
        return self.start + round(float(self.points.times[-1]) * 1e9)


class TrajectoryPlayer:
    """Plays trajectories of a robot's joints, each on the joints it names; the others go on with what they do.

    A trajectory begins at its start time, from the motion desired then, and replaces what its joints did; with
    ``queue`` it begins when all before it has ended. After its last point its joints stay there. Times count on a clock
    that may be slower than time, for what waits too. First points at time 0 that are farther from the desired position
    than `start_tolerance` are refused [rad, m]; on joints with ``turns`` trajectories begin at the nearest one.

    Attributes
    ----------
    desired : Desired
        The motion desired last, as fast as it would be if the clock ran with time; never changed in place.
    pieces : list
        Trajectories under way, each on the joints that it owns.
    validated_by : object
        What trajectories are checked by now; one that waits is checked again where that is another object by then.
    dropped : list of tuple
        Start [ns], points and reason of trajectories that had waited and could not begin; the user takes them out.
    begun : list
        Pieces that have begun; the user takes them out.
    """

    def __init__(
        self,
        position: Array,
        start_tolerance: float,
        clock: PathClock | None = None,
        turns: Turns | None = None,
        names: Sequence[str] = (),
    ) -> None:
        self.start_tolerance = start_tolerance
        self.validated_by: object = None
        self.dropped: list[tuple[int, JointPoints, str]] = []
        self.begun: list[Piece] = []
        self.clock = clock or PathClock()
        self.turns = turns or Turns(np.zeros(len(position), dtype=bool))
        self.names = names or [f"number {k}" for k in range(len(position))]
        self.pieces: list[Piece | Halt] = []
        self._waiting: list[_Waiting] = []
        zero = self.zero = np.zeros(len(position))
        self._held: tuple[list[Piece | Halt], int, Array] = [], 0, zero  # pieces, end on the clock, velocity
        self.desired = Desired(np.array(position), zero, zero, zero)

    def hold_at(self, position: Array) -> None:
        """Forget all trajectories and stay at a position."""
        self.pieces.clear()
        self._waiting.clear()
        zero = self.zero
        self.desired = Desired(np.array(position), zero, zero, zero)

    def slow_down(self, stamp: int, now: Desired, ways: Sequence[JointPoints]) -> None:
        """Forget all trajectories, and come to rest from a motion that none led to, at a time [ns].

        Each of the ways has one point, for other joints.
        """
        self.hold_at(now.position)
        self.desired, time = now, self.clock.at(stamp)
        self.pieces += [Piece(time, points, now) for points in ways]

    def halt(self, stamp: int, brake: Brake = in_place, points: JointPoints | None = None) -> None:
        """Come to rest along the paths under way at a time [ns], forget what waits; of one trajectory, or of all."""
        now, time = self.at(stamp), self.clock.at(stamp)
        self._waiting = [w for w in self._waiting if points is not None and w.points is not points]
        for k, piece in enumerate(self.pieces):
            if isinstance(piece, Piece) and (points is None or piece.points is points):
                self.pieces[k] = brake(piece, time, now, self.clock.rate)
                self.clock.wanted = self.clock.wanted and self.clock.rate  # for which the way to rest was made

    @property
    def count(self) -> int:
        """Number of trajectories under way or waiting."""
        return len(self._waiting) + len(self.pieces)

    @property
    def moving(self) -> bool:
        """Whether a trajectory is under way."""
        return bool(self.pieces)

    def holds(self, points: JointPoints | None) -> bool:
        """Return whether a trajectory is under way or waits."""
        return any(x.points is points for x in (*self.pieces, *self._waiting))

    def add(
        self,
        start: int,
        now: int,
        points: JointPoints,
        queue: bool = False,
        judge: Judge = accept,
        whole: bool = True,
        lead: int = 0,
    ) -> None:
        """Take in a trajectory that starts at a time [ns]; without ``whole`` it has been checked but for its beginning.

        Where it begins now and all is at rest, it begins ``lead`` [ns] later, as soon as an effort can act. Raises
        MessageError where it would jump, has ended already (PastError), or is refused by ``judge``; nothing has changed
        then.
        """
        start, now = self.clock.shown(start), self.clock.shown(now)
        if queue:
            ends = [piece.end for piece in self.pieces] + [waiting.end for waiting in self._waiting]
            start = max([start, *ends])
        new = _Waiting(start, points, self.validated_by)
        if new.end < now or start < new.end == now:
            raise PastError
        if start > now:
            if whole:
                judge(Piece(start, points, None), self.desired, True)
            piece = None
        else:
            self._run(now, judge)
            if not self.pieces:
                new.start += lead
            piece = _begun(self, new, max(now, new.start), judge, whole)
        if not queue:  # what would begin later on these joints is replaced
            self._waiting = [
                w for w in self._waiting if w.start < start or not np.isin(w.points.joints, points.joints).all()
            ]
        if piece is None:
            self._waiting.append(new)
            self._waiting.sort(key=lambda waiting: waiting.start)
        else:
            _take(self, piece)

    def at(self, stamp: int, judge: Judge = accept) -> Desired:
        """Return the motion desired at a time [ns]; times must not fall. What waited and is refused is dropped.

        The arrays are not to be changed.
        """
        self._run(self.clock.at(stamp), judge)
        return _paced(self.clock, self.desired) if self.pieces else self.desired

    def ahead(self, stamp: int) -> Desired:
        """Return what will be desired at a time [ns], not before that of `at`, by the trajectories now under way."""
        if self.clock.steady:
            return _written(self, self.clock.shown(stamp))
        clock = copy.copy(self.clock)
        now = _written(self, clock.at(stamp))
        return _paced(clock, now) if self.pieces else now

    def during(self, begin: int, end: int) -> Desired:
        """Return what will be desired in the middle of some time [ns], as `ahead`, with the mean acceleration.

        An effort that is held so long leads to the velocities desired, wherever in that time accelerations jump. Where
        the time before, of the same motion, ended about when this begins, it begins there.
        """
        middle, last = self.ahead((begin + end) // 2), self.ahead(end)
        shown, until = self.clock.shown(begin), self.clock.shown(end)
        pieces, since, velocity = self._held
        if not self.clock.steady or pieces != self.pieces or abs(since - shown) > (end - begin) // 4:
            since, velocity = shown, self.ahead(begin).velocity
        self._held = self.pieces.copy(), until, last.velocity
        return middle._replace(acceleration=(last.velocity - velocity) / ((until - since) * 1e-9))

    def _run(self, time: int, judge: Judge = accept) -> None:
        """Go on to a time on the clock [ns]."""
        while self._waiting and self._waiting[0].start <= time:
            waiting = self._waiting.pop(0)
            self.desired = _written(self, waiting.start)
            whole = waiting.validated_by is not self.validated_by or len(waiting.points.joints) < len(self.zero)
            try:
                _take(self, _begun(self, waiting, waiting.start, judge, whole))
            except MessageError as error:
                reason = f"a trajectory that waited cannot begin: {error}"
                self.dropped.append((waiting.start, waiting.points, reason))
        if self.pieces:
            if self.clock.rate == 0.0:
                for halt in self.pieces:
                    if isinstance(halt, Halt):
                        halt.rest(time)
            self.desired = _written(self, time)
            for piece in self.pieces:
                if time >= piece.end:
                    self.pieces = [piece for piece in self.pieces if time < piece.end]
                    break


def _begun(player: TrajectoryPlayer, new: _Waiting, now: int, judge: Judge, whole: bool) -> Piece:
    """Make the piece of a trajectory that begins now, from the motion desired; raises MessageError."""
    points, start, desired = new.points, new.start, player.desired
    if points.times[0] == 0.0:
        begin = player.turns.near(points, desired.position).position[0]
        distance = np.abs(begin - desired.position[points.joints])
        if (distance > player.start_tolerance).any():
            worst = int(np.argmax(distance))
            raise FarError(
                TRAJECTORIES,
                f"a trajectory that starts {distance[worst]:.3g} rad or m from the desired position of joint "
                f"{player.names[int(points.joints[worst])]}; start_tolerance is {player.start_tolerance:g}",
            )
    if start < now:
        # Late: points that are past are left out, and the first of the others is reached at its own time.
        late = (now - start) * 1e-9
        points = points.after(late)
        if not len(points.times):
            raise PastError
        start = now
    points = player.turns.near(points, desired.position)
    for blend in BLENDS:
        piece = Piece(start, points, desired, blend)
        piece.points = new.points
        try:
            judge(piece, desired, whole)
        except MessageError:
            if not piece.stretches or blend == BLENDS[-1]:
                raise
        else:
            break
    return piece


def _take(player: TrajectoryPlayer, piece: Piece) -> None:
    for other in player.pieces:
        other.owned &= ~np.isin(other.joints, piece.joints)
    player.pieces = [*(other for other in player.pieces if other.owned.any()), piece]
    player.begun.append(piece)


def _written(player: TrajectoryPlayer, time: int) -> Desired:
    """Return the motion at a time on the clock [ns]."""
    q, qd, qdd, effort = player.desired
    bare = effort is player.zero  # as long as no trajectory has efforts
    for piece in player.pieces:
        bare = bare and piece.effort is None
    desired = Desired(q.copy(), qd.copy(), qdd.copy(), effort if bare else effort.copy())
    for piece in player.pieces:
        piece.write(time, desired, bare)
    return desired


def _paced(clock: PathClock, now: Desired) -> Desired:
    """Return a motion on a clock as it is in time."""
    if clock.steady:
        return now
    rate, slope = clock.rate, clock.slope
    acceleration = rate**2 * now.acceleration + slope * now.velocity
    return now._replace(velocity=rate * now.velocity, acceleration=acceleration)


STEP = 0.005  # time of motion between kept positions [s]
MOVING = 1e-3  # speed of a joint from which on time counts as that of motion [rad/s, m/s]
PARTS = 8  # pieces of a way back, one polynomial each


class PastPath:
    """The desired motion of the last seconds in which something moved."""

    def __init__(self) -> None:
        self._kept: deque[tuple[float, Array, Array]] = deque()
        self._time = 0.0  # of motion [s]

    def forget(self) -> None:
        """Forget all."""
        self._kept.clear()

    def add(self, period: float, position: Array, velocity: Array, seconds: float) -> None:
        """Take in the motion desired a period [s] after the last; of motion beyond some seconds nothing is kept."""
        kept = self._kept
        if kept and float(np.abs(velocity).max()) < MOVING:
            return
        self._time += period
        if kept and self._time - kept[-1][0] < STEP:
            return
        kept.append((self._time, position, velocity))
        while self._time - kept[0][0] > seconds:
            kept.popleft()

    def back(self, duration: float) -> JointPoints | None:
        """Return the way back over all that is kept, in some time [s] from rest to rest; None where nothing moved."""
        if len(self._kept) < 2:
            return None
        time, position, velocity = (np.array(x) for x in zip(*self._kept, strict=True))
        part = np.arange(1, PARTS + 1) / PARTS
        whole = self._time - time[0]
        at = self._time - whole * part**2 * (3.0 - 2.0 * part)
        pace = -whole / duration * 6.0 * part * (1.0 - part)
        n = position.shape[1]
        q, v = (np.column_stack([np.interp(at, time, x[:, j]) for j in range(n)]) for x in (position, velocity))
        return JointPoints(np.arange(n), duration * part, q, pace[:, None] * v)
