"""Torques within what the actuators can exert."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import InputError


@dataclass(frozen=True, eq=False)
class LimitedEffort:
    """Torques within limits.

    Attributes
    ----------
    effort : ndarray, shape (nv,)
        What to command [N m, N].
    saturated : ndarray of bool, shape (nv,)
        Joints whose requested efforts exceed their limits.
    scale : float
        What part of the wanted torques beyond the base is commanded, 1 without saturation; 1 for "clip".
    """

    effort: Array
    saturated: npt.NDArray[np.bool_]
    scale: float


def limit_effort(
    effort: npt.ArrayLike,
    limit: npt.ArrayLike,
    policy: Literal["scale", "clip"] = "scale",
    base: npt.ArrayLike | None = None,
) -> LimitedEffort:
    """Return `effort` (nv,) within +-`limit` (nv,) [N m, N].

    Parameters
    ----------
    effort : array-like, shape (nv,)
        Wanted torques.
    limit : array-like, shape () or (nv,)
        Largest absolute values, infinite for none.
    policy : {"scale", "clip"}
        "scale": base + s (effort - base) with the largest s <= 1 within the limits, so that what acts beyond the base
        keeps its direction: the robot slows down together instead of bending off the path. "clip": each joint by
        itself, which gives every joint all it can and changes the direction.
    base : array-like, shape (nv,), optional
        Torques that come first when scaling, such as gravity compensation; zero when left out. It is clipped itself.

    Raises
    ------
    InputError
        For NaN, a negative limit, or an unknown policy.
    """
    wanted, bound = np.asarray(effort, np.float64), np.broadcast_to(np.asarray(limit, np.float64), np.shape(effort))
    if not np.isfinite(wanted).all() or np.isnan(bound).any() or (bound < 0.0).any():
        raise InputError(
            f"effort, limit: finite torques and limits >= 0 are expected, got {wanted.tolist()} and {bound.tolist()}"
        )
    saturated = np.abs(wanted) > bound
    clipped = np.clip(wanted, -bound, bound)
    if policy == "clip":
        return LimitedEffort(clipped, saturated, 1.0)
    if policy != "scale":
        raise InputError(f"policy: 'scale' or 'clip' is expected, got {policy!r}", name="policy", value=policy)
    if not saturated.any():
        return LimitedEffort(wanted.copy(), saturated, 1.0)
    start = np.zeros_like(wanted) if base is None else np.clip(np.asarray(base, np.float64), -bound, bound)
    beyond = wanted - start
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(saturated, (np.copysign(bound, wanted) - start) / beyond, 1.0)
    scale = float(np.clip(room.min(), 0.0, 1.0))
    return LimitedEffort(np.clip(start + scale * beyond, -bound, bound), saturated, scale)
