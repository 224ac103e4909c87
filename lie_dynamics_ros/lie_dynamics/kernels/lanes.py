"""Scalars that are either one number or eight states side by side.

The recursions are written once, for a scalar type that stands for

- a ``float64`` when one state is evaluated,
- a SIMD vector of `LANES` float64, one state in each lane, in compiled batches,
- any numpy scalar or array in plain Python (complex numbers for complex-step
  differentiation, arrays over a batch of states).

Arrays of such scalars carry the lanes as their last axis. `get`, `put` and their variants
read and write them; `lift` widens a plain number.
"""

from __future__ import annotations

import numpy as np

from .compile import COMPILED, straight

#: States per SIMD vector: one AVX-512 register, two of AVX2.
LANES = 8


def is_symbol(x):
    """Tell whether `x` stands for a value of a kernel that is being compiled; see `straight`."""
    return hasattr(x, "widened")


@straight
def get(a, i):
    """Return scalar `i` of an array of scalars."""
    return a[i]


@straight
def put(a, i, x):
    """Store scalar `i` of an array of scalars."""
    a[i] = x


@straight
def get2(a, i, k):
    """Return scalar `(i, k)` of a table of scalars."""
    return a[i, k]


@straight
def put2(a, i, k, x):
    """Store scalar `(i, k)` of a table of scalars."""
    a[i, k] = x


@straight
def lift(x, like):
    """Widen the number `x` to the scalar type of `like`."""
    return like.like(x).widened(like.kind) if is_symbol(like) else x


def shared_integer(a, i):
    """Return entry `i` of an array of scalars, a whole number that all lanes have in common."""
    return int(a[i].flat[0].real) if isinstance(a[i], np.ndarray) else int(a[i].real)


def workspace(rows, columns, like):
    """Allocate a table of `rows` by `columns` scalars of the kind that the array `like` holds."""
    return np.empty((rows, columns, *like.shape[1:]), like.dtype)


def vector_space(n, like):
    """Allocate `n` scalars of the kind that the array `like` holds."""
    return np.empty((n, *like.shape[1:]), like.dtype)


@straight
def positive(x):
    """Return 1 where `x` is above zero, else 0."""
    return x.positive() if is_symbol(x) else np.where(np.real(x) > 0.0, 1.0, 0.0)


if COMPILED:
    from . import access

    access.register(shared_integer, workspace, vector_space, LANES)


if COMPILED:
    from .trigonometry import make_sincos

    sincos = make_sincos()
else:

    def sincos(x):
        """Return (sin x, cos x)."""
        return np.sin(x), np.cos(x)


@straight
def get3(a, i, k):
    """Return the scalars `k`, `k + 1`, `k + 2` of row `i`."""
    return get2(a, i, k), get2(a, i, k + 1), get2(a, i, k + 2)


@straight
def put3(a, i, k, x):
    """Store three scalars in row `i` from column `k`."""
    put2(a, i, k, x[0])
    put2(a, i, k + 1, x[1])
    put2(a, i, k + 2, x[2])


@straight
def add3(a, i, k, x):
    """Add to three scalars in row `i` from column `k`."""
    put2(a, i, k, get2(a, i, k) + x[0])
    put2(a, i, k + 1, get2(a, i, k + 1) + x[1])
    put2(a, i, k + 2, get2(a, i, k + 2) + x[2])


@straight
def get9(a, i, k):
    """Return the nine scalars of row `i` from column `k`."""
    return (
        get2(a, i, k), get2(a, i, k + 1), get2(a, i, k + 2),
        get2(a, i, k + 3), get2(a, i, k + 4), get2(a, i, k + 5),
        get2(a, i, k + 6), get2(a, i, k + 7), get2(a, i, k + 8),
    )  # fmt: skip


@straight
def put9(a, i, k, x):
    """Store nine scalars in row `i` from column `k`."""
    put3(a, i, k, (x[0], x[1], x[2]))
    put3(a, i, k + 3, (x[3], x[4], x[5]))
    put3(a, i, k + 6, (x[6], x[7], x[8]))


@straight
def get6(a, i, k):
    """Return six scalars of row `i` from column `k`."""
    return (
        get2(a, i, k), get2(a, i, k + 1), get2(a, i, k + 2),
        get2(a, i, k + 3), get2(a, i, k + 4), get2(a, i, k + 5),
    )  # fmt: skip


@straight
def put6(a, i, k, x):
    """Store six scalars in row `i` from column `k`."""
    put3(a, i, k, (x[0], x[1], x[2]))
    put3(a, i, k + 3, (x[3], x[4], x[5]))


@straight
def add6(a, i, k, x):
    """Add to six scalars in row `i` from column `k`."""
    add3(a, i, k, (x[0], x[1], x[2]))
    add3(a, i, k + 3, (x[3], x[4], x[5]))


@straight
def add9(a, i, k, x):
    """Add to nine scalars in row `i` from column `k`."""
    add3(a, i, k, (x[0], x[1], x[2]))
    add3(a, i, k + 3, (x[3], x[4], x[5]))
    add3(a, i, k + 6, (x[6], x[7], x[8]))
