"""Derivatives of user-defined joints, from the functions that users give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arrays import AnyArray
from ...model.user_joints import extend

if TYPE_CHECKING:
    from ...model.model import Model
    from ...model.structure import Joint


#: Central differences of eighth order: weights of f(x + k h) - f(x - k h), k = 1, 2, 3, 4, over h. With this step, what
#: is cut off and round-off are both below 1e-12 for functions that bend over a tenth of a radian or metre.
_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
_STEP = 0.005


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
        second = np.zeros(6)
        for k, weight in enumerate(_WEIGHTS, 1):
            ahead = np.asarray(motion.subspace_rate(x + k * _STEP * unit, xd))
            behind = np.asarray(motion.subspace_rate(x - k * _STEP * unit, xd))
            second = second + weight * ((ahead - behind) @ xd)
        found += [second / _STEP, along.T.ravel()]
    return np.concatenate(found)
