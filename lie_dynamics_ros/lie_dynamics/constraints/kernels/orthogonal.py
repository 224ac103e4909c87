"""Householder's triangulation with column pivoting, for the few unknowns of constraints; rows are whole vectors."""

from __future__ import annotations

import numpy as np

from ...engine.compile import inline, outline, pasted
from ...engine.lanes import LANES, get2, put2


@pasted
def vectors_of(a):
    """Return the vectors of a table whose rows are whole vectors."""
    return a.reshape((a.shape[0], a.shape[1] // LANES, LANES))


@inline
def padded(count):
    """Return the length of a row for some numbers."""
    return (count + LANES - 1) // LANES * LANES


@outline
def triangulate(a, rows, columns, cut, order, heads, diagonal, v, w):
    """Turn `a` by reflectors so that its first columns are triangular; tell whether R's diagonal is above `cut`.

    Columns are not moved: entry (j, k) of R stands at (j, order[k]). Other columns of `a` are turned along, by Q^T.

    Parameters
    ----------
    a : (at least rows, at least columns), rows >= columns; this and all tables here have rows that are `padded`.
    order, heads, diagonal : (at least columns), filled: places of R's columns, factors of reflectors, diagonal of R.
    v : (at least columns, at least rows), filled with the reflectors, from entry k of row k.
    w : (1, at least columns), workspace.
    """
    lanes, w_lanes = vectors_of(a), vectors_of(w)
    for k in range(columns):
        order[k] = k
    for k in range(columns):
        for c in range(padded(columns) // LANES):
            total = get2(lanes, k, c) * get2(lanes, k, c)
            for i in range(k + 1, rows):
                total = total + get2(lanes, i, c) * get2(lanes, i, c)
            put2(w_lanes, 0, c, total)
        best = k
        for j in range(k + 1, columns):
            if w[0, int(order[j])] > w[0, int(order[best])]:
                best = j
        order[k], order[best] = order[best], order[k]
        pivot = int(order[k])
        for i in range(k, rows):
            v[k, i] = a[i, pivot]
        norm, x = np.sqrt(w[0, pivot]), v[k, k]
        if not norm > cut:
            return False
        heads[k], diagonal[k] = 1.0 / (norm * (norm + abs(x))), -norm if x > 0.0 else norm
        v[k, k] = x - diagonal[k]
        reflect(v, k, heads[k], lanes, rows)
    return True


@outline
def reflect(v, k, head, lanes, rows):
    """Apply reflector `k` to all columns of a table."""
    for c in range(lanes.shape[1]):
        total = v[k, k] * get2(lanes, k, c)
        for i in range(k + 1, rows):
            total = total + v[k, i] * get2(lanes, i, c)
        total = head * total
        for i in range(k, rows):
            put2(lanes, i, c, get2(lanes, i, c) - v[k, i] * total)


@outline
def turn(v, rows, columns, heads, b, back):
    """Replace a table by Q^T times it, or `back` by Q."""
    lanes = vectors_of(b)
    for k in range(columns):
        j = columns - 1 - k if back else k
        reflect(v, j, heads[j], lanes, rows)


@outline
def solve_triangle(a, columns, diagonal, order, b, transposed):
    """Replace the first rows of a table by R^-1 times them, or R^-T; rows are in the order of R's."""
    lanes = vectors_of(b)
    for t in range(columns):
        j = t if transposed else columns - 1 - t
        size = 1.0 / diagonal[j]
        for c in range(lanes.shape[1]):
            put2(lanes, j, c, size * get2(lanes, j, c))
        for u in range(t + 1, columns):
            i = u if transposed else columns - 1 - u
            x = a[j, int(order[i])] if transposed else a[i, int(order[j])]
            add_row(lanes, i, lanes, j, -x)


@inline
def add_row(table, i, source, j, factor):
    """Add a multiple of row `j` of a table of vectors to row `i` of another."""
    if factor != 0.0:
        for c in range(table.shape[1]):
            put2(table, i, c, get2(table, i, c) + factor * get2(source, j, c))
