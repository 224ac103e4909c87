"""Motions between two states in a given time that take the least joint forces."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..errors import DescriptionError, InputError, LieDynamicsError
from ..lie._arrays import as_real, count_of, number_of
from ..model.arguments import of_model
from ..model.configuration import checked, coordinate_name
from ..model.model import Model
from ..model.structure import JointLimits
from .bounds import Bounds, largest_excess, make_bounds, require_within
from .chart import to_chart
from .modes import modes_at
from .problem import Multipliers, Problem, Task

# Finds the coefficients of least cost: quasi-Newton steps in coordinates where the Hessian is nearly one.

_ROUNDS = 12
_STEPS = 60
_PUSHES = 30
#: Largest stiffness of limits: beyond, the Hessian has too few digits left.
_STIFFEST = 1e7


def factor(hessian: Array) -> Array:
    """Return L (n, n), L L^T the Hessian, lifted by round-off of its diagonal so that it has one."""
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


def descend(problem: Problem, x: Array, given: Multipliers, small: float) -> tuple[Array, float]:
    """Return coefficients (count, nv) near x of least Lagrangian, and what a step more is predicted to gain.

    In y = L^T x, L L^T the Hessian of Gauss and Newton, what is left of the true Hessian beside the unit matrix comes
    from second derivatives of the joint forces, which act on low modes alone: L-BFGS learns it in few steps. L is
    renewed until the gain predicted, g^T H^-1 g / 2, is below `small`.
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import minimize

    gain = before = np.inf
    if not x.size:
        return x, 0.0
    for _ in range(_ROUNDS):
        L, start = factor(problem.hessian(x, given)), x

        def along(y: Array, L: Array = L, start: Array = start) -> Array:
            return np.asarray(start + solve_triangular(L, y, lower=True, trans="T").reshape(start.shape))

        def objective(y: Array, L: Array = L) -> tuple[float, Array]:
            value, gradient = problem.gradient(along(y), given)
            return value, solve_triangular(L, gradient.ravel(), lower=True)

        zero = np.zeros(x.size)
        gain = 0.5 * float(np.sum(objective(zero)[1] ** 2))
        if gain <= small or gain > 0.5 * before:  # found, or no further than round-off lets it
            break
        before = gain
        options = {"maxiter": _STEPS, "maxcor": 30, "ftol": 0.0, "gtol": np.sqrt(0.1 * small / x.size)}
        x = along(minimize(objective, zero, jac=True, method="L-BFGS-B", options=options).x)
    return x, gain


def settle(problem: Problem, x: Array, given: Multipliers, small: float, tight: float) -> tuple[Array, Multipliers]:
    """Return coefficients and multipliers of least cost within the limits, by augmented Lagrangians.

    Limits are kept to `tight` at the points of the quadrature, in units of each limit's scale, unless stiffness ends.
    """
    x, _ = descend(problem, x, given, small)
    before = np.inf
    for _ in range(_PUSHES if problem.bounds else 0):
        values = problem.task.values(problem.task.motion(problem.table, x))
        now = problem.unsettled(values, given)
        given = problem.raised(values, given)
        if now <= tight:
            break
        if now > 0.25 * before and given.stiffness < _STIFFEST:
            given = Multipliers(given.values, 10.0 * given.stiffness)
        before = now
        x, _ = descend(problem, x, given, small)
    return x, given


# What a caller asks for, checked: ends, times, weights and guesses of a motion.


def make_task(
    model: Model, start: npt.ArrayLike, goal: npt.ArrayLike, duration: float,
    start_velocity: npt.ArrayLike | None, goal_velocity: npt.ArrayLike | None, weights: npt.ArrayLike | None,
) -> Task:  # fmt: skip
    """Return the arguments of `torque_optimal_motion` as a Task, its errors raised."""
    _require_smooth(model)
    T = number_of("duration", duration, "a positive number", lambda x: 0.0 < x < np.inf)
    a, b = one(model, start, "start", model.nq), one(model, goal, "goal", model.nq)
    v0, v1 = (
        np.zeros(model.nv) if v is None else one(model, v, name, model.nv)
        for v, name in ((start_velocity, "start_velocity"), (goal_velocity, "goal_velocity"))
    )
    factors = np.ones(model.nv) if weights is None else one(model, weights, "weights", model.nv)
    if not (factors > 0.0).all():
        raise InputError(f"weights: positive numbers are expected, got {weights!r}", name="weights", value=weights)
    x = model.difference(a, b)
    return Task(model, a, np.stack([np.zeros(model.nv), T * v0, x, T * to_chart(model, x, v1)]), T, factors)


def _require_smooth(model: Model) -> None:
    if model._actuation_terms is not None and model._actuation_terms[1].any():
        name = coordinate_name(model, int(np.argmax(model._actuation_terms[1] != 0.0)), False)
        raise DescriptionError(
            f"joint {name!r}: dry friction has no derivative where the joint turns back; a model without it is "
            "expected, with_joint_terms(friction=False)",
            name=name,
        )


def one(model: Model, value: npt.ArrayLike, name: str, size: int) -> Array:
    """Return one real vector of that size, or raise an InputError."""
    array = checked(value, size, name, model)
    if array.ndim != 1 or np.iscomplexobj(array):
        raise InputError(f"{name}: {size} real numbers are expected, got {value!r}", name=name, value=value)
    return array


def bent(task: Task, guess: npt.ArrayLike, count: int) -> Array:
    """Return coefficients (count, nv) of the least bent path through a guess, at equal steps of time."""
    model = task.model
    path = checked(guess, model.nq, "guess", model)
    if path.ndim != 2 or len(path) < 2 or np.iscomplexobj(path):
        message = f"guess: real numbers of shape (k, {model.nq}), k >= 2, are expected, got shape {path.shape}"
        raise InputError(message, name="guess", value=path.shape)
    table = modes_at(np.linspace(0.0, 1.0, len(path)), count)
    rest = model.difference(task.start, path) - table.cubic[0] @ task.ends
    return np.asarray(np.linalg.lstsq(table.modes[0], rest, rcond=1e-9)[0])


def require_ends_within(task: Task, bounds: Bounds) -> None:
    """Raise an InputError that names the joint where an end of the motion is outside the limits."""
    motion = task.motion(modes_at(np.array([0.0, 1.0]), 1), np.zeros((1, task.model.nv)))
    values = task.values(motion)
    for k, what in enumerate(("start", "goal")):
        require_within(task.model, bounds, what, {kind: values[kind][k] for kind in ("position", "velocity")})


Array = npt.NDArray[np.float64]

_FIRST_MODES = 8
_MOST_MODES = 256
#: How well limits are kept at the points of the quadrature, in units of their scale, and how far off is no solution.
_TIGHT, _BROKEN = 1e-6, 1e-2
_SAMPLES = 201


class OptimalMotionError(LieDynamicsError):
    """No motion was found that keeps the limits, or in double precision."""


@dataclass(frozen=True, eq=False)
class OptimalMotion:
    """A motion between two states whose joint forces are least among its neighbours, as far as `residual` tells.

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
        Integral over time of the sum of weights tau^2 [N^2 m^2 s and the like].
    modes : int
        Number of polynomials that bend each coordinate.
    history : tuple of (int, float)
        Numbers of modes that were tried, and the cost of each.
    residual : float
        How far the motion is from being stationary: by how much of the cost one step of Gauss and Newton among twice
        as many modes is predicted to lower it; where limits push, by how much of it the last doubling of modes changed
        it, infinite if there was none. An estimate, no bound.
    excess : float
        How far limits are exceeded anywhere at `time`, largest: positions in units of their range, rates in units of
        their limit, joint forces in units of `effort_scale`. 0 without limits.
    effort_scale : ndarray, shape (nv,)
        Usual joint forces, by which those of the limits are measured [N m, N].
    converged : bool
        Whether `residual` is at most the tolerance and `excess` at most 0.001.
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
    excess: float
    effort_scale: Array
    converged: bool
    _task: Task
    _coefficients: Array

    def at(self, time: npt.ArrayLike) -> tuple[Array, Array, Array, Array]:
        """Return q (..., nq) and qd, qdd, tau (..., nv) at times (...) within the motion [s]."""
        t = as_real(time, (), "time")
        if not ((t >= 0.0) & (t <= self.duration)).all():
            raise InputError(f"time: 0 to {self.duration} s is expected, got {time!r}", name="time", value=time)
        table = modes_at(t.ravel() / self.duration, len(self._coefficients))
        motion = self._task.motion(table, self._coefficients)
        found = motion.q, motion.qd, motion.qdd, self._task.values(motion)["effort"]
        a, b, c, d = (x.reshape(*t.shape, -1) for x in found)
        return a, b, c, d


@of_model
def torque_optimal_motion(
    model: Model,
    start: npt.ArrayLike,
    goal: npt.ArrayLike,
    duration: float,
    *,
    start_velocity: npt.ArrayLike | None = None,
    goal_velocity: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    limits: JointLimits | None = None,
    guess: npt.ArrayLike | None = None,
    tolerance: float = 1e-10,
    max_modes: int = 128,
) -> OptimalMotion:
    """Return a motion from one state to another in a given time that takes the least joint forces.

    It makes the integral of the sum of weights tau^2 stationary, tau that of `inverse_dynamics`, going downhill from
    the guess with the exact gradient, of `inverse_dynamics_derivatives`. Paths are polynomials of time, of more and
    more modes until the residual is below the tolerance. Other guesses may lead to motions that take less: nothing is
    said of those far away.

    Parameters
    ----------
    model : Model
        The robot, of any joints, without dry friction. Damping and rotor inertia count where the model includes them.
    start, goal : array-like, shape (nq,)
        Configurations at the ends [rad, m]. Angles are not taken modulo 2 pi; ball and free joints go the shorter way
        round, unless forces send them another one.
    duration : float
        Time of the motion [s].
    start_velocity, goal_velocity : array-like, shape (nv,), optional
        Rates at the ends [rad/s, m/s]; rest when left out.
    weights : array-like, shape (nv,), optional
        Positive factors of the squared joint forces; 1 when left out. Where coordinates have different units, choose
        them: 1 / (largest force)^2, for instance.
    limits : JointLimits, optional
        Positions, velocities and efforts to keep; `model.limits` for those of the description, and
        `dataclasses.replace(model.limits, effort=...)` for others. None are kept when left out. Its other fields are
        not looked at. An effort limit of 0 makes a joint passive. They are kept at the points of a quadrature, and
        nearly so in between; see `OptimalMotion.excess`.
    guess : array-like, shape (k, nq), optional
        Configurations at equal steps of time, ends included, to start from; a cubic in time when left out.
    tolerance : float
        Residual at which the search ends. Where limits push, joint forces have kinks, and polynomials come near them
        slowly: 1e-3 to 1e-5 is what to ask for then.
    max_modes : int
        Largest number of modes of each coordinate, 1 to 256.

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
        If no motion was found that keeps the limits; if the forces of the motion are too large for double precision.
    """
    task = make_task(model, start, goal, duration, start_velocity, goal_velocity, weights)
    small = number_of("tolerance", tolerance, "a positive number", lambda x: 0.0 < x < np.inf)
    most = count_of("max_modes", max_modes, 1, _MOST_MODES)
    count = min(_FIRST_MODES, most)
    x = np.zeros((count, model.nv)) if guess is None else bent(task, guess, count)
    unit = _usual_cost(task, x)
    usual = np.sqrt(unit / (task.duration * task.weights * max(model.nv, 1)))
    bounds = make_bounds(model, limits, usual)
    require_ends_within(task, bounds)
    return _refined(Problem(task, bounds, count, unit), x, small, most, usual)


def _usual_cost(task: Task, x: Array) -> float:
    """Return the cost of the first path, or, where its forces cancel, what round-off of their parts could make."""
    plain, weightless = (
        Problem(t, {}, len(x), 1.0) for t in (task, replace(task, model=task.model._without_gravity()))
    )
    costs = [p.cost(p.task.values(p.task.motion(p.table, x))) for p in (plain, weightless)]
    return _finite(max(costs[0], 1e-12 * costs[1])) or 1.0


def _finite(cost: float) -> float:
    if not np.isfinite(cost):
        raise OptimalMotionError(
            "forces are too large for double precision; smaller velocities or a longer duration are expected"
        )
    return cost


def _refined(problem: Problem, x: Array, tolerance: float, max_modes: int, usual: Array) -> OptimalMotion:
    """Return the motion found with so many modes that more are predicted to gain less than the tolerance."""
    task, unit, given = problem.task, problem.unit, problem.unloaded()
    history: list[tuple[int, float]] = []
    while True:
        now = problem.cost(task.values(task.motion(problem.table, x))) / unit
        x, given = settle(problem, x, given, 0.1 * tolerance * min(max(now, 1e-12), 1.0), _TIGHT)
        finer = Problem(task, problem.bounds, 2 * problem.count, unit)
        more, given_finer = np.concatenate([x, np.zeros_like(x)]), problem.moved(given, finer.s)
        cost = _finite(finer.cost(task.values(task.motion(finer.table, more))))
        if any(value.any() for value in given.values.values()):  # limits push: how hard between the points, none knows
            gain = abs(cost - history[-1][1]) if history else np.inf
        else:
            gain = descend(finer, more, given_finer, np.inf)[1] * unit
        residual = gain / cost if cost > 1e-12 * unit else 0.0
        history.append((problem.count, cost))
        if residual <= tolerance or finer.count > max_modes:
            _require_kept(problem, x)
            return _finish(problem, x, tuple(history), residual, usual, tolerance)
        problem, x, given = finer, more, given_finer


def _finish(
    problem: Problem, x: Array, history: tuple[tuple[int, float], ...], residual: float, usual: Array, tolerance: float
) -> OptimalMotion:
    task, s = problem.task, np.linspace(0.0, 1.0, _SAMPLES)
    motion = task.motion(modes_at(s, len(x)), x)
    values = task.values(motion)
    excess = largest_excess(problem.bounds, values)[0]
    return OptimalMotion(
        s * task.duration, motion.q, motion.qd, motion.qdd, values["effort"], task.duration, history[-1][1], len(x),
        history, residual, excess, usual, residual <= tolerance and excess <= 1e-3, task, x,
    )  # fmt: skip


def _require_kept(problem: Problem, x: Array) -> None:
    """Raise an error that names the joint where limits are not kept."""
    task = problem.task
    values = task.values(task.motion(problem.table, x))
    excess, kind, (k, i) = largest_excess(problem.bounds, values)
    if excess > _BROKEN:
        bound, name = problem.bounds[kind], coordinate_name(task.model, i, False)
        raise OptimalMotionError(
            f"no motion found that keeps the limits: the {kind} of joint {name!r} is {values[kind][k, i]:.6g} after "
            f"{problem.s[k] * task.duration:.6g} s, where {bound.lower[i]:.6g} to {bound.upper[i]:.6g} is allowed; a "
            "longer duration, wider limits or another guess is expected",
            name=name, value=float(values[kind][k, i]),
        )  # fmt: skip
