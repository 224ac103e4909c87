"""Integrators on the configuration manifold for any acceleration, such as that of a robot with closed loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import InputError
from ..lie import se3, so3
from ..model.arguments import require_model
from ..model.configuration import checked
from ..model.model import Model
from ..shown import Plotted, shown

Acceleration = Callable[[float, Array, Array], npt.ArrayLike]


@shown
@dataclass(frozen=True, eq=False)
class Motion(Plotted):
    """States of a motion: `time` (n + 1) [s], `q` (n + 1, nq), `qd` (n + 1, nv)."""

    time: Array
    q: Array
    qd: Array


def semi_implicit_step(
    model: Model, acceleration: Acceleration, time: float, q: Array, qd: Array, step: float
) -> tuple[Array, Array]:
    """Return the state after a step of semi-implicit Euler: qd first, then q exp(h qd) with the new qd. Order 1."""
    require_model(model)
    after = qd + step * np.asarray(acceleration(time, q, qd))
    return model.integrate(q, step * after), after


def rkmk4_step(
    model: Model, acceleration: Acceleration, time: float, q: Array, qd: Array, step: float
) -> tuple[Array, Array]:
    """Return the state after a step of the Runge-Kutta-Munthe-Kaas method of order four.

    With q = q0 exp(u) it is the classical Runge-Kutta method for (u, qd), where du/dt is qd times the inverse of the
    right Jacobian of exp at u; on axis joints it is the classical method for (q, qd).
    """
    require_model(model)
    u = np.zeros(model.nv)
    ku, kv = u, u
    sum_u, sum_v = np.zeros(model.nv), np.zeros(model.nv)
    for part, weight in ((0.0, 1.0 / 6.0), (0.5, 1.0 / 3.0), (0.5, 1.0 / 3.0), (1.0, 1.0 / 6.0)):
        u, v = part * step * ku, qd + part * step * kv
        kv = np.asarray(acceleration(time + part * step, model.integrate(q, u), v))
        ku = _tangent_rate(model, u, v)
        sum_u, sum_v = sum_u + weight * step * ku, sum_v + weight * step * kv
    return model.integrate(q, sum_u), qd + sum_v


def _tangent_rate(model: Model, u: Array, qd: Array) -> Array:
    rate = qd.copy()
    for joint in model.joints:
        at = joint.v_slice
        if joint.kind == "spherical":
            rate[at] = so3.right_jacobian_inverse(u[at]) @ qd[at]
        elif joint.kind == "free":
            rate[at] = se3.right_jacobian_inverse(u[at]) @ qd[at]
    return rate


_STEPS = {"semi_implicit": semi_implicit_step, "rkmk4": rkmk4_step}


def integrate_motion(
    model: Model,
    acceleration: Acceleration,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    *,
    step: float,
    steps: int,
    method: Literal["semi_implicit", "rkmk4"] = "rkmk4",
    start: float = 0.0,
    correct: Callable[[Array, Array], tuple[Array, Array]] | None = None,
) -> Motion:
    """Integrate a motion whose acceleration is a function of time and state.

    Parameters
    ----------
    model : Model
        The robot; its joints say how configurations move.
    acceleration : callable
        ``acceleration(time, q, qd)`` returns qdd (nv,): forward dynamics with any torques, of a tree or of a robot with
        constraints.
    q, qd : array-like, shape (nq,), (nv,)
        State at the start.
    step : float
        Step [s].
    steps : int
        Number of steps.
    method : {"semi_implicit", "rkmk4"}
        Integrator, of order 1 or 4.
    start : float
        Time of the start [s].
    correct : callable, optional
        ``correct(q, qd)`` returns the state to go on with after each step, such as a projection onto constraints.

    Raises
    ------
    InputError
        For bad input; names the joint.
    """
    require_model(model)
    if method not in _STEPS:
        raise InputError(f"method: one of {list(_STEPS)} is expected, got {method!r}", name="method", value=method)
    advance = _STEPS[method]
    q, qd = checked(q, model.nq, "q", model), checked(qd, model.nv, "qd", model)
    states_q, states_qd = np.empty((steps + 1, model.nq)), np.empty((steps + 1, model.nv))
    states_q[0], states_qd[0] = q, qd
    for k in range(steps):
        q, qd = advance(model, acceleration, start + k * step, q, qd, step)
        if correct is not None:
            q, qd = correct(q, qd)
        states_q[k + 1], states_qd[k + 1] = q, qd
    return Motion(np.asarray(start + step * np.arange(steps + 1)), states_q, states_qd)
