"""Control laws on a few numbers a joint, one call each: array operations would cost more than the dynamics.

For joints of one coordinate; states and gains are vectors (n,). All return 1 when done, 0 where the general way has to
find out what is wrong.
"""

from __future__ import annotations

import math

from ...arrays import Array
from ...engine.compile import kernel
from ...engine.symmetric import factorize, solve_factorized

DONE, NOT_DONE = 1, 0


@kernel(
    "(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1],"
    " float64[::1], float64[::1], float64[::1], float64[::1])",
    quick=True,
)
def linear_law(
    q: Array, qd: Array, desired_q: Array, desired_qd: Array, desired_qdd: Array, kp: Array, kd: Array, ki: Array,
    out: Array,
) -> int:  # fmt: skip
    """Write qdd_d + Kd (qd_d - qd) + Kp (q_d - q); not done where there is an integral, or an error is not finite."""
    n = out.shape[0]
    if q.shape[0] != n or qd.shape[0] != n or desired_q.shape[0] != n or desired_qd.shape[0] != n:
        return NOT_DONE
    if desired_qdd.shape[0] != n or kp.shape[0] != n or kd.shape[0] != n or ki.shape[0] != n:
        return NOT_DONE
    for i in range(n):
        error = desired_q[i] - q[i]
        if ki[i] != 0.0 or not math.isfinite(error * error):
            return NOT_DONE
        out[i] = desired_qdd[i] + kd[i] * (desired_qd[i] - qd[i]) + kp[i] * error
    return DONE


@kernel(
    "(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1],"
    " float64[::1], float64[::1], float64[::1], float64[::1])",
    quick=True,
)
def sliding_motion(
    q: Array, qd: Array, desired_q: Array, desired_qd: Array, desired_qdd: Array, rate: Array,
    velocity: Array, acceleration: Array, sliding: Array,
) -> int:  # fmt: skip
    """Write v_r, its rate and s of `sliding_reference`; not done where a rate is bad or an error is not finite."""
    n = sliding.shape[0]
    if q.shape[0] != n or qd.shape[0] != n or desired_q.shape[0] != n or desired_qd.shape[0] != n:
        return NOT_DONE
    if desired_qdd.shape[0] != n or rate.shape[0] != n or velocity.shape[0] != n or acceleration.shape[0] != n:
        return NOT_DONE
    for i in range(n):
        error = desired_q[i] - q[i]
        if not (rate[i] >= 0.0 and math.isfinite(rate[i]) and math.isfinite(error * error)):
            return NOT_DONE
        velocity[i] = desired_qd[i] + rate[i] * error
        acceleration[i] = desired_qdd[i] + rate[i] * (desired_qd[i] - qd[i])
        sliding[i] = qd[i] - velocity[i]
    return DONE


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1])", quick=True)
def parallel_damping(matrix: Array, damping: Array, velocity: Array, out: Array) -> int:
    """Write D (D + A)^-1 A v, for a matrix A (n, n), which is lost, and a diagonal D; not done where that is singular.

    The lower triangle of A counts in the factorization by Cholesky.
    """
    n = out.shape[0]
    if matrix.shape[0] != n or matrix.shape[1] != n or damping.shape[0] != n or velocity.shape[0] != n:
        return NOT_DONE
    for i in range(n):
        out[i] = 0.0
        for j in range(n):
            out[i] += matrix[i, j] * velocity[j]
    for i in range(n):
        matrix[i, i] += damping[i]
    if not factorize(matrix):
        return NOT_DONE
    solve_factorized(matrix, out)
    for i in range(n):
        out[i] *= damping[i]
    return DONE
