"""What every node for one robot prepares, so that nothing of it is done again for each state. No messages in here."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..lie_dynamics import Model
from ..ros.inputs.state_reader import JointStateReader
from .arrays import Array
from .errors import ConfigurationError
from .external_wrenches import ExternalWrenches
from .joint_mapping import JointMapping
from .robot_options import RobotOptions

if TYPE_CHECKING:
    from typing_extensions import Self


class RobotTask:
    """One robot and its present state.

    Parameters
    ----------
    model : Model
        Every joint must have one coordinate, because a JointState has one position per joint.
    joints : sequence of str
        Joints of the outputs, in this order; none stands for all, in model order.
    options : RobotOptions
        What the dynamics include.

    Raises
    ------
    ConfigurationError
        Such a robot, or such joints, cannot be used.

    Attributes
    ----------
    position, velocity : ndarray, shape (n,)
        State in model order [rad or m, and per s].
    joints : tuple of str
        Joints of the outputs.
    states, commands, requests : JointMapping
        Match the names in states, commands and service requests against the model's joints.
    reader : JointStateReader
        Reads states; the present one is in its arrays.
    wrenches : ExternalWrenches
        Wrenches that act on the robot.
    options : RobotOptions
    dynamics : Model
        The model with all that the options include.

    Notes
    -----
    An effort limit of zero counts as none: exporters write it where no limit was entered, and a joint that may
    exert no effort needs no answer.
    """

    def __init__(self, model: Model, joints: Sequence[str], options: RobotOptions) -> None:
        self.model = model
        names = model.joint_names
        _check_joints(model, joints)
        self.joints = tuple(joints) or names
        self.wrenches = ExternalWrenches(model)
        self.states, self.commands, self.requests = (JointMapping(names) for _ in range(3))
        self._order: NDArray[np.intp] | None = None
        if self.joints != names:
            self._order = np.array([names.index(joint) for joint in self.joints], dtype=np.intp)
        n = len(names)
        self.reader = JointStateReader(n)
        self.position, self.velocity, self.zero = np.zeros(n), np.zeros(n), np.zeros(n)
        # Without a limit the largest float: infinity and NaN lie outside of it as well.
        limited = (model.limits.effort > 0.0) & np.isfinite(model.limits.effort)
        self.limit = np.where(limited, model.limits.effort, np.finfo(float).max)
        self.saturated: NDArray[np.bool_] = np.zeros(n, dtype=bool)
        self.set_options(options)

    def set_options(self, options: RobotOptions) -> None:
        """Apply options; raises ParameterError where the robot cannot have them. Changes no array in place."""
        self.dynamics = options.apply(self.model)
        self.options = options

    def with_options(self, options: RobotOptions) -> Self:
        """Return a task for the same robot in the same state with other options, as ready as this one.

        Raises whatever stands against them, and leaves this one as it was.
        """
        other = copy.copy(self)
        other.set_options(options)
        return other

    def select(self, values: Array) -> Array:
        """Bring values from model order into the order of the outputs."""
        return values if self._order is None else values[self._order]

    def take_saturated(self) -> tuple[str, ...]:
        """Joints whose efforts were limited since the last call."""
        names = tuple(np.array(self.model.joint_names)[self.saturated])
        self.saturated[:] = False
        return names


def _check_joints(model: Model, joints: Sequence[str]) -> None:
    names = model.joint_names
    if not names:
        raise ConfigurationError("the robot has no joint that moves")
    for name in names:
        joint = model.joint(name)
        if joint.q_slice.stop - joint.q_slice.start != 1:
            raise ConfigurationError(
                f"joint {name!r} is of kind {joint.kind!r}; a JointState holds one position per joint, "
                "so only joints with one coordinate can be used"
            )
    unknown = [joint for joint in joints if joint not in names]
    if unknown:
        raise ConfigurationError(
            f"parameter joints: the robot has no moving joint {', '.join(unknown)}; it has {', '.join(names)}"
        )
    if len(set(joints)) != len(joints):
        raise ConfigurationError(f"parameter joints names a joint twice: {', '.join(joints)}")
