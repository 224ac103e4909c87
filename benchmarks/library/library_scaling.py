"""Library: how cost grows with the number of bodies, and memory of a model."""

from __future__ import annotations

import gc
import tracemalloc
from functools import partial
from typing import Any

import lie_dynamics_ros.lie_dynamics as library
from lie_dynamics_ros.lie_dynamics import ModelBuilder, SpatialInertia, joint_types
from lie_dynamics_ros.lie_dynamics.dynamics.kernels import forward_dynamics, inverse_dynamics
from lie_dynamics_ros.lie_dynamics.dynamics.kernels.common import world

from ..results import Figure, at_most
from .library_bench import TALOS, median_times, np

LENGTHS = (30, 60, 100, 200, 400, 700, 1000)
EXPONENT = 1.05


def run() -> tuple[list[Figure], Any]:
    times = {length: linear_calls(chain(length)) for length in LENGTHS}
    names = list(times[LENGTHS[0]])
    programs = [program for length in LENGTHS for program in times[length].values()]
    measured = np.array(median_times(programs)).reshape(len(LENGTHS), len(names))
    figures = [
        at_most(f"{name}, exponent of the cost over {LENGTHS[0]} to {LENGTHS[-1]} bodies", slope(column), "", EXPONENT)
        for name, column in zip(names, measured.T, strict=True)
    ]
    figures += [
        Figure(f"{name}, 1000 bodies", time * 1e6, "us") for name, time in zip(names, measured[-1], strict=True)
    ]
    return figures + memory(), {"lengths": LENGTHS, "seconds": dict(zip(names, measured.T.tolist(), strict=True))}


def chain(length: int) -> library.Model:
    """Rods on revolute joints whose axes turn by a quarter from one to the next, as in an arm."""
    builder, place = ModelBuilder(), np.eye(4)
    place[:3, :3] = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    rod = SpatialInertia(1.0, [0.05, 0.0, 0.0], np.diag([1e-4, 1e-3, 1e-3]))
    for k in range(length):
        builder.add(f"rod {k}", f"rod {k - 1}" if k else None, joint_types.revolute(), place, rod)
        place[0, 3] = 0.1
    return builder.build()


def linear_calls(model: library.Model) -> dict[str, Any]:
    """Calls whose cost should be linear."""
    q, v, a = 0.1 * np.random.default_rng(0).normal(size=(3, model.nv))
    half = np.arange(model.nv) % 2 == 0
    return {
        "inverse_dynamics": partial(library.inverse_dynamics, model, q, v, a),
        "forward_dynamics": partial(library.forward_dynamics, model, q, v, a),
        "hybrid_dynamics": partial(library.hybrid_dynamics, model, q, v, a, a, half),
        "forward_kinematics": partial(library.forward_kinematics, model, q),
    }


def slope(times: Any) -> float:
    """Exponent of a power law fitted to times over `LENGTHS`."""
    return float(np.polyfit(np.log(LENGTHS), np.log(times), 1)[0])


def memory() -> list[Figure]:
    """Memory of a model of 38 degrees of freedom as Python counts it, and of the largest workspace of a call."""
    urdf = TALOS.read_bytes()
    library.Model.from_urdf(urdf, floating_base=True)  # what is imported or cached on the way stays
    gc.collect()
    tracemalloc.start()
    model = library.Model.from_urdf(urdf, floating_base=True)
    gc.collect()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    columns = max(forward_dynamics.COLUMNS, inverse_dynamics._COLUMNS, world.COLUMNS)
    workspace = (model.nv + 1) * columns * 8
    return [
        at_most(f"memory of a model of {model.nv} dof and a workspace", (size + workspace) / 1e6, "MB", 1.0),
        Figure("of that, the workspace of a single call", workspace / 1e6, "MB"),
    ]
