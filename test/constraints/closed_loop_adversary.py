"""Motions of closed mechanisms that keep their largest rates and do their worst, and what a tracker makes of them."""

import numpy as np
from mechanisms_by_name import MADE, MORE

from lie_dynamics_ros import lie_dynamics as ld

#: Rates that are as often too large for a proof as not.
RATES = {"five-bar": 6.0, "four-bar": 6.0, "delta": 1.0, "stewart": 1.0, "6-UPS": 1.0, "6-UCU": 1.0,
         "6-RUS": 1.0, "linear delta": 1.0, "3-RPS": 1.0, "four-bar arm": 6.0, "planar 3-RRR": 6.0}  # fmt: skip
WORST, WORST_AND_BACK, HOVER, RANDOM = range(4)


def distance(model, rates, a, b):
    """Largest displacement of a joint, over its rate [s], for each row; a free one turns and slides."""
    worst, whole = np.zeros(np.shape(a)[:-1]), model.difference(a, b)
    for joint in model.joints:
        v = whole[..., joint.v_slice]
        if joint.kind == "free":
            gap = np.linalg.norm((b - a)[..., joint.q_slice][..., 4:], axis=-1)
            worst = np.maximum(worst, np.maximum(np.linalg.norm(v[..., :3], axis=-1), gap))
        else:
            worst = np.maximum(worst, np.abs(v).max(axis=-1))
    return worst / rates


def freedoms(model, constraints, q):
    A = ld.constraint_jacobian(model, constraints, q)
    _, s, vt = np.linalg.svd(A)
    return vt[int((s > 1e-9 * s[0]).sum()) :].T


def closed(model, constraints, q, moved):
    """Return `moved` with its loops closed, and `q` where that fails."""
    try:
        return ld.project_to_constraints(model, constraints, moved)[0]
    except ld.SingularityError:
        if len(q) == 1:
            return q
    half = len(q) // 2
    parts = (closed(model, constraints, q[part], moved[part]) for part in (slice(half), slice(half, None)))
    return np.concatenate(list(parts))


def paths(model, constraints, q, columns, rates, dt, count, rng):
    """Return motions (count, B, nq) from configurations `q` (B, nq), in which no joint moves faster than its rate."""
    size, n = len(q), model.nv
    mode = rng.integers(4, size=size)
    wish, last = rng.normal(size=(size, n)), np.zeros((size, n))
    turning = np.array([0.0, 0.02, 0.3, 0.0])[mode]
    out = []
    for _ in range(count):
        A = ld.constraint_jacobian(model, constraints, q)
        N = np.linalg.qr(A.swapaxes(1, 2), "complete")[0][:, :, A.shape[1] :]
        _, directions = np.linalg.eigh(N[:, columns].swapaxes(1, 2) @ N[:, columns])
        v = (N @ directions[:, :, :1])[..., 0]  # as the sensors feel it least, on and on
        fresh = rng.random(size) < 0.05
        wish[fresh] = rng.normal(size=(fresh.sum(), n))
        v[mode == RANDOM] = (N @ (N.swapaxes(1, 2) @ wish[..., None]))[mode == RANDOM, :, 0]
        v[(v * last).sum(axis=1) < 0.0] *= -1.0
        v[rng.random(size) < turning] *= -1.0
        last = v
        step = rng.choice([0.9, 0.5, 0.98], size) * dt / distance(model, rates, q, model.integrate(q, v))
        new = closed(model, constraints, q, model.integrate(q, step[:, None] * v))
        stays = distance(model, rates, q, new) > dt
        stays |= ~np.isfinite(new).all(axis=1)
        new[stays], last[stays] = q[stays], 0.0
        wish[stays] = rng.normal(size=(stays.sum(), n))
        out.append(new)
        q = new
    return np.array(out)


def attack(name, samples, seed, sensor_error=0.0, machines=32):
    """Return how many samples were certified, ambiguous, wrong though certified, or told to be out of reach."""
    rng = np.random.default_rng(seed)
    made, rates = (MADE | MORE)[name](), RATES[name]
    model, constraints = made.model, made.constraints
    places = [model.joint(joint).q_slice.start for joint in made.actuated]
    columns = [model.joint(joint).v_slice.start for joint in made.actuated]
    speeds = {j.name: (rates, rates) if j.kind == "free" else rates for j in model.joints}
    counts = {"samples": 0, "certified": 0, "ambiguous": 0, "wrong": 0, "excluded": 0, "lost": 0}
    trackers = [
        ld.ClosedLoopTracker(
            model, constraints, made.q, made.actuated, speeds, sensor_error=sensor_error, max_steps=100
        )
        for _ in range(machines)
    ]
    q, again, certain = np.tile(made.q, (machines, 1)), np.zeros(machines, bool), np.ones(machines, bool)
    while counts["samples"] < samples:
        again |= rng.random(machines) < 0.1
        for k, tracker in enumerate(trackers):
            try:  # where it is told anew, for it would stay ambiguous
                if not (again[k] or certain[k]):
                    tracker.reset(q[k])
            except ld.SingularityError:
                again[k] = True
            if again[k]:
                q[k] = made.q
                tracker.reset(q[k])
        dt = 10.0 ** rng.uniform(-4.5, -2.0, machines)
        count = min(int(rng.integers(20, 200)), 1 + (samples - counts["samples"]) // machines)
        truth = paths(model, constraints, q, columns, rates, dt, count, rng)
        noise = rng.choice([-1.0, 0.0, 0.0, 1.0], (count, machines, len(places))) * sensor_error
        readings = truth[..., places] + noise
        q = truth[-1].copy()
        again[:] = False
        for k, tracker in enumerate(trackers):
            found, good, allowed = truth[:, k].copy(), np.zeros(count, bool), np.zeros(count)
            for i in range(count):
                state = tracker.update(readings[i, k], dt=dt[k])
                counts["samples"] += 1
                good[i] = state.certified
                if not state.valid:
                    counts["excluded"] += state.status.name == "OUT_OF_REACH"
                    counts["lost"] += 1
                    again[k] = True
                    break
                if good[i]:
                    found[i], allowed[i] = state.q, tracker.uncertainty
                else:
                    counts["ambiguous"] += 1
            certain[k] = good[i]
            counts["certified"] += int(good.sum())
            off = distance(model, rates, found, truth[:, k])
            counts["wrong"] += int((good & (off > allowed + 1e-7)).sum())
    return counts
