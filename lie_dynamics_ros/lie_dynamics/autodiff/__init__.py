"""Dynamics as functions of PyTorch and JAX, whose automatic differentiation uses the exact derivatives of this library.

`torch_functions` and `jax_functions` import their packages when they are called: neither is needed otherwise. Here is
what both share: derivatives along the entries of q, of which ball and free joints have more than degrees of freedom.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, ArrayLike
from ..dynamics.derivatives.forward_derivatives import forward_dynamics_derivatives
from ..dynamics.derivatives.inverse_derivatives import inverse_dynamics_derivatives
from ..dynamics.forward_dynamics import forward_dynamics
from ..dynamics.inverse_dynamics import inverse_dynamics
from ..lie import quaternion, so3
from ..model.model import Model

__all__ = ["jax_functions", "torch_functions"]


class Dynamics(NamedTuple):
    """A function of (q, qd, qdd or tau), and its derivatives along the entries of each."""

    name: str
    value: Any
    derivatives: Any


def tangent_of_entries(model: Model, q: ArrayLike) -> Array:
    """Return P (..., nv, nq) with v = P dq, the tangent vectors that changes of the entries of q make.

    What changes the length of a quaternion changes nothing: derivatives along entries are those of f(q / |q|).
    """
    q = np.asarray(q, dtype=float)
    out = np.zeros((*q.shape[:-1], model.nv, model.nq))
    out[..., model.vector_v, model.vector_q] = 1.0
    for joint in model.joints:
        if joint.kind not in ("spherical", "free"):
            continue
        row, column = joint.v_slice.start, joint.q_slice.start
        turn = q[..., column : column + 4]
        vector, scalar = turn[..., :3], turn[..., 3, None, None]
        angular = out[..., row : row + 3, column : column + 4]  # w = 2 vec(q* dq)
        angular[..., :3] = 2.0 * (scalar * np.eye(3) - so3.hat(vector))
        angular[..., 3] = -2.0 * vector
        if joint.kind == "free":
            rotation = quaternion.to_matrix(turn)
            out[..., row + 3 : row + 6, column + 4 : column + 7] = np.swapaxes(rotation, -1, -2)
    return out


def _inverse(model: Model, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array]:
    d = inverse_dynamics_derivatives(model, q, qd, qdd)
    return d.dq @ tangent_of_entries(model, q), d.dqd, d.dqdd


def _forward(model: Model, q: Array, qd: Array, tau: Array) -> tuple[Array, Array, Array]:
    d = forward_dynamics_derivatives(model, q, qd, tau)
    return d.dq @ tangent_of_entries(model, q), d.dqd, d.dtau


INVERSE = Dynamics("inverse_dynamics", inverse_dynamics, _inverse)
FORWARD = Dynamics("forward_dynamics", forward_dynamics, _forward)

from . import jax_functions, torch_functions  # noqa: E402  (these need the above)
