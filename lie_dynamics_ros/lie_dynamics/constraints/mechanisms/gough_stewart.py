"""The Gough-Stewart platform with legs that have mass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...lie import SpatialInertia, se3
from ...lie import quaternion as quaternions
from ...model import joint_types as jt
from ...model.builder import ModelBuilder
from ..constraint_set import ConstraintSet
from ..cut_joints import perpendicular
from ..loop import Loop
from .mechanism import Array, Mechanism, placed, rod, shifted


class Geometry(Protocol):
    """What is read of a `StewartPlatform`: joint centres on base and platform, (6, 3) each [m]."""

    @property
    def base_points(self) -> Array:
        """Joint centres on the base."""

    @property
    def platform_points(self) -> Array:
        """Joint centres on the platform."""


@dataclass(frozen=True, eq=False)
class GoughStewart(Mechanism):
    """The mechanism with the frames of its legs.

    Attributes
    ----------
    geometry : Geometry
        Joint centres.
    leg_frames : ndarray, shape (6, 3, 3)
        Rotation of each leg's frame on the base; z points along the leg in the home pose.
    """

    geometry: Any
    leg_frames: Array

    def configuration(self, pose: npt.ArrayLike) -> Array:
        """Return q (..., nq) of a pose (..., 4, 4) of the platform: inverse kinematics, loops closed."""
        T = se3.check(pose, "pose")
        R, p = T[..., None, :3, :3], T[..., None, :3, 3]
        legs = (R @ self.geometry.platform_points[..., None])[..., 0] + p - self.geometry.base_points
        length = np.linalg.norm(legs, axis=-1)
        local = (np.swapaxes(self.leg_frames, -1, -2) @ (legs / length[..., None])[..., None])[..., 0]
        first = np.arctan2(-local[..., 1], local[..., 2])
        second = np.arctan2(local[..., 0], np.hypot(local[..., 1], local[..., 2]))
        parts = {"platform": np.concatenate([quaternions.from_matrix(T[..., :3, :3]), T[..., :3, 3]], axis=-1)}
        for k in range(6):
            parts[f"tilt_{k + 1}"] = np.stack([first[..., k], second[..., k]], axis=-1)
            parts[f"leg_{k + 1}"] = length[..., k : k + 1]
        return np.concatenate([parts[joint.name] for joint in self.model.joints], axis=-1)

    def pose(self, q: npt.ArrayLike) -> Array:
        """Return the pose (..., 4, 4) of the platform in a configuration."""
        part = np.asarray(q)[..., self.model.joint("platform").q_slice]
        return np.asarray(se3.from_position_quaternion(part[..., 4:], part[..., :4]))


def gough_stewart(
    geometry: Geometry,
    home: npt.ArrayLike,
    platform_inertia: SpatialInertia,
    cylinder_mass: float = 1.0,
    piston_mass: float = 0.5,
    cylinder_length: float = 0.4,
    piston_length: float = 0.4,
    gravity: npt.ArrayLike = (0.0, 0.0, -9.81),
) -> GoughStewart:
    """Return a Gough-Stewart platform whose legs are cylinders and pistons.

    Each leg has a universal joint on the base ("tilt_1" ...), a slide ("leg_1" ..., whose coordinate is the distance of
    its two joint centres), and a ball joint on the platform, a free body: 24 coordinates, 18 constraints.

    Parameters
    ----------
    geometry : StewartPlatform
        Or anything with its `base_points` and `platform_points`.
    home : array-like, shape (4, 4)
        A pose of the platform; the legs' universal joints are square there.
    platform_inertia : SpatialInertia
        In the platform's frame.
    cylinder_mass, piston_mass : float
        Of slender rods [kg]: the cylinder from the base joint outwards, the piston from the platform joint inwards.
        With both zero, forward dynamics has no answer (the recursion needs mass beyond every joint); inverse has.
    cylinder_length, piston_length : float
        [m].
    gravity : array-like, shape (3,)
        Acceleration of free fall.
    """
    T = se3.check(home, "home")
    legs = geometry.platform_points @ T[:3, :3].T + T[:3, 3] - geometry.base_points
    frames = np.empty((6, 3, 3))
    builder = ModelBuilder(gravity).add("platform", None, jt.free(), None, platform_inertia, "platform")
    loops = []
    for k in range(6):
        z = legs[k] / np.linalg.norm(legs[k])
        x, y = perpendicular(z)
        frames[k] = np.array([x, y, z]).T
        cylinder, piston = f"cylinder_{k + 1}", f"piston_{k + 1}"
        builder.add(
            cylinder,
            None,
            jt.universal([1, 0, 0], [0, 1, 0]),
            placed(frames[k], geometry.base_points[k]),
            rod(cylinder_length, cylinder_mass, axis=2),
            f"tilt_{k + 1}",
        )
        inertia = rod(piston_length, piston_mass, axis=2, start=-piston_length)
        builder.add(piston, cylinder, jt.prismatic([0, 0, 1]), None, inertia, f"leg_{k + 1}")
        ball = shifted(*geometry.platform_points[k])
        loops.append(Loop.spherical("platform", piston, name=f"ball_{k + 1}", first_placement=ball))
    model = builder.build("gough_stewart")
    mechanism = GoughStewart(
        model, ConstraintSet(model, loops), model.neutral(), tuple(f"leg_{k}" for k in range(1, 7)), geometry, frames
    )
    object.__setattr__(mechanism, "q", mechanism.configuration(T))
    return mechanism
