"""Gough-Stewart platforms on legs with mass.

Sliding ones: 6-UPS, and 6-UCU with offset universal joints at both ends; rotary ones: 6-RUS.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ...arrays import Array, ArrayLike
from ...errors import DescriptionError
from ...lie import SpatialInertia, se3
from ...model import joint_types as jt
from ...model.model import ModelBuilder
from ...shown import grouped, shown
from ...stewart import (
    OffsetPlatform,
    RotaryPlatform,
    StewartError,
    StewartPlatform,
    horn_directions,
    reference_platform,
)
from ...stewart.geometry.checks import as_joint_centres
from ...stewart.geometry.platform import longest_legs
from ...stewart.solvers.offset_legs import carried, distinct, found_from
from ..constraint_set import ConstraintSet
from ..kinds import Loop, perpendicular
from .base import (
    DOWN,
    SEED,
    STARTS,
    STROKE,
    Candidates,
    Mechanism,
    about_z,
    add_universal,
    dimensions,
    disc,
    placed,
    real_pose,
    require_reach,
    rod,
    shifted,
    six_legs,
)

#: Length [m] and mass [kg] of a leg's cylinder, and of its piston.
Rods = tuple[tuple[float, float], tuple[float, float]]


class Geometry(Protocol):
    """Dimensions read from a `StewartPlatform`: joint centres on base and platform, (6, 3) each [m]."""

    @property
    def base_points(self) -> Array:
        """Joint centres on the base."""

    @property
    def platform_points(self) -> Array:
        """Joint centres on the platform."""


@shown
@dataclass(frozen=True, eq=False)
class SixLegs(Mechanism, ABC):
    """A free platform on six legs; its output is the pose.

    Attributes
    ----------
    leg_frames : ndarray, shape (6, 3, 3)
        Rotation of each leg's frame on the base.
    """

    leg_frames: Array

    def configuration(self, output: ArrayLike) -> Array:
        """Return the configuration (..., nq) for poses (..., 4, 4) of the platform; see `Mechanism.configuration`."""
        T = real_pose(output)
        return self._joints(T, self._legs(T))

    @abstractmethod
    def _legs(self, T: Array) -> Array:
        """Return the coordinates of each leg (..., 6, k) for poses (..., 4, 4)."""

    def _joints(self, T: Array, legs: Array) -> Array:
        return self._with_platform(T, lambda words: legs[..., int(words[1]) - 1, self._place(words)])

    @abstractmethod
    def _place(self, words: list[str]) -> int:
        """Return which of a leg's coordinates the joint "WORD_LEG", or "WORD_LEG_HINGE", has."""


@shown
@dataclass(frozen=True, eq=False)
class PointLegs(SixLegs, ABC):
    """On joints with a centre.

    Attributes
    ----------
    geometry : Geometry
        Joint centres.
    """

    geometry: Geometry

    def _seen(self, T: Array) -> Array:
        """Return the joint centres on the platform, seen from those on the base in the legs' frames (..., 6, 3)."""
        legs = (T[..., None, :3, :3] @ self.geometry.platform_points[..., None])[..., 0] + T[..., None, :3, 3]
        return ((legs - self.geometry.base_points)[..., None, :] @ self.leg_frames)[..., 0, :]


def home_of(geometry: object, home: ArrayLike | None, mechanism: str) -> Array:
    """Return the pose (4, 4) that is given, or the `home_pose` of a geometry; raises DescriptionError for none."""
    pose = getattr(geometry, "home_pose", None) if home is None else home
    if pose is None:
        raise DescriptionError(f"{mechanism}: home: a pose is expected, the geometry has no home_pose")
    return se3.check(pose, "home").real


def plate_of(inertia: SpatialInertia | None, mechanism: str) -> SpatialInertia:
    """Return the platform's inertia, that of a disc when left out; raises DescriptionError for what is none."""
    plate = disc(0.2, 3.0) if inertia is None else inertia
    if not isinstance(plate, SpatialInertia):
        raise DescriptionError(f"{mechanism}: platform_inertia: a SpatialInertia is expected, got {plate!r}")
    return plate


def add_sliding_leg(
    builder: ModelBuilder,
    leg: int,
    placement: Array,
    length: float,
    rods: Rods,
    offset: float = 0.0,
    screw: tuple[float, float] | None = None,
) -> str:
    """Add a universal joint, a cylinder and a piston, of (length [m], mass [kg]) each; return the piston's name.

    The hinges turn about x and y, the second one `offset` further along z [m]; the leg is `length` long at home. With a
    screw of (pitch [m/rad], radius [m]) the piston, a cylinder of this radius, is on a screw, "turn_LEG".
    """
    cylinder, piston = f"cylinder_{leg}", f"piston_{leg}"
    (long, mass), (thin_long, thin_mass) = rods
    axes = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
    add_universal(builder, cylinder, None, axes, placement, rod(long, mass, axis=2), f"tilt_{leg}", offset)
    inertia, limits = rod(thin_long, thin_mass, axis=2, start=-thin_long), (STROKE[0] * length, STROKE[1] * length)
    slide, (low, high) = jt.prismatic([0, 0, 1]), limits
    if screw is None:
        builder.add(piston, cylinder, slide, None, inertia, f"leg_{leg}", lower=low, upper=high)
        return piston
    pitch, radius = screw
    about = 0.5 * thin_mass * radius**2 * np.diag([0.5, 0.5, 1.0])
    inertia = inertia + SpatialInertia(0.0, np.zeros(3), about)
    builder.add(f"nut_{leg}", cylinder, slide, None, None, f"leg_{leg}", lower=low, upper=high)
    builder.add(piston, f"nut_{leg}", jt.helical([0, 0, 1], pitch), None, inertia, f"turn_{leg}")
    return piston


@shown
@dataclass(frozen=True, eq=False)
class GoughStewart(PointLegs):
    """With sliding legs; z of a leg's frame points along the leg in the home configuration."""

    def _legs(self, T: Array) -> Array:
        seen = self._seen(T)
        first = np.arctan2(-seen[..., 1], seen[..., 2])
        second = np.arctan2(seen[..., 0], np.hypot(seen[..., 1], seen[..., 2]))
        return np.stack([first, second, np.linalg.norm(seen, axis=-1)], axis=-1)

    def _place(self, words: list[str]) -> int:
        return 2 if words[0] == "leg" else int(words[2]) - 1

    def _candidates(self, positions: Array) -> Candidates:
        lengths = np.where(positions > 0.0, positions, np.nan)
        require_reach(np.isfinite(lengths), self.model.name, "a leg that is not longer than zero")
        poses, found = six_legs(self.geometry.base_points, self.geometry.platform_points, positions)
        return replace(found, q=self.configuration(poses))


@dimensions(from_zero="cylinder_mass piston_mass")
def gough_stewart(
    geometry: Geometry | None = None,
    home: ArrayLike | None = None,
    platform_inertia: SpatialInertia | None = None,
    cylinder_mass: float = 1.0,
    piston_mass: float = 0.5,
    cylinder_length: float = 0.4,
    piston_length: float = 0.4,
    gravity: ArrayLike = DOWN,
) -> GoughStewart:
    """Return a Gough-Stewart platform whose legs are cylinders and pistons.

    Each leg has a universal joint on the base (two hinges, "tilt_1_1" and "tilt_1_2", ...), a slide ("leg_1" ..., whose
    coordinate is the distance of its two joint centres, from a half to one and a half of that at home), and a ball
    joint on the platform, a free body: 24 coordinates, 18 constraints.

    Parameters
    ----------
    geometry : StewartPlatform
        Or anything with its `base_points` and `platform_points`; `reference_platform` when left out.
    home : array-like, shape (4, 4)
        A pose of the platform; the legs' universal joints are square there. The geometry's `home_pose` when left out.
    platform_inertia : SpatialInertia
        In the platform's frame; a disc of 3 kg and 0.2 m when left out.
    cylinder_mass, piston_mass : float
        Of slender rods [kg]: the cylinder from the base joint outwards, the piston from the platform joint inwards.
        With both zero, forward dynamics has no answer (the recursion needs mass beyond every joint); inverse has.
    cylinder_length, piston_length : float
        [m].
    gravity : array-like, shape (3,)
        Acceleration of free fall.

    Raises
    ------
    DescriptionError
        For what is no dimension, and where there is no home pose.
    """
    geometry = reference_platform() if geometry is None else geometry
    points = all(np.shape(getattr(geometry, key, 0.0)) == (6, 3) for key in ("base_points", "platform_points"))
    if isinstance(geometry, RotaryPlatform) or not points:
        raise DescriptionError(f"gough_stewart: geometry: a StewartPlatform is expected, got {geometry!r}")
    T = home_of(geometry, home, "gough_stewart")
    legs = geometry.platform_points @ T[:3, :3].T + T[:3, 3] - geometry.base_points
    frames = np.empty((6, 3, 3))
    builder = ModelBuilder(gravity)
    builder.add("platform", None, jt.free(), None, plate_of(platform_inertia, "gough_stewart"), "platform")
    loops = []
    for k in range(6):
        length = float(np.linalg.norm(legs[k]))
        z = legs[k] / length
        x, y = perpendicular(z)
        frames[k] = np.array([x, y, z]).T
        place = placed(frames[k], geometry.base_points[k])
        rods = (cylinder_length, cylinder_mass), (piston_length, piston_mass)
        piston = add_sliding_leg(builder, k + 1, place, length, rods)
        ball = shifted(*geometry.platform_points[k])
        loops.append(Loop.spherical("platform", piston, name=f"ball_{k + 1}", first_placement=ball))
    model = builder.build("6_ups")
    names = tuple(f"leg_{k}" for k in range(1, 7))
    made = GoughStewart(model, ConstraintSet(model, loops), model.neutral(), names, "platform", frames, geometry)
    return replace(made, q=made.configuration(T))


@shown
@dataclass(frozen=True, eq=False)
class OffsetLegs(SixLegs):
    """Its output is the pose; x of a leg's frames is the first axis, z points to the other end at home.

    Attributes
    ----------
    geometry : OffsetPlatform
        Its points, axes and offsets.
    knuckle_frames : ndarray, shape (6, 3, 3)
        Rotation of each leg's frame on the platform.
    """

    geometry: OffsetPlatform
    knuckle_frames: Array

    def _legs(self, T: Array) -> Array:
        C, D = self.geometry.feet(T)
        R, p = T[..., None, :3, :3], T[..., None, :3, 3]
        to_D = ((R @ D[..., None])[..., 0] + p - self.geometry.points.base_points)[..., None, :] @ self.leg_frames
        to_C = ((C - p)[..., None, :] @ R - self.geometry.points.platform_points[:, None]) @ self.knuckle_frames
        x, y, z = np.moveaxis(to_D[..., 0, :], -1, 0)
        above = np.hypot(y, z) - self.geometry.base_offsets
        around = np.arctan2(-to_C[..., 0, 1], to_C[..., 0, 2])
        lengths = np.hypot(x, above)
        turns = np.zeros_like(lengths)
        if self.geometry.has_screws:
            turns = self.geometry.leg_turns(T)
            lengths = lengths - self.geometry.screw_leads * turns / (2.0 * np.pi)
        return np.stack([np.arctan2(-y, z), np.arctan2(x, above), lengths, around, turns], axis=-1)

    def _place(self, words: list[str]) -> int:
        return {"leg": 2, "pivot": 3, "turn": 4}.get(words[0], int(words[-1]) - 1)

    def _candidates(self, positions: Array) -> Candidates:
        require_reach(positions > 0.0, self.model.name, "a leg that is not longer than zero")
        geometry = self.geometry
        metres = positions <= longest_legs(geometry.points)
        require_reach(metres, self.model.name, "a leg that is not far beyond the platform (millimetres?)")
        whole = positions + geometry.base_offsets + geometry.platform_offsets
        points, _ = six_legs(geometry.points.base_points, geometry.points.platform_points, whole)
        led = carried(geometry, positions, points)
        found = found_from(geometry, positions, STARTS, np.random.default_rng(SEED))
        poses = distinct(np.concatenate([led, found]), float(whole.max()))
        method = (
            f"growing offsets from {len(points)} poses on point joints, of which {len(led)} arrived, and {STARTS} "
            f"random starts, of which {len(found)} closed"
        )
        return Candidates(self.configuration(poses), 0, method, False)


@dataclass(frozen=True, eq=False)
class OffsetLegDimensions:
    """Dimensions of `offset_legs`, which describes them."""

    geometry: OffsetPlatform | StewartPlatform | None = None
    home: ArrayLike | None = None
    base_offset: float = 0.03
    platform_offset: float = 0.03
    platform_inertia: SpatialInertia | None = None
    cylinder_mass: float = 1.0
    piston_mass: float = 0.5
    knuckle_mass: float = 0.1
    cylinder_length: float = 0.4
    piston_length: float = 0.4
    knuckle_radius: float = 0.015
    gravity: ArrayLike = DOWN


@dimensions(from_zero="base_offset platform_offset cylinder_mass piston_mass")
@grouped(OffsetLegDimensions)
def offset_legs(of: OffsetLegDimensions) -> OffsetLegs:
    """Return a Gough-Stewart platform whose legs stand on universal joints with axes that do not meet, at both ends.

    On the base each leg has two hinges, "tilt_1_1" (axis fixed in the base) and "tilt_1_2" (perpendicular to it, and
    the offset away), ..., and a slide ("leg_1" ..., the distance of its ends on the second axes, from a half to one and
    a half of that at home). It turns freely about itself. On the platform, a free body, a knuckle turns on the hinge
    "pivot_1", ..., and the leg about the knuckle's second axis: 30 coordinates, 24 constraints.

    Where the geometry has `screw_leads`, the slide is the motor's reading, and its piston a screw, "turn_1" ..., by
    which the leg is longer where its joints turn its ends against each other: 36 coordinates, 30 constraints.

    Parameters
    ----------
    geometry : OffsetPlatform or StewartPlatform
        With a `StewartPlatform`, `reference_platform` when left out, first axes are perpendicular to the legs at home.
    home, platform_inertia, gravity
        As for `gough_stewart`.
    base_offset, platform_offset : float
        Distances of the first and the second axis [m], where the geometry is no `OffsetPlatform`, which has its own.
    cylinder_mass, piston_mass, knuckle_mass : float
        Of slender rods [kg], the cylinder from its second axis outwards, the piston from its own inwards, and of balls
        on the platform's second axes.
    cylinder_length, piston_length, knuckle_radius : float
        [m]. The radius is also that of pistons that are screws.

    Raises
    ------
    DescriptionError
        For what is no dimension, and where there is no home pose.
    StewartError
        Where a leg points along a first axis at home.
    """
    geometry = reference_platform() if of.geometry is None else of.geometry
    if not isinstance(geometry, (OffsetPlatform, StewartPlatform)):
        raise DescriptionError(f"offset_legs: geometry: an OffsetPlatform is expected, got {geometry!r}")
    T = home_of(geometry, of.home, "offset_legs")
    if isinstance(geometry, StewartPlatform):
        geometry = OffsetPlatform.square_at(geometry, T, of.base_offset, of.platform_offset)
    C, D = geometry.feet(T)
    ends = D @ T[:3, :3].T + T[:3, 3]
    back = (C - T[:3, 3]) @ T[:3, :3]
    frames = _frames(geometry.base_axes, ends - geometry.points.base_points)
    knuckle_frames = _frames(geometry.platform_axes, back - geometry.points.platform_points)
    lengths = geometry.leg_lengths(T)
    pitch, across = geometry.screw_leads / (2.0 * np.pi), np.tile([0.0, 0.0, 1.0], (6, 1))
    if geometry.has_screws:  # the second axes of the knuckles, seen from the pistons
        turns = geometry.home_turns
        across = np.column_stack([-np.sin(turns), np.cos(turns), 0.0 * turns])
    builder = ModelBuilder(of.gravity)
    builder.add("platform", None, jt.free(), None, plate_of(of.platform_inertia, "offset_legs"), "platform")
    rods, loops = ((of.cylinder_length, of.cylinder_mass), (of.piston_length, of.piston_mass)), []
    for k, (a, b) in enumerate(zip(geometry.base_offsets, geometry.platform_offsets, strict=True)):
        place = placed(frames[k], geometry.points.base_points[k])
        screw = (float(pitch[k]), of.knuckle_radius) if geometry.has_screws else None
        piston = add_sliding_leg(builder, k + 1, place, float(lengths[k]), rods, float(a), screw)
        knuckle, place = f"knuckle_{k + 1}", placed(knuckle_frames[k], geometry.points.platform_points[k])
        about = 0.4 * of.knuckle_mass * of.knuckle_radius**2 * np.eye(3)
        ball = SpatialInertia(of.knuckle_mass, np.array([0.0, 0.0, b]), about)
        builder.add(knuckle, "platform", jt.revolute([1.0, 0.0, 0.0]), place, ball, f"pivot_{k + 1}")
        axes = {"axis": [0.0, 1.0, 0.0], "second_axis": across[k]}
        joint = {"name": f"cardan_{k + 1}", "first_placement": shifted(0.0, 0.0, b)}
        loops.append((Loop.revolute if geometry.has_screws else Loop.universal)(knuckle, piston, **axes, **joint))
    model = builder.build("6_ucu")
    names = tuple(f"leg_{k}" for k in range(1, 7))
    made = OffsetLegs(
        model, ConstraintSet(model, loops), model.neutral(), names, "platform", frames, geometry, knuckle_frames
    )
    return replace(made, q=made.configuration(T))


def _frames(axes: Array, ways: Array) -> Array:
    """Return rotations (6, 3, 3) with the first axes as x, and z as near to ways (6, 3) as it can."""
    y = np.cross(ways, axes)
    y = y / np.linalg.norm(y, axis=1, keepdims=True)
    return np.stack([axes, y, np.cross(axes, y)], axis=-1)


@shown
@dataclass(frozen=True, eq=False)
class RotaryLegs(PointLegs):
    """With cranks and rods; x of a leg's frame points along the crank at angle 0, z is the motor's axis.

    Attributes
    ----------
    geometry : RotaryPlatform
        Cranks are its horns.
    """

    geometry: RotaryPlatform

    def knees(self, positions: ArrayLike) -> Array:
        """Return where cranks and rods meet (..., 6, 3) in the world, for cranks at (..., 6)."""
        return self.geometry.tips(positions)

    def _legs(self, T: Array) -> Array:
        cranks = self.geometry.reached_angles(T)
        for k in range(6):
            require_reach(np.isfinite(cranks[..., k]), self.model.name, self.actuated[k])
        return self._with_rods(cranks, self._seen(T))

    def _with_rods(self, cranks: Array, seen: Array) -> Array:
        """Return the coordinates of legs (..., 6, 3): crank, and the rod's two hinges, the first parallel to it."""
        x, y, z = np.moveaxis(seen, -1, 0)
        c, s = np.cos(cranks), np.sin(cranks)
        x, y = c * x + s * y - self.geometry.horns, c * y - s * x
        return np.stack([cranks, np.arctan2(y, x), np.arctan2(-z, np.hypot(x, y))], axis=-1)

    def _place(self, words: list[str]) -> int:
        return 0 if words[0] == "crank" else int(words[2])

    def _candidates(self, positions: Array) -> Candidates:
        poses, found = six_legs(self.knees(positions), self.geometry.platform_points, self.geometry.rods)
        legs = self._with_rods(np.broadcast_to(positions, (len(poses), 6)), self._seen(poses))
        return replace(found, q=self._joints(poses, legs))


@dataclass(frozen=True, eq=False)
class RotaryLegDimensions:
    """Dimensions of `rotary_legs`, which describes them."""

    base_radius: float = 0.15
    platform_radius: float = 0.1
    base_half_angle: float = 0.35
    platform_half_angle: float = 0.2
    crank: ArrayLike = 0.06
    rod_length: ArrayLike = 0.2
    crank_mass: float = 0.05
    rod_mass: float = 0.05
    platform_mass: float = 0.5
    angle: ArrayLike = 0.2
    gravity: ArrayLike = DOWN
    base_points: ArrayLike | None = None
    platform_points: ArrayLike | None = None
    motor_axes: ArrayLike | None = None
    zero_directions: ArrayLike | None = None
    pattern: str | None = None
    facing: str | None = None
    home: ArrayLike | None = None
    geometry: RotaryPlatform | None = None


@dimensions(signed="base_half_angle platform_half_angle angle", per_leg="crank rod_length angle")
@grouped(RotaryLegDimensions)
def rotary_legs(of: RotaryLegDimensions) -> RotaryLegs:
    """Return a platform on six rotary legs (6-RUS), as hexapods with servos have them.

    Motors ("crank_1" to "crank_6") turn cranks, rods stand on universal joints (two hinges, "rod_1_1" and "rod_1_2",
    ..., the first parallel to the motor's axis) and carry the platform, a free body, by ball joints: 24 coordinates, 18
    constraints. By default the motors stand in pairs on the base's circle, and cranks are in upright
    planes tangential to it, pointing away from the other motor of the pair; angles are above the horizontal.

    Parameters
    ----------
    base_radius, platform_radius : float
        Of the circles of motors and of ball joints [m], where no points are given.
    base_half_angle, platform_half_angle : float
        Half the angle between the motors of a pair, about 0, 120 and 240 degrees, and between ball joints of a pair,
        about 60, 180 and 300 degrees [rad].
    crank, rod_length : float or array-like, shape (6,)
        Lengths [m].
    crank_mass, rod_mass, platform_mass : float
        Of one crank, one rod (both slender), and of the platform, a disc [kg].
    angle : float or array-like, shape (6,)
        Of the cranks in the home configuration, in which the platform is above them, level where it can be [rad].
    gravity : array-like, shape (3,)
        Acceleration of free fall.
    base_points, platform_points : array-like, shape (6, 3), optional
        Of the motors, in the planes of the cranks, and of the ball joints on the platform, in its frame [m].
    motor_axes : array-like, shape (6, 3) or (3,), optional
        Directions of the motors' axes; angles are positive by the right hand.
    zero_directions : array-like, shape (6, 3) or (3,), optional
        Where cranks point at angle 0; horizontal when left out.
    pattern, facing : str, optional
        In place of axes, how upright cranks stand: "coplanar" in pairs, "tangential" or "radial"; see
        `stewart.horn_directions`.
    home : array-like, shape (4, 4), optional
        A pose of the platform in place of that which the angles give.
    geometry : RotaryPlatform, optional
        In place of all points, axes, lengths of cranks and rods, angles and home.

    Raises
    ------
    DescriptionError
        For what is no dimension, or rods that do not reach the platform.
    StewartError
        For points, axes or words that make no platform.
    """
    pattern, geometry = of.pattern, of.geometry
    points = of.base_points, of.platform_points
    given = (*points, of.motor_axes, of.zero_directions, pattern, of.facing, of.home)
    if geometry is None:
        circles = _pairs(of.base_radius, of.base_half_angle, of.platform_radius, of.platform_half_angle)
        base, top = (own if x is None else x for own, x in zip(circles, points, strict=True))
        axes, zero = of.motor_axes, of.zero_directions
        if axes is None:
            pattern = "tangential" if pattern is None else pattern
            zero, axes = horn_directions(as_joint_centres(base, "base_points"), pattern, of.facing)
            if of.zero_directions is not None:
                raise DescriptionError("rotary_legs: zero_directions are there, and motor_axes are missing")
        elif pattern is not None or of.facing is not None:
            raise DescriptionError("rotary_legs: both motor_axes and a pattern are there, one of them is expected")
        try:
            geometry = RotaryPlatform(base, top, axes, of.crank, of.rod_length, zero, of.angle, None, of.home)
        except StewartError as error:
            if error.name != "home_angles":
                raise
            raise DescriptionError(f"rotary_legs: rods do not reach over to the platform: {error}") from error
    elif not isinstance(geometry, RotaryPlatform) or any(x is not None for x in given):
        raise DescriptionError("rotary_legs: geometry: a RotaryPlatform is expected, no points or directions besides")
    builder = ModelBuilder(of.gravity)
    builder.add("platform", None, jt.free(), None, disc(geometry.characteristic_length, of.platform_mass), "platform")
    loops = []
    for k, point in enumerate(geometry.base_points):
        horn, length = float(geometry.horns[k]), float(geometry.rods[k])
        arm, leg = f"crank_{k + 1}", f"rod_{k + 1}"
        builder.add(arm, None, jt.revolute([0, 0, 1]), placed(geometry.frames[k], point), rod(horn, of.crank_mass))
        hinges = [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]
        add_universal(builder, leg, arm, hinges, shifted(horn), rod(length, of.rod_mass), leg)
        ends = {"first_placement": shifted(*geometry.platform_points[k]), "second_placement": shifted(length)}
        loops.append(Loop.spherical("platform", leg, name=f"ball_{k + 1}", **ends))
    model = builder.build("6_rus")
    names = tuple(f"crank_{k}" for k in range(1, 7))
    made = RotaryLegs(model, ConstraintSet(model, loops), model.neutral(), names, "platform", geometry.frames, geometry)
    T = geometry.home_pose
    return replace(made, q=made._joints(T, made._with_rods(geometry.home_angles, made._seen(T))))


def _pairs(base: float, base_half: float, platform: float, platform_half: float) -> tuple[Array, Array]:
    """Return points on two circles (6, 3): pairs about 0, 120, 240 degrees, and those opposite, about 60, -60, ..."""
    points = []
    for radius, half in ((base, base_half), (platform, np.pi / 3.0 - platform_half)):
        angles = (2.0 * np.pi * k / 3.0 + sign * half for k in range(3) for sign in (1.0, -1.0))
        points.append(np.array([about_z(a) @ [radius, 0.0, 0.0] for a in angles]))
    return points[0], points[1]
