"""Solutions of the systems that derivatives of constrained dynamics solve, where they are plainly regular."""

from __future__ import annotations

import numpy as np

from ...engine.compile import outline
from ...engine.lanes import LANES, get2, lift, put2, workspace
from ...model.layout import OK
from .on_demand import on_demand
from .orthogonal import add_row, padded, solve_triangle, triangulate, turn, vectors_of


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
    a, w = workspace(n, padded(m), cut), workspace(1, padded(m), cut)
    v, vectors = workspace(m, n, cut), workspace(3, m, cut)
    l, t = workspace(n, padded(n), cut), workspace(n, padded(n), cut)
    r, square = workspace(m, padded(m), cut), workspace(m, padded(m), cut)
    a_lanes, t_lanes, l_lanes, r_lanes, square_lanes = (
        vectors_of(a), vectors_of(t), vectors_of(l), vectors_of(r), vectors_of(square)
    )  # fmt: skip
    order, heads, diagonal = vectors[0], vectors[1], vectors[2]
    clear(a)
    for s in range(mass.shape[0]):
        clear(l)
        done[s] = False
        if m > n or not factor(mass[s], places, n, l):
            continue
        for i in range(n):
            for k in range(m):
                a[i, k] = matrix[s, int(places[i]) + 1, k]
        put_identity(t)
        size = 0.0
        for j in range(n):  # L^-1 times A^T and 1
            x = 1.0 / l[j, j]
            for c in range(a_lanes.shape[1]):
                put2(a_lanes, j, c, x * get2(a_lanes, j, c))
            for c in range(t_lanes.shape[1]):
                put2(t_lanes, j, c, x * get2(t_lanes, j, c))
            for i in range(j + 1, n):
                add_row(a_lanes, i, a_lanes, j, -l[j, i])
                add_row(t_lanes, i, t_lanes, j, -l[j, i])
            for k in range(m):
                size += a[j, k] * a[j, k]
        if not triangulate(a, n, m, cut[0] * np.sqrt(size), order, heads, diagonal, v, w):
            continue
        turn(v, n, m, heads, t, False)
        clear(l)
        for k in range(m, n):
            for i in range(n):
                add_row(l_lanes, i, t_lanes, k, t[k, i])
        for i in range(n):
            for j in range(n):
                out[s, i, j] = l[i, j]
        solve_triangle(a, m, diagonal, order, t, False)
        put_identity(r)
        solve_triangle(a, m, diagonal, order, r, True)
        clear(square)
        for k in range(m):
            for i in range(k + 1):
                add_row(square_lanes, i, r_lanes, k, r[k, i])
        for k in range(m):
            row = n + int(order[k])
            for i in range(n):
                out[s, row, i], out[s, i, row] = -t[k, i], t[k, i]
            for j in range(m):
                out[s, row, n + int(order[j])] = square[k, j]
        done[s] = True
    return OK


@outline
def combine(table, i, source, weights, factor):
    """Fill row `i` of a table of vectors with the weighted sum of another's rows, times a factor."""
    for c in range(table.shape[1]):
        total = (factor * weights[0]) * get2(source, 0, c)
        for k in range(1, source.shape[0]):
            total = total + (factor * weights[k]) * get2(source, k, c)
        put2(table, i, c, total)


@outline
def put_identity(table):
    """Fill a table with ones on its diagonal, else zeros."""
    clear(table)
    for i in range(table.shape[0]):
        table[i, i] = 1.0


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
    """Fill derivatives of joint forces, accelerations and multipliers (B, 2 nv + m, c) where A_p has an inverse.

    A_p is A at the coordinates where `mask` is False, m of them: A_p x = -dtarget and A_p^T dforce = dload_p - dtau_p.

    Parameters
    ----------
    mass, matrix, cut : as `motion_maps`.
    load, target, qdd, tau : (B, nv, c), (B, m, c) and twice (B, nv, c); see `Terms`. Where all accelerations are given,
        `target` is empty.
    done : (B), filled: whether A_p is plainly regular; nothing else is where it is not.
    """
    n, m, width = load.shape[1], matrix.shape[2], load.shape[2]
    places, active = workspace(1, n, cut)[0], 0
    for i in range(n):
        if mask[i]:
            places[m + active] = i
            active += 1
        else:
            places[i - active] = i
    a, w = workspace(m, padded(m), cut), workspace(1, padded(m), cut)
    v, vectors = workspace(m, m, cut), workspace(3, m, cut)
    t, x = workspace(m, padded(m), cut), workspace(m, padded(width), cut)
    f, y = workspace(m, padded(width), cut), workspace(n, padded(width), cut)
    x_lanes, f_lanes, y_lanes = vectors_of(x), vectors_of(f), vectors_of(y)
    order, heads, diagonal = vectors[0], vectors[1], vectors[2]
    clear(y)
    clear(f)
    clear(a)
    for s in range(matrix.shape[0]):
        size = 0.0
        for i in range(n):
            for k in range(m):
                size += matrix[s, i + 1, k] * matrix[s, i + 1, k]
        for j in range(m):
            for k in range(m):
                a[k, j] = matrix[s, int(places[j]) + 1, k]
        done[s] = triangulate(a, m, m, cut[0] * np.sqrt(size), order, heads, diagonal, v, w)
        if not done[s]:
            continue
        put_identity(t)
        turn(v, m, m, heads, t, False)
        solve_triangle(a, m, diagonal, order, t, False)  # row j: that of the inverse for coordinate order[j]
        put_rows(load[s], y)
        put_rows(qdd[s], out[s, n : 2 * n])
        if target.shape[1] > 0:
            put_rows(target[s], f)
            for j in range(m):
                i = int(places[int(order[j])])
                combine(x_lanes, j, f_lanes, t[j], -1.0)
                for k in range(n):
                    add_row(y_lanes, k, x_lanes, j, mass[s, k, i])
                for c in range(width):
                    out[s, n + i, c] = x[j, c]
        for j in range(m):
            i = int(places[int(order[j])])
            for c in range(width):
                f[j, c] = y[i, c] - tau[s, i, c]
                out[s, i, c] = tau[s, i, c]
        for k in range(m):
            for j in range(m):
                vectors[1, j] = t[j, k]
            combine(x_lanes, k, f_lanes, vectors[1], 1.0)
        for j in range(m, n):
            i = int(places[j])
            for k in range(m):
                add_row(y_lanes, i, x_lanes, k, -matrix[s, i + 1, k])
            for c in range(width):
                out[s, i, c] = y[i, c]
        for k in range(m):
            for c in range(width):
                out[s, 2 * n + k, c] = x[k, c]
    return OK
