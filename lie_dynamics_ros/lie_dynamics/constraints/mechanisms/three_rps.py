"""The 3-RPS platform: three sliding legs on hinges, ball joints at the platform."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Array, ArrayLike, Complex
from ...errors import InputError
from ...lie import se3
from ...model import joint_types as jt
from ...model.model import ModelBuilder
from ...shown import grouped, shown
from ..constraint_set import ConstraintSet
from ..kinds import Loop
from .base import (
    DOWN,
    STROKE,
    Candidates,
    Mechanism,
    about_z,
    dimensions,
    disc,
    for_legs,
    placed,
    real_pose,
    real_roots,
    rod,
    shifted,
    thirds,
)

_TURNS = np.array(thirds())
#: Distance from a leg's plane that a ball joint of an output may have, relative to the mechanism.
_IN_PLANE = 1e-9


@shown
@dataclass(frozen=True, eq=False)
class ThreeRps(Mechanism):
    """The 3-RPS platform with its dimensions; its output is the pose, of which three numbers are free.

    Attributes
    ----------
    base_radius, platform_radius : ndarray, shape (3,)
        As `three_rps` takes them [m].
    """

    base_radius: Array
    platform_radius: Array

    def tilted(self, height: float, tilt: float = 0.0, direction: float = 0.0) -> Array:
        """Return the pose (4, 4) that the platform can have with this height [m] and tilt [rad].

        It leans towards the direction, an angle about z from x; the centre then moves sideways. It does not turn,
        unless the ball joints are at different distances from it.
        """
        turn = np.array([-np.sin(direction), np.cos(direction), 0.0])
        aside = -0.5 * self.platform_radius.mean() * (1.0 - np.cos(tilt))
        pose = np.asarray(se3.exp(np.append(tilt * turn, np.zeros(3))))
        pose[:3, 3] = aside * np.cos(2.0 * direction), -aside * np.sin(2.0 * direction), height
        if np.ptp(self.platform_radius) == 0.0:
            return pose
        leant, sides = pose[:3, :3].copy(), _TURNS[:, :, 1]
        angle, place = 0.0, pose[:2, 3].copy()
        for _ in range(20):  # Newton's method: each ball joint in the plane of its leg
            R = about_z(angle) @ leant
            balls = (R @ self._balls[..., None])[..., 0]
            left = ((balls[:, :2] + place) * sides[:, :2]).sum(axis=1)
            spun = np.stack([-balls[:, 1], balls[:, 0]], axis=-1)
            step = np.linalg.solve(np.column_stack([sides[:, :2], (spun * sides[:, :2]).sum(axis=1)]), left)
            place, angle = place - step[:2], angle - step[2]
            if np.abs(left).max() < 1e-15 * self.platform_radius.max():
                break
        pose[:3, :3], pose[:2, 3] = about_z(angle) @ leant, place
        return pose

    @property
    def _balls(self) -> Array:
        """Return the ball joints on the platform (3, 3)."""
        return np.asarray(self.platform_radius[:, None] * _TURNS[:, :, 0])

    def configuration(self, output: ArrayLike) -> Array:
        """Return the configuration (..., nq) for poses (..., 4, 4); see `Mechanism.configuration` and `tilted`."""
        T = real_pose(output)
        ends = (T[..., None, :3, :3] @ self._balls[..., None])[..., 0] + T[..., None, :3, 3]
        seen = (ends[..., None, :] @ _TURNS)[..., 0, :] - np.outer(self.base_radius, [1.0, 0.0, 0.0])
        for k, name in enumerate(self.actuated):
            away = np.abs(seen[..., k, 1]).max(initial=0.0)
            if away > _IN_PLANE * (self.base_radius[k] + np.abs(seen).max(initial=0.0)):
                raise InputError(
                    f"3-RPS: output: the ball joint of {name!r} would be {away:.3g} m beside the plane of its leg; "
                    "tilted() makes poses that the platform can have",
                    name=name,
                    value=away,
                )
        return self._joints(T, np.arctan2(seen[..., 0], seen[..., 2]), np.hypot(seen[..., 0], seen[..., 2]))

    def _joints(self, T: Array, angles: Array, lengths: Array) -> Array:
        return self._with_platform(T, lambda words: (lengths if words[0] == "leg" else angles)[..., int(words[1]) - 1])

    def _ends(self, lengths: Array, angles: Array) -> Array:
        """Return the ball joints (..., 3, 3) of legs of some lengths and angles (..., 3)."""
        seen = np.stack([self.base_radius + lengths * np.sin(angles), 0.0 * angles, lengths * np.cos(angles)], axis=-1)
        return np.asarray((_TURNS @ seen[..., None])[..., 0])

    def _candidates(self, positions: Array) -> Candidates:
        """Return legs 2 and 3 each at two angles for one of leg 1, where a polynomial of degree 16 is zero."""
        for name, length in zip(self.actuated, positions, strict=True):
            if not length > 0.0:
                raise InputError(f"3-RPS: {name!r}: a length above zero is expected, got {length!r}", name=name)
        method = "a polynomial of degree 16"
        first = real_roots(lambda x: self._eliminated(positions, x)[0], 8)
        if first is None:
            return Candidates(np.empty((0, self.model.nq)), 16, method, False)
        others = self._eliminated(positions, first)[1].reshape(-1, 4, 2)
        angles = np.concatenate(
            [np.broadcast_to(first[:, None, None], (len(first), 4, 1)), np.angle(others)], axis=-1
        ).reshape(-1, 3)
        ends = self._ends(positions, angles)
        sides = np.linalg.norm(self._balls - np.roll(self._balls, 1, axis=0), axis=-1)
        misfit = np.abs(np.linalg.norm(ends - np.roll(ends, 1, axis=-2), axis=-1) - sides).max(axis=-1, initial=0.0)
        fits = misfit < 1e-3 * sides.max()
        settled = bool(fits.reshape(-1, 4).any(axis=1).all())
        ends, angles = ends[fits], angles[fits]
        R = _triad(ends) @ _triad(self._balls).T
        poses = se3.from_parts(R, ends[:, 0] - R @ self._balls[0])
        q = self._joints(np.asarray(poses), angles, np.broadcast_to(positions, angles.shape))
        return Candidates(q, 16, method, settled)

    @np.errstate(all="ignore")
    def _eliminated(self, lengths: Array, angles: Array) -> tuple[Array, Complex]:
        """Return the polynomial at angles (n,) of leg 1, and exp(i angle) of legs 2 and 3 on all branches (n, 4, 2).

        The ball joint of leg k is a_k + l_k (e_k sin + z cos). Its distance from another one that is held gives
        A cos + B sin = C, so exp(i angle) is one of the two roots of a quadratic equation.
        """
        directions, balls = _TURNS[:, :, 0], self._balls
        held = self._ends(lengths, np.stack([angles] * 3, axis=-1))[:, 0].astype(complex)
        branches, scale = [], np.ones(len(angles), complex)
        for k in (1, 2):
            gap = self.base_radius[k] * directions[k] - held
            side = ((balls[k] - balls[0]) ** 2).sum()
            a, b = 2.0 * lengths[k] * gap[:, 2], 2.0 * lengths[k] * gap @ directions[k]
            c = side - (gap**2).sum(axis=1) - lengths[k] ** 2
            size = a * a + b * b
            root = 1j * np.sqrt(size - c * c)
            branches.append([(a + 1j * b) * (c + sign * root) / size for sign in (1.0, -1.0)])
            scale = scale * size**2
        product, z = scale, np.empty((len(angles), 4, 2), complex)
        for place, (i, j) in enumerate((i, j) for i in range(2) for j in range(2)):
            z[:, place, 0], z[:, place, 1] = branches[0][i], branches[1][j]
            ends = []
            for k in (0, 1):
                w = z[:, place, k]
                cosine, sine = 0.5 * (w + 1.0 / w), -0.5j * (w - 1.0 / w)
                spoke = self.base_radius[k + 1] + lengths[k + 1] * sine
                ends.append(spoke[:, None] * directions[k + 1] + lengths[k + 1] * cosine[:, None] * [0.0, 0.0, 1.0])
            product = product * (((ends[0] - ends[1]) ** 2).sum(axis=1) - ((balls[2] - balls[1]) ** 2).sum())
        return product.real, z


def _triad(points: Array) -> Array:
    """Return the rotations (..., 3, 3) to a frame that three points (..., 3, 3) make."""
    x = points[..., 1, :] - points[..., 0, :]
    z = np.cross(x, points[..., 2, :] - points[..., 0, :])
    x, z = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (x, z))
    return np.stack([x, np.cross(z, x), z], axis=-1)


@dataclass(frozen=True, eq=False)
class ThreeRpsDimensions:
    """Dimensions of `three_rps`, which describes them."""

    base_radius: ArrayLike = 0.3
    platform_radius: ArrayLike = 0.15
    cylinder_mass: float = 0.5
    piston_mass: float = 0.3
    platform_mass: float = 1.0
    cylinder_length: float = 0.25
    piston_length: float = 0.25
    height: float = 0.4
    gravity: ArrayLike = DOWN


@dimensions(per_leg="base_radius platform_radius", legs=3)
@grouped(ThreeRpsDimensions)
def three_rps(of: ThreeRpsDimensions) -> ThreeRps:
    """Return a 3-RPS platform: three sliding legs on hinges, ball joints at a platform that lifts and leans.

    Hinges ("hinge_1" to "hinge_3") are tangential to the base's circle, at 120 degrees from each other, zero where legs
    are upright, positive outwards; the slides' coordinates ("leg_1" to "leg_3") are the distances from hinges to ball
    joints, from a half to one and a half of the mean at home. The platform is a free body: 12 coordinates, 9
    constraints.

    Parameters
    ----------
    base_radius, platform_radius : float or array-like, shape (3,)
        Distances of hinges and of ball joints from the centres, one for all legs or one for each [m].
    cylinder_mass, piston_mass, platform_mass : float
        Of one cylinder and one piston, slender rods, and of the platform, a disc [kg].
    cylinder_length, piston_length : float
        From the hinge outwards, from the ball joint inwards [m].
    height : float
        Of the platform in the home configuration, level [m].
    gravity : array-like, shape (3,)
        Acceleration of free fall.

    Raises
    ------
    DescriptionError
        For what is no dimension, naming the leg.
    """
    builder, base, top = ModelBuilder(of.gravity), for_legs(of.base_radius), for_legs(of.platform_radius)
    builder.add("platform", None, jt.free(), None, disc(float(top.mean()), of.platform_mass), "platform")
    loops, home = [], float(np.hypot(base.mean() - top.mean(), of.height))
    ends = STROKE[0] * home, STROKE[1] * home
    for k, turn in enumerate(_TURNS, start=1):
        hinge = placed(turn, turn @ [base[k - 1], 0.0, 0.0])
        cylinder = rod(of.cylinder_length, of.cylinder_mass, 2)
        piston = rod(of.piston_length, of.piston_mass, 2, -of.piston_length)
        builder.add(f"cylinder_{k}", None, jt.revolute([0, 1, 0]), hinge, cylinder, f"hinge_{k}")
        slide = jt.prismatic([0, 0, 1])
        builder.add(f"piston_{k}", f"cylinder_{k}", slide, None, piston, f"leg_{k}", lower=ends[0], upper=ends[1])
        ball = shifted(*(turn @ [top[k - 1], 0.0, 0.0]))
        loops.append(Loop.spherical("platform", f"piston_{k}", name=f"ball_{k}", first_placement=ball))
    model = builder.build("3_rps")
    names = "leg_1", "leg_2", "leg_3"
    made = ThreeRps(model, ConstraintSet(model, loops), model.neutral(), names, "platform", base, top)
    return replace(made, q=made.configuration(made.tilted(of.height)))
