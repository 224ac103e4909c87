"""Core of the node closed_loop: measured joints in; all joints, and the efforts of the motors, out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...core.commands import HybridCommand
from ...core.errors import KINDS, PUBLISH, WITHHOLD, ConfigurationError, MessageError, RequestError
from ...core.expiring_values import ExpiringValue
from ...core.mechanism import MechanismFollower, TrackedMechanism, single_joints
from ...core.parameters import parameter
from ...core.robot_core import BRAKING_RATE, RESTING_SPEED, RobotCore
from ...core.robot_options import RobotOptions
from ...core.robot_state import RobotState
from ...lie_dynamics import (
    JointFriction,
    LieDynamicsError,
    Model,
    constrained_hybrid_dynamics,
    constrained_inverse_dynamics,
    platform_wrench,
)
from ...lie_dynamics.arrays import Array, all_finite
from ...lie_dynamics.constraints.tracking.result import TrackedState
from ...lie_dynamics.constraints.travel import Ways
from ...lie_dynamics.tracking import TrackingStatus

# Parameters, besides those of all robots.

RESOLUTIONS = ("least_torque", "least_constraint_force")


@dataclass(frozen=True)
class ClosedLoopOptions(RobotOptions):
    """Parameters of the core."""

    when_ambiguous: str = parameter(
        PUBLISH,
        "What becomes of a state whose status is AMBIGUOUS: published as any other, flagged on ~/status, or nothing.",
        choices=(WITHHOLD, PUBLISH),
    )
    resolution: str = parameter(
        RESOLUTIONS[0],
        "What is smallest where there are more motors than freedoms: the squares of their efforts, or of what loops "
        "transmit.",
        choices=RESOLUTIONS,
    )
    saturate_efforts: bool = parameter(
        True, "Limit efforts to the effort limits of the URDF; accelerations are those of the limited efforts."
    )
    command_timeout: float = parameter(0.5, "Commands older than this count as none [s]. 0: no limit.", high=3600.0)

    def withhold(self, tracked: TrackedState) -> bool:
        """Return whether a configuration is not to be published."""
        if not tracked.valid:
            return True
        return self.when_ambiguous == WITHHOLD and tracked.status is TrackingStatus.AMBIGUOUS


@dataclass(eq=False, slots=True)
class LoopAnswer:
    """The answer to one state."""

    state: RobotState  # of the measured joints
    tracked: TrackedState  # what became of it
    refusal: MessageError | None  # why nothing is to be published; None where it is
    rates: Array  # of all coordinates, shape (nv,) [rad/s, m/s]
    acceleration: Array | None = None  # of all coordinates, as commands and efforts make it, (nv,)
    effort: Array | None = None  # of the motors [N m or N]; None, as the acceleration, where there is a problem
    problem: MessageError | None = None  # why there are no efforts, or no wrench
    wrench: Array | None = None  # from measured efforts, at the platform in its axes, shape (6,) [N m, N]


class WrenchEstimate:
    """Components of a wrench at the platform, estimated from measured efforts of motors.

    Raises ConfigurationError or LieDynamicsError where they cannot be estimated from these.
    """

    def __init__(
        self, model: Model, mechanism: TrackedMechanism, platform: str, components: tuple[str, ...]
    ) -> None:
        self._model, self._mechanism, self._platform, self._components = model, mechanism, platform, components
        measured, motors = mechanism.measured, mechanism.motors
        unknown = [name for name in motors if name not in measured]
        if unknown or not platform:
            lack = f"motors {', '.join(unknown)} are not among measured_joints" if unknown else "no platform_frame"
            raise ConfigurationError(f"estimated_wrench: {lack}")
        self._sensors = np.array([measured.index(name) for name in motors], dtype=np.intp)
        self.at(mechanism.start, np.zeros(len(measured)), np.zeros(len(motors)))

    def at(self, q: Array, measured: Array, expected: Array) -> Array:
        """Return the wrench (6,) at a configuration from efforts of measured joints, and of the motors by the model."""
        motors, constraints = self._mechanism.motors, self._mechanism.constraints
        beyond = measured[self._sensors] - expected
        found = platform_wrench(
            self._model, constraints, q, beyond, motors, self._platform, components=self._components
        )
        return found.wrench


class ClosedLoopCore(RobotCore):
    """Follows one closed mechanism and answers for its motors; see `RobotCore`.

    Attributes
    ----------
    mechanism : TrackedMechanism
    follower : MechanismFollower
        Follows it from state to state.
    joints : tuple of str
        All joints of one coordinate.
    positions, places : ndarray of int
        Where they stand in q and among rates.
    command : ExpiringValue
        The `HybridCommand` last received, of the motors.
    """

    SCALAR = False
    options: ClosedLoopOptions

    def __init__(
        self,
        model: Model,
        options: ClosedLoopOptions,
        friction: JointFriction | None,
        mechanism: TrackedMechanism,
        platform: str = "",
        components: tuple[str, ...] = (),
    ) -> None:
        super().__init__(model, friction)
        self.mechanism = mechanism
        self._platform = platform
        self._wrench = WrenchEstimate(model, mechanism, platform, components) if components else None
        self.acceleration = np.zeros(len(mechanism.measured))
        self.joints = single_joints(model)
        joints = [model.joint(name) for name in self.joints]
        self.positions = np.array([joint.q_slice.start for joint in joints], dtype=np.intp)
        self.places = np.array([joint.v_slice.start for joint in joints], dtype=np.intp)
        self._motors = np.array([model.joint(name).v_slice.start for name in mechanism.motors], dtype=np.intp)
        self.command: ExpiringValue[HybridCommand] = ExpiringValue()
        self._last: LoopAnswer | None = None
        self.follower = MechanismFollower(model, mechanism)
        self.set_options(options)
        self._check_motors()
        self.forget()

    def _check_motors(self) -> None:
        """Answer once, so that nothing is compiled while states come in; raises where the motors hold nothing."""
        y = self.mechanism.start[self.follower.places]
        count = len(self.mechanism.motors)
        none = np.zeros(count, dtype=bool)
        for prescribed in (~none, none):
            named = HybridCommand(~none, prescribed, np.zeros(count))
            for wrenches in (None, np.zeros((self.model.n_bodies, 6))):
                answer = self._answer(RobotState(0, y, np.zeros(len(y)), wrenches), named)
            if self._platform and answer.tracked.valid and not answer.tracked.told(self._platform):
                lost = "; ".join(str(one) for one in self.follower.idle)
                raise ConfigurationError(f"platform_frame {self._platform} is not fixed by measured joints ({lost})")
            if prescribed.all() and answer.problem is not None:
                raise ConfigurationError(f"motors {', '.join(self.mechanism.motors)}: {answer.problem}")
        self.follower.time_to_singularity(1.0)
        self.take_saturated()

    @property
    def uses_effort(self) -> bool:
        """Whether states need measured efforts: where a wrench is estimated from them."""
        return self._wrench is not None

    needs_effort = uses_effort

    # Following.

    def forget(self) -> None:
        """Forget where the mechanism is, and commands: the next state is followed from the start."""
        self.follower.forget()
        self.command.clear()
        self._last = None

    def travel(self, frame: str) -> Ways:
        """Return the ways that a frame has from the last configuration; see `constrained_travel_left`.

        Raises RequestError where no configuration is known, or no frame.
        """
        last = self.follower.last
        if not frame or last is None or not last.valid:
            raise RequestError("platform_frame is not given" if not frame else "no state has been followed yet")
        return Ways(self.model, self.mechanism.constraints, last.q, self.mechanism.motors, frame)

    # Answering.

    def answer(self, state: RobotState) -> LoopAnswer:
        """Go to the configuration for a state, and return what the motors are to exert there.

        Raises MessageError where rates are so large that those of other joints are not finite.
        """
        self._last = self._answer(state, self.command.at(state.arrival, self.options.command_timeout))
        return self._last

    @property
    def at_rest(self) -> bool:
        """Whether the motors moved so slowly in the last state that they may be left to constant efforts."""
        last = self._last
        return last is None or float(np.abs(last.rates[self._motors]).max(initial=0.0)) < RESTING_SPEED

    def last_command(self) -> Array | None:
        """Return the efforts of the motors that hold the mechanism at rest at the last state."""
        last = self._last
        if last is None or last.refusal is not None:
            return None
        rest = replace(last, state=replace(last.state, wrenches=None), rates=np.zeros(self.dynamics.nv))
        try:
            return self._within_limits(rest, None, braking=False)[1]
        except (MessageError, LieDynamicsError):
            return None

    def _answer(self, state: RobotState, command: HybridCommand | None) -> LoopAnswer:
        tracked = self.follower.follow(state)
        if self.options.withhold(tracked):
            return LoopAnswer(state, tracked, MessageError(KINDS[tracked.status], tracked.message), self.zero)
        rates = tracked.rates(state.velocity)
        if not all_finite(rates):
            raise MessageError("not finite", "the state leads to rates that are not finite")
        answer = LoopAnswer(state, tracked, None, rates)
        try:
            answer.acceleration, answer.effort = self._within_limits(answer, command, self.braking)
            if self._wrench is not None and state.effort is not None:
                answer.wrench = self._wrench.at(tracked.q, state.effort, answer.effort)
        except MessageError as problem:
            answer.problem = problem
        except LieDynamicsError as error:
            answer.problem = MessageError("no efforts" if answer.effort is None else "no wrench", str(error))
        return answer

    def _within_limits(
        self, answer: LoopAnswer, command: HybridCommand | None, braking: bool
    ) -> tuple[Array, Array]:
        """Return accelerations (nv,) and efforts of the motors, limited where that is requested."""
        count, limit = len(self._motors), self.limit[self._motors]
        prescribed, value = np.ones(count, dtype=bool), np.zeros(count)
        if command is not None:
            prescribed, value = command.prescribed | ~command.named, command.input
        if braking:
            prescribed, value = np.ones(count, dtype=bool), -BRAKING_RATE * answer.rates[self._motors]
        # Each round gives at least one motor its limit, so there are at most as many as motors.
        while True:
            acceleration, effort = self._solve(answer, prescribed, value)
            if not (all_finite(acceleration) and all_finite(effort)):
                raise MessageError("not finite", "the state leads to efforts that are not finite")
            saturate = self.options.saturate_efforts
            over = prescribed & (np.abs(effort) > limit) if saturate else np.zeros(count, dtype=bool)
            over |= saturate & ~prescribed & (np.abs(value) > limit)
            if not over.any():
                return acceleration, effort
            self.saturated[self._motors[over]] = True
            value = np.where(over, np.clip(effort, -limit, limit), value)
            prescribed = prescribed & ~over

    def _solve(self, answer: LoopAnswer, prescribed: NDArray[np.bool_], value: Array) -> tuple[Array, Array]:
        """Return accelerations (nv,) and efforts of the motors, of which one is given for each."""
        dynamics, q, rates, wrenches = self.dynamics, answer.tracked.q, answer.rates, answer.state.wrenches
        constraints, n = self.mechanism.constraints, dynamics.nv
        acceleration, given = np.zeros(n), np.zeros(n)
        at, rest = self._motors[prescribed], self._motors[~prescribed]
        if prescribed.any():
            names = [name for name, one in zip(self.mechanism.motors, prescribed, strict=True) if one]
            acceleration = answer.tracked.accelerations(rates, value[prescribed], names)
        mask = np.zeros(n, dtype=bool)
        mask[at] = True
        if prescribed.all():
            found = constrained_inverse_dynamics(
                dynamics, constraints, q, rates, acceleration, wrenches,
                actuated=mask, resolution=self.options.resolution,
            )  # fmt: skip
        else:
            given[rest] = value[~prescribed]
            found = constrained_hybrid_dynamics(
                dynamics, constraints, q, rates, acceleration, self.body_effort(rates, given), mask, wrenches,
                resolution=self.options.resolution,
            )  # fmt: skip
        effort = self.drive_effort(rates, found.tau)[self._motors]
        return np.asarray(found.qdd), np.where(prescribed, effort, value)

    def take_saturated(self) -> tuple[str, ...]:
        """Return the motors whose efforts were limited since the last call."""
        names = tuple(name for name, at in zip(self.mechanism.motors, self._motors, strict=True) if self.saturated[at])
        self.saturated[:] = False
        return names
