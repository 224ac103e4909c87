"""Tracking of a closed mechanism through measured joints, each step proven; see ``doc/closed_loop_tracking.md``."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...dynamics.kernels.common.joints import constants3, constants9, move
from ...engine.compile import kernel, made_on_demand, outline
from ...engine.lanes import LANES, get, get2, lift, put, put2, put3
from ...model.layout import N_Q, N_V, OK, Q_INDEX
from ...tracking import AMBIGUOUS, NOT_FINITE, OUT_OF_REACH, SINGULAR, TOO_FAR, TRACKED
from . import loops as lk
from .constrained_dynamics import HEADER, table
from .loop_derivatives import GROUP_KIND, GROUP_PLACE, GROUP_TIME, ROTATION, SINGLE, largest, put_levers, second_bound
from .loops import (
    error_of,
    loop_pose,
    put_branch,
    put_first_branch,
    put_transforms,
    put_upside_down,
    relative_pose,
    unit_wrench,
    walk_still,
)

# Errors and Jacobian of loops at one configuration: what `loop_rows` finds, without rates.


@outline
def put_errors(rows, loops, scalars, work, values):
    """Fill the errors of all loops."""
    for j in range(loops.shape[0]):
        r, p = loop_pose(rows, loops, j, work)
        for k in range(int(loops[j, lk.START]), int(loops[j, lk.START] + loops[j, lk.COUNT])):
            values[lk.ERROR, k] = error_of(scalars, k, r, p)
        put_upside_down(loops, scalars, j, r, values)


@outline
def put_loop(rows, loops, scalars, j, q, found):
    """Fill errors, entries of A transposed and unit wrenches of loop `j`; return the place of frame 2 in frame 1."""
    work, columns, matrix, values, wrenches = found
    a, b, stop = int(loops[j, lk.ROW_1]), int(loops[j, lk.ROW_2]), int(loops[j, lk.ANCESTOR])
    r1, p1, far1 = walk_still(
        rows, q, work, a, stop, constants9(loops, j, lk.R_1), constants3(loops, j, lk.P_1), columns
    )
    r2, p2, far2 = walk_still(
        rows, q, work, b, stop, constants9(loops, j, lk.R_2), constants3(loops, j, lk.P_2), columns
    )
    r, p = relative_pose(r1, p1, far1, r2, p2, far2)
    first, count = int(loops[j, lk.START]), int(loops[j, lk.COUNT])
    for k in range(first, first + count):
        values[lk.ERROR, k] = error_of(scalars, k, r, p)
        m, f = unit_wrench(scalars, k, r, p)
        put3(wrenches, k, 0, m)
        put3(wrenches, k, 3, f)
    put_upside_down(loops, scalars, j, r, values)
    put_branch(rows, loops, j, wrenches, columns, matrix)
    put_first_branch(rows, loops, j, r, p, wrenches, columns, matrix)
    return p


@outline
def invert(a, lanes, out, n, space):
    """Fill `out` with the inverse of `a` (n, n), which is lost, by Gauss and Jordan; return whether there is one.

    Rows are taken in their order, each with its largest entry as pivot: zeros last longest if rows that have many come
    first. Rows of `a` are filled up to whole vectors, which are `lanes`; `space` is five vectors (n), and the lanes of
    the last. Nothing but whole vectors is written to `a`: a vector cannot be read soon after a part of it was.
    """
    places, left, rows, factors, unit, unit_lanes = space
    for k in range(n):
        unit[k], left[k] = 0.0, 1.0
    for k in range(n):
        pivot, best = 0, -1.0
        for j in range(n):
            x = abs(a[k, j]) * left[j]
            pivot, best = (j, x) if x > best else (pivot, best)
        if not best > 1e-12:
            return False
        places[k], left[pivot], unit[pivot] = pivot, 0.0, 1.0
        size, count = 1.0 / a[k, pivot], 0
        for i in range(n):
            x = a[i, pivot]
            if x != 0.0 and i != k:
                rows[count], factors[count] = i, x
                count += 1
        for c in range(lanes.shape[1]):
            own = get(unit_lanes, c)
            others = 1.0 - own
            y = size * (get2(lanes, k, c) * others + own)
            for r in range(count):
                i = int(rows[r])
                put2(lanes, i, c, get2(lanes, i, c) * others - factors[r] * y)
            put2(lanes, k, c, y)
        unit[pivot] = 0.0
    for j in range(n):
        place = int(places[j])
        for k in range(n):
            out[int(places[k]), j] = a[k, place]
    return True


@outline
def apart(groups, a, b):
    """Return the distance of two configurations."""
    result = 0.0
    for g in range(groups.shape[0]):
        j = int(groups[g, GROUP_PLACE])
        x = 0.0
        if groups[g, GROUP_KIND] == SINGLE:
            x = abs(a[j] - b[j])
        elif groups[g, GROUP_KIND] == ROTATION:
            product = 0.0
            for c in range(4):
                product += a[j + c] * b[j + c]
            for c in range(4):
                x += (a[j + c] - (b[j + c] if product >= 0.0 else -b[j + c])) ** 2
            x = 4.0 * np.arcsin(min(0.5 * np.sqrt(x), 1.0))
        else:
            for c in range(3):
                x += (a[j + c] - b[j + c]) ** 2
            x = np.sqrt(x)
        result = max(result, x * groups[g, GROUP_TIME])
    return result


@outline
def equations(rows, tables, held, y, q, levers, whole, found):
    """Fill the errors of loops, couplings and redundant sensors at q, and, if `whole`, A transposed and the levers.

    `tables` are loops, scalars, chains, links and groups; `held` are couplings, their offsets, and sensors with their
    weights; `found` are transforms, columns, A transposed, values and wrenches. Entries of A that are on no branch of a
    loop are left alone: they are zero.
    """
    (loops, scalars, chains, links, _), (coupled, offsets, sensors, weights) = tables, held
    work, columns, matrix, values, _ = found
    n, ml = columns.shape[0] - 1, scalars.shape[0]
    put_transforms(rows, q, work)
    if whole:
        for j in range(loops.shape[0]):
            place = put_loop(rows, loops, scalars, j, q, found)
            put_levers(chains, links, j, place, columns, levers)
    else:
        put_errors(rows, loops, scalars, work, values)
    for k in range(coupled.shape[0]):
        total = -offsets[k]
        for i in range(1, n + 1):
            x = coupled[k, i - 1]
            if x != 0.0:
                matrix[i, ml + k] = x
                total += x * q[int(rows[i, Q_INDEX])]
        values[lk.ERROR, ml + k] = total
    first = ml + coupled.shape[0]
    for s in range(matrix.shape[1] - first):
        i = int(sensors[s])
        matrix[i, first + s] = weights[s]
        values[lk.ERROR, first + s] = weights[s] * (q[int(rows[i, Q_INDEX])] - y[s])


@outline
def put_inverse(matrix, unknown, inverses, normals, space):
    """Fill the inverse with C^T, C that of the Jacobian at the unknown coordinates, or its left inverse.

    `inverses` are numbers and lanes of one array, and so are `normals`; `space` is that of `invert`.
    """
    (inverse, inverse_lanes), (normal, normal_lanes) = inverses, normals
    n, m = unknown.shape[0], matrix.shape[1]
    if n == m:
        for u in range(n):
            for k in range(m):
                normal[u, k] = matrix[int(unknown[u]), k]
        return invert(normal, normal_lanes, inverse, n, space)
    for u in range(n):
        for v in range(n):
            total = 0.0
            for k in range(m):
                total += matrix[int(unknown[u]), k] * matrix[int(unknown[v]), k]
            inverse[u, v] = total
    if not invert(inverse, inverse_lanes, normal, n, space):
        return False
    for k in range(m):
        for u in range(n):
            inverse[k, u] = 0.0
        for v in range(n):
            x = matrix[int(unknown[v]), k]
            for u in range(n):
                inverse[k, u] += x * normal[v, u]
    return True


@outline
def times_inverse(inverse_lanes, e, x_lanes):
    """Fill a vector with C e, both as lanes."""
    for c in range(x_lanes.shape[0]):
        total = lift(0.0, get2(inverse_lanes, 0, c))
        for k in range(e.shape[0]):
            total = total + e[k] * get2(inverse_lanes, k, c)
        put(x_lanes, c, total)


@outline
def push(rows, unknown, x, factor, step, q):
    """Move q by the unknown coordinates' steps."""
    for i in range(step.shape[0]):
        step[i] = 0.0
    for u in range(unknown.shape[0]):
        step[int(unknown[u]) - 1] = x[u]
    move(rows, q, step, factor, q)


@outline
def put_change(matrix, sensors, weights, change, e):
    """Fill `e` with what changes of the measured joints do to the equations."""
    m = matrix.shape[1]
    for k in range(m):
        e[k] = 0.0
    for s in range(sensors.shape[0]):
        if weights.shape[0] > 0:
            e[m - weights.shape[0] + s] = -weights[s] * change[s]
        else:
            for k in range(m):
                e[k] += matrix[int(sensors[s]), k] * change[s]


@outline
def errors_reach(matrix, groups, measured, inverse_lanes, errors, space):
    """Return how far errors of the measured joints, as large as they may be, move the unknown coordinates.

    `measured` are sensors and weights; `space` takes their change, that of equations, of coordinates, and its sums.
    """
    (sensors, weights), (change, e, x, x_lanes, totals) = measured, space
    for u in range(x.shape[0]):
        totals[u] = 0.0
    for s in range(sensors.shape[0]):
        if errors[s] > 0.0:
            for c in range(sensors.shape[0]):
                change[c] = errors[s] if c == s else 0.0
            put_change(matrix, sensors, weights, change, e)
            times_inverse(inverse_lanes, e, x_lanes)
            for u in range(x.shape[0]):
                totals[u] += abs(x[u])
    return largest(groups, totals)


@outline
def far_apart(groups, change):
    """Return the distance that changes of the measured joints make."""
    result, first = 0.0, groups.shape[0] - change.shape[0]
    for s in range(change.shape[0]):
        result = max(result, abs(change[s]) * groups[first + s, GROUP_TIME])
    return result


@outline
def held_distance(groups, weights, change):
    """Return how far the joints that are held move; none are where sensors are redundant."""
    return far_apart(groups, change) if weights.shape[0] == 0 else 0.0


#: Numbers at the beginning of what a tracker remembers: time since the anchor, how exactly the anchor is known [s],
#: and whether anything is; then q of the last good sample, measured joints of it, and q of the anchor, which is the
#: last certified sample.
AGE, BLUR, MEMORY = 0, 1, 2

#: Settings: whether rates are bounded, most proven steps, and the largest errors of measured joints behind them.
BOUNDED, MAX_STEPS, ERRORS = 0, 1, 2

#: Columns of results, before q and the sample: what became of it, what is proven, and the largest error of loops.
STATUS, CONTINUED, CERTIFIED, STEPS, H, BOUND, RADIUS, RESIDUAL, COVERED, JOINT, RESULT = range(11)


_CORRECTIONS, _EXACT, _SHORTEST = 10, 1e-13, 1e-4
#: Rounding errors of what is proven are far below these margins; the second also covers that coordinates of free bodies
#: are no displacements.
_MARGIN, _SHARE, _LARGEST_TURN = 0.1, 0.95, 0.5


def track_all(
    rows, packed, offsets, chains, links, groups, unknown, sensors, weights, settings, memory, samples, times, space,
    out,
):  # fmt: skip
    """Go through samples of the measured joints in turn.

    Parameters
    ----------
    packed : of loops and couplings, as for `constrained_dynamics`; `offsets` are the couplings'.
    chains, links, groups : see `loop_derivatives`.
    unknown, sensors : rows of the coordinates to find and of the measured joints.
    weights : of redundant sensors; empty where they are as many as freedoms, and their joints are held.
    settings, memory : see above.
    samples : of the measured joints, one after the other.
    times : before each sample, or empty.
    space : workspace as `tracking_space` makes it, which keeps from call to call what the next prediction needs.
    out : rows of results, one after the other.
    """
    nl, ml, ns, nc = int(packed[0]), int(packed[1]), int(packed[2]), int(packed[3])
    n, nq, nu = int(rows[0, N_V]), int(rows[0, N_Q]), unknown.shape[0]
    count = sensors.shape[0]
    number = samples.shape[0] // count
    samples, out = table(samples, number, count), table(out, number, RESULT + nq + count)
    m = ml + nc + weights.shape[0]
    a = HEADER + nl * lk.LOOP_SIZE
    b = a + ml * lk.SCALAR_SIZE
    loops, scalars = table(packed[HEADER:a], nl, lk.LOOP_SIZE), table(packed[a:b], ml, lk.SCALAR_SIZE)
    coupled = table(packed[b + ns : b + ns + nc * n], nc, n)
    at = LANES
    vectors = (nu + LANES - 1) // LANES
    width = vectors * LANES
    inverse = table(space[at : at + max(m, nu) * width], max(m, nu), width)
    inverse_lanes = inverse.reshape((max(m, nu), vectors, LANES))
    at += max(m, nu) * width
    normal = table(space[at : at + nu * width], nu, width)
    normal_lanes = normal.reshape((nu, vectors, LANES))
    at += nu * width
    x, x_lanes = space[at : at + nu], table(space[at : at + width], vectors, LANES)
    at += width
    sums, sum_lanes = space[at : at + nu], table(space[at : at + width], vectors, LANES)
    at += width
    matrix = table(space[at : at + (n + 1) * m], n + 1, m)
    at += (n + 1) * m
    work = table(space[at : at + 12 * (n + 1)], n + 1, 12)
    at += 12 * (n + 1)
    columns = table(space[at : at + 6 * (n + 1)], n + 1, 6)
    at += 6 * (n + 1)
    values = table(space[at : at + lk.VALUE_ROWS * m], lk.VALUE_ROWS, m)
    at += lk.VALUE_ROWS * m
    wrenches = table(space[at : at + 6 * ml], ml, 6)
    at += 6 * ml
    levers, places = space[at : at + links.shape[0]], space[at + links.shape[0] : at + links.shape[0] + nu]
    at += links.shape[0] + nu
    e, totals, step = space[at : at + m], space[at + m : at + m + nu], space[at + m + nu : at + m + nu + n]
    at += m + nu + n
    q, base = space[at : at + nq], space[at + nq : at + 2 * nq]
    here, change, y = (
        space[at + 2 * nq : at + 3 * nq], space[at + 3 * nq : at + 3 * nq + count],
        space[at + 3 * nq + count : at + 3 * nq + 2 * count],
    )  # fmt: skip
    last, old = memory[MEMORY : MEMORY + nq], memory[MEMORY + nq : MEMORY + nq + count]
    anchor = memory[MEMORY + nq + count : MEMORY + 2 * nq + count]
    tables, held_by = (loops, scalars, chains, links, groups), (coupled, offsets, sensors, weights)
    found, inverses, numbers = (work, columns, matrix, values, wrenches), (inverse, inverse_lanes), (sums, sum_lanes)
    bounded, errors = settings[BOUNDED] > 0.0, settings[ERRORS:]
    widest = 1e300  # the largest ball that is looked at
    for g in range(groups.shape[0]):
        if groups[g, GROUP_KIND] == ROTATION:
            widest = min(widest, _LARGEST_TURN * groups[g, GROUP_TIME])
    for row in range(number):
        if bounded:
            memory[AGE] += times[row]
        for c in range(RESULT):
            out[row, c] = 0.0
        out[row, RADIUS] = 0.0
        status = TRACKED
        for s in range(count):
            if not np.isfinite(samples[row, s]):
                status = NOT_FINITE
                out[row, JOINT] = s
        for i in range(nq):
            here[i] = last[i]
        covered, part, steps = 0.0, 1.0, 0
        k, radius, start, moved, reached, regular, only, eta = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if bounded and status == TRACKED:
            for s in range(count):  # no pose within reach has these
                change[s] = max(
                    abs(samples[row, s] - anchor[int(rows[int(sensors[s]), Q_INDEX])]) - 2.0 * errors[s] - 1e-12, 0.0
                )
            if far_apart(groups, change) > memory[AGE] + memory[BLUR]:
                status = OUT_OF_REACH
        while status == TRACKED and covered < 1.0:
            if steps >= settings[MAX_STEPS]:
                status = TOO_FAR
                break
            steps += 1
            end = covered + part > 1.0 - 1e-9
            for s in range(count):
                y[s] = samples[row, s] if end else old[s] + (covered + part) * (samples[row, s] - old[s])
                change[s] = part * (samples[row, s] - old[s])
            for i in range(nq):
                base[i] = here[i]
            if space[0] > 0.0:
                put_change(matrix, sensors, weights, change, e)
                times_inverse(inverse_lanes, e, x_lanes)
                push(rows, unknown, x, -1.0, step, base)
            if weights.shape[0] == 0:
                for s in range(count):
                    base[int(rows[int(sensors[s]), Q_INDEX])] = y[s]
            equations(rows, tables, held_by, y, base, levers, True, found)
            known, space[0] = space[0], 0.0
            free = (places, totals, e, step, sums, sum_lanes)
            proven = put_inverse(matrix, unknown, inverses, (normal, normal_lanes), free)
            if proven:
                put_change(matrix, sensors, weights, change, e)
                times_inverse(inverse_lanes, e, x_lanes)
                along = largest(groups, x)
                held = held_distance(groups, weights, change)
                for _ in range(1 if known > 0.0 else 2):  # as far as the last bound asks for, or one at the point alone
                    radius = min(2.2 / known, widest) if known > 0.0 else 0.0
                    known = max(second_bound(tables, levers, values, inverses, radius, numbers, totals), 1e-9)
                k = known
                times_inverse(inverse_lanes, values[lk.ERROR], x_lanes)
                start = largest(groups, x)
                lost, eta = 1.0 - k * held, start + along + 0.5 * k * held * held
                root = lost * lost - 2.0 * k * eta
                proven = lost > 0.0 and root >= _MARGIN
                if proven:
                    reached = (lost - np.sqrt(root)) / k
                    only = min(radius, 2.0 * lost / k - reached)
                    proven = max(reached, held) < radius and apart(groups, here, base) < _SHARE * only
                    out[row, H] = max(out[row, H], k * eta)
            if proven:
                for i in range(nq):
                    q[i] = base[i]
                moved, size, proven = start, start, False
                for _ in range(_CORRECTIONS):
                    push(rows, unknown, x, -1.0, step, q)
                    slope = k * moved
                    if slope < 0.5 and size * slope <= _EXACT:
                        proven = moved <= only
                        break
                    equations(rows, tables, held_by, y, q, levers, False, found)
                    times_inverse(inverse_lanes, values[lk.ERROR], x_lanes)
                    size = largest(groups, x)
                    moved += size
            if not proven:
                part *= min(max(0.3 / max(k * eta, 1e-9), 0.1), 0.5)
                if part < _SHORTEST:
                    status = SINGULAR
                continue
            space[0] = k
            for i in range(nq):
                here[i] = q[i]
            covered = 1.0 if end else covered + part
            regular = min(1.0 / k, radius) - moved
            part *= min(max(0.3 / max(k * eta, 1e-9), 0.5), 2.0)
            if covered < 1.0 and part < _SHORTEST:
                status = SINGULAR
            part = min(part, 1.0 - covered)
        out[row, STEPS], out[row, COVERED] = steps, covered
        good = status == TRACKED
        if good:
            out[row, CONTINUED], out[row, BOUND], out[row, RADIUS] = 1.0, k, regular
        if good and bounded:
            spare = (change, e, x, x_lanes, totals)
            wrong = errors_reach(matrix, groups, (sensors, weights), inverse_lanes, errors, spare)
            held = held_distance(groups, weights, errors)
            lost, eta = 1.0 - k * held, start + wrong + k * held * (0.5 * held + moved)
            root = lost * lost - 2.0 * k * eta
            blur = 1e-12
            reach = memory[AGE] + memory[BLUR]
            certain = lost > 0.0 and root >= _MARGIN and held < radius
            if certain:
                reached = (lost - np.sqrt(root)) / k
                slope = k * (max(reached, moved) + held)
                certain = slope < 1.0
                if certain and wrong > 0.0:
                    blur += (wrong + k * held * (0.5 * held + moved)) / (1.0 - slope)
                blur = max(blur, far_apart(groups, errors))
                certain = certain and apart(groups, anchor, base) + reach < _SHARE * min(
                    radius, 2.0 * lost / k - reached
                )
                if certain and apart(groups, anchor, here) > reach + blur + 1e-9:  # the only one near is not in reach
                    status, good = OUT_OF_REACH, False
                    out[row, CONTINUED] = 0.0
            if good:
                status = TRACKED if certain else AMBIGUOUS
                if certain:
                    out[row, CERTIFIED] = 1.0
                    memory[AGE], memory[BLUR] = 0.0, blur
                    for i in range(nq):
                        anchor[i] = here[i]
        if good:
            for i in range(nq):
                last[i] = here[i]
            for s in range(count):
                old[s] = samples[row, s]
        else:
            space[0] = 0.0
        out[row, STATUS] = status
        for i in range(nq):
            out[row, RESULT + i] = last[i]
        for s in range(count):
            out[row, RESULT + nq + s] = samples[row, s]
    return OK


@made_on_demand
def tracking_kernel():
    """Return the kernel of `track_all`, with its arguments; it is compiled when the first tracker asks for it."""
    one, two = "float64[::1], ", "float64[:,::1], "
    signature = two + 2 * one + 3 * two + 9 * one
    return kernel(f"({signature[:-2]})", quick=True)(track_all)


def tracking_space(n: int, nq: int, links: int, nu: int, m: int, sensors: int) -> Array:
    """Return the zeros that `track_all` works in; vectors lie in one line of the processor's cache each."""
    width = (nu + LANES - 1) // LANES * LANES
    size = LANES + (n + 1) * m + (max(m, nu) + nu + 2) * width + 18 * (n + 1) + (lk.VALUE_ROWS + 6) * m
    size += links + 2 * nu + m + n + 3 * nq + 2 * sensors
    space = np.zeros(size + LANES)
    first = -(space.ctypes.data // space.itemsize) % LANES
    return space[first : first + size]
