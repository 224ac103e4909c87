"""A symmetric positive semidefinite system of a few unknowns, solved in place with its rank."""

from __future__ import annotations

import numpy as np

from ...engine.compile import outline


@outline
def factorize(g, m, sizes, scales, order, tolerance):
    """Replace G by the factors of its scaled, pivoted L D L^T and return its rank.

    Parameters
    ----------
    g : (at least m, at least m), symmetric. Afterwards row i holds L below the diagonal and D on it, of S G S with its
        rows and columns in the order `order`, S = diag(scales).
    sizes : (m), what the diagonal of G could be if nothing cancelled; a pivot `tolerance` times smaller is zero.
    scales : (m), filled with 1 / sqrt(sizes).
    order : (m), filled.
    """
    for i in range(m):
        size = np.real(sizes[i])
        scales[i] = 1.0 / np.sqrt(size) if size > 0.0 else 0.0
        order[i] = i
    for i in range(m):
        for k in range(i, m):
            x = g[i, k] * scales[i] * scales[k]
            g[i, k] = x
            g[k, i] = x
    for j in range(m):
        pivot = j
        for i in range(j + 1, m):
            if np.real(g[i, i]) > np.real(g[pivot, pivot]):
                pivot = i
        if not np.real(g[pivot, pivot]) > tolerance:
            return j
        if pivot != j:
            order[j], order[pivot] = order[pivot], order[j]
            for k in range(m):
                g[j, k], g[pivot, k] = g[pivot, k], g[j, k]
            for k in range(j, m):
                g[k, j], g[k, pivot] = g[k, pivot], g[k, j]
        d = g[j, j]
        for i in range(j + 1, m):
            l = g[i, j] / d
            for k in range(j + 1, m):
                g[i, k] = g[i, k] - l * g[j, k]
            g[i, j] = l
    return m


@outline
def solve(g, m, rank, scales, order, b, x, y):
    """Fill `x` with G^-1 b; where G is singular, with the smallest x that satisfies the equations of its pivots.

    `y` (m) is workspace.
    """
    for i in range(rank):
        k = int(np.real(order[i]))
        total = b[k] * scales[k]
        for j in range(i):
            total = total - g[i, j] * y[j]
        y[i] = total
    for i in range(rank):
        y[i] = y[i] / g[i, i]
    for i in range(rank - 1, -1, -1):
        total = y[i]
        for j in range(i + 1, rank):
            total = total - g[j, i] * y[j]
        y[i] = total
    for i in range(m):
        k = int(np.real(order[i]))
        x[k] = y[i] * scales[k] if i < rank else 0.0 * y[0]


@outline
def shorten(g, m, rank, scales, order, h, x, y):
    """Replace `x` by the shortest vector with the same G x: its part in the range of G.

    `h` (at least m, at least m) and `y` (m) are workspace.
    """
    # Columns of C = S^-1 L, with rows in the caller's order, span the range.
    for i in range(m):
        k = int(np.real(order[i]))
        for j in range(rank):
            h[k, j] = 0.0 if j > i or scales[k] == 0.0 else (1.0 if j == i else g[i, j]) / scales[k]
    for j in range(rank):  # modified Gram-Schmidt, twice for good measure
        for _ in range(2):
            for l in range(j):
                total = h[0, l] * h[0, j]
                for k in range(1, m):
                    total = total + h[k, l] * h[k, j]
                for k in range(m):
                    h[k, j] = h[k, j] - total * h[k, l]
        norm = h[0, j] * h[0, j]
        for k in range(1, m):
            norm = norm + h[k, j] * h[k, j]
        norm = np.sqrt(norm)
        for k in range(m):
            h[k, j] = h[k, j] / norm
        total = h[0, j] * x[0]
        for k in range(1, m):
            total = total + h[k, j] * x[k]
        y[j] = total
    for k in range(m):
        total = 0.0 * x[k]
        for j in range(rank):
            total = total + h[k, j] * y[j]
        x[k] = total
