"""Damping, dry friction and stops at the joints, as the steps use them.

`joints` is a table with the rows of `friction` and one for each of the quantities below, and a column for each velocity
coordinate.
"""

from __future__ import annotations

from ...dynamics.kernels import friction
from ...dynamics.kernels.friction import DAMPING, dry_friction, is_dry, smooth_side, transmitted
from ...engine.compile import inline, outline
from ...model.layout import AXIS, KIND, N_V, Q_INDEX

LOWER, UPPER, STOP_STIFFNESS, STOP_DAMPING = range(friction.SIZE, friction.SIZE + 4)
SIZE = friction.SIZE + 4


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
def smooth_forces(rows, joints, q, qd, tau, given, out):
    """Write tau less damping, smooth friction, and stops, whose damper acts on the way in only.

    Friction by load is left out where the acceleration is given: the force there is not known yet.
    """
    for i in range(1, int(rows[0, N_V]) + 1):
        j = i - 1
        v = qd[j]
        x = penetration(rows, joints, i, position(rows, i, q))
        force = tau[j] - joints[DAMPING, j] * v
        if x != 0.0:
            force -= joints[STOP_STIFFNESS, j] * x
            if x * v > 0.0:
                force -= joints[STOP_DAMPING, j] * v
        if is_dry(joints, j):
            side = smooth_side(joints, j, v)
            load = 0.0 if given[j] else side * joints[friction.LOAD, j]
            force = transmitted(force, side * dry_friction(joints, j, v, side), load)
        out[j] = force
