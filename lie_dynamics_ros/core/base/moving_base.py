"""Bases that move: what carries a robot's joints, which way gravity points there, and how the motion pushes them."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...lie_dynamics import Model, forward_kinematics, hybrid_dynamics, inverse_dynamics
from ..arrays import Array
from ..errors import ConfigurationError
from ..robot_options import RobotOptions
from ..robot_state import RobotState


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

        Parameters
        ----------
        gravity : ndarray, shape (3,)
            In the world's axes, or, where it was ``measured``, in those of the root link [m/s^2].
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
        self, state: RobotState, acceleration: Array, effort: Array, prescribed: NDArray[np.bool_], root_gravity: Array
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
