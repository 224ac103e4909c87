"""The fastest rates of time along a path whose limits are linear in the change of the rate and in its square."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import LieDynamicsError


@dataclass(frozen=True, eq=False)
class Limited:
    """Values slope * s'' + square * s'^2 + rest within lower and upper, at each step of a path.

    Attributes
    ----------
    slope, square, rest, lower, upper : ndarray, shape (k, r)
    most : ndarray, shape (k,)
        Largest s'^2 by velocity limits.
    """

    slope: Array
    square: Array
    rest: Array
    lower: Array
    upper: Array
    most: Array

    @classmethod
    def of_steps(cls, begin: Limited, end: Limited, steps: Array) -> Limited:
        """Return limits at both ends of each step; s'' is constant in it, so s'^2 grows by 2 s'' times the step."""
        slope = np.hstack([begin.slope, end.slope + 2.0 * steps[:, None] * end.square])
        square, rest = np.hstack([begin.square, end.square]), np.hstack([begin.rest, end.rest])
        lower, upper = np.hstack([begin.lower, end.lower]), np.hstack([begin.upper, end.upper])
        most = np.append(begin.most, end.most[-1])
        most[1:-1] = np.minimum(begin.most[1:], end.most[:-1])
        return cls(slope, square, rest, lower, upper, most)


def fastest_rates(limited: Limited, grid: Array, fastest: float) -> Array | None:
    """Return the largest s'^2 (k + 1,) at the points of a grid (k + 1,) that keep the limits, or None where none do.

    Where the path begins and ends any rate up to ``fastest`` may stand: a robot at rest there is at rest at every rate.
    """
    solver = _solver(limited, grid, fastest)
    count = grid.size - 1
    reach = np.zeros((count + 1, 2))  # squares from which the end can be reached
    reach[-1] = 0.0, min(fastest**2, limited.most[-1])
    solver.setup_solver()
    for i in range(count - 1, -1, -1):
        for column, sign in ((0, 1.0), (1, -1.0)):
            goal = np.array([-1e-9 * sign, sign])
            reach[i, column] = solver.solve_stagewise_optim(i, None, goal, np.nan, np.nan, *reach[i + 1])[1]
        if not np.isfinite(reach[i]).all():
            return None
        reach[i, 0] = max(reach[i, 0], 0.0)
    squares = np.zeros(count + 1)
    squares[0] = reach[0, 1]
    for i in range(count):
        step = 2.0 * (grid[i + 1] - grid[i])
        for tried in squares[i] * np.array([1.0, 1.0 - 1e-9, 1.0 - 1e-6, 1.0 - 1e-4]):  # round-off at the border
            slope = solver.solve_stagewise_optim(i, None, np.array([-step, -1.0]), tried, tried, *reach[i + 1])[0]
            if np.isfinite(slope):
                break
        else:
            return None
        squares[i] = tried
        squares[i + 1] = np.clip(tried + step * slope, *reach[i + 1])
    solver.close_solver()
    return squares if ((squares[:-1] + squares[1:]) > 0.0).all() else None


def _solver(limited: Limited, grid: Array, fastest: float) -> Any:
    try:
        from toppra.constraint import LinearConstraint
        from toppra.interpolator import AbstractGeometricPath
        from toppra.solverwrapper.cy_seidel_solverwrapper import seidelWrapper
    except ImportError as error:
        raise LieDynamicsError(
            f"retiming needs the package toppra ({error}): pip install toppra", name="toppra"
        ) from None

    # Each value times its own size: rows of a linear programme should be of one magnitude.
    finite = np.isfinite(limited.upper) | np.isfinite(limited.lower)
    size = np.where(finite, np.maximum(np.abs(limited.upper), np.abs(limited.lower)), 1.0)
    size = np.where(np.isfinite(size) & (size > 0.0), size, 1.0)
    last = np.r_[np.arange(len(limited.slope)), len(limited.slope) - 1]  # one row for each point of the grid

    class Rows(LinearConstraint):  # type: ignore[misc]
        """The limits in toppra's form."""

        def __init__(self) -> None:
            super().__init__()
            self.identical = True

        def compute_constraint_params(self, path: Any, gridpoints: Any, *_: Any) -> tuple[Any, ...]:
            keep = np.where(finite.any(axis=0))[0]
            scaled = ((x / size)[:, keep] for x in (limited.slope, limited.square))
            a, b = (np.hstack([x, -x])[last] for x in scaled)
            top = np.nan_to_num((limited.upper - limited.rest) / size, posinf=1e9)[:, keep]
            low = np.nan_to_num((limited.rest - limited.lower) / size, posinf=1e9)[:, keep]
            c = -np.hstack([top, low])[last]
            bound = np.column_stack([np.zeros(grid.size), np.minimum(limited.most, fastest**2)])
            rows = a.shape[1]
            return a, b, c, np.eye(rows), np.zeros(rows), None, bound

    class Points(AbstractGeometricPath):  # type: ignore[misc]
        """First and last point of the grid; all else about the path is in the rows."""

        path_interval = np.array([grid[0], grid[-1]])
        dof, waypoints = 1, None

        def __call__(self, at: Any, order: int = 0) -> Any:
            return np.zeros(np.shape(at))

    return seidelWrapper([Rows()], Points(), grid, solve_lp1d=True)
