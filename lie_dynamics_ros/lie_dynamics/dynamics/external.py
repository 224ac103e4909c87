"""External wrenches given otherwise than the algorithms take them: in the world's axes, at a point, on a frame."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import InputError
from ..lie import se3
from ..lie._arrays import as_numbers
from ..model.arguments import validate_model
from ..model.model import Model
from .kinematics import forward_kinematics


@validate_model
def external_wrench(
    model: Model,
    q: npt.ArrayLike,
    body: str | int,
    wrench: npt.ArrayLike,
    frame: Literal["body", "world", "aligned"] = "aligned",
) -> Array:
    """Return `f_ext` for a wrench on one body or frame, to be added to others and passed to the dynamics.

    Parameters
    ----------
    model : Model
        The robot.
    q : array-like, shape (..., nq)
        Configuration [rad, m].
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
    at = model._moving(body)
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
