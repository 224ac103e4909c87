"""Limits of joints: efforts within what actuators can exert, accelerations that keep positions and speeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..engine.compile import raise_if_rejected
from ..errors import InputError
from .kernels.laws import DONE
from .kernels.nearest import LIMITS, WORK_ROWS, motion_bounds, nearest_within
from .kernels.signals import APPROACH, comes_to_rest_within

BACK = 0.02  # distance beyond a limit from which on a joint is led back at full speed [rad, m]


class MotionBounds:
    """Bounds of the accelerations of a robot's joints.

    At the distance d from a limit a joint may move towards it at k d, k = `APPROACH`, and at its largest speed w. With

        a <= r (k d - v) - k v   and   a <= s (w - v)

    upwards, and the same downwards, k d - v and w - v stay positive, or become so at the rates r and s.

    Parameters
    ----------
    lower, upper : ndarray, shape (n,)
        [rad, m]; infinite for none.
    speed : ndarray, shape (n,)
        [rad/s, m/s]; infinite for none.
    """

    def __init__(self, lower: Array, upper: Array, speed: Array) -> None:
        self._limits, n = np.array([lower, upper, speed]), len(lower)
        assert len(self._limits) == LIMITS
        self._bounds, self._work, self._factor = np.empty((2, n)), np.empty((WORK_ROWS, n)), np.empty((n, n))
        self._nearest(np.eye(n), np.zeros(n), np.zeros((2, n)))  # so that nothing is compiled when it is needed

    def nearest(
        self, metric: Callable[[], Array], wanted: Array, q: Array, qd: Array, brake: float, slow: float
    ) -> Array:
        """Return the acceleration within bounds with the least (a - wanted)^T W (a - wanted), `wanted` itself if it is.

        With the mass matrix for W that is what joints do which meet ideal stops: Gauss's principle of least constraint.
        The metric returns W (n, n), positive definite, where it is needed; `brake` and `slow` are r and s [1/s].
        """
        bounds, rates = self._bounds, np.array([APPROACH, brake, slow, BACK])
        if motion_bounds(wanted, q, qd, self._limits, rates, bounds) == DONE:
            return wanted
        return self._nearest(metric(), wanted, bounds)

    def _nearest(self, metric: Array, wanted: Array, bounds: Array) -> Array:
        found = np.empty(len(wanted))
        # Within, in any case.
        raise_if_rejected(nearest_within(metric, wanted, bounds[0], bounds[1], found, self._factor, self._work))
        return found


class SoftLimits:
    """Accelerations that keep joints from their stops.

    A joint may approach a limit at the speed k d, with d the distance left and k = `APPROACH`, or at the speed that is
    desired of it, if that is more: so the motion dies away by exp(-k t), and desired motions within the limits stay as
    they are. What is beyond this speed w is taken away by an acceleration -r w, at the rate r, which without overshoot
    is 4 k at least. Beyond the limit a joint
    is kept from going on, and not led back: whoever guides it there, or starts it there, is not surprised.

    Parameters
    ----------
    lower, upper : ndarray, shape (n,)
        [rad, m]; infinite for none.

    Attributes
    ----------
    center, usual : ndarray, shape (n,)
        Middle of the range, and half of it: where a joint is within that, it is within its limits. Half the range is
        negative, as good as no room, where there is a limit on one side only, which has to be looked at each time.
    """

    def __init__(self, lower: Array, upper: Array) -> None:
        self.lower, self.upper = lower, upper
        below, above = np.isfinite(lower), np.isfinite(upper)
        self.center = 0.5 * (np.where(below & above, lower, 0.0) + np.where(below & above, upper, 0.0))
        self.usual = np.where(below & above, upper - self.center, np.where(below | above, -1.0, np.finfo(float).max))

    def acceleration(
        self, position: Array, velocity: Array, rate: Array | float, desired: Array | None = None
    ) -> Array | None:
        """Return the braking acceleration (n,), or None where no joint needs any.

        Parameters
        ----------
        position, velocity : ndarray, shape (n,)
        rate : float or ndarray, shape (n,)
            r [1/s].
        desired : ndarray, shape (n,), optional
            Desired velocity, where a motion is followed.
        """
        # Where the joint would be after 1/k at its speed is inside: nothing to do.
        if comes_to_rest_within(position, velocity, self.center, self.usual) == 1:
            return None
        up = np.maximum(APPROACH * (self.upper - position), 0.0)
        down = np.maximum(APPROACH * (position - self.lower), 0.0)
        if desired is not None:
            up, down = np.maximum(up, desired), np.maximum(down, -desired)
        excess = np.maximum(velocity - up, 0.0) - np.maximum(-velocity - down, 0.0)
        return -rate * excess if excess.any() else None


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
