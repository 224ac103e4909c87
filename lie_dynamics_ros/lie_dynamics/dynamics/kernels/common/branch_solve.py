"""Solution with the mass matrix of a tree, which stays sparse: M = L^T D L, eliminated from the leaves.

L has entries for pairs of rows on one path from the base, where M has them: no fill-in. A mask takes coordinates out of
the unknowns. Walking up the tree is slow, as each step waits for the one before; so paths are listed once.
"""

from __future__ import annotations

from ....engine.compile import inline, outline
from ....engine.lanes import entry, get, positive, put
from ....model.layout import N_V, PARENT, ROUND_OFF


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
    """Replace the lower half of the unknowns' block of `m` by L, the upper by L^T, the diagonal by D^-1.

    Its nv rows are filled up to whole vectors.

    A pivot is the articulated inertia along its row; one that vanishes is inverted to infinity. The rest of the upper
    half must be zero.
    """
    n = int(rows[0, N_V])
    width = m.shape[0] // max(n, 1)
    for i in range(n, 0, -1):
        if not counts(given, i):
            continue
        first, last = entry(paths, 3 * i), entry(paths, 3 * i + 1) - 1
        row = (i - 1) * width
        d = get(m, row + i - 1)
        inverse = 1.0 / (d * positive(d - rows[i, ROUND_OFF]))
        put(m, row + i - 1, inverse)
        for a in range(last - 1, first - 1, -1):
            k = entry(paths, a)
            x = get(m, row + k) * inverse
            for b in range(first, a + 1):
                j = entry(paths, b)
                put(m, k * width + j, get(m, k * width + j) - x * get(m, row + j))
            put(m, row + k, x)
            put(m, k * width + i - 1, x)


@outline
def solve_one(rows, given, paths, m, b):
    """Replace the unknowns' entries of the flat array `b` by the solution."""
    n = int(rows[0, N_V])
    width = m.shape[0] // max(n, 1)
    for i in range(n, 0, -1):
        if counts(given, i):
            x = get(b, i - 1)
            for a in range(entry(paths, 3 * i), entry(paths, 3 * i + 1) - 1):
                k = entry(paths, a)
                put(b, k, get(b, k) - get(m, (i - 1) * width + k) * x)
    for i in range(1, n + 1):
        if counts(given, i):
            x = get(b, i - 1) * get(m, (i - 1) * width + i - 1)
            for a in range(entry(paths, 3 * i), entry(paths, 3 * i + 1) - 1):
                k = entry(paths, a)
                x = x - get(m, (i - 1) * width + k) * get(b, k)
            put(b, i - 1, x)
