"""Calibration parameters that measurements determine, alone or only in combination.

The weighted Jacobian of the calibration problem, poses eliminated, is split by its singular values. Directions without
weight are changes of the geometry that no reading would notice: part of them are gauge, a common motion of all joints
of one side that renames a frame; others come from poses that vary too little. Where gains are estimated and nothing
else gives a length, all lengths may grow alike: the overall scale is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from .parameters import Parameters

#: Singular values below this share of the largest count as zero.
RANK_TOLERANCE = 1e-9
_SHOWN = 1e-3
_MAX_TERMS = 8


@dataclass(frozen=True)
class IdentifiabilityReport:
    """Information of measurements on the n parameters of a calibration, see `Parameters`; 42 of six legs without gains.

    Attributes
    ----------
    singular_values : (n,), of the weighted Jacobian [1/m], largest first.
    rank : how many parameter combinations are identifiable.
    null_space : (n, n - rank), orthonormal; changes of the parameters that leave every reading alone.
    gauge : how many of them are motions of the base frame or the platform frame.
    scale_lost : whether one of them is the overall scale of geometry, offsets and gains, all of which may grow alike.
    unidentifiable : names of the parameters that take part in the null space.
    combinations : one line for each null direction, with the parameters that move together.
    standard_deviations : (n,) [m], of gains [1], of each parameter; inf for those that are not identifiable.
    covariance : (n, n) [m^2], of the identifiable part (pseudo-inverse of the information matrix), of gains times
        ``parameters.gain_length``.
    parameters : their names and units.
    """

    singular_values: Array
    rank: int
    null_space: Array
    gauge: int
    scale_lost: bool
    unidentifiable: tuple[str, ...]
    combinations: tuple[str, ...]
    standard_deviations: Array
    covariance: Array
    parameters: Parameters

    @property
    def condition_number(self) -> float:
        """Largest over smallest singular value of the identifiable part."""
        return float(self.singular_values[0] / self.singular_values[self.rank - 1]) if self.rank else float("inf")

    def __str__(self) -> str:
        """Summarise in a few lines."""
        condition = f"condition number {self.condition_number:.2e}"
        lines = [f"{self.rank} of {self.parameters.count} parameter combinations identifiable, {condition}"]
        if self.rank == self.parameters.count:
            alike = self.standard_deviations / self.parameters.units
            worst = int(np.argmax(alike))
            unit = " m" if self.parameters.units[worst] == 1.0 else ""
            lines.append(
                f"least certain: {self.parameters.names[worst]}, standard deviation "
                f"{self.standard_deviations[worst]:.2e}{unit}"
            )
        else:
            scale = ", one the overall scale" if self.scale_lost else ""
            lines.append(
                f"{self.null_space.shape[1]} not identifiable, {self.gauge} of them choices of frame (gauge){scale}:"
            )
            lines += [f"  {line}" for line in self.combinations]
        return "\n".join(lines)


def identifiability(
    jacobian: Array, theta: Array, parameters: Parameters, tolerance: float = RANK_TOLERANCE
) -> IdentifiabilityReport:
    """Analyse a weighted Jacobian (m, n) of the calibration problem at parameters (n,)."""
    values, directions = _right_singular(jacobian)
    rank = int((values > tolerance * values[0]).sum()) if values[0] > 0.0 else 0
    null_space = directions[rank:].T
    scaled = directions[:rank].T / values[:rank]
    covariance = scaled @ scaled.T
    share = np.sqrt((null_space**2).sum(axis=1))
    lost = share > _SHOWN
    deviations = np.where(lost, np.inf, np.sqrt(np.diag(covariance))) * parameters.units
    return IdentifiabilityReport(
        values,
        rank,
        null_space,
        _gauge_dimension(null_space, parameters.generators(theta)),
        _loses_scale(jacobian, theta, parameters, float(values[0])),
        tuple(name for name, gone in zip(parameters.names, lost, strict=True) if gone),
        tuple(_describe(direction, parameters.names) for direction in sparse_basis(null_space).T),
        deviations,
        covariance,
        parameters,
    )


def _right_singular(jacobian: Array) -> tuple[Array, Array]:
    """Singular values (n,) and right singular vectors (n, n), also for fewer rows than columns."""
    count = jacobian.shape[1]
    rows = np.vstack([jacobian, np.zeros((max(count - len(jacobian), 0), count))])
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    return values, directions


def _loses_scale(jacobian: Array, theta: Array, parameters: Parameters, largest: float) -> bool:
    """Return whether no reading would notice that all lengths grow alike."""
    if parameters.gain_length is None:
        return False
    growth = parameters.scaling(theta)
    return bool(np.linalg.norm(jacobian @ growth) <= RANK_TOLERANCE * largest * np.linalg.norm(growth))


def _gauge_dimension(null_space: Array, generators: Array) -> int:
    """Dimension of the intersection of the null space with the motions of the two frames."""
    if not null_space.size:
        return 0
    basis, _ = np.linalg.qr(generators)
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


def _describe(direction: Array, names: tuple[str, ...]) -> str:
    """Write a null direction as the parameters that move together."""
    order = np.argsort(-np.abs(direction))
    terms = [index for index in order if abs(direction[index]) > _SHOWN * abs(direction[order[0]])]
    text = ", ".join(f"{names[index]} by {direction[index]:+.3f}" for index in terms[:_MAX_TERMS])
    rest = len(terms) - _MAX_TERMS
    return text + (f" and {rest} more" if rest > 0 else "")
