"""Tracking of solution paths from one complex Stewart platform to another."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ....arrays import Complex, Integers
from ....engine.compile import COMPILED, inline, kernel
from .equations import A0, A1, B0, B1, COLUMNS, D1, KM, KP, M1, M2, S0, S1, evaluate, expand, factor, fill_table, solve

# Taylor series of a solution path, and its prediction by a rational function with one pole.

# Entry points of the complex solver: kernels with complex arrays and single numbers among their arguments.


def complex_kernel(*signatures: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile as `kernel` does, whose plain-Python check knows real arrays only: here it takes what comes."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if COMPILED:
            return kernel(*signatures)(function)

        @functools.wraps(function)
        def interpreted(*args: Any) -> Any:
            with np.errstate(all="ignore"):  # what is not finite is told by the codes of the paths
                return function(*args)

        return interpreted

    return decorate


#: Terms of the series beyond the constant one; seven made whole solves fastest.
ORDER = 7
#: Rows of the workspace that `series` needs, each of 6 numbers.
SERIES_ROWS = 5 * (ORDER + 1)

_W = ORDER + 1  # r x v, 3 columns
_P = 2 * (ORDER + 1)  # r . r, 1 column
_RA = 3 * (ORDER + 1)  # r . a of each leg, 5 columns
_RB = 4 * (ORDER + 1)  # r . b of each leg, 5 columns


@inline
def series(c: Complex, factors: Complex, pivots: Integers, x: Complex, rhs: Complex) -> None:
    """Extend x[0] (6,) to the series x[0] + x[1] h + ... of the path f(x(h), h) = 0, by powers.

    Order n of f is J x_n plus terms of lower order, so each order is one solve with the factors of the Jacobian at
    h = 0. `c` holds the coefficients about this point, `x` (SERIES_ROWS, 6) also takes the intermediate series.
    """
    r0, r1, r2 = x[0, 0], x[0, 1], x[0, 2]
    v0, v1, v2 = x[0, 3], x[0, 4], x[0, 5]
    w00, w01, w02 = r1 * v2 - r2 * v1, r2 * v0 - r0 * v2, r0 * v1 - r1 * v0
    x[_P, 0] = r0 * r0 + r1 * r1 + r2 * r2
    x[_W, 0], x[_W, 1], x[_W, 2] = w00, w01, w02
    for i in range(5):
        x[_RA, i] = r0 * c[i, A0] + r1 * c[i, A0 + 1] + r2 * c[i, A0 + 2]
        x[_RB, i] = r0 * c[i, B0] + r1 * c[i, B0 + 1] + r2 * c[i, B0 + 2]
    u = 1.0 + x[_P, 0]
    for n in range(1, ORDER + 1):
        # Order n of r.r, r x v, v.v, (r x v).(r x v) and (r.r)^2, as far as known without x_n.
        rr, vv, ww, pp = 0j, 0j, 0j, 0j
        w0, w1, w2 = 0j, 0j, 0j
        for j in range(1, n):
            q = n - j
            s0, s1, s2 = x[j, 0], x[j, 1], x[j, 2]
            y0, y1, y2 = x[q, 3], x[q, 4], x[q, 5]
            rr += s0 * x[q, 0] + s1 * x[q, 1] + s2 * x[q, 2]
            w0 += s1 * y2 - s2 * y1
            w1 += s2 * y0 - s0 * y2
            w2 += s0 * y1 - s1 * y0
            vv += x[j, 3] * y0 + x[j, 4] * y1 + x[j, 5] * y2
            ww += x[_W + j, 0] * x[_W + q, 0] + x[_W + j, 1] * x[_W + q, 1] + x[_W + j, 2] * x[_W + q, 2]
            pp += x[_P + j, 0] * x[_P + q, 0]
        s0, s1, s2 = x[n - 1, 0], x[n - 1, 1], x[n - 1, 2]
        y0, y1, y2 = x[n - 1, 3], x[n - 1, 4], x[n - 1, 5]
        z0, z1, z2 = x[_W + n - 1, 0], x[_W + n - 1, 1], x[_W + n - 1, 2]
        before = x[_P + n - 1, 0]
        for i in range(5):
            ra = s0 * c[i, A1] + s1 * c[i, A1 + 1] + s2 * c[i, A1 + 2]
            rb = s0 * c[i, B1] + s1 * c[i, B1 + 1] + s2 * c[i, B1 + 2]
            f = c[i, KP] * rr + c[i, KP + 1] * before - x[_RA, i] * rb - ra * x[_RB, i]
            for j in range(1, n):
                f -= x[_RA + j, i] * x[_RB + n - j, i]
            f -= s0 * c[i, M1] + s1 * c[i, M1 + 1] + s2 * c[i, M1 + 2]
            f += y0 * c[i, D1] + y1 * c[i, D1 + 1] + y2 * c[i, D1 + 2]
            f -= c[i, S0] * w0 + c[i, S0 + 1] * w1 + c[i, S0 + 2] * w2
            f -= c[i, S1] * z0 + c[i, S1 + 1] * z1 + c[i, S1 + 2] * z2
            if n == 1:
                f += c[i, KM + 1]
            else:
                if n == 2:
                    f += c[i, KM + 2]
                f += c[i, KP + 2] * x[_P + n - 2, 0]
                f -= x[n - 2, 0] * c[i, M2] + x[n - 2, 1] * c[i, M2 + 1] + x[n - 2, 2] * c[i, M2 + 2]
            x[_RA + n, i], x[_RB + n, i] = ra, rb
            rhs[i] = -f
        square = u * u  # order n - 1 of (1 + r.r)^2
        if n > 1:
            square = 2.0 * u * before
            for j in range(1, n - 1):
                square += x[_P + j, 0] * x[_P + n - 1 - j, 0]
        crossed = w00 * w0 + w01 * w1 + w02 * w2
        rhs[5] = c[5, 0] * (2.0 * u * rr + pp) + c[5, 1] * square - vv - ww - 2.0 * crossed
        solve(factors, pivots, rhs)
        for j in range(6):
            x[n, j] = rhs[j]
        s0, s1, s2 = rhs[0], rhs[1], rhs[2]
        y0, y1, y2 = rhs[3], rhs[4], rhs[5]
        x[_P + n, 0] = rr + 2.0 * (r0 * s0 + r1 * s1 + r2 * s2)
        x[_W + n, 0] = w0 + r1 * y2 - r2 * y1 + s1 * v2 - s2 * v1
        x[_W + n, 1] = w1 + r2 * y0 - r0 * y2 + s2 * v0 - s0 * v2
        x[_W + n, 2] = w2 + r0 * y1 - r1 * y0 + s0 * v1 - s1 * v0
        for i in range(5):
            x[_RA + n, i] += s0 * c[i, A0] + s1 * c[i, A0 + 1] + s2 * c[i, A0 + 2]
            x[_RB + n, i] += s0 * c[i, B0] + s1 * c[i, B0 + 1] + s2 * c[i, B0 + 2]


@inline
def inverse_pole(x: Complex, scale: float) -> complex:
    """Return q such that (1 - q h) x(h) has the smallest last term; `scale` weighs v."""
    above = 0j
    below = 1e-300
    for j in range(6):
        weight = 1.0 if j < 3 else scale * scale
        z = x[ORDER - 1, j]
        above += weight * x[ORDER, j] * complex(z.real, -z.imag)
        below += weight * (z.real * z.real + z.imag * z.imag)
    return above / below


@inline
def last_term(x: Complex, q: complex, scale: float) -> float:
    """Return the size of the last term of (1 - q h) x(h)."""
    largest = 0.0
    for j in range(6):
        z = x[ORDER, j] - q * x[ORDER - 1, j]
        size = z.real * z.real + z.imag * z.imag
        largest = max(largest, size if j < 3 else size * scale * scale)
    return math.sqrt(largest)


@inline
def predict(x: Complex, q: complex, h: float, y: Complex) -> None:
    """Write x(h) by the rational function."""
    inverse = 1.0 / (1.0 - q * h)
    for j in range(6):
        z = x[ORDER, j] - q * x[ORDER - 1, j]
        for n in range(ORDER - 1, 0, -1):
            z = z * h + (x[n, j] - q * x[n - 1, j])
        y[j] = (z * h + x[0, j]) * inverse


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
def inverse_norm(factors: Complex, pivots: Integers, column: Complex) -> float:
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
    pivots: Integers,
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
    charts: Integers,
    points: Complex,
    tolerance: float,
    acceptance: float,
    doubtful: float,
    max_steps: int,
    codes: Integers,
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
