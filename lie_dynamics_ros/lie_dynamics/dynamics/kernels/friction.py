"""Friction of joints, as simulation and compensation both have it.

`table` has a row for each of the quantities below and a column for each velocity coordinate.
"""

from __future__ import annotations

import numpy as np

from ...engine.compile import inline, kernel

DAMPING, FORWARD, BACKWARD, STATIC_FORWARD, STATIC_BACKWARD, STRIBECK_SPEED, LOAD, SMOOTHING_SPEED = range(8)
SIZE = 8


@inline
def is_dry(table, j):
    """Tell whether coordinate `j` has friction other than damping."""
    return table[STATIC_FORWARD, j] + table[STATIC_BACKWARD, j] + table[LOAD, j] > 0.0


@inline
def smooth_side(table, j, v):
    """Return to which side coordinate `j` moves at the rate v: from -1 to 1, without a step at rest."""
    return v / np.sqrt(v * v + table[SMOOTHING_SPEED, j] * table[SMOOTHING_SPEED, j])


@inline
def dry_friction(table, j, v, side):
    """Return how large dry friction of an unloaded coordinate is at the rate v, towards a side from -1 to 1."""
    level = 0.5 * (table[FORWARD, j] * (1.0 + side) + table[BACKWARD, j] * (1.0 - side))
    rest = 0.5 * (table[STATIC_FORWARD, j] * (1.0 + side) + table[STATIC_BACKWARD, j] * (1.0 - side))
    if rest > level and table[STRIBECK_SPEED, j] > 0.0:
        ratio = v / table[STRIBECK_SPEED, j]
        level += (rest - level) * np.exp(-ratio * ratio)
    return level


@inline
def transmitted(force, dry, load):
    """Return what of a force comes to the bodies: the x with x + dry + load |x| = force, where |load| < 1."""
    rest = force - dry
    return rest / (1.0 + load) if rest > 0.0 else rest / (1.0 - load)


_SIGNATURE = "(float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1])"


@kernel(_SIGNATURE, quick=True)
def friction_force(table, qd, force, out):
    """Write the friction of rates qd (k, n) of joints whose bodies get `force` (k, n); return 1 where all is finite."""
    total = 0.0
    for s in range(qd.shape[0]):
        for j in range(qd.shape[1]):
            v = qd[s, j]
            side = smooth_side(table, j, v)
            dry = dry_friction(table, j, v, side) + table[LOAD, j] * abs(force[s, j])
            out[s, j] = table[DAMPING, j] * v + side * dry
            total += out[s, j] * 0.0
    return 1 if total == 0.0 else 0


@kernel(_SIGNATURE, quick=True)
def transmitted_force(table, qd, force, out):
    """Write what bodies get of the drives' `force` (k, n) at rates qd (k, n); return 1 where all is finite."""
    total = 0.0
    for s in range(qd.shape[0]):
        for j in range(qd.shape[1]):
            v = qd[s, j]
            side = smooth_side(table, j, v)
            dry = side * dry_friction(table, j, v, side)
            out[s, j] = transmitted(force[s, j] - table[DAMPING, j] * v, dry, side * table[LOAD, j])
            total += out[s, j] * 0.0
    return 1 if total == 0.0 else 0
