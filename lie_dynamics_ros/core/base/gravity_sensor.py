"""Direction of gravity, from an inertial measurement unit on the base of a robot."""

from __future__ import annotations

import math

import numpy as np

from ...lie_dynamics import Model
from ...lie_dynamics.lie import so3
from ..arrays import Array
from ..errors import MessageError
from ..poses import QUATERNION_TOLERANCE, pose_on_root

IMU = "imu"
"""Kind of message, under which those that cannot be used are counted."""
NORM_TOLERANCE = 0.3
"""By what part of gravity a measured acceleration may differ from it: beyond that the base is pushed, not still."""


class GravitySensor:
    """Gravity in the frame of a robot's root link, from what an IMU fixed to that link measures.

    Parameters
    ----------
    model : Model
        Robot whose frames hold the mounting of the IMU; its root link may float.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.clear()

    def clear(self) -> None:
        """Forget what was measured."""
        self.received: int | None = None  # when the last usable message came [ns]
        self._filtered: tuple[str, Array] | None = None  # frame, and specific force in its axes

    def measure(
        self,
        frame: str,
        orientation: Array | None,
        force: Array | None,
        now: int,
        strength: float,
        filter_time: float,
    ) -> Array:
        """Return the acceleration of free fall (3,) in the axes of the root link [m/s^2].

        Parameters
        ----------
        frame : str
            Link or frame of the robot in whose axes the IMU measures; a slash before it counts as none.
        orientation : ndarray, shape (4,), or None
            Quaternion x, y, z, w of the IMU's axes in a world whose z axis points up; None where it is not known.
        force : ndarray, shape (3,), or None
            What accelerometers measure [m/s^2]: upwards at rest. Read where there is no orientation.
        now : int
            Time [ns].
        strength : float
            Length of the result [m/s^2].
        filter_time : float
            Time constant of the first-order low pass that measured accelerations go through [s]; 0 for none.

        Raises
        ------
        MessageError
            The frame is not fixed to the root link, or the numbers cannot be those of an IMU.
        """
        name = frame.removeprefix("/")
        mount = pose_on_root(self._model, name, IMU)
        if orientation is not None:
            up = _up(orientation)
        elif force is not None:
            up = self._low_pass(name, force, now, strength, filter_time)
        else:
            raise MessageError(IMU, "neither orientation nor acceleration is measured: both covariances begin with -1")
        self.received = now
        return np.asarray(mount[:3, :3] @ up * -strength)

    def _low_pass(self, frame: str, force: Array, now: int, strength: float, filter_time: float) -> Array:
        norm = math.hypot(*force.tolist())
        if not abs(norm - strength) <= NORM_TOLERANCE * strength:
            raise MessageError(
                IMU,
                f"an acceleration of {norm:g} m/s^2; expected {strength:g} within {NORM_TOLERANCE:.0%}, as at rest",
            )
        before, received = self._filtered, self.received
        if before is not None and before[0] == frame and received is not None and now >= received and filter_time:
            part = -math.expm1(-(now - received) * 1e-9 / filter_time)
            force = before[1] + part * (force - before[1])
        length = math.hypot(*force.tolist())
        if not length > 0.1 * strength:
            raise MessageError(IMU, f"accelerations that cancel each other: {length:g} m/s^2 on average")
        self._filtered = frame, force
        return np.asarray(force / length)


def _up(quaternion: Array) -> Array:
    """Return the world's z axis in the axes of a body with this orientation, x, y, z, w."""
    norm = math.hypot(*quaternion.tolist())
    if not abs(norm - 1.0) <= QUATERNION_TOLERANCE:
        raise MessageError(IMU, f"an orientation whose quaternion has length {norm:g} instead of 1")
    return np.asarray(so3.from_quaternion(quaternion / norm)[2])
