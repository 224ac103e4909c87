"""Poses, Jacobians and their rates of bodies and frames, and wrenches given on them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import Array, ArrayLike
from ..errors import InputError
from ..lie import se3
from ..lie._arrays import as_numbers
from ..model import layout
from ..model.arguments import require_model, validate_model
from ..model.model import Model
from .inputs import Algorithm, quick_path
from .kernels.kinematics import ALIGNED_FRAME, BODY_FRAME, WORLD_FRAME, jacobian_batch
from .kernels.kinematics import forward_kinematics as _single
from .kernels.kinematics import forward_kinematics_batch as _batch
from .kernels.kinematics import jacobian as _jacobian
from .kernels.kinematics import jacobian_and_rate as _with_rate

FrameKind = Literal["body", "world", "aligned"]

_KINDS = {"body": BODY_FRAME, "world": WORLD_FRAME, "aligned": ALIGNED_FRAME}

_POSES = Algorithm(_batch, "b 4 4")
_JACOBIAN = Algorithm(jacobian_batch, "6 n")
_JACOBIAN_AND_RATE = Algorithm(jacobian_batch, "6 n,6 n")


@quick_path(_single, "q")
def forward_kinematics(model: Model, q: ArrayLike, *, threads: int = 1) -> Array:
    """Return the pose of every body in the world frame.

    Parameters
    ----------
    model : Model
        The robot.
    q : array-like, shape (..., nq)
        Configuration [rad, m].
    threads : int
        Threads that share a batch.

    Returns
    -------
    ndarray, shape (..., n_bodies, 4, 4)
        T_world_body of the bodies of `model.body_names` [m].

    Raises
    ------
    InputError
        For a wrong shape, NaN or infinity; names the joint.
    GroupError
        For a quaternion in q that is not of unit norm.
    """
    return _POSES.evaluate(model, {"q": q}, threads=threads)[0]


@validate_model
def frame_pose(model: Model, q: ArrayLike, frame: str | int) -> Array:
    """Return the pose T_world_frame (..., 4, 4) of a body or of a frame fixed to one (or to the world) [m].

    Raises
    ------
    InputError
        If there is no such frame, and as `forward_kinematics`.
    """
    found = model.frame(frame)
    poses = forward_kinematics(model, q)
    if found.body < 0:
        return np.broadcast_to(found.placement, (*poses.shape[:-3], 4, 4)).copy()
    return np.asarray(poses[..., found.body, :, :] @ found.placement)


@validate_model
def external_wrench(
    model: Model,
    q: ArrayLike,
    body: str | int,
    wrench: ArrayLike,
    frame: Literal["body", "world", "aligned"] = "aligned",
) -> Array:
    """Return `f_ext` for a wrench on one body or frame, to be added to others and passed to the dynamics.

    Parameters
    ----------
    model, q
        As `forward_kinematics`.
    body : str or int
        Body or frame that the wrench acts on.
    wrench : array-like, shape (..., 6)
        Moment, then force [N m, N], that the environment exerts.
    frame : {"body", "world", "aligned"}
        Where it is expressed. "body": in the frame named. "world": in the world frame, moment about the world's origin.
        "aligned": the world's axes, moment about the origin of the frame named; what a force sensor's ROS message in a
        world-aligned frame says, and what a weight on a hook exerts.

    Returns
    -------
    ndarray, shape (..., n_bodies, 6)
        The same wrench in the body's own frame, zero on the other bodies. Kim (13).

    Raises
    ------
    InputError
        For an unknown body or one fixed to the world, a wrong shape, or NaN.
    """
    if not isinstance(frame, str) or frame not in ("body", "world", "aligned"):
        raise InputError(f"frame: 'body', 'world' or 'aligned' is expected, got {frame!r}", name="frame", value=frame)
    at = model.moving_frame(body)
    given = as_numbers(wrench, "wrench")
    if given.shape[-1:] != (6,) or given.dtype.kind == "c" or not np.isfinite(given).all():
        raise InputError(
            f"wrench: six finite numbers (..., 6) are expected, got {wrench!r}", name=at.name, value=wrench
        )
    poses = forward_kinematics(model, q)[..., at.body, :, :]
    if frame == "body":
        pose = at.placement
    else:
        pose = se3.inverse(poses)
        if frame == "aligned":  # the world's axes at the frame's origin, seen from the body
            pose[..., :3, 3] = at.placement[:3, 3]
    local = se3.transform_wrench(pose, given)
    batch = np.broadcast_shapes(local.shape[:-1], poses.shape[:-2])
    result = np.zeros((*batch, model.n_bodies, 6))
    result[..., at.body, :] = local
    return result


def jacobian(model: Model, q: ArrayLike, body: str | int, frame: FrameKind = "body", *, threads: int = 1) -> Array:
    """Return the Jacobian of a body, or of a frame fixed to one: its twist is J qd.

    Parameters
    ----------
    model, q, threads
        As `forward_kinematics`.
    body : str or int
        Name of a body or frame, or index of a body.
    frame : {"body", "world", "aligned"}
        In which frame the twist is expressed. "body": the moving frame itself, T^-1 dT/dt, Kim (9). "world": the
        inertial frame and its origin (spatial twist). "aligned": the moving frame's origin, the world's axes.

    Returns
    -------
    ndarray, shape (..., 6, nv)
        Angular rows first [-, m].

    Raises
    ------
    InputError, GroupError
        As `forward_kinematics`; also InputError for an unknown body or frame: the message lists those there are.
    """
    try:
        where = model.kernel_frames[body, frame]
    except (AttributeError, KeyError, TypeError):
        where = _where(model, body, frame)
    if model.plain:
        out: Array | None = _jacobian(model.table, q, where)
        if out is not None:
            return out
    return _JACOBIAN.evaluate(model, {"q": q, "qd": model.zero_velocity}, threads=threads, parameters=where)[0]


@validate_model
def jacobian_rate(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
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
    model: Model, q: ArrayLike, qd: ArrayLike, body: str | int, frame: FrameKind = "body", threads: int = 1
) -> Array:
    """Return J and, below it, dJ/dt (..., 12, nv); parameters and errors as `jacobian_rate`."""
    where = _where(model, body, frame)
    if model.plain:
        out: Array | None = _with_rate(model.table, q, qd, where)
        if out is not None:
            return out
    parts = _JACOBIAN_AND_RATE.evaluate(model, {"q": q, "qd": qd}, threads=threads, parameters=where)
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
        cached = model.kernel_frames.get((body, frame))
    except TypeError:  # a name that is none
        cached = None
    if cached is None:
        found = model.frame(body)
        row = 0 if found.body < 0 else model.body_rows[found.body]
        turn = model.rows[row, layout.BODY_ROTATION : layout.BODY_ROTATION + 9].reshape(3, 3) if row else np.eye(3)
        pose = found.placement
        cached = np.concatenate([[row, kind], (turn @ pose[:3, :3]).ravel(), turn @ pose[:3, 3]])
        model.kernel_frames[body, frame] = cached  # the same for every copy of the model: placements never change
    return cached
