"""Inputs for one robot, by joint: states with the wrenches that act, and the names in all other messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import ConfigurationError, MessageError, WaitingError
from ...core.expiring_values import ExpiringValue, ExternalWrenches
from ...core.joint_mapping import JointMapping, JointMatch
from ...core.moving_base import GravitySensor, MovingBase, Odometry, check_rates
from ...core.parameters import Parameters, parameter
from ...core.robot_state import BaseState, RobotState
from ...core.turns import Turns, Unwinding
from ...lie_dynamics import Model
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control import VelocityFilter, velocity_delay, velocity_noise
from ...lie_dynamics.control.plausibility import StateCheck
from ..wire.messages import first_point, read_efforts, read_rates
from .joint_states import LONGEST_WAIT, JointStateReader, PartialStates

if TYPE_CHECKING:
    from sensor_msgs.msg import JointState
    from trajectory_msgs.msg import JointTrajectory

NAMED = 100
"""Joints that the log and the diagnostics name; nobody reads more."""
VELOCITY_SOURCES = ("auto", "measured", "filtered")
USUAL_TIME = 0.005
"""Time constant of velocities found in positions [s]."""
EFFORTS = "measured efforts"


@dataclass(frozen=True)
class VelocityParameters(Parameters):
    """Source of joint velocities."""

    velocity_source: str = parameter(
        VELOCITY_SOURCES[0],
        "Velocities of joints: measured, and found in positions where they are absent or NaN; all measured, with zero "
        "where they are absent; or all found in positions, for drivers whose velocities are noisy.",
        choices=VELOCITY_SOURCES,
    )
    velocity_filter_time: float = parameter(
        USUAL_TIME, "Time constant of velocities that are found in positions [s].", low=1e-4, high=1.0
    )


@dataclass
class Arrivals:
    """When states arrived [ns], None for not yet."""

    read: int | None = None  # the last one that was read
    strange: int | None = None  # the first one that named no joint of this robot
    part: int | None = None  # the last one that did not name all joints

    def serve(self, now: int, patience: float) -> bool:
        """Return whether a state has been read lately."""
        return self.read is not None and now - self.read <= patience

    def mix(self, now: int, partial: PartialStates) -> bool:
        """Return whether states that do not name all joints come beside those that do, and both are answered."""
        if self.part is not None and (now - self.part > partial.patience or not self.serve(now, partial.patience)):
            self.part = None
            partial.forget()
        return self.part is not None


class RobotInputs:
    """Makes one value of each state.

    Parameters
    ----------
    model : Model
    joints : sequence of str
        Joints of the outputs, and of inputs without names, in this order; none stands for all, in model order.
    base : MovingBase, optional
        What carries the robot, where that moves: its joints are read besides the robot's own, and odometry.
    commanded, measured : sequence of str, optional
        Joints in other messages, and those in states; both are all joints where they are left out.

    Raises
    ------
    ConfigurationError
        The robot has no such joints.

    Attributes
    ----------
    joints, order : tuple of str, ndarray of int
        Joints of the outputs, and their places in model order; None where they are all joints in that order.
    commands, unnamed : JointMapping, JointMatch
        Match the names in messages besides states, and inputs without names.
    wrench_timeout : int
        Age [ns] beyond which external wrenches count as none; 0 for no limit.
    base_timeout : float
        Age [s] beyond which accelerations of the joints that carry count as zero; 0 for no limit.
    with_effort, need_effort : bool
        Whether states need measured efforts, and whether those without are refused; else absent ones are zero.
    acceleration : ndarray, shape (n,), or None
        That the robot is expected to have had since the last state [rad/s^2, m/s^2].
    """

    def __init__(
        self,
        model: Model,
        joints: Sequence[str],
        base: MovingBase | None = None,
        commanded: Sequence[str] = (),
        measured: Sequence[str] = (),
    ) -> None:
        names = tuple(commanded) or model.joint_names
        _check_joints(names, joints)
        self.joints = tuple(joints) or names
        self.order: NDArray[np.intp] | None = None
        if self.joints != names:
            self.order = np.array([names.index(joint) for joint in self.joints], dtype=np.intp)
        self._base, whole = base, model if base is None else base.whole
        self._names = (tuple(measured) or names) if base is None else (*base.joints, *names)
        self._carriers, self._bodies = 0 if base is None else len(base.joints), model.n_bodies
        self._states, self.commands = JointMapping(self._names), JointMapping(names)
        self.unnamed = JointMapping(names).match(self.joints)
        self._carrying = JointMapping(self._names[: self._carriers])
        self._told: ExpiringValue[Array] = ExpiringValue()  # accelerations of the joints that carry
        self.base_timeout = 0.0
        self.odometry = Odometry(whole) if base is not None and base.floating else None
        self.wrenches, self.wrench_timeout = ExternalWrenches(whole if self.odometry is not None else model), 0
        self.gravity = GravitySensor(whole)
        self.with_effort = self.need_effort = False
        found = Turns.of(whole, self._names)
        turns, self._unwinding = found.endless, Unwinding(found)
        self.velocity_source, self.velocities = VELOCITY_SOURCES[0], VelocityFilter(len(turns), USUAL_TIME, turns)
        self.acceleration: Array | None = None
        fastest = np.array([whole.limits.velocity[whole.joint(name).v_slice.start] for name in self._names])
        self._estimates = False
        self._arrivals = Arrivals()
        self._reader = JointStateReader(len(turns), StateCheck(fastest, turns), self._names)
        self.partial = PartialStates(
            self._names, turns, fastest, _mimics(whole, self._names), (self._reader, self.velocities)
        )
        self._assumed: set[str] = set()

    @property
    def measured(self) -> tuple[str, ...]:
        """Joints in states, in the order in which they are kept."""
        return self._names

    def as_told(self, position: Array) -> Array:
        """Return positions (n,), in model order, by the turns that the last state counted in its message."""
        turned = self._unwinding.turned
        if turned is None or len(turned) != self._carriers + len(position):
            return position
        return np.asarray(position - turned[self._carriers :])

    def read(self, message: JointState, stamp: int, now: int, age: float) -> RobotState:
        """Return the state in a message of a time, which arrived [ns] when it was so old [s]; 0 for not known.

        Raises MessageError where it does not hold a state of the robot.
        """
        match = self._states.match(message.name)
        if match.missing or (self._arrivals.part is not None and self._arrivals.mix(now, self.partial)):
            return self._read_part(message, match, stamp, now, age)
        position, velocity, unknown = self._reader.read(message, match, stamp)
        source, filter_ = self.velocity_source, self.velocities
        if self._reader.relocated:
            filter_.forget()
        if unknown and source == "measured":
            velocity[np.isnan(velocity)] = 0.0
            self._assumed.add("velocities")
        if filter_.fill(stamp, position, velocity, self._expected(), source == "filtered"):
            self._estimates = True
        effort = None
        if self.with_effort:
            effort, assumed = read_efforts(message, match)
            if assumed:
                self._lacks({EFFORTS})
        return self._make(stamp, position, velocity, effort, now, age, filter_.time)

    def _read_part(self, message: JointState, match: JointMatch, stamp: int, now: int, age: float) -> RobotState:
        """Return the state that a message completes; raises WaitingError where others do."""
        arrivals = self._arrivals
        served = arrivals.serve(now, self.partial.patience)
        if message.name and len(match.missing) == len(self._names):
            if arrivals.strange is None:
                arrivals.strange = now
            if served or 0 <= now - arrivals.strange <= LONGEST_WAIT:
                raise WaitingError("it names no joint of this robot, whose states come from others")
        if match.missing:
            arrivals.part = now
            if served and not self.partial.led:  # those that name all joints are put together from the next one on
                self.partial.take(message, match, stamp, self._expected(), self.velocity_source, self.with_effort)
                raise WaitingError("kept for states of all joints")
        position, velocity, effort, told = self.partial.read(
            message, match, stamp, self._expected(), self.velocity_source, self.with_effort
        )
        self._estimates |= "filter" in told
        self._lacks(told - {"filter"})
        return self._make(stamp, position, velocity, effort if self.with_effort else None, now, age, self.partial.time)

    def _lacks(self, what: set[str]) -> None:
        """Take note of what a state lacks and is taken as zero; raises MessageError where that may not be."""
        if self.need_effort and EFFORTS in what:
            raise MessageError("no efforts", "measured efforts are absent or NaN")
        self._assumed |= what

    def carry(self, message: JointTrajectory, now: int) -> None:
        """Take in accelerations of the joints that carry, by name, at a time [ns]; raises MessageError."""
        match = self._carrying.match(message.joint_names)
        rates = read_rates(first_point(message).accelerations, match, "accelerations")
        check_rates(rates, "desired accelerations", "an acceleration of a joint that carries the robot")
        self._told.put(rates, now)

    def _expected(self) -> Array | None:
        """Return the accelerations that are expected of all joints that are read; none of those that carry."""
        if self.acceleration is None or not self._carriers:
            return self.acceleration
        return np.concatenate((np.zeros(self._carriers), self.acceleration))

    def _make(
        self, stamp: int, position: Array, velocity: Array, effort: Array | None, now: int, age: float, time: float
    ) -> RobotState:
        """Make a state of what was read of all joints; raises MessageError where the base's own is missing."""
        wrenches, k = self.wrenches.on_bodies(now, self.wrench_timeout), self._carriers
        time = time if self._estimates else 0.0
        self._arrivals.read = now
        position = self._unwinding.unwind(stamp, position, velocity)
        if self._base is None:
            return RobotState(stamp, position, velocity, wrenches, age, now, effort, time)
        told = (np.zeros(0),) * 3
        if self.odometry is not None:
            told = self.odometry.at(stamp, now)
        rate = self._told.at(now, self.base_timeout)
        joints = position[:k], velocity[:k], np.zeros(k) if rate is None else rate
        carried = BaseState(*(np.concatenate(both) for both in zip(told, joints, strict=True)), wrenches)
        if wrenches is not None:
            wrenches = wrenches[-self._bodies :]
        own = None if effort is None else effort[k:]
        return RobotState(stamp, position[k:], velocity[k:], wrenches, age, now, own, time, carried)

    def forget(self) -> None:
        """Forget wrenches and positions before, because their age is no longer known."""
        self.wrenches.clear()
        self.gravity.clear()
        self._told.clear()
        if self.odometry is not None:
            self.odometry.forget()
        self.velocities.forget()
        self._unwinding.forget()
        self.partial.forget()
        self._arrivals = Arrivals()
        self._estimates = False

    def describe(self, values: dict[str, Any]) -> None:
        """Write into a diagnostic report how states came since the last one, and where velocities came from."""
        _describe(values, "", self._names, self.velocities)
        if self.partial.followers:
            values["joints that follow those they mimic"] = ", ".join(self.partial.followers[:NAMED])
        for part in self.partial.parts:
            if part.reads_all:
                continue
            names = [self._names[k] for k in part.joints]
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            _describe(values, f" of {names[0]}{more}", names, part.velocities)

    def take_assumed(self) -> tuple[str, ...]:
        """Return what was absent or NaN in states, and taken as zero, since the last call."""
        assumed = tuple(sorted(self._assumed, reverse=True))
        self._assumed.clear()
        return assumed


def _describe(values: dict[str, Any], whose: str, names: Sequence[str], velocities: VelocityFilter) -> None:
    """Write down what a filter found of the states of some joints."""
    found, time = velocities.take_sampling(), velocities.time
    if not found.periods:
        return
    values[f"state period{whose} [ms]"] = (
        f"mean {found.period * 1e3:.3f}, standard deviation {found.jitter * 1e3:.3f}, longest {found.longest * 1e3:.3f}"
    )
    if not np.isnan(found.resolution).all():
        joint = int(np.nanargmax(found.resolution))
        change = f"at most {found.resolution[joint]:.2g} rad or m ({names[joint]})"
        values[f"smallest change of a position{whose}"] = change
    filled = [name for name, is_filled in zip(names, found.filled, strict=True) if is_filled]
    values[f"velocities found in positions{whose}"] = (
        f"{', '.join(filled[:NAMED])}; {velocity_delay(time, found.period) * 1e3:.2f} ms late, "
        f"with {velocity_noise(time, found.period):.0f} 1/s times the noise of positions"
        if filled
        else "none"
    )


def _mimics(model: Model, names: Sequence[str]) -> list[tuple[int, int, float, float]]:
    """Return the joints, by place among the names, that follow another of these; what is followed comes first."""
    place, found = {name: k for k, name in enumerate(names)}, dict[str, tuple[int, int, float, float]]()
    waiting = {name: model.joint(name).mimic for name in names}
    count = -1
    while count != len(found):
        count = len(found)
        for name, mimic in waiting.items():
            if mimic is not None and name not in found and mimic[0] in place:
                leader = waiting[mimic[0]]
                if leader is None or leader[0] not in place or mimic[0] in found:
                    found[name] = (place[name], place[mimic[0]], *mimic[1:])
    return list(found.values())


def _check_joints(names: Sequence[str], joints: Sequence[str]) -> None:
    unknown = [joint for joint in joints if joint not in names]
    if unknown:
        raise ConfigurationError(
            f"parameter joints: the robot has no moving joint {', '.join(unknown)}; it has {', '.join(names)}"
        )
    if len(set(joints)) != len(joints):
        raise ConfigurationError(f"parameter joints names a joint twice: {', '.join(joints)}")
