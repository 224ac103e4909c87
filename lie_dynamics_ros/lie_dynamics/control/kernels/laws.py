"""Control laws on a few numbers a joint, and the errors that they leave where efforts are late, one call each.

Array operations would cost more than the dynamics. For joints of one coordinate; states and gains are vectors (n,).
Laws return 1 when done, 0 where the general way has to find out what is wrong.
"""

from __future__ import annotations

import math

from ...arrays import Array
from ...engine.compile import kernel
from ...engine.symmetric import factorize, solve_factorized

DONE, NOT_DONE = 1, 0

#: Rows of the table: errors by a lateness of a second and their rates, those by when efforts are commanded for, the
#: effort of the last state, its change and what that accelerates, and how large errors may be.
UNIT, UNIT_RATE, LED, LED_RATE, LAST, CHANGE, BOUND = range(7)
ROWS = 7
#: Numbers: period, how much later than in the middle efforts are commanded for, the most that it can be [s], 1 where it
#: is to be learned; weighed products of errors: expected by a second and those, those and found ones, found ones; what
#: is found [s], and how sure that is.
PERIOD, AHEAD, MOST, LEARN, XX, XY, YY, FOUND, SURE = range(9)
NUMBERS = 9
MEMORY = 2.0  # time for which errors count [s]
#: Error for whose square over a second others have to do, beside the longest lateness, before they count half [rad, m].
LEAST_ERROR = 2e-4
#: Part of the squares of errors that lateness has to explain before it is believed at all, and wholly.
EXPLAINED, CERTAIN = 0.6, 0.9
#: Part of the mean square of errors by a second below which a state tells nothing: the motion stands still.
STILL = 0.01
LAG = 6e-3  # by how much efforts may act later than is possible, as drives lag [s]


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


@kernel(
    "(float64[:,::1], float64[::1], float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1])",
    quick=True,
)
def note(
    table: Array,  # (7, n); overwritten
    numbers: Array,  # (9,); overwritten from the products on
    mass: Array,  # positive definite (n, n) [kg m^2, kg]; overwritten by its factor
    effort: Array,  # that the motion takes (n,) [N m, N]
    stiffness: Array,  # kp (n,) [1/s^2]
    damping: Array,  # kd (n,) [1/s]
    error: Array,  # (n,) [rad, m]
) -> int:
    """Take in a state for `LateErrors`; return 0, or 1 where the mass matrix is none or errors are not finite."""
    n = effort.shape[0]
    if table.shape[0] != ROWS or table.shape[1] != n or numbers.shape[0] != NUMBERS or mass.shape[0] != n:
        return -1
    if mass.shape[1] != n or stiffness.shape[0] != n or damping.shape[0] != n or error.shape[0] != n:
        return -1
    for i in range(n):
        table[CHANGE, i], table[LAST, i] = effort[i] - table[LAST, i], effort[i]
    if not factorize(mass):
        return 1
    solve_factorized(mass, table[CHANGE])
    period, most, late = numbers[PERIOD], numbers[MOST], 1.0
    for row in (UNIT, LED):
        for i in range(n):
            drawn = damping[i] * table[row + 1, i] + stiffness[i] * table[row, i]
            table[row + 1, i] += late * table[CHANGE, i] - period * drawn
            table[row, i] += period * table[row + 1, i]
        late = numbers[AHEAD]
    xx, xy, yy = 0.0, 0.0, 0.0
    for i in range(n):
        x, y = table[UNIT, i], error[i] + table[LED, i]  # as if commanded for the middle
        xx += x * x
        xy += x * y
        yy += y * y
    if not xx + yy < 1e300:
        return 1
    if numbers[LEARN] > 0.0 and xx * MEMORY > STILL * numbers[XX]:
        fades = 1.0 - period / MEMORY
        numbers[XX] = fades * numbers[XX] + period * xx
        numbers[XY] = fades * numbers[XY] + period * xy
        numbers[YY] = fades * numbers[YY] + period * yy
        sure, found = 0.0, 0.0
        if most > 0.0 and numbers[XX] * numbers[YY] > 0.0:
            explained = numbers[XY] * numbers[XY] / (numbers[XX] * numbers[YY])
            sure = min(max((explained - EXPLAINED) / (CERTAIN - EXPLAINED), 0.0), 1.0)
            sure *= numbers[XX] / (numbers[XX] + (LEAST_ERROR / most) ** 2)
            found = min(max(numbers[XY] / numbers[XX], -most), most + LAG)
            beyond = abs(numbers[XY] / numbers[XX] - found)  # what is not possible is no lateness
            sure *= max(1.0 - 2.0 * beyond / most, 0.0)
        numbers[FOUND], numbers[SURE] = found, sure
    sure = numbers[SURE]
    for i in range(n):
        left = sure * abs(numbers[FOUND] * table[UNIT, i] - table[LED, i])
        table[BOUND, i] = left + (1.0 - sure) * most * abs(table[UNIT, i])
    return 0
