"""`OffsetPlatform`: legs on universal joints whose two axes do not meet.

The first axis ``s`` of a universal joint is fixed in the base and passes through the base point ``A``; the second one
is carried around it at the distance ``a`` and perpendicular to it. So the foot ``C = A + a n`` of the leg, on the
second axis, runs on a circle about ``s``, and the leg is perpendicular to the second axis, whose direction is
``s x n``. Likewise on the platform: ``D = B + b m``. The leg may turn about itself, so all that it says is its length
``L = |D - C|``, where ``(D - C) . (s x n) = 0`` and ``(D - C) . (t x m) = 0``: these are the conditions for the
distance of a point on one circle to a point on the other to be stationary. Hence

- the length is the distance of two circles, the least one where ``n`` and ``m`` point towards the other end;
- it changes with the pose as if ``C`` were fixed in the base and ``D`` in the platform (envelope theorem), and with
  ``A``, ``B``, ``a`` and ``b`` likewise.

A leg that is a screw in a nut, one held by the joint below and the other by that above, does not turn freely: where
the joints twist by ``psi`` against each other the length grows by ``lead psi / 2 pi`` without the motor. ``psi`` is the
angle from ``e = s x n`` to ``f = t x m`` about the leg ``u``; its rate is
``w . u + (dm) (t . u) - (dn) (s . u)``, ``w`` that of the platform and ``dn``, ``dm`` those of ``n`` and ``m`` about
their axes, from the two conditions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import NamedTuple

import numpy as np

from ...arrays import Array, ArrayLike, Mask
from ...errors import StewartError
from ...lie import se3, so3
from ...shown import Drawn, shown
from ...texts import LARGEST
from . import inverse_kinematics as ik
from .checks import N_LEGS, as_directions, as_six
from .inverse_kinematics import TwistFrame
from .platform import StewartPlatform, require_platform
from .yaml_files import LEADS, UNIVERSAL_KEYS, read_yaml

#: Newton's method doubles the digits of the angles: after a step below the first number what is left is round-off.
_SMALL, _SETTLED, _ITERATIONS = 1e-9, 1e-6, 20
#: Sines of the angle between a leg and the first axis of its joint that are smaller are no direction.
_ALONG = 1e-9


@dataclass(frozen=True, eq=False, init=False)
class OffsetJoints(Drawn):
    """Universal joints whose axes do not meet: their points, axes and limits, and where the ends of the legs are."""

    points: StewartPlatform
    base_axes: Array
    platform_axes: Array
    base_offsets: Array
    platform_offsets: Array
    screw_leads: Array
    home_turns: Array = field(init=False, repr=False)

    @property
    def has_screws(self) -> bool:
        """Whether legs change their lengths by turning."""
        return bool(self.screw_leads.any())

    @property
    def home_pose(self) -> Array | None:
        """A pose the platform is known to take (4, 4), or None."""
        return self.points.home_pose

    @property
    def leg_limits(self) -> Array:
        """Shortest and longest length of each leg, (6, 2) [m]."""
        return self.points.leg_limits

    @property
    def characteristic_length(self) -> float:
        """That of its points [m]."""
        return self.points.characteristic_length

    @property
    def motor_limits(self) -> Array:
        """Shortest and longest length of each leg, (6, 2) [m]."""
        return self.leg_limits

    def leg_margins(self, lengths: ArrayLike) -> Array:
        """Return the distance of each leg to its nearer limit, negative beyond it, (..., 6) [m]."""
        return self.points.leg_margins(lengths)

    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def _circles(
        self, T: Array, points: tuple[Array, Array] | None = None, start: tuple[Array, Array] | None = None
    ) -> _Circles:
        A, on_platform = (self.points.base_points, self.points.platform_points) if points is None else points
        a, b = self.base_offsets[:, None], self.platform_offsets[:, None]
        B = ik.platform_arms(on_platform, T) + T[..., None, :3, 3]
        s, t = self.base_axes, ik.platform_arms(self.platform_axes, T)
        n, m = (_towards(s, B - A), _towards(t, A - B)) if start is None else start
        across_n, across_m = np.cross(s, n), np.cross(t, m)
        for _ in range(_ITERATIONS):
            w, v = B + b * m - A, A + a * n - B
            first, second = _dot(w, across_n), _dot(v, across_m)
            far, near, together = _dot(w, n), _dot(v, m), _dot(across_n, across_m)
            determinant = far * near - a * b * together**2
            turn_n = (near * first + b * together * second) / determinant
            turn_m = (far * second + a * together * first) / determinant
            (n, across_n), (m, across_m) = _turned(n, across_n, turn_n), _turned(m, across_m, turn_m)
            if not ((np.abs(turn_n) > _SMALL) | (np.abs(turn_m) > _SMALL)).any():
                break
        good = (far > 0.0) & (near > 0.0) & (determinant > 0.0) & (np.abs(turn_n) + np.abs(turn_m) < _SETTLED)
        both = a * together, b * together
        return _Circles(s, t, n, m, across_n, across_m, far, near, *both, determinant, good[..., 0])

    def stationary_feet(self, T: Array, points: tuple[Array, Array] | None = None) -> tuple[Array, Array, Mask]:
        """Return `feet` for an array (..., 4, 4), and where they are (..., 6); the others have no meaning.

        With `points` (6, 3) on base and platform in place of its own; raises StewartError for them with screw leads.
        """
        if points is not None and self.has_screws:
            raise StewartError(
                f"{LEADS}: legs turn freely here, 0 is expected; with others calibrate_mechanism('6-UCU', "
                "dimensions={'geometry': ...}) calibrates"
            )
        found = self._circles(T, points)
        A, on_platform = (self.points.base_points, self.points.platform_points) if points is None else points
        a, b = self.base_offsets[:, None], self.platform_offsets[:, None]
        return A + a * found.n, on_platform + b * (found.m @ T[..., :3, :3]), found.good

    def feet(self, pose: ArrayLike) -> tuple[Array, Array]:
        """Return the ends of the legs on the second axes: in {N} and in {B}, (..., 4, 4) -> twice (..., 6, 3) [m].

        Raises
        ------
        StewartError
            For no pose; where a leg points along its first axis, or is so short that it has no such ends.
        """
        C, D, good = self.stationary_feet(ik.as_pose(pose))
        if not good.all():
            leg = int(np.argwhere(~good)[0][-1]) + 1
            raise StewartError(
                f"leg {leg} points along the first axis of a joint or is too short for its offsets in this pose, or "
                "the pose is none"
            )
        return C, D

    # By the names that every kind of legs has, see `StewartPlatform`.
    motor_units = "m", "N"
    motor_margins = leg_margins


@dataclass(frozen=True, eq=False, init=False)
class OffsetReach(OffsetJoints):
    """Lengths of the legs on offset joints in a pose, their turns with screws, and how both change."""

    def _twists(self, T: Array, found: _Circles) -> Array:
        """Return the angles from e to f about the legs (..., 6) [rad], less those in the home pose, -pi to pi."""
        _, units = ik.leg_units(self._ways(T, found))
        e, f = found.across_n, found.across_m
        angle = np.arctan2(_dot(np.cross(e, f), units), _dot(e, f))[..., 0] - self.home_turns
        return np.asarray(np.arctan2(np.sin(angle), np.cos(angle)))

    def _ways(self, T: Array, found: _Circles) -> Array:
        points = self.points
        ways = ik.platform_arms(points.platform_points, T) + T[..., None, :3, 3] - points.base_points
        return np.asarray(ways + self.platform_offsets[:, None] * found.m - self.base_offsets[:, None] * found.n)

    def told(self, T: Array, start: tuple[Array, Array] | None = None) -> tuple[Array, Array, Mask]:
        """Return lengths (..., 6), their Jacobian of body twists (..., 6, 6), and where they are (..., 6).

        A start (..., 6, 3) twice, where it is known, is which way from first to second axes, on base and platform.
        """
        points, found = self.points, self._circles(T, None, start)
        C = points.base_points + self.base_offsets[:, None] * found.n
        R = T[..., :3, :3]
        D = points.platform_points + self.platform_offsets[:, None] * (found.m @ R)
        there = found.good[..., None]
        C, D = np.where(there, C, 0.0), np.where(there, D, 0.0)
        ways = ik.leg_vectors(C, D, T)
        lengths = ik.norms(ways)
        good = np.asarray(found.good & (lengths > 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            units = (ways / lengths[..., None]) @ R
        rows = np.concatenate([np.cross(D, units), units], axis=-1)
        if self.has_screws:
            pitch = self.screw_leads / (2.0 * np.pi)
            with np.errstate(divide="ignore", invalid="ignore"):
                lengths = lengths - pitch * self._twists(T, found)
                rows = rows - pitch[:, None] * self._twist_rows(T, found, C, D, units)
        return lengths, rows, good

    def _twist_rows(self, T: Array, found: _Circles, C: Array, D: Array, units: Array) -> Array:
        """Return the Jacobian of the twists, of body twists (..., 6, 6); all but C in the axes of the platform."""
        R = T[..., :3, :3]
        seen = (C - T[..., None, :3, 3]) @ R
        e, f = found.across_n @ R, found.across_m @ R
        first = np.concatenate([np.cross(D, e), e], axis=-1)
        second = -np.concatenate([np.cross(seen, f), f], axis=-1)
        dn = (found.near * first + found.b_together * second) / found.determinant
        dm = (found.far * second + found.a_together * first) / found.determinant
        rows = dm * _dot(self.platform_axes, units) - dn * _dot(found.s @ R, units)
        rows[..., :3] += units
        return np.asarray(rows)

    def leg_turns(self, pose: ArrayLike) -> Array:
        """Return by how much the joints turn the ends of each leg against each other since the home pose.

        The upper end, right-handed about the way up, (..., 4, 4) -> (..., 6) [rad], from -pi to pi; errors as `feet`.
        """
        self.feet(pose)
        T = ik.as_pose(pose)
        return self._twists(T, self._circles(T))

    def leg_lengths(self, pose: ArrayLike) -> Array:
        """Return the lengths of the legs (inverse kinematics), (..., 4, 4) -> (..., 6) [m]; errors as `feet`."""
        C, D = self.feet(pose)
        T = ik.as_pose(pose)
        return self.told(T)[0] if self.has_screws else ik.norms(ik.leg_vectors(C, D, T))

    def derivatives(self, T: Array, twist: Array, change: Array) -> tuple[Array, Array]:
        """Return how lengths change with s, and that with s, each (..., 6); no number where they are none.

        On a path with poses (..., 4, 4), body twists (..., 6) for s' = 1 and their change along s (..., 6). All in the
        axes of the base: the ends of a leg run with their circles, which turn by ``dn`` and ``dm``, found from the two
        conditions and what these become along s.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._derivatives(self._circles(T), T, *(x[..., None, :] for x in (twist, change)))

    def _derivatives(self, found: _Circles, T: Array, V: Array, change: Array) -> tuple[Array, Array]:
        points, (n, m, e, f) = self.points, found[2:6]
        a, b = self.base_offsets[:, None], self.platform_offsets[:, None]
        parts = V[..., :3], V[..., 3:], change[..., :3], change[..., 3:]
        w, v, turning, gaining = (ik.platform_arms(x, T) for x in parts)
        gaining = gaining + np.cross(w, v)  # acceleration of the platform's origin
        D = ik.platform_arms(points.platform_points, T) + b * m
        C = points.base_points + a * n - T[..., None, :3, 3]
        moving, seen = v + np.cross(w, D), v + np.cross(w, C)  # what is fixed in the platform, at D and at C
        determinant = found.determinant

        def turns(first: Array, second: Array) -> tuple[Array, Array]:
            dn = (found.near * first + found.b_together * second) / determinant
            return dn, (found.far * second + found.a_together * first) / determinant

        dn, dm = turns(_dot(moving, e), -_dot(seen, f))
        across = np.cross(w, f) - dm * m
        together = _dot(e, across) - dn * _dot(n, f)
        foot, end = a * dn * e, moving + b * dm * f  # velocities of C and D
        far, near = _dot(end, n), _dot(foot - v - np.cross(w, D - b * m), m) + _dot(C - D + b * m, np.cross(w, m))
        rising = gaining + np.cross(turning, D) + np.cross(w, end - v)
        back = gaining + np.cross(turning, C) + np.cross(w, foot - v)
        ddn, ddm = turns(
            _dot(rising, e) - dn * _dot(moving, n) - far * dn + b * together * dm,
            -_dot(back, f) - _dot(seen, across) - near * dm + a * together * dn,
        )
        ways = D - C
        length = np.linalg.norm(ways, axis=-1, keepdims=True)
        u = ways / length
        swing = end - foot
        swing = (swing - u * _dot(swing, u)) / length
        first, second = _dot(moving, u), _dot(swing, moving) + _dot(u, rising)
        if self.has_screws:
            pitch, s, t = self.screw_leads[:, None] / (2.0 * np.pi), found.s, found.t
            first = first - pitch * (_dot(w, u) + dm * _dot(t, u) - dn * _dot(s, u))
            twist = _dot(turning, u) + _dot(w, swing) + ddm * _dot(t, u) - ddn * _dot(s, u) - dn * _dot(s, swing)
            second = second - pitch * (twist + dm * (_dot(np.cross(w, t), u) + _dot(t, swing)))
        return np.asarray(first[..., 0]), np.asarray(second[..., 0])

    def at(self, pose: ArrayLike) -> StewartPlatform:
        """Return the platform on point joints at the feet of a pose (4, 4).

        In this pose it has the same lengths, rates, Jacobian and forces; nowhere else. Not with screw leads, of which
        point joints know nothing: StewartError.
        """
        if self.has_screws:
            raise StewartError(f"{LEADS}: point joints have none, 0 is expected")
        C, D = self.feet(pose)
        if C.ndim != 2:
            raise StewartError(f"pose has shape {np.shape(pose)}, expected (4, 4)")
        limits = self.points.leg_limits
        return StewartPlatform(C, D, limits, home_pose=self.points.home_pose, allow_singular=True)

    motor_positions = leg_lengths


@shown
@dataclass(frozen=True, eq=False, init=False)
class OffsetPlatform(OffsetReach):
    """A Gough-Stewart platform with offset universal (Cardan) joints at both ends of its legs (6-UCU).

    Parameters
    ----------
    points : StewartPlatform
        Its points lie on the first axes, in the plane in which the second axis goes round. Leg limits and home pose.
    base_axes : array-like, shape (6, 3) or (3,)
        Directions of the axes that are fixed in the base, in {N}; of any length.
    platform_axes : array-like, shape (6, 3) or (3,)
        Of those fixed in the platform, in {B}.
    base_offsets, platform_offsets : float or array-like, shape (6,)
        Distance of the first and the second axis [m], 0 or more.
    screw_leads : float or array-like, shape (6,)
        How far the platform's end of a leg goes away from the base's where it makes one turn, right-handed about the
        way from base to platform, and the motor stands still [m]; negative for threads of the other hand. 0 for a leg
        that turns freely about itself.

    The length of a leg is the distance of its ends on the two second axes [m], to which it is perpendicular; with a
    screw lead what its motor measures of that, which is the distance in the home pose.

    Raises
    ------
    StewartError
        For wrong shapes, axes without direction, offsets below zero, and screw leads without a home pose.
    """

    def __init__(
        self,
        points: StewartPlatform,
        base_axes: ArrayLike,
        platform_axes: ArrayLike,
        base_offsets: ArrayLike,
        platform_offsets: ArrayLike,
        screw_leads: ArrayLike = 0.0,
    ) -> None:
        require_platform(points, "points")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "base_axes", as_directions(base_axes, "base_axes"))
        object.__setattr__(self, "platform_axes", as_directions(platform_axes, "platform_axes"))
        object.__setattr__(self, "base_offsets", _offsets(base_offsets, "base_offsets"))
        object.__setattr__(self, "platform_offsets", _offsets(platform_offsets, "platform_offsets"))
        object.__setattr__(self, "screw_leads", as_six(screw_leads, LEADS, "leads [m]", lambda x: np.abs(x) <= LARGEST))
        object.__setattr__(self, "home_turns", np.zeros(N_LEGS))
        if self.has_screws:
            if points.home_pose is None:
                raise StewartError(f"{LEADS}: a home pose is expected, in which motors give the distances")
            self.feet(points.home_pose)
            object.__setattr__(self, "home_turns", self._twists(points.home_pose, self._circles(points.home_pose)))

    @classmethod
    def square_at(
        cls,
        points: StewartPlatform,
        pose: ArrayLike,
        base_offsets: ArrayLike,
        platform_offsets: ArrayLike,
    ) -> OffsetPlatform:
        """Return a platform whose first axes are perpendicular to its legs in a pose (4, 4), and parallel in pairs."""
        require_platform(points, "points")
        T = se3.check(ik.as_pose(pose), "pose").real
        if T.ndim != 2:
            raise StewartError(f"pose has shape {T.shape}, expected (4, 4)")
        _, units = ik.leg_units(points.leg_vectors(T))
        # Perpendicular to the leg and to that one of the base's x and y that is the more across it.
        across = np.where(np.abs(units[:, :1]) <= np.abs(units[:, 1:2]), [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
        axes = np.cross(units, np.cross(across, units))
        return cls(points, axes, axes @ T[:3, :3], base_offsets, platform_offsets)

    @classmethod
    def from_yaml(cls, source: str | PathLike[str]) -> OffsetPlatform:
        """Read a platform with the key ``universal_joints``, see `StewartPlatform.from_yaml`.

        Raises
        ------
        StewartError
            Unreadable file or text, missing or unknown keys, everything that the constructor refuses, and a home pose
            as for `StewartPlatform.from_yaml`.
        """
        arguments = read_yaml(source, "universal_joints")
        joints = arguments.pop("universal_joints")
        platform = cls(StewartPlatform(**arguments), **joints)
        platform.points.check_home(platform.leg_lengths)
        return platform

    def to_yaml(self) -> str:
        """Return YAML text from which `from_yaml` builds the same platform."""
        keys = (*UNIVERSAL_KEYS, LEADS) if self.has_screws else UNIVERSAL_KEYS
        lines = ["universal_joints:", *(f"  {key}: {getattr(self, key).tolist()}" for key in keys)]
        return self.points.to_yaml() + "\n".join(lines) + "\n"

    def on(
        self,
        points: StewartPlatform,
        base_turn: ArrayLike | None = None,
        platform_turn: ArrayLike | None = None,
    ) -> OffsetPlatform:
        """Return the same joints on other points, axes turned by rotations (3, 3): R_new_old of base and platform."""
        base, platform = (
            own if turn is None else own @ so3.check(turn, "turn").real.T
            for own, turn in ((self.base_axes, base_turn), (self.platform_axes, platform_turn))
        )
        return OffsetPlatform(points, base, platform, self.base_offsets, self.platform_offsets, self.screw_leads)

    def jacobian(self, pose: ArrayLike, frame: TwistFrame = "body") -> Array:
        """Return d(lengths)/d(twist) as `StewartPlatform.jacobian`, (..., 4, 4) -> (..., 6, 6); errors as `feet`."""
        C, D = self.feet(pose)
        T = ik.as_pose(pose)
        if not self.has_screws:
            return ik.jacobian(C, D, T, frame)
        ik.check_frame(frame)
        rows = self.told(T)[1]
        if frame == "spatial":
            rows = rows @ se3.Ad(se3.inverse(T))
        elif frame == "aligned":
            rows = aligned(rows, T)
        return np.asarray(rows)

    def leg_rates(self, pose: ArrayLike, twist: ArrayLike, frame: TwistFrame = "body") -> Array:
        """Return the rates of the lengths for a twist (w, v), (..., 6) [rad/s, m/s] -> (..., 6) [m/s]."""
        return np.asarray((self.jacobian(pose, frame) @ ik.as_vector(twist, N_LEGS, "twist")[..., None])[..., 0])

    def motor_accelerations(self, pose: ArrayLike, twist: ArrayLike, acceleration: ArrayLike) -> Array:
        """Return the second time derivatives of the lengths, (..., 6) [m/s^2]; errors as `feet`.

        Of a body twist and its derivative in time (..., 6) [rad/s, m/s, rad/s^2, m/s^2].
        """
        self.feet(pose)
        V, change = (ik.as_vector(x, 6, name) for x, name in ((twist, "twist"), (acceleration, "acceleration")))
        return self.derivatives(ik.as_pose(pose), V, change)[1]

    def condition_number(self, pose: ArrayLike) -> Array:
        """Return as `StewartPlatform.condition_number`, (..., 4, 4) -> (...,); errors as `feet`."""
        return ik.condition_numbers(self.jacobian(pose), self.characteristic_length)

    motor_rates = leg_rates


def aligned(rows: Array, T: Array) -> Array:
    """Return Jacobians (..., 6, 6) of body twists as those of twists in the axes of {N}."""
    back = np.swapaxes(T[..., :3, :3], -1, -2)
    return np.concatenate([rows[..., :3] @ back, rows[..., 3:] @ back], axis=-1)


class _Circles(NamedTuple):
    """Directions of the second axes: quantities of the two conditions, vectors in {N}."""

    s: Array
    t: Array
    n: Array
    m: Array
    across_n: Array
    across_m: Array
    far: Array
    near: Array
    a_together: Array
    b_together: Array
    determinant: Array
    good: Mask


def _dot(x: Array, y: Array) -> Array:
    return np.asarray((x * y).sum(axis=-1, keepdims=True))


def _turned(n: Array, across: Array, angle: Array) -> tuple[Array, Array]:
    c, s = np.cos(angle), np.sin(angle)
    return c * n + s * across, c * across - s * n


def _towards(axis: Array, way: Array) -> Array:
    """Return the unit vectors perpendicular to axes that come nearest to the direction of a way."""
    size = np.linalg.norm(way, axis=-1, keepdims=True)
    normal = way - axis * _dot(axis, way)
    normal = normal - axis * _dot(axis, normal)
    length = np.linalg.norm(normal, axis=-1, keepdims=True)
    return np.asarray(normal / np.where(length > _ALONG * size, length, np.nan))


def _offsets(value: ArrayLike, name: str) -> Array:
    return as_six(value, name, "distances of 0 or more [m]", lambda x: (x >= 0.0) & (x <= LARGEST))
