"""Moving bases: what carries a robot, its motion by odometry and an IMU, and the joint forces by that motion."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import numpy as np

from ..lie_dynamics import Model, forward_kinematics, hybrid_dynamics, inverse_dynamics
from ..lie_dynamics.arrays import Array, Mask, all_finite
from ..lie_dynamics.lie import quaternion, se3, so3
from ..lie_dynamics.texts import quoted
from .errors import ConfigurationError, MessageError
from .expiring_values import ExpiringValue
from .frames import QUATERNION_TOLERANCE, pose_on_root
from .robot_options import RobotOptions
from .robot_state import RobotState

IMU = "imu"
"""Kind of message, under which those that cannot be used are counted."""
NORM_TOLERANCE = 0.3
"""By what part of gravity a measured acceleration may differ from it: beyond that the base is pushed, not still."""


class GravitySensor:
    """Gravity in the frame of a robot's root link, which may float, from what an IMU fixed to that link measures.

    The model's frames hold the mounting of the IMU.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.received: int | None = None  # when the last usable message came [ns]
        self._filtered: tuple[str, Array] | None = None  # frame, and specific force in its axes

    def clear(self) -> None:
        """Forget what was measured."""
        self.received = self._filtered = None

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


def _up(orientation: Array) -> Array:
    """Return the world's z axis in the axes of a body with this orientation, x, y, z, w."""
    norm = math.hypot(*orientation.tolist())
    if not abs(norm - 1.0) <= QUATERNION_TOLERANCE:
        raise MessageError(IMU, f"an orientation whose quaternion has length {norm:g} instead of 1")
    return np.asarray(so3.from_quaternion(orientation / norm)[2])


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
    timeout : float
        How far the times of a state and of the odometry for it may be apart [s]; 0 for no limit.
    frame : str
        Expected frame of the poses; empty for any.
    acceleration : ExpiringValue
        Rate of the twist, shape (6,), that the root link is to have, in its frame [rad/s^2, m/s^2].
    problem : str
        Why the last message could not be used; empty where it could.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.timeout, self.frame = 0.0, ""
        self.acceleration: ExpiringValue[Array] = ExpiringValue()
        self.problem = ""
        self.stamp: int | None = None
        self._told: tuple[Array, Array] | None = None

    def forget(self) -> None:
        """Forget what was given, because its age is no longer known."""
        self.problem, self.stamp, self._told = "", None, None
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
        if self.timeout and abs(late) > self.timeout:
            raise MessageError(
                ODOMETRY,
                f"odometry {abs(late):.3f} s {'older' if late > 0.0 else 'newer'} than the state; "
                f"base_timeout is {self.timeout:g} s{why}",
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


class MovingBase:
    """The robot and what carries it, whose motion is given from outside.

    Parameters
    ----------
    model : Model
        The robot's own joints, on a base that rests.
    whole : Model
        The same with a floating root link, or with the joints that carry the base link, before the robot's own.
    base_link : str
        Link in whose frame gravity is given; empty for the root link.
    floating : bool
        Whether the root link of `whole` floats.

    Raises
    ------
    ConfigurationError
        Not every joint that carries has one coordinate, or own joints follow one of them.

    Attributes
    ----------
    whole : Model
        Without gravity, with the payload and the losses of the options once `with_options` was called.
    joints : tuple of str
        Joints that carry the base link.
    q, v : int
        Numbers of coordinates before the robot's own: of positions, and of velocities.
    """

    def __init__(self, model: Model, whole: Model, base_link: str, floating: bool = False) -> None:
        self.q, self.v = whole.nq - model.nq, whole.nv - model.nv
        self.floating = floating
        self.joints = whole.joint_names[int(floating) : whole.n_bodies - model.n_bodies]
        if whole.joint_names[whole.n_bodies - model.n_bodies :] != model.joint_names:
            more = [name for name in whole.joint_names if name not in (*model.joint_names, *self.joints)]
            raise ConfigurationError(f"joints below {base_link} follow joints that carry it: {', '.join(more)}")
        for name in self.joints:
            if whole.joint(name).type.nq != 1:
                kind = whole.joint(name).kind
                raise ConfigurationError(f"joint {name!r}, which carries {base_link}, is of kind {kind!r}: lock it")
        self._at = whole.frame(base_link or whole.body_names[0])
        self._mount = np.eye(3)
        if base_link:
            self._mount = model.frame(base_link).placement[:3, :3]
        self._plain = self.whole = whole
        self._resting = model

    def with_options(self, options: RobotOptions, dynamics: Model) -> MovingBase:
        """Return this base for options, where ``dynamics`` is the robot's own model with all that they include."""
        other = copy.copy(self)
        weightless = (0.0, 0.0, 0.0)
        own = options.rotors * dynamics.nv if len(options.rotors) == 1 else options.rotors
        carriers = (0.0,) * (self._plain.nv - dynamics.nv)  # whose rotors are the description's
        options = replace(options, rotors=carriers + own)
        other.whole = options.apply(self._plain).with_gravity(weightless)
        other._resting = dynamics.with_gravity(weightless)
        forward_kinematics(other.whole, other.whole.neutral())  # what needs compiling is compiled now
        return other

    def join(self, state: RobotState) -> tuple[Array, Array]:
        """Return positions (nq,) and velocities (nv,) of the whole."""
        base = state.base
        assert base is not None
        return np.concatenate((base.position, state.position)), np.concatenate((base.velocity, state.velocity))

    def gravity_on(self, state: RobotState, gravity: Array, measured: bool) -> tuple[Array, Array]:
        """Return gravity in the world axes of the robot's own model, and in the axes of a floating root link.

        ``gravity`` (3,) is in the world's axes, or, where it was ``measured``, in those of the root link [m/s^2].
        """
        poses = forward_kinematics(self.whole, self.join(state)[0])
        turn = poses[self._at.body, :3, :3] @ self._at.placement[:3, :3] if self._at.body >= 0 else self._mount
        root = gravity
        if self.floating:
            rotation = poses[0, :3, :3]
            turn = rotation.T @ turn
            root = gravity if measured else rotation.T @ gravity
        return self._mount @ (turn.T @ root), root

    def push(self, state: RobotState) -> Array:
        """Return the effort (n,) by which the motion of the base pushes the robot's own joints [N m or N].

        Gravity is no part of it: it pushes as it is turned.
        """
        base = state.base
        assert base is not None
        q, qd = self.join(state)
        zero = np.zeros(len(state.position))
        moving = inverse_dynamics(self.whole, q, qd, np.concatenate((base.acceleration, zero)))
        return inverse_dynamics(self._resting, state.position, state.velocity, zero) - moving[self.v :]

    def wrench(self, state: RobotState, acceleration: Array, root_gravity: Array) -> Array:
        """Return the wrench on a floating root link, besides those of the state, that the given motion needs.

        Parameters
        ----------
        acceleration : ndarray, shape (n,)
            Of the robot's own joints [rad/s^2 or m/s^2].
        root_gravity : ndarray, shape (3,)
            In the axes of the root link [m/s^2].

        Returns
        -------
        ndarray, shape (6,)
            Moment about the origin of the root link, then force, in its axes [N m, N].
        """
        base = state.base
        assert base is not None
        q, qd = self.join(state)
        total = np.concatenate((base.acceleration, acceleration))
        total[3:6] -= root_gravity  # uniform gravity is an acceleration of the whole
        return np.array(inverse_dynamics(self.whole, q, qd, total, base.wrenches)[:6])

    def released(
        self, state: RobotState, acceleration: Array, effort: Array, prescribed: Mask, root_gravity: Array
    ) -> tuple[Array, Array, Array]:
        """Return accelerations (6,) of a floating root link that only wrenches push, and those and efforts of joints.

        Parameters
        ----------
        acceleration, effort : ndarray, shape (n,)
            Of the robot's own joints: the acceleration is read where it is ``prescribed``, the effort elsewhere.
        root_gravity : ndarray, shape (3,)
            In the axes of the root link [m/s^2].
        """
        base = state.base
        assert base is not None
        q, qd = self.join(state)
        known = np.concatenate((np.arange(self.v) >= 6, prescribed))
        all_accelerations = np.concatenate((base.acceleration, acceleration))
        all_efforts = np.concatenate((np.zeros(self.v), effort))
        accelerations, efforts = hybrid_dynamics(
            self.whole, q, qd, all_accelerations, all_efforts, known, base.wrenches
        )
        root = accelerations[:6].copy()
        root[3:] += root_gravity
        return root, accelerations[self.v :], efforts[self.v :]
