"""What can be wrong with a recording, found and said before anybody believes what was made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...dynamics.inverse_dynamics import inverse_dynamics
from ...errors import InputError
from ...model.model import Model
from .fit import Fit, fit_robot
from .samples import Samples

Array = npt.NDArray[np.float64]

#: Motion of a joint below which its parameters are hardly told: range of positions [rad, m].
LEAST_MOTION = 0.1
#: Part of the samples at the largest effort, each several times in a row, that counts as clipped: some, and too many.
CLIPPED, TOO_CLIPPED = 0.005, 0.1
#: Part of a joint's effort that a model of the right robot explains, at least.
UNEXPLAINED = 0.25
#: By what part another reading of the recording must lower what is unexplained to be told.
BETTER = 0.5
#: Total mass over the given one that is believed; efforts of the joint that works hardest over those of the model.
MASSES, EFFORTS = 3.0, 20.0
#: Part of the time at which efforts may be far from all that fits.
OUTLIERS = 0.01
_SAMPLES = 300
#: Kind of problem, what was done wrong, and robot and samples without that.
Reading = tuple[str, str, Model, Samples]


@dataclass(frozen=True)
class Problem:
    """What is wrong with a recording, or may be.

    Attributes
    ----------
    kind : str
        "motion", "clipping", "no effort", "positions", "sign", "order", "gravity", "units", "unexplained", "outliers".
    text : str
        A sentence with the joint, what was found, and what was expected.
    fatal : bool
        Whether what is identified means nothing as long as it is there.
    """

    kind: str
    text: str
    fatal: bool

    def __str__(self) -> str:
        return self.text


class RecordingError(InputError):
    """A recording that no robot is identified from; `problems` says why."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("recording: " + "; ".join(str(p) for p in problems if p.fatal), name="recording")
        self.problems = problems


def problems_of_signals(model: Model, q: Array, effort: Array) -> list[Problem]:
    """Return what signals (n, nv) show by themselves: little motion, clipped or no efforts, other units of angles."""
    found, names = [], model.joint_names
    spans, sizes = np.ptp(q, axis=0), np.abs(effort).max(axis=0)
    lower, upper = model.limits.lower, model.limits.upper
    for j, name in enumerate(names):
        if spans[j] < LEAST_MOTION:
            nothing = spans.max() < LEAST_MOTION
            text = f"joint {name!r} moves by {spans[j]:.3g}, {LEAST_MOTION:g} rad or m expected: too little motion"
            found.append(Problem("motion", text, bool(nothing)))
        if np.ptp(effort[:, j]) == 0.0:
            found.append(Problem("no effort", f"joint {name!r}: its effort is always {effort[0, j]:g}", True))
            continue
        held = _clipped(effort[:, j], sizes[j])
        if held > CLIPPED:
            text = f"joint {name!r}: effort is clipped at {sizes[j]:.4g} in {100.0 * held:.1f} % of the samples"
            found.append(Problem("clipping", text + ": slower motion expected", held > TOO_CLIPPED))
        outside = max(float(q[:, j].max() - upper[j]), float(lower[j] - q[:, j].min()))
        if np.isfinite(upper[j] - lower[j]) and outside > 0.5 * (upper[j] - lower[j]) + LEAST_MOTION:
            text = (
                f"joint {name!r}: positions from {q[:, j].min():.4g} to {q[:, j].max():.4g}, limits of the robot are "
            )
            text += f"{lower[j]:.4g} and {upper[j]:.4g}: degrees, or another joint?"
            found.append(Problem("positions", text, True))
    return found


def _clipped(effort: Array, size: float) -> float:
    """Return which part of the samples is at the largest effort, several in a row."""
    at = np.abs(effort) >= size * (1.0 - 1e-6)
    return float((at[1:-1] & at[:-2] & at[2:]).mean()) if len(at) > 2 else 0.0


def problem_of_units(model: Model, samples: Samples) -> list[Problem]:
    """Return whether efforts are many times those that the given masses take."""
    taken = np.asarray(inverse_dynamics(model, samples.q, samples.qd, samples.qdd)).std(axis=0)
    j = int(np.argmax(taken))
    ratio = float(samples.effort(0.0)[:, j].std() / max(taken[j], 1e-12))
    return [_units(ratio)] if not 1.0 / EFFORTS < ratio < EFFORTS else []


def _units(ratio: float) -> Problem:
    text = f"efforts are those of masses {ratio:.3g} times the given ones: not in N m and N (mN m, A, per cent?)"
    return Problem("units", text, True)


def problems_of_fit(
    model: Model, samples: Samples, bodies: list[int], fit: Fit, gains: bool, tell: Callable[[float], None]
) -> list[Problem]:
    """Return what a fit shows: efforts that no such robot has, and how the recording would have to be read for it."""
    left = fit.unexplained(samples)
    found = []
    weightless = _weightless(model, samples)
    if (left > UNEXPLAINED).any() or (weightless and _other_reading(weightless, model, samples, bodies, tell)):
        found += _other_reading([*_readings(model, _few(samples)), *weightless], model, samples, bodies, tell)
        if not found:
            j = int(np.argmax(left))
            text = f"{100.0 * left[j]:.0f} % of the effort of joint {model.joint_names[j]!r} is left unexplained, "
            text += "also with other signs, orders and directions of gravity: contacts, or another robot?"
            found.append(Problem("unexplained", text, bool(left[j] > 2.0 * UNEXPLAINED)))
        return found
    given = sum(model.inertia(b).mass for b in bodies)
    ratio = fit.parameters[:, 0].sum() / given
    if gains:
        ratio = float(np.exp(np.log(fit.coefficients["gain"]).mean()))
    if not 1.0 / MASSES < ratio < MASSES:
        found.append(_units(ratio))
    for j, part in enumerate(fit.outliers(samples)):
        if part > OUTLIERS:
            text = f"joint {model.joint_names[j]!r}: {100.0 * part:.1f} % of its efforts fit nothing: contacts?"
            found.append(Problem("outliers", text, False))
    return found


def _few(samples: Samples) -> Samples:
    """Return some of the samples."""
    every = slice(None, None, max(1, len(samples.at) // _SAMPLES))
    kept = {k: getattr(samples, k)[every] for k in ("at", "q", "qd", "qdd", "side", "moving", "steady")}
    return replace(samples, bends=samples.bends[:, every], **kept)


def _other_reading(
    readings: list[Reading], model: Model, samples: Samples, bodies: list[int], tell: Callable[[float], None]
) -> list[Problem]:
    """Return the reading of the recording that explains it best, where one does much better."""
    given = _error(model, _few(samples), bodies)
    errors = []
    for k, (_, _, robot, seen) in enumerate(readings):
        tell(k / len(readings))
        errors.append(_error(robot, seen, bodies))
    best = int(np.argmin(errors))
    if errors[best] > BETTER * given:
        return []
    kind, text, _, _ = readings[best]
    left = f"{100.0 * errors[best]:.0f} % of the efforts are unexplained then, {100.0 * given:.0f} % as they are"
    return [Problem(kind, f"{text}: {left}", True)]


def _weightless(model: Model, samples: Samples) -> list[Reading]:
    """Return the reading by a driver that compensates gravity itself, where there is gravity."""
    text = "efforts hold no gravity, as of drivers that compensate it"
    return [("gravity", text, model.with_gravity(np.zeros(3)), _few(samples))] if model.gravity.any() else []


def _error(model: Model, samples: Samples, bodies: list[int]) -> float:
    """Return the root mean square over joints of what a quick fit leaves unexplained."""
    fit = fit_robot(model, samples, bodies, delay=0.0, rounds=2)
    return float(np.sqrt((fit.unexplained(samples) ** 2).mean()))


def _readings(model: Model, samples: Samples) -> Iterator[Reading]:
    """Yield other readings of a recording: what was done wrong, and the robot and samples without that."""
    n, names = model.nv, model.joint_names
    ones, order = np.ones(n), np.arange(n)
    yield "sign", "all efforts have the wrong sign", model, _read(samples, order, ones, order, -ones)
    for j, name in enumerate(names):
        flip = np.where(order == j, -1.0, 1.0)
        yield (
            "sign",
            f"the effort of joint {name!r} has the wrong sign",
            model,
            _read(samples, order, ones, order, flip),
        )
        yield (
            "sign",
            f"the position of joint {name!r} has the wrong sign",
            model,
            _read(samples, order, flip, order, ones),
        )
        text = f"joint {name!r} turns the other way than its axis says"
        yield "sign", text, model, _read(samples, order, flip, order, flip)
    for j in range(n):
        for i in range(j):
            swap = order.copy()
            swap[[i, j]] = j, i
            pair = f"joints {names[i]!r} and {names[j]!r}"
            yield "order", f"efforts of {pair} are swapped", model, _read(samples, order, ones, swap, ones)
            yield "order", f"{pair} are swapped", model, _read(samples, swap, ones, swap, ones)
    size = float(np.linalg.norm(model.gravity)) or 9.81
    for axis in range(3):
        for sign in (1.0, -1.0):
            direction = sign * size * np.eye(3)[axis]
            if np.linalg.norm(direction - model.gravity) > 1e-3 * size:
                text = f"gravity points along {'-' if sign < 0 else '+'}{'xyz'[axis]} of the root link"
                yield "gravity", text, model.with_gravity(direction), samples


def _read(
    samples: Samples, order: npt.NDArray[np.intp], signs: Array, efforts: npt.NDArray[np.intp], effort_signs: Array
) -> Samples:
    source = replace(samples.source, effort=(effort_signs * samples.source.effort)[:, efforts])
    turned = {k: (signs * getattr(samples, k))[..., order] for k in ("q", "qd", "qdd", "side", "bends")}
    kept = {k: getattr(samples, k)[..., order] for k in ("bend_speeds", "smoothing", "moving", "steady")}
    return replace(samples, source=source, **turned, **kept)
