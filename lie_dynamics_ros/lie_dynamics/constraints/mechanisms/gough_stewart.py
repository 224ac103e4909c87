"""Gough-Stewart platforms on sliding legs with mass (6-UPS)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...errors import DescriptionError
from ...lie import SpatialInertia
from ...model import joint_types as jt
from ...model.builder import ModelBuilder
from ...shown import shown
from ...stewart import RotaryPlatform, reference_platform
from ..constraint_set import ConstraintSet
from ..cut_joints import perpendicular
from ..loop import Loop
from .assemblies import Candidates, six_legs
from .base import DOWN, dimensions, placed, require_reach, shifted
from .six_legs import Geometry, PointLegs, add_sliding_leg, home_of, plate_of


@shown
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
