"""Closed mechanisms in nodes: their parameters, how they are set up, and tracking from state to state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..lie_dynamics import ClosedLoopTracker, ConstraintSet, Model, assemble
from ..lie_dynamics.arrays import Array
from ..lie_dynamics.constraints.idle import IdleFreedom
from ..lie_dynamics.constraints.tracking.result import TrackedState
from .errors import ConfigurationError, ParameterError
from .parameters import Parameters, parameter
from .robot_state import RobotState
from .turns import Turns


@dataclass(frozen=True)
class MechanismParameters(Parameters):
    """Parameters of robots with loops: what closes them, and how they are tracked."""

    loops: str = parameter(
        "",
        "What closes the loops: YAML text, a file path, file:///path or package://name/path. Empty: nothing does.",
        "while unconfigured",
    )
    sdf_model: str = parameter(
        "",
        "Which model of an SDF is the robot, outer::inner for one in another. Empty: the only one that is not static.",
        "while unconfigured",
    )
    measured_joints: tuple[str, ...] = parameter(
        [""],
        "Joints measured in joint states, which determine all others. [''] stands for all of one coordinate.",
        "while unconfigured",
    )
    motors: tuple[str, ...] = parameter(
        [""], "Joints with motors. [''] stands for the measured ones.", "while unconfigured"
    )
    idle_joints: tuple[str, ...] = parameter(
        [""],
        "Joints that the measured ones need not determine, besides rods that spin between ball joints. ['']: none.",
        "while unconfigured",
    )
    start_joints: tuple[str, ...] = parameter(
        [""],
        "Joints whose positions when tracking starts are start_positions. [''] stands for all, in model order.",
        "while unconfigured",
    )
    start_positions: tuple[float, ...] = parameter(
        [0.0],
        "About where joints are when tracking starts; the loops are closed near it [rad, m]. [0.0] without "
        "start_joints: not known.",
        "while unconfigured",
        low=-1e6,
        high=1e6,
    )
    sensor_noise: tuple[float, ...] = parameter(
        [1e-5],
        "Standard deviations of the measured joints, one for all or one for each [rad, m].",
        "while unconfigured",
        low=1e-12,
        high=1e3,
    )
    sensor_error: tuple[float, ...] = parameter(
        [1e-4],
        "Largest errors of measured joints that what is certified allows for, one for all or one for each [rad, m].",
        "while unconfigured",
        high=1e3,
    )
    max_speed: tuple[float, ...] = parameter(
        [0.0],
        "Largest rates of all joints, those not measured too, one for all or one for each in model order [rad/s, "
        "m/s]; configurations are certified only with them. [0.0]: not known.",
        "while unconfigured",
        high=1e6,
    )
    max_steps: int = parameter(
        1000,
        "Proven steps into which one change of the measured joints may be split, some 5 us each.",
        "while unconfigured",
        low=1,
        high=100_000,
    )


MOST_GUESSES = 50


@dataclass(frozen=True, eq=False)
class TrackedMechanism:
    """A closed mechanism and how it is tracked; names of joints as in messages."""

    constraints: ConstraintSet
    measured: tuple[str, ...]  # joints measured in states
    motors: tuple[str, ...]  # joints with motors
    start: Array  # closed configuration that tracking starts from, shape (nq,)
    start_known: bool  # whether somebody gave it
    max_speed: Mapping[str, Any] | None  # largest rates of all joints, where they are known
    noise: tuple[float, ...]  # of the measured joints, one for all or one for each [rad, m]
    error: tuple[float, ...]  # the same
    max_steps: int
    idle: tuple[str, ...] = ()  # joints that the measured ones need not determine

    @staticmethod
    def from_values(
        model: Model, constraints: ConstraintSet, values: Mapping[str, Any], closed: bool = False
    ) -> TrackedMechanism:
        """Read parameter values; raises ParameterError or ConfigurationError where they do not fit the model.

        `closed` means that all loops are closed where all coordinates are zero, and that they start there unless the
        parameters give another place.
        """
        measured = _joints(model, values, "measured_joints", constraints) or single_joints(model)
        known = closed or any(values["start_joints"]) or list(values["start_positions"]) != [0.0]
        each = {}
        for name in ("sensor_noise", "sensor_error"):
            each[name] = tuple(values[name])
            if len(each[name]) not in (1, len(measured)):
                raise ParameterError(f"{name} has {len(each[name])} numbers; expected 1 or {len(measured)}")
        return TrackedMechanism(
            constraints,
            measured,
            _joints(model, values, "motors", constraints) or measured,
            _start(model, constraints, values, closed),
            known,
            _speeds(model, values["max_speed"]),
            each["sensor_noise"],
            each["sensor_error"],
            values["max_steps"],
            _named(values, "idle_joints", model.joint_names, constraints),
        )

    @property
    def start_from(self) -> str:
        """Configuration from which tracking starts."""
        return "parameter start_positions" if self.start_known else "where loops close first, assumed"

    def tracker(self, model: Model, bounded: bool, most: int | None = None) -> ClosedLoopTracker:
        """Return a tracker at the start, of so many steps at most; raises LieDynamicsError where sensors do not do."""
        error, noise = (values[0] if len(values) == 1 else values for values in (self.error, self.noise))
        return ClosedLoopTracker(
            model,
            self.constraints,
            self.start,
            self.measured,
            self.max_speed if bounded else None,
            sensor_error=error,
            sensor_noise=noise,
            max_steps=min(self.max_steps, most or self.max_steps),
            idle=self.idle,
        )


def single_joints(model: Model) -> tuple[str, ...]:
    """Return the joints of one coordinate, which a JointState can hold."""
    return tuple(joint.name for joint in model.joints if joint.type.nq == 1)


def _joints(model: Model, values: Mapping[str, Any], key: str, constraints: ConstraintSet) -> tuple[str, ...]:
    return _named(values, key, single_joints(model), constraints)


def _named(values: Mapping[str, Any], key: str, there: Sequence[str], constraints: ConstraintSet) -> tuple[str, ...]:
    """Return the joints that a parameter names, which must be some of those that are `there`."""
    names = tuple(values["joint_prefix"] + name for name in values[key] if name)
    unknown = [name for name in names if name not in there]
    if unknown:
        cut = [name for name in unknown if name.removeprefix(values["joint_prefix"]) in constraints.names]
        hint = f"; {', '.join(cut)} closes a loop, another joint of it is to be cut (doc/models.md)" if cut else ""
        single = "" if key == "idle_joints" else " of one coordinate"
        raise ConfigurationError(
            f"parameter {key}: the robot has no joint {', '.join(unknown)}{single}; it has {', '.join(there)}{hint}"
        )
    if len(set(names)) != len(names):
        raise ConfigurationError(f"parameter {key} names a joint twice: {', '.join(names)}")
    return names


def _start(model: Model, constraints: ConstraintSet, values: Mapping[str, Any], closed: bool) -> Array:
    """Return the closed configuration near the one that parameters give."""
    names, positions = _joints(model, values, "start_joints", constraints), list(values["start_positions"])
    guess = model.neutral()
    if names:
        if len(positions) != len(names):
            raise ParameterError(f"start_positions has {len(positions)} numbers for {len(names)} start_joints")
        for name, position in zip(names, positions, strict=True):
            guess[model.joint(name).q_slice] = position
    elif positions != [0.0]:
        if len(positions) != model.nq:
            raise ParameterError(
                f"start_positions has {len(positions)} numbers; expected one for each of start_joints, or {model.nq} "
                f"for {', '.join(joint.name for joint in model.joints)}"
            )
        guess = np.array(positions)
    found = assemble(model, constraints, guess)
    rng = np.random.default_rng(0)
    known = closed or names or positions != [0.0]
    for _ in range(0 if known else MOST_GUESSES):  # nobody knows: any configuration will do
        if found.converged:
            break
        found = assemble(model, constraints, model.random(rng))
    if not found.converged:
        raise ConfigurationError(
            f"the loops cannot be closed near the start: {found.worst!r} is off by {found.residual:.3g} m or rad; "
            "expected start_positions near a configuration where they can"
        )
    return found.q


def _speeds(model: Model, given: Sequence[float]) -> Mapping[str, Any] | None:
    if list(given) == [0.0]:
        return None
    if len(given) not in (1, len(model.joints)) or min(given) <= 0.0:
        raise ParameterError(
            f"max_speed is {list(given)}; expected one number above zero, or {len(model.joints)}, one for each of "
            f"{', '.join(joint.name for joint in model.joints)}, or [0.0] where they are not known"
        )
    speeds = given if len(given) > 1 else [given[0]] * len(model.joints)
    return {
        joint.name: (speed, speed) if joint.kind == "free" else speed
        for joint, speed in zip(model.joints, speeds, strict=True)
    }


class MechanismFollower:
    """Follows one mechanism from its start.

    Parameters
    ----------
    model : Model
    mechanism : TrackedMechanism
    most : int, optional
        Proven steps that one state may take but for the first, where that is less than the mechanism's `max_steps`.

    Attributes
    ----------
    places : ndarray of int, shape (k,)
        Where the measured joints stand in q.
    last : TrackedState or None
        Outcome of the last state; None before the first.
    """

    def __init__(self, model: Model, mechanism: TrackedMechanism, most: int | None = None) -> None:
        self.mechanism, self._apart = mechanism, most is not None or mechanism.max_speed is not None
        measured = [model.joint(name) for name in mechanism.measured]
        self.places = np.array([joint.q_slice.start for joint in measured], dtype=np.intp)
        self._turns = Turns.of(model, mechanism.measured)
        self._velocity = np.zeros(len(measured))  # at the last state
        self._tracker = mechanism.tracker(model, bounded=mechanism.start_known, most=most)
        self._approach = mechanism.tracker(model, bounded=False)
        self.last: TrackedState | None = None
        self._since: int | None = None  # time of the last state that was followed [ns]

    def forget(self) -> None:
        """Forget where the mechanism is: the next state is followed from the start."""
        self.last = self._since = None
        self._tracker.reset(self.mechanism.start)

    @property
    def begun(self) -> bool:
        """Whether a state could be followed since the start."""
        return self._since is not None

    @property
    def idle(self) -> tuple[IdleFreedom, ...]:
        """Freedoms that the measured joints do not determine, see the tracker."""
        return self._tracker.idle

    @property
    def refuted(self) -> bool:
        """Whether states were out of reach since the start, so that nothing is certified."""
        return self._tracker.refuted

    def time_to_singularity(self, horizon: float) -> float:
        """Return when the measured joints come to a singular configuration at their present rates, see the tracker."""
        return self._tracker.time_to_singularity(self._velocity, horizon)

    def unwound(self, position: Array) -> Array:
        """Return measured positions, those of joints that turn without end less the turns that a driver drops."""
        if not self._turns.any:
            return position
        return position + self._turns.between(position, self._tracker.q[self.places])

    def follow(self, state: RobotState) -> TrackedState:
        """Return what becomes of a state of the measured joints."""
        position = self.unwound(state.position)
        if self._since is None and self._apart:
            # Where the straight line from the start leads to, there it is known to be.
            self._approach.reset(self.mechanism.start)
            first = self._approach.update(position)
            if first.valid:
                self._tracker.reset(first.q)
        dt = 0.0 if self._since is None else max(0.0, 1e-9 * (state.stamp - self._since))
        tracked = self.last = self._tracker.update(position, dt=dt)
        if tracked.valid or self._since is not None:
            self._since = state.stamp
        self._velocity = state.velocity.copy()
        return tracked
