"""Jacobians of frames and their rates."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import InputError
from ..model import layout
from ..model.arguments import require_model, validate_model
from ..model.model import Model
from .inputs import evaluate
from .kernels.jacobians import ALIGNED_FRAME, BODY_FRAME, WORLD_FRAME, jacobian_batch
from .kernels.jacobians import jacobian as _single
from .kernels.jacobians import jacobian_and_rate as _with_rate

FrameKind = Literal["body", "world", "aligned"]

_KINDS = {"body": BODY_FRAME, "world": WORLD_FRAME, "aligned": ALIGNED_FRAME}


def jacobian(model: Model, q: npt.ArrayLike, body: str | int, frame: FrameKind = "body", *, threads: int = 1) -> Array:
    """Return the Jacobian of a body, or of a frame fixed to one: its twist is J qd.

    Parameters
    ----------
    model : Model
        The robot.
    q : array-like, shape (..., nq)
        Configuration [rad, m].
    body : str or int
        Name of a body or frame, or index of a body.
    frame : {"body", "world", "aligned"}
        In which frame the twist is expressed. "body": the moving frame itself, T^-1 dT/dt, Kim (9). "world": the
        inertial frame and its origin (spatial twist). "aligned": the moving frame's origin, the world's axes.
    threads : int
        Threads that share a batch.

    Returns
    -------
    ndarray, shape (..., 6, nv)
        Angular rows first [-, m].

    Raises
    ------
    InputError
        For a wrong shape, NaN, or an unknown body or frame; the message lists those there are.
    GroupError
        For a quaternion in q that is not of unit norm.
    """
    try:
        where = model._where[body, frame]
    except (AttributeError, KeyError, TypeError):
        where = _where(model, body, frame)
    try:
        if model.plain:
            out: Array | None = _single(model.table, q, where)
            if out is not None:
                return out
    except (TypeError, ValueError):
        pass
    inputs: dict[str, Any] = {"q": q, "qd": model.zero_velocity}
    (matrix,) = evaluate(model, jacobian_batch, inputs, ["columns"], threads=threads, parameters=where)
    return matrix


@validate_model
def jacobian_rate(
    model: Model,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    body: str | int,
    frame: FrameKind = "body",
    *,
    threads: int = 1,
) -> Array:
    """Return dJ/dt (..., 6, nv) along the rates `qd` (..., nv): the acceleration of the frame is J qdd + dJ/dt qd.

    Other parameters and errors as `jacobian`. In the frame "body" the acceleration is the component-wise rate of the
    body twist; in "aligned" its linear part is the ordinary acceleration of the frame's origin.
    """
    return jacobian_and_rate(model, q, qd, body, frame, threads)[..., 6:, :]


def jacobian_and_rate(
    model: Model, q: npt.ArrayLike, qd: npt.ArrayLike, body: str | int, frame: FrameKind = "body", threads: int = 1
) -> Array:
    """Return J and, below it, dJ/dt (..., 12, nv); parameters and errors as `jacobian_rate`."""
    where = _where(model, body, frame)
    try:
        if model.plain:
            out: Array | None = _with_rate(model.table, q, qd, where)
            if out is not None:
                return out
    except (TypeError, ValueError):
        pass
    inputs = {"q": q, "qd": qd}
    parts = evaluate(model, jacobian_batch, inputs, ["columns", "columns"], threads=threads, parameters=where)
    return np.concatenate(parts, axis=-2)


def _where(model: Model, body: str | int, frame: str) -> Array:
    """Return what the kernel needs of a frame: its row, the kind requested, its pose in the kernel frame."""
    try:
        kind = _KINDS[frame]
    except (KeyError, TypeError):
        raise InputError(
            f"frame: one of {list(_KINDS)} is expected, got {frame!r}", name="frame", value=frame
        ) from None
    require_model(model)
    try:
        cached = model._where.get((body, frame))
    except TypeError:  # a name that is none
        cached = None
    if cached is None:
        found = model.frame(body)
        row = 0 if found.body < 0 else model._body_row(found.body)
        turn = model.rows[row, layout.BODY_ROTATION : layout.BODY_ROTATION + 9].reshape(3, 3) if row else np.eye(3)
        pose = found.placement
        cached = np.concatenate([[row, kind], (turn @ pose[:3, :3]).ravel(), turn @ pose[:3, 3]])
        model._where[body, frame] = cached  # the same for every copy of the model: placements never change
    return cached
