"""Kernels for batches and for single states, made from the same recursions."""

from __future__ import annotations

import numpy as np

from ....engine.compile import COMPILED, inline, kernel, outline, pasted
from ....engine.lanes import LANES, on_stack, single_workspace, stack_numbers, vector_space, workspace
from ....engine.tiles import load_tile, store_tile, tile_width
from ....model.layout import BAD_QUATERNION, BAD_SHAPE, N_BODIES, N_Q, N_QUATERNIONS, N_V, NOT_FINITE, OK, TOO_LARGE
from .joints import check_quaternions

BATCH_SIGNATURE = "(float64[:,::1], " + "float64[:,::1], " * 5 + "boolean[::1], float64[:,::1], float64[:,::1])"


def all_finite(numbers):
    """Tell whether no number of a flat array is NaN or infinite."""
    return bool(np.isfinite(numbers).all())


if COMPILED:
    from ....engine.simd import lane_sum, load, splat

    @outline
    def all_finite(numbers):
        """Tell whether no number of a flat array is NaN or infinite: only those times zero are not zero."""
        total, more = splat(0.0), splat(0.0)
        whole = numbers.shape[0] // LANES
        for k in range(0, whole - 1, 2):
            total = total + load(numbers, k) * 0.0
            more = more + load(numbers, k + 1) * 0.0
        if whole % 2 == 1:
            total = total + load(numbers, whole - 1) * 0.0
        rest = lane_sum(total + more)
        for i in range(whole * LANES, numbers.shape[0]):
            rest += numbers[i] * 0.0
        return rest == 0.0


@outline
def quaternions_fit(rows, q, start, stop):
    """Tell whether the states `start` to `stop` - 1 have unit quaternions."""
    good = True
    if rows[0, N_QUATERNIONS] == 0.0:
        return good
    for s in range(start, stop):
        good = good and check_quaternions(rows, q[s])
    return good


def _with_all(core, takes):
    """Return a helper with all arguments of a recursion, which calls `core` with those that it takes."""
    name, space = core.__name__, {"core": core}
    arguments = ", ".join(["rows", *takes.split(), "work"])
    text = f"def {name}(rows, q, a, b, f_ext, c, given, y, z, work):\n    core({arguments})"
    exec(compile(text, f"<arguments of {name}>", "exec"), space)
    return inline(space[name])


def make_batch(core, columns, takes):
    """Make the kernel that runs `core` over a batch.

    Parameters
    ----------
    core : function
        An `inline` function of rows, what it takes, and a workspace. It reads the flat arrays of scalars q, a, b,
        f_ext, c and writes the flat arrays y, z (any may be empty); `given` is the same for all states.
    columns : int
        Columns of its workspace.
    takes : str
        Which of "q a b f_ext c given y z" it takes, in its order.

    Returns
    -------
    kernel
        ``batch(rows, q, a, b, f_ext, c, given, y, z)``, arrays with a leading axis of states; returns the worst status.
    """
    run = _with_all(core, takes)

    def batch(rows, q, a, b, f_ext, c, given, y, z):
        status = OK
        count = q.shape[0]
        width = tile_width(count)
        tq = vector_space(q.shape[1], np.empty((0, width), q.dtype))
        ta, tb = vector_space(a.shape[1], tq), vector_space(b.shape[1], tq)
        tf, tc = vector_space(f_ext.shape[1], tq), vector_space(c.shape[1], tq)
        ty, tz = vector_space(y.shape[1], tq), vector_space(z.shape[1], tq)
        n = int(rows[0, N_V]) + 1
        work = workspace(n, columns, tq)
        for start in range(0, count, width):
            if not quaternions_fit(rows, q, start, min(start + width, count)):
                status = max(status, BAD_QUATERNION)
                continue
            load_tile(q, start, tq)
            load_tile(a, start, ta)
            load_tile(b, start, tb)
            load_tile(f_ext, start, tf)
            load_tile(c, start, tc)
            run(rows, tq, ta, tb, tf, tc, given, ty, tz, work)
            good = store_tile(ty, start, y)
            if not (store_tile(tz, start, z) and good):
                status = max(status, NOT_FINITE)
        return status

    batch.__name__ = batch.__qualname__ = core.__name__.replace("_core", "_batch")
    batch.__module__ = core.__module__
    return kernel(BATCH_SIGNATURE)(batch)


#: Mask for kernels that need none.
NONE_GIVEN = np.zeros(0, np.bool_)


@inline
def wrench_fits(rows, f_ext):
    """Tell whether external wrenches are absent or one for each body."""
    if f_ext.shape[1] == 0:
        return f_ext.shape[0] == 0
    return f_ext.shape[0] == rows[0, N_BODIES] and f_ext.shape[1] == 6


@pasted
def finite_status(_given, y, _z, _work):
    """Return the status of one state whose results must be finite."""
    return OK if all_finite(y) else NOT_FINITE


@pasted
def row_each(rows):
    """Return the rows of a workspace that has one for each coordinate, and one for the base."""
    return int(rows[0, N_V]) + 1


def make_single(core, columns, takes, status=finite_status, lines=row_each):
    """Make what runs `core` for one state, in memory on the stack; a kernel checks the shapes and returns its status.

    Parameters
    ----------
    core, columns, takes
        As for `make_batch`.
    status : function
        ``status(given, y, z, work)`` returns the status of what was found.
    lines : function
        ``lines(rows)`` returns how many rows the workspace has.

    Returns
    -------
    helper
        ``run(rows, q, a, b, f_ext, c, given, y, z, fit)``, flat arrays of one state. `fit`: whether all but q have
        the right shape; what `core` does not read may be anything.
    """
    whole = _with_all(core, takes)

    @pasted
    def run(rows, q, a, b, f_ext, c, given, y, z, fit):
        if q.shape[0] != rows[0, N_Q] or not fit:
            return BAD_SHAPE
        if not check_quaternions(rows, q):
            return BAD_QUATERNION
        if not on_stack(lines(rows), columns):
            return TOO_LARGE
        scratch = stack_numbers()
        work = single_workspace(scratch, lines(rows), columns, q)
        whole(rows, q, a, b, f_ext, c, given, y, z, work)
        return status(given, y, z, work)

    return run
