"""`RotaryPlatform`: a platform on rods that servos move by horns (6-RUS, 6-RSS), as servo hexapods have them.

The axis of motor ``i`` passes through ``c_i`` with direction ``z_i``, both in {N}; its horn, of length ``h_i``, turns
in the plane through ``c_i`` perpendicular to it. At angle 0 the horn points along ``x_i``; with ``y_i = z_i x x_i`` the
tip at angle ``t`` is ``a_i = c_i + h_i (x_i cos t + y_i sin t)``. A rod of length ``l_i`` joins it to the platform
point ``b_i``, so

    |R b_i + p - a_i| = l_i.

- While the motors are held, the rods are legs of a `StewartPlatform` on the tips: `locked`. Whatever is known of that,
  poses, assembly modes, proofs, is known here.
- For a pose, this is ``A cos t + B sin t = C`` for each motor: two angles, 64 ways to bend six legs.
- With ``u_i`` the direction of the rod, the rod gives ``u_i . V_i = w_i dt/dT``, where ``V_i`` is the velocity of
  ``b_i`` and ``w_i = h_i u_i . (y_i cos t - x_i sin t)`` the lever of the motor on its rod. So the Jacobian of the
  angles is that of the lengths of the locked platform, each row over its lever, and a torque is the rod's force times
  it. Where a lever is zero, horn and rod are in line: the pose is at the end of what that motor can reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from os import PathLike

import numpy as np

from ...arrays import Array, ArrayLike, Integers, Mask
from ...errors import StewartError
from ...lie import se3
from ...lie._arrays import numbers
from ...shown import Drawn, shown
from ...texts import LARGEST
from . import inverse_kinematics as ik
from .checks import N_LEGS, as_directions, as_six, check_turns
from .inverse_kinematics import TwistFrame
from .platform import StewartPlatform
from .yaml_files import ROTARY_KEYS, read_yaml

#: Beyond which limits of angles are no radians [rad]: a horn comes round after one turn.
_MOST_TURNS = 8.0 * np.pi
#: How far angles of a home pose may be from the home angles that were given [rad].
HOME_SLACK = 0.2
#: Corrections of Newton's method from a level pose to that of the home angles.
_CORRECTIONS = 50
#: Number of places at which a singular pose ahead is looked for.
PLACES_AHEAD = 33
#: All ways to bend six legs, (64, 6): 0 is the lower of a leg's two angles.
BRANCHES = np.array(list(product((0, 1), repeat=N_LEGS)))


@dataclass(frozen=True, eq=False, init=False)
class RotaryMotors(Drawn):
    """Motors with horns: their points, limits and tips, as those of sliding legs where both have them."""

    points: StewartPlatform
    frames: Array
    horns: Array
    rods: Array
    angle_limits: Array
    home_angles: Array
    home_pose: Array

    #: Of motors' positions, and of their efforts.
    motor_units = "rad", "N m"

    @property
    def base_points(self) -> Array:
        """Centres of the horns' circles in {N}, (6, 3) [m]."""
        return self.points.base_points

    @property
    def platform_points(self) -> Array:
        """Balls on the platform in {B}, (6, 3) [m]."""
        return self.points.platform_points

    @property
    def axes(self) -> Array:
        """Unit directions of the motors' axes in {N}, (6, 3)."""
        return self.frames[..., 2]

    @property
    def characteristic_length(self) -> float:
        """That of its points [m]."""
        return self.points.characteristic_length

    @property
    def motor_limits(self) -> Array:
        """Smallest and largest angle of each motor, (6, 2) [rad]."""
        return self.angle_limits

    def _as_angles(self, angles: ArrayLike) -> Array:
        """Return angles (..., 6) as an array; StewartError where they are degrees."""
        array = ik.as_vector(angles, N_LEGS, "angles")
        check_turns(array, self.angle_limits)
        return array

    def motor_margins(self, angles: ArrayLike) -> Array:
        """Return the distance of each angle to its nearer limit, negative beyond it, (..., 6) [rad]."""
        angles = self._as_angles(angles)
        return np.minimum(angles - self.angle_limits[:, 0], self.angle_limits[:, 1] - angles)

    def check_motor_limits(self, angles: ArrayLike) -> None:
        """Raise StewartError naming the first motor whose angle is NaN or outside its limits."""
        angles = self._as_angles(angles)
        bad = np.argwhere(~(self.motor_margins(angles) >= 0.0))
        if bad.size:
            leg = int(bad[0][-1])
            low, high = self.angle_limits[leg]
            text = f"leg {leg + 1} has the angle {angles[tuple(bad[0])]} rad, expected {low:.6g} to {high:.6g} rad"
            raise StewartError(text, name=f"leg {leg + 1}")

    def tips(self, angles: ArrayLike) -> Array:
        """Return the balls on the horns in {N} at angles, (..., 6) [rad] -> (..., 6, 3) [m]."""
        t = self._as_angles(angles)[..., None]
        arms = np.cos(t) * self.frames[..., 0] + np.sin(t) * self.frames[..., 1]
        return np.asarray(self.base_points + self.horns[:, None] * arms)

    def tip_rates(self, angles: Array) -> Array:
        """Return the derivatives of `tips` with the angles, (..., 6) -> (..., 6, 3) [m]."""
        t = angles[..., None]
        across = np.cos(t) * self.frames[..., 1] - np.sin(t) * self.frames[..., 0]
        return np.asarray(self.horns[:, None] * across)

    def turned(self, vectors: Array, angles: Array) -> Array:
        """Return vectors (6, 3) in {N}, one a horn, turned with it by angles, (..., 6) -> (..., 6, 3)."""
        z, c, s = self.axes, np.cos(angles)[..., None], np.sin(angles)[..., None]
        along = z * (z * vectors).sum(axis=-1, keepdims=True)
        return np.asarray(along + c * (vectors - along) + s * np.cross(z, vectors))


@dataclass(frozen=True, eq=False, init=False)
class RotaryReach(RotaryMotors):
    """Angles of motors whose rods reach the platform in a pose: inverse kinematics, and the home pose."""

    def locked(self, angles: ArrayLike) -> tuple[StewartPlatform, Array]:
        """Return the platform on point joints that is left while the motors stand at angles (6,), and its lengths [m].

        `assembly_modes(*platform.locked(angles))` are all poses with these angles.
        """
        t = self._as_angles(angles)
        if t.shape != (N_LEGS,) or not np.isfinite(t).all():
            raise StewartError(f"angles: six finite numbers are expected [rad], got {t.tolist()}", name="angles")
        home = self.__dict__.get("home_pose")
        return StewartPlatform(self.tips(t), self.platform_points, home_pose=home, allow_singular=True), self.rods

    def motor_positions(self, pose: ArrayLike) -> Array:
        """Return the angles of the motors for poses, legs bent as at home: (..., 4, 4) -> (..., 6) [rad].

        Raises
        ------
        StewartError
            For a pose that a leg does not reach, naming the leg.
        """
        angles = self.reached_angles(pose)
        bad = np.argwhere(np.isnan(angles))
        if bad.size:
            leg = int(bad[0][-1])
            raise StewartError(
                f"leg {leg + 1} does not reach its platform point in this pose: horn {self.horns[leg]:.6g} m, rod "
                f"{self.rods[leg]:.6g} m",
                name=f"leg {leg + 1}",
            )
        return angles

    def leg_angles(self, pose: ArrayLike) -> Array:
        """Return both angles of each leg for poses, (..., 4, 4) -> (..., 2, 6) [rad], NaN where out of reach.

        They are the two crossings of the horn's circle with the rod's sphere, before and after the direction in which
        the horn comes nearest to the platform point. Each is the one within half a turn of the home angle.
        """
        T = ik.as_pose(pose)
        x, y, reach = self._seen(T)
        middle, size = np.arctan2(y, x), np.hypot(x, y)
        with np.errstate(divide="ignore", invalid="ignore"):
            cosine = (reach + self.horns**2 - self.rods**2) / (2.0 * self.horns * size)
            half = np.arccos(_rounded(cosine))
        both = np.stack([middle - half, middle + half], axis=-2)
        turns = np.round((both - self.home_angles) / (2.0 * np.pi))
        return np.asarray(both - 2.0 * np.pi * turns)

    def all_angles(self, pose: ArrayLike) -> Array:
        """Return the angles of the motors for poses, all 64 ways to bend six legs: (..., 4, 4) -> (..., 64, 6).

        NaN where a leg is out of reach.
        """
        both = self.leg_angles(pose)
        return np.asarray(both[..., BRANCHES, np.arange(N_LEGS)])

    def reached_angles(self, pose: ArrayLike) -> Array:
        """Return `motor_positions`, with NaN where a leg is out of reach."""
        both = self.leg_angles(pose)
        return np.where(self.bends == 1, both[..., 1, :], both[..., 0, :])

    @cached_property
    def bends(self) -> Integers:
        """Index of `leg_angles` that each leg has at home, 0 or 1, (6,)."""
        both = self.leg_angles(self.home_pose)
        return np.asarray(np.nanargmin(np.abs(both - self.home_angles), axis=0))

    def _seen(self, T: Array) -> tuple[Array, Array, Array]:
        """Return platform points seen from their motors (..., 6): along x, along y, and their squared distance."""
        reach = ik.leg_vectors(self.base_points, self.platform_points, T)
        x, y = (np.einsum("...ij,ij->...i", reach, self.frames[..., k]) for k in (0, 1))
        return x, y, np.einsum("...ij,...ij->...i", reach, reach)

    def _checked_angles(self, home: Array, wanted: Array) -> Array:
        """Return the angles at a home pose, which are near to those wanted."""
        both = self.leg_angles(home)
        for leg in np.flatnonzero(np.isnan(both).any(axis=0)).tolist():
            raise StewartError(
                f"home_pose: leg {leg + 1} does not reach its platform point there: horn {self.horns[leg]:.6g} m, rod "
                f"{self.rods[leg]:.6g} m. Another unit, or another home_pose is expected",
                name="home_pose",
            )
        bends = np.abs(both - wanted).argmin(axis=0)
        found = both[bends, np.arange(N_LEGS)]
        gap = np.abs(found - wanted)
        leg = int(gap.argmax())
        if wanted.any() and gap[leg] > HOME_SLACK:
            raise StewartError(
                f"home_angles of leg {leg + 1} is {wanted[leg]:.4g} rad, and home_pose needs {found[leg]:.4g} rad: "
                "they contradict each other, one of them may be left out",
                name="home_angles",
            )
        found.flags.writeable = False
        return np.asarray(found)

    def _level_home(self) -> Array:
        """Return the pose of the home angles, by Newton's method from the level one above the horns' tips."""
        platform, lengths = self.locked(self.home_angles)
        T = np.eye(4)
        gap = platform.base_points.mean(axis=0) - platform.platform_points.mean(axis=0)
        across = platform.platform_points + gap - platform.base_points
        square = np.mean(lengths**2) - np.mean((across * across).sum(axis=1))
        T[:3, 3] = gap
        T[2, 3] += np.sqrt(max(square, 0.0))
        error = lengths
        for _ in range(_CORRECTIONS):
            legs = platform.leg_vectors(T)
            if not (square > 0.0 and np.isfinite(legs).all() and legs.any(axis=-1).all()):
                break
            error = lengths - ik.norms(legs)
            if np.abs(error).max() < 1e-15 * lengths.max():
                break
            step = np.linalg.lstsq(platform.jacobian(T), error, rcond=1e-12)[0]
            T = np.asarray(T @ se3.exp(step * min(1.0, 0.5 / max(float(np.abs(step[:3]).max()), 1e-300))))
        if not np.abs(error).max() < 1e-12 * lengths.max():
            raise StewartError(
                f"no nearly level pose has the home angles {self.home_angles.tolist()} rad: rods or horns of another "
                "length or unit, other zero directions or home angles, or a home_pose are expected", name="home_angles",
            )  # fmt: skip
        return T


@shown
@dataclass(frozen=True, eq=False, init=False)
class RotaryPlatform(RotaryReach):
    """Geometry of a platform on six rotary legs; immutable, compared by identity.

    Parameters
    ----------
    base_points : array-like, shape (6, 3)
        Centre of each horn's circle in {N}: on the motor's axis, in the plane of the horn's ball [m].
    platform_points : array-like, shape (6, 3)
        Balls on the platform in {B}, leg by leg as above [m].
    axes : array-like, shape (6, 3) or (3,)
        Directions of the motors' axes in {N}, of any length. Angles are positive by the right hand.
    horns, rods : float or array-like, shape (6,)
        Lengths of horns, from the axis to the ball, and of rods, from ball to ball [m].
    zero_directions : array-like, shape (6, 3) or (3,), optional
        Where the horns point at angle 0, in {N}; what is along the axis does not matter. When left out horizontal,
        so that small positive angles raise the horns: the axis cross z, reversed.
    home_angles : float or array-like, shape (6,)
        Angles of the horns in the home pose [rad]. They also select the way in which each leg is bent.
    angle_limits : array-like, shape (2,) or (6, 2), optional
        Smallest and largest angle [rad]; -pi to pi when left out.
    home_pose : array-like, shape (4, 4), optional
        A pose that the platform is known to take; when left out that of the home angles, near to level and above.

    Attributes
    ----------
    points : StewartPlatform
        Motors and balls as if they were the ends of legs.
    frames : ndarray, shape (6, 3, 3)
        Columns x, y, z of each motor: its horn at angle 0, at 90 degrees, and its axis.

    Raises
    ------
    StewartError
        For shapes, lengths that are not positive, axes without direction, zero directions along the axes; for a home
        pose that a leg does not reach, or that needs other than the home angles; where there is no level home pose.
    """

    def __init__(
        self,
        base_points: ArrayLike,
        platform_points: ArrayLike,
        axes: ArrayLike,
        horns: ArrayLike,
        rods: ArrayLike,
        zero_directions: ArrayLike | None = None,
        home_angles: ArrayLike = 0.0,
        angle_limits: ArrayLike | None = None,
        home_pose: ArrayLike | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "points", StewartPlatform(base_points, platform_points, home_pose=home_pose, allow_singular=True))
        put(self, "frames", _frames(as_directions(axes, "axes"), zero_directions))
        put(self, "horns", as_six(horns, "horns", "lengths above zero [m]", _is_length))
        put(self, "rods", as_six(rods, "rods", "lengths above zero [m]", _is_length))
        put(self, "angle_limits", as_angle_limits(angle_limits))
        wanted = as_six(home_angles, "home_angles", "angles [rad]", lambda x: np.abs(x) <= LARGEST)
        check_turns(wanted, self.angle_limits)
        put(self, "home_angles", wanted)
        home = self.points.home_pose
        if home is None:
            home = self._level_home()
            home.flags.writeable = False
        else:
            put(self, "home_angles", self._checked_angles(home, wanted))
        put(self, "home_pose", home)
        self.locked(self.home_angles)[0].check_design()

    @classmethod
    def from_yaml(cls, source: str | PathLike[str]) -> RotaryPlatform:
        """Read a platform with the key ``rotary_legs``, see `stewart.geometry.yaml_files`.

        Raises
        ------
        StewartError
            Unreadable file or text, missing or unknown keys, and everything that the constructor refuses.
        """
        arguments = read_yaml(source, "rotary_legs")
        legs = arguments.pop("rotary_legs")
        return cls(**arguments, **legs)

    def to_yaml(self) -> str:
        """Return YAML text, in metres, from which `from_yaml` builds the same platform."""
        values = {
            "axes": self.axes, "zero_directions": self.frames[..., 0], "horns": self.horns, "rods": self.rods,
            "home_angles": self.home_angles, "angle_limits": self.angle_limits,
        }  # fmt: skip
        lines = ["rotary_legs:", *(f"  {key}: {values[key].tolist()}" for key in ROTARY_KEYS)]
        text = StewartPlatform(
            self.base_points, self.platform_points, home_pose=self.home_pose, allow_singular=True
        ).to_yaml()
        return "unit: m\n" + text.replace("allow_singular: true\n", "") + "\n".join(lines) + "\n"

    def levers(self, pose: ArrayLike, angles: ArrayLike | None = None) -> Array:
        """Return the lever of each motor on its rod, (..., 6) [m]: rod's velocity over that of the angle.

        Zero where horn and rod are in line; angles (..., 6) are those of `motor_positions` when left out.
        """
        return self._at(pose, angles)[2]

    def _at(self, pose: ArrayLike, angles: ArrayLike | None) -> tuple[Array, Array, Array]:
        """Return poses, tips (..., 6, 3) and levers (..., 6)."""
        T = ik.as_pose(pose)
        t = self.motor_positions(T) if angles is None else ik.as_vector(angles, N_LEGS, "angles")
        tips = self.tips(t)
        rods = ik.leg_vectors(tips, self.platform_points, T)
        return T, tips, np.einsum("...ij,...ij->...i", rods, self.tip_rates(t)) / ik.norms(rods)

    def jacobian(self, pose: ArrayLike, frame: TwistFrame = "body", angles: ArrayLike | None = None) -> Array:
        """Return d(angles)/d(twist), angular columns first, (..., 4, 4) -> (..., 6, 6) [1, rad/m]; not finite in line.

        ``frame`` as in `StewartPlatform.jacobian`; angles (..., 6) are those of `motor_positions` when left out.
        """
        T, tips, levers = self._at(pose, angles)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(ik.jacobian(tips, self.platform_points, T, frame) / levers[..., None])

    def motor_rates(self, pose: ArrayLike, twist: ArrayLike, frame: TwistFrame = "body") -> Array:
        """Return the rates of the angles for a twist (w, v), (..., 6) [rad/s, m/s] -> (..., 6) [rad/s]."""
        return np.asarray((self.jacobian(pose, frame) @ ik.as_vector(twist, 6, "twist")[..., None])[..., 0])

    def motor_accelerations(self, pose: ArrayLike, twist: ArrayLike, acceleration: ArrayLike) -> Array:
        """Return the second time derivatives of the angles, (..., 6) [rad/s^2].

        Body twist (..., 6) and the time derivative of its components, as in `StewartPlatform.leg_accelerations`.
        """
        V, A = ik.as_vector(twist, 6, "twist"), ik.as_vector(acceleration, 6, "acceleration")
        T = ik.as_pose(pose)
        return self.derivatives(T, self.motor_positions(T), V, A)[1]

    def derivatives(self, T: Array, angles: Array, twist: Array, change: Array) -> tuple[Array, Array]:
        """Return first and second derivatives of angles (..., 6) along a motion of body twist and its derivative.

        With rod ``d`` and ``e`` the velocity of its end on the platform, ``d . (e - t' a') = 0`` and its derivative,
        where ``a' = da/dt`` and ``a'' = -(a - c)``.
        """
        R = T[..., None, :3, :3]
        w, v, dw, dv = (x[..., None, :] for x in (twist[..., :3], twist[..., 3:], change[..., :3], change[..., 3:]))
        arm = np.cross(w, self.platform_points) + v
        end = (R @ arm[..., None])[..., 0]
        swung = (R @ (np.cross(dw, self.platform_points) + dv + np.cross(w, arm))[..., None])[..., 0]
        tips, along = self.tips(angles), self.tip_rates(angles)
        rods = ik.leg_vectors(tips, self.platform_points, T)
        with np.errstate(divide="ignore", invalid="ignore"):
            lever = np.einsum("...ij,...ij->...i", rods, along)
            first = np.einsum("...ij,...ij->...i", rods, end) / lever
            gap = end - first[..., None] * along
            inward = first[..., None] ** 2 * (tips - self.base_points)
            second = (np.einsum("...ij,...ij->...i", rods, swung + inward) + (gap * gap).sum(axis=-1)) / lever
        return first, second

    def condition_number(
        self, pose: ArrayLike, characteristic_length: float | None = None, angles: ArrayLike | None = None
    ) -> Array:
        """Return as `StewartPlatform.condition_number`, of the Jacobian of the angles; inf where horn and rod align."""
        length = self.characteristic_length if characteristic_length is None else float(characteristic_length)
        matrix = self.jacobian(pose, angles=angles)
        good = np.asarray(np.isfinite(matrix).all(axis=(-2, -1)))
        found = ik.condition_numbers(np.where(good[..., None, None], matrix, np.eye(6)), length)
        return np.where(good, found, np.inf)

    def time_to_singularity(self, pose: Array, angles: Array, twist: Array, horizon: float = 1.0) -> float:
        """Return when a platform at a pose (4, 4) and angles (6,) comes to a singular pose at a body twist [s].

        Also to the end of what a motor reaches. Looked for at `PLACES_AHEAD` on the way, which proves nothing. Infinity
        beyond the horizon [s] and at rest; NaN where the twist is.
        """
        if not np.isfinite(twist).all() or not twist.any():
            return np.inf if np.isfinite(twist).all() else np.nan
        times = np.linspace(0.0, horizon, PLACES_AHEAD)
        poses = pose @ np.asarray(se3.exp(times[:, None] * twist))
        both = self.leg_angles(poses)
        gaps = np.abs(np.angle(np.exp(1j * (both[0] - angles))))
        bends = np.nan_to_num(gaps, nan=np.inf).argmin(axis=0)
        there = both[:, bends, np.arange(N_LEGS)]
        reached = np.asarray(np.isfinite(there).all(axis=1))
        tips = self.tips(np.where(reached[:, None], there, angles))
        volumes = np.where(reached, np.linalg.det(ik.jacobian(tips, self.platform_points, poses)), np.nan)
        return first_crossing(times, volumes / volumes[0])


def first_crossing(times: Array, volumes: Array) -> float:
    """Return when numbers (n,) that begin at 1 come to zero, on straight lines between times (n,); inf for never.

    Where they end (NaN) first, the time before.
    """
    beyond = ~(volumes > 0.0)
    if not beyond.any():
        return np.inf
    k = int(beyond.argmax())
    if k == 0 or np.isnan(volumes[k]):
        return float(times[max(k - 1, 0)])
    return float(times[k - 1] + (times[k] - times[k - 1]) * volumes[k - 1] / (volumes[k - 1] - volumes[k]))


def _rounded(cosine: Array) -> Array:
    """Return cosines, those beyond 1 by rounding at 1: legs may be stretched out."""
    return np.where(np.abs(cosine) <= 1.0 + 1e-14, np.clip(cosine, -1.0, 1.0), np.nan)


def _frames(axes: Array, zero_directions: ArrayLike | None) -> Array:
    """Return frames (6, 3, 3) of motors with axes (6, 3)."""
    if zero_directions is None:
        x = np.cross(np.broadcast_to((0.0, 0.0, 1.0), axes.shape), axes)
        wanted = "an axis that is not upright, or zero_directions,"
    else:
        given = as_directions(zero_directions, "zero_directions")
        x = given - axes * (given * axes).sum(axis=1, keepdims=True)
        wanted = "a direction across the axis"
    size = np.linalg.norm(x, axis=1, keepdims=True)
    if not (size > 1e-6).all():
        leg = int(np.argmin(size)) + 1
        raise StewartError(f"zero_directions of leg {leg}: {wanted} is expected", name="zero_directions")
    x = x / size
    frames = np.stack([x, np.cross(axes, x), axes], axis=-1)
    frames.flags.writeable = False
    return frames


def _is_length(x: Array) -> Mask:
    return (x > 0.0) & (x <= LARGEST)


def as_angle_limits(value: ArrayLike | None) -> Array:
    """Return limits of angles as a read-only array (6, 2) [rad]; None means a whole turn."""
    array = numbers((-np.pi, np.pi) if value is None else value)
    if array.shape not in ((2,), (N_LEGS, 2)) or not (array[..., 0] < array[..., 1]).all():
        raise StewartError(
            f"angle_limits: smallest and largest angle are expected, one or six pairs [rad], got {value!r}",
            name="angle_limits",
        )
    if (np.isfinite(array) & (np.abs(array) > _MOST_TURNS)).any():
        raise StewartError(f"angle_limits: radians are expected, got {value!r}: degrees?", name="angle_limits")
    array = np.array(np.broadcast_to(array, (N_LEGS, 2)))
    array.flags.writeable = False
    return array
