"""Checks of a trajectory before it is followed: against all limits, slowed down where that is wished."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from ....core.commands import JointPoints
from ....core.errors import TRAJECTORIES, MessageError
from ....lie_dynamics import JointFriction, LieDynamicsError, MotorDynamics, SingularityError
from ....lie_dynamics.arrays import Array
from ....lie_dynamics.control.feasibility import (
    Excess,
    Feasibility,
    JointPath,
    MotionLimits,
    Retimed,
    RetimingError,
    efforts_of,
    feasibility,
    first_effort,
    first_excess,
    first_opening,
    retime,
)
from ....lie_dynamics.control.feasibility.joint_path import first_beyond
from ....lie_dynamics.control.robots import Robot
from ....lie_dynamics.motion import TimeLaw
from .trajectory_piece import Desired, Halt, Piece

STILL = 1e-4  # velocities below this count as rest [rad/s, m/s]
ALLOWED = "allow_nonzero_velocity_at_trajectory_end"  # the parameter, of the name that ros2_controllers gave it


def moves_at_its_end(points: JointPoints) -> bool:
    """Return whether the last point has a velocity."""
    return points.velocity is not None and bool((np.abs(points.velocity[-1]) > STILL).any())


def require_rest(points: JointPoints, names: Sequence[str]) -> None:
    """Raise MessageError where the last point has a velocity; `names` of all joints, in model order."""
    if moves_at_its_end(points):
        assert points.velocity is not None
        k = int(np.abs(points.velocity[-1]).argmax())
        text = f"a trajectory that ends with joint {names[points.joints[k]]} at {points.velocity[-1][k]:.4g} (velocity)"
        raise MessageError(TRAJECTORIES, f"{text}; expected 0, or the parameter {ALLOWED}")


def tail(points: JointPoints, time: float) -> JointPoints:
    """Return the way to rest behind the last point, in a time [s]: its velocity v, and acceleration a, fade evenly.

    It is v T / 2 + a T^2 / 12 long: the shortest polynomial, quadratic or quartic, that joins on.
    """
    assert points.velocity is not None
    position, velocity = points.position[-1], points.velocity[-1]
    end, zero, acceleration = position + 0.5 * time * velocity, np.zeros_like(velocity), None
    if points.acceleration is not None:
        end = end + time**2 / 12.0 * points.acceleration[-1]
        acceleration = np.array([points.acceleration[-1], zero])
    return replace(
        points,
        times=np.array([0.0, time]),
        position=np.array([position, end]),
        velocity=np.array([velocity, zero]),
        acceleration=acceleration,
        effort=None if points.effort is None else points.effort[[-1, -1]],
        segments=None,
    )


def joined(points: JointPoints, after: JointPoints) -> JointPoints:
    """Return points and the `tail` that follows them, as one trajectory."""

    def both(name: str) -> np.ndarray | None:
        first = getattr(points, name)
        return None if first is None else np.concatenate([first, getattr(after, name)[1:]])

    fields = {name: both(name) for name in ("position", "velocity", "acceleration", "effort")}
    return replace(points, segments=None, times=np.append(points.times, points.times[-1] + after.times[1:]), **fields)


JUDGEMENTS = ("reject", "slow_down", "accept")
TIMED = ("velocity", "acceleration", "deceleration", "jerk", "effort")  # kinds of limits that a slower motion may keep
#: Factors on the time of a way to rest; the first one that keeps the limits is used.
STRETCHES = (1.0, 1.5, 2.25, 3.4, 5.0, 7.5)
#: Largest value over its limit on the way to rest with which the shorter way is taken: paths may be at a limit.
ENOUGH = 1.005
FEEDBACK = 0.03  # part of the effort limits that slowed down trajectories leave to feedback
QUICKEST = 0.02  # least time of a way to rest before a limit of position [s]
BRAKE_SAMPLES = np.linspace(0.0, 0.999, 250)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A trajectory that has been checked, for its beginning apart."""

    points: JointPoints  # as they are to be played
    start: int  # [ns]; 0 for now
    judge: TrajectoryValidator  # that checked it
    note: str = ""  # what was changed or let pass; empty where nothing was


class TrajectoryValidator:
    """Holds trajectories against the limits of one robot under the same options; safe to use from several threads.

    The model has all that the options include, and is another one where gravity has turned. Efforts along the path are
    checked where `efforts` says so; `policy` is one of `JUDGEMENTS`. Motions come to rest in `stop_time` where limits
    allow that [s]. With `moving_ends` trajectories are taken that move at their last point, and brought to rest behind
    it.
    """

    def __init__(
        self,
        model: Robot,
        friction: JointFriction | None,
        limits: MotionLimits,
        efforts: bool,
        policy: str,
        stop_time: float,
        moving_ends: bool = False,
    ) -> None:
        self.model, self._friction = model, friction
        self.limits, self._policy, self._stop_time = limits, policy, stop_time
        self._efforts, self._moving_ends = efforts, moving_ends
        self._rest = np.zeros((1, model.nv))
        first_beyond(np.zeros((1, 3, 1)), np.ones(1), np.ones(1))  # what needs compiling is compiled now
        still = TimeLaw(self._rest, self._rest, self._rest, np.ones(1), np.ones((2, 2)))
        still.fastest(1.0, np.ones((2, 2)) if still.reachable() is None else still.limits)

    def excess(self, path: JointPath, led: bool = False, limits: MotionLimits | None = None) -> Excess | None:
        """Return the first limit that a path exceeds, or None; of some limits, or those in force."""
        limits = limits or self.limits
        found = first_excess(path, limits, led)
        if found is None and isinstance(self.model, MotorDynamics):
            found = first_opening(self.model, path)
        return (
            first_effort(self.model, path, limits, friction=self._friction)
            if found is None and self._efforts
            else found
        )

    def __call__(self, piece: Piece, desired: Desired, whole: bool) -> None:
        """Refuse a piece, or its beginning, that exceeds a limit; raises MessageError.

        Efforts count with the other joints at rest where they are desired now.
        """
        path = piece.path(desired.position)
        found = self.excess(path if whole else path.head(piece.fresh), piece.led) if whole or piece.fresh else None
        if found is not None and (self._policy != "accept" or found.kind not in TIMED):
            raise MessageError(TRAJECTORIES, f"a trajectory {found}")

    def prepare(self, points: JointPoints, start: int, desired: Desired) -> Prepared:
        """Check a trajectory, with its way from the motion desired now where it begins now; raises MessageError.

        Costs up to some tenths of a second where it is slowed down.
        """
        self.require_end(points)
        given, points = points, self.brought_to_rest(points, desired.position)
        note = "" if points is given else f"comes to rest at {points.times[-1]:.3g} s, behind its last point"
        piece = Piece(0, points, desired if points.times[0] > 0.0 and not start else None)
        path = piece.path(desired.position)
        found = self.excess(path, piece.led)
        if found is None:
            return self._made(points, start, note)
        if self._policy == "reject" or found.kind not in TIMED:
            raise MessageError(TRAJECTORIES, f"a trajectory {found}")
        if self._policy == "accept":
            return self._made(points, start, f"taken, though it is a trajectory {found}")
        try:
            slow = self.slowed(path)
        except LieDynamicsError as error:
            raise MessageError(TRAJECTORIES, f"a trajectory {found}; it cannot be slowed down: {error}") from error
        points = JointPoints(points.joints, slow.times, slow.q, slow.qd, slow.qdd, slow.effort)
        note = f"slowed down, takes {slow.factor:.3g} times as long ({slow.times[-1]:.3g} s): a trajectory {found}"
        return self._made(points, start, note)

    def _made(self, points: JointPoints, start: int, note: str) -> Prepared:
        return Prepared(replace(points, segments=points.joined()), start, self, note)

    def require_end(self, points: JointPoints) -> None:
        """Raise MessageError where a trajectory moves at its last point and that is not allowed."""
        if not self._moving_ends:
            require_rest(points, self.model.joint_names)

    def brought_to_rest(self, points: JointPoints, rest: Array) -> JointPoints:
        """Return a trajectory with a way to rest behind it, the quickest of some that keep the limits, or the last.

        One that ends at rest, or with its only point at time 0, is returned as it is. ``rest`` (n,) is where the other
        joints are.
        """
        if not moves_at_its_end(points) or points.times[-1] == 0.0:
            return points
        for stretch in STRETCHES:
            after = tail(points, stretch * self._stop_time)
            found = self.excess(Piece(0, after, None).path(rest))
            if found is None or found.kind not in TIMED:  # a longer way only goes farther
                break
        return joined(points, after)

    def report(self, path: JointPath) -> Feasibility:
        """Return what a path takes of all limits, whether efforts are checked here or not."""
        return feasibility(self.model, path, self.limits, friction=self._friction)

    def slowed(self, path: JointPath) -> Retimed:
        """Return the path in the shortest time that the limits allow; raises LieDynamicsError.

        Of efforts `FEEDBACK` is left, without which errors would stay while they are at their limits; nothing where the
        path cannot be done with less.
        """
        limits, whole = self.limits, self.limits.effort if self._efforts else np.full_like(self.limits.effort, np.inf)
        try:
            room = replace(limits, effort=(1.0 - FEEDBACK) * whole)
            return retime(self.model, path, room, friction=self._friction)
        except RetimingError:
            return retime(self.model, path, replace(limits, effort=whole), friction=self._friction)

    def way_to_rest(self, now: Desired) -> list[JointPoints]:
        """Return where a motion comes to rest on a straight line, the quickest of some ways that keep the limits.

        A joint whose limit of position leaves no room for that comes to rest there as soon as needed, by itself.
        """
        speed, limits = now.velocity, replace(self.limits, velocity=np.full_like(now.velocity, np.inf))
        room = np.where(speed > 0.0, limits.upper - now.position, now.position - limits.lower)
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(np.abs(speed) > STILL, 2.0 * np.maximum(room, 0.0) / np.abs(speed), np.inf)
        for stretch in STRETCHES:
            times = np.maximum(np.minimum(stretch * self._stop_time, own), QUICKEST)
            end = now.position + 0.5 * times * speed + times**2 / 12.0 * now.acceleration
            ways = [
                JointPoints(at, np.array([time]), end[None, at], self._rest[:, at], self._rest[:, at])
                for time in np.unique(times)[::-1]
                for at in [np.flatnonzero(times == time)]
            ]
            longest = Piece(0, ways[0], now)  # of the joints that have room, if any does
            if times.max() < stretch * self._stop_time or self.excess(longest.path(now.position), True, limits) is None:
                break
        return ways

    def brake(self, piece: Piece, time: int, desired: Desired, rate: float) -> Halt:
        """Return the quickest of some ways to rest from a time on [ns] that keep limits, or the one that does best.

        ``rate`` is that of the clock, which is slower than time.
        """
        limits, best = self.limits, (np.inf, Halt(piece, time, self._stop_time * rate))
        if rate < 1e-6 or not len(piece.segments):
            return best[1]
        for stretch in STRETCHES:
            halt = Halt(piece, time, stretch * self._stop_time * rate)
            motion = halt.at(BRAKE_SAMPLES, desired.position)
            qd, qdd = motion.qd * rate, motion.qdd * rate**2
            use = np.abs(qdd) / np.where(qd * qdd >= 0.0, limits.acceleration, limits.deceleration)
            worst = float(use[:, piece.joints].max())
            if self._efforts and worst <= ENOUGH:
                with suppress(SingularityError):  # a closed robot is stopped where it cannot be followed
                    tau = efforts_of(self.model, motion._replace(qd=qd, qdd=qdd), self._friction)
                    worst = max(worst, float((np.abs(tau) / limits.effort)[:, piece.joints].max()))
            if worst < best[0]:
                best = worst, halt
            if worst <= ENOUGH:
                break
        return best[1]
