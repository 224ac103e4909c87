"""Core of the node contact, without ROS: a state with efforts in, contacts out, and a payload from two motions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...core.errors import MessageError, ParameterError, RequestError
from ...core.frames import last_link
from ...core.parameters import parameter, per_joint
from ...core.robot_core import RobotCore
from ...core.robot_options import RobotOptions
from ...core.robot_state import RobotState, effort_of_wrenches, pushes
from ...lie_dynamics import InputError, JointFriction, Model, gravity_force, jacobian
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control import SampleTimes, velocity_noise
from ...lie_dynamics.control.velocity_filter import PositionSteps
from ...lie_dynamics.estimation import ContactObserver, ContactState, ContactWrench, SensorNoise, contact_wrench
from ...lie_dynamics.identification import PayloadEstimate, identify_payload

# Parameters, besides those of all robots.


@dataclass(frozen=True)
class ContactOptions(RobotOptions):
    """Parameters of contacts, besides those of all robots."""

    contact_frame: str = parameter("", "Link or frame at which wrenches are published. Empty: the last link.")
    contact_moment: bool = parameter(False, "Whether contacts exert moments at that frame; else forces alone.")
    largest_deviation: float = parameter(
        20.0,
        "Directions whose wrench is known less well than this are published as not felt [N]; moments over 0.1 m.",
        low=1e-3, high=1e6,
    )
    false_alarms: float = parameter(0.01, "Largest rate of false alarms, for normal noise [1/h].", low=1e-9, high=1e6)
    averaging: float = parameter(0.035, "Time that torques and wrenches are means of [s].", low=1e-3, high=10.0)
    release: float = parameter(0.1, "How long nothing is felt before a contact has ended [s].", high=60.0)
    noise_time: float = parameter(
        5.0, "How long the noise of a robot at rest is measured before anything is published [s].", low=0.2, high=600.0
    )
    velocity_noise: float = parameter(
        0.0, "Standard deviation of measured velocities; 0 has the noise measured [rad/s, m/s].", high=10.0
    )
    effort_noise: float = parameter(0.0, "The same of efforts; set with velocity_noise [N m, N].", high=1000.0)
    offset_error: tuple[float, ...] = per_joint(
        0.0, "What is not known of constant torques, as a standard deviation [N m, N].", high=1e6
    )
    friction_error: tuple[float, ...] = per_joint(
        0.0, "What is not known of dry friction, as a standard deviation [N m, N].", high=1e6
    )
    drift_time: float = parameter(600.0, "Time in which these two change [s].", low=1.0, high=1e6)
    model_error: float = parameter(0.0, "Part of the efforts that the model misses [1].", high=10.0)
    effort_delay: float = parameter(0.0, "How much older efforts are than the states that hold them [s].", high=0.1)
    efforts_are: str = parameter(
        "measured",
        "Efforts in joint states: measured at the state, or commands, held over the period before it.",
        choices=("measured", "held"),
    )
    driver_compensates_gravity: bool = parameter(False, "Efforts in joint states are without those against gravity.")

    def check(self) -> None:
        """Check values against each other; raises ParameterError."""
        super().check()
        if (self.velocity_noise > 0.0) != (self.effort_noise > 0.0):
            raise ParameterError("velocity_noise and effort_noise: expected both, or both 0 to have noise measured")

    def observer(self, model: Model, noise: SensorNoise, friction: JointFriction | None) -> ContactObserver:
        """Return what observes contacts of a model by these parameters."""
        errors = {name: np.array(getattr(self, name)) for name in ("offset_error", "friction_error")}
        same = ("false_alarms", "averaging", "release", "drift_time", "model_error", "effort_delay")
        options = {name: getattr(self, name) for name in same}
        return ContactObserver(
            model, noise, friction=friction, held=self.efforts_are == "held", **options, **errors
        )


# A payload from two motions, without and with it.

MOST_SECONDS = 120.0
"""Longest recording [s]; what comes later is left out."""
SHORTEST = 2.0
"""Below which a recording is none [s]."""
HOLE = 0.1
"""Longest time between two states of a recording [s]."""

Motion = tuple[Array, Array, Array]


class MotionRecording:
    """States of a motion as they came."""

    def __init__(self) -> None:
        self._stamps: list[int] = []
        self._rows: list[tuple[Array, Array]] = []

    @property
    def seconds(self) -> float:
        """Length [s]."""
        return (self._stamps[-1] - self._stamps[0]) * 1e-9 if self._stamps else 0.0

    def add(self, stamp: int, position: Array, effort: Array) -> None:
        """Take in a state with its efforts, at a time [ns]."""
        if self.seconds < MOST_SECONDS and not (self._stamps and stamp <= self._stamps[-1]):
            self._stamps.append(stamp)
            self._rows.append((position.copy(), effort.copy()))

    def even(self) -> Motion:
        """Return times, positions and efforts at equal periods, by straight lines; raises RequestError for too few."""
        if self.seconds < SHORTEST:
            raise RequestError(f"a recording of {self.seconds:.1f} s; expected {SHORTEST:g} s or more")
        time = (np.array(self._stamps) - self._stamps[0]) * 1e-9
        steps = np.diff(time)
        if steps.max() > HOLE:
            raise RequestError(f"a recording with {steps.max():.2f} s without states; expected {HOLE:g} s at most")
        at = np.linspace(0.0, time[-1], len(time))  # however the stamps lie: states of two drivers come in pairs
        both = (np.array(rows) for rows in zip(*self._rows, strict=True))
        q, effort = (np.column_stack([np.interp(at, time, x) for x in rows.T]) for rows in both)
        return at, q, effort


class PayloadRecorder:
    """Two recordings of a robot, one at a time: ``running`` is "unloaded" or "loaded", empty for none."""

    def __init__(self) -> None:
        self.running = ""
        self._made: dict[str, MotionRecording] = {}

    def add(self, stamp: int, position: Array, effort: Array) -> None:
        """Take in a state, where one is being made."""
        if self.running:
            self._made[self.running].add(stamp, position, effort)

    def begin(self, which: str) -> str:
        """Begin a recording, in place of the one before; returns a message."""
        self.running, self._made[which] = which, MotionRecording()
        return f"recording the {which} robot, {MOST_SECONDS:g} s at most"

    def end(self, which: str) -> str:
        """End a recording; returns how long it is, or raises RequestError."""
        if self.running != which:
            raise RequestError(f"no recording of the {which} robot is being made")
        self.running = ""
        return f"{self._made[which].seconds:.1f} s of the {which} robot are recorded"

    def motions(self) -> tuple[Motion, Motion]:
        """Return both recordings, without and with the payload; raises RequestError where one is missing."""
        if self.running:
            raise RequestError(f"the {self.running} robot is still being recorded")
        missing = [which for which in ("unloaded", "loaded") if which not in self._made]
        if missing:
            raise RequestError(f"there is no recording of the robot {' and '.join(missing)}")
        return self._made["unloaded"].even(), self._made["loaded"].even()


def find_payload(model: Model, options: ContactOptions, motions: tuple[Motion, Motion], frame: str) -> PayloadEstimate:
    """Return the payload at a frame from two recordings; takes seconds, any thread may do that.

    Raises LieDynamicsError where they do not determine a payload.
    """
    empty = replace(options, payload_mass=0.0)
    return identify_payload(empty.apply(model), *motions, frame)


FIRST_PERIOD = 1e-3
"""Taken for the period of states until it has been measured [s]."""
GAP = 20.0, 0.25
"""Periods, and seconds, without a state after which windows begin afresh."""


@dataclass(eq=False)
class ContactAnswer:
    """Estimate at a state, of a robot as it is carried and loaded."""

    found: ContactState
    frame: str
    model: Model
    options: ContactOptions

    @cached_property
    def wrench(self) -> ContactWrench:
        """At `frame`, and in its axes: found when it is requested, which costs as much as all else."""
        found, options = self.found, self.options
        moment, largest = options.contact_moment, options.largest_deviation
        return contact_wrench(self.model, found.q, self.frame, found.torque, found.covariance, moment, largest)


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
    evidence : float
        Largest since `take_evidence` was called.
    """

    options: ContactOptions

    def __init__(self, model: Model, options: ContactOptions, friction: JointFriction | None = None) -> None:
        super().__init__(model, friction)
        self.noise: SensorNoise | None = None
        self.observer: ContactObserver | None = None
        self.recorder = PayloadRecorder()
        self.frame = options.contact_frame.removeprefix("/")
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
        """Whether states need measured efforts, and are refused without."""
        return True

    needs_effort = uses_effort

    def set_options(self, options: ContactOptions) -> None:
        """Apply options; also runs all that is needed once, so that nothing is compiled while states come in."""
        super().set_options(options)
        self._rest = []
        self.frame = options.contact_frame.removeprefix("/") or self.model.body_names[last_link(self.model)]
        try:
            jacobian(self.dynamics, self.model.neutral(), self.frame)
            trial = self._observe(SensorNoise.white(self.dynamics, 1.0, 1.0, FIRST_PERIOD))
        except InputError as error:
            raise ParameterError(f"contact: {error}") from error
        found = None
        for _ in range(3):
            found = trial.update(self.model.neutral(), self.zero, self.zero) or found
        if found is not None:
            _ = ContactAnswer(found, self.frame, self.dynamics, self.options).wrench
        effort_of_wrenches(self.dynamics, self.model.neutral(), np.zeros((self.model.n_bodies, 6)))
        if options.velocity_noise:
            self.noise = SensorNoise.white(self.dynamics, options.velocity_noise, options.effort_noise, FIRST_PERIOD)
        elif self.noise is not None and np.isinf(self.noise.samples):
            self.noise = self.observer = None  # it was given until now
        if self.noise is not None:
            self.observer = self._observe(self.noise)

    def _observe(self, noise: SensorNoise) -> ContactObserver:
        options, self._stepped = self.options, True
        return options.observer(self.dynamics, noise, self.friction)

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
        self._times = SampleTimes()
        if self.observer is not None:
            self.observer.restart()

    def measure_noise(self) -> None:
        """Measure noise anew, unless it is given by parameters; contacts are not felt meanwhile."""
        if not self.options.velocity_noise:
            self.noise = self.observer = None
        self._rest = []

    def answer(self, state: RobotState) -> ContactAnswer | None:
        """Return what is known of contacts at a state, None while there is nothing yet.

        Raises MessageError where the state leads to numbers that are not finite, or those of no robot.
        """
        assert state.effort is not None
        stamp, position, velocity = state.stamp, state.position, state.velocity
        period = 0.0 if self._last is None else (stamp - self._last) * 1e-9
        effort = state.effort
        if state.wrenches is not None or state.push is not None:
            effort = effort + pushes(self.dynamics, state, state.wrenches)
        if self.options.driver_compensates_gravity:
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
        return ContactAnswer(found, self.frame, self.dynamics, self.options)

    def _note_steps(self, position: Array, filter_time: float) -> None:
        """Let velocities that are found in positions have the noise of their steps, which does not show at rest."""
        self._stepped |= self._steps.note(position)
        if self.observer is not None and self.noise is not None and self._stepped:
            rate = velocity_noise(filter_time, self.noise.period) * self._steps.steps
            self.observer.noise, self._stepped = self.noise.with_resolution(rate, self.zero), False

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


# Content of the topic ``~/contact_state``.


@dataclass(frozen=True, eq=False)
class ContactReport:
    """Fields of the message ContactState, described there; wrenches force first there."""

    touching: bool
    evidence: float
    external_efforts: Array
    effort_covariance: Array
    age: float
    frame_id: str
    wrench: Array
    wrench_covariance: Array
    unfelt: Array
    misfit: float


_FORCE_FIRST = np.array([3, 4, 5, 0, 1, 2])
_BOTH = np.ix_(_FORCE_FIRST, _FORCE_FIRST)


def make_report(answer: ContactAnswer, frame: str) -> ContactReport:
    """Return the report of an answer, the frame as messages name it."""
    found, wrench = answer.found, answer.wrench
    return ContactReport(
        found.touching,
        found.evidence,
        found.torque,
        found.covariance.reshape(-1),
        found.age,
        frame,
        wrench.wrench[_FORCE_FIRST],
        wrench.covariance[_BOTH].reshape(-1),
        np.ascontiguousarray(wrench.unfelt[:, _FORCE_FIRST]).reshape(-1),
        wrench.misfit,
    )
