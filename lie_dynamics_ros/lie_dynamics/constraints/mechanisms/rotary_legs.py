"""Gough-Stewart platforms on rotary legs with mass (6-RUS)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...errors import DescriptionError
from ...model import joint_types as jt
from ...model.builder import ModelBuilder
from ..constraint_set import ConstraintSet
from ..loop import Loop
from .assemblies import Candidates, six_legs
from .base import DOWN, Array, about_z, add_universal, dimensions, disc, placed, require_reach, rod, shifted
from .crossings import cosine_angle
from .six_legs import PointLegs


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
