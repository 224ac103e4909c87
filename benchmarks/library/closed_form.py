"""Closed form: Christoffel symbols and curvature of a 7-joint arm, how their cost grows, agreement with the kernels."""

from __future__ import annotations

from functools import partial
from typing import Any

import lie_dynamics_ros.lie_dynamics as library
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.lie_dynamics.closed_form import ClosedForm, ScrewTree

from ..results import Figure, at_most
from .library_bench import PANDA, median_times, np
from .library_scaling import chain

LENGTHS = (5, 7, 10, 14, 20, 28, 40)
LONG = (100, 1000)


def calls(model: Model, rng: Any) -> dict[str, Any]:
    q, v, a = 0.5 * rng.normal(size=(3, model.nv))
    return {
        "christoffel_symbols": partial(library.christoffel_symbols, model, q),
        "curvature_tensor": partial(library.curvature_tensor, model, q),
        "coriolis_product": partial(library.coriolis_product, model, q, v, a),
    }


def run() -> tuple[list[Figure], Any]:
    rng = np.random.default_rng(0)
    arm = Model.from_urdf(PANDA)
    names = list(calls(arm, rng))
    times = [t * 1e6 for t in median_times(list(calls(arm, rng).values()))]
    figures = [
        at_most(f"{name}, Panda", time, "us", limit)
        for name, time, limit in zip(names, times, (20.0, 300.0, 20.0), strict=True)
    ]
    programs = [program for length in LENGTHS for program in calls(chain(length), rng).values()]
    grown = np.array(median_times(programs, rounds=11)).reshape(len(LENGTHS), -1)
    for name, column in zip(names[:2], grown.T, strict=False):
        for lengths, part in (("5 to 40", slice(None)), ("20 to 40", slice(4, None))):
            exponent = np.polyfit(np.log(LENGTHS[part]), np.log(column[part]), 1)[0]
            figures.append(Figure(f"{name}, exponent of the cost over {lengths} joints", float(exponent), ""))
        figures.append(Figure(f"{name}, 40 joints", column[-1] * 1e6, "us"))
    long = median_times([calls(chain(n), rng)["coriolis_product"] for n in LONG])
    exponent = float(np.log(long[1] / long[0]) / np.log(LONG[1] / LONG[0]))
    figures.append(at_most("coriolis_product, exponent of the cost over 100 to 1000 joints", exponent, "", 1.05))
    figures += agreement(arm, rng)
    return figures, {"lengths": LENGTHS, "seconds": dict(zip(names, grown.T.tolist(), strict=True))}


def agreement(model: Model, rng: Any) -> list[Figure]:
    """Largest relative differences over 20 states."""
    worst = dict.fromkeys(("C from the symbols, and the kernel's", "symbols, and as printed",
                           "curvature, and as printed"), 0.0)  # fmt: skip
    for _ in range(20):
        q, v = model.random(rng), rng.normal(size=model.nv)
        symbols, printed = library.christoffel_symbols(model, q), ClosedForm(ScrewTree.from_model(model), q)
        pairs = (
            (np.einsum("ijk,i->kj", symbols, v), library.coriolis_matrix(model, q, v)),
            (printed.christoffel_symbols(), symbols),
            (printed.curvature_tensor(), library.curvature_tensor(model, q)),
        )
        for name, (a, b) in zip(worst, pairs, strict=True):
            worst[name] = max(worst[name], float(np.abs(a - b).max() / np.abs(b).max()))
    return [at_most(f"{name}: largest relative difference, Panda", value, "", 1e-11) for name, value in worst.items()]
