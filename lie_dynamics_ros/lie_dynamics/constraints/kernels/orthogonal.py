"""Householder's triangulation with column pivoting, for the few unknowns of constraints; inner loops run along rows."""

from __future__ import annotations

import numpy as np

from ...engine.compile import inline, outline


@outline
def triangulate(a, rows, columns, cut, order, heads, diagonal, w):
    """Replace the first columns of `a` by Q's reflectors and R; tell whether each diagonal entry of R is above `cut`.

    Columns of `a` beyond the first are turned along with them, by Q^T.

    Parameters
    ----------
    a : (at least rows, at least columns), rows >= columns. Afterwards reflector k lies in column k from row k down, R
        above the diagonal, with its columns in the order `order`.
    order, heads, diagonal : (at least columns), filled: places of R's columns, factors of reflectors, diagonal of R.
    w : (at least the width of `a`), workspace.
    """
    width = a.shape[1]
    for j in range(columns):
        order[j] = j
    for k in range(columns):
        for j in range(k, columns):
            w[j] = 0.0
        for i in range(k, rows):
            for j in range(k, columns):
                w[j] += a[i, j] * a[i, j]
        pivot = k
        for j in range(k + 1, columns):
            if w[j] > w[pivot]:
                pivot = j
        if pivot != k:
            order[k], order[pivot] = order[pivot], order[k]
            for i in range(rows):
                a[i, k], a[i, pivot] = a[i, pivot], a[i, k]
        norm, x = np.sqrt(w[pivot]), a[k, k]
        if not norm > cut:
            return False
        head = 1.0 / (norm * (norm + abs(x)))
        heads[k], diagonal[k] = head, -norm if x > 0.0 else norm
        a[k, k] = x - diagonal[k]
        reflect(a, k, head, a, rows, k + 1, width, w)
    return True


@inline
def reflect(a, k, head, b, rows, start, end, w):
    """Apply reflector `k` of `a` to the columns `start` to `end` of `b`."""
    for j in range(start, end):
        w[j] = 0.0
    for i in range(k, rows):
        v = head * a[i, k]
        for j in range(start, end):
            w[j] += v * b[i, j]
    for i in range(k, rows):
        v = a[i, k]
        for j in range(start, end):
            b[i, j] -= v * w[j]


@outline
def turn_back(a, rows, columns, heads, b, width, w):
    """Replace the first `width` columns of `b` by Q times them."""
    for k in range(columns - 1, -1, -1):
        reflect(a, k, heads[k], b, rows, 0, width, w)


@outline
def turned_identity(a, rows, columns, heads, b, w):
    """Fill `b` (rows, rows) with Q^T."""
    for i in range(rows):
        for j in range(rows):
            b[i, j] = 0.0
        b[i, i] = 1.0
    for k in range(columns):
        reflect(a, k, heads[k], b, rows, 0, rows, w)


@outline
def solve_triangle(a, columns, diagonal, b, width, transposed):
    """Replace the first rows of `b` by R^-1 times them, or R^-T, in the order of R's columns."""
    for j in range(columns):
        i = j if transposed else columns - 1 - j
        for m in range(j):
            k = m if transposed else columns - 1 - m
            x = a[k, i] if transposed else a[i, k]
            for l in range(width):
                b[i, l] -= x * b[k, l]
        x = 1.0 / diagonal[i]
        for l in range(width):
            b[i, l] *= x
