"""What sensors of a robot at rest tell: bias and tool of a force-torque sensor, noise of velocities and efforts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy import special

from ..arrays import Array
from ..control.tracking_error import gains
from ..dynamics.inverse_dynamics import gravity_force
from ..dynamics.kinematics import frame_pose, jacobian, jacobian_rate
from ..errors import InputError
from ..lie._arrays import numbers
from ..model.arguments import require_model
from ..model.model import Model
from ..model.structure import _freeze_arrays
from ..shown import shown
from .kernels.wrenches import N_WORK, sensed_contact

DIRECTIONS = np.array([x for x in product((-1.0, 0.0, 1.0), repeat=3) if any(x)])
"""In which gravity may point next, by the axes of the sensor."""


@shown
@dataclass(frozen=True, eq=False)
class ForceSensorCalibration:
    """Readings of a force-torque sensor without contact; wrenches moment first, at the sensor and in its axes.

    Attributes
    ----------
    bias : ndarray, shape (6,)
        Of the readings, after `sign` [N m, N].
    mass : float
        Of all that hangs on the sensor [kg].
    com : ndarray, shape (3,)
        Its centre of mass [m].
    sign : int
        1 for readings that are the wrench on the robot, -1 where they are that on the tool.
    covariance : ndarray, shape (10, 10)
        Of the errors of bias, mass, and mass times centre of mass.
    chi_square, degrees : float, int
        Sum of the squares that the fit leaves, each over its variance, and what it is expected to be.
    """

    bias: Array
    mass: float
    com: Array
    sign: int
    covariance: Array
    chi_square: float
    degrees: int

    def __post_init__(self) -> None:
        _freeze_arrays(self)

    @cached_property
    def numbers(self) -> Array:
        """Sign, bias, mass and centre of mass as kernels take them, shape (11,)."""
        return np.concatenate([[self.sign], self.bias, [self.mass], self.com], dtype=np.float64)

    @property
    def mass_deviation(self) -> float:
        """Standard deviation of the mass [kg]."""
        return float(np.sqrt(self.covariance[6, 6]))

    @cached_property
    def com_deviation(self) -> Array:
        """Standard deviations of the centre of mass, shape (3,) [m], to first order."""
        slope = np.hstack([-self.com[:, None], np.eye(3)]) / self.mass
        return np.asarray(np.sqrt(np.diag(slope @ self.covariance[6:, 6:] @ slope.T)))

    @property
    def plausibility(self) -> float:
        """Probability that noise alone leaves as much as the fit does; small where something touched, or moved."""
        return float(special.chdtrc(self.degrees, self.chi_square)) if self.degrees else 1.0

    def contact(self, reading: npt.ArrayLike, gravity: npt.ArrayLike) -> tuple[Array, Array]:
        """Return the contact wrench (6,) on the tool at rest, and the covariance (6, 6) by the calibration's errors.

        Parameters
        ----------
        reading : array-like, shape (6,)
            Of the sensor, moment first [N m, N].
        gravity : array-like, shape (3,)
            In the axes of the sensor [m/s^2].
        """
        g = _vector(gravity, 3, "gravity")
        rows = _rows(g)
        weight = np.concatenate([self.mass * _cross(self.com, g), self.mass * g])
        return self.sign * _vector(reading, 6, "reading") - self.bias - weight, rows @ self.covariance @ rows.T


def calibrate_force_sensor(
    gravity: npt.ArrayLike, readings: npt.ArrayLike, covariance: npt.ArrayLike
) -> ForceSensorCalibration:
    """Return bias, mass and centre of mass that explain what a sensor reads at rest, without contact.

    Least squares, weighted by the covariance of the readings, of the linear equations

        moment = b_n + (m c) x g,    force = b_f + m g

    in g, gravity as the sensor sees it. Four poses whose gravity points into different directions, not in one plane,
    determine all; more make it more accurate, and show whether they agree. The sign of readings is that for which the
    mass is positive.

    Parameters
    ----------
    gravity : array-like, shape (k, 3)
        Gravity in the axes of the sensor at each pose [m/s^2].
    readings : array-like, shape (k, 6)
        Mean reading at each pose, moment first [N m, N].
    covariance : array-like, shape (6, 6)
        Of the error of such a mean, positive definite.

    Raises
    ------
    InputError
        For arrays that do not fit, and poses that do not determine all of it, with the direction that gravity should
        have.
    """
    g, read, cover = numbers(gravity), numbers(readings), _covariance(covariance)
    if g.ndim != 2 or g.shape[1:] != (3,) or read.shape != (len(g), 6) or not np.isfinite(g).all():
        raise InputError("gravity, readings: arrays (k, 3) and (k, 6) are expected", name="gravity")
    if not np.isfinite(read).all():
        raise InputError("readings: finite numbers are expected", name="readings")
    white = np.linalg.inv(np.linalg.cholesky(cover))
    A = np.concatenate([white @ _rows(x) for x in g]) if len(g) else np.zeros((0, 10))
    b = (read @ white.T).reshape(-1)
    size = np.linalg.norm(A, axis=0)
    if np.linalg.matrix_rank(A / np.where(size > 0.0, size, 1.0), tol=1e-5) < 10:
        raise InputError(
            f"gravity: {len(g)} poses do not separate bias and tool; one with gravity along "
            f"{next_direction(g, cover).round(2).tolist()} in the axes of the sensor is missing",
            name="gravity",
        )
    error = np.linalg.inv(A.T @ A)
    x = error @ (A.T @ b)
    sign = 1 if x[6] > 0.0 else -1
    left = b - A @ x
    x, sigma = sign * x, float(np.sqrt(error[6, 6]))
    if x[6] < sigma:
        raise InputError(
            f"readings: no mass is found, {x[6]:.3g} kg; the sensor does not feel its tool", name="readings"
        )
    return ForceSensorCalibration(x[:6], float(x[6]), x[7:] / x[6], sign, error, float(left @ left), len(b) - 10)


def next_direction(gravity: npt.ArrayLike, covariance: npt.ArrayLike) -> Array:
    """Return where gravity should point next (3,), in the axes of the sensor: where the tool becomes known best.

    Of `DIRECTIONS`, that after which the covariance of mass and mass times centre of mass has the least determinant.

    Parameters
    ----------
    gravity : array-like, shape (k, 3)
        At the poses so far, none or more [m/s^2].
    covariance : array-like, shape (6, 6)
        Of readings.
    """
    g, cover = numbers(gravity).reshape(-1, 3), _covariance(covariance)
    inverse = np.linalg.inv(cover)
    size = float(np.linalg.norm(g, axis=1).mean()) if len(g) else 9.81
    known: Array = sum((_rows(x).T @ inverse @ _rows(x) for x in g), np.zeros((10, 10)))
    unit = DIRECTIONS / np.linalg.norm(DIRECTIONS, axis=1)[:, None]
    small = 1e-9 * np.diag(np.concatenate([np.diag(inverse), [np.trace(inverse)] * 4]))
    found = [
        np.linalg.slogdet(np.linalg.inv(known + small + _rows(size * d).T @ inverse @ _rows(size * d))[6:, 6:])[1]
        for d in unit
    ]
    return np.asarray(unit[int(np.argmin(found))])


def tool_contact(
    model: Model,
    calibration: ForceSensorCalibration,
    frame: str,
    state: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
    reading: npt.ArrayLike,
    inertia: npt.ArrayLike | None = None,
) -> tuple[Array, Array]:
    """Return the contact wrench (6,) on a moving tool, at the sensor and in its axes, and its covariance (6, 6).

    What the tool's weight and motion exert on the sensor, -(G A - ad_V^T G V) with gravity in A, is taken off.

    Parameters
    ----------
    model : Model
        The robot that carries the sensor; whether it holds the tool does not matter.
    calibration : ForceSensorCalibration
    frame : str
        Frame of the sensor.
    state : tuple of array-like, shape (nq,), (nv,), (nv,)
        q, qd, qdd [rad, m and rates].
    reading : array-like, shape (6,)
        Of the sensor, moment first [N m, N].
    inertia : array-like, shape (3, 3), optional
        Of the tool about its centre of mass, in the axes of the sensor [kg m^2]; none for a point.

    Raises
    ------
    InputError
        For other shapes of the state, or of what the calibration holds.
    """
    require_model(model)
    q, qd, qdd = (np.asarray(x, np.float64) for x in state)
    about = np.zeros((3, 3)) if inertia is None else np.ascontiguousarray(numbers(inertia), np.float64)
    if about.shape != (3, 3):
        raise InputError(f"inertia: shape (3, 3) is expected, got {about.shape}", name="inertia")
    J, rate, pose = jacobian(model, q, frame), jacobian_rate(model, q, qd, frame), frame_pose(model, q, frame)
    known = np.ascontiguousarray(calibration.covariance, np.float64)
    wrench, covariance = np.empty(6), np.empty((6, 6))
    status = sensed_contact(
        np.ascontiguousarray(J), np.ascontiguousarray(rate), np.ascontiguousarray(qd), np.ascontiguousarray(qdd),
        np.ascontiguousarray(pose), model.gravity, _vector(reading, 6, "reading"), calibration.numbers,
        known, about, wrench, covariance, np.zeros(N_WORK), np.empty((6, 10)),
    )  # fmt: skip
    if status != 0:  # nothing was written then
        shapes = [np.shape(x) for x in (qd, qdd, calibration.bias, calibration.com, known)]
        raise InputError(
            f"state, calibration: qd, qdd, bias, com and covariance of shapes ({model.nv},), ({model.nv},), (6,), (3,) "
            f"and (10, 10) are expected, got {', '.join(map(str, shapes))}"
        )
    return wrench, covariance


def _rows(g: Array) -> Array:
    """Return the matrix (6, 10) of readings under gravity (3,), over bias, mass, mass times centre of mass."""
    found = np.zeros((6, 10))
    found[range(6), range(6)] = 1.0
    found[3:, 6], found[:3, 7:] = g, [[0.0, g[2], -g[1]], [-g[2], 0.0, g[0]], [g[1], -g[0], 0.0]]
    return found


def _cross(a: Array, b: Array) -> Array:
    """Return a x b of vectors (3,), without the cost of arrays of any shape."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def _vector(value: npt.ArrayLike, size: int, name: str) -> Array:
    array = np.ascontiguousarray(numbers(value))
    if array.shape != (size,) or not np.isfinite(array).all():
        raise InputError(f"{name}: {size} finite numbers are expected, got {value!r}", name=name, value=value)
    return array


def _covariance(value: npt.ArrayLike) -> Array:
    array = np.asarray(numbers(value), np.float64)
    if array.shape != (6, 6) or not np.isfinite(array).all() or not np.linalg.eigvalsh(array).min() > 0.0:
        raise InputError("covariance: a positive definite matrix (6, 6) is expected", name="covariance")
    return array


WINDOWS = (2, 4, 8, 16, 32, 64)
"""Over how many states what happened is checked, all at once: short ones see pushes soon, long ones see weak ones."""
CORRELATED = 16
"""States after which the noise of an effort is another one."""
MOVED = 0.02
"""By how much a robot at rest may move [rad, m]."""


@dataclass(frozen=True, eq=False)
class SensorNoise:
    """Covariances of what noise does over windows of `WINDOWS` states, in model coordinates.

    Nothing is supposed about the spectrum: noise that is filtered shows in its differences and sums.

    Attributes
    ----------
    velocity : ndarray, shape (w, n, n)
        Of the difference of measured velocities at the end and the beginning of a window [rad^2/s^2, m^2/s^2].
    impulse : ndarray, shape (w, n, n)
        Of the sum of measured efforts times the period over a window, less gravity [N^2 m^2 s^2, N^2 s^2].
    period : float
        Between states [s].
    samples : float
        How many independent states the covariances stand for; infinite where they are known.
    offset : ndarray, shape (n,)
        Mean effort at rest, less what holds the model against gravity [N m, N].
    """

    velocity: Array
    impulse: Array
    period: float
    samples: float
    offset: Array

    def __post_init__(self) -> None:
        _freeze_arrays(self)

    @classmethod
    def white(cls, model: Model, velocity: npt.ArrayLike, effort: npt.ArrayLike, period: float) -> SensorNoise:
        """Return white noise of known standard deviations.

        Parameters
        ----------
        model : Model
        velocity, effort : array-like, shape () or (nv,)
            Standard deviations of measured velocities [rad/s, m/s] and efforts [N m, N], positive.
        period : float
            Between states [s].
        """
        require_model(model)
        v, e = (gains(model, value, name) for value, name in ((velocity, "velocity"), (effort, "effort")))
        for value, name in ((v, "velocity"), (e, "effort")):
            if not (value > 0.0).all():
                raise InputError(f"{name}: positive standard deviations are expected, got {value.tolist()}", name=name)
        period = _positive(period)
        return cls(
            np.array([2.0 * np.diag(v**2)] * len(WINDOWS)),
            np.array([size * period**2 * np.diag(e**2) for size in WINDOWS]),
            period,
            np.inf,
            np.zeros(model.nv),
        )

    @classmethod
    def from_rest(
        cls,
        model: Model,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        tau: npt.ArrayLike,
        period: float,
        velocity_resolution: npt.ArrayLike = 1e-4,
        effort_resolution: npt.ArrayLike = 1e-3,
    ) -> SensorNoise:
        """Return the noise of states that were recorded while the robot rested, with its brakes on or controlled.

        Parameters
        ----------
        model : Model
        q, qd, tau : array-like, shape (k, nq), (k, nv), (k, nv)
            Measured states, one a period; k is at least 16 (nv + 10). Five seconds at 1 kHz are enough.
        period : float
            Between them [s].
        velocity_resolution, effort_resolution : array-like, shape () or (nv,)
            Steps of the readings, which show no noise at rest where they are larger than it; see `with_resolution`.

        Raises
        ------
        InputError
            For too few states, arrays that do not fit, and a robot that moves; names the joint.
        """
        require_model(model)
        n, period = model.nv, _positive(period)
        q, qd, tau = (numbers(x) for x in (q, qd, tau))
        least = CORRELATED * (n + 10)
        for name, x, size in (("q", q, model.nq), ("qd", qd, n), ("tau", tau, n)):
            if x.ndim != 2 or x.shape[1] != size or len(x) != len(q) or len(x) < least or not np.isfinite(x).all():
                raise InputError(f"{name}: {least} states of {size} finite numbers, or more, are expected", name=name)
        moved = np.abs(model.difference(np.broadcast_to(q[0], q.shape), q)).max(axis=0)
        for joint in model.joint_names:
            most = moved[model.joint(joint).v_slice].max(initial=0.0)
            if most > MOVED:
                raise InputError(f"joint {joint!r} moves by {most:.3g}; a robot at rest is expected", name="q")
        resolution = [gains(model, x, name) for x, name in (
            (velocity_resolution, "velocity_resolution"), (effort_resolution, "effort_resolution")
        )]  # fmt: skip
        pushed = tau - gravity_force(model, q)
        sums = np.vstack([np.zeros(n), np.cumsum(period * (pushed - pushed.mean(axis=0)), axis=0)])
        velocity, impulse = [], []
        for size in WINDOWS:
            apart = qd[size:] - qd[:-size]
            velocity.append(apart.T @ apart / len(apart))
            near = min(size, CORRELATED)
            over = sums[near:] - sums[:-near]
            impulse.append(over.T @ over / len(over) * (size / near))
        samples = float(len(q) // CORRELATED)
        found = cls(np.array(velocity), np.array(impulse), period, samples, pushed.mean(axis=0))
        return found.with_resolution(*resolution)

    def with_resolution(self, velocity: npt.ArrayLike, effort: npt.ArrayLike) -> SensorNoise:
        """Return the noise of readings in steps: each gets the variance of its step besides, a twelfth of its square.

        Parameters
        ----------
        velocity, effort : array-like, shape () or (nv,)
            Steps of measured velocities and efforts; zero for none [rad/s, m/s, N m, N].

        Raises
        ------
        InputError
            For arrays that do not fit, and steps that are negative or not finite.
        """
        n = len(self.offset)
        velocity, effort = numbers(velocity), numbers(effort)
        for name, step in (("velocity", velocity), ("effort", effort)):
            if step.shape not in ((), (n,)) or not (np.isfinite(step) & (step >= 0.0)).all():
                raise InputError(f"{name}: a step, or {n}, not negative, is expected, got {step.tolist()}", name=name)
        velocity, effort = (np.broadcast_to(step, (n,)) for step in (velocity, effort))
        spread = np.array(WINDOWS)[:, None, None] * self.period**2 * np.diag(effort**2 / 12.0)
        return replace(self, velocity=self.velocity + np.diag(velocity**2 / 6.0), impulse=self.impulse + spread)

    def threshold(self, probability: float) -> float:
        """Return what x^T C^-1 x of normal noise (n,) with one of these covariances exceeds with a probability.

        For estimated covariances by Hotelling's distribution, else by chi-square with n degrees of freedom.
        """
        n = len(self.offset)
        if np.isinf(self.samples):
            return float(special.chdtri(n, probability))
        m = self.samples - 1.0
        return float(m * n / (m - n + 1.0) / special.fdtri(m - n + 1.0, n, probability))  # of 1 / F: exact in the tail


def _positive(period: float) -> float:
    try:
        value = float(period)
    except (TypeError, ValueError):
        value = np.nan
    if not 0.0 < value < np.inf:
        raise InputError(f"period: a positive time is expected, got {period!r}", name="period", value=period)
    return value
