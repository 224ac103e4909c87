"""Constrained forward and hybrid dynamics, Kim (67)-(69) and (74)-(80), by the articulated recursions alone.

With M = L^T D L, the factorisation that the recursion of articulated inertias performs, A M^-1 A^T = E^T D^-1 E with
E = L^-T A^T. A column of E is the inward half of a bias-free recursion; eight columns go at a time, one in each lane.
The multipliers then enter the outward recursion through E, so accelerations need no columns of M^-1 A^T at all.
"""

from __future__ import annotations

import numpy as np

from ..kernels.batch import all_finite
from ..kernels.compile import inline, kernel, outline
from ..kernels.forward_dynamics import _D, _E, _P, _R, _UF, _UM, accelerate, articulate, velocities_and_inertias
from ..kernels.forward_dynamics import COLUMNS as TREE_COLUMNS
from ..kernels.joints import check_quaternions, has_transform, subspace
from ..kernels.lanes import (
    LANES,
    add3,
    get,
    get2,
    get3,
    get9,
    on_stack,
    put2,
    single_workspace,
    stack_numbers,
)
from ..kernels.spatial import add, dot, scale, wrench_out
from ..model.layout import (
    AXIS,
    AXIS_V,
    AXIS_W,
    BAD_QUATERNION,
    BAD_SHAPE,
    KIND,
    N_BODIES,
    N_Q,
    N_V,
    NOT_FINITE,
    OK,
    PARENT,
    SINGULAR,
    STATUS_STEP,
    TOO_LARGE,
)
from .loop_kernels import BIAS, COUNT, ERROR, LOOP_SIZE, RATE, SCALAR_SIZE, SIZE, START, VALUE_ROWS, loop_rows
from .small_solve_kernels import factorize, shorten, solve

#: Entries of the settings: gains of the rates and errors of loops, and the tolerance of the rank.
RATE_GAIN, ERROR_GAIN, TOLERANCE = 0, 1, 2

#: Numbers before the tables in the packed array of `constrained_dynamics`.
HEADER = 7

#: Entries of the numbers that come before what else a call may need: how many states, whether there are wrenches and
#: given accelerations, how many rows of couplings and user constraints there are, whether those and their values differ
#: from state to state, whether something is added to targets; and settings.
EXTRA_STATES, EXTRA_LOADED, EXTRA_MIXED, EXTRA_FIXED, EXTRA_FIXED_EACH, EXTRA_VALUES_EACH, EXTRA_SHIFTED = range(7)
EXTRA_SETTINGS, N_EXTRA = 7, 10

#: Entries of the report: rank, and the largest |A qdd + target| relative to its terms and to what they could be.
RANK, RESIDUAL, REPORT_SIZE = 0, 1, 2

# Rows of the table of vectors over the constraints, after those of `loop_kernels`.
_TARGET, _MULTIPLIER, _STEP, _REST, _TERMS, _SCALE, _ORDER, _SPARE = range(VALUE_ROWS, VALUE_ROWS + 8)
_VECTORS = VALUE_ROWS + 8

#: A residual relative to its terms below which no further refinement is tried, and the number of corrections.
_GOOD_RESIDUAL, _CORRECTIONS = 1e-14, 2


@inline
def project_lanes(rows, i, q, m, f):
    """Return S^T (m, f) for wrenches in lanes, at one state."""
    if rows[i, KIND] == AXIS:
        return rows[i, AXIS_W] * m[2] + rows[i, AXIS_V] * f[2]
    sw, sv = subspace(rows, i, q, get(q, 0))
    return dot(sw, m) + dot(sv, f)


@inline
def sweep_inwards(rows, q, given, work, table, group, groups, support, first, count):
    """Fill eight columns of E on the rows that `support` lists, leaves first. Columns of `table`: A, E, wrenches."""
    mixed = given.shape[0] > 0
    wrench = 2 * groups
    for s in range(first, first + count):
        i = int(support[s])
        for k in range(6):
            put2(table, i, wrench + k, 0.0)
    for s in range(first, first + count):
        i = int(support[s])
        m, f = get3(table, i, wrench), get3(table, i, wrench + 3)
        e = get2(table, i, group) + project_lanes(rows, i, q, m, f)
        put2(table, i, groups + group, e)
        parent = int(rows[i, PARENT])
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
def sum_up(table, entries, groups, m, weights, g3):
    """Fill the upper triangle, at least, of G = E^T D^-1 E."""
    for k in range(m):
        for c in range(groups):
            put2(g3, k, c, 0.0)
    for i in range(1, weights.shape[0]):
        for k in range(m):
            x = entries[i, LANES * groups + k] * weights[i]
            if x != 0.0:
                for c in range(k // LANES, groups):
                    put2(g3, k, c, get2(g3, k, c) + x * get2(table, i, groups + c))


@outline
def constrained_state(
    rows, loops, scalars, support, q, qd, tau, f_ext, qdd, given, fixed, fixed_values, shift, settings,
    qdd_out, tau_out, multipliers, wrenches_out, report,
    work, columns, weights, table, entries, g3, g, h, vectors, wrenches,
):  # fmt: skip
    """Evaluate one state; the arrays of the last line are workspace."""
    n, m, ml = weights.shape[0] - 1, multipliers.shape[0], scalars.shape[0]
    groups = g3.shape[1]
    velocities_and_inertias(rows, q, qd, f_ext, work)
    articulate(rows, q, qdd, tau, given, work)
    weigh(given, work, weights)

    for i in range(n + 1):
        for k in range(2 * groups):
            put2(table, i, k, 0.0)
    if ml > 0:
        loop_rows(rows, loops, scalars, q, qd, work, weights, columns, entries, vectors, wrenches)
    for k in range(ml, m):
        row, size, rate = k - ml, 0.0 * q[0], 0.0 * q[0]
        for i in range(1, n + 1):
            a = fixed[row, i - 1]
            entries[i, k] = a
            size = size + weights[i] * a * a
            rate = rate + a * qd[i - 1]
        vectors[SIZE, k] = size
        vectors[RATE, k] = rate
        vectors[ERROR, k] = fixed_values[row, 0]
        vectors[BIAS, k] = fixed_values[row, 1]
    for k in range(m):
        target = vectors[BIAS, k] + settings[RATE_GAIN] * vectors[RATE, k] + settings[ERROR_GAIN] * vectors[ERROR, k]
        vectors[_TARGET, k] = target + shift[k] if shift.shape[0] > 0 else target
        vectors[_MULTIPLIER, k] = 0.0
        vectors[_TERMS, k] = abs(vectors[_TARGET, k])

    first = groups
    for group in range(groups):
        count = int(support[group])
        sweep_inwards(rows, q, given, work, table, group, groups, support, first, count)
        first += count
    sum_up(table, entries, groups, m, weights, g3)
    rank = factorize(g, m, vectors[SIZE], vectors[_SCALE], vectors[_ORDER], settings[TOLERANCE])

    # With the multipliers at zero the first sweep gives the free tree, Kim (68); each further one corrects the rest.
    worst = 0.0
    for attempt in range(_CORRECTIONS + 1):
        accelerate(rows, q, qdd, tau, given, work, qdd_out, tau_out)
        for k in range(m):
            vectors[_REST, k] = vectors[_TARGET, k]
        for i in range(1, n + 1):
            x = qdd_out[i - 1]
            if x != 0.0:
                for k in range(m):
                    a = entries[i, k] * x
                    vectors[_REST, k] = vectors[_REST, k] + a
                    if attempt < 2:
                        vectors[_TERMS, k] = vectors[_TERMS, k] + abs(a)
        if attempt > 0:
            worst = 0.0
            for k in range(m):
                rest, terms = abs(vectors[_REST, k]), np.real(vectors[_TERMS, k])
                if rest > worst * terms:
                    worst = rest / terms
            if worst <= _GOOD_RESIDUAL or attempt == _CORRECTIONS:
                break
        solve(g, m, rank, vectors[_SCALE], vectors[_ORDER], vectors[_REST], vectors[_STEP], vectors[_SPARE])
        if rank > 0 and rank < m:
            shorten(g, m, rank, vectors[_SCALE], vectors[_ORDER], h, vectors[_STEP], vectors[_SPARE])
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
            terms = np.real(vectors[_TERMS, k]) + np.sqrt(motion * np.real(vectors[SIZE, k]))
            if rest > worst * terms:
                worst = rest / terms

    for k in range(m):
        multipliers[k] = vectors[_MULTIPLIER, k]
    for j in range(loops.shape[0]):
        for c in range(6):
            total = 0.0 * q[0]
            for k in range(int(loops[j, START]), int(loops[j, START] + loops[j, COUNT])):
                total = total + wrenches[k, c] * multipliers[k]
            wrenches_out[j, c] = total
    report[RANK] = rank
    report[RESIDUAL] = worst


@inline
def status_of(rows, given, qdd, multipliers, work):
    """Return the status of one state, as the tree's forward dynamics do."""
    if all_finite(qdd) and all_finite(multipliers):
        return OK
    for i in range(int(rows[0, N_V]), 0, -1):
        if not (given.shape[0] > 0 and given[i - 1]) and np.isinf(work[i, _D]):
            return SINGULAR + STATUS_STEP * i
    return NOT_FINITE


def numbers_of_workspace(n: int, m: int, loop_scalars: int) -> int:
    """Return how many numbers the workspace of `constrained_state` holds."""
    groups = (m + LANES - 1) // LANES
    lanes = ((n + 1) * (2 * groups + 6) + groups * LANES * groups) * LANES
    return lanes + (n + 1) * (TREE_COLUMNS + 7) + m * (m + _VECTORS) + 6 * loop_scalars


work_size = inline(numbers_of_workspace)


@inline
def in_workspace(
    rows, loops, scalars, support, q, qd, tau, f_ext, qdd, given, fixed, fixed_values, shift, settings, out, tau_out,
    space,
):  # fmt: skip
    """Evaluate one state in a workspace of `work_size` numbers, and return its status.

    `out` takes accelerations (n), multipliers (m), wrenches (6 for each loop) and the report.
    """
    n, nl, ml = qd.shape[0], loops.shape[0], scalars.shape[0]
    m = ml + fixed.shape[0]
    groups = (m + LANES - 1) // LANES
    columns, width = 2 * groups + 6, groups * LANES
    a = (n + 1) * columns * LANES
    b = a + width * width
    c = b + (n + 1) * TREE_COLUMNS
    d = c + (n + 1) * 6
    e = d + n + 1
    f = e + m * m
    g = f + m * _VECTORS
    work = space[b:c].reshape((n + 1, TREE_COLUMNS))
    h = n + m + 6 * nl
    qdd_out, multipliers = out[:n], out[n : n + m]
    constrained_state(
        rows, loops, scalars, support, q, qd, tau, f_ext, qdd, given, fixed, fixed_values, shift, settings,
        qdd_out, tau_out, multipliers, out[n + m : h].reshape((nl, 6)), out[h:],
        work, space[c:d].reshape((n + 1, 6)), space[d:e], space[:a].reshape((n + 1, columns, LANES)),
        space[:a].reshape((n + 1, columns * LANES)), space[a:b].reshape((width, groups, LANES)),
        space[a:b].reshape((width, width)), space[e:f].reshape((m, m)), space[f:g].reshape((_VECTORS, m)),
        space[g : g + 6 * ml].reshape((ml, 6)),
    )  # fmt: skip
    return status_of(rows, given, qdd_out, multipliers, work)


@kernel("(float64[:,::1]," + ", ".join(["float64[::1]"] * 7) + ")", quick=True)
def constrained_dynamics(rows, packed, q, qd, tau, extra, space, out):
    """Evaluate forward or hybrid dynamics of one state or of several, one after the other; return the worst status.

    Parameters
    ----------
    packed : numbers of loops, scalars, entries of the support and couplings, settings, and then loops, scalars,
        support, couplings, and twice as many zeros.
    q, qd, tau : of all states in a row.
    extra : empty for forward dynamics of one state. Otherwise `N_EXTRA` numbers, see `EXTRA_STATES` and its neighbours,
        and then, if there: wrenches of all states, accelerations of all states, mask, rows of couplings and user
        constraints (for all states or each), their errors and biases (likewise), and what is added to targets.
    space : workspace of `work_size` numbers, where that is too much for the stack; else empty.
    out : results of all states, each packed as `in_workspace` says, followed by forces if accelerations are given.
    """
    nl, ml, ns, nf = int(packed[0]), int(packed[1]), int(packed[2]), int(packed[3])
    n, nq = int(rows[0, N_V]), int(rows[0, N_Q])
    a = HEADER + nl * LOOP_SIZE
    b = a + ml * SCALAR_SIZE
    c = b + ns
    d = c + nf * n
    fixed, values, settings, none = packed[c:d], packed[d : d + 2 * nf], packed[4:HEADER], q[:0]
    f_ext, qdd, given, shift = none, none, none, none
    count, fixed_step, values_step = 1, 0, 0
    if extra.shape[0] > 0:
        count, nf = int(np.real(extra[EXTRA_STATES])), int(np.real(extra[EXTRA_FIXED]))
        settings = extra[EXTRA_SETTINGS:N_EXTRA]
        fixed_step = nf * n if extra[EXTRA_FIXED_EACH] != 0.0 else 0
        values_step = 2 * nf if extra[EXTRA_VALUES_EACH] != 0.0 else 0
        e = N_EXTRA
        if extra[EXTRA_LOADED] != 0.0:
            f_ext = extra[e : e + count * 6 * int(rows[0, N_BODIES])]
            e += f_ext.shape[0]
        if extra[EXTRA_MIXED] != 0.0:
            qdd, given = extra[e : e + count * n], extra[e + count * n : e + count * n + n]
            e += count * n + n
        fixed = extra[e : e + (count if fixed_step > 0 else 1) * nf * n]
        e += fixed.shape[0]
        values = extra[e : e + (count if values_step > 0 else 1) * 2 * nf]
        e += values.shape[0]
        if extra[EXTRA_SHIFTED] != 0.0:
            shift = extra[e : e + count * (ml + nf)]
    m = ml + nf
    result = n + m + 6 * nl + REPORT_SIZE
    stride = result + given.shape[0]
    if q.shape[0] != count * nq or qd.shape[0] != count * n or tau.shape[0] != count * n:
        return BAD_SHAPE
    if out.shape[0] != count * stride:
        return BAD_SHAPE
    size = work_size(n, m, ml)
    if space.shape[0] < size and not on_stack(size, 1):
        return TOO_LARGE
    scratch = stack_numbers()
    memory = space[:size]
    if space.shape[0] < size:
        memory = single_workspace(scratch, size, 1, q).reshape(size)
    wrenches, accelerations, shifts = f_ext.shape[0] // count, qdd.shape[0] // count, shift.shape[0] // count
    status = OK
    for s in range(count):
        if not check_quaternions(rows, q[s * nq : (s + 1) * nq]):
            status = max(status, BAD_QUATERNION)
            continue
        first = s * stride
        found = in_workspace(
            rows, packed[HEADER:a].reshape((nl, LOOP_SIZE)), packed[a:b].reshape((ml, SCALAR_SIZE)), packed[b:c],
            q[s * nq : (s + 1) * nq], qd[s * n : (s + 1) * n], tau[s * n : (s + 1) * n],
            f_ext[s * wrenches : (s + 1) * wrenches], qdd[s * accelerations : (s + 1) * accelerations], given,
            fixed[s * fixed_step : s * fixed_step + nf * n].reshape((nf, n)),
            values[s * values_step : s * values_step + 2 * nf].reshape((nf, 2)),
            shift[s * shifts : (s + 1) * shifts], settings,
            out[first : first + result], out[first + result : first + stride], memory,
        )  # fmt: skip
        if found > status:
            status = found
    return status
