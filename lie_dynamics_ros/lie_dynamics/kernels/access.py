"""Arrays of scalars in compiled kernels: what `lanes` says in Python, said to numba."""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import overload

from .simd import WIDTH


@njit
def aligned_numbers(vectors):
    """Allocate vectors that start at multiples of their size: those that straddle cache lines are slower by half."""
    numbers = np.empty((vectors + 1) * WIDTH)
    skip = (-(numbers.ctypes.data >> 3)) & (WIDTH - 1)
    return numbers[skip : skip + vectors * WIDTH]


def register(shared_integer, workspace, vector_space, width):
    """Overload what `lanes` allocates, for scalars (last axis absent) and lanes (last axis present)."""
    assert width == WIDTH

    @overload(shared_integer)
    def _shared_integer(a, i):
        return (lambda a, i: int(a[i])) if a.ndim == 1 else (lambda a, i: int(a[i, 0]))

    @overload(workspace)
    def _workspace(rows, columns, like):
        if like.ndim == 1:
            return lambda rows, columns, like: np.empty((rows, columns))
        return lambda rows, columns, like: aligned_numbers(rows * columns).reshape((rows, columns, WIDTH))

    @overload(vector_space)
    def _vector_space(n, like):
        if like.ndim == 1:
            return lambda n, like: np.empty(n)
        return lambda n, like: aligned_numbers(n).reshape((n, WIDTH))
