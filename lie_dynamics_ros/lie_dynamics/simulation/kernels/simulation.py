"""Many steps in one call."""

from __future__ import annotations

import numpy as np

from ...dynamics.kernels.common.batch import all_finite
from ...dynamics.kernels.common.joints import check_quaternions
from ...dynamics.kernels.forward_dynamics import COLUMNS as _WORK_COLUMNS
from ...engine.compile import kernel
from ...model.layout import ARMATURE, BAD_QUATERNION, N_V, NOT_FINITE, OK, STATUS_STEP
from .steps import ACCELERATION, ARMATURES, REACTION, VECTORS, rkmk4, semi_implicit, variational
from .variational import COLUMNS as _TREE_COLUMNS

#: Methods, as `settings` names them.
SEMI_IMPLICIT, RKMK4, VARIATIONAL = 0, 1, 2

#: Entries of `settings`.
STEP, SUBSTEPS, METHOD, SETTINGS = 0, 1, 2, 3

#: A status: the equations of a variational step have no solution that was found.
NOT_SOLVED = 6


@kernel(
    "(float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], boolean[::1],"
    " float64[::1], float64[::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1])"
)
def simulate(model, rows, weightless, joints, tau, qdd, given, f_ext, settings, q_out, qd_out, qdd_out, tau_out):
    """Fill states and forces from the state in the first row of `q_out` and `qd_out`, and return a status of `layout`.

    A row of `tau` and `qdd` holds for one row of results (the last for all that follow). What `qdd_out` and `tau_out`
    say is at the beginning of each, or of its last substep. `rows` and `weightless` are copies of `model`, the latter
    without gravity, whose armature the steps change as they like.
    """
    n = int(model[0, N_V])
    h, method = settings[STEP], int(settings[METHOD])
    q, qd = q_out[0].copy(), qd_out[0].copy()
    if not check_quaternions(model, q):
        return BAD_QUATERNION
    other_q, other_qd, none = q.copy(), qd.copy(), q[:0].copy()
    vec = np.zeros((VECTORS, n))
    work, tree = np.empty((n + 1, _WORK_COLUMNS)), np.empty((n + 1, _TREE_COLUMNS))
    held = np.zeros(n, np.bool_)
    for i in range(n):
        vec[ARMATURES, i] = rows[i + 1, ARMATURE] = weightless[i + 1, ARMATURE] = model[i + 1, ARMATURE]
    for k in range(tau_out.shape[0]):
        t, a = tau[min(k, tau.shape[0] - 1)], qdd[min(k, qdd.shape[0] - 1)]
        for _ in range(int(settings[SUBSTEPS])):
            if method == SEMI_IMPLICIT:
                semi_implicit(rows, joints, h, q, qd, t, f_ext, a, given, held, vec, work)
            elif method == RKMK4:
                rkmk4(rows, joints, h, q, qd, t, f_ext, a, given, other_q, other_qd, vec, work)
            elif not variational(
                rows, weightless, joints, h, q, qd, t, f_ext, none, a, given, other_q, other_qd, vec, work, tree
            ):
                return (NOT_SOLVED if all_finite(qd) else NOT_FINITE) + STATUS_STEP * k
            if not all_finite(qd):
                return NOT_FINITE + STATUS_STEP * k
        for i in range(q.shape[0]):
            q_out[k + 1, i] = q[i]
        for i in range(n):
            qd_out[k + 1, i], qdd_out[k, i], tau_out[k, i] = qd[i], vec[ACCELERATION, i], vec[REACTION, i]
    return OK
