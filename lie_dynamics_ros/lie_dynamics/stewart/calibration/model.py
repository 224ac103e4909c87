"""The calibration problem: residuals of leg readings and measured poses, linearised and with the poses eliminated.

Unknowns are the `Parameters` and one true pose ``T_k`` a measurement. With n legs, six of the platform and further
ones, which are its displacement sensors, the parameters are

    theta = (a_1, ..., a_n, b_1, ..., b_n, o_1, ..., o_n [, c_1, ..., c_n]),

joint centres, length offsets and, where wanted, gains, all in metres: the gain of a leg is ``g = 1 + c / gain_length``,
where the gain length is that of a typical reading. A reading is ``m_ki = (|R_k b_i + p_k - a_i| - o_i) / g_i`` plus
noise: the length is gain times reading plus offset. A measured pose is ``T_k`` turned and shifted by noise, a measured
distance that of two joint centres of one side. Each residual is divided by its standard deviation; an infinite one
means "not measured".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypedDict

import numpy as np

from ...arrays import Array, ArrayLike, Integers
from ...errors import StewartError
from ...lie import se3, so3
from ...lie._arrays import number_of, real_numbers
from ...texts import quoted
from ..fusion.sensors import DisplacementSensor, number, vector
from ..geometry import inverse_kinematics as ik
from ..geometry.checks import N_LEGS
from ..geometry.offset_platform import OffsetPlatform
from ..geometry.platform import StewartPlatform

#: Names of the six legs of a platform.
LEGS = tuple(f"{leg}" for leg in range(1, N_LEGS + 1))


@dataclass(frozen=True)
class Parameters:
    """The parameters of a calibration.

    Attributes
    ----------
    legs : names of the legs, the platform's six and further ones.
    gain_length : [m], see above; ``None``: gains are 1, and no parameters.
    """

    legs: tuple[str, ...] = LEGS
    gain_length: float | None = None

    @property
    def count(self) -> int:
        """Number of parameters."""
        return len(self.legs) * (7 if self.gain_length is None else 8)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in order."""
        points = (f"{side} point {leg} {axis}" for side in ("base", "platform") for leg in self.legs for axis in "xyz")
        more = ("offset",) if self.gain_length is None else ("offset", "gain")
        return (*points, *(f"{what} {leg}" for what in more for leg in self.legs))

    @cached_property
    def units(self) -> Array:
        """Factors that take parameters to their own units (count,): 1, for gains 1 / gain length."""
        units = np.ones(self.count)
        if self.gain_length is not None:
            units[7 * len(self.legs) :] /= self.gain_length
        return units

    def split(self, theta: Array) -> tuple[Array, Array, Array, Array]:
        """Return base points (n, 3), platform points (n, 3), offsets (n,) [m] and gains (n,) of parameters (count,)."""
        n = len(self.legs)
        gains = np.ones(n) if self.gain_length is None else 1.0 + theta[7 * n :] / self.gain_length
        return theta[: 3 * n].reshape(n, 3), theta[3 * n : 6 * n].reshape(n, 3), theta[6 * n : 7 * n], gains

    def join(self, base_points: Array, platform_points: Array, offsets: Array, gains: Array | float = 1.0) -> Array:
        """Return the parameters (count,) of points, offsets and gains."""
        parts = [base_points.ravel(), platform_points.ravel(), offsets]
        if self.gain_length is not None:
            parts.append(np.broadcast_to(self.gain_length * (np.asarray(gains) - 1.0), len(self.legs)))
        return np.concatenate(parts)

    def generators(self, theta: Array) -> Array:
        """Parameter changes (count, 12) of rigid motions of all base joints (six) and of all platform joints (six)."""
        n = len(self.legs)
        generators = np.zeros((self.count, 12))
        for side, points in enumerate(self.split(theta)[:2]):
            rows = slice(3 * n * side, 3 * n * (side + 1))
            for axis, unit in enumerate(np.eye(3)):
                generators[rows, 6 * side + axis] = np.cross(unit, points).ravel()
                generators[rows, 6 * side + 3 + axis] = np.tile(unit, n)
        return generators

    def scaling(self, theta: Array) -> Array:
        """Parameter change (count,) by which all lengths grow alike, and readings stay: it takes gains."""
        base, platform, offsets, gains = self.split(theta)
        return self.join(base, platform, offsets, 1.0 + gains)

    def free_of_gauge(self, vectors: Array, theta: Array, scale: bool = False) -> Array:
        """Take out of parameter changes (count, m) what only moves frames, and, with `scale`, the size.

        What is left moves no side's joints as a whole, nor makes both sides larger, in the sense of least squares.
        """
        generators = self.generators(theta)
        if scale:
            generators = np.column_stack((generators, self.scaling(theta)))
        points = 6 * len(self.legs)
        along = np.linalg.lstsq(generators[:points], vectors[:points], rcond=None)[0]
        return np.asarray(vectors - generators @ along)

    def turn(self, base: Array, platform: Array) -> Array:
        """Return the matrix (count, count) that turns base points and platform points by rotations (3, 3)."""
        turn = np.eye(self.count)
        for k in range(2 * len(self.legs)):
            turn[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = base if k < len(self.legs) else platform
        return turn


SIDES = ("base", "platform")
#: Further legs, at most.
MOST_FURTHER = 30
#: Largest reading and coordinate of a further leg [m]: beyond it squares of figures leave float64.
LARGEST = 1e6


def check_further(further: object) -> tuple[DisplacementSensor, ...]:
    """Return further legs; StewartError names what is none, and names that are there twice."""
    if isinstance(further, (str, bytes)) or not isinstance(further, Sequence) or len(further) > MOST_FURTHER:
        raise StewartError(f"further is {quoted(further)}, expected up to {MOST_FURTHER} displacement sensors")
    for place, sensor in enumerate(further):
        if type(sensor) is not DisplacementSensor:
            raise StewartError(f"further {place} is {quoted(sensor)}, expected a DisplacementSensor")
        if not isinstance(sensor.name, str) or not sensor.name:
            raise StewartError(f"further {place} is named {quoted(sensor.name)}, expected a text")
        for key in ("base_point", "platform_point"):
            if not (np.abs(vector(sensor.name, key, getattr(sensor, key), 3)) <= LARGEST).all():
                raise StewartError(f"{sensor.name}: {key} is {getattr(sensor, key)}, expected up to {LARGEST:g} m")
    names = [*LEGS, *(sensor.name for sensor in further)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise StewartError(f"two legs are named {quoted(twice)}; the platform's six are 1 to 6")
    return tuple(further)


def all_points(platform: StewartPlatform, further: Sequence[DisplacementSensor]) -> tuple[Array, Array]:
    """Return base points and platform points (n, 3) of the six legs and further ones [m]."""
    base, moving = (
        np.vstack((six, *(np.asarray(getattr(sensor, key), dtype=np.float64) for sensor in further)))
        for six, key in ((platform.base_points, "base_point"), (platform.platform_points, "platform_point"))
    )
    return base, moving


def at_points(further: Sequence[DisplacementSensor], base: Array, platform: Array) -> tuple[DisplacementSensor, ...]:
    """Return further legs between other points, those of all n legs (n, 3)."""
    ends = zip(further, base[len(LEGS) :].tolist(), platform[len(LEGS) :].tolist(), strict=True)
    return tuple(replace(leg, base_point=tuple(a), platform_point=tuple(b)) for leg, a, b in ends)


@dataclass(frozen=True)
class Distances:
    """Measured distances of joint centres of one side.

    Attributes
    ----------
    first, second : (d,), rows among base points, then platform points. lengths : (d,) [m]. sigma : [m].
    """

    first: Integers
    second: Integers
    lengths: Array
    sigma: float

    @classmethod
    def check(cls, distances: object, sigma: Any, legs: Sequence[str]) -> Distances:
        """Make them of (side, leg, leg, metres); StewartError names what cannot be used."""
        deviation = number_of("distance_sigma", sigma, "a positive length in metres", lambda x: 1e-12 <= x <= 1e3)
        if isinstance(distances, (str, bytes)) or not isinstance(distances, Sequence):
            raise StewartError(f"distances is {quoted(distances)}, expected rows of side, leg, leg, metres")
        rows = []
        for place, row in enumerate(distances):
            if isinstance(row, (str, bytes)) or not isinstance(row, Sequence) or len(row) != 4 or row[0] not in SIDES:
                raise StewartError(
                    f"distance {place} is {quoted(row)}, expected {' or '.join(SIDES)}, leg, leg, metres"
                )
            ends = [str(leg) for leg in row[1:3]]
            unknown = [leg for leg in ends if leg not in legs]
            if unknown or ends[0] == ends[1]:
                raise StewartError(
                    f"distance {place} is of legs {', '.join(map(quoted, ends))}, expected two of {', '.join(legs)}"
                )
            metres = number_of(f"distance {place}", row[3], "a positive length in metres", lambda x: 0.0 < x <= 1e3)
            rows.append((*(len(legs) * SIDES.index(row[0]) + legs.index(leg) for leg in ends), metres))
        table = np.array(rows, dtype=np.float64).reshape(-1, 3)
        return cls(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2], deviation)

    def residuals(self, theta: Array) -> Array:
        """Return weighted residuals (d,) at parameters (count,) of n legs, whose points come first."""
        points = theta[: 3 * (len(theta) // 3)].reshape(-1, 3)
        return np.asarray(
            (np.linalg.norm(points[self.first] - points[self.second], axis=1) - self.lengths) / self.sigma
        )

    def jacobian(self, theta: Array) -> Array:
        """Return the derivatives (d, count) of `residuals`."""
        points = theta[: 3 * (len(theta) // 3)].reshape(-1, 3)
        rows = np.zeros((len(self.lengths), len(theta)))
        for row, i, j in zip(rows, self.first, self.second, strict=True):
            gap = points[i] - points[j]
            # Joints that are one have no direction from one to the other.
            row[3 * i : 3 * i + 3] = gap / ((np.linalg.norm(gap) or 1.0) * self.sigma)
            row[3 * j : 3 * j + 3] = -row[3 * i : 3 * i + 3]
        return rows


#: Standard deviations whose squares and their inverses are far from the ends of float64.
_DECADES = 15
#: Smallest gain: one that is not is far from any sensor, and 0 makes no length.
_LEAST_GAIN = 0.05


class MoreMeasured(TypedDict, total=False):
    """Keywords of `Measurements.check`: further legs, gains, and measured distances, as `calibrate` takes them."""

    further: Sequence[DisplacementSensor]
    gains: bool | float
    distances: Sequence[tuple[str, int | str, int | str, float]]
    distance_sigma: float


@dataclass(frozen=True)
class Measurements:
    """Measured poses and leg readings with their standard deviations.

    Attributes
    ----------
    poses : (k, 4, 4), of a platform frame in a base frame, as the measuring device has them.
    readings : (k, n) [m].
    length_sigma : (n,) [m].
    pose_sigma : (6,), rotation about the platform's axes [rad] and position along the base's axes [m]; inf: not
        measured. ``None``: poses are exact.
    distances : of joint centres. parameters : what is estimated.
    joints : axes and offsets of universal joints, in these frames; its points do not matter. ``None``: point joints.
    """

    poses: Array
    readings: Array
    length_sigma: Array
    pose_sigma: Array | None
    distances: Distances
    parameters: Parameters
    joints: OffsetPlatform | None = None

    @classmethod
    def check(
        cls,
        poses: ArrayLike,
        readings: ArrayLike,
        length_sigma: ArrayLike,
        pose_sigma: ArrayLike | None,
        *,
        further: Sequence[DisplacementSensor] = (),
        gains: bool | float = False,
        distances: Sequence[tuple[str, int | str, int | str, float]] = (),
        distance_sigma: float = 1e-4,
    ) -> Measurements:
        """Return checked measurements; StewartError names those that cannot be used, with the reason.

        `gains` may be their length, see `Parameters`, where that of the readings is not to count.
        """
        legs = check_further(further)
        names = (*LEGS, *(leg.name for leg in legs))
        pose_array = np.array(se3.check(ik.as_pose(poses, "poses"), "poses", tolerance=1e-4))
        reading_array = np.array(real_numbers(readings, "readings"), dtype=np.float64)
        if pose_array.ndim != 3 or reading_array.shape != (len(pose_array), len(names)):
            raise StewartError(
                f"poses have shape {pose_array.shape} and readings {reading_array.shape}, expected (k, 4, 4) and "
                f"(k, {len(names)})"
            )
        bad = np.argwhere(~(np.abs(reading_array) <= LARGEST))
        if bad.size:
            k, leg = bad[0]
            raise StewartError(
                f"reading of leg {names[leg]} in measurement {k} is {reading_array[k, leg]}, expected metres, up to "
                f"{LARGEST:g}"
            )
        sizes = (N_LEGS, len(names)) if legs else (N_LEGS,)
        lengths = _sigma(length_sigma, "length_sigma", sizes, finite=True)
        if len(lengths) < len(names):
            lengths = np.append(lengths, [number(str(leg.name), "noise", leg.noise) for leg in legs])
        pose_array[:, :3, :3] = so3.nearest(pose_array[:, :3, :3])
        if not isinstance(gains, (bool, np.bool_)) and not (isinstance(gains, float) and 1e-6 <= gains <= 1e6):
            raise StewartError(f"gains is {quoted(gains)}, expected True or False, or a typical length in metres")
        typical = float(np.linalg.norm(reading_array)) / max(reading_array.size, 1) ** 0.5 or 1.0
        typical = float(gains) if isinstance(gains, float) else typical
        return cls(
            pose_array,
            reading_array,
            lengths,
            None if pose_sigma is None else _sigma(pose_sigma, "pose_sigma", (6,), finite=False),
            Distances.check(distances, distance_sigma, names),
            Parameters(names, typical if gains else None),
        )

    def __len__(self) -> int:
        return len(self.poses)


def _sigma(value: ArrayLike, name: str, sizes: tuple[int, ...], *, finite: bool) -> Array:
    """Return standard deviations from one number, for the first of `sizes`, or one of as many."""
    array = np.array(real_numbers(value, name), dtype=np.float64)
    if array.shape not in ((), *((size,) for size in sizes)):
        wanted = " or ".join("six" if size == N_LEGS else str(size) for size in sizes)
        raise StewartError(f"{name} has shape {array.shape}, expected one number or {wanted}")
    array = np.broadcast_to(array, (sizes[0],)).copy() if array.ndim == 0 else array
    told = np.isfinite(array)
    if not np.all(array > 0.0) or (finite and not told.all()) or not np.all(np.abs(np.log10(array[told])) <= _DECADES):
        raise StewartError(
            f"{name} is {array.tolist()}, expected positive standard deviations, 1e-{_DECADES} to 1e{_DECADES}"
        )
    return array


@dataclass(frozen=True)
class Linearisation:
    """Weighted least squares problem at some parameters and poses, poses eliminated.

    ``reduced_jacobian`` (m, count) and ``reduced_residual`` (m,) have the same minimiser over the parameters as the
    full problem; the rows of poses, n for each, come first, then those of distances. For given parameter changes,
    `pose_steps` gives the pose changes that go with them.
    """

    cost: float
    reduced_jacobian: Array
    reduced_residual: Array
    _pose_parts: tuple[Array, Array, Array] | None

    def pose_steps(self, step: Array) -> Array:
        """Body screws (k, 6) of the poses that minimise the linearised problem for a parameter step (count,)."""
        if self._pose_parts is None:
            return np.zeros((0, 6))
        triangle, by_parameters, right = self._pose_parts
        return np.asarray(-np.linalg.solve(triangle, (right + by_parameters @ step)[..., None])[..., 0])


def ends(theta: Array, poses: Array, data: Measurements) -> tuple[Array, Array]:
    """Return the ends of the legs in base and platform, (n, 3) or (k, n, 3) [m]; NaN where a leg has none.

    A reading changes with joint points and poses as if the ends were joined to them.
    """
    base, platform, _, _ = data.parameters.split(theta)
    if data.joints is None:
        return base, platform
    C, D, there = data.joints.stationary_feet(poses, (base, platform))
    return np.where(there[..., None], C, np.nan), D


def cost_of(theta: Array, poses: Array, data: Measurements) -> float:
    """Half the sum of the squared weighted residuals; infinite where a gain makes no sense."""
    if not data.parameters.split(theta)[3].min() > _LEAST_GAIN:
        return float("inf")
    return _half_square(theta, *residuals(theta, poses, data), data)


def _half_square(theta: Array, lengths: Array, turned: Array, data: Measurements) -> float:
    return 0.5 * float(np.sum(lengths**2) + np.sum(turned**2) + np.sum(data.distances.residuals(theta) ** 2))


def linearise(theta: Array, poses: Array, data: Measurements) -> Linearisation:
    """Linearise the problem at parameters (count,) and poses (k, 4, 4)."""
    base, platform = ends(theta, poses, data)
    _, _, offsets, gains = data.parameters.split(theta)
    lengths, turned = residuals(theta, poses, data)
    long, units = ik.leg_units(ik.leg_vectors(base, platform, poses))
    n, count = len(gains), data.parameters.count
    weights = 1.0 / (gains * data.length_sigma)
    jacobian = np.zeros((len(data), n, count))
    in_body = units @ poses[:, :3, :3]
    for leg in range(n):
        jacobian[:, leg, 3 * leg : 3 * leg + 3] = -units[:, leg]
        jacobian[:, leg, 3 * (n + leg) : 3 * (n + leg) + 3] = in_body[:, leg]
        jacobian[:, leg, 6 * n + leg] = -1.0
        if data.parameters.gain_length is not None:
            jacobian[:, leg, 7 * n + leg] = -(long[:, leg] - offsets[leg]) / (gains[leg] * data.parameters.gain_length)
    jacobian *= weights[:, None]
    cost = _half_square(theta, lengths, turned, data)
    apart, gaps = data.distances.jacobian(theta), data.distances.residuals(theta)
    if data.pose_sigma is None:
        rows = np.vstack((jacobian.reshape(-1, count), apart))
        return Linearisation(cost, rows, np.append(lengths.ravel(), gaps), None)
    # Eliminate each pose: its rows are turned by Q so that its six unknowns appear in the first six rows only.
    by_pose = np.zeros((len(data), n + 6, 6))
    by_pose[:, :n] = np.concatenate([np.cross(platform, in_body), in_body], axis=-1) * weights[:, None]
    by_pose[:, n : n + 3, :3] = so3.right_jacobian_inverse(so3.log(_turned(poses, data)))
    by_pose[:, n + 3 :, 3:] = poses[:, :3, :3]
    by_pose[:, n:] /= data.pose_sigma[:, None]
    q, r = np.linalg.qr(by_pose, mode="complete")
    stacked = np.concatenate([jacobian, np.zeros((len(data), 6, count))], axis=1)
    right = np.concatenate([lengths, turned], axis=1)
    q_transposed = np.swapaxes(q, 1, 2)
    rows, values = q_transposed @ stacked, (q_transposed @ right[..., None])[..., 0]
    parts = (r[:, :6], rows[:, :6], values[:, :6])
    reduced = np.vstack((rows[:, 6:].reshape(-1, count), apart))
    return Linearisation(cost, reduced, np.append(values[:, 6:].ravel(), gaps), parts)


def residuals(theta: Array, poses: Array, data: Measurements) -> tuple[Array, Array]:
    """Weighted residuals of readings (k, n) and of measured poses (k, 6), zeros for exact poses."""
    lengths = ik.norms(ik.leg_vectors(*ends(theta, poses, data), poses))
    _, _, offsets, gains = data.parameters.split(theta)
    readings = ((lengths - offsets) / gains - data.readings) / data.length_sigma
    if data.pose_sigma is None:
        return readings, np.zeros((0, 6))
    shifts = poses[:, :3, 3] - data.poses[:, :3, 3]
    moved = np.concatenate([so3.log(_turned(poses, data)), shifts], axis=1)
    return readings, moved / data.pose_sigma


def _turned(poses: Array, data: Measurements) -> Array:
    """Rotations (k, 3, 3) from the measured to the estimated orientations, in the measured platform frame."""
    return np.asarray(np.swapaxes(data.poses[:, :3, :3], 1, 2) @ poses[:, :3, :3])
