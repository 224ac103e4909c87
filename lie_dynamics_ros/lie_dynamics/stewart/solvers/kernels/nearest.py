"""The pose nearest to given leg lengths: lengths that no pose has are not a pose that cannot be reached."""

from __future__ import annotations

import math

from ....arrays import Array
from ....engine.compile import inline, kernel, outline
from .newton import (
    CORRECTION,
    DIRECTION,
    INVERSE,
    MISFIT,
    MOMENT,
    POSITION,
    QUATERNION,
    RADIUS,
    TARGET,
    dot,
    misfit,
    move,
    row,
)

_MAX_ITERATIONS = 200
_MATRIX = INVERSE  # the normal matrix takes the place of the inverse, which `settle_core` restores afterwards


@inline
def length_errors(m: Array) -> float:
    """Turn MISFIT into errors of the lengths and Jacobian rows into theirs; return the sum of squares."""
    total = 0.0
    for i in range(6):
        d = row(m, DIRECTION, i)
        length = math.sqrt(dot(d, d))
        s = 1.0 / max(length, 1e-9 * m[RADIUS])
        error = math.sqrt(2.0 * m[TARGET + i]) - length
        m[MISFIT + i] = error
        total += error * error
        for k in range(3):
            m[DIRECTION + 3 * i + k] *= s
            m[MOMENT + 3 * i + k] *= s
    return total


@inline
def damped_correction(m: Array, damping: float) -> None:
    """Write CORRECTION = (J^T J + damping W)^-1 J^T MISFIT, W the weights of the norm, by Cholesky."""
    for i in range(6):
        o = MOMENT + i if i < 3 else DIRECTION + i - 3
        m[CORRECTION + i] = 0.0
        for k in range(6):
            m[CORRECTION + i] += m[o + 3 * k] * m[MISFIT + k]
        for j in range(i + 1):
            n = MOMENT + j if j < 3 else DIRECTION + j - 3
            total = 0.0
            for k in range(6):
                total += m[o + 3 * k] * m[n + 3 * k]
            m[_MATRIX + 6 * i + j] = total
        m[_MATRIX + 7 * i] += damping * (m[RADIUS] * m[RADIUS] if i < 3 else 1.0)
    for i in range(6):
        for j in range(i + 1):
            total = m[_MATRIX + 6 * i + j]
            for k in range(j):
                total -= m[_MATRIX + 6 * i + k] * m[_MATRIX + 6 * j + k]
            m[_MATRIX + 6 * i + j] = math.sqrt(max(total, 1e-300)) if i == j else total / m[_MATRIX + 7 * j]
    for i in range(6):
        for k in range(i):
            m[CORRECTION + i] -= m[_MATRIX + 6 * i + k] * m[CORRECTION + k]
        m[CORRECTION + i] /= m[_MATRIX + 7 * i]
    for i in range(5, -1, -1):
        for k in range(i + 1, 6):
            m[CORRECTION + i] -= m[_MATRIX + 6 * k + i] * m[CORRECTION + k]
        m[CORRECTION + i] /= m[_MATRIX + 7 * i]


@outline
def approach_core(m: Array) -> float:
    """Move the state to a least-squares pose for TARGET (Levenberg-Marquardt); return the largest length error [m].

    The errors (wanted less found) stay in MISFIT. Spoils the inverse: call `settle_core` afterwards.
    """
    damping = 1e-3
    misfit(m, True)
    cost = length_errors(m)
    for _ in range(_MAX_ITERATIONS):
        q0, q1, q2, q3 = m[QUATERNION], m[QUATERNION + 1], m[QUATERNION + 2], m[QUATERNION + 3]
        p0, p1, p2 = m[POSITION], m[POSITION + 1], m[POSITION + 2]
        damped_correction(m, damping)
        w, u = row(m, CORRECTION, 0), row(m, CORRECTION, 1)
        size = math.sqrt(m[RADIUS] * m[RADIUS] * dot(w, w) + dot(u, u))
        move(m)
        misfit(m, True)
        trial = length_errors(m)
        if trial < cost:
            converged = cost - trial <= 1e-15 * cost and size < 1e-9 * m[RADIUS]
            cost = trial
            damping = max(0.1 * damping, 1e-15)
        else:
            m[QUATERNION], m[QUATERNION + 1], m[QUATERNION + 2], m[QUATERNION + 3] = q0, q1, q2, q3
            m[POSITION], m[POSITION + 1], m[POSITION + 2] = p0, p1, p2
            misfit(m, True)
            length_errors(m)
            converged = size < 1e-14 * m[RADIUS]
            damping *= 10.0
        if converged or not (damping < 1e12) or cost < 1e-30 * m[RADIUS] * m[RADIUS]:
            break
    worst = 0.0
    for i in range(6):
        worst = max(worst, abs(m[MISFIT + i]))
    return worst


@kernel("float64(float64[::1])")
def approach(m: Array) -> float:
    """Run `approach_core`."""
    return approach_core(m)
