"""Fits to measurements of a tool, of one kind: poses, positions, heights, or distances between places of it.

Gauss and Newton's steps are the shortest ones, so what no measurement determines stays where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt

from ..arrays import Array, ArrayLike, Mask
from ..errors import InputError, LieDynamicsError
from ..shown import shared_options
from . import se3, so3
from ._arrays import count_of, number_of, real_numbers

if TYPE_CHECKING:
    from typing import Unpack

#: Singular values below this share of the largest count as zero, columns being of one size.
_RANK = 1e-8
#: Share of a direction that no measurement shows, from which on a parameter counts as unidentifiable.
_SHOWN = 1e-3
State = TypeVar("State")


@dataclass(frozen=True, eq=False)
class ToolReadings:
    """Measurements of one kind, their standard deviations, and how they are to be fitted: see `tool_measured`."""

    points: Array
    turns: Array | None
    pairs: npt.NDArray[np.intp] | None
    lengths: Array
    noise: Sequence[float]
    level: bool = False  # heights alone
    fit_base: bool = False
    max_iterations: int = 50

    def residuals(self, tool: Array, sensitivity: Array) -> tuple[Array, Array]:
        """Return residuals in standard deviations, and their derivatives (..., p)."""
        shift, turn = self.noise
        p, dp = tool[:, :3, 3], sensitivity[:, 3:]
        if self.pairs is not None:
            arm = p[self.pairs[:, 0]] - p[self.pairs[:, 1]]
            length = np.linalg.norm(arm, axis=1)
            along = arm / np.maximum(length, 1e-12)[:, None]
            change = (along[:, None] @ (dp[self.pairs[:, 0]] - dp[self.pairs[:, 1]]))[:, 0]
            return (length - self.lengths) / shift, change / shift
        if self.level:
            return (p - self.points)[:, 2] / shift, dp[:, 2] / shift
        if self.turns is None:
            return (p - self.points) / shift, dp / shift
        error = so3.log(self.turns.transpose(0, 2, 1) @ tool[:, :3, :3])
        change = so3.right_jacobian_inverse(error) @ sensitivity[:, :3]
        rows = np.concatenate([error / turn, (p - self.points) / shift], axis=1)
        return rows, np.concatenate([change / turn, dp / shift], axis=1)


class PointMeasured(TypedDict, total=False):
    """Keywords of `point_measured`."""

    positions: ArrayLike | None
    heights: ArrayLike | None
    distances: tuple[ArrayLike, ArrayLike] | None
    fit_base: bool


def point_measured(
    q: Array,
    poses: ArrayLike | None,
    noise: Sequence[float],
    *,
    positions: ArrayLike | None = None,
    heights: ArrayLike | None = None,
    distances: tuple[ArrayLike, ArrayLike] | None = None,
    fit_base: bool = False,
) -> ToolReadings:
    """Return what was measured at the configurations q (k, n); errors as `calibrate_kinematics`."""
    kinds = {"poses": poses, "positions": positions, "heights": heights, "distances": distances}
    given = [name for name, x in kinds.items() if x is not None]
    if len(given) != 1:
        raise InputError(f"{', '.join(kinds)}: one of them is expected, got {len(given)}", name="poses")
    k, none = len(q), np.zeros(0)
    if poses is not None:
        T = se3.check(poses, "poses")
        if T.shape != (k, 4, 4):
            raise InputError(f"poses: shape ({k}, 4, 4) is expected, got {T.shape}", name="poses")
        return ToolReadings(T[:, :3, 3], T[:, :3, :3], None, none, noise, False, fit_base)
    if positions is not None:
        p = real_numbers(positions, "positions")
        if p.shape != (k, 3) or not np.isfinite(p).all():
            raise InputError(f"positions: {k} x 3 numbers are expected, got shape {p.shape}", name="positions")
        return ToolReadings(p, None, None, none, noise, False, fit_base)
    if heights is not None:
        z = real_numbers(heights, "heights")
        if z.shape != (k,) or not np.isfinite(z).all():
            raise InputError(f"heights: {k} numbers are expected, got shape {z.shape}", name="heights")
        return ToolReadings(np.column_stack([0.0 * z, 0.0 * z, z]), None, None, none, noise, True, fit_base)
    assert distances is not None
    pairs, lengths = np.asarray(distances[0]), real_numbers(distances[1], "distances")
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu" or lengths.shape != (len(pairs),):
        raise InputError("distances: pairs of indices (m, 2) and lengths (m,) are expected", name="distances")
    if pairs.size and not (pairs.min() >= 0 and pairs.max() < k and (pairs[:, 0] != pairs[:, 1]).all()):
        raise InputError(f"distances: two different indices below {k} are expected in each pair", name="distances")
    if not (np.isfinite(lengths) & (lengths > 0.0)).all():
        raise InputError("distances: positive numbers are expected", name="distances")
    return ToolReadings(none, None, pairs.astype(np.intp), lengths, noise, False, fit_base)


class ToolMeasured(PointMeasured, total=False):
    """Keywords of `tool_measured`."""

    poses: ArrayLike | None
    position_noise: float
    rotation_noise: float
    max_iterations: int


@shared_options(point_measured)
def tool_measured(
    q: Array,
    *,
    poses: ArrayLike | None = None,
    position_noise: float = 1e-4,
    rotation_noise: float = 3e-4,
    max_iterations: int = 50,
    **point: Unpack[PointMeasured],
) -> ToolReadings:
    """Return what was measured at the configurations q (k, n), as `calibrate_kinematics` takes it."""
    noise = [
        number_of(name, x, "a positive number", lambda v: 0.0 < v < np.inf)
        for name, x in (("position_noise", position_noise), ("rotation_noise", rotation_noise))
    ]
    most = count_of("max_iterations", max_iterations, 1, 10_000)
    return replace(point_measured(q, poses, noise, **point), max_iterations=most)


def shares_of(J: Array) -> tuple[int, Mask, Array]:
    """Return the rank of slopes (m, p), which parameters they do not determine (p,), and a factor of the covariance.

    The factor B (rank, p) has B^T B = (J^T J)^+, columns of J being brought to one size.
    """
    columns = np.linalg.norm(J, axis=0)
    columns = np.where(columns > 1e-12 * columns.max(initial=1e-300), columns, 1.0)
    _, sizes, right = np.linalg.svd(J / columns, full_matrices=True)
    rank = int((sizes > _RANK * sizes.max(initial=1e-300)).sum())
    none = right[rank:].T / columns[:, None]
    size = np.linalg.norm(none, axis=1) / max(np.linalg.norm(none), 1e-300)
    lost = size > _SHOWN if none.size else np.zeros(J.shape[1], dtype=np.bool_)
    return rank, lost, right[:rank] / sizes[:rank, None] / columns


@dataclass(frozen=True, eq=False)
class ToolCalibration:
    """Parameters that explain measurements of a tool, and how well they are known.

    Attributes
    ----------
    names : tuple of str
        Of the n parameters.
    values : ndarray, shape (n,)
        Changes of the nominal ones [m, rad]; 0 along what is not identifiable.
    covariance : ndarray, shape (n, n)
        Of the part of `values` that measurements determine.
    standard_deviations : ndarray, shape (n,)
        Of `values`; infinite where unidentifiable.
    rank : int
        Number of combinations of parameters that the measurements determine.
    unidentifiable : tuple of str
        Names of the parameters that take part in combinations that they do not determine.
    residuals : ndarray
        Predicted minus measured in units of their standard deviations: (k, 6) of poses, turn first, (k, 3) of
        positions, (k,) of heights and distances.
    chi_square, degrees_of_freedom : float, int
        Sum of squared residuals, and what it is on average where model and noise are right.
    iterations, converged : int, bool
        Steps of Gauss and Newton, and whether the last was below a thousandth of each standard deviation.
    """

    names: tuple[str, ...]
    values: Array
    covariance: Array
    standard_deviations: Array
    rank: int
    unidentifiable: tuple[str, ...]
    residuals: Array
    chi_square: float
    degrees_of_freedom: int
    iterations: int
    converged: bool


@dataclass(frozen=True)
class ToolFit(Generic[State]):
    """Result of Gauss and Newton's method: values (n,), residuals, their slopes (m, n), and what belongs to them."""

    values: Array
    rows: Array
    slopes: Array
    state: State
    steps: int
    converged: bool

    def calibration(self, names: tuple[str, ...], prior: Array) -> ToolCalibration:
        """Return the values by their names, and how well they are known with a prior as of `fit_of`."""
        rank, lost, back = shares_of(self.slopes)
        if prior.any():
            _, _, back = shares_of(np.concatenate([self.slopes, np.diag(prior)]))
        covariance, rows = back.T @ back, self.rows
        gone = tuple(name for name, yes in zip(names, lost, strict=True) if yes)
        spread = np.where(lost, np.inf, np.sqrt(np.diag(covariance)))
        return ToolCalibration(
            names, self.values, covariance, spread, rank, gone, rows, float((rows**2).sum()), rows.size - rank,
            self.steps, self.converged,
        )  # fmt: skip


def fit_of(
    at: Callable[[Array, State], tuple[Array, Array, State]], values: Array, state: State, prior: Array, most: int
) -> ToolFit[State]:
    """Return the values (n,) with the least squares of residuals, and of the values times `prior` (n,).

    `at` returns residuals, their slopes (..., n) and a state, from values and the state before; an error where there
    are none.
    """

    def cost(rows: Array, at: Array) -> float:
        return float((rows**2).sum() + ((prior * at) ** 2).sum())

    count, converged, steps = len(values), False, 0
    rows, J, state = at(values, state)
    for steps in range(1, most + 1):  # noqa: B007  given to the caller
        whole = np.concatenate([J.reshape(-1, count), np.diag(prior)])
        _, _, back = shares_of(whole)
        step = -back.T @ (back @ (whole.T @ np.concatenate([rows.ravel(), prior * values])))
        small = (np.abs(step) <= 1e-3 * np.sqrt((back**2).sum(axis=0)) + 1e-15).all()
        part, best = 1.0, cost(rows, values)
        while True:  # half the step as long as it does no good
            try:
                trial, more, moved = at(values + part * step, state)
                good = cost(trial, values + part * step) <= best * (1.0 + 1e-9) + 1e-12
            except LieDynamicsError:
                good = False
            if good or part < 1e-3:
                break
            part *= 0.5
        if good:
            values, rows, J, state = values + part * step, trial, more, moved
        if small or not good:
            converged = bool(small)
            break
    return ToolFit(values, rows, J.reshape(-1, count), state, steps, converged)
