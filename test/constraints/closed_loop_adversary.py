"""Motions of closed mechanisms that keep their largest rates and do their worst, and what a tracker makes of them."""

import numpy as np
from mechanisms_by_name import MADE, MORE

from lie_dynamics_ros.lie_dynamics import (
    ClosedLoopTracker,
    SingularityError,
    constraint_jacobian,
    project_to_constraints,
)

#: Rates that are as often too large for a proof as not.
RATES = {"five-bar": 6.0, "four-bar": 6.0, "delta": 1.0, "stewart": 1.0, "6-UPS": 1.0, "6-UCU": 1.0,
         "6-RUS": 1.0, "linear delta": 1.0, "3-RPS": 1.0, "four-bar arm": 6.0, "planar 3-RRR": 6.0}  # fmt: skip


def distance(model, rates, a, b):
    """Largest displacement of a joint, over its rate [s]; of a free one, of its turning and its sliding."""
    worst, whole = 0.0, model.difference(a, b)
    for joint in model.joints:
        v = whole[joint.v_slice]
        if joint.kind == "free":
            gap = np.linalg.norm(b[joint.q_slice][4:] - a[joint.q_slice][4:])
            parts = np.linalg.norm(v[:3]), gap
        else:
            parts = np.abs(v)
        worst = max(worst, max(parts) / rates)
    return worst


def freedoms(model, constraints, q):
    A = constraint_jacobian(model, constraints, q)
    _, s, vt = np.linalg.svd(A)
    return vt[int((s > 1e-9 * s[0]).sum()) :].T


def attack(name, samples, seed, sensor_error=0.0):
    """Return how many samples were certified, ambiguous, wrong though certified, or told to be out of reach."""
    rng = np.random.default_rng(seed)
    made, rates = (MADE | MORE)[name](), RATES[name]
    model, constraints, q = made.model, made.constraints, made.q
    places = [model.joint(joint).q_slice.start for joint in made.actuated]
    columns = [model.joint(joint).v_slice.start for joint in made.actuated]
    speeds = {j.name: (rates, rates) if j.kind == "free" else rates for j in model.joints}
    counts = {"certified": 0, "ambiguous": 0, "wrong": 0, "excluded": 0, "lost": 0}
    tracker, left, last, mode, wish = None, 0, None, "", None
    dt, certain = 1e-3, False
    for _ in range(samples):
        if left == 0 or tracker is None:
            options = {"sensor_error": sensor_error, "max_steps": 100}
            if tracker is None or rng.random() < 0.1:
                q = made.q
                tracker = ClosedLoopTracker(model, constraints, q, made.actuated, speeds, **options)
            elif not certain:  # where it is told anew, for it would stay ambiguous
                try:
                    tracker.reset(q)
                except SingularityError:
                    tracker, left = None, 0
                    continue
            left = int(rng.integers(20, 200))
            mode = rng.choice(["worst", "worst and back", "random", "hover"])
            dt = 10.0 ** rng.uniform(-4.5, -2.0)
            last = None
        left -= 1
        N = freedoms(model, constraints, q)
        if mode == "random":
            wish = rng.normal(size=N.shape[1]) if last is None or rng.random() < 0.05 else wish
            v = N[:, : len(wish)] @ wish[: N.shape[1]]
        else:  # as the sensors feel it least, on and on
            _, _, vt = np.linalg.svd(N[columns])
            v = N @ vt[-1]
        if last is not None and v @ last < 0.0:
            v = -v
        if last is not None and mode in ("worst and back", "hover") and rng.random() < (0.02, 0.3)[mode == "hover"]:
            v = -v
        last = v
        step = rng.choice([0.9, 0.5, 0.98]) * dt / distance(model, rates, q, model.integrate(q, v))
        try:
            new, _ = project_to_constraints(model, constraints, model.integrate(q, step * v))
        except SingularityError:
            left = 0
            continue
        if distance(model, rates, q, new) > dt:
            left = 0
            continue
        q = new
        noise = rng.choice([-1.0, 1.0], len(places)) * sensor_error * rng.choice([0.0, 1.0])
        found = tracker.update(q[places] + noise, dt=dt)
        allowed = tracker.uncertainty + 1e-7
        certain = found.certified
        counts["certified"] += int(certain)
        counts["ambiguous"] += found.status.name == "AMBIGUOUS"
        counts["wrong"] += int(certain and distance(model, rates, found.q, q) > allowed)
        counts["excluded"] += found.status.name == "OUT_OF_REACH"
        if not found.valid:
            counts["lost"] += 1
            tracker = None
    return counts
