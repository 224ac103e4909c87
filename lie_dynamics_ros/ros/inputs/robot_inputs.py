"""What comes in for one robot, by joint: states with the wrenches that act, and the names in all other messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.errors import ConfigurationError
from ...core.external_wrenches import ExternalWrenches
from ...core.gravity_sensor import GravitySensor
from ...core.joint_mapping import JointMapping
from ...core.robot_state import RobotState
from ...core.setting import Setting
from ...lie_dynamics import Model
from ...lie_dynamics.control import VelocityFilter, velocity_delay, velocity_noise
from ..wire.messages import read_efforts
from .state_reader import JointStateReader

if TYPE_CHECKING:
    from sensor_msgs.msg import JointState

NAMED = 100
"""Joints that the log and the diagnostics name; nobody reads more."""
VELOCITY_SOURCES = ("auto", "measured", "filtered")
USUAL_TIME = 0.005
"""Time constant of velocities found in positions [s]."""
VELOCITY_SETTINGS = (
    Setting(
        "velocity_source",
        VELOCITY_SOURCES[0],
        "Velocities of joints: measured, and found in positions where they are absent or NaN; all measured, with zero "
        "where they are absent; or all found in positions, for drivers whose velocities are noisy.",
        choices=VELOCITY_SOURCES,
    ),
    Setting(
        "velocity_filter_time",
        USUAL_TIME,
        "Time constant of velocities that are found in positions [s].",
        low=1e-4,
        high=1.0,
    ),
)


class RobotInputs:
    """Makes one value of each state.

    Parameters
    ----------
    model : Model
    joints : sequence of str
        Joints of the outputs, and of inputs without names, in this order; none stands for all, in model order.

    Raises
    ------
    ConfigurationError
        The robot has no such joints.

    Attributes
    ----------
    joints : tuple of str
        Joints of the outputs.
    order : ndarray of int, or None
        Their places in model order; None where they are all joints in that order.
    commands : JointMapping
        Matches the names in messages besides states.
    unnamed : JointMatch
        Where joints stand in inputs without names.
    wrenches : ExternalWrenches
        Wrenches that act on the robot.
    wrench_timeout : int
        Age [ns] beyond which they count as none; 0 for no limit.
    gravity : GravitySensor
        Which way is down, where an IMU tells.
    with_effort : bool
        Whether states need measured efforts.
    velocity_source : str
        One of `VELOCITY_SOURCES`.
    velocities : VelocityFilter
        Finds velocities in positions.
    acceleration : ndarray, shape (n,), or None
        That the robot is expected to have had since the last state [rad/s^2, m/s^2].
    """

    def __init__(self, model: Model, joints: Sequence[str]) -> None:
        names = model.joint_names
        _check_joints(names, joints)
        self.joints = tuple(joints) or names
        self.order: NDArray[np.intp] | None = None
        if self.joints != names:
            self.order = np.array([names.index(joint) for joint in self.joints], dtype=np.intp)
        self._names = names
        self._states, self.commands = JointMapping(names), JointMapping(names)
        self.unnamed = JointMapping(names).match(self.joints)
        self.wrenches, self.wrench_timeout = ExternalWrenches(model), 0
        self.gravity = GravitySensor(model)
        self.with_effort = False
        turns = [model.joint(name).kind == "continuous" for name in names]
        self.velocity_source, self.velocities = VELOCITY_SOURCES[0], VelocityFilter(len(names), USUAL_TIME, turns)
        self.acceleration: Array | None = None
        self._estimates = False
        self._reader = JointStateReader(len(names))
        self._assumed: set[str] = set()

    def read(self, message: JointState, stamp: int, now: int, age: float) -> RobotState:
        """Return the state in a message.

        Parameters
        ----------
        message : JointState
        stamp, now : int
            Time of the state, and of its arrival [ns].
        age : float
            How old it was then [s]; 0 where that is not known.

        Raises
        ------
        MessageError
            The message does not hold a state of the robot.
        """
        match = self._states.match(message.name)
        position, velocity, unknown = self._reader.read(message, match)
        source, filter_ = self.velocity_source, self.velocities
        if unknown and source == "measured":
            velocity[np.isnan(velocity)] = 0.0
            self._assumed.add("velocities")
        if filter_.fill(stamp, position, velocity, self.acceleration, source == "filtered"):
            self._estimates = True
        effort = None
        if self.with_effort:
            effort, assumed = read_efforts(message, match)
            if assumed:
                self._assumed.add("measured efforts")
        wrenches = self.wrenches.on_bodies(now, self.wrench_timeout)
        time = filter_.time if self._estimates else 0.0
        return RobotState(stamp, position, velocity, wrenches, age, now, effort, time)

    def forget(self) -> None:
        """Forget wrenches and positions before, because time no longer says how old they are."""
        self.wrenches.clear()
        self.gravity.clear()
        self.velocities.forget()
        self._estimates = False

    def describe(self, values: dict[str, Any]) -> None:
        """Write into a diagnostic report how states came since the last one, and where velocities came from."""
        found, time = self.velocities.take_sampling(), self.velocities.time
        if not found.periods:
            return
        period, names = found.period, [name for name, filled in zip(self._names, found.filled, strict=True) if filled]
        values["state period [ms]"] = (
            f"mean {period * 1e3:.3f}, standard deviation {found.jitter * 1e3:.3f}, longest {found.longest * 1e3:.3f}"
        )
        if not np.isnan(found.resolution).all():
            joint = int(np.nanargmax(found.resolution))
            values["smallest change of a position"] = (
                f"at most {found.resolution[joint]:.2g} rad or m ({self._names[joint]})"
            )
        values["velocities found in positions"] = "none"
        if names:
            values["velocities found in positions"] = (
                f"{', '.join(names[:NAMED])}; {velocity_delay(time, period) * 1e3:.2f} ms late, "
                f"with {velocity_noise(time, period):.0f} 1/s times the noise of positions"
            )

    def take_assumed(self) -> tuple[str, ...]:
        """Return what was absent or NaN in states, and taken as zero, since the last call."""
        assumed = tuple(sorted(self._assumed, reverse=True))
        self._assumed.clear()
        return assumed


def _check_joints(names: Sequence[str], joints: Sequence[str]) -> None:
    unknown = [joint for joint in joints if joint not in names]
    if unknown:
        raise ConfigurationError(
            f"parameter joints: the robot has no moving joint {', '.join(unknown)}; it has {', '.join(names)}"
        )
    if len(set(joints)) != len(joints):
        raise ConfigurationError(f"parameter joints names a joint twice: {', '.join(joints)}")
