"""What the inverse dynamics node computes, without ROS: one robot, one state in, efforts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array, all_finite
from ...core.dynamics_answer import DynamicsAnswer, effort_of_wrenches
from ...core.errors import MessageError, ParameterError
from ...core.joint_mapping import JointMapping
from ...core.robot_options import RobotOptions
from ...core.robot_task import RobotTask
from ...lie_dynamics import Model, gravity_force, inverse_dynamics
from ...lie_dynamics.control.signal_kernels import within


@dataclass(frozen=True)
class Options(RobotOptions):
    """What may change at run time; see the parameters of the node."""

    gravity_only: bool
    driver_compensates_gravity: bool
    saturate: bool

    @staticmethod
    def read(values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes that parameter values stand for; raises ParameterError."""
        if values["gravity_only"] and values["driver_compensates_gravity"]:
            raise ParameterError("gravity_only and driver_compensates_gravity together would leave nothing to publish")
        return {
            **RobotOptions.read(values),
            "gravity_only": values["gravity_only"],
            "driver_compensates_gravity": values["driver_compensates_gravity"],
            "saturate": values["saturate_efforts"],
        }


class InverseDynamicsTask(RobotTask):
    """Inverse dynamics of one robot; see `RobotTask`.

    Attributes
    ----------
    acceleration : ndarray, shape (n,)
        Desired acceleration in model order [rad/s^2 or m/s^2].
    points : JointMatch
        Where the joints stand in desired accelerations without names: in the order of the outputs.
    """

    options: Options

    def __init__(self, model: Model, joints: Sequence[str], options: Options) -> None:
        super().__init__(model, joints, options)
        self.acceleration = np.zeros(len(model.joint_names))
        self.points = JointMapping(model.joint_names).match(self.joints)

    def set_options(self, options: RobotOptions) -> None:
        """Apply options; also runs all that is needed once, so that nothing is compiled while states come in."""
        assert isinstance(options, Options)
        super().set_options(options)
        self.options = options
        self._weightless = self.dynamics.with_gravity((0.0, 0.0, 0.0))
        no_wrenches = np.zeros((self.model.n_bodies, 6))
        for wrenches in (None, no_wrenches):
            inverse_dynamics(self.dynamics, self.position, self.velocity, self.zero, wrenches)
        self.gravity_efforts()
        within(self.zero, self.limit)

    def gravity_efforts(self) -> Array:
        """Efforts that hold the robot at rest in its position, shape (n,) [N m or N], in model order."""
        return gravity_force(self.dynamics, self.position)

    def efforts(self, desired: bool, wrenches: Array | None = None) -> tuple[Array, Array | None]:
        """Efforts for the present state, in model order, limited where that is asked for.

        Parameters
        ----------
        desired : bool
            Use `acceleration`; otherwise zero.
        wrenches : ndarray, shape (n_bodies, 6), optional
            Wrench that the environment exerts on each body, in its frame [N m, N].

        Returns
        -------
        efforts : ndarray, shape (n,) [N m or N]
        gravity : ndarray, shape (n,), or None
            The efforts against gravity alone, where they were needed on the way.

        Raises
        ------
        MessageError
            The state leads to efforts that are not finite.
        """
        options = self.options
        gravity: Array | None = None
        if options.gravity_only:
            efforts = gravity = self.gravity_efforts()
        else:
            model = self._weightless if options.driver_compensates_gravity else self.dynamics
            acceleration = self.acceleration if desired else self.zero
            efforts = inverse_dynamics(model, self.position, self.velocity, acceleration, wrenches)
        if within(efforts, self.limit) != 1:
            return self._limited(efforts, gravity)
        if options.driver_compensates_gravity and options.saturate:
            return self._limited(efforts, gravity)
        return efforts, gravity

    def explain(self, efforts: Array, desired: bool, wrenches: Array | None = None) -> DynamicsAnswer:
        """Tell what the efforts that `efforts` returned for these arguments were computed from."""
        options, position = self.options, self.position
        velocity, acceleration = self.velocity, self.acceleration if desired else self.zero
        if options.gravity_only:
            velocity, acceleration, wrenches = self.zero, self.zero, None
        gravity = self.gravity_efforts()
        before = inverse_dynamics(self.dynamics, position, velocity, acceleration, wrenches)
        return DynamicsAnswer(
            position=position,
            velocity=velocity,
            prescribed=np.ones(len(position), dtype=bool),
            given=acceleration,
            wrench_effort=effort_of_wrenches(self.dynamics, position, wrenches),
            gravity_effort=gravity,
            effort_before_limits=before,
            limited=options.saturate and bool((np.abs(before) > self.limit).any()),
            acceleration=acceleration,
            effort=efforts + gravity if options.driver_compensates_gravity else efforts,
        )

    def _limited(self, efforts: Array, gravity: Array | None) -> tuple[Array, Array | None]:
        """Refuse efforts that are not finite; limit the sum of the others and of what the driver adds to them."""
        if not all_finite(efforts):
            raise MessageError("not finite", "the state leads to efforts that are not finite")
        if not self.options.saturate:
            return efforts, gravity
        total = efforts
        if self.options.driver_compensates_gravity:
            gravity = self.gravity_efforts()
            total = efforts + gravity
        over = np.abs(total) > self.limit
        if over.any():
            self.saturated |= over
            limited = np.clip(total, -self.limit, self.limit)
            efforts = np.where(over, limited if total is efforts else limited - gravity, efforts)
        return efforts, gravity
