"""From bodies to the kernels' table of rows (see `layout`), and from q to what they read of user-defined joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import AnyArray, Array, ArrayLike
from ..errors import DescriptionError
from ..lie import SpatialInertia
from . import layout
from .joint_types import JointType, rotation_from_z
from .structure import Joint

_UPPER = np.triu_indices(3)
_UNTURNED, _ORIGIN = np.eye(3), np.zeros(3)
_RIGID = 1e-6  # how far a rotation matrix of a user's joint may be from one


@dataclass(frozen=True)
class PackedBody:
    """A moving body: its joint, its parent's index (-1: world), T_parent_joint (4, 4), and its inertia."""

    joint: Joint
    parent: int
    placement: Array
    inertia: SpatialInertia


def pack(bodies: Sequence[PackedBody], nq: int, nv: int) -> Array:
    """Return the table of rows (nv + 1, ROW_SIZE) of a tree whose parents come before their children."""
    rows = np.zeros((nv + 1, layout.ROW_SIZE))
    header = rows[0]
    header[layout.N_V], header[layout.N_BODIES] = nv, len(bodies)
    last_row: list[int] = []
    turns: list[Array] = []  # rotation of each body's kernel frame seen from its body frame
    appended = nq  # a user's joint reads what is appended to q
    for index, body in enumerate(bodies):
        parent_row = 0 if body.parent < 0 else last_row[body.parent]
        placement = body.placement if body.parent < 0 else turns[body.parent].T @ body.placement[:3]
        rotation, origin = placement[:3, :3], placement[:3, 3]
        first = body.joint.v_slice.start + 1
        joint = body.joint.type
        if joint.steps:
            turn = _pack_steps(rows, first, body.joint, parent_row, rotation, origin)
        else:
            appended = _pack_compound(rows, first, body.joint, parent_row, rotation, origin, appended)
            turn = np.eye(3)
        if joint.kind in ("spherical", "free"):
            header[layout.N_QUATERNIONS] += 1
        row = rows[first + joint.nv - 1]
        row[layout.BODY] = index
        row[layout.BODY_ROTATION : layout.BODY_ROTATION + 9] = turn.T.ravel()
        last_row.append(first + joint.nv - 1)
        turns.append(turn)
        reference = _reference_row(first, joint) if parent_row == 0 else rows[parent_row, layout.REFERENCE]
        rows[first : first + joint.nv, layout.REFERENCE] = reference
    _put_inertias(rows, last_row, [body.inertia for body in bodies])
    header[layout.N_Q] = appended
    header[layout.N_TREES] = (rows[1:, layout.PARENT] == 0.0).sum()
    put_round_off(rows)
    return rows


def _reference_row(first: int, joint: JointType) -> int:
    """Return the last row of a joint on the world before a slide across an axis that an earlier row turns about."""
    turned: list[Array] = []
    for k, step in enumerate(joint.steps):
        axis = np.array(step.axis)
        if step.translation != 0.0 and any(np.cross(axis, other).any() for other in turned):
            return first + k - 1
        if step.rotation != 0.0:
            turned.append(axis)
    return first + joint.nv - 1


def put_round_off(rows: Array) -> None:
    """Fill `layout.ROUND_OFF` from bounds of the composite inertias; lengths of slides count as 1 m."""
    norm = np.linalg.norm
    mass, moment = rows[:, layout.MASS].tolist(), norm(rows[:, layout.MOMENT : layout.MOMENT + 3], axis=1).tolist()
    inertia = rows[:, [layout.INERTIA, layout.INERTIA + 3, layout.INERTIA + 5]].sum(axis=1).tolist()
    slides = (rows[:, layout.AXIS_V] != 0.0) | np.isin(rows[:, layout.KIND], (layout.FREE, layout.CUSTOM))
    reach = (norm(rows[:, layout.ORIGIN : layout.ORIGIN + 3], axis=1) + slides).tolist()
    square = rows[:, layout.SUBSPACE : layout.SUBSPACE + 6] ** 2
    square[np.isin(rows[:, layout.KIND], (layout.CUSTOM, layout.CUSTOM_FOLLOW))] = 1.0  # of S, not known here
    rotation, translation = square[:, :3].sum(axis=1).tolist(), square[:, 3:].sum(axis=1).tolist()
    parent = rows[:, layout.PARENT].astype(int).tolist()
    found = [0.0] * len(mass)
    for i in range(len(mass) - 1, 0, -1):
        m, h, d, k = mass[i], moment[i], reach[i], parent[i]
        found[i] = layout.SINGULAR_TOLERANCE * (rotation[i] * inertia[i] + translation[i] * m)
        mass[k] += m
        moment[k] += h + d * m
        inertia[k] += inertia[i] + d * (4.0 * h + 2.0 * d * m)
    rows[:, layout.ROUND_OFF] = found


def with_columns(rows: Array) -> Array:
    """Return the table of these rows (nv + 1, ROW_SIZE) with columns appended as `layout` says, aligned to vectors."""
    n = rows.shape[0] - 1
    blocks = -(-n // layout.LANES)
    at = -(-rows.size // layout.LANES) * layout.LANES
    n_rows = -(-(at + layout.N_COLUMNS * blocks * layout.LANES) // layout.ROW_SIZE)
    table = _aligned(n_rows)
    table[: n + 1] = rows
    kinds = rows[1:, layout.KIND]
    end, depth_first = _subtree_ends(rows[:, layout.PARENT].astype(int).tolist())
    table[0, layout.COLUMNS_AT : layout.DEPTH_FIRST + 1] = (
        at, blocks, np.isin(kinds, (layout.SPHERICAL, layout.FREE, layout.CUSTOM)).sum(), depth_first
    )  # fmt: skip
    _columns(table)[layout.SUBTREE_END_C, :n] = end[1:]
    refresh_columns(table)
    return table


def refresh_columns(table: Array) -> None:
    """Bring the appended columns up to date with the rows of a table."""
    n = int(table[0, layout.N_V])
    _columns(table)[: len(_COPIED), :n] = table[1 : n + 1, _COPIED].T


def copied(table: Array) -> Array:
    """Return a copy of a table, aligned too."""
    new = _aligned(table.shape[0])
    new[...] = table
    return new


_COPIED = [
    *range(layout.PLACEMENT, layout.PLACEMENT + 9), *range(layout.ORIGIN, layout.ORIGIN + 3),
    layout.AXIS_W, layout.AXIS_V, *range(layout.SUBSPACE, layout.SUBSPACE + 6),
    layout.MASS, *range(layout.MOMENT, layout.MOMENT + 3), *range(layout.INERTIA, layout.INERTIA + 6), layout.Q_INDEX,
]  # fmt: skip


def _aligned(n_rows: int) -> Array:
    size = n_rows * layout.ROW_SIZE
    numbers = np.zeros(size + layout.LANES)
    skip = -(numbers.ctypes.data >> 3) % layout.LANES
    return numbers[skip : skip + size].reshape(n_rows, layout.ROW_SIZE)


def _columns(table: Array) -> Array:
    at, padded = int(table[0, layout.COLUMNS_AT]), int(table[0, layout.BLOCKS]) * layout.LANES
    return table.reshape(-1)[at : at + layout.N_COLUMNS * padded].reshape(layout.N_COLUMNS, padded)


def _subtree_ends(parents: Sequence[int]) -> tuple[list[int], bool]:
    """Return the largest row beyond each row, and whether no others lie between."""
    n = len(parents)
    end, count = list(range(n)), [1] * n
    for i in range(n - 1, 0, -1):
        end[parents[i]] = max(end[parents[i]], end[i])
        count[parents[i]] += count[i]
    return end, all(end[i] - i + 1 == count[i] for i in range(n))


def put_inertia(row: Array, inertia: SpatialInertia) -> None:
    """Write a body's inertia, given in its body frame, into its row."""
    _put_inertias(row[None], [0], [inertia])


def _put_inertias(rows: Array, at: Sequence[int], inertias: Sequence[SpatialInertia]) -> None:
    """Write inertias of bodies, given in their body frames, into their rows, all at once."""
    if not at:
        return
    turns = rows[at, layout.BODY_ROTATION : layout.BODY_ROTATION + 9].reshape(-1, 3, 3)
    mass = np.array([inertia.mass for inertia in inertias])
    com = np.array([inertia.com for inertia in inertias])
    moved = com[:, :, None] * com[:, None, :]
    about_origin = np.array([inertia.inertia for inertia in inertias])
    about_origin += mass[:, None, None] * ((com * com).sum(axis=1)[:, None, None] * np.eye(3) - moved)
    rows[at, layout.MASS] = mass
    rows[at, layout.MOMENT : layout.MOMENT + 3] = (turns @ (mass[:, None] * com)[:, :, None])[:, :, 0]
    turned = turns @ about_origin @ np.swapaxes(turns, -1, -2)
    rows[at, layout.INERTIA : layout.INERTIA + 6] = turned[:, _UPPER[0], _UPPER[1]]


def get_inertia(row: Array) -> SpatialInertia:
    """Read a body's inertia, in its body frame, from its row."""
    turn = body_turn(row)
    about_origin = np.empty((3, 3))
    about_origin[_UPPER] = row[layout.INERTIA : layout.INERTIA + 6]
    about_origin.T[_UPPER] = row[layout.INERTIA : layout.INERTIA + 6]
    moment = turn.T @ row[layout.MOMENT : layout.MOMENT + 3]
    rotated = turn.T @ about_origin @ turn
    return SpatialInertia.from_parameters([row[layout.MASS], *moment, *rotated[_UPPER]])


def get_placement(rows: Array, joint: Joint) -> Array:
    """Read from the table's rows where a joint puts its body at q = 0, seen from the parent's body, (4, 4) [m].

    The joint's own coordinates must be the rows' (no coupled joint); a ball or free joint is at the identity.
    """
    first, last = joint.v_slice.start + 1, joint.v_slice.stop
    above = int(rows[first, layout.PARENT])
    T = np.eye(4)
    T[:3, :3] = np.eye(3) if above == 0 else body_turn(rows[above]).T
    for row in rows[first : last + 1]:
        step = np.eye(4)
        step[:3, :3] = row[layout.PLACEMENT : layout.PLACEMENT + 9].reshape(3, 3)
        step[:3, 3] = row[layout.ORIGIN : layout.ORIGIN + 3]
        T = T @ step
    T[:3, :3] = T[:3, :3] @ body_turn(rows[last])
    return T


def body_turn(row: Array) -> Array:
    """Return the rotation of the body frame seen from the kernel frame, of a row that carries a body."""
    return row[layout.BODY_ROTATION : layout.BODY_ROTATION + 9].reshape(3, 3)


def _put_place(row: Array, rotation: Array, origin: Array) -> None:
    row[layout.PLACEMENT : layout.PLACEMENT + 9] = rotation.ravel()
    row[layout.ORIGIN : layout.ORIGIN + 3] = origin


def _pack_steps(rows: Array, first: int, joint: Joint, parent: int, rotation: Array, origin: Array) -> Array:
    """Fill one row per step and return the rotation of the last kernel frame seen from the body frame."""
    turn = _UNTURNED
    for k, step in enumerate(joint.type.steps):
        row, at = rows[first + k], first + k
        next_turn = rotation_from_z(step.axis)
        _put_place(row, (rotation if k == 0 else turn.T) @ next_turn, origin)
        row[_OF_STEP] = (
            parent, layout.AXIS, joint.q_slice.start + k, at, at, -1, step.rotation, step.translation,
            step.rotation, step.translation,
        )  # fmt: skip
        parent, origin, turn = at, _ORIGIN, next_turn
    return turn


_OF_STEP = [
    layout.PARENT, layout.KIND, layout.Q_INDEX, layout.FIRST, layout.LAST, layout.BODY, layout.AXIS_W, layout.AXIS_V,
    layout.SUBSPACE + 2, layout.SUBSPACE + 5,
]  # fmt: skip


def _pack_compound(
    rows: Array, first: int, joint: Joint, parent: int, rotation: Array, origin: Array, appended: int
) -> int:
    """Fill the rows of a ball, free or user's joint and return where the next appended data of q begins."""
    kind = joint.type
    for k in range(kind.nv):
        row = rows[first + k]
        row[layout.PARENT] = parent if k == 0 else first + k - 1
        row[layout.KIND] = _row_kind(kind, k)
        row[layout.FIRST], row[layout.LAST] = first, first + kind.nv - 1
        row[layout.BODY] = -1
        row[layout.PLACEMENT : layout.PLACEMENT + 9] = np.eye(3).ravel()
        row[layout.Q_INDEX] = joint.q_slice.start
        if kind.custom is not None:
            row[layout.Q_INDEX] = appended
            appended += layout.CUSTOM_SIZE if k == 0 else layout.CUSTOM_FOLLOW_SIZE
        else:
            row[layout.SUBSPACE + k] = 1.0
    _put_place(rows[first], rotation, origin)
    return appended


def _row_kind(joint: JointType, k: int) -> float:
    if joint.kind == "custom":
        return layout.CUSTOM if k == 0 else layout.CUSTOM_FOLLOW
    if k > 0:
        return layout.FOLLOW
    return layout.SPHERICAL if joint.kind == "spherical" else layout.FREE


def extend(users: Sequence[Joint], q: AnyArray, qd: AnyArray) -> AnyArray:
    """Return `q` (..., nq) with T, S and dS/dt of a model's user-defined joints appended, as `layout` says.

    Of a model with coupled mimics `q` and `qd` are those of all joints, more than the model's own coordinates.
    """
    flat_q, flat_qd = q.reshape(-1, q.shape[-1]), qd.reshape(-1, qd.shape[-1])
    parts = [flat_q]
    for joint in users:
        size = layout.CUSTOM_SIZE + layout.CUSTOM_FOLLOW_SIZE * (joint.type.nv - 1)
        data = [_data(joint, a, b) for a, b in zip(flat_q, flat_qd, strict=True)]
        parts.append(np.array(data).reshape(len(flat_q), size))
    wide = np.concatenate(parts, axis=1)
    return np.ascontiguousarray(wide.reshape(*q.shape[:-1], wide.shape[1]))


def _data(joint: Joint, q: AnyArray, qd: AnyArray) -> AnyArray:
    motion, n = joint.type.custom, joint.type.nv
    assert motion is not None
    x, xd = q[joint.q_slice], qd[joint.v_slice]
    T = _checked(joint, "transform", motion.transform(x), (4, 4))
    S = _checked(joint, "subspace", motion.subspace(x), (6, n))
    dS = _checked(joint, "subspace_rate", motion.subspace_rate(x, xd), (6, n))
    if not _rigid(T.real):
        raise DescriptionError(
            f"joint {joint.name!r}: its transform function must return a rigid transform, got {T.tolist()}",
            name=joint.name,
            value=T,
            expected="a rotation matrix, an origin and the row (0, 0, 0, 1)",
        )
    return np.concatenate([T[:3, :3].ravel(), T[:3, 3], np.concatenate([S, dS]).T.ravel()])


def _rigid(T: AnyArray) -> bool:
    R, last = T[:3, :3], T[3] - np.array([0.0, 0.0, 0.0, 1.0])
    return bool(max(np.abs(R.T @ R - np.eye(3)).max(), np.abs(last).max()) < _RIGID and np.linalg.det(R) > 0.0)


def _checked(joint: Joint, what: str, value: ArrayLike, shape: tuple[int, ...]) -> AnyArray:
    array = np.asarray(value)
    if array.shape != shape or not np.isfinite(array).all():
        raise DescriptionError(
            f"joint {joint.name!r}: its {what} function must return finite numbers of shape {shape}, got {value!r}",
            name=joint.name,
            value=value,
            expected=str(shape),
        )
    return array
