"""Arrays of floats, and whether all of them are finite."""

from __future__ import annotations

import math

import numpy as np

from ..lie_dynamics.arrays import Array as Array

LARGEST_NORM = 1e154
SHORT = 18
"""Length up to which ``math.hypot`` takes less time than BLAS."""


def all_finite(values: Array) -> bool:
    """Return whether a vector, shape (n,), holds neither NaN nor infinity.

    Faster than ``np.isfinite(values).all()``: one norm. Vectors whose squares overflow (a norm beyond 1e154) count as
    not finite; no way to find it warns of that, as ``values.dot(values)`` would.
    """
    if len(values) <= SHORT:
        return math.hypot(*values.tolist()) < LARGEST_NORM
    return math.isfinite(np.vdot(values, values))
