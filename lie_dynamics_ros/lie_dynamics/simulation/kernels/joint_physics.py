"""Damping, dry friction and stops at the joints, as the steps use them.

`joints` is a table with a row for each of the quantities below and a column for each velocity coordinate.
"""

from __future__ import annotations

import numpy as np

from ...engine.compile import inline, outline
from ...model.layout import AXIS, KIND, N_V, Q_INDEX

DAMPING, FRICTION, LOWER, UPPER, STOP_STIFFNESS, STOP_DAMPING = 0, 1, 2, 3, 4, 5
SIZE = 6


@inline
def penetration(rows, joints, i, x):
    """Return how far the coordinate of row `i` is beyond a stop at position x: signed, zero within the limits."""
    if rows[i, KIND] != AXIS:
        return 0.0
    return max(x - joints[UPPER, i - 1], 0.0) + min(x - joints[LOWER, i - 1], 0.0)


@inline
def position(rows, i, q):
    """Return the coordinate of row `i`, zero where it has none of its own (ball and free joints)."""
    return q[int(rows[i, Q_INDEX])] if rows[i, KIND] == AXIS else 0.0


@outline
def smooth_forces(rows, joints, friction_speed, q, qd, tau, out):
    """Write tau less damping, friction f qd / sqrt(qd^2 + s^2), and stops, whose damper acts on the way in only."""
    for i in range(1, int(rows[0, N_V]) + 1):
        j = i - 1
        v = qd[j]
        x = penetration(rows, joints, i, position(rows, i, q))
        force = tau[j] - joints[DAMPING, j] * v
        if joints[FRICTION, j] > 0.0:
            force -= joints[FRICTION, j] * v / np.sqrt(v * v + friction_speed * friction_speed)
        if x != 0.0:
            force -= joints[STOP_STIFFNESS, j] * x
            if x * v > 0.0:
                force -= joints[STOP_DAMPING, j] * v
        out[j] = force
