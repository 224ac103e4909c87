"""Solutions of the systems that derivatives of constrained dynamics solve, where they are plainly regular."""

from __future__ import annotations

import numpy as np

from ...engine.compile import outline
from ...engine.lanes import LANES, get2, lift, put2, workspace
from ...model.layout import OK
from .on_demand import on_demand
from .orthogonal import padded, solve_triangle, triangulate, vectors_of


@outline
def factor(mass, places, count, l):
    """Fill `l` with L^T of the Cholesky factor of M at some coordinates, above the diagonal; tell if there is one."""
    lanes = vectors_of(l)
    for i in range(count):
        for j in range(count):
            l[i, j] = mass[int(places[i]), int(places[j])]
    for k in range(count):
        if not l[k, k] > 0.0:
            return False
        x = 1.0 / np.sqrt(l[k, k])
        for c in range(k // LANES, lanes.shape[1]):
            put2(lanes, k, c, x * get2(lanes, k, c))
        for i in range(k + 1, count):
            x = l[k, i]
            if x != 0.0:
                for c in range(i // LANES, lanes.shape[1]):
                    put2(lanes, i, c, get2(lanes, i, c) - x * get2(lanes, k, c))
    return True


@outline
def add_row(table, i, source, j, factor):
    """Add a multiple of row `j` of a table of vectors to row `i` of another."""
    if factor != 0.0:
        for c in range(table.shape[1]):
            put2(table, i, c, get2(table, i, c) + factor * get2(source, j, c))


@outline
def clear(table):
    """Fill a table with zeros."""
    lanes = vectors_of(table)
    for i in range(lanes.shape[0]):
        for c in range(lanes.shape[1]):
            put2(lanes, i, c, lift(0.0, get2(lanes, i, c)))


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
    g, h = padded(m), padded(n)
    l, a, r, w = workspace(n, h, cut), workspace(n, g + h, cut), workspace(m, g, cut), workspace(1, g, cut)
    lanes, v, vectors, square = vectors_of(a), workspace(m, n, cut), workspace(3, m, cut), workspace(1, m, cut)[0]
    order, heads, diagonal = vectors[0], vectors[1], vectors[2]
    clear(l)
    for s in range(mass.shape[0]):
        done[s] = False
        if m > n or not factor(mass[s], places, n, l):
            continue
        clear(a)
        for i in range(n):
            for k in range(m):
                a[i, k] = matrix[s, int(places[i]) + 1, k]
            a[i, g + i] = 1.0
        size = 0.0
        for j in range(n):  # L^-1 times (A^T, 1)
            x = 1.0 / l[j, j]
            for c in range(lanes.shape[1]):
                put2(lanes, j, c, x * get2(lanes, j, c))
            for i in range(j + 1, n):
                add_row(lanes, i, lanes, j, -l[j, i])
            for k in range(m):
                size += a[j, k] * a[j, k]
        if not triangulate(a, n, m, cut[0] * np.sqrt(size), order, heads, diagonal, v, w):
            continue
        for i in range(n):
            for j in range(n):
                total = 0.0
                for k in range(m, n):
                    total += a[k, g + i] * a[k, g + j]
                out[s, i, j] = total
        solve_triangle(a, m, diagonal, order, a, g, False)
        clear(r)
        for i in range(m):
            r[i, i] = 1.0
        solve_triangle(a, m, diagonal, order, r, 0, True)
        for k in range(m):
            row = n + int(order[k])
            for i in range(n):
                x = a[k, g + i]
                out[s, row, i], out[s, i, row] = -x, x
            for j in range(m):
                square[j] = 0.0
            for i in range(k, m):
                x = r[i, k]
                for j in range(m):
                    square[j] += x * r[i, j]
            for j in range(m):
                out[s, row, n + int(order[j])] = square[j]
        done[s] = True
    return OK


@outline
def put_rows(source, table):
    """Copy an array to the rows of a table that are as long or longer."""
    for i in range(source.shape[0]):
        for c in range(source.shape[1]):
            table[i, c] = source[i, c]


@on_demand(
    "(float64[:,:,::1], float64[:,:,::1], float64[:,:,::1], float64[:,:,::1], float64[:,:,::1], float64[:,:,::1],"
    " boolean[::1], float64[::1], boolean[::1], float64[:,:,::1])",
    direct=True,
)
def held_solution(mass, matrix, load, target, qdd, tau, mask, cut, done, out):
    """Fill derivatives of accelerations, joint forces and multipliers (B, 2 nv + m, c) where A_p has an inverse.

    A_p is A at the coordinates where `mask` is False, m of them: A_p x = -dtarget and A_p^T dforce = dload_p - dtau_p.

    Parameters
    ----------
    mass, matrix, cut : as `motion_maps`.
    load, target, qdd, tau : (B, nv, c), (B, m, c) and twice (B, nv, c); see `Terms`. Where all accelerations are given,
        `target` is empty.
    done : (B), filled: whether A_p is plainly regular; nothing else is where it is not.
    """
    n, m, width = load.shape[1], matrix.shape[2], load.shape[2]
    g, h = padded(m), padded(width)
    places, active = workspace(1, n, cut)[0], 0
    for i in range(n):
        if mask[i]:
            places[m + active] = i
            active += 1
        else:
            places[i - active] = i
    a, w, v, vectors = workspace(m, 2 * g, cut), workspace(1, g, cut), workspace(m, m, cut), workspace(3, m, cut)
    x, f, y = workspace(m, h, cut), workspace(m, h, cut), workspace(n, h, cut)
    x_lanes, f_lanes, y_lanes = vectors_of(x), vectors_of(f), vectors_of(y)
    order, heads, diagonal = vectors[0], vectors[1], vectors[2]
    clear(y)
    clear(f)
    for s in range(matrix.shape[0]):
        size = 0.0
        for i in range(n):
            for k in range(m):
                size += matrix[s, i + 1, k] * matrix[s, i + 1, k]
        clear(a)
        for k in range(m):
            for j in range(m):
                a[k, j] = matrix[s, int(places[j]) + 1, k]
            a[k, g + k] = 1.0
        done[s] = triangulate(a, m, m, cut[0] * np.sqrt(size), order, heads, diagonal, v, w)
        if not done[s]:
            continue
        solve_triangle(a, m, diagonal, order, a, g, False)  # row j: that of the inverse for coordinate order[j]
        put_rows(load[s], y)
        put_rows(qdd[s], out[s])
        if target.shape[1] > 0:
            put_rows(target[s], f)
            clear(x)
            for j in range(m):
                i = int(places[int(order[j])])
                for k in range(m):
                    add_row(x_lanes, j, f_lanes, k, -a[j, g + k])
                for k in range(n):
                    add_row(y_lanes, k, x_lanes, j, mass[s, k, i])
                for c in range(width):
                    out[s, i, c] = x[j, c]
        clear(x)
        for j in range(m):
            i = int(places[int(order[j])])
            for c in range(width):
                y[i, c] -= tau[s, i, c]
                out[s, n + i, c] = tau[s, i, c]
        for j in range(m):
            i = int(places[int(order[j])])
            for k in range(m):
                add_row(x_lanes, k, y_lanes, i, a[j, g + k])
        for j in range(m, n):
            i = int(places[j])
            for k in range(m):
                add_row(y_lanes, i, x_lanes, k, -matrix[s, i + 1, k])
            for c in range(width):
                out[s, n + i, c] = y[i, c]
        for k in range(m):
            for c in range(width):
                out[s, 2 * n + k, c] = x[k, c]
    return OK
