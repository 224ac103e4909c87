"""Refining real poses of a Stewart platform to rounding error, each with a proof that it exists."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Array
from ...engine.compile import inline, kernel, outline
from ...lie.kernels.quaternions import Quaternion, multiply
from .newton import (
    CORRECTION,
    INVERSE,
    LIPSCHITZ,
    MISFIT,
    POSITION,
    QUATERNION,
    RADIUS,
    SHIFT,
    TARGET,
    Vec,
    apply_inverse,
    bound_second_derivative,
    choose_order,
    cross,
    invert,
    misfit,
    move,
    norm,
    row,
    write_pose,
)

#: Columns of the report on a pose: distance moved in shares of the radius, the proof's h, worst error of a length [m].
MOVED, PROOF, ERROR = 0, 1, 2
_MAX_CORRECTIONS = 15
_ROUNDING = 1e-15


@inline
def turned(q: Quaternion, v: Vec) -> Vec:
    """Return the vector v turned by a unit quaternion."""
    u = (q[0], q[1], q[2])
    t = cross(u, v)
    s = cross(u, t)
    return v[0] + 2.0 * (q[3] * t[0] + s[0]), v[1] + 2.0 * (q[3] * t[1] + s[1]), v[2] + 2.0 * (q[3] * t[2] + s[2])


@inline
def set_state(m: Array, e: Array, p: Array, frame: Array, n: int) -> None:
    """Put the memory at pose n of the class's frames, turned to those of the user."""
    size = 1.0 / math.sqrt(e[n, 0] * e[n, 0] + e[n, 1] * e[n, 1] + e[n, 2] * e[n, 2] + e[n, 3] * e[n, 3])
    local = (e[n, 1] * size, e[n, 2] * size, e[n, 3] * size, e[n, 0] * size)
    base = (-frame[0], -frame[1], -frame[2], frame[3])
    q = multiply(multiply(base, local), (frame[4], frame[5], frame[6], frame[7]))
    t = turned(base, (frame[14] * p[n, 0], frame[14] * p[n, 1], frame[14] * p[n, 2]))
    o = turned(q, row(frame, 11, 0))
    v = (frame[8] + t[0] - o[0], frame[9] + t[1] - o[1], frame[10] + t[2] - o[2])
    if frame[15] != 0.0:
        q = (-q[0], -q[1], -q[2], q[3])
        o = turned(q, v)
        v = (-o[0], -o[1], -o[2])
    o = turned(q, row(m, SHIFT, 0))
    for k in range(4):
        m[QUATERNION + k] = q[k]
    for k in range(3):
        m[POSITION + k] = v[k] + o[k]


@outline
def refine_state(m: Array) -> tuple[float, float]:
    """Improve the state by Newton's method; return how far it went and the last step, in shares of the radius."""
    moved = 0.0
    last = np.inf
    for corrections in range(_MAX_CORRECTIONS):
        misfit(m, True)
        if corrections == 0:
            choose_order(m)
        invert(m)
        apply_inverse(m)
        step = norm(m, CORRECTION) / m[RADIUS]
        if not moved + step < 1.0:
            return np.inf, np.inf
        if corrections >= 2 and step >= 0.5 * last:
            break  # rounding error
        last = step
        move(m)
        moved += step
    return moved, last


@inline
def proof(m: Array, last: float) -> float:
    """Return the h of the certificate at a refined state, rounding errors included."""
    bound_second_derivative(m, last * m[RADIUS] if last < 1.0 else 0.0)
    misfit(m, False)
    apply_inverse(m)
    squares = 0.0
    for i in range(36):
        weight = m[RADIUS] if i < 18 else 1.0
        squares += (weight * m[INVERSE + i]) ** 2
    largest = 0.0
    for i in range(6):
        largest = max(largest, m[TARGET + i])
    # The leg equations are sums of few terms of the size of the squares: their rounding errors are below this.
    rounding = _ROUNDING * largest * math.sqrt(6.0 * squares)
    h: float = (norm(m, CORRECTION) + rounding) * m[LIPSCHITZ]
    return h


@kernel(
    "(float64[::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1], float64[:, ::1])"
)
def refine(m: Array, lengths: Array, e: Array, p: Array, frame: Array, poses: Array, reports: Array) -> None:
    """Turn poses of the class's frames to those of the user and improve them by Newton's method for `lengths` (6,).

    `e` (n, 4) are quaternions (w, x, y, z) of any size, `p` (n, 3) positions, `frame` (16,) quaternions (x, y, z, w) of
    both sides, their origins, unit and whether they are swapped, `poses` (n, 16) the matrices found, `reports` (n, 3).
    """
    for i in range(6):
        m[TARGET + i] = 0.5 * lengths[i] * lengths[i]
    for n in range(e.shape[0]):
        set_state(m, e, p, frame, n)
        moved, last = refine_state(m)
        reports[n, MOVED] = moved
        reports[n, PROOF] = proof(m, last)
        worst = 0.0
        for i in range(6):
            worst = max(worst, abs(m[MISFIT + i]) / lengths[i])
        reports[n, ERROR] = worst
        write_pose(m, poses, n)


@kernel("(float64[::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1])")
def place(m: Array, e: Array, p: Array, frame: Array, poses: Array) -> None:
    """Turn poses of the class's frames to those of the user, as `refine` does, without improving them."""
    for n in range(e.shape[0]):
        set_state(m, e, p, frame, n)
        write_pose(m, poses, n)
