"""Library: second derivatives, alone and in batches, beside the time that their memory takes.

Results of batches are larger than caches: nothing that returns them is faster than zeros are written to as much memory,
new or used again (the argument `out`; more than 32 MB are new pages each time). Packed, without what the tree makes
zero or stands there twice, those of joint forces are an eighth of that for Talos, those of accelerations half of it.
The sum with a vector is small, and bound by computing.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import lie_dynamics_ros.lie_dynamics as library

from ..results import Figure, at_most
from .library_bench import median_times, np, robots

BATCH = 64
#: For one state of Talos, of inverse and forward dynamics [s].
LIMITS = {"inverse": 250e-6, "forward": 2e-3}
#: A state of a batch of contracted ones, to a state alone.
LANES = 0.25


def run() -> tuple[list[Figure], Any]:
    figures: list[Figure] = []
    raw: dict[str, float] = {}
    for robot in robots():
        model = robot.model
        states = robot.states(BATCH)[0]
        vector = np.random.default_rng(0).normal(size=(BATCH, model.nv))
        size = (BATCH, 4 * model.nv**3)
        used = np.empty(size)
        one = [x[0] for x in states]
        told: dict[str, float] = {}
        told["zeros in new memory"], told["zeros in used memory"] = (
            t / BATCH for t in median_times([lambda size=size: np.empty(size).fill(0.0), partial(used.fill, 0.0)])
        )
        for name in LIMITS:
            function = getattr(library, f"{name}_dynamics_second_derivatives")
            earlier = function(model, *states)
            alone, contracted = median_times([
                partial(function, model, *one), partial(function, model, *one, vector[0])
            ])  # fmt: skip
            many, again, batch = median_times([
                partial(function, model, *states), partial(function, model, *states, out=earlier),
                partial(function, model, *states, vector),
            ])  # fmt: skip
            told |= {
                name: alone, f"{name}, batch": many / BATCH, f"{name}, batch, out": again / BATCH,
                f"{name}, contracted": contracted, f"{name}, contracted, batch": batch / BATCH,
            }  # fmt: skip
        for name in LIMITS:
            function = partial(getattr(library, f"{name}_dynamics_second_derivatives"), model, packed=True)
            earlier = function(*states)
            alone, many, again = median_times([
                partial(function, *one), partial(function, *states), partial(function, *states, out=earlier)
            ])  # fmt: skip
            told |= {
                f"{name}, packed": alone, f"{name}, packed, batch": many / BATCH,
                f"{name}, packed, batch, out": again / BATCH,
            }  # fmt: skip
        for name, value in told.items():
            raw[f"{robot.name}, {name}"] = value
            limit = LIMITS.get(name) if robot.name == "Talos" else None
            if name.endswith("contracted, batch"):
                limit = LANES * told[name.removesuffix(", batch")]
            figure = Figure(f"{robot.name}, {name}", value * 1e6, "us for each state")
            bound = "packed, batch" in name and (name.startswith("inverse") or name.endswith("out"))
            if bound and robot.name == "Talos":
                limit = LIMITS[name.split(",")[0]] / 8
            figures.append(figure if limit is None else at_most(figure.name, figure.value, figure.unit, limit * 1e6))
    return figures, {"seconds per state": raw}


def describe(raw: dict[str, dict[str, float]]) -> str:
    """Tell batches beside each other: what packing gains, and how much of the time of all entries is their memory's."""
    lines, times = [], raw["seconds per state"]
    for name in ("Panda", "UR5", "Talos"):
        zeros, gain = times[f"{name}, zeros in used memory"], []
        for kind in LIMITS:
            whole, packed = times[f"{name}, {kind}, batch, out"], times[f"{name}, {kind}, packed, batch, out"]
            gain.append(f"{kind} dynamics 1 / {whole / packed:.1f}, zeros in the memory of all {zeros / whole:.0%}")
        lines.append(f"- {name}, of the time of all entries: packed ones of {'; of '.join(gain)}")
    return "\n".join(lines)
