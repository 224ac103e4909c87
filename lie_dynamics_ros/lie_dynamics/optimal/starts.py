"""Where else a search begins: the cost of motions has many valleys, and the cubic in time lies in one of them.

Motions of few modes that bend towards configurations drawn within the limits are valued, the best of them and the cubic
are improved, and the best of these is refined. What is drawn is the same each time.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..errors import LieDynamicsError
from .interior_point import InteriorPoint, solve
from .modes import shapes_at
from .problem import MotionProblem

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
        try:
            point = solve(coarse, one, small=_ROUGH).point
            found.append((_value(coarse, point.variables), point.variables))
        except (ArithmeticError, LieDynamicsError):
            found.append((np.inf, one))
    value, chosen = min(found, key=lambda one: one[0])
    if not value < found[0][0]:
        return None
    try:
        return solve(problem, problem.variables(*coarse.coefficients(chosen)), small=small)
    except (ArithmeticError, LieDynamicsError):
        return None


def from_without(problem: MotionProblem, variables: Array, small: float) -> InteriorPoint | None:
    """Return the motion found from the one of few modes that is optimal without limits; None if it is out of reach."""
    own = {kind: bound for kind, bound in problem.bounds_given.items() if kind == "duration"}
    free = MotionProblem(problem.task, own, _few(problem, 2), problem.unit)
    try:
        point = solve(free, free.variables(*problem.coefficients(variables)), small=small).point
        return solve(problem, problem.variables(*free.coefficients(point.variables)), small=small)
    except (ArithmeticError, LieDynamicsError):  # where loops do not close, or too far for double precision
        return None


def _few(problem: MotionProblem, least: int) -> int:
    return max(len(problem.task.conditions.terms) - 3, min(least, problem.count))


def _value(problem: MotionProblem, variables: Array) -> float:
    """Return the cost, dearer where limits are exceeded; infinite where there is no such motion."""
    try:
        point = problem.at(variables)
    except (ArithmeticError, LieDynamicsError):
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
