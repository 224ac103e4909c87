"""Joint types: what a joint does, apart from where it sits.

All but the ball, free and user-defined joints are sequences of one-dof steps about fixed axes,
so `composite` makes any of them, and each step's S is constant in its own frame.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..arrays import Array, ArrayLike
from ..errors import DescriptionError
from ..lie._arrays import numbers

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Step:
    """One-dof step: rotation by ``rotation * q`` about, and translation by ``translation * q`` along, a unit axis."""

    axis: tuple[float, float, float]
    rotation: float
    translation: float


@dataclass(frozen=True)
class CustomMotion:
    """Functions of a user's joint.

    Attributes
    ----------
    transform : callable
        T(q) (4, 4), the child frame seen from the joint's frame, for q (n,).
    subspace : callable
        S(q) (6, n) = T^-1 dT/dq, angular part first, in the child frame. Kim (36).
    subspace_rate : callable
        dS/dt (6, n) for q (n,) and qd (n,).
    """

    transform: Callable[[Array], ArrayLike]
    subspace: Callable[[Array], ArrayLike]
    subspace_rate: Callable[[Array, Array], ArrayLike]


@dataclass(frozen=True)
class JointType:
    """Kind of a joint, its steps, and its numbers of position and velocity coordinates."""

    kind: str
    steps: tuple[Step, ...]
    nq: int
    nv: int
    custom: CustomMotion | None = None


def _unit(axis: ArrayLike, kind: str) -> tuple[float, float, float]:
    vector = numbers(axis)
    x, y, z = vector.tolist() if vector.shape == (3,) else (math.nan,) * 3
    norm = math.sqrt(x * x + y * y + z * z)
    if not math.isfinite(norm) or norm == 0.0:
        raise DescriptionError(
            f"{kind} joint: an axis of three finite numbers, not all zero, is expected, got {axis!r}",
            value=axis,
            expected="a nonzero 3-vector",
        )
    return x / norm, y / norm, z / norm


def _rotation(axis: ArrayLike, kind: str) -> Step:
    return Step(_unit(axis, kind), 1.0, 0.0)


def _translation(axis: ArrayLike, kind: str) -> Step:
    return Step(_unit(axis, kind), 0.0, 1.0)


def _of_steps(kind: str, *steps: Step) -> JointType:
    return JointType(kind, steps, len(steps), len(steps))


def revolute(axis: ArrayLike = Z) -> JointType:
    """Rotation [rad] about an axis."""
    return _of_steps("revolute", _rotation(axis, "revolute"))


def continuous(axis: ArrayLike = Z) -> JointType:
    """Rotation [rad] about an axis, without limits."""
    return _of_steps("continuous", _rotation(axis, "continuous"))


def prismatic(axis: ArrayLike = Z) -> JointType:
    """Translate [m] along an axis."""
    return _of_steps("prismatic", _translation(axis, "prismatic"))


def helical(axis: ArrayLike = Z, pitch: float = 0.0) -> JointType:
    """Rotation [rad] about an axis with a translation of `pitch` [m/rad] along it."""
    if not np.isfinite(pitch):
        raise DescriptionError(f"helical joint: a finite pitch is expected, got {pitch}", value=pitch)
    return _of_steps("helical", Step(_unit(axis, "helical"), 1.0, float(pitch)))


def cylindrical(axis: ArrayLike = Z) -> JointType:
    """Rotation [rad] about an axis, then translation [m] along it: q = (angle, displacement)."""
    return _of_steps("cylindrical", _rotation(axis, "cylindrical"), _translation(axis, "cylindrical"))


def universal(first: ArrayLike = X, second: ArrayLike = Y) -> JointType:
    """Rotation [rad] about an axis fixed in the parent, then about one carried by the first."""
    joint = _of_steps("universal", _rotation(first, "universal"), _rotation(second, "universal"))
    if abs(np.dot(joint.steps[0].axis, joint.steps[1].axis)) > 1.0 - 1e-12:
        raise DescriptionError(
            f"universal joint: two axes that are not parallel are expected, got {first!r}, {second!r}"
        )
    return joint


def planar(normal: ArrayLike = Z) -> JointType:
    """Motion in a plane: q = (x, y, angle), two translations in the plane [m], then a rotation about its normal [rad].

    For the normal z the translations are along x and y; otherwise along z_to_normal times x and y,
    with z_to_normal the smallest rotation that takes z to the normal.
    """
    n = _unit(normal, "planar")
    turn = rotation_from_z(n)
    return _of_steps(
        "planar", _translation(turn[:, 0], "planar"), _translation(turn[:, 1], "planar"), Step(n, 1.0, 0.0)
    )


def composite(*parts: JointType) -> JointType:
    """Join joints in sequence without bodies between them, e.g. three revolute ones for Euler angles."""
    steps = tuple(step for part in parts for step in part.steps)
    if not steps or any(part.kind in ("spherical", "free", "custom") for part in parts):
        raise DescriptionError(
            "composite joint: one or more joints made of axes are expected, no ball, free or custom one"
        )
    return _of_steps("composite", *steps)


def spherical() -> JointType:
    """Ball joint: q = unit quaternion (x, y, z, w), v = angular velocity in the child frame [rad/s]."""
    return JointType("spherical", (), 4, 3)


def free() -> JointType:
    """Six degrees of freedom: q = quaternion (x, y, z, w) and position [m], v = body twist, angular part first."""
    return JointType("free", (), 7, 6)


def fixed() -> JointType:
    """No motion: the body becomes part of its parent and its name a frame."""
    return JointType("fixed", (), 0, 0)


def custom(
    n: int,
    transform: Callable[[Array], ArrayLike],
    subspace: Callable[[Array], ArrayLike],
    subspace_rate: Callable[[Array, Array], ArrayLike],
) -> JointType:
    """User-defined joint of `n` coordinates, given by T(q), S(q) and dS/dt(q, qd); see `CustomMotion`."""
    if not 1 <= n <= 6:
        raise DescriptionError(f"custom joint: 1 to 6 coordinates are expected, got {n}", value=n)
    return JointType("custom", (), n, n, CustomMotion(transform, subspace, subspace_rate))


@lru_cache(1024)  # most axes are those of a frame
def rotation_from_z(axis: tuple[float, float, float]) -> Array:
    """Return the smallest rotation (3, 3), read only, that takes z to a unit vector; for -z half a turn about x."""
    x, y, z = axis
    across = math.hypot(x, y)
    if z >= 0.0:
        xx, xy, yy = (c / (1.0 + z) for c in (x * x, x * y, y * y))
    elif across > 0.0:  # 1 / (1 + z) = (1 - z) / across^2, which does not cancel
        a, b = x / across, y / across
        xx, xy, yy = ((1.0 - z) * c for c in (a * a, a * b, b * b))
    else:
        xx, xy, yy = 0.0, 0.0, 2.0
    turn = np.array([[1.0 - xx, -xy, x], [-xy, 1.0 - yy, y], [-x, -y, z]])
    turn.flags.writeable = False
    return turn
