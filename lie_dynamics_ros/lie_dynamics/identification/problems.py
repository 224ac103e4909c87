"""Faults of a recording, reported before its results are used."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.derivatives.inverse_derivatives import torque_regressor
from ..dynamics.inverse_dynamics import inverse_dynamics
from ..errors import InputError, LieDynamicsError
from ..model.model import Model
from .estimation import parameters_of, with_parameters
from .fit import (
    MOST_DELAY,
    DelaySearch,
    Equations,
    Fit,
    Structure,
    any_drive,
    coefficient,
    fit_robot,
    least_squares,
    orthogonal,
    robust_deviation,
    seconds_of,
    triangle,
)
from .recordings import Samples

#: Part of a joint's effort that a model of the right robot explains, at least.
UNEXPLAINED = 0.25
#: Part by which another reading of the recording must lower the unexplained rest to be reported.
BETTER = 0.5
#: Forces of bodies over those of the given ones that are accepted, and that are without a word; efforts of the joints
#: that work hardest over those of the model.
FORCES, LIKELY, EFFORTS = 3.0, 1.7, 20.0
#: Standard deviations by which gains of drives must differ by more than `FORCES`.
SURE = 3.0
#: What is left unexplained where no other reading is needed.
SMALL = 0.05
#: Directions of gravity, over its size: what is off, and what is near an axis of the root link.
LEAST_TILT, NEAR_AXIS, TURNS = 0.05, 0.15, 2
#: What other readings may leave over what the best one does to be told as well, and how many in all.
ALIKE, MOST_ALIKE = 1.2, 3
#: Delays of efforts that are tried where they are later than common [s].
LATE = np.arange(0.1, 0.55, 0.1)
#: Drives that two joints share: joints' efforts over the sum and the difference of two motors'.
SIGNS, SHARED = (1.0, -1.0), (1.0, 0.5)
#: Part of a neighbour's effort that counts as coupled, and the deviations by which it is known; part of that effort
#: by which it can be told from bodies, and part of what these leave that it explains.
COUPLED, CERTAIN, TOLD_APART, EXPLAINS = 0.25, 4.0, 0.15, 0.1
#: Least effort of a joint, by the given model, over the largest one, from which on it must have been measured.
HEAVY = 0.01
#: Part of the time at which efforts may be far from all that fits.
OUTLIERS = 0.01
_SAMPLES = 300
#: Kind of problem, what was done wrong, and robot and samples without that.
Reading = tuple[str, str, Model, Samples]


@dataclass(frozen=True)
class Problem:
    """Problems of a recording, certain or possible.

    Attributes
    ----------
    kind : str
        "motion", "clipping", "no effort", "positions", "wrapped", "spikes", "jumps", "sign", "order", "coupled",
        "gravity", "units", "delay", "unexplained", "outliers".
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
    """A recording that no robot is identified from; `problems` gives the reason."""

    def __init__(self, problems: tuple[Problem, ...], name: str = "recording") -> None:
        super().__init__(f"{name}: " + "; ".join(str(p) for p in problems if p.fatal), name=name)
        self.problems = problems


def too_fast(model: Model, samples: Samples) -> list[Problem]:
    """Return joints that are much faster than they can be, where the robot's limits tell that."""
    found = []
    for name, speed, limit in zip(
        model.joint_names, np.quantile(np.abs(samples.qd), 0.9, axis=0), model.limits.velocity, strict=True
    ):
        if 0.0 < FORCES * limit < speed:
            text = f"joint {name!r}: rates up to {speed:.4g}, the robot's limit is {limit:.4g} rad/s or m/s: "
            found.append(Problem("positions", text + "positions in degrees, or times that are no seconds?", True))
    return found


def problem_of_units(model: Model, samples: Samples) -> list[Problem]:
    """Return whether efforts are many times those that the given masses take, in whatever order joints are."""
    taken = np.asarray(inverse_dynamics(model, samples.q, samples.qd, samples.qdd)).std(axis=0) * _used(samples)
    taken, efforts = np.sort(taken)[::-1], np.sort(samples.effort(0.0).std(axis=0) * _used(samples))[::-1]
    heavy = np.flatnonzero(taken >= UNEXPLAINED * taken[0])
    ratio = float(np.median(efforts[heavy] / np.maximum(taken[heavy], 1e-12)))
    return [_units(ratio)] if not 1.0 / EFFORTS < ratio < EFFORTS else []


def idle_joints(model: Model, samples: Samples) -> dict[int, str]:
    """Return joints whose efforts are next to nothing beside what their bodies take and others have, and why.

    None where another joint has them: then both may be swapped.
    """
    taken = np.asarray(inverse_dynamics(model, samples.q, samples.qd, samples.qdd)).std(axis=0)
    judged = np.flatnonzero(_used(samples) & (taken > HEAVY * taken.max(initial=0.0)))
    if not len(judged):
        return {}
    efforts = samples.effort(0.0).std(axis=0) * _used(samples)
    ratios = efforts / np.maximum(taken, 1e-12)
    usual = np.sort(ratios[judged])[(len(judged) - 1) // 2]
    many = efforts[ratios > EFFORTS * usual].max(initial=0.0)
    idle = [int(j) for j in judged if ratios[j] * EFFORTS < usual and FORCES * many < usual * taken[j]]
    why = "its efforts are {:.2g} of what its bodies take, others' {:.2g}: not measured, or in other units?"
    return {j: why.format(ratios[j], usual) for j in idle}


def _units(ratio: float, parts: str = "") -> Problem:
    text = f"efforts are those of masses {ratio:.3g} times the given ones{parts}: not in N m and N (mN m, A, per cent?)"
    fatal = not 1.0 / FORCES < ratio < FORCES
    text += "; gains of the drives (drive_gains) are expected" if fatal else ", or are the given masses so wrong?"
    return Problem("units", text, fatal)


def _used(samples: Samples) -> npt.NDArray[np.bool_]:
    """Return which joints (nv,) are not left out."""
    return np.asarray(samples.moving.any(axis=0))


def problems_of_force(model: Model, samples: Samples, bodies: list[int], fit: Fit) -> list[Problem]:
    """Return whether what the fit has for bodies is so far from the given forces that efforts have other units.

    Total mass is no measure, since no motion of a robot on a fixed base shows all of it. Weight and inertial forces
    are compared each separately, of every joint by the part that it bears.
    """
    few = _few(samples)
    own = parameters_of(model, range(model.n_bodies))
    found = own.copy()
    found[bodies] = fit.parameters
    still = np.zeros_like(few.qd)
    weight = np.asarray(torque_regressor(model, few.q, still, still))
    motion = np.asarray(torque_regressor(model, few.q, few.qd, few.qdd)) - weight
    sizes = []
    for Y in (weight, motion):
        for gain, x in ((1.0, own), (fit.coefficients["gain"], found)):
            sizes.append(np.sqrt(((gain * (Y @ x.ravel())) ** 2).mean(axis=0)) * _used(samples))
    given = np.concatenate([sizes[0], sizes[2]])
    now = np.concatenate([sizes[1], sizes[3]])
    counted = given > 0.02 * given.max(initial=0.0)
    if not counted.any():
        return []
    if np.median(fit.unexplained(samples)[_used(samples)]) > 2.0 * UNEXPLAINED:
        return []  # what explains nothing tells no masses
    logs = np.log(np.maximum(now[counted], 1e-12) / given[counted])
    if np.ptp(logs) > np.log(LIKELY) and not fit.structure.gains:
        by_joint = _units_by_joint(model, few, bodies, _error(model, few, bodies, fit.delay), fit.delay)
        if by_joint:
            return [by_joint]
    ratio = float(np.exp(np.average(logs, weights=given[counted])))
    if 1.0 / LIKELY < ratio < LIKELY:
        return []
    told = [f"{name} {float(np.linalg.norm(b)) / max(float(np.linalg.norm(a)), 1e-12):.3g}"
            for name, a, b in (("weight", *sizes[:2]), ("inertial forces", *sizes[2:]))
            if np.linalg.norm(a) > 0.0]  # fmt: skip
    bear, move = (float(np.linalg.norm(b)) / max(float(np.linalg.norm(a)), 1e-12) for a, b in (sizes[:2], sizes[2:]))
    if 1.0 / LIKELY < bear < LIKELY and not 1.0 / FORCES < move < FORCES:
        text = f"weight is {bear:.3g}, inertial forces are {move:.3g} times those of the given bodies: "
        return [Problem("motion", text + "times at another rate, or states that are late or repeated?", True)]
    return [_units(ratio, f" ({', '.join(told)} times)")]


def _units_by_joint(
    model: Model, samples: Samples, bodies: list[int], most: float, delay: float = 0.0
) -> Problem | None:
    """Return that efforts of joints have different units, where gains of drives explain them and leave at most that.

    Least effect of a body on all joints for their relative gains to be identified, whatever its mass.
    """
    try:
        fit = fit_robot(model, samples, bodies, True, delay=DelaySearch(delay))
    except LieDynamicsError:  # Newton's method did not get there
        return None
    error = float(np.sqrt((fit.unexplained(samples) ** 2).mean()))
    used = np.flatnonzero(_used(samples))
    gains = fit.coefficients["gain"][used]
    spread = gains.max() / max(float(gains.min()), 1e-12)
    logs = np.log(np.maximum(gains, 1e-12))
    sure = logs - logs[:, None] - SURE * fit.gain_deviations(model, bodies)[np.ix_(used, used)]
    if not error <= max(most, SMALL) or not (FORCES < spread < 1e9 and sure.max() > np.log(FORCES)):
        return None
    gains = gains / np.median(gains)
    told = ", ".join(f"{model.joint_names[j]} {gain:.3g}" for j, gain in zip(used, gains, strict=True))
    rated = gains * model.limits.effort[used]
    kind = "per cent of the effort limits, or " if 0.0 < rated.max() < rated.min() * spread**0.5 else ""
    text = f"efforts of joints have different units ({kind}mN m, A beside N m?): the same bodies take {told}; "
    return Problem("units", text + "gains of the drives (drive_gains) are expected", True)


def fitted(
    model: Model, samples: Samples, bodies: list[int], gains: bool, prior_weight: float, tell: Callable[[float], None]
) -> tuple[Fit, list[Problem]]:
    """Return a fit, and that efforts are later than is common where they are; RecordingError where there is none."""
    try:
        fit = fit_robot(model, samples, bodies, gains, prior_weight, tell=tell)
        if abs(fit.delay) < MOST_DELAY:
            return fit, []
        few, late = _few(samples), np.concatenate([-LATE, LATE])
        start = float(late[np.argmin([_error(model, few, bodies, delay=x) for x in late])])
        fit = fit_robot(model, samples, bodies, gains, prior_weight, DelaySearch(None, start, 1.2 * LATE[-1]))
    except LieDynamicsError as error:
        if isinstance(error, InputError):
            raise
        taken = np.asarray(inverse_dynamics(model, samples.q, samples.qd, samples.qdd))
        effort = samples.effort(0.0)
        j = int(np.argmax(taken.std(axis=0) * _used(samples)))
        ratio = float(effort[:, j].std() / max(taken[:, j].std(), 1e-12))
        text = "no bodies and drives that can exist come near these efforts: contacts, other units, or another robot?"
        wrong = _units(ratio) if not 1.0 / FORCES < ratio < FORCES else Problem("unexplained", text, True)
        raise RecordingError((wrong,)) from error
    text = f"efforts are {1e3 * fit.delay:.0f} ms later than the motion, at most {1e3 * MOST_DELAY:.0f} ms are common: "
    end = abs(fit.delay) >= 1.19 * LATE[-1]
    text += "the end of what is looked for: other clocks?" if end else "filtered efforts, or other clocks?"
    return fit, [Problem("delay", text, end)]


def problems_of_fit(
    model: Model, samples: Samples, bodies: list[int], fit: Fit, tell: Callable[[float], None]
) -> tuple[list[Problem], dict[int, str]]:
    """Return what a fit shows: efforts that no such robot has, and how the recording would have to be read for it.

    Where no other reading does it and some joints alone are not explained, these are returned with the reason.
    """
    left = fit.unexplained(samples)
    weightless = _weightless(model, samples)
    strange = (left > UNEXPLAINED) & _used(samples)
    if strange.any() or (weightless and _other_reading(weightless, model, samples, bodies, tell)):
        readings = _readings(model, _few(samples), _couplings(model, samples, fit.delay, False), bodies)
        found = _other_reading([*readings, *weightless], model, samples, bodies, tell)
        if found:
            return found, {}
        found = _coupled(model, samples, fit.delay) + problems_of_force(model, samples, bodies, fit)
        bad = (left > 2.0 * UNEXPLAINED) & _used(samples)
        if any(problem.fatal for problem in found):
            return found, {}
        if bad.any() and 2 * bad.sum() <= _used(samples).sum():
            why = "{:.0f} % of its effort is left unexplained"
            return found, {int(j): why.format(100.0 * left[j]) for j in np.flatnonzero(bad)}
        j = int(np.argmax(left))
        text = f"{100.0 * left[j]:.0f} % of the effort of joint {model.joint_names[j]!r} is left unexplained, "
        text += "also with other signs, orders and directions of gravity: contacts, or another robot?"
        return [*found, Problem("unexplained", text, bool(bad.any()))], {}
    found = _coupled(model, samples, fit.delay) + problems_of_force(model, samples, bodies, fit)
    for j, part in enumerate(fit.outliers(samples)):
        if part > OUTLIERS:
            text = f"joint {model.joint_names[j]!r}: {100.0 * part:.1f} % of its efforts fit nothing: contacts?"
            found.append(Problem("outliers", text, False))
    return found, {}


class _Coupling(NamedTuple):
    """Effort of joint `one`: it holds that of `other` so many times, known to a deviation.

    With the part of the other's effort by which that is seen, and the part that it explains of what bodies leave.
    """

    one: int
    other: int
    times: float
    deviation: float
    seen: float
    explained: float

    def text(self, model: Model) -> str:
        one, other = (repr(model.joint_names[j]) for j in (self.one, self.other))
        told = f"the effort of {one} holds {self.times:.2g} +- {max(self.deviation, 0.005):.1g} times that of {other}"
        return f"drives of joints {one} and {other} are coupled, and {told}"


def _couplings(model: Model, samples: Samples, delay: float, friction: bool) -> list[_Coupling]:
    """Return how much of its neighbours' efforts each joint's own holds, beside what any bodies and drive explain.

    Bodies couple joints, friction does not: errors of positions, which are the same in all that bodies explain, hide
    behind `friction` of the other drive no more.
    """
    Y = np.asarray(torque_regressor(model, samples.q, samples.qd, samples.qdd))
    effort, second, used = samples.effort(delay), seconds_of(samples), _used(samples)
    found = []
    for one in np.flatnonzero(used):
        at = samples.moving[:, one]
        own = orthogonal(np.column_stack([Y[:, one], any_drive(samples, int(one), delay)])[at])
        for other in (one - 1, one + 1):
            if not 0 <= other < model.nv or not used[other]:
                continue
            force = effort[at, other]
            size = float(np.linalg.norm(force - force.mean()))
            if friction:
                drive = np.column_stack([samples.side[:, other], samples.qd[:, other]])[at]
                drive = orthogonal(drive - own @ (own.T @ drive))
                force = drive @ (drive.T @ force)
            times, scores, explained = coefficient(own, force, effort[at, one], second[at])
            seen = float(np.linalg.norm(force - own @ (own.T @ force))) / max(size, 1e-300)
            deviation = float(np.linalg.norm(scores))
            found.append(_Coupling(int(one), int(other), times, deviation, seen, explained))
    return [c for c in found if abs(c.times) >= COUPLED]


def _coupled(model: Model, samples: Samples, delay: float) -> list[Problem]:
    """Return joints whose efforts hold that of a neighbour: of each joint at most one."""
    found: dict[int, _Coupling] = {}
    for c in sorted(_couplings(model, samples, delay, True), key=lambda c: c.explained):
        if abs(c.times) > CERTAIN * c.deviation and c.seen > TOLD_APART and c.explained > EXPLAINS:
            found[c.one] = c
    text = ": drive_gains, as a matrix, takes them apart"
    return [Problem("coupled", c.text(model) + text, False) for c in found.values()]


def _few(samples: Samples) -> Samples:
    """Return some of the samples."""
    every = slice(None, None, max(1, len(samples.at) // _SAMPLES))
    kept = {k: getattr(samples, k)[every] for k in ("at", "q", "qd", "qdd", "side", "moving", "steady")}
    return replace(samples, bends=samples.bends[:, every], **kept)


def _other_reading(
    readings: list[Reading], model: Model, samples: Samples, bodies: list[int], tell: Callable[[float], None]
) -> list[Problem]:
    """Return the reading of the recording that explains it best, where one does much better.

    Readings are fitted in the order of what plain least squares leave of them, which is less than what bodies that
    exist leave, up to where that is more than the best that was found.
    """
    given = _error(model, _few(samples), bodies)
    least = [_least_error(robot, seen, bodies) for _, _, robot, seen in readings]
    errors = np.full(len(readings), np.inf)
    for k, index in enumerate(np.argsort(least)):
        tell(k / len(readings))
        if least[index] > min(float(errors.min()), BETTER * given):
            break
        _, _, robot, seen = readings[index]
        errors[index] = _error(robot, seen, bodies)
    order = np.argsort(errors)
    best = int(order[0])
    if min(given, float(errors[best])) > SMALL:
        scaled = _units_by_joint(model, _few(samples), bodies, BETTER * min(given, float(errors[best])))
        if scaled:
            return [scaled]
    if not errors[best] <= min(BETTER * given, UNEXPLAINED) < np.inf:
        return []
    kind, text, _, _ = readings[best]
    text = ", or ".join(readings[k][1] for k in order[:MOST_ALIKE] if errors[k] <= ALIKE * errors[best])
    left = f"{100.0 * errors[best]:.0f} % of the efforts are unexplained then, {100.0 * given:.0f} % as they are"
    return [Problem(kind, f"{text}: {left}", True)]


def _weightless(model: Model, samples: Samples) -> list[Reading]:
    """Return the reading by a driver that compensates gravity itself, where there is gravity."""
    text = "efforts hold no gravity, as from drivers that compensate it"
    return [("gravity", text, model.with_gravity(np.zeros(3)), _few(samples))] if model.gravity.any() else []


def _error(model: Model, samples: Samples, bodies: list[int], delay: float = 0.0) -> float:
    """Return the root mean square over joints of what a quick fit leaves unexplained; infinite where there is none."""
    try:
        fit = fit_robot(model, samples, bodies, delay=DelaySearch(delay), rounds=2)
    except LieDynamicsError:  # Newton's method did not get there
        return np.inf
    return float(np.sqrt((fit.unexplained(samples) ** 2).mean()))


def _least_error(model: Model, samples: Samples, bodies: list[int]) -> float:
    """Return what any parameters leave unexplained, as `_error`; with half of it as room, since that is a median."""
    structure = Structure.plain(model.nv, False)
    equations = Equations(model, samples, bodies)
    pi = parameters_of(model, bodies).ravel()
    A = equations.matrix(structure, pi, np.ones(model.nv))
    A = A[..., np.concatenate([np.ones(len(pi), dtype=bool), structure.active()])]
    effort = samples.effort(0.0)
    size, aim = Fit.sizes(effort), effort - equations.known
    rest = (aim - A @ least_squares(triangle(A, aim, samples.moving / size))) / size
    return 0.5 * float(np.sqrt((robust_deviation(rest, samples) ** 2).mean()))


def _readings(model: Model, samples: Samples, couplings: list[_Coupling], bodies: list[int]) -> Iterator[Reading]:
    """Yield other readings of a recording: what was done wrong, and the robot and samples without that."""
    n, names = model.nv, model.joint_names
    ones, order = np.ones(n), np.arange(n)
    yield "sign", "all efforts have the wrong sign", model, _read(samples, order, ones, order, -ones)
    for j, name in enumerate(names):
        flip = np.where(order == j, -1.0, 1.0)
        for text, q, effort in (
            (f"the effort of joint {name!r} has the wrong sign", ones, flip),
            (f"the position of joint {name!r} has the wrong sign", flip, ones),
            (f"joint {name!r} turns the other way than its axis says", flip, flip),
        ):
            yield "sign", text, model, _read(samples, order, q, order, effort)
    for j in range(n):
        for i in range(j):
            swap = order.copy()
            swap[[i, j]] = j, i
            pair = f"joints {names[i]!r} and {names[j]!r}"
            yield "order", f"efforts of {pair} are swapped", model, _read(samples, order, ones, swap, ones)
            yield "order", f"{pair} are swapped", model, _read(samples, swap, ones, swap, ones)
    for c in couplings:
        effort = samples.source.effort.copy()
        effort[:, c.one] -= c.times * effort[:, c.other]
        yield "coupled", c.text(model), model, replace(samples, source=replace(samples.source, effort=effort))
    for j in range(n - 1):
        text = f"drives of joints {names[j]!r} and {names[j + 1]!r} are coupled: both efforts hold that of both, "
        for size, sign in itertools.product(SHARED, SIGNS):
            effort, told = samples.source.effort.copy(), samples.source.effort[:, j : j + 2]
            effort[:, j] = size * told.sum(axis=1)
            effort[:, j + 1] = sign * size * (told[:, 0] - told[:, 1])
            sums = f"they are {size:g} times the sum and {sign * size:g} times the difference of what is given"
            yield "coupled", text + sums, model, replace(samples, source=replace(samples.source, effort=effort))
    for unit, radians in (("degrees", np.pi / 180.0), ("turns", 2.0 * np.pi)):
        yield "positions", f"positions are in {unit}", model, _read(samples, order, ones * radians, order, ones)
    for j, name in enumerate(names):
        for degrees in (90, -90, 180) if is_angle(model, j) else ():
            q = samples.q - np.deg2rad(degrees) * (order == j)
            yield "positions", f"the zero of joint {name!r} is {degrees} degrees off", model, replace(samples, q=q)
    size = float(np.linalg.norm(model.gravity)) or 9.81
    seen, told = _gravity(model, samples, bodies), model.gravity / size
    if np.linalg.norm(seen - told) > LEAST_TILT:
        axis = int(np.argmax(np.abs(seen)))
        alone = np.sign(seen[axis]) * np.eye(3)[axis]
        near = np.linalg.norm(seen - alone) < NEAR_AXIS < np.linalg.norm(alone - told)
        way = f"{'+-'[int(seen[axis] < 0.0)]}{'xyz'[axis]}" if near else f"({', '.join(f'{x:.2f}' for x in seen)})"
        text = f"gravity points along {way} of the root link"
        yield "gravity", text, model.with_gravity(size * (alone if near else seen)), samples


def is_angle(model: Model, j: int) -> bool:
    """Return whether a joint, of those that are not coupled, turns."""
    joints = [joint for joint in model.joints if not joint.coupled and joint.type.nv == 1]
    return joints[j].kind in ("revolute", "continuous")


def _gravity(model: Model, samples: Samples, bodies: list[int]) -> Array:
    """Return the direction of gravity (3,) that efforts show, in turns with the bodies."""
    size, found = float(np.linalg.norm(model.gravity)) or 9.81, _gravity_of(model, samples)
    for _ in range(TURNS):
        try:
            fit = fit_robot(model.with_gravity(size * found), samples, bodies, delay=DelaySearch(0.0), rounds=2)
        except LieDynamicsError:  # Newton's method did not get there
            break
        found = _gravity_of(with_parameters(model, bodies, fit.parameters), samples)
    return found


def _gravity_of(model: Model, samples: Samples) -> Array:
    """Return the direction of gravity (3,) that efforts show by the bodies, beside each joint's own drive."""
    still = np.zeros_like(samples.qd)
    weights = [np.asarray(inverse_dynamics(model.with_gravity(x), samples.q, still, still)) for x in np.eye(3)]
    moved = inverse_dynamics(model.with_gravity(np.zeros(3)), samples.q, samples.qd, samples.qdd)
    effort = samples.effort(0.0)
    rows, aims = [], []
    for j in np.flatnonzero(_used(samples)):
        own = np.column_stack([samples.side[:, j], samples.qd[:, j], samples.qdd[:, j], np.ones(len(samples.at))])
        drive, x = orthogonal(own), np.column_stack([w[:, j] for w in weights] + [(effort - moved)[:, j]])
        x = (x - drive @ (drive.T @ x)) / Fit.sizes(effort)[j]
        rows.append(x[:, :3])
        aims.append(x[:, 3])
    found = np.linalg.lstsq(np.concatenate(rows), np.concatenate(aims), rcond=1e-6)[0]
    return np.asarray(found / max(float(np.linalg.norm(found)), 1e-12))


def _read(
    samples: Samples, order: npt.NDArray[np.intp], signs: Array, efforts: npt.NDArray[np.intp], effort_signs: Array
) -> Samples:
    source = replace(samples.source, effort=(effort_signs * samples.source.effort)[:, efforts])
    turned = {k: (signs * getattr(samples, k))[..., order] for k in ("q", "qd", "qdd", "side", "bends")}
    kept = {k: getattr(samples, k)[..., order] for k in ("bend_speeds", "smoothing", "moving", "steady")}
    return replace(samples, source=source, **turned, **kept)


def judged_fit(
    model: Model,
    samples: Samples,
    bodies: list[int],
    left_out: Mapping[int, str],
    gains: bool,
    prior_weight: float,
    despite: bool,
    tells: tuple[Callable[[float], None], Callable[[float], None]] = (lambda part: None, lambda part: None),
) -> tuple[Samples, Fit, list[Problem], dict[int, str]]:
    """Return samples, their fit, problems, and the joints that were left out: the same for all that fits a recording.

    Raises RecordingError for a fatal problem, unless ``despite``.
    """
    out, samples = dict(left_out), samples.without(left_out)
    fast = too_fast(model, samples)
    stop_at(fast, despite)
    idle = idle_joints(model, samples)
    problems = fast + left_out_problems(model, idle, "no effort", 2 * (len(out) + len(idle)) > model.nv)
    out.update(idle)
    samples = samples.without(idle)
    problems += problem_of_units(model, samples)
    stop_at(problems, despite)
    fit, late = fitted(model, samples, bodies, gains, prior_weight, tells[0])
    more, strange = problems_of_fit(model, samples, bodies, fit, tells[1])
    if strange:
        rest = samples.without(strange)
        fit, late = fitted(model, rest, bodies, gains, prior_weight, tells[0])
        again, others = problems_of_fit(model, rest, bodies, fit, tells[1])
        refused = bool(others) or 2 * (len(out) + len(strange)) > model.nv
        reasons = {**strange, **others}
        problems += left_out_problems(model, reasons, "unexplained", refused)
        out.update(strange)
        samples, more = rest, again
    problems += [*late, *more]
    stop_at(problems, despite)
    return samples, fit, problems, out


def stop_at(problems: list[Problem], despite: bool) -> None:
    """Raise RecordingError where a problem is fatal, unless ``despite``."""
    if not despite and any(problem.fatal for problem in problems):
        raise RecordingError(tuple(problems))


def left_out_problems(model: Model, reasons: Mapping[int, str], kind: str, fatal: bool) -> list[Problem]:
    """Return a problem for each joint that is left out."""
    rest = "contacts, or another robot?" if fatal else "its efforts are left out"
    return [Problem(kind, f"joint {model.joint_names[j]!r}: {why}; {rest}", fatal) for j, why in reasons.items()]
