"""One state of a robot and of what carries it, and the answer of a node that computes dynamics. No messages in here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..lie_dynamics.arrays import Array, Mask
from ..lie_dynamics.control.robots import Robot, inverse_dynamics


@dataclass(eq=False, slots=True)
class BaseState:
    """Motion of the base at a state, in the leading coordinates of `MovingBase.whole`.

    Attributes
    ----------
    position : ndarray, shape (k_q,)
        Of a floating root link quaternion x, y, z, w and position; then of the joints that carry [m, rad or m].
    velocity, acceleration : ndarray, shape (k_v,)
        Of a floating root link its twist in its own frame, angular first, and the rate of these components; then of
        the joints that carry [rad/s, m/s, and per s].
    wrenches : ndarray, shape (n_bodies of whole, 6), or None
        Wrench that the environment exerts on each body, the base included, in its frame [N m, N]; None for none.
    """

    position: Array
    velocity: Array
    acceleration: Array
    wrenches: Array | None = None


@dataclass(eq=False, slots=True)
class RobotState:
    """One state of a robot in model order, and what else is known of that moment.

    Attributes
    ----------
    stamp : int
        Time of the state [ns]; that of its arrival where it has none.
    position, velocity : ndarray, shape (n,)
        [rad or m, and per s]; not changed by whoever gets them. Positions of joints without end go on where a driver
        wraps, see `Unwinding`.
    wrenches : ndarray, shape (n_bodies, 6), or None
        Wrench that the environment exerts on each body, in its frame [N m, N]; None where there is none.
    age : float
        How old the state was when it arrived [s]; 0 where that is not known.
    arrival : int
        When it arrived, by the clock that stamps are held against [ns].
    effort : ndarray, shape (n,), or None
        Measured efforts [N m or N]; None where they were not requested.
    filter_time : float
        Time constant of the `VelocityFilter` that velocities come from [s]; 0 where they are measured.
    base : BaseState, or None
        How what carries the robot moves; None where it rests.
    push : ndarray, shape (n,), or None
        Effort by which that motion pushes the joints, besides gravity [N m or N]; None for none.
    """

    stamp: int
    position: Array
    velocity: Array
    wrenches: Array | None = None
    age: float = 0.0
    arrival: int = 0
    effort: Array | None = None
    filter_time: float = 0.0
    base: BaseState | None = None
    push: Array | None = None


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
    prescribed: Mask
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
