"""Derivatives of S and dS/dt of a user's joint along its coordinates, from the functions that users give.

A user gives S(q) and dS/dt = sum of (dS/dq_k) qd_k. The first derivatives of S are dS/dt at unit rates. Those of dS/dt
are not given: they are differences, or complex steps of the user's function, exact to round-off, where it takes complex
numbers.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import AnyArray
from ...model.structure import Joint
from ...model.user_joints import extend

if TYPE_CHECKING:
    from ...model.model import Model

_TINY = 1e-30
#: Central differences of eighth order: weights of f(x + k h) - f(x - k h), k = 1, 2, 3, 4, over h. With this step, what
#: is cut off and round-off are both below 1e-12 for functions that bend over a tenth of a radian or metre.
WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
_STEP = 0.005


def subspace_derivatives(joint: Joint, q: AnyArray, k: int) -> AnyArray:
    """Return dS/dq_k (..., 6, n) of a user's joint at configurations (..., nq)."""
    motion = joint.type.custom
    assert motion is not None
    unit = np.eye(joint.type.nv)[k]
    return _for_all(lambda x, _: np.asarray(motion.subspace_rate(x, unit)), q[..., joint.q_slice], q[..., :0], joint)


def rate_derivatives(joint: Joint, q: AnyArray, qd: AnyArray, k: int) -> AnyArray:
    """Return d(dS/dt)/dq_k (..., 6, n) of a user's joint at configurations (..., nq) and rates (..., nv)."""
    return _for_all(lambda x, y: _slope(joint, x, y, k), q[..., joint.q_slice], qd[..., joint.v_slice], joint)


def _for_all(function: Any, x: AnyArray, y: AnyArray, joint: Joint) -> AnyArray:
    batch = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    count = int(np.prod(batch))
    x = np.broadcast_to(x, (*batch, x.shape[-1])).reshape(count, x.shape[-1])
    y = np.broadcast_to(y, (*batch, y.shape[-1])).reshape(count, y.shape[-1])
    found = np.array([function(a, b) for a, b in zip(x, y, strict=True)])
    return found.reshape(*batch, 6, joint.type.nv)


def _slope(joint: Joint, x: AnyArray, y: AnyArray, k: int) -> AnyArray:
    motion = joint.type.custom
    assert motion is not None
    unit = np.eye(joint.type.nv)[k]

    estimate = _differences(joint, x, y, unit)
    if np.iscomplexobj(x) or np.iscomplexobj(y):
        return estimate
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of numpy, that an imaginary part is dropped
            exact = np.asarray(motion.subspace_rate(x + 1j * _TINY * unit, y)).imag / _TINY
    except Exception:  # the user's function, which may refuse complex numbers in any way it likes
        return estimate
    scale = max(float(np.abs(estimate).max()), 1e-3)
    agrees = (
        exact.shape == estimate.shape and np.isfinite(exact).all() and np.abs(exact - estimate).max() < 1e-6 * scale
    )
    return exact if agrees else estimate


def _differences(joint: Joint, x: AnyArray, xd: AnyArray, unit: AnyArray) -> AnyArray:
    """Return d(dS/dt)/dx (6, n) along a unit vector."""
    motion = joint.type.custom
    assert motion is not None
    total: AnyArray = np.zeros((6, joint.type.nv))
    for k, weight in enumerate(WEIGHTS, 1):
        ahead, behind = (np.asarray(motion.subspace_rate(x + s * k * _STEP * unit, xd)) for s in (1.0, -1.0))
        total = total + weight * (ahead - behind)
    return total / _STEP


def extend_twice(model: Model, q: AnyArray, qd: AnyArray) -> AnyArray:
    """Return what `extend` returns, with the derivatives of each user-defined joint's S appended.

    For each of its coordinates k: the derivative of dS/dt along q_k, times qd (6), then dS_i/dq_k (6) for each column
    i. Since dS/dt = sum of dS/dq_k qd_k, the latter is what the user's function returns for a unit rate; the former is
    taken by differences.
    """
    wide = extend(model, q, qd)
    if not model.custom_joints:
        return wide
    flat_q, flat_qd = q.reshape(-1, q.shape[-1]), qd.reshape(-1, qd.shape[-1])
    parts = [wide.reshape(len(flat_q), -1)]
    for joint in model.custom_joints:
        size = 6 * joint.type.nv * (1 + joint.type.nv)
        data = [_derivatives(joint, a, b) for a, b in zip(flat_q, flat_qd, strict=True)]
        parts.append(np.array(data).reshape(len(flat_q), size))
    return np.ascontiguousarray(np.concatenate(parts, axis=1).reshape(*q.shape[:-1], -1))


def _derivatives(joint: Joint, q: AnyArray, qd: AnyArray) -> AnyArray:
    motion = joint.type.custom
    assert motion is not None
    x, xd = q[joint.q_slice], qd[joint.v_slice]
    found = []
    for unit in np.eye(joint.type.nv):
        along = np.asarray(motion.subspace_rate(x, unit))
        found += [_differences(joint, x, xd, unit) @ xd, along.T.ravel()]
    return np.concatenate(found)
