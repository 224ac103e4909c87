"""Requirements of a path on the legs, at some of its points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ..geometry import inverse_kinematics as ik
from ..geometry.inverse_kinematics import leg_of_no_length
from ..geometry.offset_platform import OffsetPlatform
from ..geometry.platform import StewartPlatform
from ..geometry.rotary_platform import RotaryPlatform
from .kernels import leg_samples as legs
from .kernels import path_points
from .limits import CommandLimits
from .load import PlatformLoad
from .path import PathPoints, PosePath

SINGULAR = 1e-12
"""Determinant of the leg Jacobian, over the cube of the platform's size, below which forces are not looked at."""
NO_LOAD = np.zeros(legs.N_LOAD)


@dataclass(frozen=True, eq=False)
class PathSamples:
    """Legs along a path: rates are ``slope`` s', accelerations ``slope`` s'' + ``bend`` s'^2.

    Attributes
    ----------
    limits : CommandLimits
    s : ndarray, shape (k,)
    table : ndarray, shape (k, 68)
        What the kernels found.
    """

    limits: CommandLimits
    s: Array
    table: Array

    @classmethod
    def of(
        cls,
        limits: CommandLimits,
        load: PlatformLoad | None,
        path: PosePath,
        s: Array,
        segment: npt.NDArray[np.intp] | None = None,
    ) -> PathSamples:
        """Look at a path at parameters (k,); at singular poses, and without a load, forces are zero.

        Raises
        ------
        StewartError
            A leg is of length zero somewhere.
        """
        platform = limits.platform
        s, segment = path.places(s, segment)
        if not isinstance(platform, StewartPlatform):
            table = np.zeros((len(s), legs.N_SAMPLE))
            rows = np.empty((len(s), path_points.N_POINT))
            path_points.points(path.segments, path.frame, s, segment, rows)
            table[:, : path_points.N_POINT] = rows
            write_motors(platform, load, limits.condition, table)
            return cls(limits, s, table)
        table, work = np.empty((len(s), legs.N_SAMPLE)), np.empty((6, legs.N_WORK))
        size = platform.characteristic_length
        numbers = np.concatenate([platform.all_points.ravel(), [size, SINGULAR * size**3]])
        weights = NO_LOAD if load is None else load.numbers
        leg = legs.samples(path.segments, path.frame, s, segment, numbers, weights, work, table)
        if leg:
            raise leg_of_no_length(leg)
        return cls(limits, s, table)

    @property
    def points(self) -> PathPoints:
        """The path there, of the platform."""
        return PathPoints.of(self.table)

    @property
    def pose(self) -> Array:
        """Poses (k, 4, 4) of the platform."""
        return self.points.pose

    @property
    def lengths(self) -> Array:
        """Lengths of the legs (k, 6) [m]."""
        return self.table[:, legs.LENGTHS : legs.SLOPE]

    @property
    def slope(self) -> Array:
        """First derivatives (k, 6) of lengths along s."""
        return self.table[:, legs.SLOPE : legs.BEND]

    @property
    def bend(self) -> Array:
        """Second derivatives (k, 6) of lengths along s."""
        return self.table[:, legs.BEND : legs.DETERMINANT]

    @property
    def determinant(self) -> Array:
        """Determinant of the leg Jacobian (k,)."""
        return self.table[:, legs.DETERMINANT]

    @property
    def forces(self) -> Array:
        """Terms of leg forces (k, 6, 3) with s'', with s'^2, and with neither."""
        return self.table[:, legs.FORCES : legs.N_SAMPLE].reshape(-1, 6, 3)

    @property
    def speeds(self) -> Array:
        """Speed of the tool's origin and angular speed (k, 2), for s' = 1."""
        return self.table[:, path_points.SPEEDS : path_points.N_POINT]

    @property
    def condition(self) -> Array:
        """Condition number of the leg Jacobian (k,), or a larger number where that is below its limit."""
        bound = self.table[:, legs.CONDITION]
        if not isinstance(self.limits.platform, StewartPlatform):
            return bound
        near = ~(bound <= self.limits.condition)
        if not near.any():
            return bound
        found = bound.copy()
        found[near] = self.limits.platform.condition_number(self.pose[near])
        return found

    def largest_square(self) -> Array:
        """Largest s'^2 (k,) by limits of rates and speeds."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(np.abs(self.rates()).max(axis=-1) ** -2.0)

    def rates(self) -> Array:
        """Rates of legs, and speeds, over their limits for s' = 1, (k, 8)."""
        limits = self.limits
        bounds = np.concatenate([limits.rate, [limits.speed, limits.angular_speed]])
        return np.asarray(np.concatenate([self.slope, self.speeds], axis=-1) / bounds)

    def rows(self) -> tuple[Array, Array, Array]:
        """Rows a s'' + b s'^2 <= c of accelerations and forces over their limits, each (k, r)."""
        limits, forces, most = self.limits, self.forces, self.limits.force
        a = np.concatenate([self.slope / limits.acceleration, forces[..., 0] / most], axis=-1)
        b = np.concatenate([self.bend / limits.acceleration, forces[..., 1] / most], axis=-1)
        rest = np.concatenate([np.zeros_like(self.slope), forces[..., 2] / most], axis=-1)
        finite = np.isfinite(np.concatenate([limits.acceleration, most]))
        a, b, rest = a[:, finite], b[:, finite], rest[:, finite]
        return np.concatenate([a, -a], axis=-1), np.concatenate([b, -b], axis=-1), np.hstack([1.0 - rest, 1.0 + rest])


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def write_motors(
    platform: OffsetPlatform | RotaryPlatform, load: PlatformLoad | None, most: float, table: Array
) -> None:
    """Fill in the table of `PathSamples`, which holds the path: positions of motors, and their efforts.

    Where a leg does not reach, its position is NaN, what follows from it zero, and the condition number infinite; that
    is exact where it may be above a limit.
    """
    T, slope, bend = PathPoints.of(table)
    count, size = len(T), np.repeat((platform.characteristic_length, 1.0), 3)
    if isinstance(platform, OffsetPlatform):
        there, J, reached = platform.told(T)
        there = np.where(reached, there, np.nan)
        first, second = platform.derivatives(T, slope, bend)
    else:
        there = platform.reached_angles(T)
        held = np.where(np.isfinite(there), there, 0.0)
        first, second = platform.derivatives(T, held, slope, bend)
        J = platform.jacobian(T, angles=held)
    good = np.asarray(np.isfinite(there).all(axis=1))
    good &= np.isfinite(J).all(axis=(1, 2))
    J = np.where(good[:, None, None], J, np.eye(6))
    determinant = np.linalg.det(J)
    good &= determinant != 0.0
    J = np.where(good[:, None, None], J, np.eye(6))
    inverse = np.linalg.inv(J)
    condition = np.linalg.norm(J / size, axis=(1, 2)) * np.linalg.norm(inverse * size[:, None], axis=(1, 2))
    near = good & ~(condition <= most)
    condition[near] = ik.condition_numbers(J[near], platform.characteristic_length)
    good &= condition < 1.0 / SINGULAR
    table[:, legs.LENGTHS : legs.SLOPE] = there
    table[:, legs.SLOPE : legs.BEND] = np.where(good[:, None], first, 0.0)
    table[:, legs.BEND : legs.DETERMINANT] = np.where(good[:, None], second, 0.0)
    table[:, legs.DETERMINANT] = determinant
    table[:, legs.CONDITION] = np.where(good, condition, np.inf)
    table[:, legs.FORCES :] = 0.0
    if load is not None:
        torques = np.swapaxes(inverse, 1, 2) @ load.needed_wrenches(T, slope, bend)
        table[:, legs.FORCES :] = np.where(good[:, None, None], torques, 0.0).reshape(count, 18)
