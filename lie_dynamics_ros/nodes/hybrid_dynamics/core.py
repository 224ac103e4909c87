"""Core of the node hybrid_dynamics: a state in, all accelerations and efforts out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.commands import HybridCommand
from ...core.errors import MessageError
from ...core.expiring_values import ExpiringValue
from ...core.parameters import parameter
from ...core.robot_core import RobotCore
from ...core.robot_options import RobotOptions
from ...core.robot_state import DynamicsAnswer, RobotState, pushes
from ...lie_dynamics import JointFriction, Model, gravity_force, hybrid_dynamics
from ...lie_dynamics.arrays import Array, all_finite
from ...lie_dynamics.control.kernels.signals import within

UNNAMED = ("zero_effort", "measured_effort", "zero_acceleration")


@dataclass(frozen=True)
class HybridDynamicsOptions(RobotOptions):
    """Parameters of the core."""

    unnamed_joints: str = parameter(
        UNNAMED[0],
        "The input of joints that the command does not name, and of all without a command: no effort, the effort in "
        "the joint states, or no acceleration.",
        choices=UNNAMED,
    )
    saturate_efforts: bool = parameter(
        True, "Limit efforts to the effort limits of the URDF; accelerations are those of the limited efforts."
    )
    free_base: bool = parameter(
        False,
        "With base_motion odometry: only external wrenches push the root link, whose acceleration is answered; "
        "otherwise its acceleration is given, and the wrench is answered.",
    )
    command_timeout: float = parameter(0.5, "Commands older than this count as none [s]. 0: no limit.", high=3600.0)


@dataclass(eq=False, slots=True)
class HybridAnswer:
    """The answer to one state; arrays of shape (n,) in model order [rad/s^2 or m/s^2, N m or N]."""

    state: RobotState
    prescribed: NDArray[np.bool_]  # joints whose acceleration was prescribed
    input: Array  # that acceleration, and the effort of the others
    acceleration: Array  # as the efforts cause it, limited ones too
    effort: Array
    base_acceleration: Array | None = None  # rate of the twist of a root link that floats, (6,), angular first


class HybridDynamicsCore(RobotCore):
    """Hybrid dynamics of one robot, by the `HybridCommand` last received; see `RobotCore`."""

    options: HybridDynamicsOptions

    def __init__(self, model: Model, options: HybridDynamicsOptions, friction: JointFriction | None = None) -> None:
        super().__init__(model, friction)
        n = len(model.joint_names)
        self.command: ExpiringValue[HybridCommand] = ExpiringValue()
        self._all: NDArray[np.bool_] = np.ones(n, dtype=bool)
        self._none: NDArray[np.bool_] = np.zeros(n, dtype=bool)
        self._any = np.full(n, np.finfo(float).max)
        self.set_options(options)

    @property
    def uses_effort(self) -> bool:
        """Whether states need measured efforts."""
        return self.options.unnamed_joints == "measured_effort"

    def set_options(self, options: HybridDynamicsOptions) -> None:
        """Apply options; also runs all that is needed once, so that nothing is compiled while states come in."""
        super().set_options(options)
        # All accelerations prescribed: that has an answer for every robot.
        for wrenches in (None, np.zeros((self.model.n_bodies, 6))):
            hybrid_dynamics(self.dynamics, self.zero, self.zero, self.zero, self.zero, self._all, wrenches)
        within(self.zero, self.limit)

    def forget(self) -> None:
        """Forget the command, because its age is no longer known."""
        self.command.clear()

    def answer(self, state: RobotState) -> HybridAnswer:
        """Return accelerations and efforts for a state.

        Raises MessageError where they are not finite, LieDynamicsError where a body without mass is free to move.
        """
        self._state = state
        prescribed, input_ = self._complete(state)
        return HybridAnswer(state, prescribed, input_, *self._within_limits(state, input_, prescribed))

    def last_command(self) -> Array | None:
        """Return what holds joints at rest whose accelerations were prescribed; the others keep their efforts."""
        state = self._state
        if state is None:
            return None
        command = self.command.at(state.arrival, self.options.command_timeout)
        if command is not None:
            self.command.put(command._replace(input=np.where(command.prescribed, 0.0, command.input)), state.arrival)
        return self.effort_at_rest()

    def explain(self, answer: HybridAnswer) -> DynamicsAnswer:
        """Tell what an answer was computed from."""
        model, state, input_ = self.dynamics, answer.state, answer.input
        _, before, _ = self._solve(state, input_, input_, answer.prescribed)
        return DynamicsAnswer(
            position=state.position,
            velocity=state.velocity,
            prescribed=answer.prescribed,
            input=input_,
            wrench_effort=pushes(model, state, state.wrenches),
            gravity_effort=gravity_force(model, state.position),
            effort_before_limits=before,
            limited=self.options.saturate_efforts and bool((np.abs(before) > self.limit).any()),
            acceleration=answer.acceleration,
            effort=answer.effort,
        )

    def _complete(self, state: RobotState) -> tuple[NDArray[np.bool_], Array]:
        """Return which accelerations are prescribed, and the input, also of the joints that are not named."""
        unnamed = self.options.unnamed_joints
        command = self.command.at(state.arrival, self.options.command_timeout)
        measured = self.zero if state.effort is None else state.effort
        if command is None:
            if unnamed == "zero_acceleration":
                return self._all, self.zero
            return self._none, measured if unnamed == "measured_effort" else self.zero
        if unnamed == "zero_acceleration":
            return command.prescribed | ~command.named, command.input
        if unnamed == "zero_effort":
            return command.prescribed, command.input
        return command.prescribed, np.where(command.named, command.input, measured)

    def _solve(
        self, state: RobotState, acceleration: Array, effort: Array, prescribed: NDArray[np.bool_]
    ) -> tuple[Array, Array, Array | None]:
        """Return all accelerations and efforts of drives, of which one is given for each; then that of the base."""
        velocity, given = state.velocity, self.body_effort(state.velocity, effort)
        root: Array | None = None
        if self.options.free_base and self.base is not None and state.base is not None:
            root, accelerations, efforts = self.base.released(state, acceleration, given, prescribed, self.root_gravity)
        else:
            push = self.zero if state.push is None else state.push
            accelerations, efforts = hybrid_dynamics(
                self.dynamics, state.position, velocity, acceleration, given + push, prescribed, state.wrenches
            )
            efforts = efforts - push
            if self.base is not None and self.base.floating and state.base is not None:
                root = state.base.acceleration[:6]
        if self.friction is not None:
            efforts = np.where(prescribed, self.drive_effort(velocity, efforts), effort)
        return accelerations, efforts, root

    def _within_limits(
        self, state: RobotState, input_: Array, prescribed: NDArray[np.bool_]
    ) -> tuple[Array, Array, Array | None]:
        saturate, effort = self.options.saturate_efforts, input_
        # Each round gives at least one joint its limit for an effort, so there are at most as many as joints.
        while True:
            accelerations, efforts, root = self._solve(state, input_, effort, prescribed)
            if within(accelerations, self._any) != 1:
                raise MessageError("not finite", "the state leads to accelerations that are not finite")
            if within(efforts, self.limit) == 1:
                return accelerations, efforts, root
            if not all_finite(efforts):
                raise MessageError("not finite", "the state leads to efforts that are not finite")
            if not saturate:
                return accelerations, efforts, root
            over = np.abs(efforts) > self.limit
            self.saturated[over] = True
            effort = np.where(over, np.clip(efforts, -self.limit, self.limit), effort)
            prescribed = prescribed & ~over
