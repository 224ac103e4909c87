"""From a motion without a payload and one with it: an unknown payload, or the gains of drives by one of known mass.

For gains, an effort of a joint is

    effort = (bodies + friction + rotor + payload) / gain,

and all but the payload is the same law in both, with coefficients that need not be known: each joint's own linear least
squares have the columns of bodies, of the drive and, in one recording, the joint force that the payload takes. The
coefficient of the last is 1 / gain, whatever the masses of the arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.derivatives.inverse_derivatives import torque_regressor
from ..errors import InputError
from ..lie import SpatialInertia, inertial_parameters
from ..model.arguments import require_model
from ..model.model import Model
from ..shown import shared_options, shown
from .estimation import Divergence, chosen_bodies, consistent_fit, references
from .fit import HUBER, TERMS, Equations, Fit, any_drive, coefficient, least_squares, orthogonal, seconds_of, triangle
from .problems import Problem, RecordingError, judged_fit, stop_at
from .recordings import Measured, Samples, even_times, measured, samples_of
from .signals import RecordingOptions, RecordingUse, Signals, signals_of

if TYPE_CHECKING:
    from typing import Unpack

Arrays = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]

#: Density of the ball that a payload is taken for where the motion does not determine its inertia [kg/m^3].
DENSITY = 1000.0
#: Least mass of that ball [kg].
LEAST_MASS = 1e-2
_ROUNDS = 3


@shown
@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """A payload, and how well it is known.

    Attributes
    ----------
    frame : str
        Link or frame that carries it; all else is in its axes.
    inertia : SpatialInertia
        Mass, centre of mass and rotational inertia about that [kg, m, kg m^2], of a body that can exist.
    covariance : ndarray, shape (10, 10)
        Of its parameters (m, h, I about the frame's origin), see `SpatialInertia.parameters`: noise that lasts counts,
        and what the motion does not determine is as uncertain as the ball of water that stands for it.
    told : ndarray, shape (6,)
        Of the inertia Ixx, Ixy, Ixz, Iyy, Iyz, Izz, the part that the motion determines: 0 where it is the ball's.
    problems : tuple of Problem
        What is wrong with the recordings, or may be.
    """

    frame: str
    inertia: SpatialInertia
    covariance: Array
    told: Array
    problems: tuple[Problem, ...] = ()

    @property
    def mass_deviation(self) -> float:
        """Standard deviation of the mass [kg]."""
        return float(np.sqrt(self.covariance[0, 0]))

    @property
    def com_covariance(self) -> Array:
        """Covariance of the centre of mass (3, 3) [m^2]."""
        slope = np.column_stack([-self.inertia.com, np.eye(3)]) / self.inertia.mass
        return np.asarray(slope @ self.covariance[:4, :4] @ slope.T)

    def on(self, model: Model) -> Model:
        """Return a model that carries it."""
        return model.with_payload(self.frame, self.inertia.mass, self.inertia.com, self.inertia.inertia)

    def report(self) -> str:
        """Return mass and centre of mass with deviations, and how much of the inertia the recording determines."""
        com = ", ".join(f"{c:.4f}" for c in self.inertia.com)
        spread = ", ".join(f"{c:.4f}" for c in np.sqrt(np.diag(self.com_covariance)))
        told = ", ".join(f"{100.0 * part:.0f} %" for part in self.told)
        return (
            f"payload on {self.frame}: {self.inertia.mass:.4g} +- {self.mass_deviation:.2g} kg at "
            f"({com}) +- ({spread}) m; of its inertia, xx, xy, xz, yy, yz, zz are determined to {told}"
        )


@shared_options(RecordingUse)
def identify_payload(
    model: Model, without: Arrays, loaded: Arrays, frame: str | int, **options: Unpack[RecordingOptions]
) -> PayloadEstimate:
    """Identify mass, centre of mass and, as far as the motion determines it, inertia of a payload.

    One fit to both recordings has the robot's bodies and drives in both and the payload in one: where the motions are
    alike, all that the model does not know falls out.

    Parameters
    ----------
    model : Model
        The robot without the payload; its inertias are a guess, as for `identify_robot`.
    without, loaded : tuple of array-like
        (time (n,), q (n, nq), effort (n, nv)) of a motion without and with it: evenly sampled, positions and measured
        or commanded efforts. Best is the same motion; some seconds.
    frame : str or int
        Body or frame that carries it.
    drive_gains, left_out, cutoff, prior_weight, despite_problems
        As of `identify_robot`.

    Raises
    ------
    InputError
        For bad input, or a payload that is not heavier than nothing.
    RecordingError
        For a recording that nothing is identified from, by the checks of `identify_robot`, with the reason.
    """
    require_model(model)
    carrier, bodies = model.moving_frame(frame), chosen_bodies(model, None)
    own = model.with_joint_terms()
    use = RecordingUse(**options)
    runs, fits, at, out = [], [], use.cutoff, dict[int, str]()
    problems: list[Problem] = []
    for name, arrays in (("without", without), ("loaded", loaded)):
        signals, recording = _recorded(own, arrays, name, use, at)
        at, idle = recording.cutoff, {**out, **signals.left_out}
        try:
            samples = samples_of(recording)
            told = judged_fit(own, samples, bodies, idle, False, use.prior_weight, use.despite_problems)
        except RecordingError as error:
            raise RecordingError(error.problems, name) from error
        runs.append(told[0])
        fits.append(told[1])
        problems += [replace(p, text=f"{name}: {p.text}") for p in (*signals.problems, *told[2])]
        out |= told[3]
    runs, fit = [run.without(out) for run in runs], fits[0]
    runs[1] = friction_as(runs[0], runs[1])
    P = transfer(carrier.placement)
    A, aims, moving, blocks = [], [], [], []
    for k, run in enumerate(runs):
        equations = Equations(own, run, bodies)
        matrix = equations.matrix(fit.structure, fit.parameters.ravel(), np.ones(model.nv))[..., fit.active]
        loads = Equations(own, run, [carrier.body]).Y @ P * k
        A.append(np.concatenate([loads, matrix], axis=-1))
        aims.append(run.effort(fit.delay) - equations.known)
        moving.append(run.moving)
        blocks.append(2 * seconds_of(run) + k)
    rows, aim, weight, block = (np.concatenate(x) for x in (A, aims, moving, blocks))
    weight = weight.astype(np.float64)
    found, covariance, parts = _fitted(model, bodies, fit, rows, aim, weight, block, use.prior_weight)
    inertia = SpatialInertia.from_parameters(found)
    return PayloadEstimate(carrier.name, inertia, covariance, parts, tuple(problems))


def _recorded(
    model: Model, arrays: Arrays, name: str, use: RecordingUse, cutoff: float | None
) -> tuple[Signals, Measured]:
    """Return the signals of (time, q, effort) and the filtered recording; RecordingError for a fatal problem."""
    if not isinstance(arrays, (tuple, list)) or len(arrays) != 3:
        raise InputError(f"{name}: (time, q, effort) is expected, got {type(arrays).__name__}", name=name)
    time, q, effort = arrays
    even_times(time)
    signals = signals_of(model, q, effort, use.left_out, use.drive_gains)
    try:
        stop_at(signals.problems, use.despite_problems)
    except RecordingError as error:
        raise RecordingError(error.problems, name) from error
    return signals, measured(model, time, signals.q, signals.effort, cutoff)


def friction_as(one: Samples, other: Samples) -> Samples:
    """Return other samples, with what friction depends on by the speeds of one."""
    rate = other.source.qd
    side = rate / np.hypot(rate, one.smoothing)
    smooth = other.source.smooth
    bends = np.array([smooth(side * np.exp(-((rate / v) ** 2)))[other.at] for v in one.bend_speeds])
    return replace(
        other, side=smooth(side)[other.at], bends=bends, bend_speeds=one.bend_speeds, smoothing=one.smoothing
    )


def transfer(placement: Array) -> Array:
    """Return the matrix (10, 10) from parameters in a frame to those in the body's, the frame at a placement in it."""
    moved = placement @ inertial_parameters.pseudo_inertia(np.eye(10)) @ placement.T
    return np.asarray(inertial_parameters.from_pseudo_inertia(moved).T)


def _fitted(
    model: Model, bodies: list[int], fit: Fit, rows: Array, aim: Array, weight: Array, block: Array, prior_weight: float
) -> tuple[Array, Array, Array]:
    """Return the payload's parameters (10,), their covariance, and what part of its inertia is determined."""
    deviation, active = fit.deviation, fit.active[10 * len(bodies) :]
    free = np.repeat(np.array([term == "offset" for term in TERMS]), model.nv)[active]
    guess = np.maximum(np.abs(np.concatenate([fit.coefficients[term] for term in TERMS])[active]), 1e-6)
    J0, moving, x = references(model, bodies), weight, np.zeros(0)
    for k in range(_ROUNDS):
        w = weight / deviation
        R = triangle(rows, aim, w)
        if k == 0:
            J0 = np.concatenate([_ball(R)[None], J0])
        x, _ = consistent_fit(R[:, :-1], R[:, -1], J0, guess, free, prior_weight, x if k else None)
        rest = aim - rows @ x
        weight = moving * np.sqrt(np.minimum(1.0, HUBER * deviation / np.maximum(np.abs(rest), 1e-300)))
    size = 10 * len(J0)
    prior = np.zeros((len(x), len(x)))
    J = inertial_parameters.pseudo_inertia(x[:size].reshape(-1, 10))
    for k, second in enumerate(Divergence(J0).slopes(J)[1]):
        prior[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = prior_weight * second
    at = np.arange(size, len(x))
    prior[at, at] = prior_weight / np.where(free, guess, x[size:]) ** 2
    inverse = _inverse(R[:, :-1].T @ R[:, :-1] + prior)
    scored = (rows * (w**2 * rest)[..., None]).sum(axis=1)
    scores = np.array([scored[block == b].sum(axis=0) for b in np.unique(block)])
    lasting = inverse @ (scores.T @ scores + prior) @ inverse
    larger = np.sqrt(np.maximum(np.diag(lasting) / np.diag(inverse), 1.0))
    covariance = larger[:, None] * inverse * larger
    told = 1.0 - np.minimum(np.diag(inverse)[:10] / np.diag(np.linalg.inv(prior[:10, :10])), 1.0)
    return x[:10], covariance[:10, :10], told[4:]


def _ball(R: Array) -> Array:
    """Return the pseudo-inertia (4, 4) of a ball where plain least squares see the payload."""
    plain = least_squares(R)[:10]
    mass = float(plain[0])
    if not mass > 0.0:
        message = f"loaded: a payload that is heavier than nothing is expected, {mass:.3g} kg are seen"
        raise InputError(message, name="loaded")
    return ball_of_water(max(mass, LEAST_MASS), plain[1:4] / mass).pseudo_inertia()


def ball_of_water(mass: float, com: npt.ArrayLike) -> SpatialInertia:
    """Return the inertia of a ball of water of a mass [kg] about a centre [m]: a payload of unknown shape."""
    radius = (3.0 * mass / (4.0 * np.pi * DENSITY)) ** (1.0 / 3.0)
    return SpatialInertia(mass, np.asarray(com, np.float64), 0.4 * mass * radius**2 * np.eye(3))


def _inverse(H: Array) -> Array:
    size = 1.0 / np.sqrt(np.diag(H))
    return np.asarray(size[:, None] * np.linalg.inv(H * size[:, None] * size) * size)


#: Largest relative standard deviation of a gain that counts as known.
TOLD = 0.1


@shown
@dataclass(frozen=True, eq=False)
class DriveGains:
    """Gains of drives, and how well they are known.

    Attributes
    ----------
    joints : tuple of str
        k joints.
    gains : ndarray, shape (k,)
        Newton metres, or newtons, for each unit of effort; as ``drive_gains`` of `identify_robot` for all joints.
    covariance : ndarray, shape (k, k)
        Of these; errors that last up to a second are in it.
    """

    joints: tuple[str, ...]
    gains: Array
    covariance: Array

    def report(self) -> str:
        """Return a line for each joint with its gain and the standard deviation of that."""
        rows = zip(self.joints, self.gains, np.sqrt(np.diag(self.covariance)), strict=True)
        unit = "N m or N for each unit of effort"
        return "\n".join(f"{name}: {gain:.5g} +- {deviation:.2g} {unit}" for name, gain, deviation in rows)


def gains_from_payload(
    model: Model,
    without: Arrays,
    loaded: Arrays,
    frame: str | int,
    payload: SpatialInertia,
    *,
    joints: Sequence[str] | None = None,
    cutoff: float | None = None,
    despite_problems: bool = False,
) -> DriveGains:
    """Return gains of drives from two recordings of an arm, without a known payload and with it.

    Parameters
    ----------
    model : Model
        The arm without the payload. Its inertias do not count, its joints do.
    without, loaded : tuple of array-like
        (time (n,), q (n, nq), effort (n, nv)): evenly sampled, positions and efforts in any unit, such as amperes. Best
        is the same motion twice, through postures in which the payload loads each joint differently.
    frame : str or int
        Body or frame that carries the payload.
    payload : SpatialInertia
        Mass [kg], centre of mass [m] and inertia about it [kg m^2], in axes of the frame.
    joints : sequence of str, optional
        Whose gains to find; all when left out.
    cutoff : float, optional
        Of the filter [Hz], as in `identify_robot`.
    despite_problems : bool
        Return gains also where efforts times these fit no such robot.

    Raises
    ------
    InputError
        For bad input, and joints whose gains the recordings do not determine to 10 %: the payload loads them too
        little.
    RecordingError
        For recordings that nothing is identified from: by the checks of `identify_robot`, after gains, but for masses.
    """
    require_model(model)
    if not isinstance(payload, SpatialInertia) or not payload.mass > 0.0:
        raise InputError(f"payload: a SpatialInertia with mass is expected, got {payload!r}", name="payload")
    names = model.joint_names if joints is None else tuple(joints)
    if isinstance(joints, str) or not names or not all(name in model.joint_names for name in names):
        message = f"joints: some of the joints {list(model.joint_names)} are expected, got {joints!r}"
        raise InputError(message, name="joints", value=joints)
    carrier, own = model.moving_frame(frame), model.with_joint_terms()
    runs, at, plain = [], cutoff, RecordingUse(despite_problems=despite_problems)
    for name, arrays in (("without", without), ("loaded", loaded)):
        signals, recording = _recorded(own, arrays, name, plain, at)
        silent = [n for n in names if model.joint_names.index(n) in signals.left_out]
        if silent:
            why = signals.left_out[model.joint_names.index(silent[0])]
            raise InputError(f"{name}: joint {silent[0]!r}: {why}; other joints are expected", name=name)
        at = recording.cutoff
        runs.append(samples_of(recording))
    runs[1] = friction_as(*runs)
    load = transfer(carrier.placement) @ payload.parameters()
    wanted = slice(10 * carrier.body, 10 * carrier.body + 10)
    regressors = [np.asarray(torque_regressor(own, run.q, run.qd, run.qdd)) for run in runs]
    forces = [np.zeros_like(runs[0].q), regressors[1][..., wanted] @ load]
    blocks = np.concatenate([2 * seconds_of(run) + k for k, run in enumerate(runs)])
    inverse, scores = np.zeros(len(names)), np.zeros((len(names), int(blocks.max()) + 1))
    for k, name in enumerate(names):
        j = model.joint_names.index(name)
        columns = [np.column_stack([Y[:, j], any_drive(run, j)]) for Y, run in zip(regressors, runs, strict=True)]
        force = np.concatenate([x[:, j] for x in forces])
        aim = np.concatenate([run.effort(0.0)[:, j] for run in runs])
        use = np.concatenate([run.moving[:, j] for run in runs])
        rest, block = orthogonal(np.concatenate(columns)[use]), blocks[use]
        inverse[k], errors, _ = coefficient(rest, force[use], aim[use], block)
        scores[k, np.unique(block)] = errors
    deviation = np.sqrt((scores**2).sum(axis=1))
    vague = ~(deviation < TOLD * np.abs(inverse))
    if vague.any():
        k = int(np.argmax(vague))
        part = 100.0 * deviation[k] / max(abs(inverse[k]), 1e-300)
        told = f"its gain is known to {part:.0f} %" if np.isfinite(deviation[k]) else "the payload does not load it"
        raise InputError(
            f"joints: {[n for n, yes in zip(names, vague, strict=True) if yes]} are not identified by this motion "
            f"(joint {names[k]!r}: {told}, {100.0 * TOLD:.0f} % or better expected): a heavier payload, other "
            "postures, or other joints", name="joints",
        )  # fmt: skip
    at_joint = [model.joint_names.index(name) for name in names]
    scale = np.ones(model.nv)
    scale[at_joint] = 1.0 / inverse
    others = {j: "other joints were asked for" for j in range(model.nv) if j not in at_joint}
    bodies = chosen_bodies(model, None)
    for name, run in zip(("without", "loaded"), runs, strict=True):
        scaled = replace(run, source=replace(run.source, effort=scale * run.source.effort))
        _, _, problems, _ = judged_fit(own, scaled, bodies, others, False, 1.0, True)
        fatal = tuple(problem for problem in problems if problem.fatal and problem.kind != "units")
        if fatal and not despite_problems:
            raise RecordingError(fatal, name)
    slopes = -scores / inverse[:, None] ** 2
    return DriveGains(tuple(names), 1.0 / inverse, slopes @ slopes.T)
