"""Whether a tracked pose is the only one with its lengths that the platform could have reached: the quick test.

The platform was at the anchor, the last certified pose, AGE ago, and has not been faster than MAX_SPEED since. The
proof is in doc/stewart_tracking.md, "What certified means".
"""

from __future__ import annotations

import math

from ....arrays import Array
from ....engine.compile import inline, outline
from ...solvers.kernels.newton import (
    AGE,
    ANCHOR,
    ANCHORED,
    BALL,
    BLUR,
    GAIN,
    LENGTH_ERROR,
    LENGTH_ROUNDING,
    LIPSCHITZ,
    MAX_SPEED,
    RADIUS,
    SHIFT_SIZE,
    cross,
    dot,
    row,
)

#: Reach is lengthened by this share, and this share of the radius (rad), so that rounding does not shorten it.
ROUNDING, SMALLEST = 1e-9, 1e-12
#: Share of the proven distance to other poses that is used, so that rounding errors of it do no harm.
_SAFE = 0.95


@inline
def drop_anchor(m: Array, out: Array, i: int, place: int, quaternion: int, blur: float) -> None:
    """Make the pose of row i, whose numbers begin at these columns, the last certified one."""
    for k in range(3):
        m[ANCHOR + k] = out[i, place + k]
    for k in range(4):
        m[ANCHOR + 3 + k] = out[i, quaternion + k]
    m[BLUR] = blur
    m[AGE] = 0.0
    m[ANCHORED] = 1.0


@outline
def only_pose_in_reach(m: Array, out: Array, i: int, lengths: int, place: int, quaternion: int) -> float:
    """Return the radius in which the true pose lies [m], if the pose of row i is proven to be the only one in reach.

    Otherwise -1: then nothing is known yet. The row's numbers begin at the columns given.
    """
    radius, shift = m[RADIUS], m[SHIFT_SIZE]
    longest = 0.0
    for k in range(6):
        longest = max(longest, out[i, lengths + k])
    bound = m[LIPSCHITZ]
    error = m[LENGTH_ERROR] + LENGTH_ROUNDING * longest
    eta = m[GAIN] * error * (longest + 0.5 * error)
    root = 1.0 - 2.0 * bound * eta
    if not root > 0.04:
        return -1.0
    root = math.sqrt(root)
    blur = (1.0 - root) / bound
    # How far the pose is from the anchor: along, and by an angle of 2 asin(x).
    gone = 0.0
    for k in range(3):
        gap = out[i, place + k] - m[ANCHOR + k]
        gone += gap * gap
    gone = math.sqrt(gone)
    v, w = row(m, ANCHOR + 3, 0), m[ANCHOR + 6]
    v1, w1 = (out[i, quaternion], out[i, quaternion + 1], out[i, quaternion + 2]), out[i, quaternion + 3]
    t = cross(v, v1)
    s = (w * v1[0] - w1 * v[0] - t[0], w * v1[1] - w1 * v[1] - t[1], w * v1[2] - w1 * v[2] - t[2])
    x = math.sqrt(dot(s, s))
    if not x <= 0.5:
        return -1.0
    turned = 2.0 * x * (1.0 + 0.2 * x * x)  # an upper bound
    spread = 1.0 + shift / radius
    reach = m[MAX_SPEED] * m[AGE] * (1.0 + ROUNDING) + SMALLEST * radius + m[BLUR] * spread
    angle = m[MAX_SPEED + 1] * m[AGE] * (1.0 + ROUNDING) + SMALLEST + m[BLUR] / radius
    if not (gone <= reach + blur * spread and turned <= angle + blur / radius):
        return -1.0
    # How far any other pose in reach can be from this one, and how near it cannot be.
    angle = radius * (angle + turned)
    reach += gone + shift * angle / radius
    distance = math.sqrt(angle * angle + reach * reach)
    if distance <= m[BALL] and bound * distance <= _SAFE * (1.0 + root):
        result: float = blur
        return result
    return -1.0
