"""Options of constrained dynamics, and how joint forces and multipliers share a load.

tau_a + A_a^T lambda = tau_ar, A_p^T lambda = tau_pr - tau_p, Kim (56)-(66).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, TypedDict

import numpy as np

from ..arrays import Array, ArrayLike
from ..errors import InputError
from ..lie._arrays import as_numbers

#: Singular values that are smaller, relative to the norm of A, count as zero.
RANK_CUT = 1e-10

#: Diagonal entries of a triangulation that are larger, relative to the norm of A, leave no doubt about the rank.
PLAIN_CUT = np.array([1e4 * RANK_CUT])

RESOLUTIONS = ("least_constraint_force", "least_torque", "weighted")


class Objective(NamedTuple):
    """Square roots of the weights in sum of (torque_i tau_i)^2 + sum of (force_k lambda_k)^2.

    `roots` are both in one array, or empty for the sum of the squares of the multipliers.
    """

    torque: Array
    force: Array
    roots: Array


@dataclass(frozen=True, eq=False)
class Resolution:
    """Choice of forces where they are not unique.

    Parameters
    ----------
    kind : {"least_constraint_force", "least_torque", "weighted"}
        What is smallest: the sum of squares of the multipliers, Kim (59); of the joint forces, Kim (62)-(66); or of
        both with weights.
    torque_weights, force_weights : array-like, optional
        For "weighted": of the squares of the actuated joint forces (n_a,) and of the multipliers (m,), or one number.
    """

    kind: str = "least_constraint_force"
    torque_weights: ArrayLike | None = None
    force_weights: ArrayLike | None = None

    def objective(self, n_a: int, m: int) -> Objective:
        """Return what is minimised over `n_a` joint forces and `m` multipliers.

        Raises
        ------
        InputError
            For an unknown resolution, or weights that do not fit.
        """
        kind = self.kind
        if not isinstance(kind, str) or kind not in RESOLUTIONS:
            raise InputError(f"resolution: one of {list(RESOLUTIONS)} is expected, got {kind!r}", name="resolution")
        if kind != "weighted":
            if self.torque_weights is not None or self.force_weights is not None:
                raise InputError(f"weights belong to resolution 'weighted', not {kind!r}", name="resolution")
            return _without_weights(kind == "least_torque", n_a, m)
        roots = []
        of_torque, of_force = ("torque_weights", self.torque_weights, n_a), ("force_weights", self.force_weights, m)
        for name, given, size in (of_torque, of_force):
            values = as_numbers(0.0 if given is None else given, name).real
            if values.shape not in ((), (size,)) or not np.isfinite(values).all() or (values < 0.0).any():
                raise InputError(f"{name}: one number or {size}, none negative, are expected, got {given!r}", name=name)
            roots.append(np.sqrt(np.broadcast_to(values, (size,))))
        if not ((roots[0] > 0.0).all() or (roots[1] > 0.0).all()):
            raise InputError(
                "torque_weights, force_weights: all of the one or all of the other must be above zero, or the optimum "
                "is not unique",
                name="torque_weights",
            )
        return Objective(roots[0], roots[1], np.concatenate(roots))


@cache
def _without_weights(least_torque: bool, n_a: int, m: int) -> Objective:
    torque, force = (np.ones(n_a), np.zeros(m)) if least_torque else (np.zeros(n_a), np.ones(m))
    return Objective(torque, force, np.concatenate([torque, force]) if least_torque else force[:0])


USUAL = Resolution()


class ForceOptions(TypedDict, total=False):
    """Keywords of `resolution_of`: the fields of `Resolution`."""

    resolution: str
    torque_weights: ArrayLike | None
    force_weights: ArrayLike | None


def resolution_of(
    *,
    resolution: str = "least_constraint_force",
    torque_weights: ArrayLike | None = None,
    force_weights: ArrayLike | None = None,
) -> Resolution:
    """Return a resolution, `USUAL` itself where it is that."""
    usual = type(resolution) is str and resolution == USUAL.kind and torque_weights is None and force_weights is None
    return USUAL if usual else Resolution(resolution, torque_weights, force_weights)


class InverseOptions(ForceOptions, total=False):
    """Keywords of `inverse_options`: what of `constrained_inverse_dynamics` its derivatives take."""

    actuated: ArrayLike | None
    passive_torque: ArrayLike | None


def inverse_options(
    *,
    actuated: ArrayLike | None = None,
    passive_torque: ArrayLike | None = None,
    resolution: str = "least_constraint_force",
    torque_weights: ArrayLike | None = None,
    force_weights: ArrayLike | None = None,
) -> tuple[Resolution, tuple[ArrayLike | None, ArrayLike | None]]:
    """Return the resolution of inverse dynamics, and which coordinates have actuators and what acts at the others."""
    chosen = resolution_of(resolution=resolution, torque_weights=torque_weights, force_weights=force_weights)
    return chosen, (actuated, passive_torque)


@dataclass(frozen=True)
class Baumgarte:
    """Baumgarte's stabilisation: errors f of the constraints decay like a damped oscillator.

    A qdd + dA/dt qd = -2 damping_ratio frequency A qd - frequency^2 f

    It keeps drift small, not zero, and does a little work. `project_to_constraints` removes drift altogether; use that
    for simulation.

    Parameters
    ----------
    frequency : float
        [rad/s]; some tenth of the rate at which a simulation steps.
    damping_ratio : float
        One is critical.
    """

    frequency: float
    damping_ratio: float = 1.0

    def __post_init__(self) -> None:
        if not (0.0 <= self.frequency < np.inf and 0.0 <= self.damping_ratio < np.inf):
            raise InputError(f"Baumgarte: frequency and damping ratio must be finite and not negative, got {self}")

    @property
    def gains(self) -> tuple[float, float]:
        """Factors of the errors in velocity [1/s] and position [1/s^2]."""
        return 2.0 * self.damping_ratio * self.frequency, self.frequency**2


def constraint_rank(jacobian: Array) -> int:
    """Return the number of independent rows of A (m, nv)."""
    values = np.linalg.svd(jacobian, compute_uv=False)
    return int((values > RANK_CUT * values.max(initial=0.0)).sum())


def resolve(
    active: Array, passive: Array, load_a: Array, load_p: Array, goal: Objective, bounds: tuple[Array, Array] | None
) -> tuple[Array, Array, int]:
    """Return tau_a, lambda and the rank of A_p, for A_a (m, n_a), A_p (m, n_p), tau_ar, tau_pr - tau_p.

    Raises InputError if no tau_a within the bounds does it.
    """
    u, s, vt = np.linalg.svd(passive)
    rank = int((s > RANK_CUT * np.hypot(np.linalg.norm(active), np.linalg.norm(passive))).sum())
    base = u[:, :rank] @ ((vt[:rank] @ load_p) / s[:rank])  # Kim (59), the pseudo-inverse
    null = u[:, rank:]
    torque = load_a - active.T @ base
    if null.shape[1] == 0:
        if bounds is not None:
            _check_bounds(torque, bounds)
        return torque, base, rank
    # Over lambda = base + null s, the torques are torque - slope s.
    slope = active.T @ null
    rows = np.concatenate([goal.torque[:, None] * slope, goal.force[:, None] * null])
    wanted = np.concatenate([goal.torque * torque, -goal.force * base])
    p, d, qt = np.linalg.svd(rows, full_matrices=False)
    # Measured by A itself: where null directions are of no consequence for torques, slope is round-off throughout.
    keep = d > RANK_CUT * np.hypot(np.linalg.norm(goal.torque[:, None] * active.T), goal.force.max(initial=0.0))
    basis = qt[keep].T / d[keep]  # of those s that matter; the others would only make lambda longer
    best = p[:, keep].T @ wanted
    if bounds is not None:
        best = best + _within(slope @ basis, torque - slope @ (basis @ best), bounds)
    shift = basis @ best
    return torque - slope @ shift, base + null @ shift, rank


def _within(slope: Array, torque: Array, bounds: tuple[Array, Array]) -> Array:
    """Return the shortest x with lower <= torque - slope x <= upper: least distance programming by way of NNLS."""
    lower, upper = bounds
    rows = np.concatenate([-slope, slope])
    needs = np.concatenate([lower - torque, torque - upper])
    finite = np.isfinite(needs)
    rows, needs = rows[finite], needs[finite]
    if (needs <= 0.0).all():
        return np.zeros(slope.shape[1])
    from scipy.optimize import nnls

    scale = max(float(np.abs(needs).max()), 1e-300)
    system = np.concatenate([rows.T, needs[None] / scale])
    target = np.append(np.zeros(slope.shape[1]), 1.0)
    rest = system @ nnls(system, target)[0] - target
    if np.linalg.norm(rest) > 1e-9:
        x = -scale * rest[:-1] / rest[-1]
        _check_bounds(torque - slope @ x, bounds, 1e-6)
        return np.asarray(x)
    _check_bounds(torque, bounds)
    return np.zeros(slope.shape[1])  # unreachable: some bound is violated at x = 0


def _check_bounds(torque: Array, bounds: tuple[Array, Array], slack: float = 1e-9) -> None:
    lower, upper = bounds
    over = np.maximum(lower - torque, torque - upper)
    worst = int(np.argmax(over))
    if over[worst] > slack * (1.0 + np.abs(torque).max()):
        raise InputError(
            f"torque_limits: no joint forces within them do this motion; actuated coordinate {worst} would need "
            f"{torque[worst]:.6g}, from {lower[worst]:.6g} to {upper[worst]:.6g} is allowed",
            name="torque_limits",
            value=float(torque[worst]),
        )
