"""Optimal motions of Panda between random states, beside scipy's SLSQP with as many modes.

States lie in the middle four fifths of the joints' ranges, durations between 1.2 and 5 s, limits as in the URDF; six
modes a joint. The judge starts from the cubic; a motion of its own that breaks a limit by more than 1e-6 is none.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics import LieDynamicsError, Model, inverse_dynamics, torque_optimal_motion

from ..results import Figure, at_least, at_most

MODES, CLOSE = 6, 1.005


def judged(model, start, goal, T, modes, points=81):
    """The least cost that scipy's SLSQP finds with as many modes from the cubic, limits at a quarter of the points."""
    t, P = np.linspace(0.0, T, points), np.polynomial.Polynomial
    legendre = [np.polynomial.Legendre.basis(k, domain=[0, 1]).convert(kind=P) for k in range(modes)]
    shapes = [P([0, 0, 3, -2]), *(P([0, 0, 1, -2, 1]) * p for p in legendre)]
    F = [np.array([p.deriv(d)(t / T) if d else p(t / T) for p in shapes]) / T**d for d in range(3)]
    n, limits = model.nv, model.limits

    def path(x):
        bend = [np.einsum("bkj,kn->bnj", x.reshape(-1, modes, n), f[1:]) for f in F]
        line = [np.outer(f[0], goal - start) + (start if d == 0 else 0.0) for d, f in enumerate(F)]
        return [a + b for a, b in zip(line, bend, strict=True)]

    def cost(x):
        return np.trapezoid((inverse_dynamics(model, *path(x)) ** 2).sum(-1), t, axis=-1)

    def room(x):
        q, qd, qdd = (z[:, ::4] for z in path(x))
        tau = inverse_dynamics(model, q, qd, qdd)
        rows = [1 - qd / limits.velocity, 1 + qd / limits.velocity, q - limits.lower, limits.upper - q]
        rows += [1 - tau / limits.effort, 1 + tau / limits.effort]
        return np.concatenate([r.reshape(len(q), -1) for r in rows], axis=1)

    m, h = modes * n, 1e-5
    steps = h * np.eye(m)

    def slope(f, x):
        values = f(np.concatenate([x + steps, x - steps]))
        return ((values[:m] - values[m:]) / (2 * h)).T

    unit = cost(np.zeros(m))[0]
    found = minimize(
        lambda x: cost(x)[0] / unit, np.zeros(m), jac=lambda x: slope(cost, x) / unit, method="SLSQP",
        constraints={"type": "ineq", "fun": lambda x: room(x)[0], "jac": lambda x: slope(room, x)},
        options={"maxiter": 100},
    )  # fmt: skip
    assert room(found.x).min() > -1e-6
    return unit * found.fun


def pair(model: Model, number: int):
    """Return two states within the limits and a duration [s], drawn from a seed."""
    rng = np.random.default_rng(number)
    low, high = model.limits.lower, model.limits.upper
    start, goal = (low + (high - low) * (0.1 + 0.8 * rng.random(model.nv)) for _ in range(2))
    return start, goal, float(rng.uniform(1.2, 5.0))


def run(pairs: int = 100) -> tuple[list[Figure], list[dict]]:
    """Return how often a motion was found, its cost beside the judge's and the time it took."""
    model = Model.from_urdf(Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf")
    options = {"limits": model.limits, "tolerance": 1e-3, "max_modes": MODES}
    torque_optimal_motion(model, *pair(model, pairs), **options)  # kernels are compiled
    rows = []
    for number in range(pairs):
        start, goal, duration = pair(model, number)
        row = {"pair": number, "duration": duration}
        try:
            row["judge"] = float(judged(model, start, goal, duration, MODES))
        except (AssertionError, LieDynamicsError):
            row["judge"] = None
        begun = time.process_time()
        try:
            found = torque_optimal_motion(model, start, goal, duration, **options)
            row |= {"cost": float(found.cost), "reason": str(found.reason), "excess": float(found.excess)}
        except LieDynamicsError as error:
            row |= {"cost": None, "reason": str(error), "excess": 0.0}
        row["seconds"] = time.process_time() - begun
        rows.append(row)
        print(row, flush=True)
    both = [row for row in rows if row["judge"] is not None and row["cost"] is not None]
    ratios = np.array([row["cost"] / row["judge"] for row in both])
    seconds = np.array([row["seconds"] for row in rows])
    missed = sum(row["judge"] is not None and row["cost"] is None for row in rows)
    return [
        at_most("pairs where the judge found a motion and ours did not", missed, "", 0),
        Figure("pairs where neither found one", sum(r["judge"] is None and r["cost"] is None for r in rows), ""),
        Figure("pairs where ours alone found one", sum(r["judge"] is None and r["cost"] is not None for r in rows), ""),
        at_least(f"pairs at or below {CLOSE} of the judge's cost", float((ratios <= CLOSE).mean()), "of both", 1.0),
        Figure("cost beside the judge's, median", float(np.median(ratios)), ""),
        at_most("cost beside the judge's, worst", float(ratios.max()), "", CLOSE),
        at_most("limit exceeded, worst", max(row["excess"] for row in rows), "of it", 1e-6),
        at_most("processor time, median", float(np.median(seconds)), "s", 0.5),
        at_most("processor time, worst", float(seconds.max()), "s", 3.0),
    ], rows


def describe(rows: list[dict]) -> str:
    """Name the pairs for which no motion was found."""
    lines = [f"- pair {r['pair']}, {r['duration']:.2f} s: {r['reason']}" for r in rows if r["cost"] is None]
    return "\n".join(["No motion was found for:", "", *lines]) if lines else ""
