"""Result of a fusion at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ..kernels import readings as mk

#: Reasons why a sensor is left out.
NOT_FINITE, STUCK, DISAGREES = "not finite", "stuck", "disagrees"
#: Standard deviation of a rotation from which on an estimate counts as lost [rad].
_MOST_TURN = 0.1
_TOO_MANY = 3
#: Deviation of scales and turns of a gyroscope [1, rad] from which on a delay differs from them, and the delay that
#: looks like one of them in motions to and fro, over it [s].
_KNOWN_SKEW, _SKEW_TIME = 1e-3, 0.3


@dataclass(frozen=True)
class Fault:
    """Why a sensor is left out.

    Attributes
    ----------
    reason : "not finite", "stuck" (the same reading, longer than its noise allows) or "disagrees".
    since : time of the first reading left out, from the start of the fusion [s].
    """

    reason: str
    since: float


@dataclass(frozen=True)
class FusedPose:
    """An estimate: the most likely state given the readings used, and how far it may be off.

    It is `fused` and no more: neither continued nor certified in the tracker's sense.

    Attributes
    ----------
    state : shape (24 + k,), error_covariance : (18 + k, 18 + k), as `kernels.readings` describes them; one more of
        each where `late`, 24 more with an IMU.
    left_out : sensors that are not used, with why.
    named, returned : names of those left out and taken in again by this update.
    disturbed : the motion changed more than its model allows, and was given room.
    late : the delay of the IMU is the last of the delays; those before it are beyond it.
    inertial : there is an IMU, whose errors are estimated with the rest.
    """

    state: Array
    error_covariance: Array
    left_out: Mapping[str, Fault]
    named: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    disturbed: bool = False
    late: bool = False
    inertial: bool = False

    @property
    def pose(self) -> Array:
        """Pose of {B} in {N}, (4, 4)."""
        pose = np.eye(4)
        pose[:3, :3] = self.state[:9].reshape(3, 3)
        pose[:3, 3] = self.state[mk.X_P : mk.X_P + 3]
        return pose

    @property
    def covariance(self) -> Array:
        """Covariance of the small rotation about the axes of {N} and of {B}'s displacement (6, 6) [rad, m]."""
        return self.error_covariance[:6, :6].copy()

    @property
    def lost(self) -> bool:
        """Whether it is unusable: too little holds the platform, or too many sensors disagree.

        Where three do at once, the noise or the jerk was given too small, or the rest is no better than they are.
        """
        disagree = sum(fault.reason == DISAGREES for fault in self.left_out.values()) if self.left_out else 0
        return disagree >= _TOO_MANY or any(self.error_covariance[k, k] > _MOST_TURN**2 for k in range(3))

    @property
    def twist(self) -> Array:
        """Angular velocity and velocity of the origin of {B}, both in the axes of {N}, (6,) [rad/s, m/s]."""
        return self.state[mk.X_W : mk.X_W + 6].copy()

    @property
    def twist_covariance(self) -> Array:
        """Covariance of `twist`, (6, 6)."""
        return self.error_covariance[mk.E_W : mk.E_W + 6, mk.E_W : mk.E_W + 6].copy()

    @property
    def acceleration(self) -> Array:
        """Time derivative of `twist`, (6,) [rad/s^2, m/s^2]."""
        return self.state[mk.X_DW : mk.X_DW + 6].copy()

    @property
    def biases(self) -> Array:
        """Biases of gyroscope and accelerometer in the axes of {B}, (6,) [rad/s, m/s^2]; zeros without an IMU."""
        return self.state[-mk.N_INERTIAL :][mk.GYRO : mk.GYRO_MATRIX].copy() if self.inertial else np.zeros(6)

    @property
    def skews(self) -> Array:
        """Errors of scale and alignment of gyroscope and accelerometer, (2, 3, 3); zeros without an IMU.

        In the axes of {B}: what is true as u is read as (1 + skew) u + bias.
        """
        errors = self.state[-mk.N_INERTIAL :]
        return errors[mk.GYRO_MATRIX :].reshape(2, 3, 3).copy() if self.inertial else np.zeros((2, 3, 3))

    @property
    def _delays(self) -> tuple[Array, Array]:
        """Delays, that of the IMU last where `late`, and their covariance."""
        end = len(self.error_covariance) - (mk.N_INERTIAL if self.inertial else 0)
        first = mk.X_DELAY - mk.E_DELAY
        part = slice(mk.E_DELAY, end)
        return self.state[mk.X_DELAY : first + end], self.error_covariance[part, part]

    @property
    def delays(self) -> Array:
        """Delays of the legs, then of the extra sensors, (k,) [s]."""
        delays, _ = self._delays
        return delays[:-1] + delays[-1] if self.late else delays.copy()

    @property
    def delay_deviations(self) -> Array:
        """Standard deviations of `delays`, (k,) [s]."""
        _, covariance = self._delays
        variances = np.diagonal(covariance)
        if self.late:
            variances = np.maximum(variances[:-1] + variances[-1] + 2.0 * covariance[-1, :-1], 0.0)
        return np.sqrt(variances)

    @property
    def inertial_delay(self) -> tuple[float, float]:
        """Delay of the IMU and its standard deviation [s].

        That is infinite while scales and turns of the gyroscope are too uncertain to be distinguished from a delay.
        """
        if not self.late:
            return 0.0, 0.0
        delays, covariance = self._delays
        first = len(self.error_covariance) - mk.N_INERTIAL + mk.GYRO_MATRIX
        skew = float(np.sqrt(np.diagonal(self.error_covariance)[first : first + 9].max())) if self.inertial else 0.0
        known = float(np.sqrt(covariance[-1, -1]))
        wide = skew > _KNOWN_SKEW and known > 0.0
        return float(delays[-1]), float(np.inf if wide else np.hypot(known, _SKEW_TIME * skew * (known > 0.0)))
