"""Derivatives of the constraints themselves: what the derivatives of constrained dynamics are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...engine.fastcall.status import raise_if_rejected
from ...model.model import Model
from ..constraint_set import ConstraintSet
from ..inputs import States
from ..kernels import loop_derivatives as dk
from ..kernels import loops as lk
from ..quantities import quantities_of
from ..user import first_difference


class ConstraintDerivatives(NamedTuple):
    """Derivatives along q (tangent, as `Model.integrate` moves it) and qd, flat over the batch.

    Attributes
    ----------
    rate_dq : ndarray, shape (B, m, nv)
        Of A x along q, for fixed x in place of qd.
    acceleration_dq, acceleration_dqd : ndarray, shape (B, m, nv)
        Of A qdd + dA/dt qd.
    force_dq : ndarray, shape (B, nv, nv)
        Of A^T multipliers, for fixed multipliers.
    """

    rate_dq: Array
    acceleration_dq: Array
    acceleration_dqd: Array
    force_dq: Array


def constraint_derivatives(
    model: Model, constraints: ConstraintSet, states: States, qdd: Array, force: Array, loops: bool = True
) -> ConstraintDerivatives:
    """Return the derivatives at states with "q" and "qd", for accelerations (B, nv) and multipliers (B, m).

    Those of loops are analytic; loops through user-defined joints, and user constraints, are differentiated by central
    differences of order six, whose error is some 1e-10. Without `loops` those of loops are left at zero.
    """
    qd = states.arrays["qd"]
    count, n, m = len(qd), model.nv, constraints.size
    out = ConstraintDerivatives(
        np.zeros((count, m, n)), np.zeros((count, m, n)), np.zeros((count, m, n)), np.zeros((count, n, n))
    )
    exact = ~constraints._custom_loops if loops and model.custom_joints and constraints._custom_loops.any() else None
    if loops and (exact is None or exact.any()):
        kept = constraints._loops if exact is None else np.ascontiguousarray(constraints._loops[exact])
        motion = (np.ascontiguousarray(a) for a in (qd, qdd, force))
        raise_if_rejected(dk.loop_derivatives(model.table, kept, constraints._scalars, states.extended, *motion, *out))
    if constraints.user or exact is not None:
        rows = _rows_left(constraints, exact)
        for s in range(count):
            one = States((), states.extended[s : s + 1], {k: a[s : s + 1] for k, a in states.arrays.items()}, qd[:0])
            _by_differences(model, constraints, one, qdd[s], force[s], rows, [a[s] for a in out])
    return out


def _rows_left(constraints: ConstraintSet, exact: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.intp]:
    """Return the scalars of loops that are not `exact`, and of user constraints; couplings are linear."""
    left = () if exact is None else constraints._loops[~exact]
    rows = [np.arange(loop[lk.START], loop[lk.START] + loop[lk.COUNT]) for loop in left]
    rows.append(np.arange(constraints.size - constraints._user_size, constraints.size))
    return np.concatenate(rows).astype(np.intp)


def _by_differences(
    model: Model,
    constraints: ConstraintSet,
    state: States,
    qdd: Array,
    force: Array,
    rows: npt.NDArray[np.intp],
    out: list[Array],
) -> None:
    from ..inputs import read_states

    q, qd = state.arrays["q"][0], state.arrays["qd"][0]
    m = rows.size

    def values(x: Array, v: Array) -> Array:
        found, _ = quantities_of(model, constraints, read_states(model, constraints, {"q": x, "qd": v}))
        A, bias = found.jacobian[0][rows], found.bias[0][rows]
        return np.concatenate([A @ v, A @ qdd + bias, A.T @ force[rows]])

    for k, e in enumerate(np.eye(model.nv)):
        column = first_difference(lambda x: values(x, qd), model, q, e)
        out[0][rows, k], out[1][rows, k] = column[:m], column[m : 2 * m]
        out[3][:, k] += column[2 * m :]
        # dA/dt qd is quadratic in qd, so this difference is exact.
        out[2][rows, k] = 0.5 * (values(q, qd + e) - values(q, qd - e))[m : 2 * m]
