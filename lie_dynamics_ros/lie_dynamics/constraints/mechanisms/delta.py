"""Delta robots, with arms or with carriages: six rods in pairs, a platform that stays level."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Array, ArrayLike
from ...errors import DescriptionError
from ...lie import se3
from ...model import joint_types as jt
from ...model.model import ModelBuilder
from ...shown import grouped, shown
from ..constraint_set import ConstraintSet
from ..kinds import Loop
from .base import (
    DOWN,
    Candidates,
    Mechanism,
    about_z,
    add_universal,
    cosine_angle,
    dimensions,
    disc,
    for_legs,
    placed,
    real_numbers,
    require_reach,
    rod,
    shifted,
    six_legs,
    thirds,
)

_THIRDS = 0.0, 2.0 * np.pi / 3.0, 4.0 * np.pi / 3.0


@shown
@dataclass(frozen=True, eq=False)
class Delta(Mechanism, ABC):
    """A delta robot with its dimensions, one for each leg (3,) [m]; see `delta_robot`.

    Attributes
    ----------
    turns : ndarray, shape (3, 3, 3)
        Rotations of the legs' frames, by 0, 120 and 240 degrees about z, or so.
    """

    base_radius: Array
    platform_radius: Array
    forearm: Array
    rod_spacing: Array
    turns: Array

    @abstractmethod
    def tips(self, positions: ArrayLike) -> Array:
        """Return the middles (..., 3, 3) of the rods' upper ends, seen in the legs' frames, for motors (..., 3)."""

    @abstractmethod
    def _positions(self, seen: Array) -> Array:
        """Return the motors (..., 3) for the platform, seen from the legs' origins at (..., 3, 3)."""

    def _turned(self, positions: Array, rods: Array) -> Array:
        """Return the rods (..., 3, 2, 3), seen in the legs' frames, in those of arms or carriages at (..., 3, 1)."""
        return rods

    def output(self, q: ArrayLike) -> Array:
        """Return the place (..., 3) of the platform [m]."""
        return self.pose(q)[..., :3, 3]

    def configuration(self, output: ArrayLike) -> Array:
        """Return the configuration (..., nq) for places (..., 3) of the platform; see `Mechanism.configuration`."""
        place = real_numbers(output, (3,), "output")
        positions = self._positions(self._seen(place))
        for k, name in enumerate(self.actuated):
            require_reach(np.isfinite(positions[..., k]), self.model.name, name)
        return self._joints(positions, se3.from_parts(np.eye(3), place))

    def _seen(self, place: Array) -> Array:
        """Return the platform's centre (..., 3) from the legs' origins, shifted by its radius: (..., 3, 3)."""
        along = np.outer(self.base_radius - self.platform_radius, [1.0, 0.0, 0.0])
        return np.asarray((place[..., None, None, :] @ self.turns)[..., 0, :] - along)

    @property
    def _sides(self) -> Array:
        """Return the ends of the two rods of each leg beside its middle (3, 2, 3)."""
        return np.asarray(self.rod_spacing[:, None, None] * [[0.0, 0.5, 0.0], [0.0, -0.5, 0.0]])

    @property
    def _starts(self) -> Array:
        """Return the legs' origins in their frames (3, 1, 3)."""
        return np.asarray(self.base_radius[:, None, None] * [1.0, 0.0, 0.0])

    def _ends(self) -> Array:
        """Return the rods' ends on the platform (3, 2, 3), leg by leg, left and right."""
        out = self.platform_radius[:, None, None] * [1.0, 0.0, 0.0]
        return np.asarray((self.turns[:, None] @ (self._sides + out)[..., None])[..., 0])

    def _candidates(self, positions: Array) -> Candidates:
        starts = self.tips(positions)[:, None] + self._sides + self._starts
        starts = (self.turns[:, None] @ starts[..., None])[..., 0]
        poses, found = six_legs(starts.reshape(6, 3), self._ends().reshape(6, 3), np.repeat(self.forearm, 2))
        return replace(found, q=self._joints(np.broadcast_to(positions, (len(poses), 3)), poses))

    def _joints(self, positions: Array, T: Array) -> Array:
        ends = (T[..., None, None, :3, :3] @ self._ends()[..., None])[..., 0] + T[..., None, None, :3, 3]
        ends = (ends[..., None, :] @ self.turns[:, None])[..., 0, :] - self._starts
        rods = self._turned(positions[..., None], ends - self.tips(positions)[..., None, :] - self._sides)
        first, second = -rods[..., 2], rods[..., 1]
        hinges = np.arctan2(first, rods[..., 0]), np.arctan2(second, np.hypot(rods[..., 0], rods[..., 2]))

        def value(words: list[str]) -> Array:
            leg = int(words[1]) - 1
            if words[0] == "rod":  # "rod_LEG_SIDE_HINGE"
                return np.asarray(hinges[int(words[3]) - 1][..., leg, int(words[2] == "right")])
            return np.asarray(positions[..., leg])

        return self._with_platform(T, value)


@shown
@dataclass(frozen=True, eq=False)
class RotaryDelta(Delta):
    """With arms on hinges.

    Attributes
    ----------
    arm : ndarray, shape (3,)
        Length of the arms [m].
    """

    arm: Array

    def tips(self, positions: ArrayLike) -> Array:
        """Return the middles (..., 3, 3) of the rods' upper ends, seen in the legs' frames, for arms (..., 3)."""
        x = np.asarray(positions)
        return np.asarray(self.arm[:, None] * np.stack([np.cos(x), 0.0 * x, -np.sin(x)], axis=-1))

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
    rail_angle : ndarray, shape (3,)
        Angle of the rails above the horizontal, pointing outwards [rad].
    """

    rail_angle: Array

    @property
    def _direction(self) -> Array:
        return np.stack([np.cos(self.rail_angle), 0.0 * self.rail_angle, np.sin(self.rail_angle)], axis=-1)

    def tips(self, positions: ArrayLike) -> Array:
        """Return the middles (..., 3, 3) of the rods' upper ends, seen in the legs' frames, for slides (..., 3)."""
        return np.asarray(positions)[..., None] * self._direction

    def _positions(self, seen: Array) -> Array:
        along = (seen * self._direction).sum(axis=-1)
        home = (self._seen(self.output(self.q)) * self._direction).sum(axis=-1)
        with np.errstate(invalid="ignore"):
            half = np.sqrt(self.forearm**2 - (seen**2).sum(axis=-1) + along**2)
        return np.asarray(along + np.where(self.motors(self.q) > home, 1.0, -1.0) * half)


@dataclass(frozen=True, eq=False)
class RotaryDeltaDimensions:
    """Dimensions of `delta_robot`, which describes them."""

    base_radius: ArrayLike = 0.2
    platform_radius: ArrayLike = 0.05
    arm: ArrayLike = 0.3
    forearm: ArrayLike = 0.8
    rod_spacing: ArrayLike = 0.1
    arm_mass: float = 0.5
    rod_mass: float = 0.05
    platform_mass: float = 0.3
    angle: ArrayLike = 0.3
    gravity: ArrayLike = DOWN
    tower_angles: tuple[float, float, float] = _THIRDS


@dimensions(
    signed="angle tower_angles",
    from_zero="platform_radius rod_mass",
    per_leg="base_radius platform_radius arm forearm rod_spacing angle",
    legs=3,
)
@grouped(RotaryDeltaDimensions)
def delta_robot(of: RotaryDeltaDimensions) -> RotaryDelta:
    """Return a delta robot hanging from the xy plane.

    Three arms ("arm_1" to "arm_3", hinged at 120 degrees from each other, positive downwards) carry two parallel rods
    each, on universal joints; the platform is a free body, and ball joints close six loops: 21 coordinates, 18
    constraints. Without mass the rods are no bodies but six distances. Dimensions may be three numbers, a leg each.

    Parameters
    ----------
    base_radius, platform_radius : float or array-like, shape (3,)
        Distances of the hinges from the centre of the base, and of the rods' ends from that of the platform [m].
    arm, forearm, rod_spacing : float or array-like, shape (3,)
        Lengths of arms and rods, and distance of two parallel rods [m].
    arm_mass, rod_mass, platform_mass : float
        Of one arm, one rod (both slender), and of the platform, a disc [kg].
    angle : float or array-like, shape (3,)
        Of the arms below the horizontal, in the home configuration [rad].
    gravity : array-like, shape (3,)
        Acceleration of free fall.
    tower_angles : tuple of three float
        Directions of the legs about z, from x, on base and platform alike [rad].

    Raises
    ------
    DescriptionError
        For what is no dimension, naming the leg, or rods that do not reach the platform.
    """
    sizes = _sizes(of)
    builder, turns = ModelBuilder(of.gravity), _turns(of.tower_angles)
    _add_platform(builder, sizes[1], of.platform_mass)
    loops: list[Loop] = []
    arms = for_legs(of.arm)
    for k, (turn, radius, long) in enumerate(zip(turns, sizes[0], arms.tolist(), strict=True)):
        # The arm points along x of its frame; y is the hinge, so positive angles go down.
        hinge = placed(turn, turn @ [radius, 0.0, 0.0])
        builder.add(f"arm_{k + 1}", None, jt.revolute([0, 1, 0]), hinge, rod(long, of.arm_mass))
        loops += _add_rods(builder, k, f"arm_{k + 1}", long, sizes, turn, of.rod_mass)
    model = builder.build("delta")
    names = "arm_1", "arm_2", "arm_3"
    made = RotaryDelta(model, ConstraintSet(model, loops), model.neutral(), names, "platform", *sizes, turns, arms)
    return replace(made, q=_home(made, for_legs(of.angle)))


@dataclass(frozen=True, eq=False)
class LinearDeltaDimensions:
    """Dimensions of `linear_delta`, which describes them."""

    base_radius: ArrayLike = 0.25
    platform_radius: ArrayLike = 0.05
    forearm: ArrayLike = 0.35
    rod_spacing: ArrayLike = 0.08
    rail: float = 0.8
    rail_angle: ArrayLike = 0.5 * np.pi
    carriage_mass: float = 0.3
    rod_mass: float = 0.03
    platform_mass: float = 0.2
    slide: ArrayLike = 0.6
    gravity: ArrayLike = DOWN
    tower_angles: tuple[float, float, float] = _THIRDS


@dimensions(
    signed="rail_angle slide tower_angles",
    from_zero="platform_radius rod_mass",
    per_leg="base_radius platform_radius forearm rod_spacing rail_angle slide",
    legs=3,
)
@grouped(LinearDeltaDimensions)
def linear_delta(of: LinearDeltaDimensions) -> LinearDelta:
    """Return a delta robot whose rods hang from carriages ("slide_1" to "slide_3") on three rails, as in printers.

    Rails begin in the xy plane, at 120 degrees from each other; the rest is as for `delta_robot`.

    Parameters
    ----------
    base_radius, platform_radius : float or array-like, shape (3,)
        Distances of the rails from the centre of the base, and of the rods' ends from that of the platform [m].
    forearm, rod_spacing, rod_mass, platform_mass, gravity
        As for `delta_robot`.
    rail : float
        Length of the rails [m].
    rail_angle : float or array-like, shape (3,)
        Of the rails above the horizontal, pointing outwards: upright when left out [rad].
    carriage_mass : float
        Of one carriage, a point [kg].
    slide : float or array-like, shape (3,)
        Position of the carriages in the home configuration, the platform being below them [m].
    tower_angles : tuple of three float
        Directions of the towers about z, from x, on base and platform alike [rad].

    Raises
    ------
    DescriptionError
        As `delta_robot`.
    """
    sizes = _sizes(of)
    builder, turns = ModelBuilder(of.gravity), _turns(of.tower_angles)
    _add_platform(builder, sizes[1], of.platform_mass)
    loops: list[Loop] = []
    rises = for_legs(of.rail_angle)
    for k, (turn, radius, rise) in enumerate(zip(turns, sizes[0], rises.tolist(), strict=True)):
        start, point = placed(turn, turn @ [radius, 0.0, 0.0]), rod(0.0, of.carriage_mass)
        along, body = [float(np.cos(rise)), 0.0, float(np.sin(rise))], f"carriage_{k + 1}"
        builder.add(body, None, jt.prismatic(along), start, point, f"slide_{k + 1}", lower=0.0, upper=of.rail)
        loops += _add_rods(builder, k, body, 0.0, sizes, turn, of.rod_mass)
    model = builder.build("linear_delta")
    names = "slide_1", "slide_2", "slide_3"
    made = LinearDelta(model, ConstraintSet(model, loops), model.neutral(), names, "platform", *sizes, turns, rises)
    return replace(made, q=_home(made, for_legs(of.slide)))


def _turns(angles: tuple[float, ...]) -> Array:
    return np.array(thirds() if tuple(angles) == _THIRDS else [about_z(float(angle)) for angle in angles])


def _sizes(of: RotaryDeltaDimensions | LinearDeltaDimensions) -> tuple[Array, Array, Array, Array]:
    return for_legs(of.base_radius), for_legs(of.platform_radius), for_legs(of.forearm), for_legs(of.rod_spacing)


def _home(made: Delta, positions: Array) -> Array:
    """Return the configuration with motors at some positions (3,) and the platform, level, on the lower side.

    Its centre is where three spheres about the tips, moved inwards by its radius, cross.
    """
    inwards = made.tips(positions) + np.outer(made.base_radius - made.platform_radius, [1.0, 0.0, 0.0])
    centres = (made.turns @ inwards[..., None])[..., 0]
    if np.ptp(positions) == np.ptp(made.forearm) == np.ptp(inwards[:, 0]) == 0.0:
        across = np.array([0.0, 0.0, centres[0, 2]])  # the axis of symmetry, without round-off
    else:
        rows = centres[1:] - centres[0]
        sides = 0.5 * ((rows**2).sum(axis=1) - made.forearm[1:] ** 2 + made.forearm[0] ** 2)
        across = centres[0] + np.linalg.lstsq(rows, sides, rcond=None)[0]
    normal = np.cross(centres[1] - centres[0], centres[2] - centres[0])
    reaches = np.linalg.norm(centres - across, axis=1)
    worst = int(np.argmax(reaches / made.forearm))
    size = float(np.linalg.norm(normal))
    if not reaches[worst] < made.forearm[worst] or size == 0.0:
        name, rod_length, reach = made.model.name, made.forearm[worst], reaches[worst]
        text = f"{name}: rods of {rod_length:.6g} m do not reach over {reach:.6g} m, leg {worst + 1}"
        raise DescriptionError(text, name=made.actuated[worst], value=reach)
    down = -np.sqrt(made.forearm[0] ** 2 - reaches[0] ** 2) * np.sign(normal[2] or 1.0) / size
    place = across + down * normal
    return made._joints(positions, shifted(*place.tolist()))


def _add_platform(builder: ModelBuilder, radius: Array, mass: float) -> None:
    builder.add("platform", None, jt.free(), None, disc(max(float(radius.mean()), 0.01), mass), "platform")


def _add_rods(
    builder: ModelBuilder, leg: int, body: str, x: float, sizes: tuple[Array, ...], turn: Array, mass: float
) -> list[Loop]:
    """Add the two rods of a leg at a distance along x of its body's frame; return the loops to the platform."""
    loops = []
    radius, length, spacing = (float(size[leg]) for size in sizes[1:])
    for side, y in (("left", 0.5 * spacing), ("right", -0.5 * spacing)):
        end, name = shifted(*(turn @ [radius, y, 0.0])), f"rod_{leg + 1}_{side}"
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
