"""Limits of a platform, what a path asks of its legs at some of its points, and what forces carry a moving load."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...arrays import Array, ArrayLike, Mask
from ...errors import InputError, StewartError
from ...lie import SpatialInertia, se3
from ...lie._arrays import as_real, numbers
from ..geometry import inverse_kinematics as ik
from ..geometry.any_platform import Platform, require_any
from ..geometry.checks import N_LEGS, as_leg_limits, as_six
from ..geometry.inverse_kinematics import as_pose, leg_of_no_length, leg_vectors, norms, platform_arms
from ..geometry.offset_platform import OffsetPlatform
from ..geometry.platform import StewartPlatform
from ..geometry.rotary_platform import RotaryPlatform, as_angle_limits
from ..geometry.statics import leg_forces_for_wrench
from ..kernels import leg_samples
from ..kernels.leg_samples import joint_angles
from .path import PathPoints, PosePath


@dataclass(frozen=True, eq=False, init=False)
class CommandLimits:
    """Limits of a platform that is commanded; infinite where there is none. Numbers are for all legs, or one a leg.

    For a `RotaryPlatform` those of legs are of the angles of its motors [rad, rad/s, rad/s^2] and their torques [N m],
    and cones are about the rods; axes on the base are those at home, and turn with the horns. On offset universal
    joints cones are about the legs, from end to end.

    Attributes
    ----------
    platform : on legs of any kind
    stroke : array-like, shape (2,) or (6, 2), optional
        Shortest and longest leg [m]; those of the platform when left out.
    rate, acceleration, force : array-like, shape () or (6,)
        Largest absolute values of leg rates [m/s], leg accelerations [m/s^2] and leg forces [N].
    base_cone, platform_cone : array-like, shape () or (6,)
        Largest angle between a leg and the axis of its joint on the base, or on the platform [rad].
    base_axes, platform_axes : array-like, shape (6, 3), optional
        Axes of these joints, in the base and the platform frame, of any length; when left out, the directions of the
        legs in the home pose.
    condition : float
        Largest condition number of the leg Jacobian, see `StewartPlatform.condition_number`: the distance that is kept
        from singular poses.
    speed, angular_speed : float
        Largest speed of the tool's origin [m/s] and angular speed of the platform [rad/s].

    Raises
    ------
    StewartError, InputError
        For shapes, and for limits that are not positive; for cones without axes and home pose.
    """

    platform: Platform
    stroke: Array
    rate: Array
    acceleration: Array
    force: Array
    base_cone: Array
    platform_cone: Array
    base_axes: Array
    platform_axes: Array
    condition: float
    speed: float
    angular_speed: float

    def __init__(
        self,
        platform: Platform,
        stroke: ArrayLike | None = None,
        rate: ArrayLike = np.inf,
        acceleration: ArrayLike = np.inf,
        force: ArrayLike = np.inf,
        base_cone: ArrayLike = np.inf,
        platform_cone: ArrayLike = np.inf,
        base_axes: ArrayLike | None = None,
        platform_axes: ArrayLike | None = None,
        condition: float = 1e3,
        speed: float = np.inf,
        angular_speed: float = np.inf,
    ) -> None:
        require_any(platform)
        as_limits = as_angle_limits if isinstance(platform, RotaryPlatform) else as_leg_limits
        cones = _per_leg(base_cone, "base_cone"), _per_leg(platform_cone, "platform_cone")
        found = {
            "platform": platform,
            "stroke": platform.motor_limits if stroke is None else as_limits(stroke),
            "rate": _per_leg(rate, "rate"),
            "acceleration": _per_leg(acceleration, "acceleration"),
            "force": _per_leg(force, "force"),
            "base_cone": cones[0],
            "platform_cone": cones[1],
            "base_axes": _axes(platform, "base", base_axes, cones[0]),
            "platform_axes": _axes(platform, "platform", platform_axes, cones[1]),
            "condition": _positive(condition, "condition"),
            "speed": _positive(speed, "speed"),
            "angular_speed": _positive(angular_speed, "angular_speed"),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def kept(self, pose: ArrayLike) -> Mask:
        """Whether strokes, angles of joints and the condition number are kept in poses (..., 4, 4)."""
        poses = as_pose(pose)
        if isinstance(self.platform, RotaryPlatform):
            there = np.asarray(np.isfinite(self.platform.reached_angles(poses)).all(axis=-1))
        elif isinstance(self.platform, OffsetPlatform):
            there = np.asarray(self.platform.told(poses)[2].all(axis=-1))
        else:
            return self._kept(poses)
        found = np.zeros(there.shape, dtype=bool)
        found[there] = self._kept(poses[there])
        return found

    def _kept(self, pose: Array) -> Mask:
        lengths, (base, platform) = self.platform.motor_positions(pose), self.joint_angles(pose)
        legs = (lengths >= self.stroke[:, 0]) & (lengths <= self.stroke[:, 1])
        legs &= (base <= self.base_cone) & (platform <= self.platform_cone)
        return np.asarray(legs.all(axis=-1) & (self.platform.condition_number(pose) <= self.condition))

    def joint_angles(self, pose: ArrayLike) -> tuple[Array, Array]:
        """Angles (..., 6) between legs and the axes of their joints on base and platform [rad]."""
        poses = as_pose(pose)
        if not isinstance(self.platform, StewartPlatform):
            return self._from_ends(self.platform, poses)
        flat = np.array(poses, order="C").reshape(-1, 16)  # kernels take no read-only ones, as home poses are
        out = np.empty((2, len(flat), N_LEGS))
        joint_angles(self.platform.all_points, self._joint_axes, flat, out)
        base, platform = out.reshape(2, *poses.shape[:-2], N_LEGS)
        return base, platform

    def _from_ends(self, platform: OffsetPlatform | RotaryPlatform, T: Array) -> tuple[Array, Array]:
        """Return `joint_angles` of legs on offset joints, and of rods."""
        axes = self.base_axes
        if isinstance(platform, OffsetPlatform):
            rods = leg_vectors(*platform.stationary_feet(T)[:2], T)
        else:
            t = platform.reached_angles(T)
            rods = leg_vectors(platform.tips(t), platform.platform_points, T)
            axes = platform.turned(axes, t - platform.home_angles)
        on_platform = platform_arms(self.platform_axes, T)
        angles = (np.arctan2(norms(np.cross(rods, x)), (rods * x).sum(axis=-1)) for x in (axes, on_platform))
        base, top = (np.asarray(x) for x in angles)
        return base, top

    @cached_property
    def _joint_axes(self) -> Array:
        return np.concatenate([self.base_axes, self.platform_axes])


def _axes(platform: Platform, side: str, given: ArrayLike | None, cone: Array) -> Array:
    """Return unit axes (6, 3) of the joints of one side."""
    if given is not None:
        axes = as_real(given, (N_LEGS, 3), f"{side}_axes").reshape(N_LEGS, 3)
    elif platform.home_pose is not None:
        home = platform.home_pose
        if isinstance(platform, OffsetPlatform):
            legs = leg_vectors(*platform.feet(home), home)
        else:
            legs = platform.locked(platform.motor_positions(home))[0].leg_vectors(home)
        axes = legs @ (home[:3, :3] if side == "platform" else np.eye(3))
    elif np.isfinite(cone).any():
        raise StewartError(f"{side}_cone is limited, but neither {side}_axes nor a home pose is given")
    else:
        return np.zeros((N_LEGS, 3))
    size = np.linalg.norm(axes, axis=-1, keepdims=True)
    if not (size > 0.0).all():
        raise StewartError(f"{side}_axes of leg {int(np.argmin(size)) + 1} is zero, expected a direction")
    return np.asarray(axes / size)


def _per_leg(value: ArrayLike, name: str) -> Array:
    return as_six(value, name, "positive numbers", lambda x: x > 0.0)


def _positive(value: float, name: str) -> float:
    number = numbers(value)
    if isinstance(value, (bool, str, bytes)) or number.ndim or not number > 0.0:
        raise StewartError(f"{name}: a positive number is expected, got {value!r}", name=name, value=value)
    return float(number)


@dataclass(frozen=True, eq=False, init=False)
class PlatformLoad:
    """Load on the legs.

    Attributes
    ----------
    inertia : SpatialInertia
        Of the platform with its payload, in the platform frame.
    gravity : array-like, shape (3,)
        Acceleration of free fall in the base frame [m/s^2].
    wrench : array-like, shape (6,)
        Wrench (moment, force) that acts on the platform besides, in the platform frame about its origin [N m, N].

    Raises
    ------
    InputError, InertiaError
        For what is no inertia or no list of numbers, and for an inertia that no body has.
    """

    inertia: SpatialInertia
    gravity: Array
    wrench: Array

    def __init__(
        self,
        inertia: SpatialInertia | None = None,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        wrench: ArrayLike = (0.0,) * 6,
    ) -> None:
        inertia = SpatialInertia.zero() if inertia is None else inertia
        if not isinstance(inertia, SpatialInertia):
            raise InputError(f"inertia: a SpatialInertia is expected, got {inertia!r}", name="inertia")
        inertia.check("the platform")
        object.__setattr__(self, "inertia", inertia)
        object.__setattr__(self, "gravity", as_real(gravity, (3,), "gravity").reshape(3))
        object.__setattr__(self, "wrench", as_real(wrench, (6,), "wrench").reshape(6))

    @cached_property
    def numbers(self) -> Array:
        """The load (48,), as kernels take it."""
        inertia, weight = self.inertia, self.inertia.mass * self.gravity
        return np.concatenate([inertia.matrix().ravel(), inertia.com, weight, self.wrench])

    def needed_wrenches(self, pose: Array, slope: Array, bend: Array) -> Array:
        """Wrenches (..., 6, 3) that the legs exert, terms of s'', of s'^2 and of neither, in the platform frame.

        The platform moves with body twist ``slope`` s', whose derivative along s is ``bend``.
        """
        batch = np.broadcast_shapes(pose.shape[:-2], slope.shape[:-1], bend.shape[:-1])
        flat = pose.reshape(*pose.shape[:-2], 16)
        whole = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in (flat, slope, bend)]
        table = np.ascontiguousarray(np.concatenate(whole, axis=-1).reshape(-1, 28))
        out = np.empty((6 * len(table), 3))
        leg_samples.needed_wrenches(self.numbers, table, out)
        return out.reshape(*batch, 6, 3)


def leg_forces(
    platform: Platform,
    pose: ArrayLike,
    twist: ArrayLike,
    acceleration: ArrayLike,
    load: PlatformLoad,
) -> Array:
    """Leg forces (..., 6) [N] that move the platform, positive where a leg pushes; the legs themselves have no mass.

    For a `RotaryPlatform` torques of its motors [N m].

    Parameters
    ----------
    platform : StewartPlatform
    pose : array-like, shape (..., 4, 4)
    twist, acceleration : array-like, shape (..., 6)
        Body twist (w, v) and its derivative in time [rad/s, m/s, rad/s^2, m/s^2].
    load : PlatformLoad

    Raises
    ------
    SingularityError
        The pose is singular.
    """
    T = se3.check(pose, "pose")
    V, A = as_real(twist, (6,), "twist"), as_real(acceleration, (6,), "acceleration")
    terms = load.needed_wrenches(T, V, A)
    return leg_forces_for_wrench(platform, T, terms[..., 1] + terms[..., 2])


SINGULAR = 1e-12
"""Determinant of the leg Jacobian, over the cube of the platform's size, below which forces are not looked at."""
NO_LOAD = np.zeros(leg_samples.N_LOAD)


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
            table = np.zeros((len(s), leg_samples.N_SAMPLE))
            rows = np.empty((len(s), leg_samples.N_POINT))
            leg_samples.points(path.segments, path.frame, s, segment, rows)
            table[:, : leg_samples.N_POINT] = rows
            write_motors(platform, load, limits.condition, table)
            return cls(limits, s, table)
        table, work = np.empty((len(s), leg_samples.N_SAMPLE)), np.empty((6, leg_samples.N_WORK))
        size = platform.characteristic_length
        numbers = np.concatenate([platform.all_points.ravel(), [size, SINGULAR * size**3]])
        weights = NO_LOAD if load is None else load.numbers
        leg = leg_samples.samples(path.segments, path.frame, s, segment, numbers, weights, work, table)
        if leg:
            raise leg_of_no_length(leg)
        return cls(limits, s, table)

    @property
    def points(self) -> PathPoints:
        """The path there, of the platform."""
        return PathPoints.of(self.table)

    @property
    def lengths(self) -> Array:
        """Lengths of the legs (k, 6) [m]."""
        return self.table[:, leg_samples.LENGTHS : leg_samples.SLOPE]

    @property
    def slope(self) -> Array:
        """First derivatives (k, 6) of lengths along s."""
        return self.table[:, leg_samples.SLOPE : leg_samples.BEND]

    @property
    def bend(self) -> Array:
        """Second derivatives (k, 6) of lengths along s."""
        return self.table[:, leg_samples.BEND : leg_samples.DETERMINANT]

    @property
    def determinant(self) -> Array:
        """Determinant of the leg Jacobian (k,)."""
        return self.table[:, leg_samples.DETERMINANT]

    @property
    def forces(self) -> Array:
        """Terms of leg forces (k, 6, 3) with s'', with s'^2, and with neither."""
        return self.table[:, leg_samples.FORCES : leg_samples.N_SAMPLE].reshape(-1, 6, 3)

    @property
    def speeds(self) -> Array:
        """Speed of the tool's origin and angular speed (k, 2), for s' = 1."""
        return self.table[:, leg_samples.SPEEDS : leg_samples.N_POINT]

    @property
    def condition(self) -> Array:
        """Condition number of the leg Jacobian (k,), or a larger number where that is below its limit."""
        bound = self.table[:, leg_samples.CONDITION]
        if not isinstance(self.limits.platform, StewartPlatform):
            return bound
        near = ~(bound <= self.limits.condition)
        if not near.any():
            return bound
        found = bound.copy()
        found[near] = self.limits.platform.condition_number(self.points.pose[near])
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
    table[:, leg_samples.LENGTHS : leg_samples.SLOPE] = there
    table[:, leg_samples.SLOPE : leg_samples.BEND] = np.where(good[:, None], first, 0.0)
    table[:, leg_samples.BEND : leg_samples.DETERMINANT] = np.where(good[:, None], second, 0.0)
    table[:, leg_samples.DETERMINANT] = determinant
    table[:, leg_samples.CONDITION] = np.where(good, condition, np.inf)
    table[:, leg_samples.FORCES :] = 0.0
    if load is not None:
        torques = np.swapaxes(inverse, 1, 2) @ load.needed_wrenches(T, slope, bend)
        table[:, leg_samples.FORCES :] = np.where(good[:, None, None], torques, 0.0).reshape(count, 18)
