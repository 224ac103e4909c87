"""Washout: what a motion platform does in place of a vehicle that goes farther than it can.

Classical washout as Reid and Nahon (1985) give it, with rotations on SO(3) in place of Euler angles. Filters step
exactly for an input that is held, by the exponential of their matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import expm

from ...lie import quaternion, se3
from ...lie._arrays import as_real, number_of
from ..errors import StewartError
from ..geometry.inverse_kinematics import Array

UP = np.array([0.0, 0.0, 1.0])
WEIGHTLESS = 1e-3
"""Specific force over gravity, and sine of its angle with the vertical below, which give no direction to tilt to."""
HUGE = 1e9
"""Inputs beyond are shortened before anything else [m/s^2, rad/s]."""


class WashoutMotion(NamedTuple):
    """What the cab is to do.

    Attributes
    ----------
    pose : ndarray, shape (..., 4, 4)
        Of the cab, in the frame in which it is neutral, with z upward.
    twist : ndarray, shape (..., 6)
        Its body twist (w, v) [rad/s, m/s].
    felt : ndarray, shape (..., 3)
        Specific force in the cab, in its axes [m/s^2].
    """

    pose: Array
    twist: Array
    felt: Array


class WashoutState(NamedTuple):
    """Of the filters: immutable, and the same for filters of another period.

    Attributes
    ----------
    moved : ndarray, shape (..., 3, 3)
        An axis a row: integral of the position, position, velocity.
    pulled : ndarray, shape (..., 3, 2)
        An axis a row, of the low-pass filter.
    turned : ndarray, shape (..., 3)
        Integral of the angle that is washed out.
    turn, tilt : ndarray, shape (..., 4)
        Rotations that are washed out, and that stand for forces, as quaternions x, y, z, w.
    goal, tilting : ndarray, shape (..., 3)
        Rotation vector that the tilt goes to, and its angular velocity.
    rate, pull : ndarray, shape (..., 3)
        What is held: angular velocity, and acceleration of the cab before the filters.
    """

    moved: Array
    pulled: Array
    turned: Array
    turn: Array
    tilt: Array
    goal: Array
    tilting: Array
    rate: Array
    pull: Array


class ClassicalWashout:
    """Makes motions of a cab of the specific force and the angular velocity of a vehicle.

    Axes of vehicle and cab: x ahead, y to the left, z upward; forces and rates are those at the rider's head, where the
    cab's frame has its origin. Scales, cut-off frequencies and damping ratios are for all axes, or one an axis.

    Parameters
    ----------
    period : float
        Time from one sample to the next [s].
    force_scale, rate_scale : array-like, shape () or (3,)
        Part of the specific force beyond that at rest, and of the angular velocity, that is to be felt.
    largest_force, largest_rate : float
        Largest scaled values [m/s^2, rad/s]; larger ones are shortened, their direction is kept.
    translation_cutoff, translation_damping : array-like, shape () or (3,)
        Of the high-pass filter of accelerations, of second order [rad/s, 1].
    return_cutoff : array-like, shape () or (3,)
        Of the high-pass filter of first order after it, which brings the cab back [rad/s].
    rotation_cutoff, rotation_damping : array-like, shape () or (3,)
        Of the high-pass filter of angular velocities, of second order [rad/s, 1].
    tilt_cutoff, tilt_damping : array-like, shape () or (3,)
        Of the low-pass filter whose output the cab tilts to, of second order [rad/s, 1].
    tilt_rate, tilt_angle : float
        Largest angular speed and angle of the tilt [rad/s, rad]; the speed below what riders perceive.
    gravity : float
        [m/s^2].

    Attributes
    ----------
    state : WashoutState
        May be set to that of another one.

    Raises
    ------
    StewartError, InputError
        For numbers that are not positive; scales may be zero or negative.
    """

    def __init__(
        self,
        period: float,
        force_scale: npt.ArrayLike = 0.5,
        rate_scale: npt.ArrayLike = 0.5,
        largest_force: float = 10.0,
        largest_rate: float = 2.0,
        translation_cutoff: npt.ArrayLike = 2.5,
        translation_damping: npt.ArrayLike = 1.0,
        return_cutoff: npt.ArrayLike = 0.3,
        rotation_cutoff: npt.ArrayLike = 1.0,
        rotation_damping: npt.ArrayLike = 1.0,
        tilt_cutoff: npt.ArrayLike = 3.0,
        tilt_damping: npt.ArrayLike = 1.0,
        tilt_rate: float = 0.05,
        tilt_angle: float = 0.3,
        gravity: float = 9.81,
    ) -> None:
        self.period, self.gravity = _positive("period", period, 10.0), _positive("gravity", gravity)
        self._tilt_angle = _positive("tilt_angle", tilt_angle, 1.5)
        self._tilt_step = _positive("tilt_rate", tilt_rate) * self.period
        self._largest = _positive("largest_force", largest_force), _positive("largest_rate", largest_rate)
        self._scales = _scale("force_scale", force_scale), _scale("rate_scale", rate_scale)
        w, z = _each("translation_cutoff", translation_cutoff), _each("translation_damping", translation_damping)
        back = _each("return_cutoff", return_cutoff)
        terms = [w**2 * back, w**2 + 2.0 * z * w * back, 2.0 * z * w + back]
        self._translation = _Filter(terms, self.period)
        w, z = _each("rotation_cutoff", rotation_cutoff), _each("rotation_damping", rotation_damping)
        self._rotation = _Filter([w**2, 2.0 * z * w], self.period)
        w, z = _each("tilt_cutoff", tilt_cutoff), _each("tilt_damping", tilt_damping)
        self._low = _Filter([w**2, 2.0 * z * w], self.period)
        self.reset()

    def reset(self) -> None:
        """Rest in the neutral pose."""
        none, still = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
        self.state = WashoutState(np.zeros((3, 3)), np.zeros((3, 2)), none, still, still, none, none, none, none)

    def step(self, specific_force: npt.ArrayLike, angular_velocity: npt.ArrayLike) -> WashoutMotion:
        """Take what the vehicle feels for a period, and return what the cab is to do at its end.

        Parameters
        ----------
        specific_force : array-like, shape (..., 3)
            In axes of the vehicle, what its accelerometer measures: gravity upward at rest [m/s^2].
        angular_velocity : array-like, shape (..., 3)
            In axes of the vehicle [rad/s].

        Raises
        ------
        InputError
            For what is not three finite numbers, or as many rides as before.
        """
        force = as_real(specific_force, (3,), "specific_force")
        rate = as_real(angular_velocity, (3,), "angular_velocity")
        weight, now = self.gravity * UP, self.state
        beyond = _shortened(self._scales[0], force - weight, self._largest[0])
        rate = _shortened(self._scales[1], rate, self._largest[1])
        pulled = self._low.step(now.pulled, beyond)
        goal = self._goal(now.goal, self._low.terms[0] * pulled[..., 0] + weight)
        tilt, tilting = self._tilted(now.tilt, goal)
        turned, turn = self._turned(now, rate)
        before, pull = (_times(_both(*R), beyond + weight) - weight for R in ((now.tilt, now.turn), (tilt, turn)))
        moved = self._translation.step(now.moved, 0.5 * (before + pull))
        self.state = WashoutState(moved, pulled, turned, turn, tilt, goal, tilting, rate, pull)
        return self.motion

    def _goal(self, before: Array, force: Array) -> Array:
        """Rotation vector of the least rotation that brings a force upward, within the angle."""
        size, sine = np.linalg.norm(force, axis=-1), np.hypot(force[..., 0], force[..., 1])
        known = (size > WEIGHTLESS * self.gravity) & ((force[..., 2] > 0.0) | (sine > WEIGHTLESS * size))
        angle = np.minimum(np.arctan2(sine, force[..., 2]), self._tilt_angle)
        axis = np.stack([force[..., 1], -force[..., 0], np.zeros_like(size)], axis=-1)  # force x vertical
        return np.where(known[..., None], axis * (angle / np.where(sine > 0.0, sine, 1.0))[..., None], before)

    def _tilted(self, tilt: Array, goal: Array) -> tuple[Array, Array]:
        """Tilt on the way to a goal, and its angular velocity, within the speed."""
        turn = quaternion.log(quaternion.multiply(quaternion.conjugate(tilt), quaternion.exp(goal)))
        way = np.linalg.norm(turn, axis=-1, keepdims=True)
        turn = turn * np.minimum(1.0, self._tilt_step / np.maximum(way, self._tilt_step))
        return quaternion.normalize(quaternion.multiply(tilt, quaternion.exp(turn))), turn / self.period

    def _turned(self, now: WashoutState, rate: Array) -> tuple[Array, Array]:
        """Integral of the angle, and rotation: about one axis what the linear filter makes of the angle."""
        A, B, angle = self._rotation.A, self._rotation.B, quaternion.log(now.turn)
        turned = A[:, 0, 0] * now.turned + A[:, 0, 1] * angle + B[:, 0] * rate
        rest = quaternion.exp(A[:, 1, 0] * now.turned + B[:, 1] * rate)
        return turned, quaternion.multiply(quaternion.exp(A[:, 1, 1] * angle), rest)

    @property
    def motion(self) -> WashoutMotion:
        """Of the cab now."""
        now, R = self.state, _both(self.state.tilt, self.state.turn)
        back = np.swapaxes(R, -1, -2)
        turning = np.stack([now.turned, quaternion.log(now.turn)], axis=-1)
        w = _times(quaternion.to_matrix(quaternion.conjugate(now.turn)), now.tilting)
        w = w + self._rotation.highest(turning, now.rate)
        felt = _times(back, self._translation.highest(now.moved, now.pull) + self.gravity * UP)
        twist = np.concatenate([w, _times(back, now.moved[..., 2])], axis=-1)
        return WashoutMotion(se3.from_parts(R, now.moved[..., 1]), twist, felt)

    def run(self, specific_forces: npt.ArrayLike, angular_velocities: npt.ArrayLike) -> WashoutMotion:
        """Return the motions (n, ...) of samples (n, ..., 3), one a period."""
        forces = as_real(specific_forces, (3,), "specific_forces")
        rates = as_real(angular_velocities, (3,), "angular_velocities")
        if forces.ndim < 2 or forces.shape != rates.shape or not len(forces):
            raise StewartError(f"specific_forces and angular_velocities have shapes {forces.shape} and {rates.shape},"
                               " expected (n, ..., 3) both")  # fmt: skip
        made = [self.step(f, w) for f, w in zip(forces, rates, strict=True)]
        return WashoutMotion(*(np.stack(field) for field in zip(*made, strict=True)))


class _Filter:
    """Steps of z^(n) + ... + c1 z' + c0 z = input, for inputs that are held; an axis a row."""

    def __init__(self, terms: list[Array], period: float) -> None:
        n = len(terms)
        self.terms = terms
        whole = np.zeros((3, n + 1, n + 1))
        whole[:, : n - 1, 1:n] = np.eye(n - 1)
        whole[:, n - 1, :n], whole[:, n - 1, n] = -np.stack(terms, axis=-1), 1.0
        made = np.stack([expm(one * period) for one in whole])
        self.A, self.B = made[:, :n, :n], made[:, :n, n]

    def step(self, state: Array, held: Array) -> Array:
        """Return z and its derivatives (..., 3, n) after a period."""
        return np.asarray((self.A @ state[..., None])[..., 0] + self.B * held[..., None])

    def highest(self, state: Array, held: Array) -> Array:
        """Return the highest derivative (..., 3)."""
        return np.asarray(held - (np.stack(self.terms, axis=-1) * state).sum(axis=-1))


def _times(M: Array, x: Array) -> Array:
    return np.asarray((M @ x[..., None])[..., 0])


def _both(tilt: Array, turn: Array) -> Array:
    """Return the rotation of the cab."""
    return np.asarray(quaternion.to_matrix(quaternion.multiply(tilt, turn)))


def _shortened(scale: Array, value: Array, largest: float) -> Array:
    """Return scaled vectors no longer than that."""
    size = np.abs(value).max(axis=-1, keepdims=True)
    scaled = scale * (value * np.minimum(1.0, HUGE / np.maximum(size, HUGE)))
    length = np.linalg.norm(scaled, axis=-1, keepdims=True)
    return np.asarray(scaled * np.minimum(1.0, largest / np.maximum(length, largest)))


def _positive(name: str, value: float, most: float = 1e6) -> float:
    return number_of(name, value, f"a positive number up to {most:g}", lambda x: 0.0 < x <= most)


def _scale(name: str, value: npt.ArrayLike) -> Array:
    return _three(name, value, "numbers from -100 to 100", lambda x: abs(x) <= 100.0)


def _each(name: str, value: npt.ArrayLike) -> Array:
    """Return a cut-off frequency or a damping ratio of each axis."""
    return _three(name, value, "numbers from 0.001 to 1000", lambda x: 1e-3 <= x <= 1e3)


def _three(name: str, value: npt.ArrayLike, expected: str, good: Callable[[float], bool]) -> Array:
    array = as_real(value, (), name)
    if isinstance(value, bool) or array.shape not in ((), (1,), (3,)):
        raise StewartError(f"{name} is {value!r}, expected one number, or one an axis")
    return np.array([number_of(name, float(x), expected, good) for x in np.broadcast_to(array, (3,))])
