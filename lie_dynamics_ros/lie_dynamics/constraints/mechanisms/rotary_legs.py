"""Gough-Stewart platforms on rotary legs with mass (6-RUS)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Array, ArrayLike
from ...errors import DescriptionError
from ...model import joint_types as jt
from ...model.model import ModelBuilder
from ...shown import grouped, shown
from ...stewart import RotaryPlatform, StewartError, horn_directions
from ...stewart.geometry.checks import as_joint_centres
from ..constraint_set import ConstraintSet
from ..kinds import Loop
from .assemblies import Candidates, six_legs
from .base import DOWN, about_z, add_universal, dimensions, disc, placed, require_reach, rod, shifted
from .six_legs import PointLegs


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

    def _place(self, name: str) -> int:
        return 0 if name.startswith("crank") else int(name[-1])

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
