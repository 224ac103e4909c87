"""Library: batches of 10,000 states against Pinocchio's parallel calls, per core.

A speed-up is Pinocchio's time divided by ours, both on one thread.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import lie_dynamics_ros.lie_dynamics as library

from ..results import Figure, at_least
from .library_bench import Robot, compare, median_times, np, pin, robots
from .library_single import masks

STATES = 10_000
ROUNDS = 31
#: What Pinocchio has for batches, and the speed-ups to reach for arms and humanoids.
PARALLEL = {"inverse_dynamics": ("rneaInParallel", 12.0, 6.0), "forward_dynamics": ("abaInParallel", 10.0, 6.0)}


def run() -> tuple[list[Figure], Any]:
    figures, raw = [], {}
    for robot in robots():
        mine = programs(robot)
        for name, theirs in parallel(robot).items():
            result = compare(mine[name], theirs, STATES, ROUNDS)
            limit = PARALLEL[name][2 if robot.name == "Talos" else 1]
            figures.append(at_least(f"{robot.name}, {name}, speed-up", 1.0 / result.ratio, "x", limit))
            raw[f"{robot.name}, {name}"] = [result.ours, result.theirs]
        for name, time in zip(mine, median_times(list(mine.values()), STATES, ROUNDS), strict=True):
            figures.append(Figure(f"{robot.name}, {name}, for each state", time * 1e6, "us"))
    return figures, {"seconds per state, ours and Pinocchio's": raw}


def programs(robot: Robot) -> dict[str, Any]:
    """Our calls, each for all states at once."""
    model, (q, v, a) = robot.model, robot.states(STATES)[0]
    half = masks(model.nv)["every other given"]
    return {
        "inverse_dynamics": partial(library.inverse_dynamics, model, q, v, a),
        "forward_dynamics": partial(library.forward_dynamics, model, q, v, a),
        "hybrid_dynamics, every other given": partial(library.hybrid_dynamics, model, q, v, a, a, half),
        "mass_matrix": partial(library.mass_matrix, model, q),
        "coriolis_matrix": partial(library.coriolis_matrix, model, q, v),
        "forward_kinematics": partial(library.forward_kinematics, model, q),
    }


def parallel(robot: Robot) -> dict[str, Any]:
    """Pinocchio's parallel calls on one thread, states in columns, writing to an array that is there already."""
    columns = [np.asfortranarray(x.T) for x in robot.states(STATES)[1]]
    pool, out = pin.ModelPool(robot.pin_model, 1), np.zeros((robot.model.nv, STATES), order="F")
    return {name: partial(getattr(pin, theirs), 1, pool, *columns, out) for name, (theirs, *_) in PARALLEL.items()}
