"""Joint states into arrays: position and velocity by joint, with nothing in them that is no number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.arrays import Array
from ...core.errors import MessageError
from ...core.joint_mapping import JointMatch
from ...lie_dynamics.control.kernels.signals import ASSUMED, BAD_POSITION, BAD_VELOCITY, clean_state
from ..wire.messages import read_field

if TYPE_CHECKING:
    from sensor_msgs.msg import JointState


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

    def fill(self, message: JointState, match: JointMatch) -> bool:
        """Copy the fields in model order, and tell whether there are velocities; without, they are zero.

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
                return True
            self.velocity.fill(0.0)
            return False
        if not match.complete:
            raise MessageError("missing joints" if match.missing else "ambiguous joints", match.problem)
        self.position[:] = read_field(position, match, "position")
        self.velocity[:] = read_field(velocity, match, "velocity") if given else 0.0
        return given > 0


class JointStateReader:
    """Reads joint states of one robot into arrays that it fills again and again.

    What a state left in the arrays stays until the second good state after it; a state that is refused changes nothing
    that was returned.

    Parameters
    ----------
    size : int
        Number of joints.
    """

    def __init__(self, size: int) -> None:
        self._free, self._used = StateFields(size), StateFields(size)
        clean_state(self._free.position, self._free.velocity)  # what needs compiling is compiled now

    def read(self, message: JointState, match: JointMatch) -> tuple[Array, Array, bool]:
        """Position [rad or m] and velocity [rad/s or m/s] of a JointState in model order, each of shape (n,).

        A velocity field that is absent, and single velocities that are NaN (ros2_control sends both), count as zero.

        Returns
        -------
        position : ndarray, shape (n,)
        velocity : ndarray, shape (n,)
        assumed : bool
            Whether any velocity had to be taken as zero.

        Raises
        ------
        MessageError
            Joints are missing or named twice, a field has the wrong length, a position is not finite or a velocity
            is infinite, for which numbers beyond `LARGEST` of `control.kernels.signals` count.
        """
        fields = self._free
        moving = fields.fill(message, match)
        found = clean_state(fields.position, fields.velocity)
        if found == BAD_POSITION:
            raise MessageError("not finite", "positions that are not finite numbers")
        if found == BAD_VELOCITY:
            raise MessageError("not finite", "velocities that are infinite")
        self._free, self._used = self._used, fields
        return fields.position, fields.velocity, found == ASSUMED or not moving
