"""Solution with the mass matrix of a tree, which stays sparse: M = L^T D L, eliminated from the leaves.

L has entries for pairs of rows on one path from the base, where M has them: no fill-in. A mask takes coordinates out of
the unknowns. Walking up the tree is slow, as each step waits for the one before; so paths are listed once.
"""

from __future__ import annotations

from ..model.layout import N_V, PARENT, ROUND_OFF
from .compile import inline, outline
from .lanes import get, positive, put


@inline
def counts(given, i):
    """Tell whether row `i` is among the unknowns: its acceleration is not given."""
    return given.shape[0] == 0 or not given[i - 1]


@inline
def paths_size(n):
    """Return how many integers `list_paths` wants."""
    return 2 * (n + 1) + n * (n + 1) // 2


@outline
def list_paths(rows, given, paths):
    """List the coordinates of the unknowns on the path from the base to each row, that of the row last.

    Those of row `i` are ``paths[paths[2 i] : paths[2 i + 1]]``; rows of one branch share their list.
    """
    n = int(rows[0, N_V])
    at = 2 * (n + 1)
    for i in range(1, n + 1):
        parent = int(rows[i, PARENT])
        start = at
        if i > 1 and parent == i - 1:
            start = paths[2 * parent]
        elif parent > 0:
            for e in range(paths[2 * parent], paths[2 * parent + 1]):
                paths[at] = paths[e]
                at += 1
        if counts(given, i):
            paths[at] = i - 1
            at += 1
        paths[2 * i] = start
        paths[2 * i + 1] = at


@outline
def factorize(rows, given, paths, m):
    """Replace the lower half of the unknowns' block of `m` (nv nv) by L, and its diagonal by that of D^-1.

    A pivot is the articulated inertia along its row; one that vanishes is inverted to infinity.
    """
    n = int(rows[0, N_V])
    for i in range(n, 0, -1):
        if not counts(given, i):
            continue
        first, last = paths[2 * i], paths[2 * i + 1] - 1
        row = (i - 1) * n
        d = get(m, row + i - 1)
        inverse = 1.0 / (d * positive(d - rows[i, ROUND_OFF]))
        put(m, row + i - 1, inverse)
        for a in range(last - 1, first - 1, -1):
            k = paths[a]
            x = get(m, row + k) * inverse
            for b in range(first, a + 1):
                j = paths[b]
                put(m, k * n + j, get(m, k * n + j) - x * get(m, row + j))
            put(m, row + k, x)


@outline
def solve_one(rows, given, paths, m, b):
    """Replace the unknowns' entries of the flat array `b` by the solution."""
    n = int(rows[0, N_V])
    for i in range(n, 0, -1):
        if counts(given, i):
            x = get(b, i - 1)
            for a in range(paths[2 * i], paths[2 * i + 1] - 1):
                k = paths[a]
                put(b, k, get(b, k) - get(m, (i - 1) * n + k) * x)
    for i in range(1, n + 1):
        if counts(given, i):
            x = get(b, i - 1) * get(m, (i - 1) * n + i - 1)
            for a in range(paths[2 * i], paths[2 * i + 1] - 1):
                k = paths[a]
                x = x - get(m, (i - 1) * n + k) * get(b, k)
            put(b, i - 1, x)


@outline
def solve_many(rows, given, paths, m, x, width):
    """Replace the unknowns' rows of `x` by the solution; rows of `width` entries, a multiple of three.

    The entries of `x` are scalars as those of `m`, or vectors of several columns.
    """
    n = int(rows[0, N_V])
    for c in range(0, width, 3):
        for i in range(n, 0, -1):
            if counts(given, i):
                e = (i - 1) * width + c
                x0, x1, x2 = get(x, e), get(x, e + 1), get(x, e + 2)
                for a in range(paths[2 * i], paths[2 * i + 1] - 1):
                    k = paths[a]
                    y, e = get(m, (i - 1) * n + k), k * width + c
                    put(x, e, get(x, e) - y * x0)
                    put(x, e + 1, get(x, e + 1) - y * x1)
                    put(x, e + 2, get(x, e + 2) - y * x2)
        for i in range(1, n + 1):
            if counts(given, i):
                d, e = get(m, (i - 1) * n + i - 1), (i - 1) * width + c
                x0, x1, x2 = d * get(x, e), d * get(x, e + 1), d * get(x, e + 2)
                for a in range(paths[2 * i], paths[2 * i + 1] - 1):
                    k = paths[a]
                    y, e = get(m, (i - 1) * n + k), k * width + c
                    x0 = x0 - y * get(x, e)
                    x1 = x1 - y * get(x, e + 1)
                    x2 = x2 - y * get(x, e + 2)
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
