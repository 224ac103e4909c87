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

from typing import Any

import numpy as np

from .compile import COMPILED, straight
from .width import LANES as LANES


def is_symbol(x):
    """Tell whether `x` stands for a value of a kernel that is being compiled; see `straight`."""
    return hasattr(x, "is_symbol")


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


def entry(integers, k):
    """Return integer `k` of a list, `k` not negative."""
    return integers[k]


def fetch_ahead(a, k):
    """Let the memory around number `k` of a flat array be fetched, to be written soon; `k` may lie beyond its end."""


def workspace(rows, columns, like):
    """Allocate a table of `rows` by `columns` scalars of the kind that the array `like` holds."""
    return np.empty((rows, columns, *like.shape[1:]), like.dtype)


def stack_numbers():
    """Return scratch memory of a kernel for a single state; what is made of it must not leave the kernel."""


def single_workspace(scratch, rows, columns, like):
    """Return a workspace for one state, made of `stack_numbers`: ask `on_stack` before."""
    return workspace(rows, columns, like)


def on_stack(rows, columns):
    """Tell whether `stack_numbers` suffice for a workspace."""
    return True


def vector_space(n, like):
    """Allocate `n` scalars of the kind that the array `like` holds."""
    return np.empty((n, *like.shape[1:]), like.dtype)


def column_space(n, like):
    """Allocate `n` vectors of columns, side by side, of the kind of scalars that the array `like` holds."""
    return np.empty((n, LANES, *like.shape[1:]), like.dtype)


@straight
def positive(x):
    """Return 1 where `x` is above zero, else 0."""
    return x.positive() if is_symbol(x) else np.where(np.real(x) > 0.0, 1.0, 0.0)


if COMPILED:
    from . import access as _access

    access: Any = _access
    access.register(shared_integer, workspace, vector_space, column_space, LANES)
    entry = access.entry
    fetch_ahead = access.fetch_ahead
    stack_numbers = access.stack_numbers
    on_stack = access.on_stack
    single_workspace = access.single_workspace


if COMPILED:
    from .trigonometry import make_sincos

    sincos = make_sincos()
else:

    def sincos(x):
        """Return (sin x, cos x)."""
        return np.sin(x), np.cos(x)


@straight
def at(a, k):
    """Return number `k` of an array read as a flat one."""
    return a.flat(k) if is_symbol(a) else a.reshape(-1)[k]


@straight
def place(a, k, x):
    """Store number `k` of an array read as a flat one."""
    if is_symbol(a):
        a.put_flat(k, x)
    else:
        a.reshape(-1)[k] = x


@straight
def vector_at(a, k):
    """Return vector `k` of `LANES` numbers of an array read as a flat one."""
    return a.flat(k, "lanes") if is_symbol(a) else a.reshape(-1)[k * LANES : (k + 1) * LANES]


@straight
def place_vector(a, k, x):
    """Store vector `k` of `LANES` numbers of an array read as a flat one."""
    if is_symbol(a):
        a.put_flat(k, x, "lanes")
    else:
        a.reshape(-1)[k * LANES : (k + 1) * LANES] = x


@straight
def place_vector_from(a, k, x):
    """Store a vector in the numbers `k` to `k + LANES - 1` of an array read as a flat one."""
    if is_symbol(a):
        a.put_flat(k, x, "lanes", 1)
    else:
        a.reshape(-1)[k : k + LANES] = x


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
