"""Washout: what a motion platform does in place of a vehicle that goes farther than it can.

Classical washout as Reid and Nahon (1985) give it, with rotations on SO(3) in place of Euler angles. Filters step
exactly for an input that is held, by the exponential of their matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import expm

from ...arrays import Array, ArrayLike
from ...errors import StewartError
from ...lie._arrays import as_real, number_of
from ..kernels import washout as kernels


class WashoutMotion(NamedTuple):
    """Desired motion of the cab.

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
    """State of the filters: immutable, and the same for filters of another period.

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


@dataclass(eq=False, repr=False)
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

    period: float
    force_scale: ArrayLike = 0.5
    rate_scale: ArrayLike = 0.5
    largest_force: float = 10.0
    largest_rate: float = 2.0
    translation_cutoff: ArrayLike = 2.5
    translation_damping: ArrayLike = 1.0
    return_cutoff: ArrayLike = 0.3
    rotation_cutoff: ArrayLike = 1.0
    rotation_damping: ArrayLike = 1.0
    tilt_cutoff: ArrayLike = 3.0
    tilt_damping: ArrayLike = 1.0
    tilt_rate: float = 0.05
    tilt_angle: float = 0.3
    gravity: float = 9.81

    def __post_init__(self) -> None:
        self.period, self.gravity = _positive("period", self.period, 10.0), _positive("gravity", self.gravity)
        angle = _positive("tilt_angle", self.tilt_angle, 1.5)
        step = _positive("tilt_rate", self.tilt_rate) * self.period
        largest = _positive("largest_force", self.largest_force), _positive("largest_rate", self.largest_rate)
        scales = _scale("force_scale", self.force_scale), _scale("rate_scale", self.rate_scale)
        w, z, back = self._each("translation_cutoff", "translation_damping", "return_cutoff")
        filters = [_filter([w**2 * back, w**2 + 2.0 * z * w * back, 2.0 * z * w + back], self.period)]
        for name in ("rotation", "tilt"):
            w, z = self._each(f"{name}_cutoff", f"{name}_damping")
            filters.append(_filter([w**2, 2.0 * z * w], self.period))
        self._constants = np.concatenate([[self.period, self.gravity, angle, step, *largest], *scales, *filters])
        self.state = _neutral()

    def _each(self, *names: str) -> list[Array]:
        """Return cut-off frequencies and damping ratios of each axis."""
        good = "numbers from 0.001 to 1000"
        return [_three(name, getattr(self, name), good, lambda x: 1e-3 <= x <= 1e3) for name in names]

    def reset(self) -> None:
        """Rest in the neutral pose."""
        self.state = _neutral()

    def step(self, specific_force: ArrayLike, angular_velocity: ArrayLike) -> WashoutMotion:
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
        found = self._steps(force[None], rate[None])
        return WashoutMotion(*(field[0] for field in found))

    @property
    def motion(self) -> WashoutMotion:
        """Motion of the cab now."""
        found = self._steps(np.empty((0, 3)), np.empty((0, 3)))
        return WashoutMotion(*(field[0] for field in found))

    def run(self, specific_forces: ArrayLike, angular_velocities: ArrayLike) -> WashoutMotion:
        """Return the motions (n, ...) of samples (n, ..., 3), one a period."""
        forces = as_real(specific_forces, (3,), "specific_forces")
        rates = as_real(angular_velocities, (3,), "angular_velocities")
        if forces.ndim < 2 or forces.shape != rates.shape or not len(forces):
            raise StewartError(f"specific_forces and angular_velocities have shapes {forces.shape} and {rates.shape},"
                               " expected (n, ..., 3) both")  # fmt: skip
        return self._steps(forces, rates)

    def _steps(self, forces: Array, rates: Array) -> WashoutMotion:
        """Take inputs (n, ..., 3) and return motions (n, ...); without any that of now (1, ...)."""
        now, count = self.state, len(forces)
        try:
            batch = np.broadcast_shapes(now.turn.shape[:-1], forces.shape[1:-1], rates.shape[1:-1])
        except ValueError:
            shapes = now.turn.shape[:-1], forces.shape[1:-1], rates.shape[1:-1]
            message = "rides before, forces and rates are {}, {} and {}, expected as many"
            raise StewartError(message.format(*shapes)) from None
        fields = [field.reshape(*now.turn.shape[:-1], -1) for field in now]
        rides = np.concatenate([np.broadcast_to(field, (*batch, field.shape[-1])) for field in fields], axis=-1)
        rides = np.ascontiguousarray(rides).reshape(-1, kernels.N_RIDE)
        felt = np.empty((count, *batch, 6))
        felt[..., :3], felt[..., 3:] = forces, rates
        out = np.empty((max(count, 1), len(rides), kernels.N_MOTION))
        kernels.steps(self._constants, rides, felt.reshape(count, len(rides), 6), out, np.empty(12))
        if count:
            ends, state = np.cumsum([field.shape[-1] for field in fields]), rides.reshape(*batch, -1)
            parts = np.split(state, ends[:-1], axis=-1)
            self.state = WashoutState(parts[0].reshape(*batch, 3, 3), parts[1].reshape(*batch, 3, 2), *parts[2:])
        out = out.reshape(len(out), *batch, kernels.N_MOTION)
        pose, twist, felt = np.split(out, [kernels.TWIST, kernels.FELT], axis=-1)
        return WashoutMotion(pose.reshape(*pose.shape[:-1], 4, 4), twist, felt)


def _neutral() -> WashoutState:
    none, still = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
    return WashoutState(np.zeros((3, 3)), np.zeros((3, 2)), none, still, still, none, none, none, none)


def _filter(terms: list[Array], period: float) -> Array:
    """Return steps of z^(n) + ... + c1 z' + c0 z = input, for inputs that are held, as the kernels take them."""
    n = len(terms)
    whole = np.zeros((3, n + 1, n + 1))
    whole[:, : n - 1, 1:n] = np.eye(n - 1)
    whole[:, n - 1, :n], whole[:, n - 1, n] = -np.stack(terms, axis=-1), 1.0
    made = np.stack([expm(one * period) for one in whole])
    axes = [made[:, :n, :n].reshape(3, n * n), made[:, :n, n], np.stack(terms, axis=-1)]
    return np.concatenate(axes, axis=1).ravel()


def _positive(name: str, value: float, most: float = 1e6) -> float:
    return number_of(name, value, f"a positive number up to {most:g}", lambda x: 0.0 < x <= most)


def _scale(name: str, value: ArrayLike) -> Array:
    return _three(name, value, "numbers from -100 to 100", lambda x: abs(x) <= 100.0)


def _three(name: str, value: ArrayLike, expected: str, good: Callable[[float], bool]) -> Array:
    array = as_real(value, (), name)
    if isinstance(value, bool) or array.shape not in ((), (1,), (3,)):
        raise StewartError(f"{name} is {value!r}, expected one number, or one an axis")
    return np.array([number_of(name, float(x), expected, good) for x in np.broadcast_to(array, (3,))])
