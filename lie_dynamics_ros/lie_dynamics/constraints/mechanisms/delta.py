"""Delta robots, with arms or with carriages: six rods in pairs, a platform that stays level."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...errors import DescriptionError
from ...lie import quaternion as quaternions
from ...lie import se3
from ...model import joint_types as jt
from ...model.builder import ModelBuilder
from ...shown import shown
from ..constraint_set import ConstraintSet
from ..loop import Loop
from .assemblies import Candidates, six_legs
from .base import (
    DOWN,
    Array,
    Mechanism,
    add_universal,
    dimensions,
    disc,
    placed,
    real_numbers,
    require_reach,
    rod,
    shifted,
    thirds,
)
from .crossings import cosine_angle

_TURNS = np.array(thirds())


@shown
@dataclass(frozen=True, eq=False)
class Delta(Mechanism, ABC):
    """A delta robot with its dimensions; legs are seen in frames turned by 0, 120 and 240 degrees about z.

    Attributes
    ----------
    base_radius, platform_radius : float
        Distances of the legs' origins from the centre of the base, and of the rods' ends from that of the platform [m].
    forearm, rod_spacing : float
        Length of the rods, and distance of two parallel ones [m].
    """

    base_radius: float
    platform_radius: float
    forearm: float
    rod_spacing: float

    @abstractmethod
    def tips(self, positions: npt.ArrayLike) -> Array:
        """Return the middles (..., 3, 3) of the rods' upper ends, seen in the legs' frames, for motors (..., 3)."""

    @abstractmethod
    def _positions(self, seen: Array) -> Array:
        """Return the motors (..., 3) for the platform, seen from the legs' origins at (..., 3, 3)."""

    def _turned(self, positions: Array, rods: Array) -> Array:
        """Return the rods (..., 3, 2, 3), seen in the legs' frames, in those of arms or carriages at (..., 3, 1)."""
        return rods

    def output(self, q: npt.ArrayLike) -> Array:
        """Return the place (..., 3) of the platform [m]."""
        return self.pose(q)[..., :3, 3]

    def configuration(self, output: npt.ArrayLike) -> Array:
        """Return the configuration (..., nq) for places (..., 3) of the platform; see `Mechanism.configuration`."""
        place = real_numbers(output, (3,), "output")
        positions = self._positions(self._seen(place))
        for k, name in enumerate(self.actuated):
            require_reach(np.isfinite(positions[..., k]), self.model.name, name)
        return self._joints(positions, se3.from_parts(np.eye(3), place))

    def _seen(self, place: Array) -> Array:
        """Return the platform's centre (..., 3) from the legs' origins, shifted by its radius: (..., 3, 3)."""
        along = [self.base_radius - self.platform_radius, 0.0, 0.0]
        return np.asarray((place[..., None, None, :] @ _TURNS)[..., 0, :] - along)

    @property
    def _sides(self) -> Array:
        """Return the ends of the two rods of a leg beside its middle (2, 3)."""
        return np.array([[0.0, 0.5 * self.rod_spacing, 0.0], [0.0, -0.5 * self.rod_spacing, 0.0]])

    def _ends(self) -> Array:
        """Return the rods' ends on the platform (3, 2, 3), leg by leg, left and right."""
        return np.asarray(
            (_TURNS[:, None] @ (self._sides + np.array([self.platform_radius, 0.0, 0.0]))[..., None])[..., 0]
        )

    def _candidates(self, positions: Array) -> Candidates:
        starts = self.tips(positions)[:, None] + self._sides + [self.base_radius, 0.0, 0.0]
        starts = (_TURNS[:, None] @ starts[..., None])[..., 0]
        poses, found = six_legs(starts.reshape(6, 3), self._ends().reshape(6, 3), np.full(6, self.forearm))
        return replace(found, q=self._joints(np.broadcast_to(positions, (len(poses), 3)), poses))

    def _joints(self, positions: Array, T: Array) -> Array:
        ends = (T[..., None, None, :3, :3] @ self._ends()[..., None])[..., 0] + T[..., None, None, :3, 3]
        ends = (ends[..., None, :] @ _TURNS[:, None])[..., 0, :] - [self.base_radius, 0.0, 0.0]
        rods = self._turned(positions[..., None], ends - self.tips(positions)[..., None, :] - self._sides)
        first, second = -rods[..., 2], rods[..., 1]
        hinges = np.arctan2(first, rods[..., 0]), np.arctan2(second, np.hypot(rods[..., 0], rods[..., 2]))
        q = np.empty((*T.shape[:-2], self.model.nq))
        for joint in self.model.joints:
            part, words = q[..., joint.q_slice], joint.name.split("_")
            if words[0] == "platform":
                part[..., :4], part[..., 4:] = quaternions.from_matrix(T[..., :3, :3]), T[..., :3, 3]
            elif words[0] == "rod":  # "rod_LEG_SIDE_HINGE"
                part[..., 0] = hinges[int(words[3]) - 1][..., int(words[1]) - 1, int(words[2] == "right")]
            else:
                part[..., 0] = positions[..., int(words[1]) - 1]
        return q


@shown
@dataclass(frozen=True, eq=False)
class RotaryDelta(Delta):
    """With arms on hinges.

    Attributes
    ----------
    arm : float
        Length of the arms [m].
    """

    arm: float

    def tips(self, positions: npt.ArrayLike) -> Array:
        """Return the middles (..., 3, 3) of the rods' upper ends, seen in the legs' frames, for arms (..., 3)."""
        x = np.asarray(positions)
        return np.asarray(self.arm * np.stack([np.cos(x), 0.0 * x, -np.sin(x)], axis=-1))

    def _positions(self, seen: Array) -> Array:
        home = self._seen(self.output(self.q))
        sides = np.sign(np.sin(self.motors(self.q) - np.arctan2(-home[:, 2], home[:, 0])))
        value = ((seen**2).sum(axis=-1) + self.arm**2 - self.forearm**2) / (2.0 * self.arm)
        return np.asarray(np.angle(np.exp(1j * cosine_angle(seen[..., 0], -seen[..., 2], value, sides))))

    def _turned(self, positions: Array, rods: Array) -> Array:
        c, s = np.cos(positions), np.sin(positions)
        x, y, z = np.moveaxis(rods, -1, 0)
        return np.stack([c * x - s * z, y, s * x + c * z], axis=-1)


@shown
@dataclass(frozen=True, eq=False)
class LinearDelta(Delta):
    """With carriages on rails.

    Attributes
    ----------
    rail_angle : float
        Angle of the rails above the horizontal, pointing outwards [rad].
    """

    rail_angle: float

    @property
    def _direction(self) -> Array:
        return np.array([np.cos(self.rail_angle), 0.0, np.sin(self.rail_angle)])

    def tips(self, positions: npt.ArrayLike) -> Array:
        """Return the middles (..., 3, 3) of the rods' upper ends, seen in the legs' frames, for slides (..., 3)."""
        return np.asarray(positions)[..., None] * self._direction

    def _positions(self, seen: Array) -> Array:
        along = seen @ self._direction
        home = self._seen(self.output(self.q)) @ self._direction
        with np.errstate(invalid="ignore"):
            half = np.sqrt(self.forearm**2 - (seen**2).sum(axis=-1) + along**2)
        return np.asarray(along + np.where(self.motors(self.q) > home, 1.0, -1.0) * half)


@dimensions(signed="angle", from_zero="platform_radius rod_mass")
def delta_robot(
    base_radius: float = 0.2,
    platform_radius: float = 0.05,
    arm: float = 0.3,
    forearm: float = 0.8,
    rod_spacing: float = 0.1,
    arm_mass: float = 0.5,
    rod_mass: float = 0.05,
    platform_mass: float = 0.3,
    angle: float = 0.3,
    gravity: npt.ArrayLike = DOWN,
) -> RotaryDelta:
    """Return a delta robot hanging from the xy plane.

    Three arms ("arm_1" to "arm_3", hinged at 120 degrees from each other, positive downwards) carry two parallel rods
    each, on universal joints; the platform is a free body, and ball joints close six loops: 21 coordinates, 18
    constraints. Without mass the rods are no bodies but six distances.

    Parameters
    ----------
    base_radius, platform_radius : float
        Distances of the hinges from the centre of the base, and of the rods' ends from that of the platform [m].
    arm, forearm, rod_spacing : float
        Lengths of arms and rods, and distance of two parallel rods [m].
    arm_mass, rod_mass, platform_mass : float
        Of one arm, one rod (both slender), and of the platform, a disc [kg].
    angle : float
        Of the arms below the horizontal, in the home configuration [rad].
    gravity : array-like, shape (3,)
        Acceleration of free fall.

    Raises
    ------
    DescriptionError
        For what is no dimension, or rods that do not reach the platform.
    """
    builder = ModelBuilder(gravity)
    _add_platform(builder, platform_radius, platform_mass)
    loops: list[Loop] = []
    for k, turn in enumerate(_TURNS, start=1):
        # The arm points along x of its frame; y is the hinge, so positive angles go down.
        hinge = placed(turn, turn @ [base_radius, 0.0, 0.0])
        builder.add(f"arm_{k}", None, jt.revolute([0, 1, 0]), hinge, rod(arm, arm_mass))
        loops += _add_rods(builder, k, f"arm_{k}", arm, platform_radius, forearm, rod_spacing, rod_mass)
    model = builder.build("delta")
    names = "arm_1", "arm_2", "arm_3"
    sizes = base_radius, platform_radius, forearm, rod_spacing
    made = RotaryDelta(model, ConstraintSet(model, loops), model.neutral(), names, "platform", *sizes, arm)
    return replace(made, q=_home(made, angle))


@dimensions(signed="rail_angle slide", from_zero="platform_radius rod_mass")
def linear_delta(
    base_radius: float = 0.25,
    platform_radius: float = 0.05,
    forearm: float = 0.35,
    rod_spacing: float = 0.08,
    rail: float = 0.8,
    rail_angle: float = 0.5 * np.pi,
    carriage_mass: float = 0.3,
    rod_mass: float = 0.03,
    platform_mass: float = 0.2,
    slide: float = 0.6,
    gravity: npt.ArrayLike = DOWN,
) -> LinearDelta:
    """Return a delta robot whose rods hang from carriages ("slide_1" to "slide_3") on three rails, as in printers.

    Rails begin in the xy plane, at 120 degrees from each other; the rest is as for `delta_robot`.

    Parameters
    ----------
    base_radius, platform_radius : float
        Distances of the rails from the centre of the base, and of the rods' ends from that of the platform [m].
    forearm, rod_spacing : float
        Length of the rods, and distance of two parallel ones [m].
    rail : float
        Length of the rails [m].
    rail_angle : float
        Of the rails above the horizontal, pointing outwards: upright when left out [rad].
    carriage_mass, rod_mass, platform_mass : float
        Of one carriage, a point, of one slender rod, and of the platform, a disc [kg].
    slide : float
        Position of the carriages in the home configuration, the platform being below them [m].
    gravity : array-like, shape (3,)
        Acceleration of free fall.

    Raises
    ------
    DescriptionError
        As `delta_robot`.
    """
    builder = ModelBuilder(gravity)
    _add_platform(builder, platform_radius, platform_mass)
    along = [float(np.cos(rail_angle)), 0.0, float(np.sin(rail_angle))]
    loops: list[Loop] = []
    for k, turn in enumerate(_TURNS, start=1):
        start, point = placed(turn, turn @ [base_radius, 0.0, 0.0]), rod(0.0, carriage_mass)
        builder.add(f"carriage_{k}", None, jt.prismatic(along), start, point, f"slide_{k}", lower=0.0, upper=rail)
        loops += _add_rods(builder, k, f"carriage_{k}", 0.0, platform_radius, forearm, rod_spacing, rod_mass)
    model = builder.build("linear_delta")
    names = "slide_1", "slide_2", "slide_3"
    sizes, angle = (base_radius, platform_radius, forearm, rod_spacing), float(rail_angle)
    made = LinearDelta(model, ConstraintSet(model, loops), model.neutral(), names, "platform", *sizes, angle)
    return replace(made, q=_home(made, slide))


def _home(made: Delta, position: float) -> Array:
    """Return the configuration with all motors at one position and the platform on the lower side."""
    tip = made.tips(np.full(3, position))[0]
    reach = made.base_radius - made.platform_radius + tip[0]
    if not abs(reach) < made.forearm:
        name = made.model.name
        raise DescriptionError(f"{name}: rods of {made.forearm} m do not reach over {reach:.6g} m", value=reach)
    height = tip[2] - np.sqrt(made.forearm**2 - reach**2)
    return made._joints(np.full(3, float(position)), shifted(0.0, 0.0, float(height)))


def _add_platform(builder: ModelBuilder, radius: float, mass: float) -> None:
    builder.add("platform", None, jt.free(), None, disc(max(radius, 0.01), mass), "platform")


def _add_rods(
    builder: ModelBuilder, leg: int, body: str, x: float, radius: float, length: float, spacing: float, mass: float
) -> list[Loop]:
    """Add the two rods of a leg at a distance along x of its body's frame; return the loops to the platform."""
    loops = []
    for side, y in (("left", 0.5 * spacing), ("right", -0.5 * spacing)):
        end, name = shifted(*(_TURNS[leg - 1] @ [radius, y, 0.0])), f"rod_{leg}_{side}"
        start = shifted(x, y)
        if mass > 0.0:
            axes = [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]
            add_universal(builder, name, body, axes, start, rod(length, mass), name)
            ends = {"first_placement": end, "second_placement": shifted(length)}
            loops.append(Loop.spherical("platform", name, name=name, **ends))
        else:
            ends = {"first_placement": end, "second_placement": start}
            loops.append(Loop.distance("platform", body, length, name=name, **ends))
    return loops
