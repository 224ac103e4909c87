"""Way points of joints, as a trajectory gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .arrays import Array


@dataclass(frozen=True)
class JointPoints:
    """Way points of some joints.

    Attributes
    ----------
    joints : ndarray of int, shape (m,)
        Their places in model order.
    times : ndarray, shape (k,)
        Times from the start [s], rising, none negative.
    position : ndarray, shape (k, m)
        [rad or m].
    velocity, acceleration, effort : ndarray, shape (k, m), or None
        Where the points carry them; efforts are added to those of the controller.
    """

    joints: NDArray[np.intp]
    times: Array
    position: Array
    velocity: Array | None = None
    acceleration: Array | None = None
    effort: Array | None = None
