"""Access to arrays of scalars in compiled kernels: what `lanes` says in Python, said to numba."""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import overload

from .simd import LANES_T, WIDTH, load, load_one, positive_lanes, splat, store, store_one


@njit
def aligned_numbers(vectors):
    """Allocate vectors that start at multiples of their size: those that straddle cache lines are slower by half."""
    numbers = np.empty((vectors + 1) * WIDTH)
    skip = (-(numbers.ctypes.data >> 3)) & (WIDTH - 1)
    return numbers[skip : skip + vectors * WIDTH]


def register(get, put, get2, put2, lift, positive, shared_integer, workspace, vector_space, width):
    """Overload the access functions of `lanes` for scalars (last axis absent) and lanes (last axis present)."""
    assert width == WIDTH

    @overload(get)
    def _get(a, i):
        return (lambda a, i: load_one(a, i)) if a.ndim == 1 else (lambda a, i: load(a, i))

    @overload(put)
    def _put(a, i, x):
        if a.ndim == 2:
            if x == LANES_T:
                return lambda a, i, x: store(a, i, x)
            return lambda a, i, x: store(a, i, splat(x))
        return lambda a, i, x: store_one(a, i, x)

    @overload(get2)
    def _get2(a, i, k):
        return (
            (lambda a, i, k: load_one(a, i * a.shape[1] + k))
            if a.ndim == 2
            else (lambda a, i, k: load(a, i * a.shape[1] + k))
        )

    @overload(put2)
    def _put2(a, i, k, x):
        if a.ndim == 3:
            if x == LANES_T:
                return lambda a, i, k, x: store(a, i * a.shape[1] + k, x)
            return lambda a, i, k, x: store(a, i * a.shape[1] + k, splat(x))
        return lambda a, i, k, x: store_one(a, i * a.shape[1] + k, x)

    @overload(lift)
    def _lift(x, like):
        if like == LANES_T and x != LANES_T:
            return lambda x, like: splat(x)
        return lambda x, like: x

    @overload(positive)
    def _positive(x):
        if x == LANES_T:
            return lambda x: positive_lanes(x)
        return lambda x: 1.0 if x > 0.0 else 0.0

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
