"""Sensors of a fusion: where they sit and how far they err."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...arrays import Array, ArrayLike
from ...errors import StewartError
from ...lie import so3
from ..kernels import readings as mk


@dataclass(frozen=True)
class DisplacementSensor:
    """A sensor of the distance of a point of the platform from one of the base, such as a redundant leg.

    Attributes
    ----------
    name : what it is called when it is left out.
    base_point : shape (3,), in {N} [m].
    platform_point : shape (3,), in {B} [m].
    noise : standard deviation of a reading [m].
    delay, delay_deviation : how old a reading is, and the standard deviation of that; 0: known [s].
    resolution : step between neighbouring readings, 0: none. Where it is known, a sensor whose reading stays the same
        for longer than its noise allows is stuck; ``None``: not known [m].
    """

    name: str
    base_point: Sequence[float]
    platform_point: Sequence[float]
    noise: float
    delay: float = 0.0
    delay_deviation: float = 0.0
    resolution: float | None = None

    def row(self) -> Array:
        """Return the sensor as kernels take it, (N_GEOMETRY,)."""
        return np.concatenate(([mk.LENGTH], self._points(), np.zeros(10)))

    def _points(self) -> Array:
        return np.concatenate(
            [vector(self.name, key, getattr(self, key), 3) for key in ("base_point", "platform_point")]
        )


@dataclass(frozen=True)
class AngleSensor(DisplacementSensor):
    """A sensor of the angle of the line from a base point to a platform point, seen along an axis; noise in rad.

    Attributes
    ----------
    axis : shape (3,), in {N}; positive angles turn about it.
    zero : shape (3,), in {N}, not along the axis: the line's direction, seen along the axis, at angle 0.
    """

    axis: Sequence[float] = (0.0, 0.0, 1.0)
    zero: Sequence[float] = (1.0, 0.0, 0.0)

    def row(self) -> Array:
        """Return the sensor as kernels take it, (N_GEOMETRY,)."""
        return np.concatenate(([mk.ANGLE], self._points(), *_directions(self.name, self.axis, self.zero), np.zeros(4)))


@dataclass(frozen=True)
class HornSensor(DisplacementSensor):
    """A sensor of the angle of a horn whose rod holds a platform point; noise in rad.

    Attributes
    ----------
    base_point : the centre of the horn's circle.
    horn : shape (2, 3), in {N}: where its ball is from there at angle 0 and at 90 degrees [m].
    rod : length of the rod, negative where the leg is bent the lower way [m].
    """

    horn: ArrayLike = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    rod: float = 0.0

    def row(self) -> Array:
        """Return the sensor as kernels take it, (N_GEOMETRY,)."""
        return np.concatenate(([mk.HORN], self._points(), np.ravel(self.horn), np.zeros(2), [self.rod, 0.0]))


def _directions(name: str, axis: Sequence[float], zero: Sequence[float]) -> tuple[Array, Array]:
    """Return unit vectors (3,) across an axis: near `zero`, and a quarter turn further."""
    about, start = vector(name, "axis", axis, 3), vector(name, "zero", zero, 3)
    towards = np.cross(about, start)
    size = float(np.linalg.norm(towards))
    if not size > 1e-9 * np.linalg.norm(about) * np.linalg.norm(start) > 0.0:
        raise StewartError(f"{name}: zero {list(zero)} lies along axis {list(axis)}, or one is 0")
    towards /= size
    return np.cross(towards, about) / np.linalg.norm(about), towards


@dataclass(frozen=True)
class InclinationSensor(DisplacementSensor):
    """A sensor of the angle by which the platform is turned about an axis against the vertical; noise in rad.

    What it feels is gravity with the platform's acceleration, at `platform_point`; `base_point` has no part in it.

    Attributes
    ----------
    axis : shape (3,), in {B}; positive angles are turns of the platform about it.
    zero : shape (3,), in {B}, not along the axis: what points up, seen along the axis, at angle 0.
    """

    base_point: Sequence[float] = (0.0, 0.0, 0.0)
    platform_point: Sequence[float] = (0.0, 0.0, 0.0)
    noise: float = 1e-3
    axis: Sequence[float] = (1.0, 0.0, 0.0)
    zero: Sequence[float] = (0.0, 0.0, 1.0)

    def row(self) -> Array:
        """Return the sensor as kernels take it, (N_GEOMETRY,)."""
        start, towards = _directions(self.name, self.axis, self.zero)
        return np.concatenate(([mk.INCLINATION], self._points(), start, -towards, np.zeros(4)))


@dataclass(frozen=True)
class InertialSensor:
    """A gyroscope and an accelerometer on the platform.

    Attributes
    ----------
    gyroscope_noise, accelerometer_noise : standard deviations of a reading [rad/s, m/s^2].
    gyroscope_bias, accelerometer_bias : standard deviations of the biases at the start [rad/s, m/s^2].
    gyroscope_scale, accelerometer_scale : standard deviations of the errors of scale of each axis [1]; those of the
        angles between axes are half as large [rad].
    alignment : standard deviation of the turn of the IMU against `pose`, about each axis [rad].
    gyroscope_walk, accelerometer_walk : how far the biases wander in a second [rad/s, m/s^2, each per sqrt(s)].
    pose : shape (4, 4), of the sensor in {B}.
    delay, delay_deviation : as for other sensors; both readings are equally old [s].
    delay_error : standard deviation of what nobody knows of `delay`, where neither it nor all other delays are
        estimated: readings in motion count less by that [s].
    resolution : steps between neighbouring readings of gyroscope and accelerometer [rad/s, m/s^2], as of other sensors.
    """

    gyroscope_noise: float = 2e-3
    accelerometer_noise: float = 3e-2
    gyroscope_bias: float = 2e-2
    accelerometer_bias: float = 2e-1
    gyroscope_walk: float = 1e-4
    accelerometer_walk: float = 1e-3
    pose: ArrayLike = field(default_factory=lambda: np.eye(4))
    resolution: tuple[float, float] | None = None
    delay: float = 0.0
    delay_deviation: float = 0.0
    delay_error: float = 3e-3
    gyroscope_scale: float = 2e-2
    accelerometer_scale: float = 2e-2
    alignment: float = 2e-2

    def errors(self) -> Array:
        """Return the covariance of what the IMU errs by at the start, (24, 24), as `kernels.readings` orders it.

        Both of its sensors are turned together, and each has scales and cross-axis errors of its own.
        """
        biases = [
            number(name, "bias", bias, zero=True)
            for name, bias in (("gyroscope", self.gyroscope_bias), ("accelerometer", self.accelerometer_bias))
        ]
        scales = [
            number(name, "scale", scale, zero=True)
            for name, scale in (("gyroscope", self.gyroscope_scale), ("accelerometer", self.accelerometer_scale))
        ]
        turn = number("inertial", "alignment", self.alignment, zero=True)
        axes, across = self.frame()[0], 0.5
        covariance = np.zeros((mk.N_INERTIAL, mk.N_INERTIAL))
        spread = np.where(np.eye(3, dtype=np.bool_), 1.0, across).ravel()
        turns = np.array([so3.hat(axis).ravel() for axis in np.eye(3)]).T  # (9, 3)
        both = np.vstack((turns, turns))
        covariance[mk.GYRO_MATRIX :, mk.GYRO_MATRIX :] = turn**2 * both @ both.T
        # Scales are those of the sensor's axes; M in {B} is A D A^T with A its axes there.
        into = np.kron(axes, axes)
        for k, first in enumerate((mk.GYRO_MATRIX, mk.ACCEL_MATRIX)):
            covariance[first : first + 9, first : first + 9] += into @ np.diag((scales[k] * spread) ** 2) @ into.T
            bias = slice(3 * k, 3 * k + 3)
            covariance[bias, bias] = biases[k] ** 2 * np.eye(3)
        return covariance

    def frame(self) -> tuple[Array, Array]:
        """Return rotation (3, 3) and position (3,) of the sensor in {B}."""
        pose = np.asarray(self.pose, dtype=np.float64)
        if pose.shape != (4, 4) or not np.isfinite(pose).all() or not so3.is_rotation(pose[:3, :3]):
            raise StewartError(f"pose of the inertial sensor is no pose: {pose.tolist()}, expected a (4, 4) matrix")
        return pose[:3, :3].copy(), pose[:3, 3].copy()


def vector(name: str, key: str, value: object, size: int) -> Array:
    """Return finite numbers (size,), or raise StewartError that names them."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise StewartError(f"{name}: {key} is {value!r}, expected {size} numbers") from error
    if array.shape != (size,) or not np.isfinite(array).all():
        raise StewartError(f"{name}: {key} is {value!r}, expected {size} finite numbers")
    return array


def number(name: str, key: str, value: object, *, zero: bool = False) -> float:
    """Return a positive finite number, or 0 where that is allowed; StewartError names what is none."""
    try:
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        found = math.nan
    if not (0.0 <= found < math.inf and (zero or 0.0 < found**2 < math.inf)):
        raise StewartError(f"{name}: {key} is {value!r}, expected a {'number >= 0' if zero else 'positive number'}")
    return found


def allowed_repeats(name: str, noise: float, resolution: float | None) -> int:
    """Return how many equal readings in a row show that a sensor is stuck; 0: no number of them does.

    Two readings with this noise fall on one step with a probability of at most p = resolution / (2 sqrt(pi) noise), so
    that k in a row are the same with p^(k - 1) at most, wherever the platform stands. Below 1e-9 that is not chance.
    """
    if resolution is None:
        return 0
    resolution = number(name, "resolution", resolution, zero=True)
    p = max(resolution / (2.0 * math.sqrt(math.pi) * noise), 1e-9)
    return 0 if p > 0.1 else 1 + max(2, math.ceil(math.log(1e-9) / math.log(p)))
