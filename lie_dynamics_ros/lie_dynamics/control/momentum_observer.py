"""Estimation of external forces from the generalised momentum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.inverse_dynamics import coriolis_matrix, gravity_force, mass_matrix
from ..dynamics.kinematics import jacobian
from ..dynamics.losses import joint_losses
from ..model.arguments import require_model
from ..model.model import Model
from .tracking_error import gains


@dataclass(slots=True)
class ObserverState:
    """Residual, integral and its last rate (nv,) of a `MomentumObserver`; no integral before the first state."""

    residual: Array
    rate: Array
    integral: Array | None = None


class MomentumObserver:
    """External joint torques without accelerations or force sensors. De Luca and Mattone 2003.

    The momentum p = M qd changes by dp/dt = tau + C^T qd - g + tau_ext, since dM/dt = C + C^T. The residual

        r = K (p - p_0 - integral (tau + C^T qd - g + r) dt)

    obeys dr/dt = K (tau_ext - r): it is the external torque through a low pass of bandwidth K [1/s]. The integral takes
    r implicitly, so any bandwidth and period is stable, and the rest by trapezoids. For ball and free joints both terms
    are in their moving frames, with the C of `coriolis_matrix`, whose symmetric part is dM/dt / 2 there too.

    Parameters
    ----------
    model : Model
        The robot; losses that the model includes are accounted for.
    bandwidth : array-like, shape () or (nv,)
        K [1/s]. The delay of the estimate is 1 / K.
    """

    def __init__(self, model: Model, bandwidth: npt.ArrayLike) -> None:
        require_model(model)
        self.model = model
        self.bandwidth = gains(model, bandwidth, "bandwidth")
        self._zero = np.zeros(model.nv)
        self.state = ObserverState(self._zero, self._zero)

    def reset(self) -> None:
        """Start again: the first update after it only notes the state."""
        self.state = ObserverState(self._zero, self._zero)

    @property
    def residual(self) -> Array:
        """Estimated external joint torques (nv,) [N m, N], those that the surroundings exert on the robot."""
        return self.state.residual

    def update(self, q: npt.ArrayLike, qd: npt.ArrayLike, tau: npt.ArrayLike, period: float) -> Array:
        """Return the residual (nv,) for a state (nq,), (nv,) measured `period` [s] after the last one.

        `tau` (nv,) are the torques that acted over the time between the two.
        """
        state = self.state
        _, momentum, known = momentum_terms(self.model, q, np.asarray(qd, np.float64))
        if state.integral is None:
            state.integral = momentum
        else:
            integral = state.integral + period * (0.5 * (known + state.rate) + np.asarray(tau, np.float64))
            state.residual = self.bandwidth * (momentum - integral) / (1.0 + self.bandwidth * period)
            state.integral = integral + period * state.residual
        state.rate = known
        return state.residual

    def wrench(self, q: npt.ArrayLike, frame: str | int, damping: float = 1e-6) -> Array:
        """Return the wrench (6,), moment first, on a frame and in it, that explains the residual best [N m, N].

        The least wrench with J^T F near r, (J J^T + damping^2 s)^-1 J r with s the largest squared singular value of J:
        exact where all external torques come from a contact at that frame and J has full row rank; components that
        the joints do not feel come out zero.
        """
        J = jacobian(self.model, q, frame)
        square = J @ J.T
        scale = max(float(np.linalg.eigvalsh(square)[-1]), np.finfo(float).tiny)
        return np.asarray(np.linalg.solve(square + damping**2 * scale * np.eye(6), J @ self.residual))


def momentum_terms(model: Model, q: npt.ArrayLike, qd: Array) -> tuple[Array, Array, Array]:
    """Return M (nv, nv), p = M qd (nv,), and dp/dt without efforts and contacts, C^T qd - g less losses (nv,)."""
    mass = mass_matrix(model, q)
    known = qd @ coriolis_matrix(model, q, qd) - gravity_force(model, q)
    if model.actuation_terms is not None:
        known = known - joint_losses(model, q, qd)
    return mass, mass @ qd, known
