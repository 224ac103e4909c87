"""Shared parts of platforms on six legs with mass, whatever their legs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...errors import DescriptionError
from ...lie import SpatialInertia, se3
from ...lie import quaternion as quaternions
from ...model import joint_types as jt
from ...model.builder import ModelBuilder
from ...shown import shown
from .base import STROKE, Mechanism, add_universal, disc, real_pose, rod

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
