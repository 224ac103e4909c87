"""Core of the node inverse_dynamics: a state in, efforts out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.errors import MessageError, ParameterError
from ...core.expiring_values import ExpiringValue
from ...core.parameters import parameter
from ...core.robot_core import BRAKING_RATE, RobotCore
from ...core.robot_options import EffortParameters, RobotOptions
from ...core.robot_state import DynamicsAnswer, RobotState, pushes
from ...lie_dynamics import JointFriction, Model, gravity_force, inverse_dynamics
from ...lie_dynamics.arrays import Array, all_finite
from ...lie_dynamics.control.kernels.signals import within


@dataclass(frozen=True)
class InverseDynamicsOptions(EffortParameters, RobotOptions):
    """Parameters of the core."""

    gravity_only: bool = parameter(
        False, "Answer with the efforts that hold the robot against gravity, and nothing else."
    )
    acceleration_timeout: float = parameter(
        0.5, "Desired accelerations older than this count as zero [s]. 0: no limit.", high=3600.0
    )

    def check(self) -> None:
        """Check values against each other; raises ParameterError."""
        super().check()
        if self.gravity_only and self.driver_compensates_gravity:
            raise ParameterError("gravity_only and driver_compensates_gravity together would leave nothing to publish")


@dataclass(eq=False, slots=True)
class EffortAnswer:
    """The answer to one state; arrays of shape (n,) in model order [N m or N]."""

    state: RobotState
    acceleration: Array  # whose efforts these are [rad/s^2 or m/s^2]
    effort: Array  # what is published
    gravity: Array | None  # efforts against gravity alone, where they were needed on the way
    friction: Array | None = None  # efforts against friction of the drives


class InverseDynamicsCore(RobotCore):
    """Inverse dynamics of one robot; see `RobotCore`.

    Attributes
    ----------
    desired : ExpiringValue
        The acceleration last received, shape (n,) in model order [rad/s^2 or m/s^2], and the velocity that came with
        it [rad/s or m/s], or None.
    """

    options: InverseDynamicsOptions

    def __init__(self, model: Model, options: InverseDynamicsOptions, friction: JointFriction | None = None) -> None:
        super().__init__(model, friction)
        self.desired: ExpiringValue[tuple[Array, Array | None]] = ExpiringValue()
        self._weightless = model
        self.set_options(options)

    def set_options(self, options: InverseDynamicsOptions) -> None:
        """Apply options; also runs all that is needed once, so that nothing is compiled while states come in."""
        super().set_options(options)
        self._weightless = self.dynamics.with_gravity((0.0, 0.0, 0.0))
        for wrenches in (None, np.zeros((self.model.n_bodies, 6))):
            inverse_dynamics(self.dynamics, self.zero, self.zero, self.zero, wrenches)
        self.gravity_efforts(self.zero)
        within(self.zero, self.limit)

    def forget(self) -> None:
        """Forget the desired accelerations, because their age is no longer known."""
        self.desired.clear()

    def gravity_efforts(self, position: Array) -> Array:
        """Efforts that hold the robot at rest at a position (n,), shape (n,) [N m or N]."""
        return gravity_force(self.dynamics, position)

    def answer(self, state: RobotState) -> EffortAnswer:
        """Return the efforts for a state, limited where that is requested; raises MessageError unless finite."""
        options, self._state = self.options, state
        acceleration, velocity = self.desired.at(state.arrival, options.acceleration_timeout) or (self.zero, None)
        if self.braking:
            acceleration, velocity = -BRAKING_RATE * state.velocity, None
        rub: Array | None = None
        gravity: Array | None = None
        if options.gravity_only and not self.braking:
            effort = gravity = self.gravity_efforts(state.position)
        else:
            model = self._weightless if options.driver_compensates_gravity else self.dynamics
            effort = inverse_dynamics(model, state.position, state.velocity, acceleration, state.wrenches)
            if state.push is not None:
                effort = effort - state.push
            if self.friction is not None:
                if options.driver_compensates_gravity:
                    gravity = self.gravity_efforts(state.position)
                load = effort if gravity is None else effort + gravity
                rub = self.friction.force(state.velocity if velocity is None else velocity, load)
                effort = effort + rub
        if within(effort, self.limit) != 1 or (options.driver_compensates_gravity and options.saturate_efforts):
            effort, gravity = self._limited(effort, state.position, gravity)
        return EffortAnswer(state, acceleration, effort, gravity, rub)

    def last_command(self) -> Array | None:
        """Return gravity compensation at the last state, zero where the driver adds it."""
        self.start()
        return self.effort_at_rest()

    def explain(self, answer: EffortAnswer) -> DynamicsAnswer:
        """Tell what an answer was computed from."""
        options, position = self.options, answer.state.position
        state, velocity, acceleration = answer.state, answer.state.velocity, answer.acceleration
        if options.gravity_only:
            velocity, acceleration = self.zero, self.zero
            state = replace(state, wrenches=None, push=None)
        pushed = pushes(self.dynamics, state, state.wrenches)
        gravity = self.gravity_efforts(position)
        before = inverse_dynamics(self.dynamics, position, velocity, acceleration) - pushed
        if answer.friction is not None:
            before = before + answer.friction
        return DynamicsAnswer(
            position=position,
            velocity=velocity,
            prescribed=np.ones(len(position), dtype=bool),
            input=acceleration,
            wrench_effort=pushed,
            gravity_effort=gravity,
            effort_before_limits=before,
            limited=options.saturate_efforts and bool((np.abs(before) > self.limit).any()),
            acceleration=acceleration,
            effort=answer.effort + gravity if options.driver_compensates_gravity else answer.effort,
        )

    def _limited(self, efforts: Array, position: Array, gravity: Array | None) -> tuple[Array, Array | None]:
        """Refuse efforts that are not finite; limit the sum of the others and of what the driver adds to them."""
        if not all_finite(efforts):
            raise MessageError("not finite", "the state leads to efforts that are not finite")
        if not self.options.saturate_efforts:
            return efforts, gravity
        total = efforts
        if self.options.driver_compensates_gravity:
            gravity = self.gravity_efforts(position)
            total = efforts + gravity
        over = np.abs(total) > self.limit
        if over.any():
            self.saturated[over] = True
            limited = np.clip(total, -self.limit, self.limit)
            efforts = np.where(over, limited if total is efforts else limited - gravity, efforts)
        return efforts, gravity
