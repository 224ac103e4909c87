"""User-defined joints: what their functions return is checked and appended to q, where the kernels read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import AnyArray, ArrayLike
from ..errors import DescriptionError
from . import layout

if TYPE_CHECKING:
    from .model import Model
    from .structure import Joint

_RIGID = 1e-6  # how far a rotation matrix may be from one


def extend(model: Model, q: AnyArray, qd: AnyArray) -> AnyArray:
    """Return `q` (..., nq) with T, S and dS/dt of every user-defined joint appended, as `layout` says.

    Of a model with coupled mimics `q` and `qd` are those of all joints, more than the model's own coordinates.
    """
    flat_q, flat_qd = q.reshape(-1, q.shape[-1]), qd.reshape(-1, qd.shape[-1])
    parts = [flat_q]
    for joint in model.custom_joints:
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
