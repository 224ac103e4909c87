"""Which of the 42 calibration parameters a set of measurements can tell, and which only in combination.

The weighted Jacobian of the calibration problem, poses eliminated, is split by its singular values. Directions without
weight are changes of the geometry that no reading would notice: part of them are gauge, a common motion of all joints
of one side that renames a frame; others come from poses that vary too little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.inverse_kinematics import Array
from .model import N_PARAMETERS, PARAMETERS

#: Singular values below this share of the largest count as zero.
RANK_TOLERANCE = 1e-9
_SHOWN = 1e-3
_MAX_TERMS = 8


@dataclass(frozen=True)
class IdentifiabilityReport:
    """What measurements say about the parameters of `calibration_model.PARAMETERS`.

    Attributes
    ----------
    singular_values : (42,), of the weighted Jacobian [1/m], largest first.
    rank : how many parameter combinations are identifiable.
    null_space : (42, 42 - rank), orthonormal; changes of the parameters that leave every reading alone.
    gauge : how many of them are motions of the base frame or the platform frame.
    unidentifiable : names of the parameters that take part in the null space.
    combinations : one line for each null direction, with the parameters that move together.
    standard_deviations : (42,) [m], of each parameter; inf for those that are not identifiable.
    covariance : (42, 42) [m^2], of the identifiable part (pseudo-inverse of the information matrix).
    """

    singular_values: Array
    rank: int
    null_space: Array
    gauge: int
    unidentifiable: tuple[str, ...]
    combinations: tuple[str, ...]
    standard_deviations: Array
    covariance: Array

    @property
    def condition_number(self) -> float:
        """Largest over smallest singular value of the identifiable part."""
        return float(self.singular_values[0] / self.singular_values[self.rank - 1]) if self.rank else float("inf")

    def __str__(self) -> str:
        """Summarise in a few lines."""
        condition = f"condition number {self.condition_number:.2e}"
        lines = [f"{self.rank} of {N_PARAMETERS} parameter combinations identifiable, {condition}"]
        if self.rank == N_PARAMETERS:
            worst = int(np.argmax(self.standard_deviations))
            lines.append(
                f"least certain: {PARAMETERS[worst]}, standard deviation {self.standard_deviations[worst]:.2e} m"
            )
        else:
            lines.append(f"{self.null_space.shape[1]} not identifiable, {self.gauge} of them choices of frame (gauge):")
            lines += [f"  {line}" for line in self.combinations]
        return "\n".join(lines)


def identifiability(
    jacobian: Array, base_points: Array, platform_points: Array, tolerance: float = RANK_TOLERANCE
) -> IdentifiabilityReport:
    """Analyse a weighted Jacobian (m, 42) of the calibration problem at a geometry (6, 3), (6, 3)."""
    values, directions = _right_singular(jacobian)
    rank = int((values > tolerance * values[0]).sum()) if values[0] > 0.0 else 0
    null_space = directions[rank:].T
    scaled = directions[:rank].T / values[:rank]
    covariance = scaled @ scaled.T
    share = np.sqrt((null_space**2).sum(axis=1))
    lost = share > _SHOWN
    deviations = np.where(lost, np.inf, np.sqrt(np.diag(covariance)))
    return IdentifiabilityReport(
        values,
        rank,
        null_space,
        _gauge_dimension(null_space, base_points, platform_points),
        tuple(name for name, gone in zip(PARAMETERS, lost, strict=True) if gone),
        tuple(_describe(direction) for direction in sparse_basis(null_space).T),
        deviations,
        covariance,
    )


def _right_singular(jacobian: Array) -> tuple[Array, Array]:
    """Singular values (42,) and right singular vectors (42, 42), also for fewer rows than columns."""
    rows = np.vstack([jacobian, np.zeros((max(N_PARAMETERS - len(jacobian), 0), N_PARAMETERS))])
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    return values, directions


def gauge_generators(base_points: Array, platform_points: Array) -> Array:
    """Parameter changes (42, 12) of rigid motions of all base joints (six) and of all platform joints (six)."""
    generators = np.zeros((N_PARAMETERS, 12))
    for side, points in enumerate((base_points, platform_points)):
        for axis, unit in enumerate(np.eye(3)):
            rows = slice(18 * side, 18 * side + 18)
            generators[rows, 6 * side + axis] = np.cross(unit, points).ravel()
            generators[rows, 6 * side + 3 + axis] = np.tile(unit, 6)
    return generators


def _gauge_dimension(null_space: Array, base_points: Array, platform_points: Array) -> int:
    """Dimension of the intersection of the null space with the motions of the two frames."""
    if not null_space.size:
        return 0
    basis, _ = np.linalg.qr(gauge_generators(base_points, platform_points))
    # Cosines of the principal angles between the two subspaces; 1 for common directions.
    return int((np.linalg.svd(basis.T @ null_space, compute_uv=False) > 1.0 - 1e-6).sum())


def sparse_basis(null_space: Array) -> Array:
    """Basis of the same space in which each direction has a parameter of its own, so that it can be read."""
    if not null_space.size:
        return null_space
    from scipy.linalg import qr

    _, _, order = qr(null_space.T, pivoting=True)
    own = order[: null_space.shape[1]]
    basis: Array = null_space @ np.linalg.inv(null_space[own])
    return basis


def _describe(direction: Array) -> str:
    """Write a null direction as the parameters that move together."""
    order = np.argsort(-np.abs(direction))
    terms = [index for index in order if abs(direction[index]) > _SHOWN * abs(direction[order[0]])]
    text = ", ".join(f"{PARAMETERS[index]} by {direction[index]:+.3f}" for index in terms[:_MAX_TERMS])
    rest = len(terms) - _MAX_TERMS
    return text + (f" and {rest} more" if rest > 0 else "")
