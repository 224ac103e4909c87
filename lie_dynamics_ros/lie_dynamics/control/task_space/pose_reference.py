"""The reference of a frame's pose: moves to where it is wanted with bounded speed and acceleration, without a jump."""

from __future__ import annotations

import copy
import math

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...engine.compile import raise_if_rejected
from ...errors import InputError
from ...lie import se3, so3
from ...lie._arrays import number_of
from ..kernels.pose_reference import ACCELERATION, AIMED, COUNT, PACE, PERIOD, RATE, SETTINGS, SPEED, advance_pose
from .task_state import six

FASTEST = 6.0  # rate at which errors vanish, k [1/s]; lower where that takes more than `BRAKING` of the acceleration
BRAKING = 0.75
STEP = 0.004  # longest step [s]


class PoseReference:
    """A pose that follows a target as a third-order filter does, with bounded speed and acceleration.

    For turning and moving alike, with x the rotation vector or the way to the target in the world's axes, V_t and A_t
    the target's rates, k = min(6, 0.75 acceleration / speed), and |.| limited by scaling the vector:

        v = V_t + k x, |v| <= speed;   a = A_t + 3.5 k (v - V), |a| <= acceleration;   dA/dt = 14 k (a - A);   dV/dt = A

    So a target that jumps changes A gradually, and the origin moves straight. All poles are real: it stops beside a
    target that rests without overshoot. doc/task_space.md has its errors.

    Parameters
    ----------
    pose : array-like, shape (4, 4)
        Where it begins, at rest.
    speed, acceleration : array-like, shape (2,)
        Largest ones, of turning and of moving [rad/s, m/s and rates].

    Attributes
    ----------
    pose : ndarray, shape (4, 4)
    """

    def __init__(self, pose: npt.ArrayLike, speed: npt.ArrayLike, acceleration: npt.ArrayLike) -> None:
        self._settings = np.zeros(SETTINGS)
        self.set_limits(speed, acceleration)
        self.pose = _one_pose(pose)
        self._target = self.pose
        self._motion, self._moves = np.zeros((4, 3)), np.zeros((4, 3))

    def set_limits(self, speed: npt.ArrayLike, acceleration: npt.ArrayLike) -> None:
        """Take over other limits; raises InputError where they are not positive."""
        fast, strong = _pair(speed, "speed"), _pair(acceleration, "acceleration")
        self._settings[SPEED : SPEED + 2], self._settings[ACCELERATION : ACCELERATION + 2] = fast, strong
        self._settings[RATE : RATE + 2] = np.minimum(FASTEST, BRAKING * strong / fast)

    @property
    def twist(self) -> Array:
        """Body twist (6,), angular part first [rad/s, m/s]."""
        return np.asarray((self._motion[:2] @ self.pose[:3, :3]).ravel())

    @property
    def acceleration(self) -> Array:
        """Rate of `twist` (6,) [rad/s^2, m/s^2]."""
        (wx, wy, wz), (x, y, z), angular, linear = (self._motion @ self.pose[:3, :3]).tolist()
        turning = wy * z - wz * y, wz * x - wx * z, wx * y - wy * x
        return np.array([*angular, *(a - b for a, b in zip(linear, turning, strict=True))])

    @property
    def moving(self) -> bool:
        """Whether it moves faster than a thousandth of its limits."""
        speeds = (self._motion[:2] ** 2).sum(axis=1)
        return bool((speeds > (1e-3 * self._settings[SPEED : SPEED + 2]) ** 2).any())

    def aim(self, target: npt.ArrayLike | None) -> None:
        """Follow a target pose (4, 4) from now on; None: its rates alone, and come to rest where these are zero."""
        self._settings[AIMED] = target is not None
        self._target = self.pose if target is None else _one_pose(target)

    def advance(
        self,
        period: float,
        rates: npt.ArrayLike | None = None,
        change: npt.ArrayLike | None = None,
        pace: float = 1.0,
    ) -> None:
        """Go on for some time [s], after which the target is where `aim` was given.

        Parameters
        ----------
        period : float
            >= 0.
        rates, change : array-like, shape (6,), optional
            V_t and A_t: how the target turns and moves in the world's axes, angular part first, and the rate of that
            [rad/s, m/s and rates].
        pace : float
            Part of the largest speed that is allowed now, 0 to 1.

        Raises
        ------
        InputError
            For NaN or infinite numbers.
        """
        self._settings[PERIOD] = number_of("period", period, "a number >= 0", lambda x: 0.0 <= x < math.inf)
        self._settings[PACE] = number_of("pace", pace, "a number from 0 to 1", lambda x: 0.0 <= x <= 1.0)
        self._settings[COUNT] = max(1, math.ceil(period / STEP - 1e-9))
        self._moves[:2] = 0.0 if rates is None else six(rates, "rates", -np.inf).reshape(2, 3)
        self._moves[2:] = 0.0 if change is None else six(change, "change", -np.inf).reshape(2, 3)
        if advance_pose(self.pose, self._target, self._moves, self._motion, self._settings) != 0:
            raise InputError("period, rates, change: they lead to a pose that is not finite", name="rates", value=rates)

    def ahead(self, time: float) -> PoseReference:
        """Return it as it will be after some time [s], with its target moving on as it was given last."""
        other = copy.copy(self)
        other.pose, other._motion, other._settings = self.pose.copy(), self._motion.copy(), self._settings.copy()
        other._moves = self._moves.copy()
        other._moves[:2] += time * self._moves[2:]
        if self._moves.any():
            turn, way = time * self._moves[:2] + (0.5 * time * time) * self._moves[2:]
            other._target = self._target.copy()
            other._target[:3, :3] = so3.exp(turn) @ self._target[:3, :3]
            other._target[:3, 3] += way
        other._settings[PERIOD], other._settings[COUNT] = time, max(1, math.ceil(time / STEP - 1e-9))
        raise_if_rejected(advance_pose(other.pose, other._target, other._moves, other._motion, other._settings))
        return other


def _one_pose(value: npt.ArrayLike) -> Array:
    pose = np.array(se3.check(value, "pose"))
    if pose.ndim != 2:
        raise InputError(f"pose: one pose (4, 4) is expected, got shape {pose.shape}", name="pose")
    return pose


def _pair(value: npt.ArrayLike, name: str) -> Array:
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (2,) or not (np.isfinite(array) & (array > 0.0)).all():
        raise InputError(f"{name}: two numbers > 0, of turning and moving, are expected, got {value!r}", name=name)
    return array
