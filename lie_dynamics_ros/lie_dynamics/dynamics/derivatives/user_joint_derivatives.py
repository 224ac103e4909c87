"""Derivatives of S and dS/dt of a user's joint along its coordinates.

A user gives S(q) and dS/dt = sum of (dS/dq_k) qd_k. The first derivatives of S are dS/dt at unit rates. Those of dS/dt
are not given: they are complex steps of the user's function, exact to round-off, where it takes complex numbers, and
extrapolated central differences (relative error about 1e-12) where it does not.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...arrays import AnyArray
from ...model.structure import Joint

_TINY = 1e-30
#: Steps of central differences; three of them cancel the errors of order two and four.
_STEP = 4e-3
_WEIGHTS = ((1.0, 64.0 / 45.0), (2.0, -20.0 / 45.0), (4.0, 1.0 / 45.0))


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

    def differences(step: float) -> AnyArray:
        total: AnyArray = np.zeros((6, joint.type.nv))
        for size, weight in _WEIGHTS:
            ahead, behind = (np.asarray(motion.subspace_rate(x + s * size * step * unit, y)) for s in (1.0, -1.0))
            total = total + weight * (ahead - behind) / (2.0 * size * step)
        return total

    estimate = differences(_STEP)
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
