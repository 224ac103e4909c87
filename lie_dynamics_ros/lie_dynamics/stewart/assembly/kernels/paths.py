"""Tracking of solution paths from one complex Stewart platform to another."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ....engine.compile import inline
from .complex_numbers import complex_kernel
from .equations import COLUMNS, Complex, Ints, evaluate, expand, factor, fill_table, solve
from .series import ORDER, SERIES_ROWS, inverse_pole, last_term, predict, series

#: How a path ended.
ARRIVED, NOT_CONVERGED, STUCK, TOO_LONG, BAD_START = 1, 2, 3, 4, 5

#: Columns of the report on a path: steps, rejected steps, t reached, norm of J^-1 times norm of J at the end.
N_STEPS, N_REJECTED, T_END, CONDITION = 0, 1, 2, 3

#: Largest |r| before the chart is changed; after it, |r| <= sqrt(3).
_CHART = 3.0
#: Largest share of the estimated distance to the nearest pole that a step takes.
_POLE_SHARE = 0.5
_SHORTEST = 1e-13
_MAX_POLISH = 12
#: Size of a correction at an end that has converged for sure; size of rounding errors; a quadratic step's contraction.
_CONVERGED, _ROUNDING, _QUADRATIC = 1e-10, 1e-14, 0.02


@inline
def times_unit(c: int, e0: complex, e1: complex, e2: complex, e3: complex) -> tuple[complex, complex, complex, complex]:
    """Return the quaternion e times unit number c of 1, i, j, k."""
    if c == 0:
        return e0, e1, e2, e3
    if c == 1:
        return -e1, e0, e3, -e2
    if c == 2:
        return -e2, -e3, e0, e1
    return -e3, e2, -e1, e0


@inline
def best_chart(c: int, x: Complex) -> int:
    """Turn x = (r, v) of chart c to the chart where |r| is smallest, and return that chart."""
    e = times_unit(c, 1.0 + 0j, x[0], x[1], x[2])
    g = times_unit(c, 0j, x[3], x[4], x[5])
    chosen = 0
    largest = 0.0
    for j in range(4):
        size = e[j].real * e[j].real + e[j].imag * e[j].imag
        if size > largest:
            largest = size
            chosen = j
    s = 1.0 if chosen == 0 else -1.0
    f = times_unit(chosen, e[0], e[1], e[2], e[3])
    h = times_unit(chosen, g[0], g[1], g[2], g[3])
    scale = s / (s * f[0])
    g0 = h[0] * scale
    x[0], x[1], x[2] = f[1] * scale, f[2] * scale, f[3] * scale
    x[3], x[4], x[5] = h[1] * scale - g0 * x[0], h[2] * scale - g0 * x[1], h[3] * scale - g0 * x[2]
    return chosen


@inline
def size_of(x: Complex, scale: float) -> float:
    """Return the largest entry of x = (r, v) in absolute value, v times `scale`."""
    largest = 0.0
    for j in range(6):
        size = x[j].real * x[j].real + x[j].imag * x[j].imag
        largest = max(largest, size if j < 3 else size * scale * scale)
    return math.sqrt(largest)


@inline
def inverse_norm(factors: Complex, pivots: Ints, column: Complex) -> float:
    """Return the Frobenius norm of the inverse of a factored matrix."""
    total = 0.0
    for k in range(6):
        for j in range(6):
            column[j] = 1.0 if j == k else 0.0
        solve(factors, pivots, column)
        for j in range(6):
            total += column[j].real * column[j].real + column[j].imag * column[j].imag
    return math.sqrt(total)


@inline
def track(
    table: Complex,
    chart: int,
    x: Complex,
    tolerance: float,
    acceptance: float,
    doubtful: float,
    max_steps: int,
    workspace: Complex,
    pivots: Ints,
    report: npt.NDArray[np.float64],
) -> tuple[int, int]:
    """Track x (6,) of `chart` from t = 0 to 1; return how it ended and the chart, x being the last point.

    Each step costs one factorization: the correction at a predicted point and the series from there share it. A step
    is as long as the last term of the series allows with `tolerance`, and rejected when the correction of the point
    that it leads to exceeds `acceptance`, in units of r and of the size of v. Ends whose condition number is below
    `doubtful` are regular when the first correction there is no more than rounding errors.
    """
    powers = workspace[:SERIES_ROWS]
    factors = workspace[SERIES_ROWS : SERIES_ROWS + 6]
    correction = workspace[SERIES_ROWS + 6]
    point = workspace[SERIES_ROWS + 7]
    rhs = workspace[SERIES_ROWS + 8]
    coefficients = workspace[SERIES_ROWS + 9 : SERIES_ROWS + 9 + COLUMNS].reshape(6, COLUMNS)
    chart = best_chart(chart, x)
    for j in range(6):
        point[j] = x[j]
    based = False  # whether `powers` holds the series of a point to fall back on
    base, stride, q, t = 0.0, 0.0, 0j, 0.0
    polish = 0
    contraction, before, first = 1.0, acceptance, 0.0
    code = TOO_LONG
    for j in range(4):
        report[j] = 0.0
    while report[N_STEPS] < max_steps:
        report[N_STEPS] += 1
        expand(table[chart], t, coefficients)
        evaluate(coefficients, point, correction, factors)
        norm = 0.0
        if t >= 1.0:
            for i in range(6):
                for j in range(6):
                    norm += factors[i, j].real * factors[i, j].real + factors[i, j].imag * factors[i, j].imag
        regular = factor(factors, pivots)
        error = np.inf
        scale = 1.0
        if regular:
            solve(factors, pivots, correction)
            for j in range(3, 6):
                scale = max(scale, abs(point[j].real) + abs(point[j].imag))
            scale = 1.0 / scale
            error = size_of(correction, scale)
        if polish == 0 and not error <= acceptance:
            report[N_REJECTED] += 1
            stride *= 0.5
            if not based or stride < _SHORTEST:
                code = STUCK if based else BAD_START
                break
            t = base + stride
            predict(powers, q, stride, point)
            continue
        if regular:
            for j in range(6):
                point[j] -= correction[j]
        if t >= 1.0:
            polish += 1
            if polish == 1:
                first = error
            contraction = min(contraction, error / before)
            if error < _ROUNDING or polish == _MAX_POLISH or (polish > 3 and not error < 0.5 * before):
                condition = math.sqrt(norm) * inverse_norm(factors, pivots, rhs) if regular else np.inf
                report[CONDITION] = condition
                # Quadratic convergence that ended in rounding errors tells a regular end from a multiple one. A point
                # predicted to rounding errors cannot show it: there the condition number tells.
                rounding = _ROUNDING * condition
                quadratic = contraction < _QUADRATIC or (condition < doubtful and first < rounding)
                code = ARRIVED if quadratic and error < max(_CONVERGED, rounding) else NOT_CONVERGED
                break
            before = error
            continue
        if size_of(point, 0.0) > _CHART:
            chart = best_chart(chart, point)
            based = False
            continue
        for j in range(6):
            powers[0, j] = point[j]
        series(coefficients, factors, pivots, powers, rhs)
        q = inverse_pole(powers, scale)
        stride = (tolerance / (last_term(powers, q, scale) + 1e-300)) ** (1.0 / ORDER)
        stride = min(stride, _POLE_SHARE / (abs(q) + 1e-300))
        rest = 1.0 - t
        if stride < rest and stride > 0.7 * rest:
            stride = 0.6 * rest
        stride = min(stride, rest)
        if not stride > _SHORTEST:
            code = STUCK
            break
        base = t
        based = True
        t = 1.0 if stride == rest else t + stride
        predict(powers, q, stride, point)
    report[T_END] = t if code in (ARRIVED, NOT_CONVERGED) else base
    for j in range(6):
        x[j] = point[j] if code in (ARRIVED, NOT_CONVERGED) else powers[0, j]
    return code, chart


@complex_kernel(
    "(complex128[:, ::1], complex128[:, ::1], int64[::1], complex128[:, ::1], float64, float64, float64, int64, "
    "int64[::1], float64[:, ::1])"
)
def track_all(
    start: Complex,
    end: Complex,
    charts: Ints,
    points: Complex,
    tolerance: float,
    acceptance: float,
    doubtful: float,
    max_steps: int,
    codes: Ints,
    reports: npt.NDArray[np.float64],
) -> None:
    """Track the points (n, 6) of `charts` (n,) from platform `start` (7, 6) to `end`, in place.

    Paths whose code is ARRIVED on entry are left alone.
    """
    table = np.zeros((4, 6, COLUMNS), np.complex128)
    fill_table(table, start, end)
    workspace = np.zeros((SERIES_ROWS + 9 + COLUMNS, 6), np.complex128)
    pivots = np.zeros(6, np.int64)
    for n in range(len(points)):
        if codes[n] != ARRIVED:
            codes[n], charts[n] = track(
                table, charts[n], points[n], tolerance, acceptance, doubtful, max_steps, workspace, pivots, reports[n]
            )


@complex_kernel("(complex128[:, ::1], int64, complex128[::1], complex128[::1], complex128[:, ::1])")
def equations(platform: Complex, chart: int, x: Complex, f: Complex, jacobian: Complex) -> None:
    """Write the six polynomials (6,) and their Jacobian (6, 6) at x = (r, v) of a chart."""
    table = np.zeros((4, 6, COLUMNS), np.complex128)
    coefficients = np.zeros((6, COLUMNS), np.complex128)
    fill_table(table, platform, platform)
    expand(table[chart], 0.0, coefficients)
    evaluate(coefficients, x, f, jacobian)
