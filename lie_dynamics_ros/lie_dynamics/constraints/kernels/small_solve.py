"""A symmetric positive semidefinite system of a few unknowns, solved in place with its rank."""

from __future__ import annotations

import numpy as np

from ...engine.compile import outline
from ...engine.lanes import LANES, get2, place_vector, put2, vector_at


@outline
def factorize(g, lanes, m, sizes, scales, order, tolerance):
    """Replace G by the factors of its scaled, pivoted L D L^T and return its rank.

    Parameters
    ----------
    g : (at least m, whole vectors), symmetric, where blocks below the diagonal ones need not be filled; `lanes` are its
        vectors. Afterwards row order[j] holds D L^T of S G S, S = diag(scales), in the columns order[j], order[j + 1],
        ...: rows and columns stay where they are.
    sizes : (m), what the diagonal of G could be if nothing cancelled; a pivot `tolerance` times smaller is zero.
    scales : (whole vectors), filled with 1 / sqrt(sizes).
    order : (m), filled.
    """
    groups = lanes.shape[1]
    for i in range(groups * LANES):
        size = np.real(sizes[i]) if i < m else 0.0
        scales[i] = 1.0 / np.sqrt(size) if size > 0.0 else 0.0
    for i in range(m):
        order[i] = i
        for k in range(i // LANES * LANES):
            g[i, k] = g[k, i]
    for i in range(m):
        for c in range(groups):
            put2(lanes, i, c, scales[i] * get2(lanes, i, c) * vector_at(scales, c))
    for j in range(m):
        best = j
        for i in range(j + 1, m):
            k, l = int(np.real(order[i])), int(np.real(order[best]))
            if np.real(g[k, k]) > np.real(g[l, l]):
                best = i
        order[j], order[best] = order[best], order[j]
        p = int(np.real(order[j]))
        d = g[p, p]
        if not np.real(d) > tolerance:
            return j
        for i in range(j + 1, m):
            k = int(np.real(order[i]))
            x = g[p, k] / d
            for c in range(groups):
                put2(lanes, k, c, get2(lanes, k, c) - x * get2(lanes, p, c))
    return m


@outline
def solve(g, lanes, m, rank, scales, order, b, x, y):
    """Fill `x` with G^-1 b; where G is singular, with the smallest x that satisfies the equations of its pivots.

    `b` and `y`, which is workspace, are whole vectors.
    """
    for c in range(lanes.shape[1]):
        place_vector(y, c, vector_at(b, c) * vector_at(scales, c))
    for j in range(rank):
        p = int(np.real(order[j]))
        x[p] = y[p]
        factor = y[p] / g[p, p]
        for c in range(lanes.shape[1]):
            place_vector(y, c, vector_at(y, c) - factor * get2(lanes, p, c))
    for j in range(rank - 1, -1, -1):
        p = int(np.real(order[j]))
        factor = x[p] / g[p, p]
        x[p] = factor * scales[p]
        for i in range(j):
            k = int(np.real(order[i]))
            x[k] = x[k] - g[k, p] * factor
    for j in range(rank, m):
        x[int(np.real(order[j]))] = 0.0


@outline
def shorten(g, m, rank, scales, order, h, x, y):
    """Replace `x` by the shortest vector with the same G x: its part in the range of G.

    `h` (at least m, at least m) and `y` (m) are workspace.
    """
    # Columns of C = S^-1 L, with rows in the caller's order, span the range.
    for i in range(m):
        k = int(np.real(order[i]))
        for j in range(rank):
            p = int(np.real(order[j]))
            h[k, j] = 0.0 if j > i or scales[k] == 0.0 else g[p, k] / (g[p, p] * scales[k])
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
