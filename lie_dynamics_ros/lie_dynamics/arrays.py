"""Types of arrays that signatures name, and whether all numbers of one are finite."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike as ArrayLike

Array = npt.NDArray[np.float64]
AnyArray = npt.NDArray[Any]
"""Real or complex: complex values carry complex-step derivatives through the analytic functions."""
Complex = npt.NDArray[np.complex128]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

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
