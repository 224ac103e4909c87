"""Base of what nodes compute for one robot: a state in, an answer out. No messages in here."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lie_dynamics import JointFriction, LieDynamicsError, Model
from ..lie_dynamics.arrays import Array, Mask
from .errors import ConfigurationError, MessageError
from .moving_base import MovingBase
from .robot_options import RobotOptions
from .robot_state import RobotState

if TYPE_CHECKING:
    from typing_extensions import Self


RESTING_SPEED = 0.01
"""Below it a robot is at rest, when its node ends [rad/s, m/s]."""
BRAKING_RATE = 8.0
"""Rate at which velocities die away that a node brakes which has no law of its own for that [1/s]."""


class SituatedRobot:
    """A robot's model with its options, under gravity as it points now, on a base that may move.

    Attributes
    ----------
    options : RobotOptions
    dynamics : Model
        The model with all that the options include.
    measured_gravity : ndarray, shape (3,), or None
        Gravity as it was measured last, if it was, in the axes of the root link [m/s^2].
    base : MovingBase or None
        What carries the robot, where that moves.
    root_gravity : ndarray, shape (3,)
        Gravity at the last state in the axes of a root link that floats [m/s^2].
    """

    options: RobotOptions
    dynamics: Model

    def __init__(self, model: Model) -> None:
        self.model = model
        self.measured_gravity: Array | None = None
        self._turned: Array | None = None  # gravity in the axes of the model, where it is another than that of options
        self.base: MovingBase | None = None
        self.root_gravity = np.zeros(3)

    def set_options(self, options: Any) -> None:
        """Apply options; raises ParameterError where the robot cannot have them. Changes no array in place."""
        self.dynamics = self.applied(options)
        self.options = options

    def applied(self, options: Any) -> Model:
        """Return the model with all that options include, under gravity as it points now; the base gets them too."""
        model: Model = options.apply(self.model)
        if self.base is not None:
            self.base = self.base.with_options(options, model)
        return model if self._turned is None else model.with_gravity(self._turned)

    def mount_on(self, base: MovingBase) -> None:
        """Let a base carry the robot from now on, with the motion in the states."""
        self.base = base.with_options(self.options, self.dynamics)

    def measure_gravity(self, gravity: Array) -> None:
        """Go on under another gravity (3,), in the axes of the root link, which was measured [m/s^2]."""
        self.measured_gravity = gravity
        if self.base is None:
            self.turn_gravity(gravity)

    def turn_gravity(self, gravity: Array) -> None:
        """Go on under another gravity (3,), in the world axes of the model [m/s^2]."""
        self._turned = gravity
        self.dynamics = self.dynamics.with_gravity(gravity)

    def update_base(self, state: RobotState) -> None:
        """Turn gravity as the base has turned at a state, and fill in how its motion pushes the joints."""
        base, measured = self.base, self.measured_gravity
        if base is None or state.base is None:
            return
        given = np.array(self.options.gravity) if measured is None else measured
        gravity, self.root_gravity = base.gravity_on(state, given, measured is not None)
        if not np.array_equal(gravity, self.dynamics.gravity):
            self.turn_gravity(gravity)
        state.push = base.push(state)

    @property
    def root_link(self) -> str:
        """Name of a root link that floats; empty for others."""
        return self.base.whole.body_names[0] if self.base is not None and self.base.floating else ""

    def base_wrench(self, state: RobotState, acceleration: Array) -> Array | None:
        """Return the wrench (6,) that must push a root link that floats, see `MovingBase.wrench`; None for others."""
        if self.base is None or state.base is None or not self.base.floating:
            return None
        return self.base.wrench(state, acceleration, self.root_gravity)

    def with_options(self, options: Any) -> Self:
        """Return a core for the same robot that goes on with other options, as ready as this one.

        Raises whatever stands against them, and leaves this one as it was.
        """
        other = copy.copy(self)
        other.set_options(options)
        return other


class RobotCore(SituatedRobot, ABC):
    """Answers the states of one robot; all arrays are in model order.

    What it keeps from one state to the next has a name here or in the subclass; nothing else outlasts an answer. An
    effort limit of zero counts as none: exporters write it where no limit was entered.

    Parameters
    ----------
    model : Model
        Every joint must have one coordinate, because a JointState has one position per joint, unless `SCALAR` is False.
    friction : JointFriction, optional
        Of its drives, besides the losses that the options include.

    Raises
    ------
    ConfigurationError
        Such a robot cannot be used.

    Attributes
    ----------
    limit : ndarray, shape (n,)
        Effort limits; the largest float for none [N m or N].
    acceleration : ndarray, shape (n,)
        That the robot is made to have until the next state, by what is known here [rad/s^2 or m/s^2].
    saturated : ndarray of bool, shape (n,)
        Joints whose efforts were limited since `take_saturated` was called.
    braking : bool
        Whether the robot is to be brought to rest, because the node ends.
    """

    SCALAR = True
    """Whether every joint must have one coordinate."""

    def __init__(self, model: Model, friction: JointFriction | None = None) -> None:
        if self.SCALAR:
            check_coordinates(model)
        super().__init__(model)
        self.friction = friction
        n = model.nv
        self.zero = self.acceleration = np.zeros(n)
        # Without a limit the largest float: infinity and NaN lie outside of it as well.
        limited = (model.limits.effort > 0.0) & np.isfinite(model.limits.effort)
        self.limit = np.where(limited, model.limits.effort, np.finfo(float).max)
        self.saturated: Mask = np.zeros(n, dtype=bool)
        self.braking = False
        self._state: RobotState | None = None  # the last that was answered

    @property
    def uses_effort(self) -> bool:
        """Whether states need measured efforts."""
        return False

    @property
    def needs_effort(self) -> bool:
        """Whether states without them are refused."""
        return False

    def drive_effort(self, rate: Array, effort: Array) -> Array:
        """Return what drives exert at rates (..., n) so that the bodies get an effort (..., n) [N m or N]."""
        return effort if self.friction is None else effort + self.friction.force(rate, effort)

    def body_effort(self, rate: Array, effort: Array) -> Array:
        """Return what the bodies get of the drives' effort (..., n) at rates (..., n) [N m or N]."""
        return effort if self.friction is None else self.friction.transmitted(effort, rate)

    @abstractmethod
    def answer(self, state: RobotState) -> Any:
        """Return the answer to a state; raises MessageError or LieDynamicsError where there is none."""

    def start(self) -> None:
        """Begin afresh, before the first of some states."""
        self.braking = False
        self.forget()

    def brake(self, reason: str) -> None:
        """Bring the robot to rest by the efforts of the states to come."""
        self.braking = True

    @property
    def at_rest(self) -> bool:
        """Whether the robot moved so slowly in the last state that it may be left to a constant effort."""
        return self._state is None or float(np.abs(self._state.velocity).max(initial=0.0)) < RESTING_SPEED

    def last_command(self) -> Array | None:
        """Return the effort that holds the robot at rest at the last state; None where there is none.

        Zero where the driver compensates gravity. It is a constant: the robot falls once something moves it.
        """
        return None

    def effort_at_rest(self) -> Array | None:
        """Return the effort that answers the last state, were it at rest and not pushed; None where there is none."""
        if self._state is None:
            return None
        try:
            effort: Array = self.answer(replace(self._state, velocity=self.zero, wrenches=None, push=None)).effort
        except (MessageError, LieDynamicsError):
            return None
        return effort

    @abstractmethod
    def forget(self) -> None:
        """Forget what was received besides states, because its age is no longer known."""

    def take_saturated(self) -> tuple[str, ...]:
        """Return the joints whose efforts were limited since the last call."""
        names = tuple(np.array(self.model.joint_names)[self.saturated])
        self.saturated[:] = False
        return names


def check_coordinates(model: Model) -> None:
    """Raise ConfigurationError where a JointState cannot hold the robot's coordinates."""
    if not model.joint_names:
        raise ConfigurationError("the robot has no joint that moves")
    for name in model.joint_names:
        joint = model.joint(name)
        if joint.q_slice.stop - joint.q_slice.start != 1:
            floats = "; a base that odometry moves is base_link, with base_motion odometry"
            raise ConfigurationError(
                f"joint {name!r} is of kind {joint.kind!r}; a JointState holds one position per joint, "
                f"so only joints with one coordinate can be used{floats if joint.kind == 'free' else ''}"
            )
