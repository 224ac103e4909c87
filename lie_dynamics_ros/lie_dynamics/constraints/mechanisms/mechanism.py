"""What a ready-made mechanism consists of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...lie import SpatialInertia
from ...model.model import Model
from ..constraint_set import ConstraintSet

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A tree with the constraints that close it.

    Attributes
    ----------
    model : Model
        The tree that is left when the loops are cut.
    constraints : ConstraintSet
        What closes them.
    q : ndarray, shape (nq,)
        A configuration that satisfies the constraints.
    actuated : tuple of str
        The joints that usually have a motor.
    """

    model: Model
    constraints: ConstraintSet
    q: Array
    actuated: tuple[str, ...]


def rod(length: float, mass: float, axis: int = 0, start: float = 0.0) -> SpatialInertia:
    """Return the inertia of a slender rod along an axis of its frame, from `start` to `start + length`."""
    along = np.eye(3)[axis]
    square = mass * length * length / 12.0
    return SpatialInertia(mass, (start + 0.5 * length) * along, square * (np.eye(3) - np.outer(along, along)))


def shifted(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Array:
    """Return the pose (4, 4) of a frame at (x, y, z), not turned."""
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def placed(rotation: npt.ArrayLike, origin: npt.ArrayLike) -> Array:
    """Return the pose (4, 4) of a rotation and an origin."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation, origin
    return T
