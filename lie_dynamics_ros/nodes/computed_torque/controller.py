"""The controller of the node computed_torque as a class, for programs without ROS: simulators, tests, other loops."""

from __future__ import annotations

import difflib
import math
import operator
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.commands import JointPoints
from ...core.errors import TRAJECTORIES, ConfigurationError, MessageError, ParameterError
from ...core.mechanism import MechanismParameters
from ...core.parameters import Setting, with_default
from ...lie_dynamics import LieDynamicsError, Model
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control.kernels.signals import GOOD, LARGEST, check_state
from ...lie_dynamics.lie import se3
from ...ros.inputs.joint_states import IMPLAUSIBLE
from ...ros.inputs.model_loading import (
    ModelSourceParameters,
    format_of,
    load_friction,
    load_mechanism,
    load_model,
    read_description,
)
from ...ros.inputs.robot_inputs import RobotInputs, VelocityParameters
from .core import ComputedTorqueCore
from .gains import LOOP_FILTER_TIME
from .options import ComputedTorqueOptions
from .tool_control import FARTHEST, TARGETS


@dataclass(frozen=True)
class ControllerParameters(ComputedTorqueOptions, MechanismParameters, ModelSourceParameters, VelocityParameters):
    """Those of the node that have a meaning without ROS."""

    velocity_filter_time: float = with_default(VelocityParameters, "velocity_filter_time", LOOP_FILTER_TIME)


SETTINGS = {setting.name: setting for setting in ControllerParameters.settings()}  # the same by name
#: Values of parameters without a meaning here that loading a robot needs.
UNUSED_BY_CONTROLLER = {"frame_prefix": "", "robot_description": ""}
#: Parameters that select what of a description becomes the model.
DESCRIPTION_ONLY = tuple(
    name for kind in (ModelSourceParameters, MechanismParameters) for name in kind.defaults() if name != "joint_prefix"
)
BEGIN = 10**9  # stamp of the first state [ns]: 0 would mean that it has none
CLOCK_RANGE = 1e9  # longest time from the first state on [s]


@dataclass(frozen=True, slots=True)
class ControlOutput:
    """The answer to one state; arrays (n,) in the order of `Controller.joint_names`, the caller's own.

    Attributes
    ----------
    effort : ndarray
        To exert until the next state, within the limits; gravity included unless the driver adds it [N m, N].
    phase : str
        "following", "holding", "yielding", "stopping" or "stopped", as on the node's ``~/phase``.
    reason : str
        Why it is in that phase.
    mode : str
        Control mode in force.
    desired_position, desired_velocity : ndarray
        The motion desired at the time of the state [rad, m, and per s].
    """

    effort: Array
    phase: str
    reason: str
    mode: str
    desired_position: Array
    desired_velocity: Array

    def copy(self) -> ControlOutput:
        """Return the same with arrays of its own."""
        place, rate = self.desired_position.copy(), self.desired_velocity.copy()
        return replace(self, effort=self.effort.copy(), desired_position=place, desired_velocity=rate)


@dataclass(slots=True)
class CallState:
    """State that a `Controller` keeps between calls."""

    origin: float = 0.0  # time of the first state [s]
    last: int = 0  # stamp of the last state [ns]; 0 before the first
    output: ControlOutput | None = None  # the last answer
    implausible: int = 0  # number of states that were refused since the start

    def stamp(self, time: float) -> int:
        """Return the time stamp [ns] of a state at a time [s] that must go on."""
        if not self.last:
            self.origin = _number(time, "time")
        stamp = self.on_clock(time, "time")
        if stamp <= self.last:
            last = self.origin + (self.last - BEGIN) * 1e-9
            raise MessageError(
                "time", f"time: expected more than {last:.9g} s, got {time:.9g} s; reset() begins afresh"
            )
        return stamp

    def on_clock(self, time: float, name: str) -> int:
        """Return the stamp of a time [s] that has a name in messages."""
        since = _number(time, name) - self.origin
        if abs(since) > CLOCK_RANGE:
            raise MessageError(
                "time", f"{name}: expected within {CLOCK_RANGE:g} s of the first state, got {time:.9g} s"
            )
        return BEGIN + round(since * 1e9)


class Controller:
    """A controller of one robot: what the node ``computed_torque`` computes, without ROS.

    Called once for each state of the robot, at any rate, it measures the period itself. It behaves as the node does
    that gets the same states at the same times: same modes, limits, stops, velocities from positions.

    Parameters
    ----------
    robot : Model, str or path
        A model; or URDF as text, a path, ``file://`` or ``package://`` URI. MJCF and SDF are read as the node reads
        them, for robots with loops; `Model.from_mjcf` and `Model.from_sdf` make models of others.
    **parameters
        Parameters of the node by their names, its defaults otherwise; those about topics, processes and clocks have no
        meaning here. One number may stand for one for all joints.

    Raises
    ------
    ParameterError
        No such parameter, a value that it cannot have, or that the robot cannot have.
    ConfigurationError, DescriptionError, LieDynamicsError
        Such a robot cannot be controlled, or not be read.

    Notes
    -----
    All errors are `ValueError`; a call that raises one changes nothing. Not for several threads at once.

    Examples
    --------
    >>> controller = Controller("panda_arm.urdf", mode="passivity_based")          # doctest: +SKIP
    >>> controller.update(0.0, q, qd)                                              # doctest: +SKIP
    >>> controller.follow([1.0, 2.0], [q1, q2])                                    # doctest: +SKIP
    >>> effort = controller.update(0.001, q, qd).effort                            # doctest: +SKIP
    """

    def __init__(self, robot: Model | str | os.PathLike[str], **parameters: Any) -> None:
        self._values = ControllerParameters.defaults()
        self._values.update(_checked(parameters))
        values = {**self._values, **UNUSED_BY_CONTROLLER}
        options = ComputedTorqueOptions.from_values(values)
        if isinstance(robot, Model):
            self._inputs, self._core = _build(robot, "", values, options)
        elif not isinstance(robot, str | os.PathLike):
            raise ParameterError(f"robot: expected a Model, a robot description or its path, got {robot!r:.100}")
        else:
            text = read_description(os.fspath(robot))
            if has_loops(text, values):
                logger = SimpleNamespace(warning=warnings.warn)
                self._inputs, self._core = build_closed(text, {**values, "robot_description": text}, options, logger)
            else:
                model = load_model(text, values, SimpleNamespace(warning=warnings.warn))
                self._inputs, self._core = _build(model, text, values, options)
        names = self._inputs.measured
        self._message = SimpleNamespace(name=list(names), position=None, velocity=None, effort=())
        self._calls = CallState()
        self._use(self._core)
        self.reset()

    # What it is.

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints in the order of efforts, trajectories and desired positions."""
        return self._core.model.joint_names

    @property
    def measured_joints(self) -> tuple[str, ...]:
        """Joints in the order of states: all of them, but for robots with loops."""
        return self._inputs.measured

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters in force, by name."""
        return dict(self._values)

    @property
    def phase(self) -> str:
        """Phase of the last answer; "off" before the first."""
        return self._core.phase

    @property
    def reason(self) -> str:
        """Why it is in that phase."""
        return self._core.reason

    @property
    def note(self) -> str:
        """Further remarks for the user, such as that a trajectory was slowed down; empty for nothing."""
        return self._core.note

    @property
    def stiffness_share(self) -> float:
        """Part of the stiffness requested that mode impedance had in the last answer; 1 in other modes."""
        return float(self._core.tool.share) if self._core.mode == "impedance" else 1.0

    # What it does.

    def set(self, **parameters: Any) -> None:
        """Change parameters while the robot is controlled: all of them or, where that cannot be, none.

        Raises
        ------
        ParameterError
            As at the start; or a parameter that defines the robot, and cannot change.
        """
        checked = _checked(parameters, self._core.model.joint_names)
        for name, value in checked.items():
            if SETTINGS[name].when != "any time" and value != self._values[name]:
                raise ParameterError(f"{name} can only be given when the controller is made")
        values = {**self._values, **checked}
        options = ComputedTorqueOptions.from_values({**values, **UNUSED_BY_CONTROLLER})
        core = self._core if options == self._core.options else self._core.with_options(options)
        self._values = values
        self._use(core)

    def update(self, time: float, position: npt.ArrayLike, velocity: npt.ArrayLike | None = None) -> ControlOutput:
        """Return what to do about a state.

        Parameters
        ----------
        time : float
            When it was measured, on any clock; later than the state before [s]. After a gap of ``state_timeout``,
            trajectories are dropped and the robot stays where it is. A lone state that no motion explains changes
            nothing: the answer is the one before, and `implausible` counts it.
        position : array-like, shape (n,)
            [rad, m].
        velocity : array-like, shape (n,), optional
            NaN, or None, where it is not measured: found in positions then, by ``velocity_source`` [rad/s, m/s].

        Raises
        ------
        MessageError
            A wrong shape, a position that is not finite, an infinite velocity, or a time that does not go on; or not
            even gravity compensation is finite.
        """
        calls, message, inputs, core = self._calls, self._message, self._inputs, self._core
        stamp, names = calls.stamp(time), inputs.measured
        message.position = _array(position, "position", (len(names),), names)
        message.velocity = () if velocity is None else _array(velocity, "velocity", (len(names),), names)
        inputs.acceleration = core.acceleration
        try:
            state = inputs.read(message, stamp, stamp, 0.0)
        except MessageError as error:
            if error.kind != IMPLAUSIBLE or calls.output is None:
                raise
            calls.last, calls.implausible = stamp, calls.implausible + 1
            return calls.output.copy()
        answer = core.answer(state)
        calls.last, desired = stamp, answer.desired
        place, rate = np.array(inputs.as_told(desired.position)), np.array(desired.velocity)
        calls.output = ControlOutput(np.array(answer.effort), answer.phase, answer.reason, answer.mode, place, rate)
        return calls.output.copy()

    def follow(
        self,
        times: npt.ArrayLike,
        positions: npt.ArrayLike,
        velocities: npt.ArrayLike | None = None,
        accelerations: npt.ArrayLike | None = None,
        start: float | None = None,
    ) -> str:
        """Follow way points of all joints from the motion under way on, as a trajectory on the node's topic.

        Parameters
        ----------
        times : array-like, shape (k,)
            From the start on, rising, none negative [s].
        positions, velocities, accelerations : array-like, shape (k, n)
            [rad, m, and per s, s^2]. Positions alone are joined by splines.
        start : float, optional
            On the clock of `update` [s]; now where it is left out.

        Returns
        -------
        str
            What was changed, as by ``on_infeasible``; empty for nothing.

        Raises
        ------
        MessageError
            The points make no sense, exceed limits, or the mode or phase follows none; with the reason.
        """
        names, t = self.joint_names, _array(times, "times", (-1,))
        if not len(t) or t[0] < 0.0 or (np.diff(t) <= 0.0).any():
            raise MessageError(TRAJECTORIES, f"times: expected some that rise, none negative, got {t.tolist()!s:.200}")
        if velocities is None and accelerations is not None:
            raise MessageError(TRAJECTORIES, "accelerations: expected with velocities, got alone")
        shape = len(t), len(names)
        q = _array(positions, "positions", shape, names)
        qd = None if velocities is None else _array(velocities, "velocities", shape, names)
        qdd = None if accelerations is None else _array(accelerations, "accelerations", shape, names)
        begin = 0 if start is None else self._calls.on_clock(start, "start")
        self._core.follow(JointPoints(np.arange(len(names)), t, q, qd, qdd), begin)
        return self._core.note

    def target(self, pose: npt.ArrayLike | None, twist: npt.ArrayLike | None = None) -> None:
        """Aim the tool at a pose, in modes operational_space and impedance, and move the target on at a twist.

        Parameters
        ----------
        pose : array-like, shape (4, 4), or None
            Of ``tool_frame`` on the root link [m]; None leaves it.
        twist : array-like, shape (6,), optional
            Of the target, turning first, in the axes of the root link [rad/s, m/s]; counts for ``target_timeout``.

        Raises
        ------
        MessageError
            The numbers make no sense, or the mode or phase follows no target.
        """
        if pose is None and twist is None:
            raise MessageError(TARGETS, "pose, twist: expected one of them, got neither")
        if pose is not None:
            try:
                pose = se3.check(pose, "pose")
            except LieDynamicsError as error:
                raise MessageError(TARGETS, str(error)) from error
        if twist is not None:
            twist = _array(twist, "twist", (6,))
            if not np.abs(twist).max() < FARTHEST:  # before the pose is taken
                raise MessageError(TARGETS, f"twist: expected moderate numbers, got {twist.tolist()}")
        if pose is not None:
            self._core.aim("", pose)
        if twist is not None:
            self._core.drive("", twist)

    def hold(self) -> str:
        """Drop all trajectories and targets and come to rest; after a stop, control the robot again where it is.

        Returns what was done; raises MessageError where a stop is still under way, or there was no state yet.
        """
        return self._core.hold()

    def stop(self, reason: str = "stop requested") -> None:
        """Bring the robot to rest, hold it there and follow nothing, until `hold` is called."""
        self._core.stop(reason)

    def touched(self, touching: bool) -> None:
        """Take in whether something touches the robot; it reacts by ``contact_reaction``."""
        self._core.touched(bool(touching))

    def end(self, time: float, position: npt.ArrayLike, velocity: npt.ArrayLike | None = None) -> Array:
        """Return the last effort (n,) to exert: what holds the robot at rest at a state, within the effort limits.

        Zero where the driver compensates gravity itself. It holds no robot that moves: call `stop`, and `update` until
        the phase is "stopped", before. Whoever calls `update` again begins afresh. Arguments and errors as `update`.
        """
        self.update(time, position, velocity)
        effort = self._core.last_command()
        if effort is None:
            raise MessageError("not finite", "the state leads to efforts that are not finite")
        self._core.end()
        self.reset()
        return effort

    def reset(self) -> None:
        """Begin afresh: the next state may have any time, and nothing that was learned or requested is kept."""
        self._inputs.forget()
        self._core.start()
        self._calls = CallState()

    @property
    def implausible(self) -> int:
        """Number of states that were refused since the start, as no motion explains them."""
        return self._calls.implausible

    # Inside.

    def _use(self, core: ComputedTorqueCore) -> None:
        self._core, inputs, values = core, self._inputs, self._values
        inputs.velocity_source, inputs.velocities.time = values["velocity_source"], values["velocity_filter_time"]


def has_loops(description: str, values: Mapping[str, Any]) -> bool:
    """Return whether a robot is controlled by its motors; raises ConfigurationError where that is incomplete."""
    if values["loops"].strip() or values["sdf_model"] or format_of(description) != "URDF":
        return True
    usual = MechanismParameters.defaults()
    given = [name for name in usual if name != "loops" and not np.array_equal(values[name], usual[name])]
    if given:  # else a mechanism would be controlled as the tree that is left of it
        raise ConfigurationError(f"loops is empty; expected with {', '.join(given)}")
    return False


def build_closed(
    description: str, values: Mapping[str, Any], options: ComputedTorqueOptions, logger: Any
) -> tuple[RobotInputs, ComputedTorqueCore]:
    """Prepare the controller of the motors of a robot with loops; raises with the reason where that cannot be done."""
    model, friction, mechanism = load_mechanism(description, values, logger)
    if not mechanism.start_known:
        raise ConfigurationError(
            "start_positions is not given; a controller has to know in which configuration the robot's loops close"
        )
    try:
        core = ComputedTorqueCore(model, options, friction, mechanism)
    except LieDynamicsError as error:
        raise ConfigurationError(f"the mechanism cannot be controlled: {error}") from error
    joints = [values["joint_prefix"] + joint for joint in values.get("joints", ()) if joint]
    return RobotInputs(model, joints, None, mechanism.motors, mechanism.measured), core


def _build(
    model: Model, description: str, values: Mapping[str, Any], options: ComputedTorqueOptions
) -> tuple[RobotInputs, ComputedTorqueCore]:
    if not description:
        given = [name for name in DESCRIPTION_ONLY if values[name] != SETTINGS[name].default]
        if given:
            raise ParameterError(f"{', '.join(given)}: expected with a robot description, got with a Model")
    friction = load_friction(description, values, model)
    model = model.with_joint_prefix(values["joint_prefix"])
    core = ComputedTorqueCore(model, options, friction)
    return RobotInputs(model, ()), core


def _checked(parameters: Mapping[str, Any], joints: Sequence[str] = ()) -> dict[str, Any]:
    """Return parameter values of the types and in the ranges of their settings; raises ParameterError."""
    found = {}
    for name, value in parameters.items():
        if name not in SETTINGS:
            near = difflib.get_close_matches(name, SETTINGS, 5, 0.5) or list(SETTINGS)
            raise ParameterError(f"no parameter {name!r}; expected one such as {', '.join(near)}")
        found[name] = _typed(SETTINGS[name], value)
        SETTINGS[name].check(found[name], joints)
    return found


def _typed(setting: Setting, value: Any) -> Any:
    default = setting.default
    if isinstance(default, list):
        entries = [value] if isinstance(value, str) or np.ndim(value) == 0 else list(value)
        return [_scalar(setting.name, default[0], entry) for entry in entries]
    return _scalar(setting.name, default, value)


def _scalar(name: str, example: Any, value: Any) -> Any:
    """Return a value as the type of an example."""
    truth = isinstance(value, bool | np.bool_)
    try:
        if isinstance(example, bool):
            if truth:
                return bool(value)
        elif isinstance(example, str):
            return os.fspath(value)
        elif not truth and not isinstance(value, str):
            return operator.index(value) if isinstance(example, int) else float(value)
    except (TypeError, ValueError):
        pass
    kinds = {bool: "True or False", str: "a text", int: "a whole number", float: "a number"}
    raise ParameterError(f"{name}: expected {kinds[type(example)]}, got {value!r}")


def _number(value: float, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise MessageError("malformed", f"{name}: expected a finite number of seconds, got {value!r}")
    return number


def _array(values: npt.ArrayLike, name: str, shape: tuple[int, ...], names: tuple[str, ...] = ()) -> Array:
    """Return finite numbers of a shape, -1 in it for any size; of velocities NaN may be among them.

    Joints by `names`, where columns are joints.
    """
    try:
        found = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise MessageError("malformed", f"{name}: expected an array of numbers, got {values!r:.100}") from None
    if found.shape == shape and check_state(found, found) == GOOD:
        return found
    if found.ndim != len(shape) or any(b not in (a, -1) for a, b in zip(found.shape, shape, strict=True)):
        text = ", ".join("k" if size < 0 else str(size) for size in shape) + ("," if len(shape) == 1 else "")
        raise MessageError("malformed", f"{name}: expected shape ({text}), got {found.shape}")
    bad = ~(np.abs(found) <= LARGEST)
    if name == "velocity":
        bad &= ~np.isnan(found)
    if bad.any():
        where = tuple(np.argwhere(bad)[0])
        whose = f" of joint {names[where[-1]]}" if names else ""
        raise MessageError("not finite", f"{name}{whose}: expected finite numbers, got {found[where]:g}")
    return found
