"""Inverses of the systems that derivatives of constrained dynamics solve, where they are plainly regular."""

from __future__ import annotations

import numpy as np

from ...engine.compile import outline
from ...engine.lanes import workspace
from ...model.layout import OK
from .on_demand import on_demand
from .orthogonal import solve_triangle, triangulate, turned_identity


@outline
def factor(mass, places, count, l):
    """Fill `l` with the Cholesky factor of M at some coordinates, and its transpose; tell whether there is one."""
    for i in range(count):
        for j in range(i, count):
            l[i, j] = mass[int(places[i]), int(places[j])]
    for k in range(count):  # the factor transposed, row by row in vectors
        if not l[k, k] > 0.0:
            return False
        x = 1.0 / np.sqrt(l[k, k])
        for j in range(k, count):
            l[k, j] *= x
        for i in range(k + 1, count):
            x = l[k, i]
            for j in range(i, count):
                l[i, j] -= x * l[k, j]
            l[i, k] = x
    return True


@outline
def put_squares(b, first, last, width, out):
    """Fill `out` with the sum of the outer squares of some rows of `b`."""
    for i in range(width):
        for j in range(width):
            out[i, j] = 0.0
        for c in range(first, last):
            x = b[c, i]
            for j in range(width):
                out[i, j] += x * b[c, j]


@on_demand(
    "(float64[:,:,::1], float64[:,:,::1], boolean[::1], float64[::1], boolean[::1], float64[:,:,::1])", direct=True
)
def motion_maps(mass, matrix, free, cut, done, out):
    """Fill the maps from (r, l) to (x, y) with M x - A^T y = r, A x = l at the `free` coordinates, for a batch.

    By M = L L^T and the triangulation L^-1 A^T = Q R: x is L^-T Q of what R and l determine, and of the rest of
    Q^T L^-1 r.

    Parameters
    ----------
    mass, matrix : (B, nv, nv) and (B, nv + 1, m), as `loop_quantities` fills it, with all constraints.
    cut : (1), see `share`.
    done : (B), filled: whether M is positive definite there, and A plainly of rank m.
    out : (B, free + m, free + m).
    """
    m, n = matrix.shape[2], 0
    places = workspace(1, free.shape[0], cut)[0]
    for i in range(free.shape[0]):
        if free[i]:
            places[n] = i
            n += 1
    l, a, t, vectors = workspace(n, n, cut), workspace(n, m, cut), workspace(n, n, cut), workspace(4, n + m, cut)
    inverse, square, space = workspace(m, m, cut), workspace(m, m, cut), workspace(n, n, cut)
    order, heads, diagonal, w = vectors[0], vectors[1], vectors[2], vectors[3]
    for s in range(mass.shape[0]):
        done[s] = False
        if m > n or not factor(mass[s], places, n, l):
            continue
        size = 0.0
        for i in range(n):
            for k in range(m):
                a[i, k] = matrix[s, int(places[i]) + 1, k]
            for j in range(i):
                x = l[i, j]
                for k in range(m):
                    a[i, k] -= x * a[j, k]
            x = 1.0 / l[i, i]
            for k in range(m):
                a[i, k] *= x
                size += a[i, k] * a[i, k]
        if not triangulate(a, n, m, cut[0] * np.sqrt(size), order, heads, diagonal, w):
            continue
        turned_identity(a, n, m, heads, t, w)
        for c in range(n):  # rows times L^-1
            for i in range(n - 1, -1, -1):
                x = t[c, i] / l[i, i]
                t[c, i] = x
                for j in range(i):
                    t[c, j] -= x * l[i, j]
        put_squares(t, m, n, n, space)
        for i in range(n):
            for j in range(n):
                out[s, i, j] = space[i, j]
        solve_triangle(a, m, diagonal, t, n, False)
        for i in range(m):
            for j in range(m):
                inverse[i, j] = 0.0
            inverse[i, i] = 1.0
        solve_triangle(a, m, diagonal, inverse, m, True)
        put_squares(inverse, 0, m, m, square)
        for k in range(m):
            row = n + int(order[k])
            for i in range(n):
                out[s, row, i] = -t[k, i]
                out[s, i, row] = t[k, i]
            for j in range(m):
                out[s, row, n + int(order[j])] = square[k, j]
        done[s] = True
    return OK


@on_demand("(float64[:,:,::1], boolean[::1], float64[::1], boolean[::1], float64[:,:,::1])", direct=True)
def held_maps(matrix, mask, cut, done, out):
    """Fill A_p^-1 (B, m, m), A_p being A at the coordinates where `mask` is False; arguments as `motion_maps`."""
    m = matrix.shape[2]
    places = workspace(1, m, cut)[0]
    j = 0
    for i in range(mask.shape[0]):
        if not mask[i]:
            places[j] = i
            j += 1
    a, t, vectors = workspace(m, m, cut), workspace(m, m, cut), workspace(4, m, cut)
    order, heads, diagonal, w = vectors[0], vectors[1], vectors[2], vectors[3]
    for s in range(matrix.shape[0]):
        size = 0.0
        for i in range(mask.shape[0]):
            for k in range(m):
                size += matrix[s, i + 1, k] * matrix[s, i + 1, k]
        for j in range(m):
            for k in range(m):
                a[k, j] = matrix[s, int(places[j]) + 1, k]
        done[s] = triangulate(a, m, m, cut[0] * np.sqrt(size), order, heads, diagonal, w)
        if not done[s]:
            continue
        turned_identity(a, m, m, heads, t, w)
        solve_triangle(a, m, diagonal, t, m, False)
        for i in range(m):
            for j in range(m):
                out[s, int(order[i]), j] = t[i, j]
    return OK
