"""The error of a pose on SE(3) and the motion desired, as seen from the actual frame: one call for a controller."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...dynamics.kernels.common.spatial import add, cross, dot, matmul, rotate, scale, sub, twist_cross, unrotate
from ...engine.compile import inline, kernel
from ...model.layout import BAD_SHAPE, NOT_FINITE, OK

# What is given after the poses: V_d, its rate, V. What is written: e, de, the rate that the frame's twist is to have.
GIVEN_SIZE, FOUND_SIZE = 18, 18
BAD_POSE = 102  # status: the desired pose is no rigid motion
TOLERANCE = 1e-6  # of R^T R, as in so3
_SERIES = 0.25  # below this squared angle the closed forms lose digits


@inline
def rotation_vector(r):
    """Return the logarithm of a rotation, by the quaternion's largest component; at half a turn one of the two."""
    trace = r[0] + r[4] + r[8]
    if trace >= max(r[0], r[4], r[8]):
        w, x, y, z = 1.0 + trace, r[7] - r[5], r[2] - r[6], r[3] - r[1]
    elif r[0] >= r[4] and r[0] >= r[8]:
        w, x, y, z = r[7] - r[5], 1.0 + r[0] - r[4] - r[8], r[1] + r[3], r[2] + r[6]
    elif r[4] >= r[8]:
        w, x, y, z = r[2] - r[6], r[1] + r[3], 1.0 + r[4] - r[8] - r[0], r[5] + r[7]
    else:
        w, x, y, z = r[3] - r[1], r[2] + r[6], r[5] + r[7], 1.0 + r[8] - r[0] - r[4]
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = np.sqrt(x * x + y * y + z * z)  # of half the angle, as w is its cosine, times one factor
    factor = 2.0 * np.arctan2(sine, w) / sine if sine > 1e-12 * w else 2.0 / w
    return factor * x, factor * y, factor * z


@inline
def inverse_coefficients(t):
    """Return d = (1 - a/2 cot(a/2)) / a^2 and d'(a) / a for a^2 = t: J_l^-1 of SO(3) is 1 - [w] / 2 + d [w]^2."""
    if t < _SERIES:
        d = 1.0 / 12.0 + t * (1.0 / 720.0 + t * (1.0 / 30240.0 + t * (1.0 / 1209600.0 + t / 47900160.0)))
        slope = 1.0 / 360.0 + t * (4.0 / 30240.0 + t * (6.0 / 1209600.0 + t * 8.0 / 47900160.0))
        return d, slope
    h = 0.5 * np.sqrt(t)
    sine = np.sin(h)
    cot = np.cos(h) / sine
    d = (1.0 - h * cot) / t
    return d, (h / (sine * sine) - cot) / (4.0 * h * t) - 2.0 * d / t


@inline
def _is_rigid(T):
    """Tell whether a matrix (4, 4) is a rigid motion, within `TOLERANCE`."""
    x, y, z = (T[0, 0], T[1, 0], T[2, 0]), (T[0, 1], T[1, 1], T[2, 1]), (T[0, 2], T[1, 2], T[2, 2])
    off = max(abs(dot(x, x) - 1.0), abs(dot(y, y) - 1.0), abs(dot(z, z) - 1.0))
    off = max(off, abs(dot(x, y)), abs(dot(y, z)), abs(dot(z, x)))
    last = T[3, 0] == 0.0 and T[3, 1] == 0.0 and T[3, 2] == 0.0 and T[3, 3] == 1.0
    return last and off <= TOLERANCE and dot(cross(x, y), z) > 0.0


@kernel("(float64[:,::1], float64[:,::1], float64[::1], float64[::1], float64[:,::1])", quick=True)
def pose_error(pose: Array, desired: Array, given: Array, out: Array, slope: Array) -> int:
    """Write e, de and dV of a pose (4, 4) and a desired one to `out`, J_l(e)^-1 (6, 6) to `slope`; return a status.

    With E = T^-1 T_d = exp(e): de = Ad_E V_d - V, and dV = Ad_E dV_d + ad_de Ad_E V_d is the rate of Ad_E V_d.
    """
    if pose.size != 16 or desired.size != 16 or given.size != GIVEN_SIZE or out.size != FOUND_SIZE:
        return BAD_SHAPE
    if slope.size != 36:
        return BAD_SHAPE
    if not _is_rigid(desired):
        return BAD_POSE
    R = (pose[0, 0], pose[0, 1], pose[0, 2], pose[1, 0], pose[1, 1], pose[1, 2], pose[2, 0], pose[2, 1], pose[2, 2])
    columns = (
        unrotate(R, (desired[0, 0], desired[1, 0], desired[2, 0])),
        unrotate(R, (desired[0, 1], desired[1, 1], desired[2, 1])),
        unrotate(R, (desired[0, 2], desired[1, 2], desired[2, 2])),
    )
    E = (
        columns[0][0], columns[1][0], columns[2][0],
        columns[0][1], columns[1][1], columns[2][1],
        columns[0][2], columns[1][2], columns[2][2],
    )  # fmt: skip
    p = unrotate(R, (desired[0, 3] - pose[0, 3], desired[1, 3] - pose[1, 3], desired[2, 3] - pose[2, 3]))
    w = rotation_vector(E)
    d, dd = inverse_coefficients(dot(w, w))
    wp = cross(w, p)
    v = add(sub(p, scale(0.5, wp)), scale(d, cross(w, wp)))
    rw = rotate(E, (given[0], given[1], given[2]))
    rv = add(rotate(E, (given[3], given[4], given[5])), cross(p, rw))
    aw = rotate(E, (given[6], given[7], given[8]))
    av = add(rotate(E, (given[9], given[10], given[11])), cross(p, aw))
    dw, dv = sub(rw, (given[12], given[13], given[14])), sub(rv, (given[15], given[16], given[17]))
    bw, bv = twist_cross(dw, dv, rw, rv)
    aw, av = add(aw, bw), add(av, bv)
    W = (0.0, -w[2], w[1], w[2], 0.0, -w[0], -w[1], w[0], 0.0)
    X = (0.0, -v[2], v[1], v[2], 0.0, -v[0], -v[1], v[0], 0.0)
    WW, WX, XW = matmul(W, W), matmul(W, X), matmul(X, W)
    turn = dd * dot(w, v)
    for i in range(3):
        out[i], out[3 + i], out[6 + i], out[9 + i], out[12 + i], out[15 + i] = w[i], v[i], dw[i], dv[i], aw[i], av[i]
        for j in range(3):
            k = 3 * i + j
            slope[i, j] = slope[3 + i, 3 + j] = -0.5 * W[k] + d * WW[k]
            slope[3 + i, j] = -0.5 * X[k] + d * (WX[k] + XW[k]) + turn * WW[k]
            slope[i, 3 + j] = 0.0
        slope[i, i] += 1.0
        slope[3 + i, 3 + i] += 1.0
    total = 0.0
    for k in range(FOUND_SIZE):
        total += out[k] * 0.0
    return OK if total == 0.0 else NOT_FINITE
