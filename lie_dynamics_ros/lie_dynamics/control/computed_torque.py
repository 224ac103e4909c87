"""Controllers that cancel the dynamics: computed torque, feed-forward and gravity compensation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.inverse_dynamics import gravity_force
from ..model.arguments import require_model
from ..model.configuration import rates
from ..model.model import Model
from .kernels.laws import DONE, linear_law
from .robots import Robot, inverse_dynamics, require_robot
from .tracking_error import TrackingError, gains, gradient, tracking_error


def computed_torque(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    desired_q: npt.ArrayLike,
    desired_qd: npt.ArrayLike,
    desired_qdd: npt.ArrayLike,
    kp: npt.ArrayLike,
    kd: npt.ArrayLike,
    f_ext: npt.ArrayLike | None = None,
) -> Array:
    """Return the torques (..., nv) that make the tracking error obey a linear law, PD computed torque.

    They are the inverse dynamics of the acceleration that gives the error of `tracking_error`

        d/dt de = -Kd de - J_l(e)^-T Kp e,

    on axis joints the usual e'' + Kd e' + Kp e = 0. On ball and free joints V = |de|^2 / 2 + e^T Kp e / 2 falls at the
    rate de^T Kd de, so the error decays from any start but those half a turn away.

    Parameters
    ----------
    model : Model
        The controller's model of the robot.
    q, qd : array-like, shape (..., nq), (..., nv)
        Measured state [rad, m and rates].
    desired_q, desired_qd, desired_qdd : array-like, shape (..., nq), (..., nv), (..., nv)
        Desired motion.
    kp, kd : array-like, shape () or (nv,)
        Gains [1/s^2, 1/s]: kp = w^2, kd = 2 w is critically damped with bandwidth w [rad/s].
    f_ext : array-like, shape (..., n_bodies, 6), optional
        Known wrenches on the bodies, in their frames [N m, N].

    Raises
    ------
    InputError, GroupError
        For bad input or negative gains; names the joint.
    """
    require_model(model)
    error = tracking_error(model, q, qd, desired_q, desired_qd, desired_qdd)
    return inverse_dynamics(
        model, q, qd, _acceleration(model, error, gains(model, kp, "kp"), gains(model, kd, "kd")), f_ext
    )


def _acceleration(model: Robot, error: TrackingError, kp: Array, kd: Array) -> Array:
    return np.asarray(error.reference_acceleration + kd * error.velocity + gradient(model, error.position, kp))


class ComputedTorquePID:
    """Computed torque with an integral of the error: removes what a constant load leaves over.

    The law is that of `computed_torque` with one term more, d/dt de = ... - Ki z, dz/dt = J_l(e)^-T e, by
    trapezoids, in the frame of the moving joint. For axis joints it is stable when kp kd > ki.

    Parameters
    ----------
    model : Model or MotorDynamics
        The controller's model of the robot.
    kp, kd, ki : array-like, shape () or (nv,)
        Gains [1/s^2, 1/s, 1/s^3].
    limit : array-like, shape () or (nv,), optional
        Largest |ki z| [rad/s^2, m/s^2]: beyond it the integral stands still, so that it does not wind up.

    Attributes
    ----------
    integral : ndarray, shape (nv,)
        z [rad s, m s].
    """

    def __init__(
        self,
        model: Robot,
        kp: npt.ArrayLike,
        kd: npt.ArrayLike,
        ki: npt.ArrayLike,
        limit: npt.ArrayLike = np.inf,
    ) -> None:
        require_robot(model)
        self.model = model
        self.kp, self.kd, self.ki = gains(model, kp, "kp"), gains(model, kd, "kd"), gains(model, ki, "ki")
        self.limit = np.broadcast_to(np.asarray(limit, np.float64), (model.nv,))
        self.integral = np.zeros(model.nv)
        self._slope: Array | None = None  # of the integral, at the last state

    def reset(self) -> None:
        """Forget the integral."""
        self.integral, self._slope = np.zeros(self.model.nv), None

    def update(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        desired_q: npt.ArrayLike,
        desired_qd: npt.ArrayLike,
        desired_qdd: npt.ArrayLike,
        period: float,
    ) -> Array:
        """Return the torques (nv,), `period` [s] after the last call."""
        acceleration = self.acceleration(q, qd, desired_q, desired_qd, desired_qdd, period)
        return inverse_dynamics(self.model, q, qd, acceleration)

    def acceleration(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        desired_q: npt.ArrayLike,
        desired_qd: npt.ArrayLike,
        desired_qdd: npt.ArrayLike,
        period: float,
    ) -> Array:
        """Return the acceleration (nv,) whose inverse dynamics `update` returns; parameters as there."""
        model = self.model
        if model.nq == model.nv:
            out = np.empty(model.nv)
            try:
                if linear_law(q, qd, desired_q, desired_qd, desired_qdd, self.kp, self.kd, self.ki, out) == DONE:
                    return out
            except TypeError:
                pass
        error = tracking_error(model, q, qd, desired_q, desired_qd, desired_qdd)
        acceleration = _acceleration(model, error, self.kp, self.kd)
        if not self.ki.any():
            return acceleration
        slope = gradient(model, error.position, np.ones(model.nv))
        if self._slope is not None:
            integral = self.integral + 0.5 * period * (self._slope + slope)
            wound = np.abs(self.ki * integral) > np.maximum(self.limit, np.abs(self.ki * self.integral))
            self.integral = np.where(wound, self.integral, integral)
        self._slope = slope
        return acceleration + self.ki * self.integral


def feedforward_pd(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    desired_q: npt.ArrayLike,
    desired_qd: npt.ArrayLike,
    desired_qdd: npt.ArrayLike,
    kp: npt.ArrayLike,
    kd: npt.ArrayLike,
) -> Array:
    """Return torques (..., nv): inverse dynamics of the desired motion, plus a spring and a damper to it.

    The dynamics depend on the desired motion only, so they can be computed ahead; `kp` [N m/rad, N/m] and `kd`
    [N m s/rad, N s/m] are in units of torque. The spring is that of `gradient` on ball and free joints. Other
    parameters and errors as `computed_torque`.
    """
    require_model(model)
    error = tracking_error(model, q, qd, desired_q, desired_qd, desired_qdd)
    spring = gradient(model, error.position, gains(model, kp, "kp"))
    ahead = inverse_dynamics(model, desired_q, desired_qd, desired_qdd)
    return np.asarray(ahead + spring + gains(model, kd, "kd") * error.velocity)


def gravity_compensation(
    model: Model, q: npt.ArrayLike, qd: npt.ArrayLike | None = None, kd: npt.ArrayLike = 0.0
) -> Array:
    """Return the torques (..., nv) that hold the robot against gravity, less damping `kd` qd [N m s/rad, N s/m].

    A robot under them can be guided by hand; the damping keeps it from drifting away.
    """
    torque = gravity_force(model, q)
    return torque if qd is None else np.asarray(torque - gains(model, kd, "kd") * rates(qd, "qd", model))
