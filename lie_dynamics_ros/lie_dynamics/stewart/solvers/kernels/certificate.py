"""One proven Newton step of a Stewart platform's forward kinematics, without allocation.

A step starts at a pose T0 whose squared half lengths are known and ends at the pose for new ones. It is taken only
when the Newton-Kantorovich theorem proves that every point of the straight line between the two has exactly one pose
near T0: then the new pose lies on the same branch. The proof is in doc/stewart_tracking.md, "What continued means".
"""

from __future__ import annotations

import math

import numpy as np

from ....arrays import Array
from ....engine.compile import inline, kernel, outline
from .newton import (
    BALL,
    BASE,
    CORRECTION,
    GAIN,
    HALF_SQUARES,
    INVERSE,
    LIPSCHITZ,
    MARGIN,
    MISFIT,
    POSITION,
    PREDICTION,
    RADIUS,
    REACH,
    SURPLUS,
    TARGET,
    apply_inverse,
    choose_order,
    dot,
    invert,
    misfit,
    move,
    norm,
    row,
)

#: Largest h that counts as proof: 1/2 by the theorem, less for the rounding errors of h itself.
MAX_H = 0.45
#: The ball of the proof, as a share of the characteristic length.
BALL_SHARE = 0.25
#: A step has converged when the next correction is provably below this share of the characteristic length.
CONVERGED = 1e-14
#: Corrections of one step; three are enough for one in Newton's quadratic basin.
MAX_CORRECTIONS = 10


@inline
def bound_second_derivative(m: Array, moved: float) -> None:
    """Write LIPSCHITZ and GAIN for the state's pose, `moved` being how far it went since the inverse was built [m].

    D^2 f_i on a unit vector is at most the larger eigenvalue of [[|c_i| |b_i| / l^2, |b_i| / l], [., 1]], c_i from the
    platform's centroid to the base joint, lengthened by the ball's radius. The inverse is A, not that of this very
    pose: with e = K moved the bounds of the theorem grow by 1 / (1 - e) each.
    """
    squares_w = 0.0
    squares_u = 0.0
    for i in range(18):
        squares_w += m[INVERSE + i] * m[INVERSE + i]
        squares_u += m[INVERSE + 18 + i] * m[INVERSE + 18 + i]
    furthest = 0.0
    p = row(m, POSITION, 0)
    for i in range(6):
        a = row(m, BASE, i)
        c = (p[0] - a[0], p[1] - a[1], p[2] - a[2])
        furthest = max(furthest, dot(c, c))
    ratio = m[REACH] / m[RADIUS]
    beta = (math.sqrt(furthest) + m[BALL]) * ratio / m[RADIUS]
    eigenvalue = 0.5 * (beta + 1.0 + math.sqrt((beta - 1.0) * (beta - 1.0) + 4.0 * ratio * ratio))
    gain = math.sqrt(6.0 * (m[RADIUS] * m[RADIUS] * squares_w + squares_u))
    e = min(gain * eigenvalue * moved, 0.5)
    m[GAIN] = gain / ((1.0 - e) * (1.0 - e))
    m[LIPSCHITZ] = m[GAIN] * eigenvalue


@outline
def settle_core(m: Array) -> None:
    """Make the state belong to its pose: half squares, inverse and bound, with no history."""
    for i in range(6):
        m[TARGET + i] = 0.0
        m[SURPLUS + i] = 0.0
    misfit(m, True)
    for i in range(6):
        m[HALF_SQUARES + i] = -m[MISFIT + i]
    choose_order(m)
    invert(m)
    bound_second_derivative(m, 0.0)


@kernel("(float64[::1],)")
def settle(m: Array) -> None:
    """Run `settle_core`."""
    settle_core(m)


@outline
def proven_step(m: Array, use_history: bool) -> int:
    """Go to the pose for TARGET if the line from HALF_SQUARES to it is proven to stay on the branch.

    Returns the number of corrections; 0 when the proof fails, the pose being untouched (MARGIN holds by how
    much); -1 when the corrections do not converge or leave the ball, the pose being spoilt.
    """
    for i in range(6):
        m[MISFIT + i] = m[TARGET + i] - m[HALF_SQUARES + i]
    apply_inverse(m)
    bound = m[LIPSCHITZ]
    eta = norm(m, CORRECTION)
    h = eta * bound
    m[MARGIN] = h
    if not (h <= MAX_H and 2.0 * eta <= m[BALL]):
        return 0
    total = eta
    for i in range(6):
        m[PREDICTION + i] = m[CORRECTION + i]
    if use_history and norm(m, SURPLUS) <= 0.2 * eta:
        for i in range(6):
            m[CORRECTION + i] += m[SURPLUS + i]
        total = norm(m, CORRECTION)
    for i in range(6):
        m[SURPLUS + i] = m[CORRECTION + i] - m[PREDICTION + i]
    move(m)
    goal = CONVERGED * m[RADIUS]
    corrections = 1
    moved = np.inf  # since the inverse was built, for this step's purposes
    remaining = np.inf
    while remaining > goal and corrections < MAX_CORRECTIONS:
        renew = bound * moved > 0.01
        misfit(m, renew)
        if renew:
            invert(m)
            moved = 0.0
        apply_inverse(m)
        last = norm(m, CORRECTION)
        total += last
        if corrections == 1:
            for i in range(6):
                m[SURPLUS + i] += m[CORRECTION + i]
        move(m)
        corrections += 1
        moved += last
        remaining = bound * moved * last
    if not (remaining <= goal and bound * total <= 1.0 and total <= m[BALL]):
        return -1
    bound_second_derivative(m, moved)
    for i in range(6):
        m[HALF_SQUARES + i] = m[TARGET + i]
    return corrections
