"""Library: derivatives of the dynamics and the regressor against Pinocchio called from Python.

Single calls: the ratio of our time to Pinocchio's, both by their public names, results in new arrays; and our time for
one call. Batches: how many times faster one call for all states is, on one thread, than a Python loop over Pinocchio
that keeps its results, as the batch does, in new arrays.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import lie_dynamics_ros.lie_dynamics as library

from ..results import Figure, at_least
from .library_bench import Array, Robot, compare, np, pin, robots
from .library_single import Pair, compare_calls

BATCH = 256
#: A batch against a loop.
SPEED_UP = 6.0
ROUNDS = 31
#: Hybrid dynamics against forward dynamics, both ours.
HYBRID = 1.2
PAIRS = (
    Pair(
        "inverse_dynamics_derivatives",
        "inverse_dynamics_derivatives(model, q, v, a)",
        "pin.computeRNEADerivatives(m, d, q, v, a)",
        0.75,
        0.55,
    ),
    Pair(
        "forward_dynamics_derivatives",
        "forward_dynamics_derivatives(model, q, v, a)",
        "pin.computeABADerivatives(m, d, q, v, a)",
        1.0,
        0.6,
    ),
    Pair(
        "torque_regressor",
        "torque_regressor(model, q, v, a)",
        "pin.computeJointTorqueRegressor(m, d, q, v, a)",
        1.0,
        0.7,
    ),
    Pair(
        "gravity_force_derivatives",
        "gravity_force_derivatives(model, q)",
        "pin.computeGeneralizedGravityDerivatives(m, d, q)",
    ),
)


def run() -> tuple[list[Figure], Any]:
    figures: list[Figure] = []
    raw: dict[str, list[float]] = {}
    for robot in robots():
        compare_calls(robot, PAIRS, "_derivatives", HYBRID, figures, raw)
        for pair in PAIRS[:3]:
            result = compare(*batches(robot, pair), BATCH, ROUNDS)
            name = f"{robot.name}, {pair.name}, batch of {BATCH}, speed-up"
            figures.append(
                at_least(name, 1.0 / result.ratio, f"x, at {result.ours * 1e6:.2f} us for each state", SPEED_UP)
            )
            raw[name] = [result.ours, result.theirs]
    return figures, {"seconds per state, ours and Pinocchio's": raw}


def batches(robot: Robot, pair: Pair) -> tuple[Any, Any]:
    """Programs for `BATCH` states: one call of ours, a loop over Pinocchio."""
    mine, others = robot.states(BATCH)
    function, model, data = (
        getattr(pin, pair.theirs.split("(")[0].removeprefix("pin.")),
        robot.pin_model,
        robot.pin_data,
    )
    states: list[tuple[Array, ...]] = list(zip(*others, strict=True))
    shapes = [x.shape for x in _parts(function(model, data, *states[0]))]

    def looped() -> list[Array]:
        kept = [np.empty((BATCH, *shape)) for shape in shapes]
        for k, state in enumerate(states):
            for target, value in zip(kept, _parts(function(model, data, *state)), strict=True):
                target[k] = value
        return kept

    return partial(getattr(library, pair.name), robot.model, *mine), looped


def _parts(result: Any) -> tuple[Array, ...]:
    return result if isinstance(result, tuple) else (result,)
