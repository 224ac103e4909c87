"""`StewartFusion`: the pose of a platform from legs, an IMU and further sensors, some of which may fail."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Array, ArrayLike, Mask
from ...engine.compile import raise_if_rejected
from ...errors import StewartError
from ...lie import se3, so3
from ..geometry.any_platform import PointJointed, points_of, require_legs
from ..geometry.checks import check_turns
from ..geometry.rotary_platform import RotaryPlatform
from ..solvers.reachability import check_place, check_units
from .fault_detector import Belief, EvidenceSettings, FaultDetector, SensorModel
from .kernels import motion as mk
from .kernels.filter import model, project
from .kernels.motion import E_DELAY, X_DELAY, X_P
from .kernels.readings import ANGLE, INCLINATION, KIND, READING
from .result import FusedPose
from .sensors import DisplacementSensor, HornSensor, InertialSensor, allowed_repeats, number, vector
from .without_inertial import WithoutInertial

#: Standard deviations at the start: w [rad/s], v [m/s], w' [rad/s^2], v' [m/s^2].
RATES = (1.0, 1.0, 50.0, 10.0)
_MAX_STEPS = 50


def fit(x: Array, constants: Array, geometry: Array, readings: Array, deviations: Array, names: Sequence[str]) -> Array:
    """Move the pose in the state `x` to where it fits `readings` best, and return its covariance (6, 6).

    Gauss-Newton from the pose in `x`, where NaN among the readings counts as none, and so do inclinations: nothing is
    known of accelerations.

    Raises
    ------
    StewartError : readings that do not hold the platform, or that no pose near fits; a sensor, by its name, that tells
        nothing where the platform starts.
    """
    geometry[:, READING] = readings
    known = np.flatnonzero(np.isfinite(readings) & (geometry[:, KIND] != INCLINATION))
    angles = geometry[:, KIND] >= ANGLE
    values, slopes = np.empty(len(geometry)), np.empty((len(geometry), E_DELAY + len(x) - X_DELAY))
    weights = 1.0 / deviations[known]
    for _ in range(_MAX_STEPS):
        raise_if_rejected(model(x, constants, geometry, values, slopes))
        blind = known[~np.isfinite(slopes[known]).all(axis=1)]
        if blind.size:
            raise StewartError(
                f"{names[blind[0]]} measures nothing where the platform starts: its points meet, or lie along its axis"
            )
        matrix = slopes[known, :6] * weights[:, None]
        off = readings - values
        off[angles] = (off[angles] + np.pi) % (2.0 * np.pi) - np.pi
        misfit = off[known] * weights
        size = np.linalg.norm(matrix, axis=0)
        usable = len(known) >= 6 and np.isfinite(matrix).all()
        if not usable or np.linalg.cond(matrix / np.where(size > 0, size, 1)) > 1e9:
            if len(known) >= 6 and np.abs(off[known]).max() > 1e-2:
                break  # it has gone astray
            raise StewartError(f"{len(known)} readings do not hold the platform where it starts, expected six that do")
        step = np.linalg.lstsq(matrix, misfit, rcond=None)[0]
        x[:9] = (so3.exp(step[:3]) @ x[:9].reshape(3, 3)).ravel()
        x[X_P : X_P + 3] += step[3:]
        inverse = np.linalg.inv(matrix.T @ matrix)
        if step @ np.linalg.solve(inverse, step) < 1e-12:
            left = misfit - matrix @ step
            if np.abs(left).max() > 6.0 + 1e-3:
                break
            return np.asarray(inverse)
    raise StewartError("no pose near the start fits the first readings: check them and the pose that was given")


GYROSCOPE, ACCELEROMETER = "gyroscope", "accelerometer"
#: Readings beyond are no numbers.
LARGEST = 1e6


class StewartFusion:
    """One estimate from all sensors of a platform: error-state Kalman filter on SE(3), with twist and acceleration.

    The motion is taken for one whose jerk is white noise. A faulty sensor is named and left out from the first reading
    that counts against it, and taken in again when it agrees. Not thread-safe.

    Parameters
    ----------
    platform : its six legs are the first six readings, named "leg 1" to "leg 6": lengths, or angles of rotary legs.
    pose : shape (4, 4), about where the platform is at the first update.
    leg_noise : standard deviation of a length or angle, one or six [m, rad].
    jerk : linear [m/s^2.5] and angular [rad/s^2.5] root of the density of the jerk. A motion that goes to and fro with
        a jerk of at most j at f Hz has j / sqrt(2 pi f).
    inertial : an IMU on the platform; ``None``: none.
    sensors : further ones, read after the legs.
    leg_delays, leg_delay_deviations : age of a length at its time, and the standard deviation of that, each one or six
        [s]. A delay that is not known is estimated; that needs an IMU or redundant sensors, and motion.
    leg_resolution : step between neighbouring lengths or angles [m, rad], see `DisplacementSensor`.
    gravity : shape (3,), in {N} [m/s^2].
    threshold : evidence against a sensor, in standard deviations, at which it is checked.
    window : readings, counted back, that evidence is gathered from.
    recovery : good readings in a row after which a sensor is taken in again.

    Raises
    ------
    StewartError : a value that cannot be used; the message names it.
    """

    def __init__(
        self,
        platform: PointJointed,
        pose: ArrayLike,
        *,
        leg_noise: float | Sequence[float] = 1e-5,
        jerk: tuple[float, float] = (10.0, 50.0),
        inertial: InertialSensor | None = None,
        sensors: Sequence[DisplacementSensor] = (),
        leg_delays: float | Sequence[float] = 0.0,
        leg_delay_deviations: float | Sequence[float] = 0.0,
        leg_resolution: float | None = None,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        threshold: float = 6.0,
        window: int = 5,
        recovery: int = 20,
    ) -> None:
        require_legs(platform)
        self._platform = platform
        noise, delays, unknown = (
            vector("legs", key, [value] * 6 if np.ndim(value) == 0 else value, 6)
            for key, value in (
                ("leg_noise", leg_noise),
                ("leg_delays", leg_delays),
                ("leg_delay_deviations", leg_delay_deviations),
            )
        )
        legs: list[DisplacementSensor] = []
        for i, (a, b) in enumerate(zip(platform.base_points, platform.platform_points, strict=True)):
            what = f"leg {i + 1}", a, b, noise[i], delays[i], unknown[i], leg_resolution
            if isinstance(platform, RotaryPlatform):
                rod = float(platform.rods[i]) * (1.0 if platform.bends[i] else -1.0)
                legs.append(HornSensor(*what, platform.horns[i] * platform.frames[i, :, :2].T, rod))
            else:
                legs.append(DisplacementSensor(*what))
        self._points = [*legs, *sensors]
        self._inertial = inertial
        self._channels = {sensor.name: slice(i, i + 1) for i, sensor in enumerate(self._points)}
        count = len(self._points)
        if inertial is not None:
            self._channels |= {GYROSCOPE: slice(count, count + 3), ACCELEROMETER: slice(count + 3, count + 6)}
        if len(self._channels) < count + (0 if inertial is None else 2):
            raise StewartError(f"two sensors share a name: {[sensor.name for sensor in self._points]}")
        self._axes = np.eye(3)
        self._delay, self._delay_variance = 0.0, 0.0
        if inertial is not None:
            self._delay = float(vector("inertial", "delay", (inertial.delay,), 1)[0])
            self._delay_variance = number("inertial", "delay_deviation", inertial.delay_deviation, zero=True) ** 2
        self._late = self._delay != 0.0 or self._delay_variance > 0.0
        self._model = SensorModel(*self._tables(jerk, gravity))
        self._repeats = np.array([allowed_repeats(s.name, s.noise, s.resolution) for s in self._points])
        if inertial is not None:
            steps = inertial.resolution or (None, None)
            noises = inertial.gyroscope_noise, inertial.accelerometer_noise
            limits = [allowed_repeats(*three) for three in zip((GYROSCOPE, ACCELEROMETER), noises, steps, strict=True)]
            self._repeats = np.append(self._repeats, np.repeat(limits, 3))
        self._settings = EvidenceSettings(
            number("fusion", "threshold", threshold), _whole("window", window), _whole("recovery", recovery)
        )
        self._detector, self._started = self._detector_at(pose), False
        self._beside: WithoutInertial | None = None
        if inertial is not None:
            alone = StewartFusion(
                platform, pose, leg_noise=noise.tolist(), jerk=jerk, sensors=sensors, leg_delays=delays.tolist(),
                leg_delay_deviations=unknown.tolist(), leg_resolution=leg_resolution, gravity=gravity,
                threshold=threshold, window=window, recovery=recovery,
            )  # fmt: skip
            late = 3.0 * max(inertial.delay_error, inertial.delay_deviation)
            self._beside = WithoutInertial(alone, {GYROSCOPE, ACCELEROMETER}, self._settings.recovery, late)

    def _tables(self, jerk: tuple[float, float], gravity: Sequence[float]) -> tuple[Array, Array, Array]:
        """Return constants, geometry and variances for `SensorModel`."""
        constants = np.zeros(mk.N_CONSTANTS)
        linear, angular = vector("fusion", "jerk", jerk, 2)
        constants[mk.LINEAR] = number("fusion", "jerk", linear)
        constants[mk.ANGULAR] = number("fusion", "jerk", angular)
        constants[mk.GRAVITY : mk.GRAVITY + 3] = vector("fusion", "gravity", gravity, 3)
        constants[mk.DELAY_WALK] = 1e-6
        constants[mk.INERTIAL] = 0.0 if self._inertial is None else mk.N_INERTIAL
        variances = [number(sensor.name, "noise", sensor.noise) ** 2 for sensor in self._points]
        imu = self._inertial
        if imu is not None:
            self._axes, constants[mk.LEVER : mk.LEVER + 3] = imu.frame()
            constants[mk.GYRO_WALK] = number(GYROSCOPE, "gyroscope_walk", imu.gyroscope_walk, zero=True)
            constants[mk.ACCEL_WALK] = number(ACCELEROMETER, "accelerometer_walk", imu.accelerometer_walk, zero=True)
            untold = number("inertial", "delay_error", imu.delay_error, zero=True)
            estimated = self._delay_variance or all(sensor.delay_deviation for sensor in self._points)
            constants[mk.UNTOLD_DELAY] = 0.0 if estimated else untold
            variances += [number(GYROSCOPE, "gyroscope_noise", imu.gyroscope_noise) ** 2] * 3
            variances += [number(ACCELEROMETER, "accelerometer_noise", imu.accelerometer_noise) ** 2] * 3
        return constants, np.array([sensor.row() for sensor in self._points]), np.array(variances)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sensors, in the order of their readings."""
        return tuple(self._channels)

    def reset(self, pose: ArrayLike) -> None:
        """Forget all: the next readings are those of a platform near ``pose`` (4, 4)."""
        self._detector, self._started = self._detector_at(pose), False
        if self._beside is not None:
            self._beside.reset(pose)

    def _detector_at(self, pose: ArrayLike) -> FaultDetector:
        """Return what accepts sensors, from a belief near a pose on, with the rates of `RATES`."""
        start = np.asarray(pose, dtype=np.float64)
        if start.shape != (4, 4) or not np.isfinite(start).all():
            raise StewartError(f"pose is {pose!r}, expected a (4, 4) matrix of finite numbers")
        se3.check(start)
        check_place(points_of(self._platform), start)
        imu, delay, unknown = self._inertial, self._delay, self._delay_variance
        errors = np.zeros((0, 0)) if imu is None else imu.errors()
        last = mk.X_DELAY + len(self._points)
        x = np.zeros(last + self._late + len(errors))
        x[:9], x[mk.X_P : mk.X_P + 3] = start[:3, :3].ravel(), start[:3, 3]
        variances = [np.full(6, np.nan), *(np.full(3, rate**2) for rate in RATES)]
        for i, sensor in enumerate(self._points):
            x[mk.X_DELAY + i] = float(vector(sensor.name, "delay", [sensor.delay], 1)[0]) - delay
            variances.append(np.array([number(sensor.name, "delay_deviation", sensor.delay_deviation, zero=True) ** 2]))
        if self._late:
            x[last] = delay
            variances.append(np.zeros(1))
        known = np.concatenate(variances)
        covariance = np.diag(np.append(known, np.zeros(len(errors))))
        covariance[len(known) :, len(known) :] = errors
        if self._late:
            sign = np.append(-np.ones(len(self._points)), 1.0)
            part = slice(mk.E_DELAY, mk.E_DELAY + len(sign))
            covariance[part, part] += unknown * np.outer(sign, sign)
        belief = Belief(x, covariance)
        first = len(covariance) - mk.N_INERTIAL
        places = (GYROSCOPE, first + mk.GYRO), (ACCELEROMETER, first + mk.ACCEL)
        biases = {name: slice(place, place + 3) for name, place in places}
        known_biases = biases if imu is not None else {}
        return FaultDetector(self._model, self._channels, self._repeats, self._settings, belief, known_biases)

    def update(
        self,
        readings: ArrayLike,
        gyroscope: ArrayLike | None = None,
        accelerometer: ArrayLike | None = None,
        *,
        dt: float,
        present: ArrayLike | None = None,
        age: ArrayLike = 0.0,
    ) -> FusedPose:
        """Take the readings of one moment, a time ``dt`` after those before, and return the estimate for it.

        Parameters
        ----------
        readings : shape (6 + k,), lengths [m] or angles [rad] of the legs, then what the further sensors read.
        gyroscope, accelerometer : shape (3,), in the sensor's axes [rad/s, m/s^2]; ``None``: no reading now.
        dt : [s], not negative; without meaning at the first update.
        present : bool (6 + k,), which of the readings there are; those are faults where they are no numbers.
        age : how long before this moment ``readings`` were made, beyond their delays, as where they come late [s]; one
            for all, or (6 + k,).

        Raises
        ------
        StewartError : arguments of the wrong shape, or first readings that no pose near the start fits.
        """
        dt, ages = number("update", "dt", dt, zero=True), self._ages(age)
        values, there = self._gather(readings, gyroscope, accelerometer, present)
        first = not self._started
        if first:
            if isinstance(self._platform, RotaryPlatform):
                check_turns(values[:6], self._platform.angle_limits)
            else:
                check_units(points_of(self._platform), values[:6])
            fused = self._start(values, dt, ages)
        beside, count = self._beside, len(self._points)
        if beside is None:
            return fused if first else self._result(*self._detector.take(values, there, dt, ages))
        alone = beside.take(values[:count], there[:count], dt, ages)
        felt: bool | None = None
        if not first:
            try:
                fused = self._result(*self._detector.take(values, there, dt, ages))
            except StewartError:
                if alone is None or alone.lost:
                    raise
                self._restart(alone)
                fused = self._result((), (), True)
            felt = self._detector.surprised(slice(count, count + 6))
        chosen = beside.choose(fused, alone, dt, felt, bool(there[:count].any()))
        if alone is not None and beside.refutes:
            self._restart(alone)
        return chosen

    def _restart(self, alone: FusedPose) -> None:
        """Go on from an estimate without the IMU, of whose errors nothing is known any more."""
        detector = self._detector_at(alone.pose)
        detector.belief.x[: mk.X_DELAY] = alone.state[: mk.X_DELAY]
        part = slice(mk.E_DELAY)
        detector.belief.covariance[part, part] = alone.error_covariance[part, part]
        detector.go_on_from(self._detector)
        self._detector = detector

    def _ages(self, age: ArrayLike) -> Array:
        """Return the age of each geometric reading (6 + k,) [s]."""
        count = len(self._points)
        if np.ndim(age) == 0:
            return np.full(count, number("update", "age", age, zero=True))
        ages = vector("update", "age", age, count)
        if (ages < 0.0).any():
            raise StewartError(f"update: age is {age!r}, expected numbers >= 0")
        return ages

    def _gather(
        self, readings: object, gyroscope: object, accelerometer: object, present: object
    ) -> tuple[Array, Mask]:
        """Return all readings (m,), inertial ones in the axes of {B}, NaN where there is none; and what there is."""
        count = len(self._points)
        parts = [(readings, "readings", count)]
        if self._inertial is not None:
            parts += [(gyroscope, GYROSCOPE, 3), (accelerometer, ACCELEROMETER, 3)]
        elif gyroscope is not None or accelerometer is not None:
            raise StewartError("readings of an IMU were given to a fusion that has none: see inertial")
        values, there = [], []
        for given, key, size in parts:
            array = np.full(size, np.nan) if given is None else np.array(given, dtype=np.float64)
            if array.shape != (size,):
                raise StewartError(
                    f"{key} has shape {array.shape}, expected ({size},): {', '.join(self.names[:count])}"
                )
            if key != "readings":  # what one axis spoils says nothing of the others
                array = self._axes @ array if (np.abs(array) <= LARGEST).all() else np.full(3, np.nan)
            values.append(array)
            there.append(np.full(size, given is not None))
        if present is not None:
            mask = np.asarray(present, dtype=np.bool_)
            if mask.shape != (count,):
                raise StewartError(f"present has shape {mask.shape}, expected ({count},)")
            values[0][~mask] = np.nan
            there[0] = mask
        found = np.concatenate(values)
        found[np.abs(found) > LARGEST] = np.inf
        return found, np.concatenate(there)

    def _start(self, values: Array, dt: float, ages: Array) -> FusedPose:
        """Find the pose of the first readings; what is not known of it yet is what `RATES` allow."""
        count, belief = len(self._points), self._detector.belief
        old = ages + [abs(s.delay) + s.delay_deviation for s in self._points]
        if self._inertial is not None:
            old += abs(self._inertial.delay) + self._inertial.delay_deviation
        fastest = old * np.hypot(*RATES[:2])
        deviations = np.sqrt(self._model.variances[:count] + fastest**2)
        x = belief.x.copy()
        self._model.constants[mk.DT] = dt
        covariance = fit(x, self._model.constants, self._model.geometry, values[:count], deviations, self.names)
        slopes = np.empty((len(self._model.variances), len(belief.covariance)))
        raise_if_rejected(model(x, self._model.constants, self._model.geometry, np.empty(len(slopes)), slopes))
        for sensor, slope in zip(self._points, slopes, strict=False):
            if not np.isfinite(slope).all():
                raise StewartError(f"{sensor.name}: what it sees lies along its axis where it starts")
        belief.x[:] = x
        belief.covariance[:6, :] = 0.0
        belief.covariance[:6, :6] = covariance
        self._started = True
        return self._result((), (), False)

    def _result(self, named: tuple[str, ...], returned: tuple[str, ...], disturbed: bool) -> FusedPose:
        belief = self._detector.belief.copy()
        if self._late:
            raise_if_rejected(project(belief.x, belief.covariance, self._model.constants))
        left_out = dict(self._detector.left_out)
        flags = disturbed, self._late, self._inertial is not None
        return FusedPose(belief.x, belief.covariance, left_out, named, returned, *flags)


def _whole(key: str, value: int) -> int:
    """Return a whole number of at least 1, or raise StewartError."""
    if int(value) != value or value < 1:
        raise StewartError(f"fusion: {key} is {value!r}, expected a whole number of at least 1")
    return int(value)
