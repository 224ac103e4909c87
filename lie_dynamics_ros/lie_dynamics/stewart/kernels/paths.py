"""Tracking of solution paths from one complex Stewart platform to another.

Forward kinematics is six polynomials, along a line in the space of platforms. A rotation is the quaternion e = (1, r),
r complex; the dual part of the pose's Study point is taken modulo e as g = (0, v). Then
R b = ((1 - r.r) b + 2 r (r.b) + 2 r x b) / (1 + r.r), p = 2 (v + r x v) / (1 + r.r), and with leg 1 at the origin of
both frames the six leg quadrics, with e.g = 0 used up, are

    legs 2..6:  f_i = k- + k+ (r.r) - (r.a)(r.b) - r.(b x a) + v.(b - a) - (r x v).(a + b),
    leg 1:      f_6 = v.v + (r x v).(r x v) - l (1 + r.r)^2,

k+- = (k_i +- a.b) / 2, k_i = (|a_i|^2 + |b_i|^2 + L_1^2 - L_i^2) / 2 and l = L_1^2 / 4. Poses at infinity are those
with 1 + r.r = 0. Half turns, where r is infinite, are met by four charts: chart c is e u_c with u = 1, i, j, k, which
flips signs of the platform's coordinates.

Along a line a(t) = a0 + t a1, b(t) = b0 + t b1, k(t), l(t), the coefficients of f_i are polynomials in t. A row of a
table holds those of one leg; the row layout is named below.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays import Array, Complex, Integers
from ...engine.compile import COMPILED, inline, kernel

# Columns of a leg: value, first and second coefficient in t, as far as they exist.
A0, A1, B0, B1 = 0, 3, 6, 9
KP, KM = 12, 15  # three coefficients each
M0, M1, M2 = 18, 21, 24  # b x a
D0, D1 = 27, 30  # b - a
S0, S1 = 33, 36  # a + b
COLUMNS = 39
#: Settings of a path.
PATH_TOLERANCE, PATH_ACCEPTANCE, PATH_DOUBTFUL, PATH_STEPS = range(4)


@inline
def fill_table(table: Complex, start: Complex, end: Complex) -> None:
    """Write the tables (4, 6, COLUMNS) of the four charts for a line from `start` to `end`.

    A platform is (7, 6): rows 0 to 4 hold a, b of legs 2 to 6, row 5 their k and row 6 (l, ...).
    """
    for chart in range(4):
        for i in range(5):
            c = table[chart, i]
            for j in range(3):
                sign = 1.0 if chart == 0 or chart == j + 1 else -1.0
                c[A0 + j] = start[i, j]
                c[A1 + j] = end[i, j] - start[i, j]
                c[B0 + j] = sign * start[i, 3 + j]
                c[B1 + j] = sign * (end[i, 3 + j] - start[i, 3 + j])
                for n in (0, 3):
                    c[D0 + n + j] = c[B0 + n + j] - c[A0 + n + j]
                    c[S0 + n + j] = c[B0 + n + j] + c[A0 + n + j]
            dot0, dot1, dot2 = 0j, 0j, 0j
            for j in range(3):
                dot0 += c[A0 + j] * c[B0 + j]
                dot1 += c[A0 + j] * c[B1 + j] + c[A1 + j] * c[B0 + j]
                dot2 += c[A1 + j] * c[B1 + j]
                n, q = (j + 1) % 3, (j + 2) % 3
                c[M0 + j] = c[B0 + n] * c[A0 + q] - c[B0 + q] * c[A0 + n]
                c[M1 + j] = c[B0 + n] * c[A1 + q] - c[B0 + q] * c[A1 + n]
                c[M1 + j] += c[B1 + n] * c[A0 + q] - c[B1 + q] * c[A0 + n]
                c[M2 + j] = c[B1 + n] * c[A1 + q] - c[B1 + q] * c[A1 + n]
            k0, k1 = start[5, i], end[5, i] - start[5, i]
            c[KP], c[KP + 1], c[KP + 2] = 0.5 * (k0 + dot0), 0.5 * (k1 + dot1), 0.5 * dot2
            c[KM], c[KM + 1], c[KM + 2] = 0.5 * (k0 - dot0), 0.5 * (k1 - dot1), -0.5 * dot2
        table[chart, 5, 0] = start[6, 0]
        table[chart, 5, 1] = end[6, 0] - start[6, 0]


@inline
def expand(table: Complex, t: float, c: Complex) -> None:
    """Write the coefficients about t (6, COLUMNS): those of the polynomials in h = t' - t."""
    for i in range(5):
        for j in range(3):
            c[i, A0 + j] = table[i, A0 + j] + t * table[i, A1 + j]
            c[i, A1 + j] = table[i, A1 + j]
            c[i, B0 + j] = table[i, B0 + j] + t * table[i, B1 + j]
            c[i, B1 + j] = table[i, B1 + j]
            c[i, D0 + j] = table[i, D0 + j] + t * table[i, D1 + j]
            c[i, D1 + j] = table[i, D1 + j]
            c[i, S0 + j] = table[i, S0 + j] + t * table[i, S1 + j]
            c[i, S1 + j] = table[i, S1 + j]
            c[i, M0 + j] = table[i, M0 + j] + t * (table[i, M1 + j] + t * table[i, M2 + j])
            c[i, M1 + j] = table[i, M1 + j] + 2.0 * t * table[i, M2 + j]
            c[i, M2 + j] = table[i, M2 + j]
        for k in (KP, KM):
            c[i, k] = table[i, k] + t * (table[i, k + 1] + t * table[i, k + 2])
            c[i, k + 1] = table[i, k + 1] + 2.0 * t * table[i, k + 2]
            c[i, k + 2] = table[i, k + 2]
    c[5, 0] = table[5, 0] + t * table[5, 1]
    c[5, 1] = table[5, 1]


@inline
def evaluate(c: Complex, x: Complex, f: Complex, jacobian: Complex) -> None:
    """Write f (6,) and its Jacobian (6, 6) at x = (r, v), for the constant coefficients of `c`."""
    r0, r1, r2 = x[0], x[1], x[2]
    v0, v1, v2 = x[3], x[4], x[5]
    rho = r0 * r0 + r1 * r1 + r2 * r2
    w0, w1, w2 = r1 * v2 - r2 * v1, r2 * v0 - r0 * v2, r0 * v1 - r1 * v0
    for i in range(5):
        a0, a1, a2 = c[i, A0], c[i, A0 + 1], c[i, A0 + 2]
        b0, b1, b2 = c[i, B0], c[i, B0 + 1], c[i, B0 + 2]
        m0, m1, m2 = c[i, M0], c[i, M0 + 1], c[i, M0 + 2]
        d0, d1, d2 = c[i, D0], c[i, D0 + 1], c[i, D0 + 2]
        s0, s1, s2 = c[i, S0], c[i, S0 + 1], c[i, S0 + 2]
        ra = r0 * a0 + r1 * a1 + r2 * a2
        rb = r0 * b0 + r1 * b1 + r2 * b2
        turned = c[i, KM] + c[i, KP] * rho - ra * rb - (r0 * m0 + r1 * m1 + r2 * m2)
        f[i] = turned + (v0 * d0 + v1 * d1 + v2 * d2) - (s0 * w0 + s1 * w1 + s2 * w2)
        k2 = 2.0 * c[i, KP]
        jacobian[i, 0] = k2 * r0 - a0 * rb - b0 * ra - m0 - (v1 * s2 - v2 * s1)
        jacobian[i, 1] = k2 * r1 - a1 * rb - b1 * ra - m1 - (v2 * s0 - v0 * s2)
        jacobian[i, 2] = k2 * r2 - a2 * rb - b2 * ra - m2 - (v0 * s1 - v1 * s0)
        jacobian[i, 3] = d0 - (s1 * r2 - s2 * r1)
        jacobian[i, 4] = d1 - (s2 * r0 - s0 * r2)
        jacobian[i, 5] = d2 - (s0 * r1 - s1 * r0)
    u = 1.0 + rho
    lu = c[5, 0] * u
    f[5] = v0 * v0 + v1 * v1 + v2 * v2 + w0 * w0 + w1 * w1 + w2 * w2 - lu * u
    jacobian[5, 0] = 2.0 * (v1 * w2 - v2 * w1) - 4.0 * lu * r0
    jacobian[5, 1] = 2.0 * (v2 * w0 - v0 * w2) - 4.0 * lu * r1
    jacobian[5, 2] = 2.0 * (v0 * w1 - v1 * w0) - 4.0 * lu * r2
    jacobian[5, 3] = 2.0 * (v0 + w1 * r2 - w2 * r1)
    jacobian[5, 4] = 2.0 * (v1 + w2 * r0 - w0 * r2)
    jacobian[5, 5] = 2.0 * (v2 + w0 * r1 - w1 * r0)


@inline
def factor(m: Complex, pivots: Integers) -> bool:
    """Replace a matrix (6, 6) by its LU factors with row exchanges, inverse pivots on the diagonal; False: singular."""
    for k in range(6):
        chosen = k
        largest = 0.0
        for i in range(k, 6):
            z = m[i, k]
            size = z.real * z.real + z.imag * z.imag
            if size > largest:
                largest = size
                chosen = i
        pivots[k] = chosen
        if not largest > 0.0:
            return False
        if chosen != k:
            for j in range(6):
                z = m[k, j]
                m[k, j] = m[chosen, j]
                m[chosen, j] = z
        z = m[k, k]
        inverse = complex(z.real / largest, -z.imag / largest)
        m[k, k] = inverse
        for i in range(k + 1, 6):
            ratio = m[i, k] * inverse
            m[i, k] = ratio
            for j in range(k + 1, 6):
                m[i, j] -= ratio * m[k, j]
    return True


@inline
def solve(m: Complex, pivots: Integers, x: Complex) -> None:
    """Replace a right-hand side (6,) by the solution, for the factors of `factor`."""
    for k in range(6):
        p = pivots[k]
        if p != k:
            z = x[k]
            x[k] = x[p]
            x[p] = z
    for i in range(1, 6):
        z = x[i]
        for j in range(i):
            z -= m[i, j] * x[j]
        x[i] = z
    for i in range(5, -1, -1):
        z = x[i]
        for j in range(i + 1, 6):
            z -= m[i, j] * x[j]
        x[i] = z * m[i, i]


# Taylor series of a solution path, and its prediction by a rational function with one pole.

# Entry points of the complex solver: kernels with complex arrays and single numbers among their arguments.


def complex_kernel(*signatures: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile as `kernel` does, whose plain-Python check knows real arrays only: here it takes what comes."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if COMPILED:
            return kernel(*signatures)(function)

        @functools.wraps(function)
        def interpreted(*args: Any) -> Any:
            with np.errstate(all="ignore"):  # the codes of the paths report what is not finite
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
    settings: Array,
    workspace: Complex,
    pivots: Integers,
    report: Array,
) -> tuple[int, int]:
    """Track x (6,) of `chart` from t = 0 to 1; return how it ended and the chart, x being the last point.

    Each step costs one factorization: the correction at a predicted point and the series from there share it. A step
    is as long as the last term of the series allows with PATH_TOLERANCE, and rejected when the correction of the point
    that it leads to exceeds PATH_ACCEPTANCE, in units of r and of the size of v. Ends whose condition number is below
    PATH_DOUBTFUL are regular when the first correction there is no more than rounding errors.
    """
    tolerance, acceptance = settings[PATH_TOLERANCE], settings[PATH_ACCEPTANCE]
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
    while report[N_STEPS] < settings[PATH_STEPS]:
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
                # Quadratic convergence down to rounding errors sets a regular end apart from a multiple one. A point
                # predicted to rounding errors cannot show it: there the condition number decides.
                rounding = _ROUNDING * condition
                quadratic = contraction < _QUADRATIC or (condition < settings[PATH_DOUBTFUL] and first < rounding)
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
    "(complex128[:, ::1], complex128[:, ::1], int64[::1], complex128[:, ::1], float64[::1], int64[::1], "
    "float64[:, ::1])"
)
def track_all(
    start: Complex,
    end: Complex,
    charts: Integers,
    points: Complex,
    settings: Array,
    codes: Integers,
    reports: Array,
) -> None:
    """Track the points (n, 6) of `charts` (n,) from platform `start` (7, 6) to `end`, in place.

    Paths whose code is ARRIVED on entry are left alone. `settings` (4,) are those of `track`.
    """
    table = np.zeros((4, 6, COLUMNS), np.complex128)
    fill_table(table, start, end)
    workspace = np.zeros((SERIES_ROWS + 9 + COLUMNS, 6), np.complex128)
    pivots = np.zeros(6, np.int64)
    for n in range(len(points)):
        if codes[n] != ARRIVED:
            codes[n], charts[n] = track(table, charts[n], points[n], settings, workspace, pivots, reports[n])


@complex_kernel("(complex128[:, ::1], int64, complex128[::1], complex128[::1], complex128[:, ::1])")
def equations(platform: Complex, chart: int, x: Complex, f: Complex, jacobian: Complex) -> None:
    """Write the six polynomials (6,) and their Jacobian (6, 6) at x = (r, v) of a chart."""
    table = np.zeros((4, 6, COLUMNS), np.complex128)
    coefficients = np.zeros((6, COLUMNS), np.complex128)
    fill_table(table, platform, platform)
    expand(table[chart], 0.0, coefficients)
    evaluate(coefficients, x, f, jacobian)
