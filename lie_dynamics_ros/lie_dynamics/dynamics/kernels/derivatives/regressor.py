"""The regressor: tau = Y pi, linear in the ten inertial parameters of each body.

A body with the unit parameter p and no other inertia takes the wrench Phi_p; Y(k, p) = J_k . Phi_p for each row k on
the path to it. In the world's axes, with a the acceleration of the body frame's origin and r_j the axes of that frame,

    mass          m = 0,                                        f = a,
    h along r_j   m = r_j x a,                                  f = al x r_j + w x (w x r_j),
    I_jk          m = E al + w x E w,  E = r_j r_k^T + r_k r_j^T,  f = 0      (once where j = k),

about the origin of the body frame, whence it is moved to that of the inertial frame.

Its rows are zero but for one block. A row is put together for eight states at once in a window that stays in the
fastest cache, and leaves it as whole cache lines; what begins the next line waits for the next row. Results larger than
caches pass them by, which halves the traffic: a line that is written whole need not be read before.
"""

from __future__ import annotations

import numpy as np

from ....engine.compile import COMPILED, inline, kernel, outline, straight
from ....engine.lanes import LANES, get2, get3, get9, put, put2, vector_space, workspace
from ....engine.tiles import drain as drain
from ....engine.tiles import line_offset as line_offset
from ....engine.tiles import load_tile, tile_width
from ....model.layout import BAD_QUATERNION, BAD_SHAPE, BODY, BODY_ROTATION, N_BODIES, N_Q, N_V, NOT_FINITE, OK, PARENT
from ..common.joints import check_quaternions, constants9
from ..common.spatial import add, cross, dot, matmul, scale
from ..common.states import BATCH_SIGNATURE, NONE_GIVEN, all_finite, quaternions_fit
from ..common.world import J, P, R, V, poses_and_screws, screw_rates, velocities
from ..mass_matrix import clear
from .inverse_derivatives import COLUMNS as TERM_COLUMNS
from .inverse_derivatives import A, accelerations

#: Numbers of a result from which on it bypasses the caches: 16 MB, more than one core should claim of them.
LARGE = 2**21


@outline
def list_blocks(rows, entries, n_bodies, blocks):
    """List, for each row, the first of the bodies beyond it, the one after the last, and where its block begins.

    A block has `entries` numbers for each of these bodies. Row `i`, counted from zero, has ``blocks[3 i : 3 i + 3]``;
    ``blocks[3 nv + 2]`` is the size of all blocks together.
    """
    n = int(rows[0, N_V])
    for i in range(n):
        blocks[3 * i], blocks[3 * i + 1] = n_bodies, 0
    for i in range(1, n + 1):
        body, k = int(rows[i, BODY]), i
        while body >= 0 and k > 0:
            blocks[3 * k - 3] = min(blocks[3 * k - 3], body)
            blocks[3 * k - 2] = max(blocks[3 * k - 2], body + 1)
            k = int(rows[k, PARENT])
    blocks[2] = 0
    for i in range(n):
        blocks[3 * i + 5] = blocks[3 * i + 2] + entries * max(blocks[3 * i + 1] - blocks[3 * i], 0)


def window_size(width, size):  # noqa: ARG001
    """Return how many vectors the window wants for results of `size` numbers in rows of `width`."""
    return 0


def store_rows(tile, blocks, entries, width, start, target, offset, window):  # noqa: ARG001
    """Store the rows of a tile: their blocks, and zeros around them; return whether all numbers are finite.

    `offset` is the `line_offset` of the batch. The window, zero at first, is zero again in the end.
    """
    target[...] = 0.0
    for k in range(target.shape[1] // max(width, 1)):
        first, count = entries * blocks[3 * k], blocks[3 * k + 5] - blocks[3 * k + 2]
        block = tile[blocks[3 * k + 2] : blocks[3 * k + 2] + count]
        target[:, k * width + first : k * width + first + count] = np.moveaxis(block, -1, 0)
    return bool(np.isfinite(target).all())


if COMPILED:
    from ....engine.lanes import at as number_at
    from ....engine.lanes import place, place_vector_from
    from ....engine.simd import lane_sum, load, splat, store, store_block
    from ....engine.tiles import stream

    @inline
    def _stride(width, size):
        """Return a distance of the states in the window that keeps their places in cache lines."""
        return (width + 3 * LANES) // LANES * LANES + size % LANES

    @inline
    def window_size(width, size):  # noqa: D103
        return _stride(width, size) + 2

    @inline
    def _clear_lines(window, first, beyond):
        for j in range(first - first % LANES, beyond, LANES):
            place_vector_from(window, j, 0.0)

    @inline
    def _copy(window, first, beyond, flat, shift):
        for j in range(first, beyond):
            place(flat, j + shift, number_at(window, j))

    @inline
    def _flush(window, first, width, flat, shift, begins, ends, large):
        """Store the whole lines that end in a row of the window, and return where what is left of it begins.

        Of the first and the last row of a state, store all: others share their cache lines.
        """
        line, last = first - first % LANES, (first + width) // LANES * LANES
        if begins and line < first:
            line += LANES
            _copy(window, first, min(line, first + width), flat, shift)
        if large:
            for j in range(line, last, LANES):
                stream(flat, j + shift, load(window, j // LANES))
        else:
            for j in range(line, last, LANES):
                place_vector_from(flat, j + shift, load(window, j // LANES))
        if ends:
            _copy(window, max(last, line), first + width, flat, shift)
        return last

    @outline
    def store_rows(tile, blocks, entries, width, start, target, offset, window):  # noqa: D103
        flat, size = target.reshape(target.size), target.shape[1]
        numbers, stride = window.reshape(window.size), _stride(width, size)
        n = size // max(width, 1)
        large = flat.shape[0] > LARGE
        total = splat(0.0)
        for k in range(n):
            first = start * size + k * width
            at = (first + offset) % LANES
            following = (first + width + offset) % LANES
            begin, count, block = entries * blocks[3 * k], blocks[3 * k + 5] - blocks[3 * k + 2], blocks[3 * k + 2]
            for e in range(0, count - LANES + 1, LANES):
                total = total + store_block(tile, block + e, numbers, at + begin + e, stride)
            if count % LANES > 0:  # the last may overlap the one before
                e = count - LANES
                total = total + store_block(tile, block + e, numbers, at + begin + e, stride)
            for s in range(min(LANES, target.shape[0] - start)):
                place_in = at + s * stride
                left = _flush(numbers, place_in, width, flat, first + s * size - place_in, k == 0, k == n - 1, large)
                rest = load(window, left // LANES)
                _clear_lines(numbers, place_in, place_in + 1)
                if count > 0:
                    _clear_lines(numbers, place_in + begin, place_in + begin + count)
                if k < n - 1:
                    store(window, (following + s * stride) // LANES, rest)
        return lane_sum(total) == 0.0


#: Columns of the workspace for Phi: three moments of ten parameters, then three forces of the first four.
MOMENTS, FORCES = TERM_COLUMNS, TERM_COLUMNS + 30
COLUMNS = TERM_COLUMNS + 42


@straight
def _put_moment(work, p, m):
    for k in range(3):
        put2(work, 0, MOMENTS + 10 * k + p, m[k])


@straight
def _put_force(work, p, f):
    for k in range(3):
        put2(work, 0, FORCES + 4 * k + p, f[k])


@outline
def unit_wrenches(rows, i, work):
    """Fill the wrenches of the ten parameters of the body of row `i` into row 0, about the inertial frame's origin."""
    p = get3(work, i, P)
    r = matmul(get9(work, i, R), constants9(rows, i, BODY_ROTATION))
    w, al = get3(work, i, V), get3(work, i, A)
    v = add(get3(work, i, V + 3), cross(w, p))
    a = add(add(get3(work, i, A + 3), cross(al, p)), cross(w, v))
    x, y, z = (r[0], r[3], r[6]), (r[1], r[4], r[7]), (r[2], r[5], r[8])
    _put_moment(work, 0, cross(p, a))
    _put_force(work, 0, a)
    wx, wy, wz = cross(w, x), cross(w, y), cross(w, z)
    fx, fy, fz = add(cross(al, x), cross(w, wx)), add(cross(al, y), cross(w, wy)), add(cross(al, z), cross(w, wz))
    _put_moment(work, 1, add(cross(x, a), cross(p, fx)))
    _put_force(work, 1, fx)
    _put_moment(work, 2, add(cross(y, a), cross(p, fy)))
    _put_force(work, 2, fy)
    _put_moment(work, 3, add(cross(z, a), cross(p, fz)))
    _put_force(work, 3, fz)
    bx, by, bz = dot(x, w), dot(y, w), dot(z, w)
    cx, cy, cz = dot(x, al), dot(y, al), dot(z, al)
    _put_moment(work, 4, add(scale(cx, x), scale(bx, wx)))
    _put_moment(work, 5, add(add(scale(cy, x), scale(by, wx)), add(scale(cx, y), scale(bx, wy))))
    _put_moment(work, 6, add(add(scale(cz, x), scale(bz, wx)), add(scale(cx, z), scale(bx, wz))))
    _put_moment(work, 7, add(scale(cy, y), scale(by, wy)))
    _put_moment(work, 8, add(add(scale(cz, y), scale(bz, wy)), add(scale(cy, z), scale(by, wz))))
    _put_moment(work, 9, add(scale(cz, z), scale(bz, wz)))


@outline
def put_row(work, k, out, at):
    """Write the ten entries of row `k` for the parameters in row 0 to `out` from entry `at`."""
    w, v = get3(work, k, J), get3(work, k, J + 3)
    for p in range(4):
        x = w[0] * get2(work, 0, MOMENTS + p) + w[1] * get2(work, 0, MOMENTS + 10 + p)
        x = x + w[2] * get2(work, 0, MOMENTS + 20 + p) + v[0] * get2(work, 0, FORCES + p)
        put(out, at + p, x + v[1] * get2(work, 0, FORCES + 4 + p) + v[2] * get2(work, 0, FORCES + 8 + p))
    for p in range(4, 10):
        x = w[0] * get2(work, 0, MOMENTS + p) + w[1] * get2(work, 0, MOMENTS + 10 + p)
        put(out, at + p, x + w[2] * get2(work, 0, MOMENTS + 20 + p))


@outline
def motion(rows, q, qd, qdd, work):
    """Fill poses, screws, velocities and accelerations."""
    poses_and_screws(rows, q, work)
    velocities(rows, qd, work)
    screw_rates(rows, q, work)
    accelerations(rows, qd, qdd, NONE_GIVEN, work)


@kernel("(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[:,::1])", direct=True)
def regressor(rows, q, qd, qdd, out):
    """Write Y (nv, 10 n_bodies) of one state to `out` and return a status of `layout`."""
    n = qd.shape[0]
    if q.shape[0] != rows[0, N_Q] or n != rows[0, N_V] or qdd.shape[0] != n or out.shape[0] != n:
        return BAD_SHAPE
    if not check_quaternions(rows, q):
        return BAD_QUATERNION
    work = workspace(n + 1, COLUMNS, q)
    flat = out.reshape(out.size)
    clear(flat)
    if n > 0:
        motion(rows, q, qd, qdd, work)
    for i in range(1, n + 1):
        if rows[i, BODY] >= 0.0:
            unit_wrenches(rows, i, work)
            k = i
            while k > 0:
                put_row(work, k, flat, (k - 1) * out.shape[1] + 10 * int(rows[i, BODY]))
                k = int(rows[k, PARENT])
    return OK if all_finite(flat) else NOT_FINITE


@kernel(BATCH_SIGNATURE)
def regressor_batch(rows, q, qd, qdd, _f_ext, _c, _given, out, _z):
    """Write Y of each state of a batch and return the worst status.

    Most of it is zero; the tile holds only blocks for the bodies beyond each row.
    """
    status = OK
    count, n, states = q.shape[0], qd.shape[1], tile_width(q.shape[0])
    bodies = int(rows[0, N_BODIES])
    width = 10 * bodies
    tq = vector_space(q.shape[1], np.empty((0, states), q.dtype))
    ta, tb, work = vector_space(n, tq), vector_space(n, tq), workspace(n + 1, COLUMNS, tq)
    blocks = np.empty(3 * n + 3, np.int64)
    list_blocks(rows, 10, bodies, blocks)
    tile, window = vector_space(blocks[3 * n + 2], tq), vector_space(window_size(width, out.shape[1]), tq)
    clear(tile)
    clear(window)
    offset = line_offset(out)
    for start in range(0, count, states):
        if not quaternions_fit(rows, q, start, min(start + states, count)):
            status = max(status, BAD_QUATERNION)
            continue
        load_tile(q, start, tq)
        load_tile(qd, start, ta)
        load_tile(qdd, start, tb)
        if n > 0:
            motion(rows, tq, ta, tb, work)
        for i in range(1, n + 1):
            if rows[i, BODY] >= 0.0:
                unit_wrenches(rows, i, work)
                k = i
                while k > 0:
                    put_row(work, k, tile, blocks[3 * k - 1] + 10 * (int(rows[i, BODY]) - blocks[3 * k - 3]))
                    k = int(rows[k, PARENT])
        if not store_rows(tile, blocks, 10, width, start, out, offset, window):
            status = max(status, NOT_FINITE)
    drain()
    return status
