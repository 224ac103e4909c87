"""How parameters that change the geometry of a tree change the constraints of its loops."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..lie import se3
from ..model import layout, seeds
from ..model.configuration import coordinate_name
from ..model.model import Model
from ..tree.seeding import Seeding
from . import loop_kernels as lk
from .constraint_set import ConstraintSet
from .inputs import States
from .user import _FIRST, _NODES, FIRST_STEP

Array = npt.NDArray[np.float64]

_MOVING = (seeds.JOINT_TWIST, seeds.AFTER_TWIST, seeds.PITCH)
_UNKNOWN = (seeds.BODY_TWIST, seeds.SUBSPACE, seeds.SUBSPACE_RATE)


def geometry_derivatives(
    model: Model, constraints: ConstraintSet, states: States, seeding: Seeding, values: Array
) -> tuple[Array, Array, Array]:
    """Return derivatives of A, of errors and of dA/dt qd along each parameter, q being held.

    Placements, axes and pitches alone have any: central differences of order six in the tree's table, whose error is
    some 1e-10. Couplings and user constraints are functions of q, which do not know them.

    Parameters
    ----------
    model, constraints, states
        As elsewhere, states flat over the batch.
    seeding : Seeding
        Of k parameters.
    values : ndarray, shape (B, ...)
        Its data that differ from state to state.

    Returns
    -------
    dA, derror, dbias : ndarray, shape (k, B, m, nv), (k, B, m), (k, B, m)

    Raises
    ------
    InputError
        For changes of T, S or dS/dt of a joint by themselves on a branch of a loop.
    """
    count, m, n = len(states.extended), constraints.size, model.nv
    total = len(seeding.starts) - 1
    dA, derror, dbias = np.zeros((total, count, m, n)), np.zeros((total, count, m)), np.zeros((total, count, m))
    branches = _branches(model, constraints)
    for k in range(total):
        rows = seeding.table[seeding.starts[k] : seeding.starts[k + 1]]
        entries = [e for e in rows if e[seeds.WHAT] in (*_MOVING, *_UNKNOWN) and int(e[seeds.ROW]) in branches]
        for e in entries:
            if e[seeds.WHAT] in _UNKNOWN:
                joint = coordinate_name(model, int(e[seeds.ROW]) - 1, False)
                raise InputError(
                    f"joint {joint!r} is part of a loop: parameters that change its T, S or dS/dt by themselves have "
                    "no derivative under constraints; Parameter.placement, axis or pitch is expected",
                    name=joint,
                )
        if not entries:
            continue
        varies = any(e[seeds.OFFSET] >= 0.0 for e in entries)
        for at in [slice(s, s + 1) for s in range(count)] if varies else [slice(0, count)]:
            row = values[at][0] if count else values.sum(axis=0)
            found = _difference(model, constraints, states, at, entries, row)
            for out, part in zip((dA, derror, dbias), found, strict=True):
                out[k, at, : part.shape[1]] = part
    return dA, derror, dbias


def _branches(model: Model, constraints: ConstraintSet) -> set[int]:
    """Return the rows on branches of loops."""
    rows: set[int] = set()
    for loop in constraints._loops:
        for row in (int(loop[lk.ROW_1]), int(loop[lk.ROW_2])):
            while row != int(loop[lk.ANCESTOR]):
                rows.add(row)
                row = int(model._rows[row, layout.PARENT])
    return rows


def _difference(
    model: Model, constraints: ConstraintSet, states: States, at: slice, entries: list[Array], values: Array
) -> tuple[Array, Array, Array]:
    rows, loops = np.array(model._rows), constraints._loops.copy()
    # Seen from the origin of the first tree that changes: where a robot stands must cost no digits.
    root = int(entries[0][seeds.ROW])
    while rows[root, layout.PARENT] > 0.0:
        root = int(rows[root, layout.PARENT])
    origin = rows[root, layout.ORIGIN : layout.ORIGIN + 3].copy()
    rows[1:][rows[1:, layout.PARENT] == 0.0, layout.ORIGIN : layout.ORIGIN + 3] -= origin
    for row, place in ((lk.ROW_1, lk.P_1), (lk.ROW_2, lk.P_2)):
        loops[loops[:, row] == 0.0, place : place + 3] -= origin
    data = [values[int(e[seeds.OFFSET]) :][:6] if e[seeds.OFFSET] >= 0.0 else e[seeds.DATA :][:6] for e in entries]
    pitch = [e[seeds.WHAT] == seeds.PITCH for e in entries]
    turn = max((float(np.abs(d[:3]).max()) for d, p in zip(data, pitch, strict=True) if not p), default=0.0)
    shift = max(float(np.abs(d[:1] if p else d[3:6]).max()) for d, p in zip(data, pitch, strict=True))
    q, qd = states.extended[at], np.ascontiguousarray(states.arrays["qd"][at])
    size = max(float(np.abs(rows[1:, layout.ORIGIN : layout.ORIGIN + 3]).max()), float(np.abs(loops[:, lk.P_1]).max()))
    # Errors are of second order in displacements, so steps along these may be large.
    step = FIRST_STEP / turn if turn > 0.0 else 0.1 * (size or 1.0) / shift if shift > 0.0 else 1.0
    totals: list[Array] = []
    for node, weight in zip(_NODES, _FIRST, strict=True):
        moved_rows, moved_loops = rows.copy(), loops.copy()
        for e, d in zip(entries, data, strict=True):
            _move(moved_rows, moved_loops, e, node * step * d)
        found = _loop_values(moved_rows, moved_loops, constraints._scalars, np.ascontiguousarray(q), qd)
        parts = [weight / step * x for x in found]
        totals = parts if not totals else [a + b for a, b in zip(totals, parts, strict=True)]
    return totals[0], totals[1], totals[2]


def _move(rows: Array, loops: Array, entry: Array, data: Array) -> None:
    """Make a change of finite size."""
    row, what = int(entry[seeds.ROW]), entry[seeds.WHAT]
    if what == seeds.PITCH:
        rows[row, layout.AXIS_V] += data[0]
        return
    E = se3.exp(data[:6])
    if what == seeds.JOINT_TWIST:
        R = rows[row, layout.PLACEMENT : layout.PLACEMENT + 9].reshape(3, 3)
        rows[row, layout.ORIGIN : layout.ORIGIN + 3] += R @ E[:3, 3]
        rows[row, layout.PLACEMENT : layout.PLACEMENT + 9] = (R @ E[:3, :3]).ravel()
        return
    children = (np.flatnonzero(rows[1:, layout.PARENT] == row) + 1).tolist()
    _premultiply(rows, children, layout.PLACEMENT, layout.ORIGIN, E)
    for which, turn, place in ((lk.ROW_1, lk.R_1, lk.P_1), (lk.ROW_2, lk.R_2, lk.P_2)):
        _premultiply(loops, np.flatnonzero(loops[:, which] == row).tolist(), turn, place, E)


def _premultiply(table: Array, rows: list[int], turn: int, place: int, E: Array) -> None:
    for i in rows:
        R = table[i, turn : turn + 9].reshape(3, 3)
        table[i, place : place + 3] = E[:3, :3] @ table[i, place : place + 3] + E[:3, 3]
        table[i, turn : turn + 9] = (E[:3, :3] @ R).ravel()


def _loop_values(rows: Array, loops: Array, scalars: Array, q: Array, qd: Array) -> tuple[Array, Array, Array]:
    """Return A, errors and dA/dt qd of the loops."""
    count, m = len(q), len(scalars)
    matrix, values = np.empty((count, qd.shape[1] + 1, m)), np.empty((count, lk.VALUE_ROWS, m))
    lk.loop_quantities(rows, loops, scalars, q, qd, matrix, values, np.empty((count, m, 6)))
    return matrix[:, 1:].swapaxes(1, 2), values[:, lk.ERROR], values[:, lk.BIAS]
