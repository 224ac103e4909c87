"""`StewartFusion`: the pose of a platform from legs, an IMU and further sensors, some of which may fail.

Beside the estimate with the IMU goes one without it: nobody is to be worse off for an IMU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from ...arrays import Array, ArrayLike, Mask
from ...engine.compile import raise_if_rejected
from ...errors import StewartError
from ...lie import se3, so3
from ...shown import shared_options
from ..geometry.any_platform import PointJointed, points_of, require_legs
from ..geometry.checks import check_turns
from ..geometry.platform import check_place, check_units
from ..geometry.rotary_platform import RotaryPlatform
from ..kernels import readings as mk
from ..kernels.filter import model, project
from ..kernels.readings import ANGLE, E_DELAY, INCLINATION, KIND, READING, X_DELAY, X_P
from .fault_detector import Belief, EvidenceSettings, FaultDetector, SensorModel
from .result import DISAGREES, FusedPose
from .sensors import DisplacementSensor, HornSensor, InertialSensor, allowed_repeats, number, vector

if TYPE_CHECKING:
    from typing import Unpack

#: Chi-square of the distance of both estimates (6 degrees of freedom) from which on they contradict each other.
_APART = 27.0
#: Readings of the IMU after which it would have felt a motion that lengths show.
_READINGS = 3
#: Times `recovery` for which a leg may be blamed beside an IMU that was surprised.
_PATIENCE = 3


@dataclass
class _Doubt:
    """Doubt in the estimate with an IMU."""

    time: float = 0.0  # now [s]
    since: float = math.inf  # when doubt began, infinite without [s]
    felt: float = -math.inf  # when the IMU was surprised last [s]
    passed: float = 0.0  # time that the other estimate has not taken in [s]
    heard: int = 0  # readings of the IMU since doubt began
    calm: int = 0  # lengths since what spoke against an estimate
    blamed: int = 0  # lengths since a leg is blamed
    lost: int = 0  # lengths since the estimate with the IMU is lost beside one that is not
    refuted: bool = False  # whether the estimate without the IMU is
    out: tuple[str, ...] = ()  # sensors that were left out of what counted last


class WithoutInertial:
    """The estimate without an IMU beside that with it, and which of them counts.

    A knock, an IMU that fails or errs beyond what its covariance says: all that speaks against the estimate of which it
    is a part, never against the other one, which counts while the first is in doubt or vaguer. Where a leg is blamed
    that the other estimate accepts, and the IMU is not surprised within `horizon`, that leg is at fault, and the other
    estimate refuted until it is accepted again.

    Parameters
    ----------
    alone : the estimate without the IMU.
    inertial : names of the sensors of the IMU.
    recovery : good readings in a row after which doubt ends.
    horizon : by how much later than lengths the IMU may feel a motion [s].
    """

    def __init__(self, alone: StewartFusion, inertial: Set[str], recovery: int, horizon: float) -> None:
        self._alone, self._inertial, self._recovery, self._horizon = alone, inertial, recovery, horizon
        self._doubt = _Doubt()

    def reset(self, pose: ArrayLike) -> None:
        """Forget all: the next readings are those of a platform near ``pose`` (4, 4)."""
        self._alone.reset(pose)
        self._doubt = _Doubt()

    def take(self, values: Array, there: Mask, dt: float, ages: Array) -> FusedPose | None:
        """Return the estimate without the IMU; None while it has not begun, or need not be known."""
        self._doubt.passed += dt
        if self._doubt.since == math.inf and not there.any():
            return None
        dt, self._doubt.passed = self._doubt.passed, 0.0
        try:
            return self._alone.update(values, dt=dt, present=there, age=ages)
        except StewartError:
            return None

    def choose(self, fused: FusedPose, alone: FusedPose | None, dt: float, felt: bool | None, legs: bool) -> FusedPose:
        """Return which estimate counts, that with the IMU or that without.

        `felt` says whether the IMU was surprised, None without a reading of it; `legs` whether lengths were read.
        """
        self._doubt.time += dt
        self._weigh(fused, alone, felt, legs)
        if alone is None and legs and fused.left_out.keys() <= self._inertial and not fused.lost:
            self._alone.reset(fused.pose)
        chosen = fused if alone is None or not self._prefers(fused, alone) else self._beside(fused, alone)
        before, self._doubt.out = self._doubt.out, tuple(chosen.left_out)
        if before == self._doubt.out and not chosen.named and not chosen.returned:
            return chosen
        named = tuple(name for name in self._doubt.out if name not in before)
        return replace(chosen, named=named, returned=tuple(name for name in before if name not in self._doubt.out))

    def _weigh(self, fused: FusedPose, alone: FusedPose | None, felt: bool | None, legs: bool) -> None:
        """Take note of what speaks against an estimate."""
        s = self._doubt
        disagree = {name for name, fault in fused.left_out.items() if fault.reason == DISAGREES}
        blamed = disagree - self._inertial
        if felt or fused.disturbed or disagree & self._inertial:
            s.felt = s.time
        trouble = fused.lost or fused.disturbed or not disagree.isdisjoint(fused.named)
        if alone is not None and not (blamed or s.refuted):
            off, P = _distance(fused, alone), alone.error_covariance[:6, :6]
            trouble |= bool(off @ np.linalg.solve(P, off) > _APART)
        if trouble and s.since == math.inf:
            s.since, s.heard = s.time, 0
        s.heard += felt is not None
        s.calm = 0 if trouble else s.calm + legs
        lost = alone is None or alone.lost
        healthy = alone is not None and not (lost or alone.left_out or alone.disturbed)
        s.blamed = s.blamed + legs if blamed else 0
        s.lost = s.lost + legs if fused.lost and healthy else 0
        if blamed and not self._surprised and s.heard >= (_READINGS if self._horizon else 1):
            s.refuted |= s.time - s.since >= self._horizon
        if s.calm >= self._recovery and not disagree:
            if legs and (s.refuted or lost) and not fused.left_out:
                self._alone.reset(fused.pose)
            s.since, s.refuted = math.inf, False

    @property
    def _surprised(self) -> bool:
        """Whether the IMU was surprised about when doubt began, or since."""
        return self._doubt.felt >= self._doubt.since - self._horizon

    def _prefers(self, fused: FusedPose, alone: FusedPose) -> bool:
        """Return whether the estimate without the IMU counts."""
        if alone.lost or self._doubt.refuted:
            return False
        if fused.lost:
            return True
        dead = any(fault.reason != DISAGREES for fault in alone.left_out.values())
        if self._doubt.since < math.inf and not dead:
            return not alone.left_out or (self._surprised and bool(fused.left_out.keys() - self._inertial))
        variances = np.diagonal(fused.error_covariance)[:6], np.diagonal(alone.error_covariance)[:6]
        return not alone.left_out and bool((variances[0] > variances[1]).any())

    @property
    def refutes(self) -> bool:
        """Whether the estimate with the IMU is to go on from that without.

        It was lost beside one that is not, or blames a leg for long though it was the IMU that was surprised.
        """
        blames = not self._doubt.refuted and self._surprised and self._doubt.blamed >= _PATIENCE * self._recovery
        return blames or self._doubt.lost >= self._recovery

    def _beside(self, fused: FusedPose, alone: FusedPose) -> FusedPose:
        """Return the motion of one estimate with errors and delays of the other, which do not go together."""
        state, covariance = fused.state.copy(), fused.error_covariance.copy()
        state[: mk.X_DELAY] = alone.state[: mk.X_DELAY]
        covariance[: mk.E_DELAY] = covariance[:, : mk.E_DELAY] = 0.0
        covariance[: mk.E_DELAY, : mk.E_DELAY] = alone.error_covariance[: mk.E_DELAY, : mk.E_DELAY]
        if self._doubt.since < math.inf and not self._surprised:  # either may be right
            off = _distance(fused, alone)
            covariance[:6, :6] += np.outer(off, off)
        out = dict(alone.left_out) | {name: x for name, x in fused.left_out.items() if name in self._inertial}
        disturbed = alone.disturbed or fused.disturbed
        return replace(fused, state=state, error_covariance=covariance, left_out=out, disturbed=disturbed)


def _distance(fused: FusedPose, alone: FusedPose) -> Array:
    """Return the small rotation and the displacement between two estimates, (6,)."""
    x, y = fused.state, alone.state
    D = x[:9].reshape(3, 3) @ y[:9].reshape(3, 3).T
    turn = 0.5 * (D[2, 1] - D[1, 2]), 0.5 * (D[0, 2] - D[2, 0]), 0.5 * (D[1, 0] - D[0, 1])
    return np.array([*turn, *(x[mk.X_P : mk.X_W] - y[mk.X_P : mk.X_W])])


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


class FusionKeywords(TypedDict, total=False):
    """Keywords of `FusionSettings`."""

    leg_noise: float | Sequence[float]
    jerk: tuple[float, float]
    sensors: Sequence[DisplacementSensor]
    leg_delays: float | Sequence[float]
    leg_delay_deviations: float | Sequence[float]
    leg_resolution: float | None
    gravity: Sequence[float]
    threshold: float
    window: int
    recovery: int


@dataclass(frozen=True, eq=False, kw_only=True)
class FusionSettings:
    """What `StewartFusion` takes with an IMU and without."""

    leg_noise: float | Sequence[float] = 1e-5
    jerk: tuple[float, float] = (10.0, 50.0)
    sensors: Sequence[DisplacementSensor] = ()
    leg_delays: float | Sequence[float] = 0.0
    leg_delay_deviations: float | Sequence[float] = 0.0
    leg_resolution: float | None = None
    gravity: Sequence[float] = (0.0, 0.0, -9.81)
    threshold: float = 6.0
    window: int = 5
    recovery: int = 20

    def legs_of(self, platform: PointJointed) -> list[DisplacementSensor]:
        """Return the legs of a platform as sensors."""
        noise, delays, unknown = (
            vector("legs", key, [value] * 6 if np.ndim(value) == 0 else value, 6)
            for key, value in (
                ("leg_noise", self.leg_noise),
                ("leg_delays", self.leg_delays),
                ("leg_delay_deviations", self.leg_delay_deviations),
            )
        )
        legs: list[DisplacementSensor] = []
        for i, (a, b) in enumerate(zip(platform.base_points, platform.platform_points, strict=True)):
            what = f"leg {i + 1}", a, b, noise[i], delays[i], unknown[i], self.leg_resolution
            if isinstance(platform, RotaryPlatform):
                rod = float(platform.rods[i]) * (1.0 if platform.bends[i] else -1.0)
                legs.append(HornSensor(*what, platform.horns[i] * platform.frames[i, :, :2].T, rod))
            else:
                legs.append(DisplacementSensor(*what))
        return legs


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

    @shared_options(FusionSettings)
    def __init__(
        self,
        platform: PointJointed,
        pose: ArrayLike,
        *,
        inertial: InertialSensor | None = None,
        **options: Unpack[FusionKeywords],
    ) -> None:
        require_legs(platform)
        given = FusionSettings(**options)
        self._platform, self._inertial = platform, inertial
        self._points = [*given.legs_of(platform), *given.sensors]
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
        self._model = SensorModel(*self._tables(given))
        self._repeats = np.array([allowed_repeats(s.name, s.noise, s.resolution) for s in self._points])
        if inertial is not None:
            steps = inertial.resolution or (None, None)
            noises = inertial.gyroscope_noise, inertial.accelerometer_noise
            limits = [allowed_repeats(*three) for three in zip((GYROSCOPE, ACCELEROMETER), noises, steps, strict=True)]
            self._repeats = np.append(self._repeats, np.repeat(limits, 3))
        self._settings = EvidenceSettings(
            number("fusion", "threshold", given.threshold),
            _whole("window", given.window),
            _whole("recovery", given.recovery),
        )
        self._detector, self._started = self._detector_at(pose), False
        self._beside: WithoutInertial | None = None
        if inertial is not None:
            alone = StewartFusion(platform, pose, **options)
            late = 3.0 * max(inertial.delay_error, inertial.delay_deviation)
            self._beside = WithoutInertial(alone, {GYROSCOPE, ACCELEROMETER}, self._settings.recovery, late)

    def _tables(self, given: FusionSettings) -> tuple[Array, Array, Array]:
        """Return constants, geometry and variances for `SensorModel`."""
        constants = np.zeros(mk.N_CONSTANTS)
        linear, angular = vector("fusion", "jerk", given.jerk, 2)
        constants[mk.LINEAR] = number("fusion", "jerk", linear)
        constants[mk.ANGULAR] = number("fusion", "jerk", angular)
        constants[mk.GRAVITY : mk.GRAVITY + 3] = vector("fusion", "gravity", given.gravity, 3)
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
