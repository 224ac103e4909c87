"""Commands about the joints of a robot, in model order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import Array


class HybridCommand(NamedTuple):
    """What a command says about joints; arrays of shape (n,) in model order.

    Attributes
    ----------
    named : ndarray of bool
        Joints that it names.
    prescribed : ndarray of bool
        Of these, those whose acceleration it gives; the effort of the others.
    values : ndarray
        What it gives [rad/s^2, m/s^2 or N m, N]; zero for joints that it does not name.
    """

    named: NDArray[np.bool_]
    prescribed: NDArray[np.bool_]
    values: Array


class JointCommand(NamedTuple):
    """What a simulated robot is told; arrays of shape (n,) in model order.

    Attributes
    ----------
    named : ndarray of bool
        Joints that it names.
    told : ndarray of int
        What each of them is told: effort, acceleration or position, by number.
    value : ndarray
        The effort, acceleration or position [N m, N, rad/s^2, m/s^2, rad, m].
    rate : ndarray
        The velocity that goes with a position [rad/s, m/s].
    """

    named: NDArray[np.bool_]
    told: NDArray[np.int_]
    value: Array
    rate: Array
