"""A hundred recordings made wrong and a hundred good ones: are they named rightly, and is no good one refused?

Arms of example-robot-data and of this package, inertias given wrong by 30 %, friction, noise that lasts, positions of
12 bits; each wrong in one way that is drawn. Of every third the payload is looked for, which takes two recordings.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics import LieDynamicsError, Model, SpatialInertia, inverse_dynamics
from lie_dynamics_ros.lie_dynamics.identification import identify_payload, identify_robot

from ..results import Figure, at_least

ROOTS = [*(Path(entry) / "cmeel.prefix" / "share" for entry in sys.path), Path(sys.prefix) / "share"]
EXAMPLES = next((root for root in ROOTS if (root / "example-robot-data").is_dir()), ROOTS[-1])
ROBOTS = EXAMPLES / "example-robot-data" / "robots"
FILES = {
    "panda": Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf",
    "ur5": ROBOTS / "ur_description/urdf/ur5_robot.urdf",
    "xarm7": ROBOTS / "xarm_description/urdf/xarm7.urdf",
    "kinova": ROBOTS / "kinova_description/robots/kinova.urdf",
    "ur3": ROBOTS / "ur_description/urdf/ur3_robot.urdf",
    "ur10": ROBOTS / "ur_description/urdf/ur10_robot.urdf",
    "z1": ROBOTS / "z1_description/urdf/z1.urdf",
}
STEP, SECONDS = 0.008, 25.0


def guess(model: Model, rng: np.random.Generator) -> Model:
    """Return a robot whose inertias are off by 30 %."""
    for k, name in enumerate(model.body_names):
        own = model.inertia(k)
        if own.mass:
            size = np.exp(0.3 * np.clip(rng.normal(size=2), -1.5, 1.5))
            changed = SpatialInertia(own.mass * size[0], own.com + 0.01 * rng.normal(size=3), own.inertia * size[1])
            model = model.with_inertia(name, changed)
    return model


def recording(model: Model, rng: np.random.Generator):
    """Return time, positions and efforts of five sines for each joint, within its limits."""
    from scipy.signal import lfilter  # loaded by who records, not by all who collect tests

    time, nv = np.arange(0.0, SECONDS, STEP), model.nv
    k = np.arange(1, 6)[:, None]
    rate = 2.0 * np.pi * 0.08 * k
    a, b = rng.normal(size=(2, 5, nv)) / k**0.5
    sin, cos = np.sin(time[:, None, None] * rate), np.cos(time[:, None, None] * rate)
    waves = a * sin + b * cos, rate * (a * cos - b * sin), -(rate**2) * (a * sin + b * cos)
    u, ud, udd = (x.sum(axis=1) for x in waves)
    lower, upper = np.maximum(model.limits.lower, -2.5), np.minimum(model.limits.upper, 2.5)
    low, high = np.where(lower < upper, lower, -2.5), np.where(lower < upper, upper, 2.5)
    speed = np.minimum(np.where(model.limits.velocity > 0.0, model.limits.velocity, 1.0), 2.0)
    size = np.minimum(0.35 * (high - low) / np.abs(u).max(0), 0.6 * speed / np.abs(ud).max(0))
    q, qd, qdd = 0.5 * (low + high) + size * u, size * ud, size * udd
    effort = np.asarray(inverse_dynamics(model, q, qd, qdd))
    scale = np.maximum(effort.std(axis=0), 0.02 * effort.std(axis=0).max())
    effort += 0.2 * scale * np.tanh(qd / 0.02) + 0.1 * scale * qd
    lasting = lfilter([np.sqrt(1.0 - 0.97**2)], [1.0, -0.97], rng.normal(size=q.shape), axis=0)
    effort += 0.02 * scale * (rng.normal(size=q.shape) + lasting)
    return time, 2.0 * np.pi / 4096 * np.round(q * 4096 / (2.0 * np.pi)), effort


def flipped(x, j):
    return np.where(np.arange(x.shape[1]) == j, -x, x)


def wrong(kind: str, model: Model, rng: np.random.Generator, q, effort, loads):
    """Return a recording made wrong in one way, and what has to be said of it, as a pattern.

    `loads` are joints in the order of what they bear.
    """
    nv = model.nv
    i, j = (int(x) for x in rng.permutation(loads[:4])[:2])  # the sign of what bears nothing, nothing tells
    names = model.joint_names
    if kind == "amperes":
        return q, effort / rng.uniform(7.0, 15.0, nv), "N m"
    if kind == "milli-units":
        return q, effort * 1e3, "not in N m"
    if kind == "per cent":
        return q, 100.0 * effort / np.where(model.limits.effort < 1e4, model.limits.effort, 50.0), "N m"
    if kind == "mixed units":
        return q, effort * np.where(np.arange(nv) == i, 1.0 / rng.uniform(7.0, 15.0), 1.0), "different units|not in N m"
    if kind == "degrees":
        return np.degrees(q), effort, "degrees"
    if kind == "degrees of one":
        return np.where(np.arange(nv) == i, np.degrees(q), q), effort, rf"'{names[i]}'.*(degrees|jumps)"
    if kind == "coupled":
        return q, effort + np.where(np.arange(nv) == nv - 2, effort[:, -1:], 0.0), "coupled"
    if kind == "swapped efforts":
        order = np.arange(nv)
        order[[i, j]] = j, i
        either = f"'({names[i]}|{names[j]})'"
        return q, effort[:, order], f"efforts of joints {either} and {either} are swapped"
    if kind == "sign of all":
        return q, -effort, "all efforts have the wrong sign"
    if kind == "sign of one":
        return q, flipped(effort, i), rf"effort of joint '{names[i]}' has the wrong sign"
    if kind == "wrapped":
        return np.mod(q, 2.0 * np.pi), effort, "wrap"
    if kind == "repeated":
        at = np.maximum.accumulate(np.where(rng.random(len(q)) < 0.3, 0, np.arange(len(q))))
        return q[at], effort[at], "repeat"
    if kind == "late":
        rows = round(rng.uniform(0.08, 0.4) / STEP)
        return q[rows:], effort[:-rows], "ms later"
    if kind == "zeros":
        gone = (rng.random(len(q)) < 0.003)[:, None]
        return np.where(gone, 0.0, q), np.where(gone, 0.0, effort), "zeros|jump"
    assert kind == "idle"
    return q, np.where(np.arange(nv) == loads[-1], 0.0, effort), rf"'{names[loads[-1]]}': its effort is always 0"


KINDS = ("amperes", "milli-units", "per cent", "mixed units", "degrees", "degrees of one", "swapped efforts",
         "sign of all", "sign of one", "coupled", "wrapped", "late", "zeros", "repeated", "idle", "good")  # fmt: skip
MENDED = ("wrapped", "late", "zeros", "repeated", "idle")


def said(model: Model, *runs) -> tuple[bool, str]:
    """Return whether recordings, one or without and with a payload, were taken, and all that was said of them."""
    try:
        found = (
            identify_robot(model, *runs[0]) if len(runs) == 1 else identify_payload(model, *runs, model.body_names[-1])
        )
    except LieDynamicsError as error:
        return False, str(error)
    return True, "; ".join(str(problem) for problem in found.problems)


def study(number: int, kind: str, models: dict[str, Model]) -> tuple[bool, str]:
    """Return whether a recording was judged rightly, and a line that tells of it."""
    rng = np.random.default_rng(number)
    name = list(models)[int(rng.integers(len(models)))]
    model = models[name]
    given, place, runs, loads = guess(model, rng), rng.bit_generator.state, [], None
    mass = 0.05 * sum(model.inertia(b).mass for b in range(model.n_bodies))
    robots = [model, model.with_payload(model.body_names[-1], mass, [0.02, 0.03, 0.05])]
    for robot in robots if number // len(KINDS) % 3 == 2 else robots[:1]:
        rng.bit_generator.state = place  # the same motion, and the same fault
        time, q, effort = recording(robot, rng)
        pattern = ""
        if kind != "good":
            loads = np.argsort(effort.std(axis=0))[::-1] if loads is None else loads
            q, effort, pattern = wrong(kind, model, rng, q, effort, loads)
        runs.append((time[: len(q)], q, effort))
    taken, text = said(given, *runs)
    right = bool(re.search(pattern, text)) and (taken or kind not in MENDED)
    right = taken if kind == "good" else right
    return (
        right,
        f"{number}, {name}, {kind}{' loaded' * (len(runs) > 1)}: {'taken' if taken else 'refused'}: {text[:300]}",
    )


def run(cases: int = 100, start: int = 3000) -> tuple[list[Figure], list[str]]:
    """Return how many of each kind were judged rightly, and the lines of those that were not."""
    warnings.simplefilter("ignore")
    models = {name: Model.from_urdf(path, inertia_check="ignore") for name, path in FILES.items()}
    right, count, rows = Counter[str](), Counter[str](), []
    for number in range(2 * cases):
        kind = "good" if number >= cases else KINDS[number % (len(KINDS) - 1)]
        good, line = study(start + number, kind, models)
        count[kind] += 1
        right[kind] += good
        if not good or (kind == "good" and not line.endswith("taken: ")):
            rows.append(line)
            print(line, flush=True)
    return [at_least(kind, right[kind], f"of {count[kind]}", count[kind]) for kind in KINDS if count[kind]], rows


def describe(rows: list[str]) -> str:
    """Return what was judged wrongly, and what was said of good ones."""
    return "\n".join(f"- {row}" for row in rows)
