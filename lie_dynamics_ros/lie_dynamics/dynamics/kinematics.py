"""Poses of the bodies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..model.arguments import require_model, validate_model
from ..model.model import Model
from .inputs import evaluate
from .kernels.kinematics import forward_kinematics as _single
from .kernels.kinematics import forward_kinematics_batch as _batch


def forward_kinematics(model: Model, q: npt.ArrayLike, *, threads: int = 1) -> npt.NDArray[np.float64]:
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
    try:
        if model.plain:
            out: npt.NDArray[np.float64] | None = _single(model.table, q)
            if out is not None:
                return out
    except (AttributeError, TypeError, ValueError):
        pass
    require_model(model)
    (poses,) = evaluate(model, _batch, {"q": q}, [(model.n_bodies, 4, 4)], threads=threads)
    return poses


@validate_model
def frame_pose(model: Model, q: npt.ArrayLike, frame: str | int) -> npt.NDArray[np.float64]:
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
