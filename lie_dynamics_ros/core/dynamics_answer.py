"""One answer of a node that computes dynamics, with all that it was computed from. No messages in here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..lie_dynamics.control.robots import Robot, inverse_dynamics
from .arrays import Array
from .robot_state import RobotState


@dataclass(frozen=True)
class DynamicsAnswer:
    """Content of ``~/dynamics_state``; arrays of shape (n,) in model order, efforts in N m or N.

    Attributes
    ----------
    position, velocity : ndarray
        The state as it was used [rad or m, and per s].
    prescribed : ndarray of bool
        Joints whose acceleration was prescribed.
    input : ndarray
        That acceleration, and the effort of the others.
    wrench_effort : ndarray
        Effort by which external wrenches, and the motion of the base, pushed the joints.
    gravity_effort : ndarray
        Effort that gravity alone takes.
    effort_before_limits : ndarray
        What follows before efforts are limited, gravity included.
    limited : bool
        Whether any effort was limited.
    acceleration, effort : ndarray
        The answer; the effort with gravity.
    """

    position: Array
    velocity: Array
    prescribed: NDArray[np.bool_]
    input: Array
    wrench_effort: Array
    gravity_effort: Array
    effort_before_limits: Array
    limited: bool
    acceleration: Array
    effort: Array


def pushes(model: Robot, state: RobotState, wrenches: Array | None) -> Array:
    """Effort (n,) by which wrenches (n_bodies, 6) and the motion of the base push the joints at a state [N m or N]."""
    effort = effort_of_wrenches(model, state.position, wrenches)
    return effort if state.push is None else effort + state.push


def effort_of_wrenches(model: Robot, position: Array, wrenches: Array | None) -> Array:
    """Effort by which wrenches on the bodies, shape (n_bodies, 6), push the joints, shape (n,) [N m or N]."""
    rest = np.zeros(model.nv)
    if wrenches is None:
        return rest
    without, with_them = (inverse_dynamics(model, position, rest, rest, f) for f in (None, wrenches))
    return without - with_them
