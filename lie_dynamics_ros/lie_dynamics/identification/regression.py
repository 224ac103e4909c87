"""Joint forces as linear functions of inertial parameters, losses, rotors and offsets, stacked over a recording.

Base parameters are the combinations of these that joint forces depend on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.derivatives.inverse_derivatives import torque_regressor
from ..dynamics.derivatives.parameters import INERTIAL_PARAMETERS
from ..dynamics.losses import friction_columns, rotor_acceleration
from ..errors import InputError
from ..lie._arrays import count_of, number_of
from ..model.arguments import require_model
from ..model.configuration import checked
from ..model.model import Model

#: Terms of a joint, each with a coefficient for each coordinate: force d qd, f sign(qd), a qdd, and a constant.
TERMS = ("damping", "friction", "armature", "offset")
JointTerms = Sequence[str]

#: q, qd, qdd and what stands for sign(qd), of n states each.
Recorded = tuple[Array, Array, Array, Array]

_CHUNK = 512


def parameter_names(model: Model, terms: JointTerms = ()) -> tuple[str, ...]:
    """Return a name for each column of `regression`, such as "m(forearm)" or "damping(elbow)"."""
    require_model(model)
    _check_terms(terms)
    coordinates = [
        joint.name if joint.type.nv == 1 else f"{joint.name}[{k}]"
        for joint in model.joints
        if not joint.coupled
        for k in range(joint.type.nv)
    ]
    names = [f"{what}({body})" for body in model.body_names for what in INERTIAL_PARAMETERS]
    return (*names, *(f"{term}({name})" for term in terms for name in coordinates))


def regression(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    terms: JointTerms = (),
    slide: npt.ArrayLike | None = None,
) -> Array:
    """Return Y with tau = Y (pi, coefficients of terms), gravity included.

    Parameters
    ----------
    model : Model
        The robot; neither its inertias nor its losses and rotors are read.
    q, qd, qdd : array-like, shape (..., nq), (..., nv), (..., nv)
        Motion.
    terms : sequence of {"damping", "friction", "armature", "offset"}
        Further columns, nv for each: qd, sign(qd), qdd and 1 on the diagonal.
    slide : array-like, shape (..., nv), optional
        What to take for sign(qd), such as its low-pass filtered values where joint forces are filtered.

    Returns
    -------
    ndarray, shape (..., nv, 10 n_bodies + nv len(terms))
        Y; columns as `parameter_names` has them.

    Raises
    ------
    InputError
        For bad input, or a term that there is not.
    """
    require_model(model)
    _check_terms(terms)
    Y = torque_regressor(model, q, qd, qdd)
    rates, accelerations = checked(qd, model.nv, "qd", model), checked(qdd, model.nv, "qdd", model)
    signs = np.sign(rates) if slide is None else checked(slide, model.nv, "slide", model)
    rotors = rotor_acceleration(model, rates, accelerations)
    values = {"damping": rates, "armature": rotors, "offset": np.ones(model.nv)}
    blocks = {term: value[..., None] * np.eye(model.nv) for term, value in values.items()}
    blocks["friction"] = friction_columns(model, q, signs, rates)
    columns = [np.broadcast_to(blocks[term], (*Y.shape[:-1], model.nv)) for term in terms]
    return np.concatenate([Y, *columns], axis=-1)


def _check_terms(terms: JointTerms) -> None:
    try:
        good = not isinstance(terms, str) and set(terms) <= set(TERMS) and len(set(terms)) == len(terms)
    except TypeError:  # not to be counted, or not to be hashed
        good = False
    if not good:
        raise InputError(f"terms: some of {TERMS}, each once, are expected, got {terms!r}", name="terms", value=terms)


def recording(
    model: Model, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike, slide: npt.ArrayLike | None = None
) -> Recorded:
    """Return the arrays of a recording, n states each, or raise an InputError."""
    rates = checked(qd, model.nv, "qd", model)
    signs = np.sign(rates) if slide is None else checked(slide, model.nv, "slide", model)
    arrays = checked(q, model.nq, "q", model), rates, checked(qdd, model.nv, "qdd", model), signs
    if any(a.ndim != 2 for a in arrays) or len({len(a) for a in arrays}) != 1:
        shapes = [a.shape for a in arrays]
        raise InputError(f"recording: q, qd and qdd of n states each are expected, got shapes {shapes}")
    return arrays


def chunks(model: Model, motion: Recorded, terms: JointTerms) -> Iterator[tuple[slice, Array]]:
    """Yield parts of a recording and their Y, so that a long one needs little memory."""
    q, qd, qdd, slide = motion
    for start in range(0, len(q), _CHUNK):
        part = slice(start, start + _CHUNK)
        yield part, regression(model, q[part], qd[part], qdd[part], terms, slide[part])


def compressed(model: Model, motion: Recorded, terms: JointTerms, tau: Array, deviation: Array) -> Array:
    """Return the triangular factor R of [Y, tau] with rows divided by the deviation of their joint.

    It holds all there is to least squares, ``|Y x - tau|^2 = |R (x, -1)|^2``, without squaring the condition of Y.
    """
    columns = 10 * model.n_bodies + model.nv * len(terms) + 1
    R: Array = np.zeros((0, columns))
    for part, Y in chunks(model, motion, terms):
        rows = np.concatenate([Y, tau[part, :, None]], axis=-1) / deviation[:, None]
        R = np.asarray(np.linalg.qr(np.concatenate([R, rows.reshape(-1, columns)]), mode="r"))
    return R


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Identifiable parameters, and what each of them stands for.

    Joint forces are ``Y[:, independent] @ base`` with ``base = combinations @ all``: each base parameter is one of the
    original parameters plus multiples of those that act like it.

    Attributes
    ----------
    names : tuple of str
        Names of all p parameters.
    independent : tuple of int
        The r parameters that stand for the base parameters.
    combinations : ndarray, shape (r, p)
        Weights; the identity in the columns of `independent`.
    without_effect : tuple of int
        Parameters that no joint force depends on.
    singular_values : ndarray, shape (p,)
        Of Y with columns of length one, in falling order; those beyond the rank are round-off.
    """

    names: tuple[str, ...]
    independent: tuple[int, ...]
    combinations: Array
    without_effect: tuple[int, ...]
    singular_values: Array

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.independent)

    @property
    def condition(self) -> float:
        """Condition number of the base regressor with columns of length one: small for a motion that excites all."""
        kept = self.singular_values[: self.rank]
        return float(kept[0] / kept[-1]) if self.rank else 1.0

    @property
    def gap(self) -> float:
        """Smallest singular value kept over the largest one dropped; large where the rank is beyond doubt."""
        if self.rank in (0, len(self.names)):
            return np.inf
        dropped = float(self.singular_values[self.rank])
        return np.inf if dropped == 0.0 else float(self.singular_values[self.rank - 1] / dropped)

    def values(self, parameters: npt.ArrayLike) -> Array:
        """Return the base parameters (..., r) of all parameters (..., p)."""
        return np.asarray(np.asarray(parameters) @ self.combinations.T)

    def expressions(self, tolerance: float = 1e-9) -> tuple[str, ...]:
        """Return each base parameter as a sum, such as "Izz(upper) + 0.25 m(lower)"."""
        found = []
        for row, independent in zip(self.combinations, self.independent, strict=True):
            text = self.names[independent]
            for k in np.nonzero(np.abs(row) > tolerance)[0]:
                if k == independent:
                    continue
                size = "" if abs(abs(row[k]) - 1.0) < tolerance else f"{abs(row[k]):.6g} "
                text += f" {'+' if row[k] > 0 else '-'} {size}{self.names[k]}"
            found.append(text)
        return tuple(found)

    def report(self) -> str:
        """Return the rank, how sure it is, and all combinations."""
        lines = [
            f"{self.rank} base parameters of {len(self.names)}; {len(self.without_effect)} have no effect",
            f"condition {self.condition:.3g}; singular values on both sides of the rank differ by {self.gap:.3g}",
        ]
        return "\n".join(lines + [f"  {k + 1:3d}  {text}" for k, text in enumerate(self.expressions())])


def base_parameters(
    model: Model,
    q: npt.ArrayLike | None = None,
    qd: npt.ArrayLike | None = None,
    qdd: npt.ArrayLike | None = None,
    *,
    terms: JointTerms = (),
    tolerance: float = 1e-8,
    seed: int = 0,
) -> BaseParameters:
    """Return the combinations of parameters that joint forces depend on.

    Columns of the regressor are taken in order: one that the columns before it can make up, but for `tolerance` of its
    length, is dropped and its parameter added to theirs. So the mass of a link is part of the inertia of those before.

    Parameters
    ----------
    model : Model
        The robot.
    q, qd, qdd : array-like, shape (n, nq), (n, nv), (n, nv), optional
        Motion: what it does not excite is not identified. Left out, random states are taken, and the result is a
        property of the robot.
    terms : sequence of str
        Terms of the joints, as in `regression`.
    tolerance : float
        Part of a column's length below which what is left of it counts as round-off, or as too little excited.
    seed : int
        Of the random states.

    Raises
    ------
    InputError
        For bad input.
    """
    require_model(model)
    if (q is None) != (qd is None) or (q is None) != (qdd is None):
        raise InputError("base parameters: q, qd and qdd are expected together, or none of them")
    names = parameter_names(model, terms)
    tolerance = number_of("tolerance", tolerance, "a number from 0 to 1", lambda x: 0.0 <= x < 1.0)
    seed = count_of("seed", seed, 0, 2**63 - 1)
    if q is None or qd is None or qdd is None:
        rng = np.random.default_rng(seed)
        count = 2 * len(names) // max(model.nv, 1) + 20
        q = np.array([model.random(rng) for _ in range(count)])
        qd, qdd = rng.uniform(-3.0, 3.0, (2, count, model.nv))
    motion = recording(model, q, qd, qdd)
    R = compressed(model, motion, terms, np.zeros_like(motion[1]), np.ones(model.nv))[:, :-1]
    return reduce_columns(R, names, tolerance)


def reduce_columns(Y: Array, names: Sequence[str], tolerance: float) -> BaseParameters:
    """Return the base parameters of a regressor (rows, p)."""
    length = np.linalg.norm(Y, axis=0)
    present = length > tolerance * (length.max() if length.size else 0.0)
    scaled = Y / np.where(present, length, 1.0)
    independent: list[int] = []
    Q = np.zeros((len(Y), 0))
    for k in np.nonzero(present)[0]:
        rest = scaled[:, k]
        for _ in range(2):  # once more: what is left may be mostly round-off of the first time
            rest = rest - Q @ (Q.T @ rest)
        size = np.linalg.norm(rest)
        if size > tolerance:
            independent.append(int(k))
            Q = np.concatenate([Q, (rest / size)[:, None]], axis=1)
    combinations = np.linalg.lstsq(scaled[:, independent], scaled * present, rcond=None)[0]
    combinations = combinations / length[independent, None] * length
    combinations[np.abs(combinations) < 10.0 * tolerance] = 0.0
    combinations[:, independent] = np.eye(len(independent))
    values = np.linalg.svd(scaled * present, compute_uv=False)
    values = np.concatenate([values, np.zeros(len(names) - len(values))])
    nothing = tuple(int(k) for k in np.nonzero(~present)[0])
    return BaseParameters(tuple(names), tuple(independent), combinations, nothing, values)
