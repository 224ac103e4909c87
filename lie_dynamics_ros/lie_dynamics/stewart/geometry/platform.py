"""`StewartPlatform`: geometry of six legs, with inverse kinematics and Jacobians, and lengths that they cannot have.

Conventions: base points ``a_i`` in the base frame {N}, platform points ``b_i`` in the platform frame {B}, metres. A
pose is the homogeneous matrix ``T`` of {B} in {N}; leg ``i`` is ``R b_i + p - a_i``. Twists are angular first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from os import PathLike

import numpy as np

from ...arrays import Array, ArrayLike
from ...errors import ArchitecturalSingularityError, StewartError, StewartWarning
from ...lie import so3
from ...shown import Drawn, shown
from ...texts import quoted
from . import inverse_kinematics as ik
from .checks import (
    N_LEGS,
    ArchitectureReport,
    architecture_report,
    as_joint_centres,
    as_leg_limits,
    check_distinct_legs,
    check_home_lengths,
    check_home_upright,
    extent,
    longest_of,
    rms_radius,
)
from .inverse_kinematics import TwistFrame
from .yaml_files import POINT_KEYS, read_yaml

_SUSPICIOUS_SIZE = 50.0


@dataclass(frozen=True, eq=False, init=False)
class StewartDesign(Drawn):
    """Points and limits of a Gough-Stewart platform, what stands against them, and their file."""

    base_points: Array
    platform_points: Array
    leg_limits: Array
    home_pose: Array | None = None
    allow_singular: bool = False

    def check_design(self) -> None:
        """Refuse designs that cannot hold the platform, warn about those that hardly can."""
        check_distinct_legs(self.base_points, self.platform_points)
        report = self.architecture
        if report.singular:
            raise ArchitecturalSingularityError(
                f"this platform is architecturally singular: its six legs, locked, do not hold it in any pose "
                f"({report}). Pass allow_singular=True to study it all the same"
            )
        if report.nearly_singular:
            message = f"this platform is nearly architecturally singular, badly conditioned in most poses ({report})"
            warnings.warn(message, StewartWarning, stacklevel=4)
        size = max(extent(self.base_points), extent(self.platform_points))
        if size > _SUSPICIOUS_SIZE:
            message = f"joint centres lie up to {size:.6g} m from their centroid: coordinates are expected in metres"
            warnings.warn(message, StewartWarning, stacklevel=4)

    def check_home(self, leg_lengths: Callable[[Array], Array]) -> None:
        """Raise StewartError for a home pose at odds with the rest, its legs of the lengths that a function returns."""
        home = self.home_pose
        if home is not None:
            check_home_upright(self.base_points, self.platform_points, home)
            size = max(extent(self.base_points), extent(self.platform_points))
            check_home_lengths(leg_lengths(home), self.leg_limits, size)

    def to_yaml(self) -> str:
        """YAML text from which `from_yaml` builds the same platform, to the last bit."""
        lines = []
        for key in POINT_KEYS:
            lines.append(f"{key}:")
            lines += [f"  - {row.tolist()}" for row in getattr(self, key)]
        if not np.array_equal(self.leg_limits, np.tile((0.0, np.inf), (6, 1))):
            pairs = [f"[{low!r}, {'.inf' if np.isinf(high) else repr(high)}]" for low, high in self.leg_limits.tolist()]
            lines.append(f"leg_limits: [{', '.join(pairs)}]")
        if self.home_pose is not None:
            position = self.home_pose[:3, 3].tolist()
            rotation = self.home_pose[:3, :3].tolist()
            lines.append(f"home_pose: {{position: {position}, rotation: {rotation}}}")
        if self.allow_singular:
            lines.append("allow_singular: true")
        return "\n".join(lines) + "\n"

    @cached_property
    def architecture(self) -> ArchitectureReport:
        """Report of the numerical test for architectural singularity."""
        return architecture_report(self.base_points, self.platform_points)

    @cached_property
    def characteristic_length(self) -> float:
        """RMS distance of the platform points from their centroid [m]; makes the Jacobian's columns comparable."""
        return rms_radius(self.platform_points)

    @cached_property
    def all_points(self) -> Array:
        """Joint centres on the base, then on the platform, (12, 3) [m]; writeable, as kernels take it: do not write."""
        return np.concatenate((self.base_points, self.platform_points))

    @cached_property
    def farthest(self) -> float:
        """Distance [m] from the origin of {N} beyond which a place of the platform is in other units than metres."""
        reach = longest_of(self.base_points, self.platform_points, self.leg_limits).max()
        return float(reach + sum(ik.norms(points).max() for points in (self.base_points, self.platform_points)))

    def leg_margins(self, lengths: ArrayLike) -> Array:
        """Distance of each leg to its nearer limit, negative beyond it, (..., 6) [m]."""
        lengths = ik.as_vector(lengths, N_LEGS, "lengths")
        return np.minimum(lengths - self.leg_limits[:, 0], self.leg_limits[:, 1] - lengths)

    def check_leg_limits(self, lengths: ArrayLike) -> None:
        """Raise StewartError naming the first leg that is NaN or outside its limits."""
        lengths = ik.as_vector(lengths, N_LEGS, "lengths")
        bad = np.argwhere(~(self.leg_margins(lengths) >= 0.0))
        if bad.size:
            leg = int(bad[0][-1])
            low, high = self.leg_limits[leg]
            raise StewartError(f"leg {leg + 1} has length {lengths[tuple(bad[0])]} m, expected {low} to {high} m")

    @property
    def motor_limits(self) -> Array:
        """Shortest and longest length of each leg, (6, 2) [m]."""
        return self.leg_limits

    # By these names every kind of legs has them: what its motors measure, and in which units, also of their efforts.
    motor_units = "m", "N"
    motor_margins = leg_margins


@shown
@dataclass(frozen=True, eq=False, init=False)
class StewartPlatform(StewartDesign):
    """Geometry of a Gough-Stewart platform; immutable, compared by identity.

    Parameters
    ----------
    base_points : array-like, shape (6, 3), joint centres on the base in {N} [m].
    platform_points : array-like, shape (6, 3), joint centres on the platform in {B} [m], leg by leg as above.
    leg_limits : array-like, shape (2,) or (6, 2), shortest and longest leg [m]; ``None``: 0 to infinity.
    home_pose : array-like, shape (4, 4), a pose the platform is known to take, for a cold start; ``None``: not given.
    allow_singular : build an architecturally singular design too, as wanted for studies of self-motions.

    Raises
    ------
    StewartError : wrong shapes, fewer than six legs, NaN, two legs that coincide, impossible limits or home pose.
    ArchitecturalSingularityError : the legs leave a freedom in every pose (`architecture_report` says which design
        it is), unless ``allow_singular``. Two coincident legs are also allowed then.

    Warns
    -----
    StewartWarning : a design close to architecturally singular; coordinates of joints, or of poses wherever
        they are given, that look like millimetres.
    """

    def __init__(
        self,
        base_points: ArrayLike,
        platform_points: ArrayLike,
        leg_limits: ArrayLike | None = None,
        *,
        home_pose: ArrayLike | None = None,
        allow_singular: bool = False,
    ) -> None:
        object.__setattr__(self, "base_points", as_joint_centres(base_points, "base_points"))
        object.__setattr__(self, "platform_points", as_joint_centres(platform_points, "platform_points"))
        object.__setattr__(self, "leg_limits", as_leg_limits(leg_limits))
        object.__setattr__(self, "home_pose", None if home_pose is None else _checked_home(home_pose))
        object.__setattr__(self, "allow_singular", bool(allow_singular))
        if not allow_singular:
            self.check_design()
        if self.home_pose is not None:
            self.checked_pose(self.home_pose, "home_pose")

    @classmethod
    def from_yaml(cls, source: str | PathLike[str]) -> StewartPlatform:
        """Read a platform from YAML text or a YAML file, see `stewart.geometry.yaml_files` for the keys.

        Raises
        ------
        StewartError : unreadable file or text, missing or unknown keys, everything that the constructor refuses, and a
            home pose that contradicts leg limits, the platform's size, or the order of quaternions.
        """
        platform = cls(**read_yaml(source))
        platform.check_home(platform.leg_lengths)
        return platform

    def checked_pose(self, pose: ArrayLike, name: str = "pose") -> Array:
        """Return a pose (..., 4, 4) as an array; warn where it is so far away that it is in other units than metres."""
        array = ik.as_pose(pose, name)
        away = float(np.abs(array[..., :3, 3]).max(initial=0.0))
        if self.farthest < away < np.inf:
            text = f"{name}: {away:.6g} m from the base, expected at most {self.farthest:.6g}: millimetres?"
            warnings.warn(text, StewartWarning, stacklevel=3)
        return array

    def leg_vectors(self, pose: ArrayLike) -> Array:
        """Vectors ``R b_i + p - a_i`` from base joint to platform joint in {N}, (..., 4, 4) -> (..., 6, 3) [m]."""
        return ik.leg_vectors(self.base_points, self.platform_points, self.checked_pose(pose))

    def leg_lengths(self, pose: ArrayLike) -> Array:
        """Leg lengths of a pose (inverse kinematics), (..., 4, 4) -> (..., 6) [m]."""
        return ik.norms(self.leg_vectors(pose))

    def jacobian(self, pose: ArrayLike, frame: TwistFrame = "body") -> Array:
        """Jacobian d(lengths)/d(twist), angular columns first, (..., 4, 4) -> (..., 6, 6) [m/rad, 1].

        ``frame`` selects the twist: "body" (of {B}, in {B}), "spatial" (in {N}, of the body point at the origin of
        {N}) or "aligned" (angular velocity in {N} and velocity of the origin of {B}). Stewart (22), (23).
        """
        return ik.jacobian(self.base_points, self.platform_points, self.checked_pose(pose), frame)

    def jacobian_rate(self, pose: ArrayLike, twist: ArrayLike, frame: TwistFrame = "body") -> Array:
        """Time derivative of `jacobian` while the platform moves with ``twist`` (..., 6), given in the same frame."""
        twist = ik.as_vector(twist, 6, "twist")
        return ik.jacobian_rate(self.base_points, self.platform_points, self.checked_pose(pose), twist, frame)

    def leg_rates(self, pose: ArrayLike, twist: ArrayLike, frame: TwistFrame = "body") -> Array:
        """Rates of the leg lengths for a twist (w, v), (..., 6) [rad/s, m/s] -> (..., 6) [m/s]."""
        twist = ik.as_vector(twist, 6, "twist")
        return np.asarray((self.jacobian(pose, frame) @ twist[..., None])[..., 0])

    def leg_accelerations(
        self, pose: ArrayLike, twist: ArrayLike, acceleration: ArrayLike, frame: TwistFrame = "body"
    ) -> Array:
        """Second time derivatives of the leg lengths, (..., 6) [m/s^2].

        ``acceleration`` (..., 6) is the time derivative of the twist's components in the same frame; for the body
        frame its linear part is therefore not the acceleration of the origin but that minus ``w x v``.
        """
        acceleration = ik.as_vector(acceleration, 6, "acceleration")
        twist = ik.as_vector(twist, 6, "twist")
        rate_part = self.jacobian_rate(pose, twist, frame) @ twist[..., None]
        return np.asarray((self.jacobian(pose, frame) @ acceleration[..., None] + rate_part)[..., 0])

    def condition_number(self, pose: ArrayLike, characteristic_length: float | None = None) -> Array:
        """Ratio of extreme singular values of the body Jacobian, angular columns over a characteristic length; (...,).

        Dividing the angular columns by ``characteristic_length`` [m] (default: the attribute of this name) turns rad
        into m, so the number is free of units. It is inf at a singular pose.
        """
        length = self.characteristic_length if characteristic_length is None else float(characteristic_length)
        if not 0.0 < length < np.inf:
            raise StewartError(f"characteristic_length is {length}, expected a positive length in metres")
        return ik.condition_numbers(self.jacobian(pose), length)

    def locked(self, positions: ArrayLike) -> tuple[StewartPlatform, Array]:
        """Return itself and the lengths: what is left while motors stand; see `RotaryPlatform.locked`."""
        return self, ik.as_vector(positions, N_LEGS, "lengths")

    def check_motor_limits(self, positions: ArrayLike) -> None:
        """Run `check_leg_limits`."""
        self.check_leg_limits(positions)

    # By these names every kind of legs has them.
    motor_positions, motor_rates, motor_accelerations = leg_lengths, leg_rates, leg_accelerations


def require_platform(value: object, name: str = "platform") -> None:
    """Raise StewartError unless a value is a `StewartPlatform`, with legs on point joints."""
    if not isinstance(value, StewartPlatform):
        kind = type(value).__name__
        other = kind in ("RotaryPlatform", "OffsetPlatform")
        got = f"a {kind}: this is for legs that slide, on point joints" if other else quoted(value)
        raise StewartError(f"{name}: a StewartPlatform is expected, got {got}", name=name, value=value)


def _checked_home(pose: ArrayLike) -> Array:
    """Return a read-only copy of a home pose, or raise StewartError when it is no pose."""
    array = np.array(pose, dtype=np.float64)
    if array.shape != (4, 4):
        raise StewartError(f"home_pose has shape {array.shape}, expected (4, 4): a homogeneous matrix")
    rotation = array[:3, :3]
    is_rotation = np.abs(rotation.T @ rotation - np.eye(3)).max() < 1e-6 and np.linalg.det(rotation) > 0.0
    if not (np.isfinite(array).all() and is_rotation and np.array_equal(array[3], (0.0, 0.0, 0.0, 1.0))):
        raise StewartError(f"home_pose is no pose (rotation, position in metres, last row 0 0 0 1): {array.tolist()}")
    array.flags.writeable = False
    return array


def leg_length_second_derivatives(platform: StewartPlatform, pose: ArrayLike) -> Array:
    """Return H (..., 6, 6, 6), leg first: L_i(T exp(x)) = L_i(T) + J_i x + x^T H_i x / 2 + ... for body twists x.

    Of second order in the Taylor series that Stewart (10)-(14) breaks off after the first. The leg changes by R A x,
    A = (-[b], 1), and bends by R (w x (w x b) + w x v): with n = R^T u the leg's direction seen from the platform,

        H = A^T (1 - n n^T) A / L + [[(n b^T + b n^T) / 2 - (n . b) 1, -[n] / 2], [[n] / 2, 0]].

    Parameters
    ----------
    platform : StewartPlatform
        The platform.
    pose : array-like, shape (..., 4, 4)
        Poses of {B} in {N} [m].

    Raises
    ------
    StewartError
        For a wrong shape, or a leg of no length.
    """
    require_platform(platform)
    T = platform.checked_pose(pose)
    b = platform.platform_points
    lengths, units = ik.leg_units(ik.leg_vectors(platform.base_points, b, T))
    n = units @ T[..., :3, :3]
    unit = np.eye(3)
    motion = np.concatenate([-so3.hat(b), np.broadcast_to(unit, (6, 3, 3))], axis=-1)
    across = unit - n[..., :, None] * n[..., None, :]
    H = np.swapaxes(motion, -1, -2) @ across @ motion / lengths[..., None, None]
    mixed = n[..., :, None] * b[:, None, :]
    H[..., :3, :3] += 0.5 * (mixed + np.swapaxes(mixed, -1, -2)) - (n * b).sum(axis=-1)[..., None, None] * unit
    half = 0.5 * so3.hat(n)
    H[..., :3, 3:] -= half
    H[..., 3:, :3] += half
    return np.asarray(0.5 * (H + np.swapaxes(H, -1, -2)))  # to the last bit


_ROUNDING = 1e-9


def longest_legs(platform: StewartPlatform) -> Array:
    """Return the lengths (6,) [m] beyond which numbers are no leg lengths of a platform, but in other units."""
    return longest_of(platform.base_points, platform.platform_points, platform.leg_limits)


def check_lengths(lengths: ArrayLike, platform: StewartPlatform | None = None) -> Array:
    """Return leg lengths (..., 6) [m] as an array; StewartError names a leg without finite positive length.

    With a platform, lengths that are far beyond its size are refused, too: they are in other units.
    """
    array = ik.as_vector(lengths, N_LEGS, "lengths")
    bad = np.argwhere(~(np.isfinite(array) & (array > 0.0)))
    if bad.size:
        leg = int(bad[0][-1]) + 1
        text = f"leg {leg} has length {array[tuple(bad[0])]} m, expected a finite positive length"
        raise StewartError(text, name=f"leg {leg}")
    if platform is not None:
        check_units(platform, array)
    return array


def check_units(platform: StewartPlatform, lengths: Array) -> None:
    """Raise StewartError for leg lengths (..., 6) that are in other units than metres; NaN is none."""
    longest = longest_legs(platform)
    bad = np.argwhere((lengths > longest) & (lengths < np.inf))
    if bad.size:
        leg = int(bad[0][-1])
        raise StewartError(
            f"leg {leg + 1} has length {lengths[tuple(bad[0])]:.6g} m, expected at most {longest[leg]:.6g} "
            "by the leg limits or the size of this platform: millimetres?",
            name=f"leg {leg + 1}",
        )


def check_place(platform: StewartPlatform, pose: ArrayLike, name: str = "pose") -> None:
    """Raise StewartError for poses (..., 4, 4) so far away that positions are in other units than metres."""
    poses = np.asarray(pose, np.float64)
    if poses.shape[-2:] == (4, 4) and np.isfinite(poses).all():
        legs = ik.leg_vectors(platform.base_points, platform.platform_points, poses)
        lengths, longest = ik.norms(legs), longest_legs(platform)
        bad = np.argwhere(lengths > longest)
        if bad.size:
            leg = int(bad[0][-1])
            raise StewartError(
                f"{name}: leg {leg + 1} has length {lengths[tuple(bad[0])]:.6g} m there, expected at most "
                f"{longest[leg]:.6g} by the leg limits or the size of this platform: millimetres?", name=name,
            )  # fmt: skip


def why_unreachable(platform: StewartPlatform, lengths: ArrayLike) -> str:
    """Return why no pose has the leg lengths (6,) [m], or "" when this test cannot decide.

    Two legs with the base line and the platform line between them form a quadrilateral in space, closed or not; it can
    be closed only if no side is longer than the other three together. The test is necessary, not sufficient.
    """
    array = check_lengths(lengths)
    rounding = _ROUNDING * float(array.max())
    for i, j in combinations(range(N_LEGS), 2):
        base = float(np.linalg.norm(platform.base_points[i] - platform.base_points[j]))
        moving = float(np.linalg.norm(platform.platform_points[i] - platform.platform_points[j]))
        sides = np.array([base, moving, array[i], array[j]])
        if 2.0 * sides.max() > sides.sum() + rounding:
            return (
                f"no pose has these lengths: legs {i + 1} and {j + 1} of {array[i]:.6g} m and {array[j]:.6g} m do not "
                f"close with the joints {base:.6g} m apart on the base and {moving:.6g} m on the platform"
            )
    return ""
