"""An interior-point method for the programmes of this room: Newton's steps with exact second derivatives.

To minimise f(p) where room(p) >= margin. With slack s > 0 for the room and multipliers z, steps solve

    grad f - J^T z = 0,   room - margin = s,   s z = mu weight,

for smaller and smaller mu. Weights are those of the quadrature: the barrier is an integral over time. The margin is
what is lost between the points of the quadrature. Where the Hessian is not positive, its eigenvalues are replaced by
their sizes. Steps go down a merit function: cost, barrier, and the missing room at a price that rises as steps ask for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

import numpy as np

from ..arrays import Array
from ..errors import LieDynamicsError
from .problem import MotionProblem, Point

_P = ParamSpec("_P")
_T = TypeVar("_T")

_ITERATIONS = 300
#: Changes of the margin in the end.
_ROUNDS = 6
#: Shortest step that is nothing where so much room is missing, and how many such steps in a row end the search.
_IDLE, _MISSED, _PATIENCE = 1e-2, 1e-4, 25
#: So many steps in a row that limits cut so short raise the barrier to this again, so often at most.
_SHORT, _CRAWL, _RECENTRED, _LIFTS = 0.1, 8, 1e-2, 3
#: Barrier at first, in units of the cost: motions keep far from limits.
FIRST = 1.0
#: Barrier, in units of the cost, from where finer programmes start: nearer to its end, limits are too close.
CENTRAL = 0.1
#: Barrier, in units of the cost, below which the margin stays as it is: limits are too close for other ones.
_SETTLED = 1e-4
#: How much of its room one step may take from a limit.
_FRACTION = 0.995
#: Price of one unit of missing room, at first, in units of the cost.
_PENALTY = 1.0
#: Largest price of missing room, and largest stiffness of forces that are given; how well they are met.
_DEAREST, _STIFFEST, _MET = 1e6, 1e7, 1e-4
#: What of the room may be missing in the end, in units of the limits.
_CLOSE = 1e-7
#: Smallest eigenvalue of the Hessian in the metric of its first part, where some are negative.
_SMALLEST = 0.05


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """Last iterate of the method."""

    point: Point  # the motion
    decrement: float  # what one more step of Newton is predicted to gain, in units of the cost
    gap: float  # sum of products of room and multipliers: the cost above the least, were the programme convex
    reason: str  # "optimal", "stalled" or "iterations"
    limited: bool  # whether limits push
    central: Point  # the motion of the last barrier that keeps far from limits


def solve(problem: MotionProblem, variables: Array, *, small: float, barrier: float = FIRST) -> InteriorPoint:
    """Return a motion near the variables that no further step improves by more than `small`, in units of the cost."""
    weight = problem.weight
    total = float(weight.sum())
    last = 0.1 * small / max(total, 1.0)
    mu = barrier / total if total else 0.0
    point, penalty, reason, before = problem.at(variables), _PENALTY, "iterations", np.inf
    margin = problem.loss_between(point, True)
    room = point.room - margin
    s = np.maximum(room, 1e-2)
    z = mu * weight / s
    decrement, rounds, central, unmet, idle = np.inf, 0, point, np.inf, 0
    crawled, lifts = 0, 0
    for _ in range(_ITERATIONS):
        lack, pull = room - s, mu * weight / s
        sigma = z / s
        slope = point.slopes.gradient() - point.slopes.transposed(pull - sigma * lack)
        hessian, step = _newton(point, z, sigma, slope)
        decrement = 0.5 * float(step @ hessian @ step)
        level, missing = max(mu * total, small), float(np.abs(lack).max(initial=0.0))
        met = missing <= max(_CLOSE, 0.01 * mu * total) and (mu > last * 1.001 or float(z @ s) <= 2.0 * level)
        if decrement <= (0.1 if mu > last * 1.001 else 0.01) * level and met:
            if mu * total >= 0.999 * CENTRAL:
                central = point
            unmet = _push(problem, point, unmet) if problem.passive.any() else 0.0
            if mu <= last * 1.001:
                if unmet > _MET and problem.stiffness < _STIFFEST:
                    point = problem.at(point.variables)
                    continue
                lost = problem.loss_between(point) - point.room
                if float(lost.max(initial=0.0)) <= _CLOSE or rounds == _ROUNDS:
                    reason = "optimal"
                    break
                rounds += 1
                margin = np.maximum(margin, (1.0 + 0.2 * rounds) * problem.loss_between(point, True))
                room = point.room - margin
                mu, s, z = _recentred(room, weight, last)
                continue
            if mu * total >= _SETTLED:
                margin = problem.loss_between(point, True)
            mu = max(last, min(0.1 * mu, (mu * total) ** 1.5 / total)) if total else 0.0
            point = problem.at(point.variables) if problem.passive.any() else point
            room = point.room - margin
            s = np.maximum(room, np.minimum(s, mu * weight / np.where(weight > 0.0, z, 1.0)))
            continue
        if not total and decrement > 0.5 * before and decrement < 1e-9:
            reason = "optimal" if decrement <= small else "stalled"  # no further than round-off lets it
            break
        before = decrement
        change = point.slopes.forward(step)
        ds = np.where(weight > 0.0, change + lack, 0.0)
        dz = np.where(weight > 0.0, pull - z - sigma * ds, 0.0)
        a = _to_boundary(s, ds)
        lacking = float(weight @ np.abs(lack))
        down = float(point.slopes.gradient() @ step) - float(pull @ ds)
        if lacking > 0.0:
            penalty = min(max(_PENALTY, 0.5 * penalty, 2.0 * (down + decrement) / lacking), _DEAREST)
        expected = max(penalty * lacking - down, 0.0)
        merit = _merit(point.cost + point.penalty, s, room, mu, weight, penalty)
        idle = idle + 1 if a < _IDLE and missing > _MISSED else 0
        if idle > _PATIENCE:
            reason = "stalled"
            break
        crawled = crawled + 1 if a < _SHORT else 0
        corner = crawled > _CRAWL and mu * total < _RECENTRED
        if lifts < _LIFTS and (corner or idle == _CRAWL):  # away from the limits
            if idle == _CRAWL:  # the margin may be that of a motion far from this one
                margin = problem.loss_between(point, True)
                room = point.room - margin
            crawled, lifts = 0, lifts + 1
            mu, s, z = _recentred(room, weight, max(mu, last))
            continue
        for _ in range(30):
            trial = tried(problem.at, point.variables + a * step)
            if trial is not None:
                trial_room = trial.room - margin
                trial_s = np.maximum(trial_room, np.minimum(s + a * ds, mu / _PENALTY))
                value = _merit(trial.cost + trial.penalty, trial_s, trial_room, mu, weight, penalty)
                if value <= merit - 1e-4 * a * expected + 1e-13 * abs(merit):
                    break
            a *= 0.5
        else:
            reason = "stalled"
            break
        z = z + _to_boundary(z, dz) * dz
        point, room, s = trial, trial_room, trial_s
        pull = mu * weight / s
        z = np.clip(z, 1e-6 * pull, np.minimum(1e6 * pull, _DEAREST * weight))
    if reason == "stalled" and decrement <= small and mu <= last * 1.001 and missing <= 1e-6:
        reason = "optimal"
    gap, limited = float(z @ np.maximum(room, 0.0)), bool((z > weight * room).any())
    return InteriorPoint(point, decrement, gap, reason, limited, central)


def _recentred(room: Array, weight: Array, least: float) -> tuple[float, Array, Array]:
    """Return a larger barrier, and slacks and multipliers away from limits."""
    mu = max(least, _RECENTRED / float(weight.sum()))
    s = np.maximum(room, mu)
    return mu, s, mu * weight / s


def _push(problem: MotionProblem, point: Point, before: float) -> float:
    """Raise multipliers of joint forces that are given, or the stiffness; return how far they are from being met."""
    miss = problem.missing_force(point.values)
    problem.multipliers = problem.multipliers + problem.stiffness * miss
    now = float(np.abs(miss).max(initial=0.0))
    if now > 0.25 * before and now > _MET:
        problem.stiffness *= 10.0
    return now


def tried(function: Callable[_P, _T], *args: _P.args, **options: _P.kwargs) -> _T | None:
    """Return what a function does, None where loops do not close, or numbers leave double precision."""
    try:
        return function(*args, **options)
    except (ArithmeticError, LieDynamicsError):
        return None


def predicted_gain(problem: MotionProblem, variables: Array) -> float:
    """Return by how much one step of Newton is predicted to lower the cost, in its units, limits aside."""
    free = MotionProblem(problem.task, {}, problem.count, problem.unit)
    point, none = free.at(variables), np.zeros(0)
    slope = point.slopes.gradient()
    return -0.5 * float(slope @ _newton(point, none, none, slope)[1])


def _newton(point: Point, z: Array, sigma: Array, slope: Array) -> tuple[Array, Array]:
    """Return a positive Hessian, and the step.

    Where it is not positive, its eigenvalues in the metric of its first part are replaced by their sizes.
    """
    from scipy.linalg import cho_solve, eigh

    hessian, first = point.bends.hessian(z, sigma)
    try:
        factor = np.linalg.cholesky(hessian)
    except np.linalg.LinAlgError:
        metric = _lifted(first())
        metric = metric @ metric.T
        sizes, vectors = eigh(hessian, metric, check_finite=False)
        sizes = np.maximum(np.abs(sizes), _SMALLEST)
        back = metric @ vectors
        return (back * sizes) @ back.T, -vectors @ ((slope @ vectors) / sizes)
    return hessian, -cho_solve((factor, True), slope, check_finite=False)


def _lifted(hessian: Array) -> Array:
    """Return a factor of a matrix that is not negative, lifted by round-off of its diagonal so that it has one."""
    diagonal = np.einsum("ii->i", hessian).copy()
    largest = diagonal.max(initial=0.0) or 1.0
    scale = np.sqrt(np.where(diagonal > 1e-30 * largest, diagonal, largest))
    unit = hessian / scale / scale[:, None]
    for lift in (1e-13, 1e-10, 1e-7):
        try:
            return np.asarray(scale[:, None] * np.linalg.cholesky(unit + lift * np.eye(len(unit))))
        except np.linalg.LinAlgError:
            continue
    return np.diag(scale)


def _merit(cost: float, s: Array, room: Array, mu: float, weight: Array, penalty: float) -> float:
    if not room.size:
        return cost
    return cost - mu * float(weight @ np.log(s)) + penalty * float(weight @ np.abs(room - s))


def _to_boundary(x: Array, step: Array) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(step < 0.0, -_FRACTION * x / step, 1.0)
    return float(min(1.0, ratio.min(initial=1.0)))
