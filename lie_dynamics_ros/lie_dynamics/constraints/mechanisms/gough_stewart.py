"""Gough-Stewart platforms whose legs have mass: with sliding legs (6-UPS) and with rotary legs (6-RUS)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ...errors import DescriptionError
from ...lie import SpatialInertia, se3
from ...lie import quaternion as quaternions
from ...model import joint_types as jt
from ...model.builder import ModelBuilder
from ...stewart import reference_platform
from ..constraint_set import ConstraintSet
from ..cut_joints import perpendicular
from ..loop import Loop
from .assemblies import Candidates, six_legs
from .base import (
    DOWN,
    STROKE,
    Array,
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
)
from .crossings import cosine_angle

#: Length [m] and mass [kg] of a leg's cylinder, and of its piston.
Rods = tuple[tuple[float, float], tuple[float, float]]


class Geometry(Protocol):
    """What is read of a `StewartPlatform`: joint centres on base and platform, (6, 3) each [m]."""

    @property
    def base_points(self) -> Array:
        """Joint centres on the base."""

    @property
    def platform_points(self) -> Array:
        """Joint centres on the platform."""


@dataclass(frozen=True, eq=False)
class SixLegs(Mechanism, ABC):
    """A free platform on six legs; its output is the pose.

    Attributes
    ----------
    leg_frames : ndarray, shape (6, 3, 3)
        Rotation of each leg's frame on the base.
    """

    leg_frames: Array

    def configuration(self, output: npt.ArrayLike) -> Array:
        """Return the configuration (..., nq) for poses (..., 4, 4) of the platform; see `Mechanism.configuration`."""
        T = real_pose(output)
        return self._joints(T, self._legs(T))

    @abstractmethod
    def _legs(self, T: Array) -> Array:
        """Return the coordinates of each leg (..., 6, k) for poses (..., 4, 4)."""

    def _joints(self, T: Array, legs: Array) -> Array:
        q = np.empty((*T.shape[:-2], self.model.nq))
        for joint in self.model.joints:
            part = q[..., joint.q_slice]
            if joint.name == "platform":
                part[..., :4], part[..., 4:] = quaternions.from_matrix(T[..., :3, :3]), T[..., :3, 3]
            else:  # "WORD_LEG", or "WORD_LEG_HINGE"
                words = joint.name.split("_")
                part[..., 0] = legs[..., int(words[1]) - 1, self._place(joint.name)]
        return q

    @abstractmethod
    def _place(self, name: str) -> int:
        """Return which of a leg's coordinates a joint has."""


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


@dataclass(frozen=True, eq=False)
class GoughStewart(PointLegs):
    """With sliding legs; z of a leg's frame points along the leg in the home configuration."""

    def _legs(self, T: Array) -> Array:
        seen = self._seen(T)
        first = np.arctan2(-seen[..., 1], seen[..., 2])
        second = np.arctan2(seen[..., 0], np.hypot(seen[..., 1], seen[..., 2]))
        return np.stack([first, second, np.linalg.norm(seen, axis=-1)], axis=-1)

    def _place(self, name: str) -> int:
        return 2 if name.startswith("leg") else int(name[-1]) - 1

    def _candidates(self, positions: Array) -> Candidates:
        lengths = np.where(positions > 0.0, positions, np.nan)
        require_reach(np.isfinite(lengths), self.model.name, "a leg that is not longer than zero")
        poses, found = six_legs(self.geometry.base_points, self.geometry.platform_points, positions)
        return replace(found, q=self.configuration(poses))


@dataclass(frozen=True, eq=False)
class RotaryLegs(PointLegs):
    """With cranks and rods; x and y of a leg's frame span the plane of its crank, y pointing up.

    Attributes
    ----------
    crank, rod : float
        Lengths [m].
    """

    crank: float
    rod: float

    def knees(self, positions: npt.ArrayLike) -> Array:
        """Return where cranks and rods meet (..., 6, 3) in the world, for cranks at (..., 6)."""
        x = np.asarray(positions, dtype=float)
        seen = self.crank * np.stack([np.cos(x), np.sin(x), 0.0 * x], axis=-1)
        return np.asarray(self.geometry.base_points + (self.leg_frames @ seen[..., None])[..., 0])

    def _legs(self, T: Array) -> Array:
        seen, home = self._seen(T), self._seen(self.pose(self.q))
        sides = np.sign(np.sin(self.motors(self.q) - np.arctan2(home[:, 1], home[:, 0])))
        cranks = self._cranks(seen, sides)
        for k in range(6):
            require_reach(np.isfinite(cranks[..., k]), self.model.name, self.actuated[k])
        return self._with_rods(cranks, seen)

    def _cranks(self, seen: Array, sides: Array) -> Array:
        value = ((seen**2).sum(axis=-1) + self.crank**2 - self.rod**2) / (2.0 * self.crank)
        return np.asarray(np.angle(np.exp(1j * cosine_angle(seen[..., 0], seen[..., 1], value, sides))))

    def _with_rods(self, cranks: Array, seen: Array) -> Array:
        """Return the coordinates of legs (..., 6, 3): crank, and the rod's two hinges, the first parallel to it."""
        x, y, z = np.moveaxis(seen, -1, 0)
        c, s = np.cos(cranks), np.sin(cranks)
        x, y = c * x + s * y - self.crank, c * y - s * x
        return np.stack([cranks, np.arctan2(y, x), np.arctan2(-z, np.hypot(x, y))], axis=-1)

    def _place(self, name: str) -> int:
        return 0 if name.startswith("crank") else int(name[-1])

    def _candidates(self, positions: Array) -> Candidates:
        poses, found = six_legs(self.knees(positions), self.geometry.platform_points, np.full(6, self.rod))
        legs = self._with_rods(np.broadcast_to(positions, (len(poses), 6)), self._seen(poses))
        return replace(found, q=self._joints(poses, legs))


@dimensions(from_zero="cylinder_mass piston_mass")
def gough_stewart(
    geometry: Geometry | None = None,
    home: npt.ArrayLike | None = None,
    platform_inertia: SpatialInertia | None = None,
    cylinder_mass: float = 1.0,
    piston_mass: float = 0.5,
    cylinder_length: float = 0.4,
    piston_length: float = 0.4,
    gravity: npt.ArrayLike = DOWN,
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
    if not all(np.shape(getattr(geometry, key, 0.0)) == (6, 3) for key in ("base_points", "platform_points")):
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


@dimensions(signed="base_half_angle platform_half_angle angle")
def rotary_legs(
    base_radius: float = 0.15,
    platform_radius: float = 0.1,
    base_half_angle: float = 0.35,
    platform_half_angle: float = 0.2,
    crank: float = 0.06,
    rod_length: float = 0.2,
    crank_mass: float = 0.05,
    rod_mass: float = 0.05,
    platform_mass: float = 0.5,
    angle: float = 0.2,
    gravity: npt.ArrayLike = DOWN,
) -> RotaryLegs:
    """Return a platform on six rotary legs (6-RUS), as hexapods with servos have them.

    Motors ("crank_1" to "crank_6") stand in pairs on the base's circle and turn their cranks in upright planes
    tangential to it, pointing away from the other motor of the pair; angles are above the horizontal. Rods stand on
    universal joints (two hinges, "rod_1_1" and "rod_1_2", ..., the first parallel to the motor's axis) and carry the
    platform, a free body, by ball joints: 24 coordinates, 18 constraints.

    Parameters
    ----------
    base_radius, platform_radius : float
        Of the circles of motors and of ball joints [m].
    base_half_angle, platform_half_angle : float
        Half the angle between the motors of a pair, about 0, 120 and 240 degrees, and between ball joints of a pair,
        about 60, 180 and 300 degrees [rad].
    crank, rod_length : float
        Lengths [m].
    crank_mass, rod_mass, platform_mass : float
        Of one crank, one rod (both slender), and of the platform, a disc [kg].
    angle : float
        Of the cranks in the home configuration, in which the platform is level and above them [rad].
    gravity : array-like, shape (3,)
        Acceleration of free fall.

    Raises
    ------
    DescriptionError
        For what is no dimension, or rods that do not reach the platform.
    """
    geometry = _Points(*_pairs(base_radius, base_half_angle, platform_radius, platform_half_angle))
    frames = np.empty((6, 3, 3))
    builder = ModelBuilder(gravity)
    builder.add("platform", None, jt.free(), None, disc(platform_radius, platform_mass), "platform")
    loops = []
    for k, point in enumerate(geometry.base_points):
        sense = 1.0 if k % 2 == 0 else -1.0
        along = sense * np.array([-point[1], point[0], 0.0]) / base_radius
        up = np.array([0.0, 0.0, 1.0])
        frames[k] = np.array([along, up, np.cross(along, up)]).T
        arm, leg = f"crank_{k + 1}", f"rod_{k + 1}"
        builder.add(arm, None, jt.revolute([0, 0, 1]), placed(frames[k], point), rod(crank, crank_mass))
        axes = [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]
        add_universal(builder, leg, arm, axes, shifted(crank), rod(rod_length, rod_mass), leg)
        ends = {"first_placement": shifted(*geometry.platform_points[k]), "second_placement": shifted(rod_length)}
        loops.append(Loop.spherical("platform", leg, name=f"ball_{k + 1}", **ends))
    model = builder.build("6_rus")
    names = tuple(f"crank_{k}" for k in range(1, 7))
    made = RotaryLegs(
        model, ConstraintSet(model, loops), model.neutral(), names, "platform", frames, geometry, crank, rod_length
    )
    # Level, and not turned: by symmetry all rods reach it from cranks at one angle.
    gap = geometry.platform_points[0] - made.knees(np.full(6, angle))[0]
    square = rod_length**2 - gap[0] ** 2 - gap[1] ** 2
    if not square > 0.0:
        raise DescriptionError(
            f"rotary_legs: rods of {rod_length} m do not reach over {np.hypot(gap[0], gap[1]):.6g} m"
        )
    T = shifted(0.0, 0.0, float(np.sqrt(square) - gap[2]))
    return replace(made, q=made._joints(T, made._with_rods(np.full(6, float(angle)), made._seen(T))))


@dataclass(frozen=True, eq=False)
class _Points:
    base_points: Array
    platform_points: Array


def _pairs(base: float, base_half: float, platform: float, platform_half: float) -> tuple[Array, Array]:
    """Return points on two circles (6, 3): pairs about 0, 120, 240 degrees, and those opposite, about 60, -60, ..."""
    points = []
    for radius, half in ((base, base_half), (platform, np.pi / 3.0 - platform_half)):
        angles = (2.0 * np.pi * k / 3.0 + sign * half for k in range(3) for sign in (1.0, -1.0))
        points.append(np.array([about_z(a) @ [radius, 0.0, 0.0] for a in angles]))
    return points[0], points[1]


def home_of(geometry: object, home: npt.ArrayLike | None, mechanism: str) -> Array:
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
    builder: ModelBuilder, leg: int, placement: Array, length: float, rods: Rods, offset: float = 0.0
) -> str:
    """Add a universal joint, a cylinder and a piston, of (length [m], mass [kg]) each; return the piston's name.

    The hinges turn about x and y, the second one `offset` further along z [m]; the leg is `length` long at home.
    """
    cylinder, piston = f"cylinder_{leg}", f"piston_{leg}"
    (long, mass), (thin_long, thin_mass) = rods
    axes = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
    add_universal(builder, cylinder, None, axes, placement, rod(long, mass, axis=2), f"tilt_{leg}", offset)
    inertia, limits = rod(thin_long, thin_mass, axis=2, start=-thin_long), (STROKE[0] * length, STROKE[1] * length)
    slide = jt.prismatic([0, 0, 1])
    builder.add(piston, cylinder, slide, None, inertia, f"leg_{leg}", lower=limits[0], upper=limits[1])
    return piston
