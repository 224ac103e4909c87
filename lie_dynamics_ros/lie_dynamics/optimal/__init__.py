"""Motions between two states, or through many, of least cost within limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import InputError, LieDynamicsError
from ..lie._arrays import as_real, count_of, number_of
from ..model.arguments import validate_model
from ..model.configuration import checked, coordinate_name
from ..model.structure import JointLimits
from ..shown import Plotted, grouped, shown
from .interior_point import CENTRAL, FIRST, InteriorPoint, predicted_gain, solve, tried
from .modes import shapes_at
from .problem import MotionProblem
from .task import (
    Bound,
    MotionCost,
    MotionRequest,
    Task,
    TorqueRequest,
    make_bounds,
    make_task,
    rate_bound,
    require_within,
    single_vector,
)

__all__ = ["MotionCost", "OptimalMotion", "OptimalMotionError", "optimal_motion", "torque_optimal_motion"]

# Where else a search begins: the cost of motions has many valleys, and the cubic in time lies in one of them.
#
# Motions of few modes that bend towards configurations drawn within the limits are valued, the best of them and the
# cubic are improved, and the best of these is refined. What is drawn is the same each time.

#: How many motions are drawn, how many of them are improved, with how many modes, and how well.
_DRAWN, _TRIED, _FEW, _ROUGH = 192, 5, 3, 1e-2
#: Price of missing room in units of the first cost, as motions are valued.
_PRICE = 10.0
_SEED = 1995


def from_drawn(problem: MotionProblem, variables: Array, small: float) -> InteriorPoint | None:
    """Return the motion found from the best of those drawn, or None where the search from `variables` is as good."""
    coarse = MotionProblem(problem.task, problem.bounds_given, _few(problem, _FEW), problem.unit)
    first = coarse.variables(*problem.coefficients(variables))
    best = sorted(_bent(coarse, first), key=lambda one: _value(coarse, one))[:_TRIED]
    found: list[tuple[float, Array]] = []
    for one in (first, *best):
        end = tried(solve, coarse, one, small=_ROUGH)
        found.append((np.inf, one) if end is None else (_value(coarse, end.point.variables), end.point.variables))
    value, chosen = min(found, key=lambda one: one[0])
    if not value < found[0][0]:
        return None
    return tried(solve, problem, problem.variables(*coarse.coefficients(chosen)), small=small)


def from_without(problem: MotionProblem, variables: Array, small: float) -> InteriorPoint | None:
    """Return the motion found from the one of few modes that is optimal without limits; None if it is out of reach."""
    own = {kind: bound for kind, bound in problem.bounds_given.items() if kind == "duration"}
    free = MotionProblem(problem.task, own, _few(problem, 2), problem.unit)
    end = tried(solve, free, free.variables(*problem.coefficients(variables)), small=small)
    start = None if end is None else problem.variables(*free.coefficients(end.point.variables))
    return None if start is None else tried(solve, problem, start, small=small)


def _few(problem: MotionProblem, least: int) -> int:
    return max(len(problem.task.conditions.terms) - 3, min(least, problem.count))


def _value(problem: MotionProblem, variables: Array) -> float:
    """Return the cost, dearer where limits are exceeded; infinite where there is no such motion."""
    point = tried(problem.at, variables)
    if point is None:
        return np.inf
    value = point.cost * (1.0 + _PRICE * max(0.0, -float(point.room.min(initial=0.0)))) + point.penalty
    return value if np.isfinite(value) else np.inf


def _bent(problem: MotionProblem, variables: Array) -> list[Array]:
    """Return variables of motions that bend by a drawn part of the way towards drawn configurations."""
    task, model, rng = problem.task, problem.task.model, np.random.default_rng(_SEED)
    middle = shapes_at(np.array([0.5]), problem.count)[0, 0] @ problem.coefficients(variables)[0]
    bump = 16.0 * (problem.s * (1.0 - problem.s)) ** 2
    shape = np.linalg.lstsq(problem.reduced[0], bump, rcond=1e-9)[0]
    motions = []
    for _ in range(_DRAWN):
        drawn = model.random(rng)
        if task.loops is not None:
            way = drawn[task.loops.places] - task.start[task.loops.places] - middle
        else:
            way = rng.normal(size=model.nv)
            way[model.vector_v] = (drawn - task.start)[model.vector_q] - middle[model.vector_v]
        bend = np.outer(shape, rng.random() * way)
        motions.append(variables + np.concatenate([bend.ravel(), np.zeros(int(task.free))]))
    return motions


_FIRST_MODES = 8
_MOST_MODES = 256
#: Most modes where nobody says how many, and coordinates times modes: 32 joints take some 10 s then.
_USUAL_MODES, _VARIABLES = 32, 960
#: How far limits may be exceeded, in units of their scale: by what counts as feasible, by what is converged, and by
#: what is returned at all.
_FEASIBLE, _KEPT, _BROKEN = 1e-6, 1e-3, 1e-2
_SAMPLES = 201
#: How much longer a motion is tried where limits cannot be kept.
_LONGER = (1.25, 1.5, 2.0, 3.0)


class OptimalMotionError(LieDynamicsError):
    """No motion was found that keeps the limits, or in double precision."""


@shown
@dataclass(frozen=True, eq=False)
class OptimalMotion(Plotted):
    """A motion whose cost is least among its neighbours, as far as `residual` shows.

    Attributes
    ----------
    time : ndarray, shape (m,)
        Equal steps of time from 0 to `duration` [s].
    q : ndarray, shape (m, nq)
        Configurations there [rad, m].
    qd, qdd, tau : ndarray, shape (m, nv)
        Rates, accelerations and joint forces there.
    duration : float
        Time of the motion [s].
    cost : float
        What it costs: the integral over time of the sum of weights tau^2 [N^2 m^2 s and the like], or of what else.
    modes : int
        Number of polynomials that bend each coordinate.
    history : tuple of (int, float)
        Numbers of modes that were tried, and the cost of each.
    residual : float
        How far the motion is from being optimal among its modes, as a part of the cost: `stationarity` and `gap`
        together.
    refinement : float
        What more modes are expected to gain, as a part of the cost: by how much one step of Newton among twice as many
        is predicted to lower it; where limits push what the last doubling changed, infinite if there was none. An
        estimate, no bound.
    stationarity : float
        By how much of the cost one more step of Newton among the same modes is predicted to lower it: first-order
        residual of the optimality conditions, in the metric of the Hessian.
    gap : float
        Sum of products of multipliers and room left to limits, as a part of the cost; 0 without limits. Were the
        problem convex, the cost would be at most so much above the least of these modes.
    excess : float
        How far limits are exceeded, largest, at the points of the quadrature, at eight steps between each two of them
        and at `time`: positions in units of their range, rates, accelerations and rates of forces in units of their
        limit, joint forces in units of `effort_scale`, obstacles in their own. 0 without limits.
    effort_scale : ndarray, shape (nv,)
        Usual joint forces, by which those of the limits are measured [N m, N].
    converged : bool
        Whether `residual` is at most the tolerance, `excess` at most 0.001, and `reason` "optimal": no motion nearby
        of as many modes takes less. What more modes would gain is `refinement`.
    reason : str
        How the search ended: "optimal" (no step is predicted to gain), "stalled" (no step goes down), "iterations"
        (too many steps), or "start" (the guess, because the search ended above it or outside of the limits).
    """

    time: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    duration: float
    cost: float
    modes: int
    history: tuple[tuple[int, float], ...]
    residual: float
    refinement: float
    stationarity: float
    gap: float
    excess: float
    effort_scale: Array
    converged: bool
    reason: str
    _task: Task
    _coefficients: Array

    def at(self, time: npt.ArrayLike) -> tuple[Array, Array, Array, Array]:
        """Return q (..., nq) and qd, qdd, tau (..., nv) at times (...) within the motion [s]."""
        t = as_real(time, (), "time")
        if not ((t >= 0.0) & (t <= self.duration)).all():
            raise InputError(f"time: 0 to {self.duration} s is expected, got {time!r}", name="time", value=time)
        table = shapes_at(t.ravel() / self.duration, len(self._coefficients) - 4)
        path, motion = self._task.motion(table, self._coefficients, self.duration)
        found = motion.q, motion.qd, motion.qdd, self._task.values(path, motion)["effort"]
        a, b, c, d = (x.reshape(*t.shape, -1) for x in found)
        return a, b, c, d


@validate_model
@grouped(TorqueRequest)
def torque_optimal_motion(asked: TorqueRequest) -> OptimalMotion:
    """Return a motion from one state to another in a given time that takes the least joint forces.

    It makes the integral of the sum of weights tau^2 stationary, tau that of `inverse_dynamics`: `optimal_motion` with
    the cost of torque alone, and no other limits than those of positions, velocities and efforts.

    Parameters
    ----------
    model, start, goal, start_velocity, goal_velocity, guess, tolerance, max_modes
        As `optimal_motion`; up to 128 modes where `max_modes` is left out.
    duration : float
        Time of the motion [s].
    weights : array-like, shape (nv,), optional
        Positive factors of the squared joint forces; 1 when left out. Where coordinates have different units, choose
        them: 1 / (largest force)^2, for instance.
    limits : JointLimits, optional
        Positions, velocities and efforts to keep; `model.limits` for those of the description, and
        `dataclasses.replace(model.limits, effort=...)` for others. None are kept when left out. Its other fields are
        not looked at.

    Returns
    -------
    OptimalMotion
        The motion, its cost, and how far it is from being stationary.

    Raises
    ------
    DescriptionError, InputError, GroupError, SingularityError, OptimalMotionError
        As `optimal_motion`.
    """
    model, weights, limits = asked.model, asked.weights, asked.limits
    T = number_of("duration", asked.duration, "a positive number", lambda x: 0.0 < x < np.inf)
    most = max(_FIRST_MODES, min(4 * _USUAL_MODES, _VARIABLES // max(model.nv, 1)))
    factors = np.ones(model.nv) if weights is None else single_vector(model, weights, "weights", model.nv)
    if not (factors > 0.0).all():
        raise InputError(f"weights: positive numbers are expected, got {weights!r}", name="weights", value=weights)
    if isinstance(limits, JointLimits):
        endless = np.full(model.nv, np.inf)
        limits = replace(limits, acceleration=endless, deceleration=endless, jerk=endless)
    return optimal_motion(
        model, asked.start, asked.goal, T, cost=MotionCost(torque=factors), limits=limits, guess=asked.guess,
        start_velocity=asked.start_velocity, goal_velocity=asked.goal_velocity, tolerance=asked.tolerance,
        max_modes=most if asked.max_modes is None else asked.max_modes,
    )  # fmt: skip


@validate_model
@grouped(MotionRequest)
def optimal_motion(asked: MotionRequest) -> OptimalMotion:
    """Return a motion of least cost within limits, never worse than its start where that keeps them.

    Paths are polynomials of time, of more and more modes until the residual is below the tolerance. For each number of
    modes an interior-point method goes from the guess to a stationary motion, by Newton's steps with first and second
    derivatives of inverse dynamics, exact. Other guesses may lead to motions that cost less: the result holds
    nearby only.

    Parameters
    ----------
    model : Model
        The robot, of any joints, without dry friction. Damping and rotor inertia count where the model includes them.
    start, goal : array-like, shape (nq,)
        Configurations at the ends [rad, m]. Angles are not taken modulo 2 pi; ball and free joints go the shorter way
        round, unless forces send them another one.
    duration : float or (float, float)
        Time of the motion [s]; or the shortest and longest, between which it is found.
    cost : MotionCost, optional
        What to keep small; the squares of joint forces when left out.
    start_velocity, goal_velocity : array-like, shape (nv,), optional
        Rates at the ends [rad/s, m/s]; rest when left out.
    waypoints : (array-like (m,), array-like (m, nq)), optional
        Parts of the duration, rising, between 0 and 1, and the configurations there, met exactly.
    periodic : bool
        Whether the motion ends with the rates and accelerations it begins with, which are found, and with its first
        configuration moved from `start` to `goal`. Where it begins is found, too: give waypoints.
    smooth_ends : bool
        Whether accelerations are 0 at both ends, so that forces begin and end as those of rest, without a jump.
    limits : JointLimits, optional
        Positions, velocities, efforts, accelerations (the smaller one of `acceleration` and `deceleration`, either
        way) and jerk to keep, those that are finite; `model.limits` for those of the description. None are kept when
        left out. An effort limit of 0 makes a joint passive, to 2e-4 of `OptimalMotion.effort_scale`. They are kept at
        the points of a quadrature, with a margin of what is lost at eight steps between each two of them; see
        `OptimalMotion.excess`.
    effort_rate : array-like, shape (nv,), optional
        Largest rates of joint forces [N m/s, N/s], kept as quotients of differences over these steps.
    obstacles : callable, optional
        From configurations (k, nq) to the room left, (k, m), negative inside an obstacle, and its derivatives
        (k, m, nv), along `Model.integrate`. Its own second derivatives are left out.
    constraints : ConstraintSet, optional
        What closes the loops of the tree. `start` and `goal` are closed configurations, rates those of them.
    actuated : array-like, optional
        Coordinates with motors, of a closed mechanism: truth values (nv,), or names of joints; all when left out. Where
        there are more than freedoms, the joint forces are those of least squares.
    independent : sequence of str, optional
        Joints whose coordinates move all others along the whole motion, as many as there are freedoms; chosen at the
        start when left out, motors first. The path is one of them.
    guess : array-like, shape (k, nq), optional
        Configurations at equal steps of time, ends included, to start from. When left out, a cubic in time; for trees
        with limits also motions that bend towards configurations drawn within them, the same each time.
    tolerance : float
        `refinement` at which the search ends. Where limits push, joint forces have kinks, and polynomials come near
        them slowly: 1e-3 to 1e-5 is what to ask for then.
    max_modes : int, optional
        Largest number of modes of each coordinate, 1 to 256; 32 when left out, fewer for more than 20 joints.

    Returns
    -------
    OptimalMotion
        The motion, its cost, and how far it is from being stationary.

    Raises
    ------
    DescriptionError
        For a model that includes dry friction, with which the cost has no gradient.
    InputError, GroupError, SingularityError
        For bad input, which includes ends outside the limits; for a half turn of a ball or free joint as
        `Model.difference`.
    OptimalMotionError
        If no motion was found that keeps the limits, with the time that would keep them where one was found; if the
        forces of the motion are too large for double precision.
    """
    model = asked.model
    task, limits, guess, max_modes = make_task(asked), asked.limits, asked.guess, asked.max_modes
    small = number_of("tolerance", asked.tolerance, "a positive number", lambda x: 0.0 < x < np.inf)
    needed = len(task.conditions.terms) - 4 + 1
    usual_most = max(_FIRST_MODES, 2 * needed, min(_USUAL_MODES, _VARIABLES // max(model.nv, 1)))
    most = usual_most if max_modes is None else count_of("max_modes", max_modes, 1, _MOST_MODES)
    if most < needed:
        raise InputError(f"max_modes: {needed} or more are needed by the waypoints, got {most}", name="max_modes")
    count = min(max(_FIRST_MODES, 2 * needed), most)
    T = float(np.sqrt(task.duration[0] * task.duration[1]))
    plain = MotionProblem(task, {}, count, 1.0)
    first = plain.variables(np.zeros_like(plain.base), T) if guess is None else initial_guess(plain, guess, T)
    unit, usual = _usual(plain, first)
    bounds = make_bounds(model, limits, usual)
    if "jerk" in bounds and task.loops is not None:
        raise InputError("limits.jerk: infinite ones are expected of closed loops", name="limits.jerk")
    if not asked.periodic:
        _require_ends_within(plain, first, bounds)
    if asked.effort_rate is not None:
        bounds["effort_rate"] = rate_bound(model, asked.effort_rate)
    if asked.obstacles is not None:
        width = task.room_to_obstacles(task.start[None])[0].shape[1]
        bounds["obstacle"] = Bound(np.zeros(width), np.full(width, np.inf), np.ones(width))
    if task.free:
        low, high = (np.array([x]) for x in task.duration)
        bounds["duration"] = Bound(low, high, high)
    anew = guess is None and limits is not None and task.loops is None
    return _refined(_Search(MotionProblem(task, bounds, count, unit), first, usual, small, anew), most)


def initial_guess(problem: MotionProblem, guess: npt.ArrayLike, duration: float) -> Array:
    """Return variables of the least bent path through a guess, at equal steps of time."""
    model, task = problem.task.model, problem.task
    path = checked(guess, model.nq, "guess", model)
    if path.ndim != 2 or len(path) < 2 or np.iscomplexobj(path):
        message = f"guess: real numbers of shape (k, {model.nq}), k >= 2, are expected, got shape {path.shape}"
        raise InputError(message, name="guess", value=path.shape)
    table = shapes_at(np.linspace(0.0, 1.0, len(path)), problem.count)[0]
    along = model.difference(task.start, path) if task.loops is None else (path - task.start)[:, task.loops.places]
    rest = along - table @ (problem.base + duration * problem.rate)
    y = np.linalg.lstsq(table @ problem.columns, rest, rcond=1e-9)[0]
    return np.concatenate([y.ravel(), [duration] if task.free else []])


def _require_ends_within(problem: MotionProblem, variables: Array, bounds: Mapping[str, Bound]) -> None:
    """Raise an error that names the joint where an end of the motion is outside the limits."""
    task, (coefficients, T) = problem.task, problem.coefficients(variables)
    path, motion = task.motion(shapes_at(np.array([0.0, 1.0]), problem.count), coefficients, T)
    values = task.values(path, motion)
    for k, what in enumerate(("start", "goal")):
        require_within(task.model, bounds, what, {kind: values[kind][k] for kind in ("position", "velocity")})


def _usual(problem: MotionProblem, variables: Array) -> tuple[float, Array]:
    """Return the usual cost and joint forces: of the first path, or what round-off of parts that cancel could make."""
    task, weights = problem.task, problem.task.weights
    torque = np.where(weights["torque"] > 0.0, weights["torque"], weights["torque"].max() or 1.0)
    forces = {**{kind: np.zeros_like(w) for kind, w in weights.items()}, "torque": torque}
    found = []
    for given in (weights, forces):
        plain, weightless = (
            _finite(
                MotionProblem(replace(task, model=m, weights=given), {}, problem.count, 1.0).at(variables).magnitude
            )
            for m in ((task.model, task.model.without_gravity()) if task.loops is None else (task.model,) * 2)
        )
        found.append(max(plain, 1e-12 * weightless) or 1.0)
    T = problem.coefficients(variables)[1]
    return found[0], np.sqrt(found[1] / (T * torque * max(task.model.nv, 1)))


def _finite(cost: float) -> float:
    if not np.isfinite(cost):
        raise OptimalMotionError(
            "forces are too large for double precision; smaller velocities or a longer duration are expected"
        )
    return cost


# More and more modes.


class _Search(NamedTuple):
    """Start of a search, usual joint forces, the refinement at which it ends, and whether to start anew, too."""

    problem: MotionProblem
    first: Array
    usual: Array
    tolerance: float
    anew: bool


def _refined(search: _Search, max_modes: int) -> OptimalMotion:
    """Return the motion found with so many modes that more are predicted to gain less than the tolerance."""
    history: list[tuple[int, float]] = []
    problem, variables, _, tolerance, anew = search
    warm, coarser = False, None
    while True:
        magnitude = max(problem.at(variables).magnitude, 1e-12)
        small = 0.1 * tolerance * min(magnitude, 1.0)
        drawn = from_drawn(problem, variables, small) if anew and not history else None
        if drawn is not None and drawn.reason == "optimal" and problem.excess(drawn.point) <= _FEASIBLE:
            found = drawn
        else:
            found = solve(problem, variables, small=small, barrier=CENTRAL if warm else FIRST)
            if found.limited and not history:
                for other in (drawn, from_without(problem, variables, small)):
                    found = _better(problem, found, other)
        if coarser is not None and (found.reason != "optimal" or problem.excess(found.point) > _FEASIBLE):
            return _finish(search, *coarser)  # of fewer modes, but optimal and within the limits
        point = found.point
        _finite(point.cost)
        history.append((problem.count, point.cost * problem.unit))
        finer = MotionProblem(problem.task, problem.bounds_given, 2 * problem.count, problem.unit)
        variables = finer.variables(*problem.coefficients(point.variables))
        size = max(point.magnitude, 1e-12)
        residual = (found.decrement + found.gap) / size
        if found.limited:  # how hard limits would push between the points of more modes, none knows
            refinement = abs(history[-1][1] - history[-2][1]) / problem.unit / size if len(history) > 1 else np.inf
        else:
            refinement = predicted_gain(finer, variables) / size
        if point.magnitude <= 1e-12:
            residual = refinement = 0.0
        if refinement <= tolerance or finer.count > max_modes:
            return _finish(search, problem, found, tuple(history), residual, refinement)
        if found.reason == "optimal" and problem.excess(point) <= _FEASIBLE:
            coarser = problem, found, tuple(history), residual, refinement
        if found.limited:
            variables = finer.variables(*problem.coefficients(found.central.variables))
        problem, warm = finer, found.limited


def _better(problem: MotionProblem, found: InteriorPoint, other: InteriorPoint | None) -> InteriorPoint:
    """Return which of two motions keeps the limits, or costs less where both do or neither."""

    def order(x: InteriorPoint) -> tuple[bool, float]:
        return not problem.excess(x.point) <= _FEASIBLE, x.point.cost

    return found if other is None else min(found, other, key=order)


def _finish(
    search: _Search,
    problem: MotionProblem,
    found: InteriorPoint,
    history: tuple[tuple[int, float], ...],
    residual: float,
    refinement: float,
) -> OptimalMotion:
    start, first, usual, tolerance, _ = search
    task, point, reason = problem.task, found.point, found.reason
    excess = problem.excess(point)
    broken = problem, point.variables
    if excess > _FEASIBLE or reason != "optimal":
        other = start.at(first)
        kept = start.excess(other)
        if kept < excess:  # of two that break limits, the error is about the better
            broken = start, first
        if kept <= _FEASIBLE and (excess > max(kept, _FEASIBLE) or other.cost < point.cost):
            problem, point, reason, excess, residual = start, other, "start", kept, np.inf
            refinement = np.inf
    if excess > _BROKEN:
        _refuse(*broken, start, first)
    coefficients, T = problem.coefficients(point.variables)
    s = np.linspace(0.0, 1.0, _SAMPLES)
    path, motion = task.motion(shapes_at(s, problem.count), coefficients, T)
    values = task.values(path, motion)
    for kind in set(values) & set(problem.bounds_given):
        excess = max(excess, float(problem.bounds_given[kind].excess(values[kind]).max(initial=0.0)))
    size = max(point.magnitude, 1e-12)
    return OptimalMotion(
        s * T, motion.q, motion.qd, motion.qdd, values["effort"], T, point.cost * problem.unit, problem.count, history,
        residual, refinement, found.decrement / size, found.gap / size, excess, usual,
        residual <= tolerance and excess <= _KEPT and reason == "optimal", reason, task, coefficients,
    )  # fmt: skip


def _refuse(problem: MotionProblem, variables: Array, start: MotionProblem, first: Array) -> None:
    """Raise an error that names the joint where limits are not kept, and a duration that keeps them, if one does."""
    task = problem.task
    s = np.unique(np.concatenate([np.linspace(0.0, 1.0, 2 * _SAMPLES - 1), problem.between.ravel()]))
    coefficients, T = problem.coefficients(variables)
    path, motion = task.motion(shapes_at(s, problem.count), coefficients, T)
    values = task.values(path, motion)
    values["effort_rate"] = np.diff(values["effort"], axis=0) / (T * np.diff(s)[:, None])
    if task.obstacles is not None:
        values["obstacle"] = task.room_to_obstacles(motion.q)[0]
    over = {
        kind: bound.excess(values[kind]).max(axis=0) for kind, bound in problem.bounds_given.items() if kind in values
    }
    kind = max(over, key=lambda name: over[name].max(initial=-np.inf))
    k, i = (int(x) for x in np.unravel_index(int(over[kind].argmax()), over[kind].shape))
    bound, value, when = problem.bounds_given[kind], values[kind][k, i], T * s[k]
    who = f"room to obstacle {i}" if kind == "obstacle" else f"joint {coordinate_name(task.model, i, False)!r}"
    advice = "wider limits or another guess is expected"
    longest = task.duration[1]
    for factor in _LONGER:
        T = factor * longest
        longer = replace(task, duration=(T, T))
        bounds = {k: b for k, b in problem.bounds_given.items() if k != "duration"}
        trial = MotionProblem(longer, bounds, start.count, problem.unit)
        initial = first[:-1] if task.free else first
        found = solve(trial, initial, small=1e-2)
        if trial.excess(found.point) <= _KEPT:
            advice = f"a duration of {T:.6g} s was found to keep them"
            break
    else:
        advice = f"no duration up to {_LONGER[-1] * longest:.6g} s was found to keep them; {advice}"
    raise OptimalMotionError(
        f"no motion found that keeps the limits: the {kind} of {who} is {value:.6g} after {when:.6g} s, where "
        f"{bound.lower[i]:.6g} to {bound.upper[i]:.6g} is allowed; {advice}",
        name=who, value=float(value),
    )  # fmt: skip
