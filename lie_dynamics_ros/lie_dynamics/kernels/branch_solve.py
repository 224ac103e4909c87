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
    return 3 * (n + 1) + n * (n + 1) // 2


@outline
def list_paths(rows, given, paths):
    """List the unknowns on the path from the base to each row, that of the row last, and the end of its branch.

    Those of row `i` are ``paths[paths[3 i] : paths[3 i + 1]]``, counted from zero; rows of one branch share a list. All
    rows beyond row `i` come before row ``paths[3 i + 2]``, counted from zero.
    """
    n = int(rows[0, N_V])
    at = 3 * (n + 1)
    for i in range(1, n + 1):
        parent = int(rows[i, PARENT])
        start = at
        if i > 1 and parent == i - 1:
            start = paths[3 * parent]
        elif parent > 0:
            for e in range(paths[3 * parent], paths[3 * parent + 1]):
                paths[at] = paths[e]
                at += 1
        if counts(given, i):
            paths[at] = i - 1
            at += 1
        paths[3 * i] = start
        paths[3 * i + 1] = at
        paths[3 * i + 2] = i
    for i in range(n, 0, -1):
        parent = int(rows[i, PARENT])
        paths[3 * parent + 2] = max(paths[3 * parent + 2], paths[3 * i + 2]) if parent > 0 else n


@outline
def factorize(rows, given, paths, m):
    """Replace the lower half of the unknowns' block of `m` (nv nv) by L, the upper by L^T, the diagonal by D^-1.

    A pivot is the articulated inertia along its row; one that vanishes is inverted to infinity. The rest of the upper
    half must be zero.
    """
    n = int(rows[0, N_V])
    for i in range(n, 0, -1):
        if not counts(given, i):
            continue
        first, last = paths[3 * i], paths[3 * i + 1] - 1
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
            put(m, k * n + i - 1, x)


@outline
def solve_one(rows, given, paths, m, b):
    """Replace the unknowns' entries of the flat array `b` by the solution."""
    n = int(rows[0, N_V])
    for i in range(n, 0, -1):
        if counts(given, i):
            x = get(b, i - 1)
            for a in range(paths[3 * i], paths[3 * i + 1] - 1):
                k = paths[a]
                put(b, k, get(b, k) - get(m, (i - 1) * n + k) * x)
    for i in range(1, n + 1):
        if counts(given, i):
            x = get(b, i - 1) * get(m, (i - 1) * n + i - 1)
            for a in range(paths[3 * i], paths[3 * i + 1] - 1):
                k = paths[a]
                x = x - get(m, (i - 1) * n + k) * get(b, k)
            put(b, i - 1, x)


@inline
def _related(paths, i, c):
    """Tell whether one of the coordinates c, c + 1, c + 2, counted from zero, may lie on one path with row `i`."""
    if c + 2 >= i - 1:
        return c < paths[3 * i + 2]
    return i - 1 < max(paths[3 * c + 5], paths[3 * c + 8], paths[3 * c + 11])


@outline
def solve_many(rows, given, paths, m, x, blocks, width, sparse):
    """Replace the unknowns' rows of `x` by minus the solution; rows of `blocks` times `width` entries, in threes.

    The entries of `x` are scalars as those of `m`, or vectors of several columns. If `sparse`, entry (i, c) of each
    block is zero at first where coordinates i and c are not on one path; and where no unknown is left out the last
    block is minus the unit matrix, so that its solution is symmetric and half of it enough.
    """
    n = int(rows[0, N_V])
    stride = blocks * width
    for at in range(0, stride, 3):
        column = at % width
        inverse = sparse and given.shape[0] == 0 and at >= stride - width
        for i in range(min(n, column + 3) if inverse else n, 0, -1):
            if counts(given, i) and (not sparse or _related(paths, i, column)):
                e = (i - 1) * stride + at
                x0, x1, x2 = get(x, e), get(x, e + 1), get(x, e + 2)
                for j in range(i, paths[3 * i + 2]):
                    y, k = get(m, (i - 1) * n + j), j * stride + at
                    x0 = x0 - y * get(x, k)
                    x1 = x1 - y * get(x, k + 1)
                    x2 = x2 - y * get(x, k + 2)
                put(x, e, x0)
                put(x, e + 1, x1)
                put(x, e + 2, x2)
        first = 1
        if inverse:
            first = column + 1
            for i in range(column):
                for c in range(column, min(column + 3, n)):
                    put(x, i * stride + at - column + c, get(x, c * stride + at - column + i))
        for i in range(first, n + 1):
            if counts(given, i):
                d, e = -get(m, (i - 1) * n + i - 1), (i - 1) * stride + at
                x0, x1, x2 = d * get(x, e), d * get(x, e + 1), d * get(x, e + 2)
                for a in range(paths[3 * i], paths[3 * i + 1] - 1):
                    j = paths[a]
                    y, k = get(m, (i - 1) * n + j), j * stride + at
                    x0 = x0 - y * get(x, k)
                    x1 = x1 - y * get(x, k + 1)
                    x2 = x2 - y * get(x, k + 2)
                put(x, e, x0)
                put(x, e + 1, x1)
                put(x, e + 2, x2)


@outline
def add_coupled(rows, given, m, x, width):
    """Add M_uv X_v to the rows u of `x` whose acceleration is given, v the unknowns; `factorize` left M_uv."""
    n = int(rows[0, N_V])
    for i in range(1, n + 1):
        k = int(rows[i, PARENT])
        while k > 0:
            if counts(given, i) != counts(given, k):
                y = get(m, (i - 1) * n + k - 1)
                to, source = (k, i) if counts(given, i) else (i, k)
                to, source = (to - 1) * width, (source - 1) * width
                for c in range(width):
                    put(x, to + c, get(x, to + c) + y * get(x, source + c))
            k = int(rows[k, PARENT])
