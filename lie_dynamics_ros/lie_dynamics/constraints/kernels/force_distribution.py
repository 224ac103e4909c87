"""Joint forces and multipliers of a motion, Kim (56)-(66), and the systems that its derivatives solve.

Where A_p is plainly of full rank, else see `resolution`: Householder's triangulation with column pivoting, for the few
unknowns of constraints; rows are whole vectors.
"""

from __future__ import annotations

import numpy as np

from ...engine.compile import inline, on_demand, outline, pasted
from ...engine.lanes import LANES, get2, lift, put2, workspace
from ...model.layout import OK
from .constrained_dynamics import HEADER
from .loops import COUNT, LOOP_SIZE, START


@outline
def factor(mass, places, count, l):
    """Fill `l` with L^T of the Cholesky factor of M at some coordinates, above the diagonal; return if there is one."""
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
        if not triangulate(a, n, m, cut[0] * np.sqrt(size), vectors, v, w):
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
        done[s] = triangulate(a, m, m, cut[0] * np.sqrt(size), vectors, v, w)
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


@pasted
def vectors_of(a):
    """Return the vectors of a table whose rows are whole vectors."""
    return a.reshape((a.shape[0], a.shape[1] // LANES, LANES))


@inline
def padded(count):
    """Return the length of a row for some numbers."""
    return (count + LANES - 1) // LANES * LANES


@outline
def triangulate(a, rows, columns, cut, vectors, v, w):
    """Turn `a` by reflectors so that its first columns are triangular; tell whether R's diagonal is above `cut`.

    Columns are not moved: entry (j, k) of R stands at (j, order[k]). Other columns of `a` are turned along, by Q^T.

    Parameters
    ----------
    a : (at least rows, at least columns), rows >= columns; this and all tables here have rows that are `padded`.
    vectors : three rows (at least columns), filled: places of R's columns, factors of reflectors, diagonal of R.
    v : (at least columns, at least rows), filled with the reflectors, from entry k of row k.
    w : (1, at least columns), workspace.
    """
    lanes, w_lanes = vectors_of(a), vectors_of(w)
    order, heads, diagonal = vectors[0], vectors[1], vectors[2]
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


@outline
def put_load(matrix, load, places, start, end, force, out):
    """Fill `out` with the load that the multipliers `force` leave at some coordinates."""
    for j in range(start, end):
        i = int(places[j])
        total = load[i]
        for k in range(force.shape[0]):
            total = total - matrix[i + 1, k] * force[k, 0]
        out[j, 0] = total


@outline
def sizes(matrix, places, start, end, roots, m):
    """Return the sum of the squares of some rows of A^T, each times its weight."""
    total = 0.0
    for j in range(start, end):
        row = 0.0
        for k in range(m):
            row += matrix[int(places[j]) + 1, k] * matrix[int(places[j]) + 1, k]
        total += row * roots[j] * roots[j]
    return total


@outline
def share_one(matrix, load, passive, places, active, roots, cut, space):
    """Fill the first column of b, third in `space`, with a state's multipliers; return whether it could be done."""
    a, r, b, x, null, w, vectors, v = space
    n, m = load.shape[0], b.shape[0]
    held = n - active
    order, heads, diagonal = vectors[0], vectors[1], vectors[2]
    for j in range(n):
        vectors[3, j] = 1.0
    size = np.sqrt(sizes(matrix, places, 0, n, vectors[3], m))
    for k in range(m):
        for j in range(held):
            a[k, j] = matrix[int(places[active + j]) + 1, k]
        for j in range(b.shape[1]):
            b[k, j] = 0.0
    if not triangulate(a, m, held, cut * size, vectors, v, w):
        return False
    for j in range(held):
        i = int(places[active + int(order[j])])
        b[j, 0] = load[i] - passive[i]
    solve_triangle(a, held, diagonal, order, b, True)
    turn(v, m, held, heads, b, True)  # Kim (59), the pseudo-inverse
    free = m - held
    if free == 0 or roots.shape[0] == 0:
        return True
    # Over lambda = base + null s, the torques are torque - slope s; see `resolution.resolve`.
    for k in range(m):
        for j in range(null.shape[1]):
            null[k, j] = 1.0 if k == held + j else 0.0
    turn(v, m, held, heads, null, True)
    put_load(matrix, load, places, 0, active, b, x)
    most = 0.0
    for j in range(active + m):
        for c in range(r.shape[1]):
            r[j, c] = 0.0
        first, last = (0, m) if j < active else (j - active, j - active + 1)
        for k in range(first, last):
            y = roots[j] * matrix[int(places[j]) + 1, k] if j < active else roots[j]
            for c in range(free):
                r[j, c] += y * null[k, c]
        r[j, free] = roots[j] * x[j, 0] if j < active else -roots[j] * b[j - active, 0]
        if j >= active:
            most = max(most, roots[j])
    size = np.sqrt(sizes(matrix, places, 0, active, roots, m) + most * most)
    if not triangulate(r, active + m, free, cut * size, vectors, v, w):
        return False
    for j in range(free):
        for c in range(x.shape[1]):
            x[j, c] = r[j, free] if c == 0 else 0.0
    solve_triangle(r, free, diagonal, order, x, False)
    for j in range(free):
        for k in range(m):
            b[k, 0] += null[k, int(order[j])] * x[j, 0]
    return True


@on_demand(
    "(float64[::1], float64[:,:,::1], float64[:,:,::1], float64[:,::1], float64[:,::1], float64[:,::1], boolean[::1],"
    " float64[::1], float64[::1], float64[:,::1])",
    direct=True,
)
def distribute_forces(packed, matrix, wrenches, load, qdd, passive, mask, roots, cut, out):
    """Fill results, as `constrained_dynamics` packs them with forces, for a batch of motions.

    Parameters
    ----------
    packed : of the constraints, as for `constrained_dynamics`.
    matrix, wrenches : (B, nv + 1, m) and (B, m of the loops, 6), as `loop_quantities` fills them, with all constraints.
    load, qdd, passive : (B, nv), forces that the motion takes, the motion, given forces where `mask` is False.
    roots : square roots of the weights of forces and multipliers; empty for the smallest multipliers.
    cut : (1), size of diagonal entries of R, relative to A, that are plainly none of round-off.
    out : the rank is -1 where that cannot be said, or where the result is not finite; how often, is returned.
    """
    n, m, loops = load.shape[1], matrix.shape[2], int(packed[0])
    active, j = 0, 0
    places = workspace(1, n, cut)[0]
    for i in range(n):
        if mask[i]:
            places[active] = i
            active += 1
    for i in range(n):
        if not mask[i]:
            places[active + j] = i
            j += 1
    free = max(m - n + active, 0)
    a, b, x = workspace(m, padded(n - active), cut), workspace(m, padded(1), cut), workspace(n + m, padded(1), cut)
    r, null, w = workspace(n + m, padded(free + 1), cut), workspace(m, padded(free), cut), workspace(1, padded(m), cut)
    vectors, v = workspace(4, max(n, m), cut), workspace(m, n + m, cut)
    at, undone = n + m + 6 * loops, load.shape[0]
    for s in range(load.shape[0]):
        out[s, at] = -1.0
        good = n - active <= m and share_one(
            matrix[s], load[s], passive[s], places, active, roots, cut[0], (a, r, b, x, null, w, vectors, v)
        )
        if not good:
            continue
        put_load(matrix[s], load[s], places, 0, n, b, x)
        rest, terms, total = 0.0, 1e-300, 0.0
        for j in range(n):
            i = int(places[j])
            tau = x[j, 0] if j < active else passive[s, i]
            size = abs(load[s, i]) + abs(tau)
            for k in range(m):
                size += abs(matrix[s, i + 1, k] * b[k, 0])
            out[s, at + 2 + i] = tau
            if j >= active:
                rest = max(rest, abs(x[j, 0] - tau))
            terms = max(terms, size)
            total += size
            out[s, i] = qdd[s, i]
        for k in range(m):
            out[s, n + k] = b[k, 0]
        for l in range(loops):
            first = int(packed[HEADER + l * LOOP_SIZE + START])
            for c in range(6):
                sum_c = 0.0
                for k in range(first, first + int(packed[HEADER + l * LOOP_SIZE + COUNT])):
                    sum_c += b[k, 0] * wrenches[s, k, c]
                out[s, n + m + 6 * l + c] = sum_c
        out[s, at + 1] = rest / terms
        if total - total == 0.0:
            out[s, at] = n - active
            undone -= 1
    return undone
