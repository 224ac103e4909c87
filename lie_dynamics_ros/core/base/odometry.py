"""Motion of the root link of a robot, from odometry."""

from __future__ import annotations

import numpy as np

from ...lie_dynamics import Model
from ...lie_dynamics.lie import quaternion, se3
from ...lie_dynamics.texts import quoted
from ..arrays import Array, all_finite
from ..errors import MessageError
from ..expiring_value import ExpiringValue
from ..poses import pose_on_root

ODOMETRY = "odometry"
"""Kind of message, under which those that cannot be used are counted, and states without any."""
FASTEST = 1e6
"""Largest component of a twist, or of its rate, that is taken for one [rad/s, m/s, and per s]."""
OVERTAKEN = 500_000_000
"""Time stamps that go back by no more than this [ns] are those of messages that were overtaken; more, another time."""


class Odometry:
    """The last pose and twist of a root link, turned on to the time of each state.

    Parameters
    ----------
    model : Model
        The robot on a root link that floats, whose frames say where on it odometry is measured.

    Attributes
    ----------
    timeout : int
        How far the times of a state and of the odometry for it may be apart [ns]; 0 for no limit.
    frame : str
        Expected frame of the poses; empty for any.
    acceleration : ExpiringValue
        Rate of the twist, shape (6,), that the root link is to have, in its frame [rad/s^2, m/s^2].
    problem : str
        Why the last message could not be used; empty where it could.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.timeout, self.frame = 0, ""
        self.acceleration: ExpiringValue[Array] = ExpiringValue()
        self.forget()

    def forget(self) -> None:
        """Forget what was given, because its age is no longer known."""
        self.problem = ""
        self.stamp: int | None = None
        self._told: tuple[Array, Array] | None = None
        self.acceleration.clear()

    def take(self, frame: str, child: str, pose: Array, twist: Array, stamp: int) -> None:
        """Take in a message.

        Parameters
        ----------
        frame, child : str
            Frame that the pose is given in, and the link or frame that it is the pose of; a slash before them counts
            as none.
        pose : ndarray, shape (4, 4)
            [m]
        twist : ndarray, shape (6,)
            (angular, linear) of the origin of ``child``, in its axes [rad/s, m/s].
        stamp : int
            Time [ns].

        Raises
        ------
        MessageError
            Numbers or frames cannot be those of the root link, or a later message was taken before.
        """
        frame, child = frame.removeprefix("/"), child.removeprefix("/")
        if self.frame and frame != self.frame:
            raise MessageError(ODOMETRY, f"a pose in the frame {quoted(frame)}; odometry_frame is {quoted(self.frame)}")
        mount = pose_on_root(self._model, child, ODOMETRY)
        check_rates(twist, ODOMETRY, "odometry with a twist")
        if self.stamp is not None and 0 < self.stamp - stamp <= OVERTAKEN:
            raise MessageError(ODOMETRY, f"a message {(self.stamp - stamp) * 1e-9:.6f} s older than the one before")
        position = np.zeros(7)
        position[:4] = quaternion.from_matrix(pose[:3, :3] @ mount[:3, :3].T)
        self.problem = ""
        self.stamp, self._told = stamp, (position, se3.transform_twist(mount, twist))

    def accelerate(self, frame: str, rate: Array, now: int) -> None:
        """Take in the rate of the twist that is to be, in a frame, at a time [ns]; raises MessageError."""
        check_rates(rate, ODOMETRY, "an acceleration of the base")
        mount = pose_on_root(self._model, frame.removeprefix("/"), ODOMETRY)
        self.acceleration.put(se3.transform_twist(mount, rate), now)

    def at(self, stamp: int, now: int) -> tuple[Array, Array, Array]:
        """Return quaternion x, y, z, w and position (7,), twist (6,) and its rate (6,) at the time of a state.

        The last orientation is turned on, or back, by the twist, whose rate is zero where none was given; places
        have no part in dynamics under uniform gravity, and stay zero.

        Parameters
        ----------
        stamp, now : int
            Time of the state, and of its arrival [ns].

        Raises
        ------
        MessageError
            Nothing was given, or that of another time.
        """
        why = f" ({self.problem})" if self.problem else ""
        if self._told is None or self.stamp is None:
            raise MessageError(ODOMETRY, f"no odometry could be used yet{why}")
        late = (stamp - self.stamp) * 1e-9
        if self.timeout and abs(late) * 1e9 > self.timeout:
            raise MessageError(
                ODOMETRY,
                f"odometry {abs(late):.3f} s {'older' if late > 0.0 else 'newer'} than the state; "
                f"base_timeout is {self.timeout * 1e-9:g} s{why}",
            )
        position, twist = self._told
        position = position.copy()
        position[:4] = quaternion.multiply(position[:4], quaternion.exp(late * twist[:3]))
        rate = self.acceleration.at(now, self.timeout)
        return position, twist, np.zeros(6) if rate is None else rate


def check_rates(rates: Array, kind: str, what: str) -> None:
    """Raise MessageError for rates of what carries a robot that are not finite or beyond `FASTEST`."""
    if not all_finite(rates) or np.abs(rates).max() > FASTEST:
        raise MessageError(kind, f"{what} that is not finite or beyond {FASTEST:g}")
