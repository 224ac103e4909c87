"""The same path in the shortest time that all limits allow, but no sooner than requested."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Array
from ...dynamics.joint_friction import JointFriction
from ...errors import LieDynamicsError
from ...lie._arrays import number_of
from ...model.model import Model
from ...motion import LARGEST, Rows, TimeLaw
from ..robots import Robot, inverse_dynamics
from ..trajectory import Trajectory, hermite
from .joint_path import JointPath, Motion
from .judgement import MotionLimits, efforts_of, first_effort, first_excess, read_path

#: Numbers of steps of a path, and the time of one in the requested motion, where these numbers allow it [s].
LEAST_STEPS, MOST_STEPS, STEP = 500, 1000, 0.005
CORNER = 1e-6  # jump of a velocity between segments that counts as a corner [rad/s, m/s]
#: Fewest steps between points of the path, and most parts between points: more would take minutes and much memory.
LEAST_OF_SEGMENT, MOST_SEGMENTS = 4, 2000
ROUNDS = 12  # most rounds until losses are those at the speed found, and until limits are kept between the steps too
LOSS_STEP = 1e-3  # part of a rate by which it is changed to see how losses depend on it
#: Part of each limit that is left for what happens between the steps, and what must be left of it there.
SPARE, KEPT = 3e-3, 1e-3


class RetimingError(LieDynamicsError):
    """A path that cannot be followed within the limits at any speed, or that has corners."""


@dataclass(frozen=True, eq=False)
class Retimed:
    """A path in another time.

    Attributes
    ----------
    times : ndarray, shape (k,)
        Of its points, from the first [s].
    q, qd : ndarray, shape (k, m)
        Of the path's joints at the points; cubic polynomials join them.
    qdd : ndarray, shape (k, m), or None
        Where quintic ones do.
    effort : ndarray, shape (k, m), or None
        Feed-forward, where the path has any.
    factor : float
        How many times as long it takes as was requested.
    rates : ndarray, shape (k,)
        Speed along the path over that requested, at the points.
    """

    times: Array
    q: Array
    qd: Array
    qdd: Array | None
    effort: Array | None
    factor: float
    rates: Array

    def trajectory(self, model: Model) -> Trajectory:
        """Return it as a trajectory of all joints of a robot; raises InputError where it has not all."""
        return Trajectory(model, self.times, self.q, self.qd, self.qdd)


def retime(
    model: Robot,
    trajectory: Trajectory | JointPath,
    limits: MotionLimits | None = None,
    fastest: float | None = None,
    friction: JointFriction | None = None,
) -> Retimed:
    """Return the same path in the shortest time that velocity, acceleration and effort limits allow.

    Along the path the rate of time may change: with s the time that was requested, efforts are linear in s'' and s'^2
    but for losses, which are taken at the rate found before until they agree. The fastest s'(s) is found by
    reachability analysis (Pham and Pham, 2018). Where the limits include jerk, which that does not know, one rate for
    all of the path is found instead.

    Parameters
    ----------
    model : Model or MotorDynamics
        With all that its dynamics include: payload, losses by `with_joint_terms`. One coordinate a joint.
    trajectory : Trajectory or JointPath
        With velocities at its points: straight lines have corners, which no robot can follow.
    limits : MotionLimits, optional
        Those of the model when left out. Position limits are not looked at: no other time changes them.
    fastest : float, optional
        Largest rate: 1 for nowhere faster than requested; 3 comes close to the shortest time where that is not much
        shorter than requested. When left out it is 2, so that the slow ends of a path that is requested too fast as a
        whole cost little, and 1 where it would be done sooner than requested.
    friction : JointFriction, optional
        Of the drives.

    Raises
    ------
    RetimingError
        No speed keeps the limits, or the path has corners.
    InputError, DescriptionError
        For what is no model or trajectory, other limits, and joints of several coordinates.
    """
    path, limits = read_path(model, trajectory, limits)
    if fastest is None:
        found = retime(model, path, limits, 2.0, friction)
        return found if found.factor >= 1.0 else retime(model, path, limits, 1.0, friction)
    fastest = number_of("fastest", fastest, "a positive number", lambda x: 0.0 < x <= 1e3)
    if not len(path.segments) or not np.isfinite(path.segments).all():
        raise RetimingError("a path of at least two points, with finite polynomials, is expected")
    if len(path.segments) > MOST_SEGMENTS:
        raise RetimingError(f"a path of at most {MOST_SEGMENTS + 1} points is expected, got {len(path.segments) + 1}")
    if np.isfinite(limits.jerk[path.joints]).any():
        return _slowed(model, path, limits, fastest, friction)
    _refuse_corners(path, limits)
    return _shortest(model, path, limits, fastest, friction)


def as_path(found: Retimed, path: JointPath) -> JointPath:
    """Return a retimed path as polynomials; the joints that it does not name stay where they did."""
    ends = (x for field in (found.qd, found.qdd) if field is not None for x in (field[:-1], field[1:]))
    polynomials = hermite(np.diff(found.times)[:, None], np.diff(found.q, axis=0), *ends)
    segments = np.ascontiguousarray(np.moveaxis(polynomials, 0, 1))
    return JointPath(path.joints, found.times, found.q, segments, path.rest, found.effort)


def _refuse_corners(path: JointPath, limits: MotionLimits) -> None:
    spans = np.diff(path.times)[:-1, None]
    ends = sum(j * path.segments[:-1, j] * spans ** (j - 1) for j in range(1, 6))
    corner = np.abs(ends - path.segments[1:, 1]) > CORNER
    if corner.any():
        k, j = np.argwhere(corner)[0]
        raise RetimingError(
            f"the path has a corner after {path.times[k + 1]:.3g} s, where the velocity of joint "
            f"{limits.names[int(path.joints[j])]} jumps; points with velocities are expected",
            name=limits.names[int(path.joints[j])],
        )


def _grid(path: JointPath) -> Array:
    """Return times that hold all points of the path, and between them more, closer to the points, where it may rest."""
    steps = np.clip(path.duration / STEP, LEAST_STEPS, MOST_STEPS)
    grid = [path.times[:1]]
    for begin, end in zip(path.times[:-1], path.times[1:], strict=True):
        count = max(LEAST_OF_SEGMENT, round(steps * (end - begin) / path.duration))
        grid.append(begin + 0.5 * (end - begin) * (1.0 - np.cos(np.pi * np.arange(1, count + 1) / count)))
    return np.concatenate(grid)


def _shortest(
    model: Robot, path: JointPath, limits: MotionLimits, fastest: float, friction: JointFriction | None
) -> Retimed:
    grid, at = _grid(path), path.joints
    motion = path.at(grid)
    ahead = motion.ahead[:, at] if path.effort is not None else None
    share, rates, slopes, over = 1.0 - SPARE, np.full(grid.size, fastest), np.zeros(grid.size), np.inf
    for _ in range(ROUNDS):
        law = _along(model, path, _shared(limits, share), grid, rates, slopes, friction, fastest**2)
        reach = law.reachable()
        squares = None if reach is None else law.fastest(float(reach[LARGEST, 0]), reach)[0]
        if squares is None or not (squares[:-1] + squares[1:] > 0.0).all():  # or losses at these rates are too large
            rates, slopes = 0.5 * rates, 0.25 * slopes
            continue
        rates, before = np.sqrt(squares), rates
        slopes = np.append(0.5 * np.diff(squares) / np.diff(grid), 0.0)
        times = np.concatenate([[0.0], np.cumsum(2.0 * np.diff(grid) / (rates[:-1] + rates[1:]))])
        factor = float(times[-1] / path.duration)
        found = Retimed(times, motion.q[:, at], motion.qd[:, at] * rates[:, None], None, ahead, factor, rates)
        over = _over(model, as_path(found, path), limits, friction)
        if over <= -KEPT:
            return found
        if np.abs(rates - before).max() < 1e-2 * fastest:  # losses are those at the rate found
            share *= 1.0 - min(over + 2.0 * KEPT, 0.05)
    if np.isfinite(over):
        raise RetimingError(f"values between the steps stay {100.0 * over:.2g} % above their limits")
    raise RetimingError(_hopeless(model, path, limits))


def _shared(limits: MotionLimits, share: float) -> MotionLimits:
    """Return a share of limits that another time can keep."""
    kinds = ("velocity", "acceleration", "deceleration", "effort")
    return replace(limits, **{kind: share * getattr(limits, kind) for kind in kinds})


def _along(
    model: Robot,
    path: JointPath,
    limits: MotionLimits,
    grid: Array,
    rates: Array,
    slopes: Array,
    friction: JointFriction | None,
    largest: float,
) -> TimeLaw:
    """Return the law of what is limited at the beginning and the end of each step, linear in s'' and s'^2.

    Where the path begins and ends any s'^2 up to the ``largest`` may stand: a robot at rest there is at rest at every
    rate.
    """
    at, tiny = path.joints, 1e-9 * np.diff(grid)
    rows: list[Rows] = []
    most: list[Array] = []
    for t, v, u in (
        (grid[:-1] + tiny, rates[:-1], slopes[:-1]),
        (grid[1:] - tiny, rates[1:], slopes[:-1]),
    ):
        motion = path.at(t)
        q, d1, d2, zero = motion.q, motion.qd, motion.qdd, np.zeros_like(motion.q)

        def effort(qd: Array, qdd: Array, q: Array = q) -> Array:
            return np.asarray(inverse_dynamics(model, q, qd, qdd))

        still = effort(zero, zero)
        by_slope = effort(zero, d1) - still
        by_square = 0.5 * (effort(d1, zero) + effort(-d1, zero)) + effort(zero, d2) - 2.0 * still
        # Losses depend on the rate otherwise: as at the rate found before, and in proportion to how its square changes.
        step = LOSS_STEP * (v + LOSS_STEP)
        lost, more = (
            efforts_of(model, Motion(q, d1 * w[:, None], d2 * (w**2)[:, None] + d1 * u[:, None], zero, zero), friction)
            - still - by_slope * u[:, None] - by_square * (w**2)[:, None]
            for w in (v, v + step)
        )  # fmt: skip
        bent = (more - lost) / ((v + step) ** 2 - v**2)[:, None]
        by_square = by_square + bent
        rest = still + lost - bent * (v**2)[:, None] + motion.ahead
        forward = np.sign(d1[:, at])
        up = np.where(forward >= 0.0, limits.acceleration[at], limits.deceleration[at])
        down = np.where(forward <= 0.0, limits.acceleration[at], limits.deceleration[at])
        with np.errstate(divide="ignore"):
            most.append(np.min((limits.velocity[at] / np.abs(d1[:, at])) ** 2, axis=1, initial=np.inf))
        a, b = np.hstack([by_slope[:, at], d1[:, at]]), np.hstack([by_square[:, at], d2[:, at]])
        c = np.hstack([rest[:, at], np.zeros_like(up)])
        effort_limit = np.broadcast_to(limits.effort[at], up.shape)
        limit = np.hstack([effort_limit, up, effort_limit, down])
        size = np.where(np.isfinite(limit) & (limit > 0.0), limit, 1.0)
        a, b, c = (np.hstack([x, -x]) / size for x in (a, b, c))
        rows.append((a, b, limit / size - c))
    return TimeLaw.of_steps(rows[0], rows[1], np.diff(grid), most[0], most[1], largest)


def _over(model: Robot, path: JointPath, limits: MotionLimits, friction: JointFriction | None) -> float:
    """Return by what part limits are exceeded at most, looked at five times a step; negative where all are kept."""
    at = path.joints
    t = (path.times[:-1, None] + np.diff(path.times)[:, None] * np.array([1e-6, 0.25, 0.5, 0.75, 1.0 - 1e-6])).ravel()
    motion = path.at(t)
    use = [
        np.abs(motion.qd) / limits.velocity,
        np.abs(motion.qdd) / np.where(motion.qd * motion.qdd >= 0.0, limits.acceleration, limits.deceleration),
        np.abs(efforts_of(model, motion, friction)) / limits.effort,
    ]
    return float(max(x[:, at].max(initial=0.0) for x in use)) - 1.0


def _hopeless(model: Robot, path: JointPath, limits: MotionLimits) -> str:
    still = replace(path, segments=np.zeros_like(path.segments), position=path.position)
    excess = first_effort(model, still, limits)
    if excess is not None:
        return f"no speed keeps the limits: at rest on the path joint {excess.joint} takes {excess.value:.3g} N m or N"
    return "no speed along the path keeps the limits, such as from the velocity at its start"


def _slowed(
    model: Robot, path: JointPath, limits: MotionLimits, fastest: float, friction: JointFriction | None
) -> Retimed:
    """Return the path at one rate for all of it: the largest that keeps the limits, found by bisection."""

    def at_rate(rate: float) -> Retimed:
        motion = path.at(path.times)
        last = path.segments[-1]
        end = float(np.diff(path.times)[-1])
        at = path.joints
        qd, qdd = motion.qd[:, at], motion.qdd[:, at]
        qd[-1] = sum(j * last[j] * end ** (j - 1) for j in range(1, 6))
        qdd[-1] = sum(j * (j - 1) * last[j] * end ** (j - 2) for j in range(2, 6))
        quintic = path.segments[:, 4:].any()
        times = (path.times - path.times[0]) / rate
        accelerations = qdd * rate**2 if quintic else None
        return Retimed(
            times, path.position, qd * rate, accelerations, path.effort, 1.0 / rate, np.full(times.size, rate)
        )  # fmt: skip

    def keeps(rate: float) -> bool:
        slow = as_path(at_rate(rate), path)
        unbound = replace(
            limits, lower=np.full_like(limits.lower, -np.inf), upper=np.full_like(limits.upper, np.inf)
        )  # fmt: skip
        return first_excess(slow, unbound) is None and first_effort(model, slow, limits, friction=friction) is None

    low, high = 1e-3 * fastest, fastest
    if keeps(high):
        return at_rate(high)
    if not keeps(low):
        raise RetimingError(_hopeless(model, path, limits))
    while high - low > 1e-4 * high:
        middle = np.sqrt(low * high)
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return at_rate(low)
