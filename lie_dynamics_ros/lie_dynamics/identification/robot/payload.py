"""Payload of a robot, from a motion without it and one with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...errors import InputError
from ...lie import SpatialInertia, inertial_parameters
from ...model.arguments import require_model
from ...model.model import Model
from ...shown import shown
from .. import consistency
from ..consistent_fit import consistent_fit
from ..estimation import chosen_bodies
from ..recordings import even_times
from .equations import TERMS, Equations
from .fit import HUBER, Fit, least_squares, triangle
from .problems import Problem, RecordingError, judged_fit, stop_at
from .samples import Samples, measured, samples_of
from .signals import signals_of

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
            f"({com}) +- ({spread}) m; of its inertia, xx, xy, xz, yy, yz, zz are told by {told}"
        )


def identify_payload(
    model: Model,
    without: Arrays,
    loaded: Arrays,
    frame: str | int,
    *,
    drive_gains: npt.ArrayLike | None = None,
    left_out: Sequence[str] = (),
    cutoff: float | None = None,
    prior_weight: float = 1.0,
    despite_problems: bool = False,
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
    carrier, bodies = model._moving(frame), chosen_bodies(model, None)
    own = model.with_joint_terms()
    runs, fits, at, out = [], [], cutoff, dict[int, str]()
    problems: list[Problem] = []
    for name, arrays in (("without", without), ("loaded", loaded)):
        time, q, effort = three_of(arrays, name)
        even_times(time)
        signals = signals_of(own, q, effort, left_out, drive_gains)
        recording = measured(own, time, signals.q, signals.effort, at)
        at = recording.cutoff
        try:
            stop_at(signals.problems, despite_problems)
            samples = samples_of(recording)
            told = judged_fit(own, samples, bodies, {**out, **signals.left_out}, False, prior_weight, despite_problems)
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
        blocks.append(2 * (run.source.time[run.at] - run.source.time[0]).astype(np.intp) + k)
    rows, aim, weight, block = (np.concatenate(x) for x in (A, aims, moving, blocks))
    found, covariance, parts = _fitted(model, bodies, fit, rows, aim, weight.astype(np.float64), block, prior_weight)
    inertia = SpatialInertia.from_parameters(found)
    return PayloadEstimate(carrier.name, inertia, covariance, parts, tuple(problems))


def three_of(arrays: Arrays, name: str) -> Arrays:
    """Return time, positions and efforts; InputError where there are not three."""
    if not isinstance(arrays, (tuple, list)) or len(arrays) != 3:
        raise InputError(f"{name}: (time, q, effort) is expected, got {type(arrays).__name__}", name=name)
    return arrays[0], arrays[1], arrays[2]


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
    J0, moving, x = consistency.references(model, bodies), weight, np.zeros(0)
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
    for k, second in enumerate(consistency.Divergence(J0).slopes(J)[1]):
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
