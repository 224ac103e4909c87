"""Control: the node's controller on default parameters with arms in MuJoCo that are not their model.

Gears are two bodies and a spring. States and answers are in lock step: nothing here is a time of this machine. All
of it takes an hour or two; a part:

    python -m benchmarks.nodes.control_robustness --quick
    python -m benchmarks.nodes.control_robustness --only stops tracking --arms ur5 z1 --count 50 --seed 7

The table in benchmarks/results is that of `--quick --count 200 --seed 700 --save`, on which nothing was tried. Cases
that broke there are motions that take more effort than a Baxter has, which its controller refuses.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from lie_dynamics_ros.core.errors import MessageError

from ..results import Figure, at_least, at_most, machine, save

sys.path.append(str(Path(__file__).parents[2] / "test"))  # the physics are those of the tests

from support.control.imperfect_arm import (
    ROBOTS,
    ImperfectArm,
    Imperfection,
    LockStep,
    draw_pose,
    limits_of,
    model_of,
    plain_pds,
    sines,
    told_description,
    told_parameters,
)

MODES = ("computed_torque", "passivity_based", "adaptive", "gravity_compensation", "operational_space", "impedance")
FOLLOWING_MODES = ("default", "passivity_based", "adaptive")
RATES = (250.0, 500.0, 1000.0, 2000.0)
PROCESSES = 2
COUNTS = {"stops": 1000, "holds": 1000, "switches": 1000, "glitches": 160, "impedance": 0, "tracking": 0}
"""Random cases of each part; those with 0 are a grid."""
REST, SWING, FASTER, FLOOR = 5e-3, 0.05, 1.1, 0.05
"""A stop is good with speeds below the first after 1.5 s [rad/s], efforts peak to peak below the second part of
the limits then, and no speed above the third times the fastest at its begin, or the fourth [rad/s]."""
HEAVY = 0.95
"""Part of an effort limit that an arm takes to be held where it was drawn, from which on nobody could move it, too."""
NONSINGULAR = 0.12
"""Least singular value of the Jacobian over the largest, turns counted as 0.3 m/rad, where impedance is judged."""
CELLS = {
    "exact model": {},
    "rotors 1 % told": {"rotors": 0.01, "told": True},
    "rotors 1 % untold": {"rotors": 0.01},
    "rotors 0.1 % untold": {"rotors": 0.001},
    "gears 300, rotors 0.5 % untold": {"rotors": 0.005, "gears": 300.0},
    "gears 100, rotors 0.5 % told": {"rotors": 0.005, "gears": 100.0, "told": True},
    "lag 3 ms": {"lag": 3e-3},
    "delay 1.5": {"delay": 1.5},
    "14 bits": {"bits": 14},
    "14 bits, positions alone": {"bits": 14, "velocities": False},
    "12 bits, positions alone": {"bits": 12, "velocities": False},
    "velocity noise 10 mrad/s": {"noise": 0.01},
    "12 bits, positions alone, rotors 1 % untold": {"bits": 12, "velocities": False, "rotors": 0.01},
    "friction dry 2 %, viscous 1 %": {"dry": 0.02, "viscous": 0.01},
    "friction told": {"dry": 0.02, "viscous": 0.01, "told_friction": 1.0},
    "friction told by half": {"dry": 0.02, "viscous": 0.01, "told_friction": 0.5},
    "friction told 1.5 times": {"dry": 0.02, "viscous": 0.01, "told_friction": 1.5},
    "inertias +-20 %": {"inertias": 0.2},
    "payload 30 % of the rating": {"payload": 0.3},
    "payload 30 %, taken up at rest": {"payload": 0.3, "payload_at": 0.1},
    "payload 30 %, taken up in motion": {"payload": 0.3, "payload_at": 1.5},
    "rotors, gears, friction, 16 bits": {"rotors": 0.005, "gears": 300.0, "dry": 0.02, "bits": 16, "velocities": False},
}
"""Cells of tracking."""


def make_controller(name: str, what: Imperfection, **parameters: Any) -> Any:
    """Return a controller as anybody makes it, of the URDF that it gets."""
    from lie_dynamics_ros import Controller

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = {**told_parameters(name, what), **parameters}
        return Controller(told_description(name, what), inertia_check="warn", **told)


def begin(name: str, what: Imperfection, q: np.ndarray, **parameters: Any) -> LockStep:
    """Return an arm at rest under control."""
    arm = ImperfectArm(name, what)
    arm.put(q)
    return LockStep(arm, make_controller(name, what, **parameters), limits_of(name), what)


def draw(rng: np.random.Generator) -> Imperfection:
    """Draw a robot that is not its model."""

    def often(share: float, value: Callable[[], float]) -> float:
        found = value()
        return found if rng.random() < share else 0.0

    gears = often(0.6, lambda: 10 ** rng.uniform(np.log10(25.0), 3.0))
    rotors = 10 ** rng.uniform(np.log10(3e-4), np.log10(0.03))
    velocities = rng.random() < 0.6
    return Imperfection(
        rate=float(rng.choice(RATES)),
        delay=float(rng.uniform(0.0, 1.5)),
        rotors=rotors if gears or rng.random() < 0.8 else 0.0,
        told=bool(rng.random() < 0.3),
        gears=gears,
        lag=often(0.5, lambda: rng.uniform(0.0, 5e-3)),
        bits=int(often(0.7, lambda: rng.integers(12, 21))),
        velocities=velocities,
        noise=often(0.6, lambda: rng.uniform(0.0, 0.01)) if velocities else 0.0,
        dry=often(0.3, lambda: rng.uniform(0.0, 0.02)),
        viscous=often(0.3, lambda: rng.uniform(0.0, 0.01)),
        inertias=0.2,
        payload=often(0.5, lambda: rng.uniform(0.0, 1.0)),
        seed=int(rng.integers(2**31)),
    )


def line(
    name: str, q: np.ndarray, rng: np.random.Generator, share: float = 0.25
) -> tuple[list[float], list[Any], list[Any]]:
    """Return way points of a slow line within the ranges: times, positions, velocities."""
    limits = model_of(name).limits
    way = (
        share * np.minimum(np.where(limits.velocity > 0.0, limits.velocity, 1.0), 1.6) * rng.choice([-1.0, 1.0], len(q))
    )
    goal = np.clip(q + way, limits.lower + 0.05, limits.upper - 0.05)
    return [1.2], [goal], [np.zeros(len(q))]


# Parts. Each judges one case and returns numbers and words; `good` says whether it passes.


def stops(name: str, seed: int) -> dict[str, Any]:
    """Stop an arm of which little is known, at rest or in motion, on default parameters."""
    return _comes_to_rest(name, seed, lambda controller: controller.stop("asked to"))


def holds(name: str, seed: int) -> dict[str, Any]:
    """Hold such an arm where it is, in the default mode."""

    def hold(controller: Any) -> None:
        with suppress(MessageError):  # it has stopped by itself
            controller.hold()

    return _comes_to_rest(name, seed, hold)


def _comes_to_rest(name: str, seed: int, end: Callable[[Any], Any]) -> dict[str, Any]:
    rng = np.random.default_rng((seed, 1))
    what, moving = draw(rng), bool(rng.random() < 0.5)
    loop = begin(name, what, draw_pose(name, rng))
    limit = limits_of(name)
    weight = float((np.abs(loop.arm.gravity(loop.arm.q)) / limit).max())
    before = loop.run(0.6)
    if moving and not before.stopped:
        with suppress(MessageError):  # where efforts do not suffice for it, the arm stays
            loop.controller.follow(*line(name, loop.arm.q, rng))
        before = loop.run(0.5)
    first = np.abs(before.last(0.02).qd).max()
    end(loop.controller)
    after = loop.run(2.0)
    tail = after.last(0.5)
    speed, swing, fastest = np.abs(tail.qd).max(), tail.swing(limit), np.abs(after.qd).max()
    bad = [
        word
        for word, is_so in (
            ("moves", speed > REST),
            ("swings", swing > SWING),
            ("speeds up", fastest > max(FASTER * first, FLOOR)),
            ("ran away", not after.t[-1] > before.t[-1] + 1.9),
        )
        if is_so
    ]
    return {
        "good": not bad, "bad": bad, "moving": moving, "case": str(what), "rate": what.rate,
        "stopped before": before.stopped, "heavy": weight > HEAVY,
        "speed": float(speed), "swing": swing, "faster": float(fastest / max(first, FLOOR / FASTER)),
        "score": float(max(speed / REST, swing / SWING, fastest / max(FASTER * first, FLOOR))),
    }  # fmt: skip


def tracking(
    name: str, rate: float, cell: str, seed: int, modes: Sequence[str] = FOLLOWING_MODES
) -> dict[str, Any]:
    """Follow slow sines in the default mode and others, beside PD with gravity."""
    what = replace(Imperfection(rate=rate, seed=seed), **CELLS[cell])
    rng = np.random.default_rng((seed, 2))
    q, limit = draw_pose(name, rng, widens=True), limits_of(name)
    points, motion = sines(name, q, 3.0)
    plain = [np.inf]
    for pd in plain_pds(name, motion, q, what):
        arm = ImperfectArm(name, what)
        arm.put(q)
        with np.errstate(all="ignore"):
            found = LockStep(arm, pd, limit, what).run(3.0)
        plain.append(found.rms if np.isfinite(found.rms) and found.t[-1] > 2.9 else np.inf)
    result: dict[str, Any] = {"PD": 1e3 * min(plain), "case": str(what)}
    for mode in modes:
        loop = begin(name, what, q, **({} if mode == "default" else {"mode": mode}))
        found = loop.run(0.2)
        if not found.stopped:
            loop.controller.follow(*points)
            found = loop.run(3.0)
        result[mode] = 1e3 * found.rms
        result[f"{mode} stopped"] = found.stopped
    ratio = result["default"] / max(result["PD"], 1e-9)
    good = not result["default stopped"] and ratio <= 1.0
    return {**result, "good": good, "ratio": ratio if not result["default stopped"] else np.inf, "score": ratio}


def switches(name: str, seed: int) -> dict[str, Any]:
    """Change mode, gains or payload in the middle of a slow line, with the exact model or one that is off."""
    rng = np.random.default_rng((seed, 3))
    what = Imperfection(rate=float(rng.choice(RATES)), delay=float(rng.uniform(0.0, 1.5)), seed=seed)
    if seed % 2:
        rotors, dry = float(10 ** rng.uniform(-4.0, -2.0)), float(rng.uniform(0.0, 0.02))
        what = replace(what, inertias=0.2, rotors=rotors, dry=dry)
    kind = str(rng.choice(["mode", "mode", "mode", "gains", "payload"]))
    first, then = (str(mode) for mode in rng.choice(MODES, 2, replace=False))
    if first in MODES[3:]:
        first = str(rng.choice(MODES[:3]))  # those that follow a line
        then = str(rng.choice([mode for mode in MODES if mode != first])) if first == then else then
    model = model_of(name)
    tip = model.body_names[-1]
    loop = begin(name, what, draw_pose(name, rng, 0.3), mode=first)
    change: dict[str, Any] = {"mode": then}
    if kind == "gains":
        ranges = {"kp": (25.0, 400.0), "kd": (10.0, 40.0), "sliding_rate": (5.0, 30.0), "convergence_rate": (5.0, 25.0)}
        change = {key: float(rng.uniform(*ends)) for key, ends in ranges.items()}
    if kind == "payload":  # told, and not there
        mass = float(rng.uniform(0.1, 0.5)) * ROBOTS[name][2]
        change = {"payload_frame": tip, "payload_mass": mass, "payload_center_of_mass": [0.0, 0.0, 0.05]}
    loop.run(0.1)
    with suppress(MessageError):  # where efforts do not suffice for it, the arm stays
        loop.controller.follow(*line(name, loop.arm.q, rng))
    before = loop.run(float(rng.uniform(0.3, 0.9)))
    loop.controller.set(**change)
    after = loop.run(1.6)
    limits = model.limits.velocity
    speed = float((np.abs(after.qd) / np.where(limits > 0.0, limits, np.inf)).max())
    text = f"{first} -> {then}" if kind == "mode" else f"{first}, {kind} changed"
    good = not (before.stopped or after.stopped) and speed <= 1.0
    return {"good": good, "kind": text if kind == "mode" else kind, "stopped": before.stopped or after.stopped,
            "speed": speed, "case": f"{text}, {what}", "score": speed + 10.0 * bool(after.stopped)}  # fmt: skip


def glitches(name: str, seed: int) -> dict[str, Any]:
    """Send one state that is wrong in a slow line, and compare with the same run without it."""
    rng = np.random.default_rng((seed, 4))
    kind = str(rng.choice(["zeros", "one joint at zero", "old state", "velocity spike"]))
    measured = kind == "velocity spike" or bool(rng.random() < 0.5)
    what = Imperfection(rate=float(rng.choice(RATES)), velocities=measured, bits=18, seed=seed)
    mode, q = str(rng.choice(MODES[:3])), draw_pose(name, rng, widens=True)
    joint = int(rng.integers(len(limits_of(name))))
    points, efforts, speeds = line(name, q, rng), [], []
    for spoiled in (False, True):
        loop = begin(name, what, q, mode=mode)
        loop.run(0.1)
        loop.controller.follow(*points)
        before = loop.run(0.6)
        old = before.q[0]

        def spoil(seen: np.ndarray, rates: np.ndarray, loop: LockStep = loop, old: np.ndarray = old) -> Any:
            loop.spoil = None
            if kind == "zeros":
                return np.zeros_like(seen), np.where(np.isnan(rates), np.nan, 0.0)
            if kind == "velocity spike":
                return seen, rates + 10.0 * (np.arange(len(rates)) == joint)
            wrong = old if kind == "old state" else np.where(np.arange(len(seen)) == joint, 0.0, seen)
            return wrong, rates

        loop.spoil = spoil if spoiled else None
        found = loop.run(0.8)
        efforts.append(found.effort)
        speeds.append(np.abs(found.qd).max())
    change = float((np.abs(efforts[1] - efforts[0]) / limits_of(name)).max())
    faster = float(speeds[1] / max(speeds[0], FLOOR))
    text = f"{kind}, {mode}, {what}"
    return {
        "good": change < SWING,
        "kind": kind,
        "change": change,
        "faster": faster,
        "case": text,
        "score": change / SWING,
    }


def impedance(name: str, axis: int, seed: int) -> dict[str, Any]:
    """Push the tool along one axis up to half of the effort limits; it gives way by the stiffness, or as told."""
    rng = np.random.default_rng((seed, 5))
    from scipy.spatial.transform import Rotation

    from lie_dynamics_ros.lie_dynamics import gravity_force, jacobian

    what, limit, model = Imperfection(rate=1000.0, seed=seed), limits_of(name), model_of(name)
    for _ in range(100):  # where no direction is nearly singular, which is given up on purpose
        q = draw_pose(name, rng)
        J = jacobian(model, q, model.body_names[-1], frame="aligned")
        values = np.linalg.svd(J * np.repeat([0.3, 1.0], 3)[:, None], compute_uv=False)
        if values[-1] > NONSINGULAR * values[0]:
            break
    loop = begin(name, what, q, mode="impedance", tool_frame=model.body_names[-1])
    arm, tool = loop.arm, loop.controller._core.tool

    def told() -> float:
        return float(tool.shares[axis])  # as on ~/diagnostics

    room = 0.5 * limit - np.abs(gravity_force(model, q))
    most = float((np.maximum(room, 0.0) / np.maximum(np.abs(J[axis]), 1e-9)).min())
    turning = axis < 3
    loop.run(0.1)
    stiffness, reach = (30.0, 0.3) if turning else (400.0, 0.08)
    most = min(most, stiffness * told() * reach)
    place = arm.data.xpos[arm.tool].copy(), arm.data.xmat[arm.tool].reshape(3, 3).copy()
    steps = 60
    for k in range(1, steps + 1):
        wrench = np.zeros(6)
        wrench[(axis + 3) % 6] = most * k / steps  # MuJoCo: force first; it acts at the centre of mass
        moment = np.cross(arm.data.xipos[arm.tool] - arm.data.xpos[arm.tool], wrench[:3])
        arm.data.xfrc_applied[arm.tool, :3], arm.data.xfrc_applied[arm.tool, 3:] = wrench[:3], wrench[3:] - moment
        found = loop.run(0.05)
        if found.stopped:
            break
    found = loop.run(1.0)
    part = told()
    moved = arm.data.xpos[arm.tool] - place[0]
    turned = Rotation.from_matrix(arm.data.xmat[arm.tool].reshape(3, 3) @ place[1].T).as_rotvec()
    given = float((turned if turning else moved)[axis % 3])
    expected = most / (stiffness * part)
    off = given / expected - 1.0 if expected > 1e-6 else 0.0
    text = f"{'turning about' if turning else 'moving along'} {'xyzxyz'[axis]}, {most:.3g} {'N m' if turning else 'N'}"
    return {"good": abs(off) < 0.03 and not found.stopped, "off": off, "share": part, "stopped": found.stopped,
            "reduced": part < 0.999, "case": text, "score": abs(off) + 10.0 * bool(found.stopped)}  # fmt: skip


PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "stops": stops, "holds": holds, "tracking": tracking, "switches": switches, "glitches": glitches,
    "impedance": impedance,
}  # fmt: skip


def cases(part: str, arms: Sequence[str], count: int, seed: int, quick: bool) -> list[tuple[Any, ...]]:
    """Return the arguments of the cases of a part."""
    if part == "tracking":
        rates = (500.0,) if quick else (250.0, 500.0, 1000.0)
        return [(name, rate, cell, seed) for cell, rate, name in itertools.product(CELLS, rates, arms)]
    if part == "impedance":
        return [(name, axis, seed + k) for k in range(1 if quick else 3) for name in arms for axis in range(6)]
    return [(arms[k % len(arms)], 10_000 * seed + k) for k in range(count)]


def judge(job: tuple[str, tuple[Any, ...]]) -> dict[str, Any]:
    """Judge one case in a process of the pool."""
    part, arguments = job
    try:
        with np.errstate(all="ignore"):
            found = PARTS[part](*arguments)
    except Exception as error:  # a case that breaks the controller is a failure of it, and is told
        found = {"good": False, "case": f"{type(error).__name__}: {error}", "score": np.inf, "broke": True}
    return {"part": part, "arguments": list(arguments), **found}


def campaign(jobs: Iterable[tuple[str, tuple[Any, ...]]], processes: int = PROCESSES) -> list[dict[str, Any]]:
    """Judge cases, in some processes."""
    jobs = list(jobs)
    if processes == 1:
        return [judge(job) for job in jobs]
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        return list(pool.map(judge, jobs, chunksize=4))


# What is told.


def tables(found: list[dict[str, Any]], worst: int = 8) -> str:
    """Return the tables of all parts, and the worst cases of each."""
    text: list[str] = []
    for part in PARTS:
        rows = [row for row in found if row["part"] == part]
        if not rows:
            continue
        text += [f"## {part}", "", f"{sum(row['good'] for row in rows)} of {len(rows)} cases pass."]
        broke = [row for row in rows if row.get("broke")]
        rest = [row for row in rows if not row.get("broke")]
        text += [f"- broke: {row['arguments']}: {row['case']}" for row in broke[:worst]] + [""]
        text += _tracking_table(rest) if part == "tracking" else _counts(rest, part)
        bad = sorted((row for row in rest if not row["good"]), key=lambda row: -row["score"])[:worst]
        if bad:
            text += ["", "The worst:", ""]
        text += [f"- {row['arguments'][0]}, seed {row['arguments'][-1]}: {_says(row)} ({row['case']})" for row in bad]
        text.append("")
    return "\n".join(text)


def _says(row: dict[str, Any]) -> str:
    names = ("bad", "kind", "stopped", "speed", "swing", "faster", "change", "off", "share", "ratio", "PD", "default",
             "default stopped")  # fmt: skip
    words = []
    for name in names:
        value = row.get(name)
        if value not in (None, "", []):
            shown = (
                f"{value:.3g}" if isinstance(value, float) else ", ".join(value) if isinstance(value, list) else value
            )
            words.append(f"{name} {shown}")
    return "; ".join(words)


def _counts(rows: list[dict[str, Any]], part: str) -> list[str]:
    """Return how many cases pass, by arm and by what the part distinguishes."""
    groups: dict[str, list[bool]] = {}
    for row in rows:
        keys = [f"arm {row['arguments'][0]}"]
        if part in ("stops", "holds"):
            keys += ["in motion" if row["moving"] else "at rest", f"{row['rate']:g} Hz"]
            keys += [f"fails: {bad}" for bad in row["bad"]]
            keys += ["had stopped by itself before"] if row["stopped before"] else []
            keys += [f"takes more than {HEAVY:g} of a limit to be held"] if row["heavy"] else []
        if part in ("switches", "glitches"):
            keys.append(row["kind"])
        if part == "impedance":
            keys.append("with a reduction that is told" if row["reduced"] else "with the stiffness asked for")
        for key in keys:
            groups.setdefault(key, []).append(row["good"])
    lines = ["| | pass | of |", "|---|---|---|"]
    return lines + [f"| {key} | {sum(good)} | {len(good)} |" for key, good in sorted(groups.items())]


def _tracking_table(rows: list[dict[str, Any]]) -> list[str]:
    """Return errors by disturbance: of the default mode, of others, and of PD; the worst of all arms and rates."""
    heads = ["", "PD and gravity", *FOLLOWING_MODES, "worse than PD", "above 0.3 of PD", "of"]
    lines = ["Errors of all joints [mrad rms], median and worst of all arms and rates; stops in brackets.", ""]
    lines += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for cell in CELLS:
        some = [row for row in rows if row["arguments"][2] == cell]
        if not some:
            continue
        entries = []
        for mode in ("PD", *FOLLOWING_MODES):
            values = np.array([row[mode] for row in some])
            count = sum(bool(row.get(f"{mode} stopped")) for row in some)
            entries.append(f"{np.median(values):.3g}, {values.max():.3g}" + (f" ({count})" if count else ""))
        worse, near = (sum(row["ratio"] > x for row in some) for x in (1.0, 0.3))
        lines.append(f"| {cell} | " + " | ".join(entries) + f" | {worse} | {near} | {len(some)} |")
    return lines


def figures_of(found: list[dict[str, Any]]) -> list[Figure]:
    """Return the figures with their aims."""
    figures = []
    for part in PARTS:
        rows = [row for row in found if row["part"] == part]
        if rows and part != "tracking":
            figures.append(at_most(f"{part}: fail of {len(rows)}", sum(not row["good"] for row in rows), "", 0))
    rows = [row for row in found if row["part"] == "tracking" and not row.get("broke")]
    if rows:
        worse = sum(row["ratio"] > 1.0 for row in rows)
        better = sum(row["ratio"] <= 0.3 for row in rows) / len(rows)
        exact = [row["default"] for row in rows if row["arguments"][2] == "exact model"]
        figures.append(at_most(f"tracking: worse than PD with gravity in cells of {len(rows)}", worse, "", 0))
        figures.append(at_least("tracking: below 0.3 of PD's error in a share of the cells", better, "", 0.9))
        figures.append(Figure("tracking: exact model, worst error of the default mode (rms)", max(exact), "mrad"))
    return figures


def run(
    parts: Sequence[str] = tuple(PARTS), arms: Sequence[str] = tuple(ROBOTS), count: int = 0, seed: int = 0,
    quick: bool = False, processes: int = PROCESSES,
) -> tuple[list[Figure], Any]:  # fmt: skip
    """Judge all of it; `count` in place of the numbers of random cases."""
    jobs = []
    for part in parts:
        number = count or (COUNTS[part] // 20 if quick else COUNTS[part])
        jobs += [(part, arguments) for arguments in cases(part, arms, number, seed, quick)]
    found = campaign(jobs, processes)
    return figures_of(found), found


def describe(raw: list[dict[str, Any]]) -> str:
    """Return what stands below the figures."""
    return tables(raw)


def main() -> None:
    """Judge a part, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the random cases, one rate of tracking")
    parser.add_argument("--only", nargs="+", choices=tuple(PARTS), default=tuple(PARTS), help="parts")
    parser.add_argument("--arms", nargs="+", choices=tuple(ROBOTS), default=tuple(ROBOTS))
    parser.add_argument("--count", type=int, default=0, help="random cases of each part")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument("--save", action="store_true", help="write the table to benchmarks/results")
    given, where = parser.parse_args(), machine()
    figures, found = run(given.only, given.arms, given.count, given.seed, given.quick, given.processes)
    if given.save:
        title = (__doc__ or "").splitlines()[0].rstrip(".")
        failed = [row for row in found if not row["good"]]
        print(save("control_robustness", title, figures, where, failed, describe(found)))
        return
    for figure in figures:
        print(f"{figure.name}: {figure.value:.4g} {figure.unit} {f'({figure.target})' if figure.target else ''}")
    print("\n" + describe(found))


if __name__ == "__main__":
    main()
