"""Frames of a robot: names in messages, poses of plain numbers and of links, and the link that carries the tool."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..lie_dynamics import Model
from ..lie_dynamics.arrays import Array, all_finite
from ..lie_dynamics.lie import so3
from ..lie_dynamics.texts import quoted
from .errors import MessageError, ParameterError

LINK_SHARE = 0.005
"""Least part of the robot's mass of a link that carries a payload: fingers do not; of UR5's last link it is 0.011."""


def last_link(model: Model) -> int:
    """Return the last body of the longest chain, light ones like fingers left out."""
    depth: list[int] = []
    for body in range(model.n_bodies):
        parent = model.frame(model.joints[body].parent_body).body
        depth.append(1 + (depth[parent] if 0 <= parent < body else 0))
    mass = np.array([model.inertia(body).mass for body in range(model.n_bodies)])
    return int(np.argmax(np.where(mass >= LINK_SHARE * mass.sum(), depth, 0)))


QUATERNION_TOLERANCE = 1e-2
"""Largest deviation of a quaternion's norm from 1 in a message; it is normalised."""


def numbers_to_matrix(numbers: Sequence[float]) -> Array:
    """Convert position x, y, z [m] and quaternion x, y, z, w into a homogeneous matrix, shape (4, 4) [m].

    Raises MessageError for numbers that are not finite, or a quaternion whose length is not 1, to 1 %.
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

    Raises MessageError, counted under ``kind``, where there is none, or it moves.
    """
    found = model.frames.get(name)
    if found is None:
        raise MessageError(kind, f"{kind} of the frame {quoted(name)}; expected a link or frame of the robot")
    if found.body >= (1 if model.joints[0].kind == "free" else 0):
        raise MessageError(kind, f"{kind} of the frame {quoted(name)}, which moves; expected one fixed to the root")
    return found.placement


FRAMES = "frames"
"""Kind of message, under which those that name a frame of another robot are counted."""


def link_of(frame: str, prefix: str) -> str:
    """Return the link that a frame of a message stands for; empty for none. A slash before it counts as none.

    Raises MessageError where it does not begin with the prefix of this robot's frames.
    """
    frame = frame.removeprefix("/")
    if frame and not frame.startswith(prefix):
        raise MessageError(FRAMES, f"the frame {quoted(frame)}; expected one that begins with {quoted(prefix)}")
    return frame.removeprefix(prefix)


def check_prefix(prefix: str) -> None:
    """Raise ParameterError for a ``frame_prefix`` that no frame may begin with."""
    if prefix.startswith("/"):
        raise ParameterError(f"frame_prefix is {quoted(prefix)}; expected none with a leading slash")
