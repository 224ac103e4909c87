"""Poses from plain numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..lie_dynamics import Model
from ..lie_dynamics.lie import so3
from ..lie_dynamics.texts import quoted
from .arrays import Array, all_finite
from .errors import MessageError

QUATERNION_TOLERANCE = 1e-2
"""How far from 1 the norm of a quaternion in a message may be; it is normalised."""


def numbers_to_matrix(numbers: Sequence[float]) -> Array:
    """Convert position x, y, z [m] and quaternion x, y, z, w into a homogeneous matrix, shape (4, 4) [m].

    Raises
    ------
    MessageError
        A number is not finite, or the quaternion is not of length 1 (to 1 %, beyond which it is hardly meant as one).
    """
    values = np.array(numbers, dtype=np.float64)
    if not all_finite(values):
        raise MessageError("not finite", "a pose with numbers that are not finite")
    norm = math.sqrt(values[3:].dot(values[3:]))
    if abs(norm - 1.0) > QUATERNION_TOLERANCE:
        raise MessageError("malformed", f"a pose whose quaternion has length {norm:g} instead of 1")
    matrix = np.eye(4)
    matrix[:3, :3] = so3.from_quaternion(values[3:] / norm)
    matrix[:3, 3] = values[:3]
    return matrix


def pose_on_root(model: Model, name: str, kind: str) -> Array:
    """Return the pose (4, 4) of a link or frame of a robot in its root link, fixed or floating [m].

    Raises
    ------
    MessageError
        There is none, or it moves; counted under ``kind``.
    """
    found = model.frames.get(name)
    if found is None:
        raise MessageError(kind, f"{kind} of the frame {quoted(name)}; expected a link or frame of the robot")
    if found.body >= (1 if model.joints[0].kind == "free" else 0):
        raise MessageError(kind, f"{kind} of the frame {quoted(name)}, which moves; expected one fixed to the root")
    return found.placement
