"""Solution with the mass matrix of a tree, which stays sparse: M = L^T D L, eliminated from the leaves.

L has entries for pairs on one path from the base, where M has them: no fill-in. A mask takes coordinates out.
"""

from __future__ import annotations

from ..model.layout import N_V, PARENT, ROUND_OFF
from .compile import inline, outline
from .lanes import get, positive, put


@inline
def counts(given, i):
    """Tell whether row `i` is among the unknowns: its acceleration is not given."""
    return given.shape[0] == 0 or not given[i - 1]


@outline
def factorize(rows, given, m):
    """Replace the lower half of the unknowns' block of `m` (nv nv) by L, and its diagonal by that of D^-1.

    A pivot is the articulated inertia along its row; one that vanishes is inverted to infinity.
    """
    n = int(rows[0, N_V])
    for i in range(n, 0, -1):
        if not counts(given, i):
            continue
        row = (i - 1) * n - 1
        d = get(m, row + i)
        inverse = 1.0 / (d * positive(d - rows[i, ROUND_OFF]))
        put(m, row + i, inverse)
        k = int(rows[i, PARENT])
        while k > 0:
            if counts(given, k):
                x = get(m, row + k) * inverse
                j = k
                while j > 0:
                    if counts(given, j):
                        e = (k - 1) * n + j - 1
                        put(m, e, get(m, e) - x * get(m, row + j))
                    j = int(rows[j, PARENT])
                put(m, row + k, x)
            k = int(rows[k, PARENT])


@outline
def solve_one(rows, given, m, b):
    """Replace the unknowns' entries of the flat array `b` by the solution."""
    n = int(rows[0, N_V])
    for i in range(n, 0, -1):
        if counts(given, i):
            x = get(b, i - 1)
            k = int(rows[i, PARENT])
            while k > 0:
                if counts(given, k):
                    put(b, k - 1, get(b, k - 1) - get(m, (i - 1) * n + k - 1) * x)
                k = int(rows[k, PARENT])
    for i in range(1, n + 1):
        if counts(given, i):
            x = get(b, i - 1) * get(m, (i - 1) * n + i - 1)
            k = int(rows[i, PARENT])
            while k > 0:
                if counts(given, k):
                    x = x - get(m, (i - 1) * n + k - 1) * get(b, k - 1)
                k = int(rows[k, PARENT])
            put(b, i - 1, x)


@outline
def solve_many(rows, given, m, x, width):
    """Replace the unknowns' rows of `x` by the solution; rows of `width` entries, a multiple of three.

    The entries of `x` are scalars as those of `m`, or vectors of several columns.
    """
    n = int(rows[0, N_V])
    for c in range(0, width, 3):
        for i in range(n, 0, -1):
            if counts(given, i):
                e = (i - 1) * width + c
                x0, x1, x2 = get(x, e), get(x, e + 1), get(x, e + 2)
                k = int(rows[i, PARENT])
                while k > 0:
                    if counts(given, k):
                        y, e = get(m, (i - 1) * n + k - 1), (k - 1) * width + c
                        put(x, e, get(x, e) - y * x0)
                        put(x, e + 1, get(x, e + 1) - y * x1)
                        put(x, e + 2, get(x, e + 2) - y * x2)
                    k = int(rows[k, PARENT])
        for i in range(1, n + 1):
            if counts(given, i):
                d, e = get(m, (i - 1) * n + i - 1), (i - 1) * width + c
                x0, x1, x2 = d * get(x, e), d * get(x, e + 1), d * get(x, e + 2)
                k = int(rows[i, PARENT])
                while k > 0:
                    if counts(given, k):
                        y, e = get(m, (i - 1) * n + k - 1), (k - 1) * width + c
                        x0 = x0 - y * get(x, e)
                        x1 = x1 - y * get(x, e + 1)
                        x2 = x2 - y * get(x, e + 2)
                    k = int(rows[k, PARENT])
                e = (i - 1) * width + c
                put(x, e, x0)
                put(x, e + 1, x1)
                put(x, e + 2, x2)


@outline
def subtract_coupled(rows, given, m, x, width):
    """Take M_uv X_v from the rows u of `x` whose acceleration is given, v the unknowns; `factorize` left M_uv."""
    n = int(rows[0, N_V])
    for i in range(1, n + 1):
        k = int(rows[i, PARENT])
        while k > 0:
            if counts(given, i) != counts(given, k):
                y = get(m, (i - 1) * n + k - 1)
                to, source = (k, i) if counts(given, i) else (i, k)
                to, source = (to - 1) * width, (source - 1) * width
                for c in range(width):
                    put(x, to + c, get(x, to + c) - y * get(x, source + c))
            k = int(rows[k, PARENT])
