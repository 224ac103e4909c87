"""Commands about the joints of a robot, in model order, and phases of nodes that command."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..lie_dynamics.arrays import Array, Mask

OFF, HOLDING, FOLLOWING, STOPPING, STOPPED = "off", "holding", "following", "stopping", "stopped"
YIELDING = "yielding"
PHASES = (OFF, HOLDING, FOLLOWING, STOPPING, STOPPED, YIELDING)
UNTIL_HOLD = (STOPPING, STOPPED, YIELDING)
"""In which nothing is followed until ~/hold is called."""


HOLD, EFFORT, ACCELERATION, POSITION = range(4)
"""Kinds of commands to a joint of a simulated robot."""


class HybridCommand(NamedTuple):
    """The input that a command has for joints; arrays of shape (n,) in model order.

    Attributes
    ----------
    named : ndarray of bool
        Joints that it names.
    prescribed : ndarray of bool
        Of these, those whose acceleration it prescribes.
    input : ndarray
        That acceleration, and the effort of the others [rad/s^2, m/s^2 or N m, N]; zero for joints not named.
    """

    named: Mask
    prescribed: Mask
    input: Array


class JointCommand(NamedTuple):
    """Commands of a simulated robot; arrays of shape (n,) in model order.

    Attributes
    ----------
    named : ndarray of bool
        Joints that it names.
    told : ndarray of int
        What each of them is given: EFFORT, ACCELERATION or POSITION.
    value : ndarray
        The effort, acceleration or position [N m, N, rad/s^2, m/s^2, rad, m].
    rate : ndarray
        The velocity that goes with a position [rad/s, m/s].
    """

    named: Mask
    told: NDArray[np.int_]
    value: Array
    rate: Array
