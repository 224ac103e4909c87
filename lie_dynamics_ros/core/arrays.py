"""Arrays of floats, and whether all of them are finite."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def all_finite(values: Array) -> bool:
    """Tell whether a vector, shape (n,), holds neither NaN nor infinity.

    Faster than ``np.isfinite(values).all()`` for short vectors: one sum of squares. Values whose squares
    overflow (beyond 1e154) count as not finite.
    """
    return math.isfinite(values.dot(values))
