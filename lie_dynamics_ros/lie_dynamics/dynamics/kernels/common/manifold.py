"""Steps along the configuration manifold, for one state, inside kernels."""

from __future__ import annotations

import numpy as np

from ....engine.compile import inline, outline
from ....model.layout import AXIS, FREE, KIND, N_V, Q_INDEX, SPHERICAL
from .joints import quaternion_matrix
from .spatial import add, cross, rotate, scale, twist_cross

_SERIES = 0.25  # below this squared angle the closed forms lose digits and the series is exact to the last


@inline
def sine_over_angle(t):
    """Return sin(a) / a for a^2 = t."""
    if t < _SERIES:
        return 1.0 - t / 6.0 * (1.0 - t / 20.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0 * (1.0 - t / 110.0))))
    a = np.sqrt(t)
    return np.sin(a) / a


@inline
def left_coefficients(t):
    """Return (1 - cos a) / a^2 and (a - sin a) / a^3 for a^2 = t: the left Jacobian is 1 + b [w] + c [w]^2."""
    if t < _SERIES:
        b = 0.5 - t / 24.0 * (1.0 - t / 30.0 * (1.0 - t / 56.0 * (1.0 - t / 90.0 * (1.0 - t / 132.0))))
        c = 1.0 / 6.0 - t / 120.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0 * (1.0 - t / 110.0 * (1.0 - t / 156.0))))
        return b, c
    a = np.sqrt(t)
    half = np.sin(0.5 * a)
    return 2.0 * half * half / t, (a - np.sin(a)) / (a * t)


@inline
def turned(x, y, z, w, r):
    """Return the quaternion (x, y, z, w) times exp(r), normalised."""
    t = 0.25 * (r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    s, c = 0.5 * sine_over_angle(t), np.cos(np.sqrt(t))
    ex, ey, ez = s * r[0], s * r[1], s * r[2]
    nx = w * ex + x * c + y * ez - z * ey
    ny = w * ey + y * c + z * ex - x * ez
    nz = w * ez + z * c + x * ey - y * ex
    nw = w * c - x * ex - y * ey - z * ez
    n = 1.0 / np.sqrt(nx * nx + ny * ny + nz * nz + nw * nw)
    return n * nx, n * ny, n * nz, n * nw


@outline
def move(rows, q, v, h, out):
    """Write q exp(h v) to `out`, which may be `q`: `Model.integrate` for models without user-defined joints."""
    for i in range(1, int(rows[0, N_V]) + 1):
        kind, j = rows[i, KIND], int(rows[i, Q_INDEX])
        if kind == AXIS:
            out[j] = q[j] + h * v[i - 1]
        elif kind == SPHERICAL or kind == FREE:
            x, y, z, w = q[j], q[j + 1], q[j + 2], q[j + 3]
            r = (h * v[i - 1], h * v[i], h * v[i + 1])
            out[j], out[j + 1], out[j + 2], out[j + 3] = turned(x, y, z, w, r)
            if kind == FREE:
                b, c = left_coefficients(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
                d = (h * v[i + 2], h * v[i + 3], h * v[i + 4])
                bent = cross(r, d)
                d = add(d, add(scale(b, bent), scale(c, cross(r, bent))))
                d = rotate(quaternion_matrix(x, y, z, w), d)
                out[j + 4], out[j + 5], out[j + 6] = q[j + 4] + d[0], q[j + 5] + d[1], q[j + 6] + d[2]


@outline
def tangent_rate(rows, u, qd, out):
    """Write the rate of u in q = q0 exp(u) for the velocity qd, up to third order in u.

    It is the inverse of the right Jacobian, 1 + ad_u / 2 + ad_u^2 / 12 - ..., which suffices for order four.
    """
    for i in range(1, int(rows[0, N_V]) + 1):
        kind = rows[i, KIND]
        if kind == AXIS:
            out[i - 1] = qd[i - 1]
        elif kind == SPHERICAL or kind == FREE:
            a, w = (u[i - 1], u[i], u[i + 1]), (qd[i - 1], qd[i], qd[i + 1])
            b, v = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
            if kind == FREE:
                b, v = (u[i + 2], u[i + 3], u[i + 4]), (qd[i + 2], qd[i + 3], qd[i + 4])
            fw, fv = twist_cross(a, b, w, v)
            sw, sv = twist_cross(a, b, fw, fv)
            for k in range(3):
                out[i - 1 + k] = w[k] + 0.5 * fw[k] + sw[k] / 12.0
                if kind == FREE:
                    out[i + 2 + k] = v[k] + 0.5 * fv[k] + sv[k] / 12.0
