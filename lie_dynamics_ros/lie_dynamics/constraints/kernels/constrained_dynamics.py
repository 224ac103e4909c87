"""Entry point of constrained forward and hybrid dynamics: memory, batches, and what calls hand over."""

from __future__ import annotations

import numpy as np

from ...dynamics.kernels.common.joints import check_quaternions
from ...dynamics.kernels.common.manifold import move
from ...dynamics.kernels.forward_dynamics import COLUMNS as TREE_COLUMNS
from ...engine.compile import COMPILED, inline, kernel, pasted
from ...engine.lanes import LANES, on_stack, single_workspace, stack_numbers
from ...model.layout import BAD_QUATERNION, BAD_SHAPE, N_BODIES, N_Q, N_V, OK, STATUS_STEP, TOO_LARGE
from .constrained_state import REPORT_SIZE, VECTORS, constrained_state, status_of
from .loops import LOOP_SIZE, SCALAR_SIZE, UPSIDE_DOWN, upside_down

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
def in_workspace(
    rows, loops, scalars, support, q, qd, tau, f_ext, qdd, given, fixed, fixed_values, settings, tolerance,
    out, tau_out, space,
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
    g = f + VECTORS * width
    work = table(space[b:c], n + 1, TREE_COLUMNS)
    h = n + m + 6 * nl
    qdd_out, multipliers = out[:n], out[n : n + m]
    constrained_state(
        rows, loops, scalars, support, q, qd, tau, f_ext, qdd, given, fixed, fixed_values, settings, tolerance,
        qdd_out, tau_out, multipliers, table(out[n + m : h], nl, 6), out[h:],
        work, table(space[c:d], n + 1, 6), space[d:e], space[:a].reshape((n + 1, columns, LANES)),
        table(space[:a], n + 1, columns * LANES), space[a:b].reshape((width, groups, LANES)),
        table(space[a:b], width, width), table(space[e:f], m, m), table(space[f:g], VECTORS, width),
        table(space[g : g + 6 * ml], ml, 6),
    )  # fmt: skip
    if tolerance < 0.0:  # a projection goes on until it is upright
        loop = upside_down(loops, scalars, table(space[f:g], VECTORS, width))
        if loop > 0:
            return UPSIDE_DOWN + STATUS_STEP * loop
    return status_of(rows, given, qdd_out, multipliers, work)


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
    n, nq = int(rows[0, N_V]), int(rows[0, N_Q])
    a = HEADER + nl * LOOP_SIZE
    b = a + ml * SCALAR_SIZE
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
            f_ext = extra[e : e + count * 6 * int(rows[0, N_BODIES])]
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
        return BAD_SHAPE
    if out.shape[0] != count * stride:
        return BAD_SHAPE
    size = work_size(n, m, ml)
    if space.shape[0] < size and not on_stack(size, 1):
        return TOO_LARGE
    scratch = stack_numbers()
    memory = space[:size]
    if space.shape[0] < size:
        memory = single_workspace(scratch, 1, size, q)[0]
    wrenches, accelerations = f_ext.shape[0] // count, qdd.shape[0] // count
    status = OK
    for s in range(count):
        if not check_quaternions(rows, q[s * nq : (s + 1) * nq]):
            status = max(status, BAD_QUATERNION)
            continue
        first = s * stride
        tail = out[first + result : first + stride]
        here, limit, last, found = q[s * nq : (s + 1) * nq], tolerance, np.inf, OK
        for attempt in range(iterations + 2 if tolerance >= 0.0 else 1):
            found = in_workspace(
                rows, table(packed[HEADER:a], nl, LOOP_SIZE), table(packed[a:b], ml, SCALAR_SIZE), packed[b:c],
                here, qd[s * n : (s + 1) * n], tau[s * n : (s + 1) * n],
                f_ext[s * wrenches : (s + 1) * wrenches], qdd[s * accelerations : (s + 1) * accelerations], given,
                table(fixed[s * fixed_step : s * fixed_step + nf * n], nf, n),
                table(values[s * values_step : s * values_step + 2 * nf], nf, 2),
                settings, limit, out[first : first + result], tail, memory,
            )  # fmt: skip
            if tolerance >= 0.0:
                if attempt == 0:
                    for i in range(nq):
                        tail[i] = here[i]
                    here = tail
                error = np.real(out[first + result - REPORT_SIZE])
                if found != OK or not error > limit:
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
