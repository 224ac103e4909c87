"""What comes in for one robot, by joint: states with the wrenches that act, and the names in all other messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...core.errors import ConfigurationError
from ...core.external_wrenches import ExternalWrenches
from ...core.joint_mapping import JointMapping
from ...core.robot_state import RobotState
from ...lie_dynamics import Model
from ..wire.messages import read_efforts
from .state_reader import JointStateReader

if TYPE_CHECKING:
    from sensor_msgs.msg import JointState


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
    with_effort : bool
        Whether states need measured efforts.
    """

    def __init__(self, model: Model, joints: Sequence[str]) -> None:
        names = model.joint_names
        _check_joints(names, joints)
        self.joints = tuple(joints) or names
        self.order: NDArray[np.intp] | None = None
        if self.joints != names:
            self.order = np.array([names.index(joint) for joint in self.joints], dtype=np.intp)
        self._states, self.commands = JointMapping(names), JointMapping(names)
        self.unnamed = JointMapping(names).match(self.joints)
        self.wrenches, self.wrench_timeout = ExternalWrenches(model), 0
        self.with_effort = False
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
        position, velocity, assumed = self._reader.read(message, match)
        if assumed:
            self._assumed.add("velocities")
        effort = None
        if self.with_effort:
            effort, assumed = read_efforts(message, match)
            if assumed:
                self._assumed.add("measured efforts")
        wrenches = self.wrenches.on_bodies(now, self.wrench_timeout)
        return RobotState(stamp, position, velocity, wrenches, age, now, effort)

    def forget(self) -> None:
        """Forget the wrenches, because time no longer says how old they are."""
        self.wrenches.clear()

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
