"""Constrained forward and hybrid dynamics, Kim (67)-(69) and (74)-(80), by the articulated recursions alone.

With M = L^T D L, the factorisation that the recursion of articulated inertias performs, A M^-1 A^T = E^T D^-1 E with
E = L^-T A^T. A column of E is the inward half of a bias-free recursion; eight columns go at a time, one in each lane.
The multipliers then enter the outward recursion through E, so accelerations need no columns of M^-1 A^T at all. The
entry point has memory, batches, and what calls hand over.
"""

from __future__ import annotations

import numpy as np

from ...dynamics.kernels.common.joints import check_quaternions, has_transform, move, subspace
from ...dynamics.kernels.common.spatial import add, dot, scale, wrench_out
from ...dynamics.kernels.common.states import all_finite
from ...dynamics.kernels.forward_dynamics import (
    _D,
    _E,
    _P,
    _R,
    _UF,
    _UM,
    accelerate,
    articulate,
    velocities_and_inertias,
)
from ...dynamics.kernels.forward_dynamics import COLUMNS as TREE_COLUMNS
from ...engine.compile import COMPILED, inline, kernel, outline, pasted
from ...engine.lanes import (
    LANES,
    add3,
    get,
    get2,
    get3,
    get9,
    on_stack,
    place_vector,
    positive,
    put2,
    single_workspace,
    stack_numbers,
    vector_at,
)
from ...model import layout
from . import loops as lk
from .loops import loop_rows, upside_down

# A symmetric positive semidefinite system of a few unknowns, solved in place with its rank.


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
def solve(g, lanes, m, rank, vectors):
    """Fill the step x with G^-1 b, b the rest.

    Where G is singular, it is the smallest x that satisfies the equations of its pivots.
    """
    scales, order, b, x, y = vectors[_SCALE], vectors[_ORDER], vectors[_REST], vectors[_STEP], vectors[_SPARE]
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
def shorten(g, m, rank, h, vectors):
    """Replace the step x by the shortest vector with the same G x: its part in the range of G.

    `h` (at least m, at least m) is workspace.
    """
    scales, order, x, y = vectors[_SCALE], vectors[_ORDER], vectors[_STEP], vectors[_SPARE]
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


#: Entries of the settings: gains of the rates and errors of loops, and the tolerance of the rank.
RATE_GAIN, ERROR_GAIN, TOLERANCE = 0, 1, 2

#: Entries of the report: rank, and the largest |A qdd + target| relative to its terms and to what they could be.
RANK, RESIDUAL, REPORT_SIZE = 0, 1, 2

# Rows of the table of vectors over the constraints, after those of `loops`.
_TARGET, _MULTIPLIER, _STEP, _REST, _TERMS, _SCALE, _ORDER, _SPARE = range(lk.VALUE_ROWS, lk.VALUE_ROWS + 8)
#: Number of those rows.
VECTORS = lk.VALUE_ROWS + 8

#: A residual relative to its terms below which no further refinement is tried, and the number of corrections.
_GOOD_RESIDUAL, _CORRECTIONS = 1e-14, 2


@inline
def project_lanes(rows, i, q, m, f):
    """Return S^T (m, f) for wrenches in lanes, at one state."""
    if rows[i, layout.KIND] == layout.AXIS:
        return rows[i, layout.AXIS_W] * m[2] + rows[i, layout.AXIS_V] * f[2]
    sw, sv = subspace(rows, i, q, get(q, 0))
    return dot(sw, m) + dot(sv, f)


@inline
def sweep_inwards(rows, q, given, work, table, group, groups, branch):
    """Fill eight columns of E on the rows that `branch` lists, leaves first. Columns of `table`: A, E, wrenches."""
    mixed = given.shape[0] > 0
    wrench = 2 * groups
    for s in range(branch.shape[0]):
        i = int(branch[s])
        for k in range(6):
            put2(table, i, wrench + k, 0.0)
    for s in range(branch.shape[0]):
        i = int(branch[s])
        m, f = get3(table, i, wrench), get3(table, i, wrench + 3)
        e = get2(table, i, group) + project_lanes(rows, i, q, m, f)
        put2(table, i, groups + group, e)
        parent = int(rows[i, layout.PARENT])
        if parent > 0:
            if not (mixed and given[i - 1]):
                x = e * (-get2(work, i, _D))
                m, f = add(m, scale(x, get3(work, i, _UM))), add(f, scale(x, get3(work, i, _UF)))
            if has_transform(rows, i):
                m, f = wrench_out(get9(work, i, _R), get3(work, i, _P), m, f)
            add3(table, parent, wrench, m)
            add3(table, parent, wrench + 3, f)


@inline
def weigh(given, work, weights):
    """Fill the inverses of D, zero where the acceleration is given."""
    weights[0] = 0.0
    for i in range(1, weights.shape[0]):
        weights[i] = 0.0 if given.shape[0] > 0 and given[i - 1] else work[i, _D]


@inline
def sum_up(table, entries, groups, m, weights, support, g3):
    """Fill the blocks of G = E^T D^-1 E on and above the diagonal."""
    for k in range(m):
        for c in range(groups):
            put2(g3, k, c, 0.0)
    first = groups
    for group in range(groups):
        for s in range(first, first + int(support[group])):
            i = int(support[s])
            for k in range(LANES * group, min(LANES * group + LANES, m)):
                x = entries[i, LANES * groups + k] * weights[i]
                if x != 0.0:
                    for c in range(group, groups):
                        put2(g3, k, c, get2(g3, k, c) + x * get2(table, i, groups + c))
        first += int(support[group])


@inline
def put_rest(table, groups, support, qdd, vectors, counted):
    """Fill what is left of A qdd + target = 0, and add, if `counted`, the sizes of its terms."""
    first = groups
    for c in range(groups):
        rest, terms = vector_at(vectors, _TARGET * groups + c), vector_at(vectors, _TERMS * groups + c)
        for s in range(first, first + int(support[c])):
            i = int(support[s])
            x = qdd[i - 1] * get2(table, i, c)
            rest = rest + x
            terms = terms + x * (2.0 * positive(x) - 1.0)
        place_vector(vectors, _REST * groups + c, rest)
        if counted:
            place_vector(vectors, _TERMS * groups + c, terms)
        first += int(support[c])


@outline
def constrained_state(rows, constraints, state, settings, tolerance, out, space):
    """Evaluate one state, see `in_workspace`; `out` and `space` are the parts of what it takes."""
    (loops, scalars, support, fixed, fixed_values), (q, qd, tau, f_ext, qdd, given) = constraints, state
    qdd_out, tau_out, multipliers, wrenches_out, report = out
    work, columns, weights, table, entries, g3, g, h, vectors, wrenches = space
    n, m, ml = weights.shape[0] - 1, multipliers.shape[0], scalars.shape[0]
    groups = g3.shape[1]
    projected = tolerance >= 0.0
    velocities_and_inertias(rows, q, tau if projected else qd, f_ext, work)
    articulate(rows, q, qdd, tau, given, work)
    weigh(given, work, weights)

    for i in range(n + 1):
        for k in range(2 * groups):
            put2(table, i, k, 0.0)
    if ml > 0:
        loop_rows(rows, loops, scalars, q, qd, (work, weights, columns), (entries, vectors, wrenches))
    for k in range(ml, m):
        row, size, rate = k - ml, 0.0 * q[0], 0.0 * q[0]
        for i in range(1, n + 1):
            a = fixed[row, i - 1]
            entries[i, k] = a
            size = size + weights[i] * a * a
            rate = rate + a * qd[i - 1]
        vectors[lk.SIZE, k] = size
        vectors[lk.RATE, k] = rate
        vectors[lk.ERROR, k] = fixed_values[row, 0]
        vectors[lk.BIAS, k] = fixed_values[row, 1]
    error = 0.0
    for k in range(m):
        error = max(error, abs(vectors[lk.ERROR, k]))
    for k in range(m):
        target = (
            vectors[lk.BIAS, k]
            + settings[RATE_GAIN] * vectors[lk.RATE, k]
            + settings[ERROR_GAIN] * vectors[lk.ERROR, k]
        )
        if projected:
            target = vectors[lk.ERROR, k] if error > tolerance else vectors[lk.RATE, k]
        vectors[_TARGET, k] = target
        vectors[_MULTIPLIER, k] = 0.0
        vectors[_TERMS, k] = abs(vectors[_TARGET, k])

    first = groups
    for group in range(groups):
        count = int(support[group])
        sweep_inwards(rows, q, given, work, table, group, groups, support[first : first + count])
        first += count
    sum_up(table, entries, groups, m, weights, support, g3)
    rank = factorize(g, g3, m, vectors[lk.SIZE], vectors[_SCALE], vectors[_ORDER], settings[TOLERANCE])

    # With the multipliers at zero the first sweep gives the free tree, Kim (68); each further one corrects the rest.
    worst = 0.0
    for attempt in range(_CORRECTIONS + 1):
        if projected and attempt == 0:  # nothing moves by itself
            for i in range(n):
                qdd_out[i] = 0.0
        else:
            accelerate(rows, q, qdd, tau, given, work, qdd_out, tau_out)
        put_rest(table, groups, support, qdd_out, vectors, attempt < 2)
        if attempt > 0:
            worst = 0.0
            for k in range(m):
                rest, terms = abs(vectors[_REST, k]), np.real(vectors[_TERMS, k])
                if rest > worst * terms:
                    worst = rest / terms
            if worst <= _GOOD_RESIDUAL or attempt == _CORRECTIONS:
                break
        solve(g, g3, m, rank, vectors)
        if rank > 0 and rank < m:
            shorten(g, m, rank, h, vectors)
        for k in range(m):
            vectors[_MULTIPLIER, k] = vectors[_MULTIPLIER, k] - vectors[_STEP, k]
        for i in range(1, n + 1):
            x = work[i, _E] * 0.0
            for k in range(m):
                x = x - entries[i, LANES * groups + k] * vectors[_STEP, k]
            work[i, _E] = work[i, _E] - x if given.shape[0] > 0 and given[i - 1] else work[i, _E] + x

    if worst > _GOOD_RESIDUAL:
        # Near a singularity a row of A may be small altogether, and its violation of no account: measure it by what the
        # terms could be, as for the rank.
        motion, worst = 0.0, 0.0
        for i in range(1, n + 1):
            if np.real(weights[i]) > 0.0:
                motion = motion + abs(qdd_out[i - 1]) ** 2 / np.real(weights[i])
        for k in range(m):
            rest = abs(vectors[_REST, k])
            terms = np.real(vectors[_TERMS, k]) + np.sqrt(motion * np.real(vectors[lk.SIZE, k]))
            if rest > worst * terms:
                worst = rest / terms

    for k in range(m):
        multipliers[k] = vectors[_MULTIPLIER, k]
    for j in range(loops.shape[0]):
        for c in range(6):
            total = 0.0 * q[0]
            for k in range(int(loops[j, lk.START]), int(loops[j, lk.START] + loops[j, lk.COUNT])):
                total = total + wrenches[k, c] * multipliers[k]
            wrenches_out[j, c] = total
    report[RANK] = error if projected else rank
    report[RESIDUAL] = worst


@inline
def status_of(rows, given, qdd, multipliers, work):
    """Return the status of one state, as the tree's forward dynamics do."""
    if all_finite(qdd) and all_finite(multipliers):
        return layout.OK
    for i in range(int(rows[0, layout.N_V]), 0, -1):
        if not (given.shape[0] > 0 and given[i - 1]) and np.isinf(work[i, _D]):
            return layout.SINGULAR + layout.STATUS_STEP * i
    return layout.NOT_FINITE


#: Numbers before the tables in the packed array of `constrained_dynamics`, and where among them the settings are, and
#: how many numbers the result of a state has.
HEADER, SETTINGS, RESULT_SIZE = 8, 4, 7

#: Entries of the numbers that come before what else a call may need: how many states, whether there are wrenches and
#: given accelerations, how many rows of couplings and user constraints there are, whether those and their values differ
#: from state to state; settings; and the tolerance of a projection, or -1,
#: and its largest number of steps.
EXTRA_STATES, EXTRA_LOADED, EXTRA_MIXED, EXTRA_FIXED, EXTRA_FIXED_EACH, EXTRA_VALUES_EACH = range(6)
EXTRA_SETTINGS, EXTRA_TOLERANCE, EXTRA_ITERATIONS, N_EXTRA = 6, 9, 10, 11


def numbers_of_workspace(n: int, m: int, loop_scalars: int) -> int:
    """Return how many numbers the workspace of `constrained_state` holds."""
    groups = (m + LANES - 1) // LANES
    lanes = ((n + 1) * (2 * groups + 6) + groups * LANES * groups) * LANES
    return lanes + (n + 1) * (TREE_COLUMNS + 7) + m * m + VECTORS * LANES * groups + 6 * loop_scalars


work_size = inline(numbers_of_workspace)


if COMPILED:

    @pasted
    def table(numbers, rows, columns):
        """Return numbers as a table: `reshape` would ask the numbers' layout, for as long as a body's dynamics take."""
        return single_workspace(numbers, rows, columns, numbers)

else:

    def table(numbers, rows, columns):
        """Return numbers as a table."""
        return numbers.reshape((rows, columns))


@inline
def in_workspace(rows, constraints, state, settings, tolerance, out, tau_out, space):
    """Evaluate one state in a workspace of `work_size` numbers, and return its status.

    `constraints` are loops, scalars, support, and rows of couplings and user constraints with their values; `state` is
    q, qd, tau, f_ext, qdd, given. `out` takes accelerations (n), multipliers (m), wrenches (6 for each loop) and the
    report.
    """
    loops, scalars, _, fixed, _ = constraints
    n, nl, ml = state[1].shape[0], loops.shape[0], scalars.shape[0]
    m = ml + fixed.shape[0]
    groups = (m + LANES - 1) // LANES
    columns, width = 2 * groups + 6, groups * LANES
    a = (n + 1) * columns * LANES
    b = a + width * width
    c = b + (n + 1) * TREE_COLUMNS
    d = c + (n + 1) * 6
    e = d + n + 1
    f = e + m * m
    g = f + VECTORS * width
    work = table(space[b:c], n + 1, TREE_COLUMNS)
    h = n + m + 6 * nl
    qdd_out, multipliers = out[:n], out[n : n + m]
    results = qdd_out, tau_out, multipliers, table(out[n + m : h], nl, 6), out[h:]
    parts = (
        work, table(space[c:d], n + 1, 6), space[d:e], space[:a].reshape((n + 1, columns, LANES)),
        table(space[:a], n + 1, columns * LANES), space[a:b].reshape((width, groups, LANES)),
        table(space[a:b], width, width), table(space[e:f], m, m), table(space[f:g], VECTORS, width),
        table(space[g : g + 6 * ml], ml, 6),
    )  # fmt: skip
    constrained_state(rows, constraints, state, settings, tolerance, results, parts)
    if tolerance < 0.0:  # a projection goes on until it is upright
        loop = upside_down(loops, scalars, table(space[f:g], VECTORS, width))
        if loop > 0:
            return lk.UPSIDE_DOWN + layout.STATUS_STEP * loop
    return status_of(rows, state[5], qdd_out, multipliers, work)


@kernel(
    "(float64[:,::1], float64[:,::1], " + ", ".join(["float64[::1]"] * 6) + ")", quick=True, fresh=1, size=RESULT_SIZE
)
def constrained_dynamics(whole, rows, q, qd, tau, extra, space, out):
    """Evaluate forward or hybrid dynamics of one state or of several, one after the other; return the worst status.

    Or their projection: steps, the shortest in the metric of M, that take away errors larger than the tolerance, and
    then the one that takes away the rates of the constraints; `tau` and gravity must be zero.

    Parameters
    ----------
    whole : of one row: numbers of loops, scalars, entries of the support and couplings, settings, size of a result,
        and then loops, scalars, support, couplings, and twice as many zeros.
    q, qd, tau : of all states in a row.
    extra : empty for forward dynamics of one state. Otherwise `N_EXTRA` numbers, see `EXTRA_STATES` and its neighbours,
        and then, if there: wrenches of all states, accelerations of all states, mask, rows of couplings and user
        constraints (for all states or each), and their errors and biases (likewise).
    space : workspace of `work_size` numbers, where that is too much for the stack; else empty.
    out : results of all states, each packed as `in_workspace` says, followed by forces if accelerations are given.
        After a projection the rates' step stands where accelerations do and q follows; in place of the rank stands zero
        or, if it failed, the error that is left: the step is the next one of positions then.
    """
    packed = whole[0]
    nl, ml, ns, nf = int(packed[0]), int(packed[1]), int(packed[2]), int(packed[3])
    n, nq = int(rows[0, layout.N_V]), int(rows[0, layout.N_Q])
    a = HEADER + nl * lk.LOOP_SIZE
    b = a + ml * lk.SCALAR_SIZE
    c = b + ns
    d = c + nf * n
    fixed, values, settings, none = packed[c:d], packed[d : d + 2 * nf], packed[SETTINGS:RESULT_SIZE], q[:0]
    f_ext, qdd, given = none, none, none
    count, fixed_step, values_step, tolerance, iterations = 1, 0, 0, -1.0, 0
    if extra.shape[0] > 0:
        count, nf = int(np.real(extra[EXTRA_STATES])), int(np.real(extra[EXTRA_FIXED]))
        settings, tolerance = extra[EXTRA_SETTINGS:EXTRA_TOLERANCE], np.real(extra[EXTRA_TOLERANCE])
        iterations = int(np.real(extra[EXTRA_ITERATIONS]))
        fixed_step = nf * n if extra[EXTRA_FIXED_EACH] != 0.0 else 0
        values_step = 2 * nf if extra[EXTRA_VALUES_EACH] != 0.0 else 0
        e = N_EXTRA
        if extra[EXTRA_LOADED] != 0.0:
            f_ext = extra[e : e + count * 6 * int(rows[0, layout.N_BODIES])]
            e += f_ext.shape[0]
        if extra[EXTRA_MIXED] != 0.0:
            qdd, given = extra[e : e + count * n], extra[e + count * n : e + count * n + n]
            e += count * n + n
        fixed = extra[e : e + (count if fixed_step > 0 else 1) * nf * n]
        e += fixed.shape[0]
        values = extra[e : e + (count if values_step > 0 else 1) * 2 * nf]
    m = ml + nf
    result = n + m + 6 * nl + REPORT_SIZE
    stride = result + (given.shape[0] if tolerance < 0.0 else nq)
    if q.shape[0] != count * nq or qd.shape[0] != count * n or tau.shape[0] != count * n:
        return layout.BAD_SHAPE
    if out.shape[0] != count * stride:
        return layout.BAD_SHAPE
    size = work_size(n, m, ml)
    if space.shape[0] < size and not on_stack(size, 1):
        return layout.TOO_LARGE
    scratch = stack_numbers()
    memory = space[:size]
    if space.shape[0] < size:
        memory = single_workspace(scratch, 1, size, q)[0]
    wrenches, accelerations = f_ext.shape[0] // count, qdd.shape[0] // count
    status = layout.OK
    for s in range(count):
        if not check_quaternions(rows, q[s * nq : (s + 1) * nq]):
            status = max(status, layout.BAD_QUATERNION)
            continue
        first = s * stride
        tail = out[first + result : first + stride]
        here, limit, last, found = q[s * nq : (s + 1) * nq], tolerance, np.inf, layout.OK
        for attempt in range(iterations + 2 if tolerance >= 0.0 else 1):
            constraints = (
                table(packed[HEADER:a], nl, lk.LOOP_SIZE), table(packed[a:b], ml, lk.SCALAR_SIZE), packed[b:c],
                table(fixed[s * fixed_step : s * fixed_step + nf * n], nf, n),
                table(values[s * values_step : s * values_step + 2 * nf], nf, 2),
            )  # fmt: skip
            state = (
                here, qd[s * n : (s + 1) * n], tau[s * n : (s + 1) * n],
                f_ext[s * wrenches : (s + 1) * wrenches], qdd[s * accelerations : (s + 1) * accelerations], given,
            )  # fmt: skip
            found = in_workspace(rows, constraints, state, settings, limit, out[first : first + result], tail, memory)
            if tolerance >= 0.0:
                if attempt == 0:
                    for i in range(nq):
                        tail[i] = here[i]
                    here = tail
                error = np.real(out[first + result - REPORT_SIZE])
                if found != layout.OK or not error > limit:
                    out[first + result - REPORT_SIZE] = 0.0
                    break
                if error >= 0.5 * last and error <= 1e3 * tolerance:  # round-off: no step makes it smaller
                    limit = np.inf
                elif attempt == iterations or (error >= last and attempt > 1):
                    break
                else:
                    last = error
                    move(rows, here, out[first : first + n], 1.0, here)
        if found > status:
            status = found
    return status
