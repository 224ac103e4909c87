"""What a caller asks for, checked: ends, times, weights and guesses of a motion."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import DescriptionError, InputError
from ..lie._arrays import number_of
from ..model.configuration import checked, coordinate_name
from ..model.model import Model
from .bounds import Bounds, require_within
from .chart import to_chart
from .modes import modes_at
from .problem import Task

Array = npt.NDArray[np.float64]


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
