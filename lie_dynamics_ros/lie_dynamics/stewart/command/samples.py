"""What a path asks of the legs at some of its points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...lie import se3
from ..geometry.inverse_kinematics import Array
from .limits import CommandLimits
from .load import PlatformLoad
from .path import PosePath

SINGULAR = 1e-12
"""Determinant of the leg Jacobian, over the cube of the platform's size, below which forces are not looked at."""


@dataclass(frozen=True, eq=False)
class PathSamples:
    """Legs along a path: rates are ``slope`` s', accelerations ``slope`` s'' + ``bend`` s'^2.

    Attributes
    ----------
    limits : CommandLimits
    s : ndarray, shape (k,)
    pose : ndarray, shape (k, 4, 4)
        Of the platform.
    lengths, slope, bend : ndarray, shape (k, 6)
        Of the legs [m], and along s.
    determinant : ndarray, shape (k,)
        Of the leg Jacobian.
    forces : ndarray, shape (k, 6, 3)
        Terms of leg forces with s'', with s'^2, and with neither.
    speeds : ndarray, shape (k, 2)
        Speed of the tool's origin and angular speed, for s' = 1.
    """

    limits: CommandLimits
    s: Array
    pose: Array
    lengths: Array
    slope: Array
    bend: Array
    determinant: Array
    forces: Array
    speeds: Array

    @classmethod
    def of(
        cls,
        limits: CommandLimits,
        load: PlatformLoad | None,
        path: PosePath,
        s: Array,
        segment: npt.NDArray[np.intp] | None = None,
    ) -> PathSamples:
        """Look at a path at parameters (k,); at singular poses, and without a load, forces are zero."""
        platform = limits.platform
        points = path.at(s, segment)
        lengths = platform.leg_lengths(points.pose)
        jacobian = platform.jacobian(points.pose)
        slope = (jacobian @ points.slope[..., None])[..., 0]
        bend = platform.leg_accelerations(points.pose, points.slope, points.bend)
        determinant = np.linalg.det(jacobian)
        forces = np.zeros((len(s), 6, 3))
        if load is not None:
            good = np.abs(determinant) > SINGULAR * platform.characteristic_length**3
            wrenches = load.needed_wrenches(points.pose, points.slope, points.bend)
            forces[good] = np.linalg.solve(np.swapaxes(jacobian, -1, -2)[good], wrenches[good])
        tool = se3.transform_twist(se3.inverse(path.tool), points.slope)
        speeds = np.stack([np.linalg.norm(tool[:, 3:], axis=-1), np.linalg.norm(tool[:, :3], axis=-1)], axis=-1)
        return cls(limits, s, points.pose, lengths, slope, bend, determinant, forces, speeds)

    @property
    def condition(self) -> Array:
        """Condition number of the leg Jacobian (k,)."""
        return self.limits.platform.condition_number(self.pose)

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
