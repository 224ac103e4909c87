"""Second derivatives of what an equation of motion is solved for, from packed ones of joint forces.

With S what is found for missing forces, G derivatives of accelerations along q, qd and what is given, D_k the
derivative of the mass matrix along q_k, and T those of the forces,

    found along q_j q_k = S (T + D_k G_q,j + D_j G_q,k),        along qd_j qd_k = S T,
    found along q_k qd_m = S (T + D_k G_qd,m),                  along q_k and what is given at m = S D_k G_given,m.

A step along q_k turns all beyond by its screw J_k. So with the twist u that accelerations give to the base of its
joint, and the momentum p that they give to all bodies beyond, for rows of S and for columns of G,

    S_i D_k G_m = (J_k x* p_i) . u_m + [u_i, J_k] . p_m :

twelve products, however large the robot. All unknowns i stand side by side in vectors, a run of them for each pair of
coordinates, and leave in that order.
"""

from __future__ import annotations

from ....engine.compile import kernel, outline, straight
from ....engine.lanes import LANES, at, column_space, entry, get, lift, place, place_vector_from, put, workspace
from ....engine.tiles import copy_past, drain, line_offset
from ....model.layout import FIRST, N_V, OK, PARENT
from ..common.spatial import bracket, get_twist, on_wrench, plus, times
from ..common.world import INERTIA_COLUMNS, J, inertia_times, own_inertias, poses_and_screws
from .packed_second_derivatives import LARGE


@straight
def get_six(a, at, step):
    """Return six vectors as a pair of three."""
    return (
        (get(a, at), get(a, at + step), get(a, at + 2 * step)),
        (get(a, at + 3 * step), get(a, at + 4 * step), get(a, at + 5 * step)),
    )


@straight
def put_six(a, at, step, x):
    """Store a pair of three vectors."""
    put(a, at, x[0][0])
    put(a, at + step, x[0][1])
    put(a, at + 2 * step, x[0][2])
    put(a, at + 3 * step, x[1][0])
    put(a, at + 4 * step, x[1][1])
    put(a, at + 5 * step, x[1][2])


@straight
def put_eight(a, at, step, x):
    """Store eight vectors."""
    put(a, at, x[0])
    put(a, at + step, x[1])
    put(a, at + 2 * step, x[2])
    put(a, at + 3 * step, x[3])
    put(a, at + 4 * step, x[4])
    put(a, at + 5 * step, x[5])
    put(a, at + 6 * step, x[6])
    put(a, at + 7 * step, x[7])


@outline
def spread(matrix, first, n, row, column, factor, vectors, into):
    """Store entries `row` i + `column` j of a flat matrix, times a factor, in rows of vectors."""
    for i in range(n):
        for j in range(n):
            place(into, i * vectors * LANES + j, factor * at(matrix, first + i * row + j * column))


@outline
def fill_motion(rows, work, g, vectors, motion):
    """Fill each row's twist and the momentum of all from it on, that accelerations (n n) give."""
    n, half, size = int(rows[0, N_V]), 6 * vectors, 12 * vectors
    for v in range(half):
        put(motion, v, lift(0.0, get(motion, 0)))
    for i in range(1, n + 1):
        screw, above, to = get_twist(work, i, J), int(rows[i, PARENT]) * size, i * size
        for v in range(vectors):
            x = plus(get_six(motion, above + v, vectors), times(get(g, (i - 1) * vectors + v), screw))
            put_six(motion, to + v, vectors, x)
            put_six(motion, to + half + v, vectors, inertia_times(work, i, x[0], x[1]))
    for i in range(n, 0, -1):
        line, to = i * size + half, int(rows[i, PARENT]) * size + half
        if to > half:
            for v in range(half):
                put(motion, to + v, get(motion, to + v) + get(motion, line + v))


@outline
def turn_motion(rows, work, vectors, motion, turned):
    """Fill what the screw of each row makes of the momentum of its joint and the twist of its base."""
    half, size = 6 * vectors, 12 * vectors
    for k in range(1, int(rows[0, N_V]) + 1):
        screw, first, to = get_twist(work, k, J), int(rows[k, FIRST]), (k - 1) * size
        p, u = first * size + half, int(rows[first, PARENT]) * size
        for v in range(vectors):
            put_six(turned, to + v, vectors, on_wrench(screw, get_six(motion, p + v, vectors)))
            put_six(turned, to + half + v, vectors, bracket(get_six(motion, u + v, vectors), screw))


@outline
def multiply(rows, k, turned, motion, vectors, lower, table, to):
    """Fill the runs of row `k` and all columns, twelve products each, eight columns at a time."""
    zero, size, step = lift(0.0, get(table, 0)), 12 * vectors, LANES * vectors
    first = int(rows[k, FIRST])
    base = int(rows[first, PARENT])
    for v in range(vectors):
        for b in range(v if lower else 0, vectors):
            x0, x1, x2, x3, x4, x5, x6, x7 = zero, zero, zero, zero, zero, zero, zero, zero
            left, m = (k - 1) * size + v, (base * size + b) * LANES
            for _half in range(2):
                for _ in range(6):
                    y = get(turned, left)
                    x0, x1, x2 = x0 + at(motion, m) * y, x1 + at(motion, m + 1) * y, x2 + at(motion, m + 2) * y
                    x3, x4, x5 = x3 + at(motion, m + 3) * y, x4 + at(motion, m + 4) * y, x5 + at(motion, m + 5) * y
                    x6, x7 = x6 + at(motion, m + 6) * y, x7 + at(motion, m + 7) * y
                    left += vectors
                    m += step
                m = (first * size + 6 * vectors + b) * LANES
            put_eight(table, to + LANES * b * vectors + v, vectors, (x0, x1, x2, x3, x4, x5, x6, x7))


@outline
def add_forces(values, begin, s, lists, k, part, vectors, sums):
    """Add S T to the runs of block `k` in the sums: a row of values for each force, a column for each run."""
    (blocks, related, targets), (few, table) = lists, sums
    columns, first, beyond, start = blocks[k, 1], blocks[k, 2], blocks[k, 3], blocks[k, 4]
    begin += blocks[k, 0] - start
    zero, last = lift(0.0, get(table, 0)), start + columns
    for c in range(start, last, LANES):
        for v in range(vectors):
            x0, x1, x2, x3, x4, x5, x6, x7 = zero, zero, zero, zero, zero, zero, zero, zero
            m = begin + c
            if last - c > 4:
                for i in range(first, beyond):
                    y = get(s, entry(related, i) + v)
                    x0, x1, x2 = x0 + at(values, m) * y, x1 + at(values, m + 1) * y, x2 + at(values, m + 2) * y
                    x3, x4, x5 = x3 + at(values, m + 3) * y, x4 + at(values, m + 4) * y, x5 + at(values, m + 5) * y
                    x6, x7 = x6 + at(values, m + 6) * y, x7 + at(values, m + 7) * y
                    m += columns
            else:
                for i in range(first, beyond):
                    y = get(s, entry(related, i) + v)
                    x0, x1 = x0 + at(values, m) * y, x1 + at(values, m + 1) * y
                    x2, x3 = x2 + at(values, m + 2) * y, x3 + at(values, m + 3) * y
                    m += columns
            put_eight(few, 0, 1, (x0, x1, x2, x3, x4, x5, x6, x7))
            if part == 0:
                if c == start:  # the run of a coordinate with itself is added to itself
                    put(few, 0, 0.5 * x0)
                for e in range(LANES):
                    put(few, e, get(few, e) + get(table, entry(targets, c + e) + v))
            for e in range(LANES):
                put(table, entry(targets, c + e) + v, get(few, e))


@outline
def emit(table, vectors, runs, window, out, to, offset):
    """Store runs or sums of two, one after the other; return where the next begins."""
    lead = (to + offset) % LANES
    end = lead
    for r in range(runs.shape[0]):
        a, b, count = runs[r, 0] * vectors, runs[r, 1] * vectors, runs[r, 2]
        # What is too much of the last vector is written over, or left behind.
        if b < 0:
            for v in range((count + LANES - 1) // LANES):
                place_vector_from(window, end + v * LANES, get(table, a + v))
        else:
            for v in range((count + LANES - 1) // LANES):
                place_vector_from(window, end + v * LANES, get(table, a + v) + get(table, b + v))
        end += count
    if out.size > LARGE:
        copy_past(window, lead, end - lead, out, to - lead)
    else:
        for k in range(lead, end):
            out[to - lead + k] = at(window, k)
    return to + end - lead


@outline
def find_state(rows, state, values, begin, lists, leaving, scratch, to):
    """Store what leaves of one state, whose entries begin in `values`; return where the next begins."""
    q, solve, slopes = state
    runs, chunks, lower, out, offset = leaving
    work, few, g, s, motion, turned, table, window = scratch
    n = int(rows[0, N_V])
    vectors = (n + LANES - 1) // LANES
    line = LANES * vectors * vectors  # of all runs of a coordinate
    poses_and_screws(rows, q, work)
    own_inertias(rows, work)
    if solve.size == 0:
        spread(slopes, (2 * n + 1) * n, n, n, 1, -1.0, vectors, s)
    else:
        spread(solve, 0, n, 1, n, 1.0, vectors, s)
    fill_motion(rows, work, s, vectors, motion)
    turn_motion(rows, work, vectors, motion, turned)
    for part in range(4):
        if part != 2:
            spread(slopes, n + min(part, 2) * n * n, n, n, 1, 1.0, vectors, g)
            fill_motion(rows, work, g, vectors, motion)
        if part == 0:
            for k in range(n):
                multiply(rows, k + 1, turned, motion, vectors, False, table, k * line)
        if part < 3:
            for k in range(part * n, part * n + n):
                add_forces(values, begin, s, lists, k, part, vectors, (few, table))
        for k in range(n):
            if part % 2 == 1 and rows[int(rows[k + 1, FIRST]), PARENT] > 0.0:
                multiply(rows, k + 1, turned, motion, vectors, part == 3 and lower, table, n * line + vectors)
            chunk = part * n + k
            to = emit(table, vectors, runs[chunks[chunk] : chunks[chunk + 1]], window, out, to, offset)
    return to


@kernel(
    "(" + "float64[:,::1], " * 4 + "float64[::1], int64[:,::1], int64[::1], int64[::1], int64[:,::1], int64[::1], "
    "float64[:,::1])"
)
def solved_second_derivatives(
    rows, q, solve, slopes, values, blocks, related, targets, runs, chunks, out
):
    """Fill rows of `out` from S and G and packed entries.

    Parameters
    ----------
    solve
        S (states, n n), or nothing for less the last of the derivatives, which is symmetric then.
    slopes
        Accelerations and their derivatives along q, qd and what is given (states, (3 n + 1) n).
    values
        Entries of all states, and a vector more.
    blocks, related, targets
        Of each coordinate for q q, q qd and qd qd: where its entries begin, how many columns they have, where its rows
        begin and end in `related`, and where its runs begin in `targets`. Last, the number of entries.
    runs, chunks
        What leaves: a run, one to add or -1, and how many numbers; and where those of each part and coordinate begin.
    """
    n = int(rows[0, N_V])
    vectors = (n + LANES - 1) // LANES
    like = slopes.reshape(slopes.size)
    scratch = (
        workspace(n + 1, INERTIA_COLUMNS, like), column_space(LANES, like),
        column_space(n * vectors, like), column_space(n * vectors, like),
        column_space(12 * (n + 1) * vectors, like), column_space(12 * n * vectors, like),
        # A line of runs for each coordinate, zeros, and one more line.
        column_space((n + 1) * LANES * vectors * vectors + vectors, like),
        column_space(n * n // LANES + vectors + 2, like),
    )  # fmt: skip
    scratch[2][:] = 0.0
    scratch[3][:] = 0.0
    for v in range(vectors):
        put(scratch[6], n * LANES * vectors * vectors + v, lift(0.0, like[0]))
    lists, target, to = (blocks, related, targets), out.reshape(out.size), 0
    leaving = runs, chunks, out.shape[1] < 4 * n * n * n, target, line_offset(target)
    for i in range(out.shape[0]):
        state = q[i], solve[i], slopes[i]
        to = find_state(rows, state, values, i * blocks[3 * n, 0], lists, leaving, scratch, to)
    drain()
    return OK
