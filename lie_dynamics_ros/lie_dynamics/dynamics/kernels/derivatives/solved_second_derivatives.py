"""Second derivatives of what an equation of motion is solved for, from packed ones of joint forces.

With S what is found for missing forces, G derivatives of accelerations along q, qd and what is given, D_k the
derivative of the mass matrix along q_k, and T those of the forces,

    found along q_k q_m      = S (T_k + D_k G_q) + the same with k and m swapped,      T_k up to k, half of k k,
    found along q_k qd_m     = S (T_k + D_k G_qd),          found along q_k and what is given = S D_k G_given,

and along qd_k qd_m for m up to k, and the other way round, S T_k, of those m alone. All that S is multiplied with for
one k stands side by side in one table of rows on a branch with k, in vectors of columns; four rows of S at a time are
multiplied with all tables, by four vectors, and what is found leaves past the caches.
"""

from __future__ import annotations

import numpy as np

from ....engine.compile import inline, kernel, outline
from ....engine.lanes import LANES, column_space, get, lift, place_vector_from, put, vector_space
from ....engine.past_caches import copy_past
from ....engine.tiles import drain, line_offset
from ....model.layout import OK

#: Rows and vectors of a block of a product.
BLOCK = 4
#: Numbers of a plane that is written past the caches.
_LARGE = 512


@outline
def put_columns(matrix, n, first, width, into):
    """Store a matrix (n n) in rows of `width` vectors, from vector `first` on."""
    flat = into.reshape(into.size)
    for i in range(n):
        for j in range(n):
            flat[(i * width + first) * LANES + j] = matrix[i * n + j]


@outline
def fill_table(k, values, starts, sums, slopes, g, wide, table, begin, width):
    """Fill the rows of the table of q_k: derivatives of forces, and those of the mass matrix times G."""
    zero = lift(0.0, get(table, 0))
    for a in range(begin, begin + (starts[0, k + 1] - starts[0, k]) * width):
        put(table, a, zero)
    flat, line = table.reshape(table.size), begin * LANES
    for e in range(starts[2, k], starts[2, k + 1]):
        x = values[sums[e, 0]]
        place = sums[e, 1]
        flat[line + place // 2] = 0.5 * x if place % 2 == 1 else x
    for e in range(starts[3, k], starts[3, k + 1]):
        x, to, at = values[slopes[e, 0]], begin + slopes[e, 1] * width, slopes[e, 2] * wide
        for v in range(wide):
            put(table, to + v, get(table, to + v) + x * get(g, at + v))


@outline
def multiply(i, first, count, related, s, rows, table, begin, width, product):
    """Fill `product` (BLOCK, width) with rows i, ... of S, given by columns of `rows` numbers, times the table's."""
    zero = lift(0.0, get(table, 0))
    for v in range(0, width, BLOCK):
        a0, a1, a2, a3 = zero, zero, zero, zero
        b0, b1, b2, b3 = zero, zero, zero, zero
        c0, c1, c2, c3 = zero, zero, zero, zero
        d0, d1, d2, d3 = zero, zero, zero, zero
        for r in range(count):
            at, column = begin + r * width + v, related[first + r] * rows + i
            x0, x1, x2, x3 = get(table, at), get(table, at + 1), get(table, at + 2), get(table, at + 3)
            y = s[column]
            a0, a1, a2, a3 = a0 + y * x0, a1 + y * x1, a2 + y * x2, a3 + y * x3
            y = s[column + 1]
            b0, b1, b2, b3 = b0 + y * x0, b1 + y * x1, b2 + y * x2, b3 + y * x3
            y = s[column + 2]
            c0, c1, c2, c3 = c0 + y * x0, c1 + y * x1, c2 + y * x2, c3 + y * x3
            y = s[column + 3]
            d0, d1, d2, d3 = d0 + y * x0, d1 + y * x1, d2 + y * x2, d3 + y * x3
        at = v
        put(product, at, a0)
        put(product, at + 1, a1)
        put(product, at + 2, a2)
        put(product, at + 3, a3)
        at += width
        put(product, at, b0)
        put(product, at + 1, b1)
        put(product, at + 2, b2)
        put(product, at + 3, b3)
        at += width
        put(product, at, c0)
        put(product, at + 1, c1)
        put(product, at + 2, c2)
        put(product, at + 3, c3)
        at += width
        put(product, at, d0)
        put(product, at + 1, d1)
        put(product, at + 2, d2)
        put(product, at + 3, d3)


@inline
def put_row(vectors, product, at, numbers, to):
    """Store vectors of a product; what is too much of the last is written over by the next row, or lies behind all."""
    for v in range(vectors):
        place_vector_from(numbers, to + v * LANES, get(product, at + v))


@outline
def deal(k, n, few, columns, first, beyond, vectors, width, product, half, planes, places):
    """Store row k, and column k of what is symmetric, of what is found of a few rows of a product."""
    flat, numbers = product.reshape(product.size), planes.reshape(planes.size)
    for row in range(few):
        at, to = row * width, places[row, 2]
        put_row(vectors, product, at, half, row * (n * n + LANES) + k * n)
        put_row(vectors, product, at + vectors, numbers, places[row, 1] + k * n)
        put_row(vectors, product, at + 2 * vectors, numbers, places[row, 3] + k * n)
        at = (at + 3 * vectors) * LANES - first
        for c in range(first, beyond):
            x, m = flat[at + c], columns[c]
            numbers[to + k * n + m] = x
            numbers[to + m * n + k] = x


@outline
def copy_plane(planes, begin, count, flat, shift):
    """Copy a plane to the results, past the caches where it has many lines."""
    if count >= _LARGE:
        copy_past(planes, begin, count, flat, shift)
        return
    numbers = planes.reshape(planes.size)
    for j in range(begin, begin + count):
        flat[j + shift] = numbers[j]


@outline
def both_ways(n, half, first, planes, to):
    """Store the sum of a matrix (n n) and its transpose."""
    numbers = planes.reshape(planes.size)
    for j in range(n):
        for k in range(j + 1):
            x = half[first + j * n + k] + half[first + k * n + j]
            numbers[to + j * n + k] = x
            numbers[to + k * n + j] = x


@outline
def clear_plane(n, planes, to):
    """Store zeros."""
    numbers = planes.reshape(planes.size)
    for j in range(to, to + n * n):
        numbers[j] = 0.0


@kernel(
    "(" + "float64[:,::1], " * 5 + "int64[:,::1], int64[::1], int64[::1], int64[::1], int64[:,::1], int64[:,::1], "
    "float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1])"
)
def solved_second_derivatives(
    solve, g_q, g_qd, g_given, values, starts, widths, related, columns, sums, slopes, dq_dq, dq_dqd, dqd_dqd, dq_dgiven
):
    """Fill the tensors (states, n n n) from S and G (states, n n) and packed entries, by the lists of `Pattern.solved`.

    `starts` has a row (n + 1) for each of the last four lists: where what belongs to each k begins. `widths` are the
    vectors of a row of each table.
    """
    n = starts.shape[1] - 1
    vectors = (n + LANES - 1) // LANES
    widest = (4 * vectors + BLOCK - 1) // BLOCK * BLOCK
    rows, square = (n + BLOCK - 1) // BLOCK * BLOCK, n * n
    like = solve.reshape(solve.size)
    g, table = column_space(3 * vectors * n, like), column_space(widest * starts[0, n], like)
    product, s = column_space(widest * BLOCK, like), vector_space(rows * n, like)
    stride = square // LANES + 3  # of a plane, which keeps its place in cache lines
    half, planes = vector_space(BLOCK * (square + LANES), like), column_space(4 * BLOCK * stride, like)
    places = np.zeros((BLOCK, 4), np.int64)
    outs = dq_dq.reshape(dq_dq.size), dq_dqd.reshape(dq_dq.size)
    more = dqd_dqd.reshape(dq_dq.size), dq_dgiven.reshape(dq_dq.size)
    offsets = line_offset(outs[0]), line_offset(outs[1]), line_offset(more[0]), line_offset(more[1])
    g[:] = 0.0
    s[:] = 0.0
    for state in range(solve.shape[0]):
        for i in range(n):
            for r in range(n):
                s[r * rows + i] = solve[state, i * n + r]
        put_columns(g_q[state], n, 0, 3 * vectors, g)
        put_columns(g_qd[state], n, vectors, 3 * vectors, g)
        put_columns(g_given[state], n, 2 * vectors, 3 * vectors, g)
        for k in range(n):
            width = widths[k]
            fill_table(k, values[state], starts, sums, slopes, g, 3 * vectors, table, starts[0, k] * widest, width)
        for i in range(0, n, BLOCK):
            few = min(BLOCK, n - i)
            for row in range(few):
                for part in range(4):
                    here = state * n * square + (i + row) * square + offsets[part]
                    places[row, part] = (4 * row + part) * stride * LANES + here % LANES
                clear_plane(n, planes, places[row, 2])
            for k in range(n):
                width, begin = widths[k], starts[0, k] * widest
                first, count = starts[0, k], starts[0, k + 1] - starts[0, k]
                multiply(i, first, count, related, s, rows, table, begin, width, product)
                deal(k, n, few, columns, starts[1, k], starts[1, k + 1], vectors, width, product, half, planes, places)
            for row in range(few):
                both_ways(n, half, row * (square + LANES), planes, places[row, 0])
                here = state * n * square + (i + row) * square
                copy_plane(planes, places[row, 0], square, outs[0], here - places[row, 0])
                copy_plane(planes, places[row, 1], square, outs[1], here - places[row, 1])
                copy_plane(planes, places[row, 2], square, more[0], here - places[row, 2])
                copy_plane(planes, places[row, 3], square, more[1], here - places[row, 3])
    drain()
    return OK
