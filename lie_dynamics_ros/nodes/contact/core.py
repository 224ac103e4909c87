"""Core of the node contact, without ROS: a state with efforts in, contacts out."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ...core.arrays import Array
from ...core.dynamics_answer import pushes
from ...core.errors import MessageError, ParameterError
from ...core.last_link import last_link
from ...core.robot_core import RobotCore
from ...core.robot_state import RobotState
from ...lie_dynamics import InputError, JointFriction, Model, gravity_force, jacobian
from ...lie_dynamics.control import SampleTimes, velocity_noise
from ...lie_dynamics.control.position_steps import PositionSteps
from ...lie_dynamics.estimation import ContactObserver, ContactState, ContactWrench, SensorNoise, contact_wrench
from .options import ContactOptions
from .payload import PayloadRecorder

FIRST_PERIOD = 1e-3
"""Taken for the period of states until it has been measured [s]."""
GAP = 20.0, 0.25
"""Periods, and seconds, without a state after which windows begin afresh."""


@dataclass(eq=False)
class ContactAnswer:
    """Estimate at a state.

    Attributes
    ----------
    found : ContactState
    frame : str
    find_wrench : callable
        Returns `wrench`.
    """

    found: ContactState
    frame: str
    find_wrench: Callable[[], ContactWrench]

    @cached_property
    def wrench(self) -> ContactWrench:
        """At `frame`, and in its axes: found when it is requested, which costs as much as all else."""
        return self.find_wrench()


class ContactCore(RobotCore):
    """Finds contacts of one robot; see `RobotCore`.

    Attributes
    ----------
    frame : str
        Frame of the wrenches.
    noise : SensorNoise or None
        None while it is being measured.
    problem : str
        Why measuring began anew, or empty.
    recorder : PayloadRecorder
        Of motions with and without a payload.
    evidence : float
        Largest since `take_evidence` was called.
    """

    options: ContactOptions

    def __init__(self, model: Model, options: ContactOptions, friction: JointFriction | None = None) -> None:
        super().__init__(model, friction)
        self.noise: SensorNoise | None = None
        self.observer: ContactObserver | None = None
        self.recorder = PayloadRecorder()
        self.touching, self.problem, self.evidence = False, "", 0.0
        self._times = SampleTimes()
        self._last: int | None = None  # stamp of the last state [ns]
        self._rest: list[tuple[Array, Array, Array]] = []
        self._begun = 0  # stamp of the first of these [ns]
        self._steps = PositionSteps(len(self.zero))
        self._stepped = False  # whether the observer does not know them yet
        self.set_options(options)

    @property
    def uses_effort(self) -> bool:
        """Whether states need measured efforts."""
        return True

    @property
    def needs_effort(self) -> bool:
        """Whether states without them are refused."""
        return True

    def set_options(self, options: ContactOptions) -> None:
        """Apply options; also runs all that is needed once, so that nothing is compiled while states come in."""
        super().set_options(options)
        self.frame = options.frame or self.model.body_names[last_link(self.model)]
        try:
            jacobian(self.dynamics, self.model.neutral(), self.frame)
            trial = self._observe(SensorNoise.white(self.dynamics, 1.0, 1.0, FIRST_PERIOD))
        except InputError as error:
            raise ParameterError(f"contact: {error}") from error
        found = None
        for _ in range(3):
            found = trial.update(self.model.neutral(), self.zero, self.zero) or found
        if found is not None:
            _ = self._tell(found).wrench
        if options.velocity_noise:
            self.noise = SensorNoise.white(self.dynamics, options.velocity_noise, options.effort_noise, FIRST_PERIOD)
        elif self.noise is not None and np.isinf(self.noise.samples):
            self.noise = self.observer = None  # it was given until now
        if self.noise is not None:
            self.observer = self._observe(self.noise)

    def with_options(self, options: ContactOptions) -> ContactCore:
        """Return a core that goes on with other options; raises ParameterError where the robot cannot have them."""
        other = copy.copy(self)
        other._rest = []
        other.set_options(options)
        return other

    def _observe(self, noise: SensorNoise) -> ContactObserver:
        options, self._stepped = self.options, True
        given = {name: np.array(value) if isinstance(value, tuple) else value for name, value in options.observer}
        return ContactObserver(self.dynamics, noise, friction=self.friction, held=options.held, **given)

    def turn_gravity(self, gravity: Array) -> None:
        """Go on under another gravity (3,), see `RobotCore` [m/s^2]."""
        super().turn_gravity(gravity)
        if self.observer is not None:
            self.observer.model = self.dynamics

    def start(self) -> None:
        """Begin afresh; noise that was measured is kept."""
        self.forget()
        self.touching = False

    def forget(self) -> None:
        """Forget the states before."""
        self._last, self._rest, self.acceleration = None, [], self.zero
        self._steps.forget()
        self._times.reset()
        if self.observer is not None:
            self.observer.restart()

    def measure_noise(self) -> None:
        """Measure noise anew, unless it is given by parameters; contacts are not felt meanwhile."""
        if not self.options.velocity_noise:
            self.noise = self.observer = None
        self._rest = []

    def answer(self, state: RobotState) -> ContactAnswer | None:
        """Return what is known of contacts at a state, None while there is nothing yet.

        Raises
        ------
        MessageError
            The state leads to numbers that are not finite, or those of no robot.
        """
        assert state.effort is not None
        stamp, position, velocity = state.stamp, state.position, state.velocity
        period = 0.0 if self._last is None else (stamp - self._last) * 1e-9
        effort = state.effort
        if state.wrenches is not None or state.push is not None:
            effort = effort + pushes(self.dynamics, state, state.wrenches)
        if self.options.weightless:
            effort = effort + gravity_force(self.dynamics, position)
        self.recorder.add(stamp, position, effort)
        if period > 0.0:
            self._times.add(period, state.age)
        usual = self._times.period or FIRST_PERIOD
        if period > max(GAP[0] * usual, GAP[1]):
            self._rest = []
            if self.observer is not None:
                self.observer.restart()
        if state.filter_time and not self.options.velocity_noise:
            self._note_steps(position, state.filter_time)
        if self.observer is None:
            self._last = stamp
            self._measure(stamp, position, velocity, effort)
            return None
        try:
            found = self.observer.update(position, velocity, effort, period if period > 0.0 else usual)
        except InputError as error:
            raise MessageError("not finite", str(error)) from error
        self._last = stamp
        self.acceleration = self.observer.acceleration
        if found is None:
            return None
        self.touching, self.evidence = found.touching, max(self.evidence, found.evidence)
        return self._tell(found)

    def _note_steps(self, position: Array, filter_time: float) -> None:
        """Let velocities that are found in positions have the noise of their steps, which does not show at rest."""
        self._stepped |= self._steps.note(position)
        if self.observer is not None and self.noise is not None and self._stepped:
            rate = velocity_noise(filter_time, self.noise.period) * self._steps.steps
            self.observer.noise, self._stepped = self.noise.with_resolution(rate, self.zero), False

    def _tell(self, found: ContactState) -> ContactAnswer:
        given = self.dynamics, found.q, self.frame, found.torque, found.covariance
        return ContactAnswer(
            found, self.frame, partial(contact_wrench, *given, self.options.moment, self.options.limit)
        )

    def _measure(self, stamp: int, position: Array, velocity: Array, effort: Array) -> None:
        """Take a state into those of a robot at rest; with enough of them their noise is known."""
        rest = self._rest
        if not rest:
            self._begun = stamp
        rest.append((position.copy(), velocity.copy(), effort.copy()))
        if (stamp - self._begun) * 1e-9 < self.options.noise_time:
            return
        period = (stamp - self._begun) * 1e-9 / (len(rest) - 1)
        try:
            self.noise = SensorNoise.from_rest(self.dynamics, *(np.array(x) for x in zip(*rest, strict=True)), period)
        except InputError as error:
            self.problem = str(error)
        else:
            self.problem, self.observer = "", self._observe(self.noise)
        self._rest = []

    def take_evidence(self) -> float:
        """Return the largest evidence since the last call."""
        found, self.evidence = self.evidence, 0.0
        return found
