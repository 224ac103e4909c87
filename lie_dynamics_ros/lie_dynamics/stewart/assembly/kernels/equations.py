"""The forward kinematics of a Stewart platform as six polynomials, along a line in the space of platforms.

Unknowns. A rotation is the quaternion e = (1, r), r complex; the dual part of the pose's Study point is taken modulo e
as g = (0, v). Then R b = ((1 - r.r) b + 2 r (r.b) + 2 r x b) / (1 + r.r), p = 2 (v + r x v) / (1 + r.r), and with leg 1
at the origin of both frames the six leg quadrics, with e.g = 0 used up, are

    legs 2..6:  f_i = k- + k+ (r.r) - (r.a)(r.b) - r.(b x a) + v.(b - a) - (r x v).(a + b),
    leg 1:      f_6 = v.v + (r x v).(r x v) - l (1 + r.r)^2,

k+- = (k_i +- a.b) / 2, k_i = (|a_i|^2 + |b_i|^2 + L_1^2 - L_i^2) / 2 and l = L_1^2 / 4. Poses at infinity are those
with 1 + r.r = 0. Half turns, where r is infinite, are met by four charts: chart c is e u_c with u = 1, i, j, k, which
flips signs of the platform's coordinates.

Along a line a(t) = a0 + t a1, b(t) = b0 + t b1, k(t), l(t), the coefficients of f_i are polynomials in t. A row of a
table holds those of one leg; the row layout is named below.
"""

from __future__ import annotations

from ....arrays import Complex, Integers
from ....engine.compile import inline

# Columns of a leg: value, first and second coefficient in t, as far as they exist.
A0, A1, B0, B1 = 0, 3, 6, 9
KP, KM = 12, 15  # three coefficients each
M0, M1, M2 = 18, 21, 24  # b x a
D0, D1 = 27, 30  # b - a
S0, S1 = 33, 36  # a + b
COLUMNS = 39


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
