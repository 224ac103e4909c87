"""Joint forces and multipliers of a motion, Kim (56)-(66), where A_p is plainly of full rank; see `resolution`."""

from __future__ import annotations

import numpy as np

from ...engine.compile import outline
from ...engine.lanes import workspace
from .constrained_dynamics import HEADER
from .loops import COUNT, LOOP_SIZE, START
from .on_demand import on_demand
from .orthogonal import padded, solve_triangle, triangulate, turn


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
def share_one(matrix, load, passive, places, active, roots, cut, a, r, b, x, null, w, vectors, v):
    """Fill the first column of `b` with the multipliers of one state and tell whether it could be done."""
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
    if not triangulate(a, m, held, cut * size, order, heads, diagonal, v, w):
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
    if not triangulate(r, active + m, free, cut * size, order, heads, diagonal, v, w):
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
            matrix[s], load[s], passive[s], places, active, roots, cut[0], a, r, b, x, null, w, vectors, v
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
