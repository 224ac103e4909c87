"""What kernels of single states share, made from the same recursions as the kernels of batches."""

from __future__ import annotations

import numpy as np

from ....engine.compile import inline, pasted
from ....engine.lanes import on_stack, single_workspace, stack_numbers
from ....model.layout import BAD_QUATERNION, BAD_SHAPE, N_BODIES, N_Q, N_V, NOT_FINITE, OK, TOO_LARGE
from .batch import all_finite
from .joints import check_quaternions

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


def make_single(core, columns, status=finite_status, lines=row_each):
    """Make what runs `core` for one state, in memory on the stack; a kernel checks the shapes and returns its status.

    Parameters
    ----------
    core : function
        As for `batch.make_batch`.
    columns : int
        Columns of its workspace.
    status : function
        ``status(given, y, z, work)`` returns the status of what was found.
    lines : function
        ``lines(rows)`` returns how many rows the workspace has.

    Returns
    -------
    helper
        ``run(rows, q, a, b, f_ext, c, given, y, z, fit)``, flat arrays of one state. `fit` tells whether all but q have
        the right shape; what `core` does not read may be anything.
    """

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
        core(rows, q, a, b, f_ext, c, given, y, z, work)
        return status(given, y, z, work)

    return run
