"""Taylor series of a solution path, and its prediction by a rational function with one pole."""

from __future__ import annotations

import math

from ....engine.compile import inline
from .equations import A0, A1, B0, B1, D1, KM, KP, M1, M2, S0, S1, Complex, Ints, solve

#: Terms of the series beyond the constant one; seven made whole solves fastest.
ORDER = 7
#: Rows of the workspace that `series` needs, each of 6 numbers.
SERIES_ROWS = 5 * (ORDER + 1)

_W = ORDER + 1  # r x v, 3 columns
_P = 2 * (ORDER + 1)  # r . r, 1 column
_RA = 3 * (ORDER + 1)  # r . a of each leg, 5 columns
_RB = 4 * (ORDER + 1)  # r . b of each leg, 5 columns


@inline
def series(c: Complex, factors: Complex, pivots: Ints, x: Complex, rhs: Complex) -> None:
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
