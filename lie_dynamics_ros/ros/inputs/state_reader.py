"""Joint states into arrays: position and velocity by joint, with nothing in them that is no number but NaN."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from ...core.arrays import Array
from ...core.errors import MessageError
from ...core.joint_mapping import JointMatch
from ...lie_dynamics.control.kernels.signals import BAD_POSITION, BAD_VELOCITY, UNKNOWN_VELOCITY, check_state
from ...lie_dynamics.control.plausibility import StateCheck
from ..wire.messages import read_field

if TYPE_CHECKING:
    from sensor_msgs.msg import JointState

IMPLAUSIBLE = "implausible"
"""What states that no motion explains are counted under."""


class StateFields:
    """Position and velocity of a joint state in arrays that stay.

    Parameters
    ----------
    size : int
        Number of joints.

    Attributes
    ----------
    position, velocity : ndarray, shape (size,)
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.position, self.velocity = np.zeros(size), np.zeros(size)
        self._position, self._velocity = memoryview(self.position), memoryview(self.velocity)

    def fill(self, message: JointState, match: JointMatch) -> None:
        """Copy the fields in model order; velocities that are absent are NaN.

        Raises
        ------
        MessageError
            Joints are missing or named twice, or a field has the wrong length.
        """
        position, velocity = message.position, message.velocity
        size, given = self._size, len(velocity)
        if match.identity and len(position) == size and (given == size or not given):
            # Copies of bytes between views cost a fraction of what numpy takes to look at an array.
            self._position[:] = position
            if given:
                self._velocity[:] = velocity
            else:
                self.velocity.fill(nan)
            return
        if not match.complete:
            raise MessageError("missing joints" if match.missing else "ambiguous joints", match.problem)
        self.position[:] = read_field(position, match, "position")
        self.velocity[:] = read_field(velocity, match, "velocity") if given else nan


class JointStateReader:
    """Reads joint states of one robot into arrays that it fills again and again.

    What a state left in the arrays stays until the second good state after it; a state that is refused changes nothing
    that was returned.

    Parameters
    ----------
    size : int
        Number of joints.
    check : StateCheck, optional
        Refuses states that no motion explains.
    names : sequence of str
        The joints, for messages about these.
    """

    def __init__(self, size: int, check: StateCheck | None = None, names: Sequence[str] = ()) -> None:
        self._free, self._used = StateFields(size), StateFields(size)
        self._check, self._names = check, names
        check_state(self._free.position, self._free.velocity)  # what needs compiling is compiled now

    @property
    def relocated(self) -> bool:
        """Whether the last state is where the robot was not expected, so that velocities are to be found anew."""
        return self._check is not None and self._check.relocated

    def forget(self) -> None:
        """Forget the last state: the robot may be anywhere in the next one."""
        if self._check is not None:
            self._check.forget()

    def read(self, message: JointState, match: JointMatch, stamp: int = 0) -> tuple[Array, Array, bool]:
        """Position [rad or m] and velocity [rad/s or m/s] of a JointState in model order, each of shape (n,).

        `stamp` is the time of the state [ns].

        Velocities are NaN where they are absent: ros2_control leaves out the field, or sends NaN for single joints.

        Returns
        -------
        position : ndarray, shape (n,)
        velocity : ndarray, shape (n,)
            The caller may change it.
        unknown : bool
            Whether any velocity is NaN.

        Raises
        ------
        MessageError
            Joints are missing or named twice, a field has the wrong length, a position is not finite or a velocity
            is infinite, for which numbers beyond `LARGEST` of `control.kernels.signals` count; or a lone state that no
            motion explains.
        """
        fields = self._free
        fields.fill(message, match)
        found = check_state(fields.position, fields.velocity)
        if found == BAD_POSITION:
            raise MessageError("not finite", "positions that are not finite numbers")
        if found == BAD_VELOCITY:
            raise MessageError("not finite", "velocities that are infinite")
        if self._check is not None and (bad := self._check.find(stamp, fields.position, fields.velocity)):
            joint, what = bad
            told = f"joint {self._names[joint]}: {what} {getattr(fields, what)[joint]:.4g}"
            raise MessageError(IMPLAUSIBLE, f"{told}, to which no motion leads from the state before")
        self._free, self._used = self._used, fields
        return fields.position, fields.velocity, found == UNKNOWN_VELOCITY
