"""Estimation of inertial parameters that a body can have, from recorded motion and joint forces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.losses import rotor_acceleration
from ..errors import InputError, LieDynamicsError
from ..lie import SpatialInertia, inertial_parameters
from ..lie._arrays import number_of
from ..model.arguments import require_model
from ..model.configuration import checked
from ..model.model import Model
from ..shown import grouped, shown
from .regression import (
    TERMS,
    BaseParameters,
    JointTerms,
    Recorded,
    chunks,
    compressed,
    parameter_names,
    recording,
    reduce_columns,
    regression,
)

# Fits whose bodies can exist: least squares, convex, with the divergence of pseudo-inertias as barrier.
#
# ``d(J, J0) = tr(J0^-1 J) - log det(J0^-1 J) - 4`` is zero for J = J0, convex in J, and infinite where J stops being
# positive definite, that is where no distribution of mass has these parameters any more. It does not depend on units
# or on the choice of the body's frame. (Lee, Wensing, Park, "Geometric robot dynamic identification", 2020.)

#: Radius of gyration [m] that a reference body has at least in every direction: thin rods and plates get a thickness.
LEAST_RADIUS = 5e-3

#: dJ/dpi, (10, 4, 4).
BASIS: Array = inertial_parameters.pseudo_inertia(np.eye(10))


def reference(inertia: SpatialInertia) -> Array:
    """Return the pseudo-inertia (4, 4) of a body with mass, made thick enough to be positive definite."""
    spread = 0.5 * np.trace(inertia.inertia) * np.eye(3) - inertia.inertia
    values, axes = np.linalg.eigh(spread)
    values = np.maximum(values, inertia.mass * LEAST_RADIUS**2)
    spread = (axes * values) @ axes.T
    thick = SpatialInertia(inertia.mass, inertia.com, np.trace(spread) * np.eye(3) - spread)
    return thick.pseudo_inertia()


def references(model: Model, bodies: Sequence[int]) -> Array:
    """Return the reference (k, 4, 4) of each of some bodies of a model."""
    return np.array([reference(model.inertia(b)) for b in bodies]).reshape(-1, 4, 4)


class Divergence:
    """The sum of d(J, J0) over bodies, of given references J0 (n, 4, 4), which are positive definite."""

    def __init__(self, J0: Array) -> None:
        self._inverse = np.linalg.inv(J0)
        self._constant = float(np.linalg.slogdet(J0)[1].sum()) - 4.0 * len(J0)

    def value(self, J: Array) -> float:
        """Return the sum for bodies (n, 4, 4); infinite where one of them is not positive definite."""
        try:
            roots = np.linalg.cholesky(J)
        except np.linalg.LinAlgError:
            return np.inf
        logarithms = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum()
        return float((self._inverse * J).sum() - 2.0 * logarithms + self._constant)

    def slopes(self, J: Array) -> tuple[Array, Array]:
        """Return gradient (n, 10) and Hessian (n, 10, 10) in the parameters of each body."""
        inverse = np.linalg.inv(J)
        gradient = np.einsum("nij,kji->nk", self._inverse - inverse, BASIS)
        turned = inverse[:, None] @ BASIS
        return gradient, np.einsum("nkij,nlji->nkl", turned, turned)


_STEPS = 200
#: Times a step that must still be inside the barriers.
_BEYOND = 1.3


def minimize(
    value: Callable[[Array], float], slopes: Callable[[Array], tuple[Array, Array]], start: Array, enough: float = 0.0
) -> tuple[Array, int]:
    """Return the minimum (n,) of a smooth convex function from a start where it is finite, and how many steps it took.

    The value is infinite where the function is not defined; slopes are its gradient (n,) and positive definite Hessian
    (n, n). No step is taken for a decrease below `enough`, or round-off of the value. Raises LieDynamicsError if 200
    steps do not suffice.
    """
    x, now = start, value(start)
    for step in range(_STEPS):
        gradient, hessian = slopes(x)
        size = 1.0 / np.sqrt(np.diag(hessian))  # parameters differ by many orders of magnitude
        direction = -size * np.linalg.solve(hessian * size[:, None] * size, size * gradient)
        decrement = float(-gradient @ direction)
        if decrement <= max(enough, 1e-12 * max(1.0, abs(now))):
            return x, step
        length = 1.0
        while True:
            trial = value(x + length * direction)
            # Right beside a barrier Newton's method comes back by doubling distances: never leave less than a part.
            if trial <= now - 0.1 * length * decrement and value(x + _BEYOND * length * direction) < np.inf:
                break
            length *= 0.5
            if length < 1e-12:  # round-off: no smaller value is to be found
                return x, step
        x, now = x + length * direction, trial
    raise LieDynamicsError(f"identification: {_STEPS} Newton steps did not find the minimum")


#: By which the weight of the references falls: with more, steps lead beside the barriers, and hundreds along them.
_STEP = 2.0


def consistent_fit(
    R: Array, z: Array, J0: Array, guess: Array, free: npt.NDArray[np.bool_], weight: float, start: Array | None = None
) -> tuple[Array, int]:
    """Minimise half of |R x - z|^2 plus weight times divergences; return the parameters and the number of steps.

    R (r, 10 k + m) and z (r,) are equations of the parameters x: ten for each of k bodies, whose references are J0 (k,
    4, 4), and m coefficients, of sizes `guess` (m,), which are positive. Those that are `free` (m,) are of either sign
    and drawn to zero; the others are positive. The start (10 k + m,) is the answer to equations that are nearly the
    same; from the references on when left out.
    """
    size, divergence = 10 * len(J0), Divergence(J0)
    first = np.concatenate([inertial_parameters.from_pseudo_inertia(J0).ravel(), np.where(free, 0.0, guess)])
    square = R.T @ R
    weights = [weight]
    while weights[-1] < 0.5 * ((R @ first - z) ** 2).sum():
        weights.append(_STEP * weights[-1])

    def value(x: Array, weight: float) -> float:
        J, c = np.tensordot(x[:size].reshape(-1, 10), BASIS, 1), x[size:]
        if (c[~free] <= 0.0).any():
            return np.inf
        ratio = c / guess
        prior = divergence.value(J) + (ratio - np.log(np.where(free, 1.0, ratio)) - 1.0)[~free].sum()
        return float(0.5 * ((R @ x - z) ** 2).sum() + weight * (prior + 0.5 * (ratio[free] ** 2).sum()))

    def slopes(x: Array, weight: float) -> tuple[Array, Array]:
        gradient, hessian = R.T @ (R @ x - z), square.copy()
        J, c = np.tensordot(x[:size].reshape(-1, 10), BASIS, 1), x[size:]
        first, second = divergence.slopes(J)
        gradient[:size] += weight * first.ravel()
        for k in range(len(J0)):
            hessian[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] += weight * second[k]
        gradient[size:] += weight * np.where(free, c / guess**2, 1.0 / guess - 1.0 / np.where(free, 1.0, c))
        at = np.arange(size, size + guess.size)
        hessian[at, at] += weight * np.where(free, 1.0 / guess**2, 1.0 / np.where(free, 1.0, c) ** 2)
        return gradient, hessian

    if start is not None and value(start, weight) < value(first, weight):
        try:
            return minimize(partial(value, weight=weight), partial(slopes, weight=weight), start)
        except LieDynamicsError:  # too near to barriers
            pass
    # From the references on, weights falling: where data want what no body has, this is the short way there.
    x, steps = first, 0
    for k, w in enumerate(reversed(weights), start=1):
        enough = 0.0 if k == len(weights) else 0.1 * w
        x, more = minimize(partial(value, weight=w), partial(slopes, weight=w), x, enough)
        steps += more
    return x, steps


@shown
@dataclass(frozen=True, eq=False)
class Identification:
    """Identified parameters.

    Attributes
    ----------
    model : Model
        The robot with the identified inertias.
    parameters : ndarray, shape (n_bodies, 10)
        Inertial parameters of all bodies; those that were not requested as they were.
    coefficients : dict of str to ndarray, shape (nv,)
        Coefficients of each of the terms.
    base : BaseParameters
        Parameters that the recording distinguishes.
    base_values, base_deviations : ndarray, shape (rank,)
        Base parameters by weighted least squares alone, without regard to what a body can have, and their standard
        deviations. Of bodies that were not requested, only the difference to the model's is in them.
    deviation : ndarray, shape (nv,)
        Standard deviation of the noise of each joint force that measurements were weighed by [N m, N].
    residual : ndarray, shape (nv,)
        Root mean square of measured less predicted joint forces [N m, N].
    iterations : int
        Newton steps that were taken.
    """

    model: Model
    parameters: Array
    coefficients: Mapping[str, Array]
    base: BaseParameters
    base_values: Array
    base_deviations: Array
    deviation: Array
    residual: Array
    iterations: int

    def predict(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike, slide: npt.ArrayLike | None = None
    ) -> Array:
        """Return the joint forces (..., nv) of a motion."""
        Y = regression(self.model, q, qd, qdd, tuple(self.coefficients), slide)
        return np.asarray(Y @ np.concatenate([self.parameters.ravel(), *self.coefficients.values()]))

    def report(self) -> str:
        """Return masses, coefficients and residuals, and how well each base parameter is known."""
        lines = [f"{self.base.rank} base parameters identified in {self.iterations} steps"]
        for body, pi in zip(self.model.body_names, self.parameters, strict=True):
            com = ", ".join(f"{c:.4g}" for c in pi[1:4] / pi[0]) if pi[0] else "-"
            lines.append(f"  {body}: mass {pi[0]:.4g} kg, centre of mass ({com}) m")
        lines += [f"  {term}: " + ", ".join(f"{c:.4g}" for c in values) for term, values in self.coefficients.items()]
        lines.append("  residual: " + ", ".join(f"{r:.3g}" for r in self.residual))
        lines.append("base parameters and their standard deviations:")
        for text, value, deviation in zip(self.base.expressions(), self.base_values, self.base_deviations, strict=True):
            lines.append(f"  {value: .5g} +- {deviation:.2g}   {text}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class IdentificationRequest:
    """Arguments of `identify`, as they are given."""

    model: Model
    q: npt.ArrayLike
    qd: npt.ArrayLike
    qdd: npt.ArrayLike
    tau: npt.ArrayLike
    _: KW_ONLY
    terms: JointTerms = ()
    slide: npt.ArrayLike | None = None
    bodies: Sequence[str | int] | None = None
    deviation: npt.ArrayLike | None = None
    prior_weight: float = 1.0


@grouped(IdentificationRequest)
def identify(asked: IdentificationRequest) -> Identification:
    """Identify the inertias of bodies, such that bodies with these inertias can exist.

    Minimised is, over all parameters with positive definite pseudo-inertias and positive losses,

        1/2 sum of ((Y x - tau) / deviation)^2 + prior_weight sum over bodies of d(J, J0)

    with d the divergence from the model's own inertia J0. The problem is convex, so there is one
    answer whatever the start. What the recording does not determine stays close to the model's; the rest follows the
    data, the closer the more of them there are.

    Parameters
    ----------
    model : Model
        The robot, with the best guess of its inertias, such as those of its drawing. Where mimic joints are coupled,
        motion, forces and coefficients of terms are those of the independent coordinates: a coefficient is what all
        joints that move with a coordinate make together.
    q, qd, qdd, tau : array-like, shape (n, nq), (n, nv), (n, nv), (n, nv)
        Recording: motion and joint forces of n states, e.g. of `filtered_motion`.
    terms : sequence of {"damping", "friction", "armature", "offset"}
        Terms of the joints to be identified with the inertias. Those of the model are not read otherwise.
    slide : array-like, shape (n, nv), optional
        What to take for sign(qd) in dry friction; sign(qd) when left out.
    bodies : sequence of str or int, optional
        Bodies to identify, the others keep their inertias; all that have mass when left out.
    deviation : array-like, shape (nv,), optional
        Standard deviations of the measured joint forces; estimated from what least squares leave when left out.
    prior_weight : float
        Weight of the model's inertias, in measurements: above zero.

    Returns
    -------
    Identification
        Parameters, a model that has them, base parameters with deviations, residuals.

    Raises
    ------
    InputError
        For bad input, or a body without mass.
    """
    model, terms = asked.model, asked.terms
    require_model(model)
    motion = recording(model, asked.q, asked.qd, asked.qdd, asked.slide)
    force = checked(asked.tau, model.nv, "tau", model)
    if force.shape != motion[1].shape:
        raise InputError(f"tau: shape {motion[1].shape} of the recording is expected, got {force.shape}", name="tau")
    prior_weight = number_of("prior_weight", asked.prior_weight, "a positive number", lambda x: 0.0 < x < np.inf)
    chosen = chosen_bodies(model, asked.bodies)
    names = parameter_names(model, terms)
    own = parameters_of(model, range(model.n_bodies))
    start = np.concatenate([own.ravel(), np.zeros(len(names) - own.size)])
    kept = np.setdiff1d(np.arange(model.n_bodies), chosen)
    columns = np.concatenate([columns_of(chosen), np.arange(own.size, len(names))])
    known = np.where(np.isin(np.arange(len(names)) // 10, kept) & (np.arange(len(names)) < own.size), start, 0.0)
    noise = _given_deviation(model, asked.deviation)
    unknown_noise = noise is None
    scale = np.maximum(np.sqrt((force**2).mean(axis=0)), 1e-12)
    for _ in range(2 if unknown_noise else 1):
        R = compressed(model, motion, terms, force, scale if noise is None else noise)
        z = R[:, -1] - R[:, :-1] @ known
        base = reduce_columns(R[:, columns], [names[c] for c in columns], 1e-8)
        values = np.linalg.lstsq(R[:, columns][:, base.independent], z, rcond=None)[0]
        if unknown_noise:
            x = known.copy()
            x[columns[list(base.independent)]] += values
            freedom = max(len(force) - base.rank / max(model.nv, 1), 1.0)
            noise = np.sqrt(_squares(model, motion, terms, force, x) / freedom)
            noise = np.maximum(noise, 1e-6 * scale)
    assert noise is not None
    covariance = np.linalg.inv(R[:, columns][:, base.independent].T @ R[:, columns][:, base.independent])
    guess = _guess(model, terms, motion, scale)
    x = known.copy()
    free = np.repeat(np.array([term == "offset" for term in terms], dtype=bool), model.nv)
    x[columns], iterations = consistent_fit(R[:, columns], z, references(model, chosen), guess, free, prior_weight)
    parameters = x[: own.size].reshape(-1, 10)
    coefficients = {term: x[own.size + k * model.nv :][: model.nv] for k, term in enumerate(terms)}
    residual = np.sqrt(_squares(model, motion, terms, force, x) / len(force))
    told, deviations = np.asarray(values, np.float64), np.asarray(np.sqrt(np.diag(covariance)), np.float64)
    identified = with_parameters(model, chosen, parameters[chosen])
    return Identification(identified, parameters, coefficients, base, told, deviations, noise, residual, iterations)


def chosen_bodies(model: Model, bodies: Sequence[str | int] | None) -> list[int]:
    """Return indices of bodies, in order; of all that have mass for None; raises InputError."""
    if bodies is None:
        return [b for b in range(model.n_bodies) if model.inertia(b).mass > 0.0]
    if isinstance(bodies, str) or not isinstance(bodies, Iterable):
        raise InputError(f"bodies: names or numbers of bodies are expected, got {bodies!r}", name="bodies")
    chosen = sorted({model.moving_frame(b).body for b in bodies})
    for b in chosen:
        if model.inertia(b).mass <= 0.0:
            name = model.body_names[b]
            raise InputError(f"body {name!r} has no mass: a guess of its inertia is expected", name=name)
    return chosen


def parameters_of(model: Model, bodies: Iterable[int]) -> Array:
    """Return inertial parameters (k, 10) of bodies."""
    return np.array([model.inertia(b).parameters() for b in bodies]).reshape(-1, 10)


def columns_of(bodies: Sequence[int]) -> npt.NDArray[np.intp]:
    """Return the columns (10 k,) of bodies in a regressor."""
    return (10 * np.array(bodies, dtype=np.intp)[:, None] + np.arange(10)).ravel()


def with_parameters(model: Model, bodies: Sequence[int], parameters: Array) -> Model:
    """Return a model whose bodies have inertial parameters (k, 10)."""
    found = model
    for b, own in zip(bodies, parameters, strict=True):
        found = found.with_inertia(model.body_names[b], SpatialInertia.from_parameters(own))
    return found


def _given_deviation(model: Model, deviation: npt.ArrayLike | None) -> Array | None:
    if deviation is None:
        return None
    noise = checked(deviation, model.nv, "deviation", model)
    if noise.shape != (model.nv,) or (noise <= 0.0).any():
        raise InputError(f"deviation: {model.nv} positive numbers are expected, got {deviation!r}", name="deviation")
    return noise


def _squares(model: Model, motion: Recorded, terms: JointTerms, tau: Array, x: Array) -> Array:
    """Return the sums of squares (nv,) of what is left of the joint forces."""
    parts = [((tau[part] - Y @ x) ** 2).sum(axis=0) for part, Y in chunks(model, motion, terms)]
    return np.asarray(sum(parts))


def _guess(model: Model, terms: JointTerms, motion: Recorded, scale: Array) -> Array:
    """Return a size for each coefficient: the model's where it has one, else what makes a tenth of the joint force."""
    _, qd, qdd, _ = motion
    found = []
    for term in TERMS:
        if term not in terms:
            continue
        column = {"damping": qd, "armature": rotor_acceleration(model, qd, qdd)}.get(term, np.ones_like(qd))
        size = 0.1 * scale / np.maximum(np.sqrt((column**2).mean(axis=0)), 1e-12)
        own = getattr(model.limits, term, np.zeros(model.nv))
        found.append((term, np.where(own > 0.0, own, size)))
    by_name = dict(found)
    return np.concatenate([np.zeros(0), *(by_name[term] for term in terms)])
