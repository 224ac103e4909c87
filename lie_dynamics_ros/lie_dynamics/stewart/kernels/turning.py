"""Motors that turn: tips of horns instead of base points, and proven steps from one set of angles to the next.

For rotary legs the memory's BASE are the tips of the horns at the angles of its pose, and its lengths are those of the
rods. A step from angles t0 to t1 is taken only when every point of the straight line between them is proven to have
exactly one pose near that of t0, see doc/stewart_tracking.md, "Rotary legs". For the point s of the line

- f_i, as a function of the angle, is a constant plus C_i cos(t - phase), so it is off the straight line between its
  ends by at most C_i (t1 - t0)^2 / 8;
- a tip is off that of t1 by at most e, the longest arc, so the Jacobian is off by at most GAIN e sqrt(1 + (|b| / l)^2)
  times the inverse's, which is delta, and the bound of the second derivative grows by that of a base point e away.

With the inverse A at t1 and the pose of t0, the theorem's bounds grow by 1 / (1 - delta) each.
"""

from __future__ import annotations

import math

from ...arrays import Array
from ...engine.compile import inline, kernel, outline
from .newton import (
    BALL,
    BASE,
    CORRECTION,
    GAIN,
    HALF_SQUARES,
    LIPSCHITZ,
    MARGIN,
    MAX_H,
    MISFIT,
    PLATFORM,
    POSITION,
    RADIUS,
    REACH,
    TARGET,
    apply_inverse,
    bound_second_derivative,
    dot,
    invert,
    misfit,
    norm,
    proven_step,
    rotation,
    row,
    settle_core,
)
from .newton import SIZE as NEXT

# Entries of the memory beyond those of `newton`.
ROTARY = NEXT  # 1 when motors turn
ANGLES = NEXT + 1  # of the pose, 6 [rad]
GOAL = NEXT + 7  # to go to, 6 [rad]
ANGLES_BEFORE = NEXT + 13  # of the last good pose before this update, 6 [rad]
CENTRES = NEXT + 19  # of the horns' circles, 6 x 3 [m]
HORNS = NEXT + 37  # at angle 0, 6 x 3 [m]
ACROSS = NEXT + 55  # at 90 degrees, 6 x 3 [m]
LONG = NEXT + 73  # lengths of horns, 6 [m]
RODS = NEXT + 79  # lengths of rods, 6 [m]
ORIGIN = NEXT + 85  # where a line begins: half squares of lengths, or angles, 6
SIZE = NEXT + 91


@inline
def place_tips(m: Array, angles: int) -> None:
    """Put the tips of the horns where the angles at an entry of the memory want them."""
    for i in range(6):
        c, s = math.cos(m[angles + i]), math.sin(m[angles + i])
        for k in range(3 * i, 3 * i + 3):
            m[BASE + k] = m[CENTRES + k] + c * m[HORNS + k] + s * m[ACROSS + k]


@outline
def settle_angles(m: Array) -> None:
    """Make the state belong to its pose and angles."""
    place_tips(m, ANGLES)
    settle_core(m)


@inline
def curvature(m: Array) -> float:
    """Return the largest C_i (t1 - t0)^2 / 8 of the legs [m^2]."""
    R = rotation(m)
    most = 0.0
    for i in range(6):
        b, p, a = row(m, PLATFORM, i), row(m, POSITION, 0), row(m, CENTRES, i)
        w = (
            R[0] * b[0] + R[1] * b[1] + R[2] * b[2] + p[0] - a[0],
            R[3] * b[0] + R[4] * b[1] + R[5] * b[2] + p[1] - a[1],
            R[6] * b[0] + R[7] * b[1] + R[8] * b[2] + p[2] - a[2],
        )
        x, y = dot(w, row(m, HORNS, i)), dot(w, row(m, ACROSS, i))
        turn = m[GOAL + i] - m[ANGLES + i]
        most = max(most, 0.125 * turn * turn * math.sqrt(x * x + y * y))
    return most


@outline
def turned_step(m: Array, use_history: bool) -> int:
    """Go to the pose for the angles at GOAL if the line from ANGLES to it is proven to stay on the branch.

    Returns as `proven_step`. Unless it arrives, the state has to be settled again with `settle_angles`.
    """
    place_tips(m, GOAL)
    for i in range(6):
        m[TARGET + i] = 0.5 * m[RODS + i] * m[RODS + i]
    misfit(m, True)
    for i in range(6):
        m[HALF_SQUARES + i] = m[TARGET + i] - m[MISFIT + i]
    invert(m)
    bound_second_derivative(m, 0.0)
    apply_inverse(m)
    gain, ratio = m[GAIN], m[REACH] / m[RADIUS]
    arc = 0.0
    for i in range(6):
        arc = max(arc, m[LONG + i] * abs(m[GOAL + i] - m[ANGLES + i]))
    left = 1.0 - gain * arc * math.sqrt(1.0 + ratio * ratio)
    eta = norm(m, CORRECTION) + gain * curvature(m)
    bound = m[LIPSCHITZ] + gain * arc * ratio / m[RADIUS]
    h = bound * eta / (left * left) if left > 0.0 else math.inf
    m[MARGIN] = h
    if not (left > 0.0 and h <= MAX_H and 2.0 * eta <= m[BALL] * left):
        return 0
    n = proven_step(m, use_history)
    m[MARGIN] = h
    if n > 0:
        for i in range(6):
            m[ANGLES + i] = m[GOAL + i]
    return n


@kernel("(float64[::1], float64[::1])")
def set_angles(m: Array, angles: Array) -> None:
    """Let these angles (6,) be those of the pose, and settle the state."""
    for i in range(6):
        m[ANGLES + i] = angles[i]
    settle_angles(m)
