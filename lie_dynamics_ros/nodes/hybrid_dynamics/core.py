"""What the hybrid dynamics node computes, without ROS: one robot, one state and command in, all that follows out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array, all_finite
from ...core.dynamics_answer import DynamicsAnswer, effort_of_wrenches
from ...core.errors import MessageError
from ...core.robot_options import RobotOptions
from ...core.robot_task import RobotTask
from ...lie_dynamics import Model, gravity_force, hybrid_dynamics
from ...lie_dynamics.control.signal_kernels import within

UNNAMED = ("zero_effort", "measured_effort", "zero_acceleration")


@dataclass(frozen=True)
class Options(RobotOptions):
    """What may change at run time; see the parameters of the node."""

    unnamed: str
    saturate: bool

    @staticmethod
    def read(values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes that parameter values stand for; raises ParameterError."""
        return {
            **RobotOptions.read(values),
            "unnamed": values["unnamed_joints"],
            "saturate": values["saturate_efforts"],
        }


class HybridDynamicsTask(RobotTask):
    """Hybrid dynamics of one robot; see `RobotTask`.

    Attributes
    ----------
    named : ndarray of bool, shape (n,)
        Joints that the command names.
    prescribed : ndarray of bool, shape (n,)
        Of these, those whose acceleration it gives; the effort of the others.
    values : ndarray, shape (n,)
        What it gives [rad/s^2, m/s^2 or N m, N]; zero for joints that it does not name.
    effort : ndarray, shape (n,)
        Measured efforts [N m, N].
    """

    options: Options

    def __init__(self, model: Model, joints: Sequence[str], options: Options) -> None:
        n = len(model.joint_names)
        self.named: NDArray[np.bool_] = np.zeros(n, dtype=bool)
        self.prescribed: NDArray[np.bool_] = np.zeros(n, dtype=bool)
        self.values = self.effort = np.zeros(n)
        self._all: NDArray[np.bool_] = np.ones(n, dtype=bool)
        self._none: NDArray[np.bool_] = np.zeros(n, dtype=bool)
        self._any = np.full(n, np.finfo(float).max)
        super().__init__(model, joints, options)

    def set_options(self, options: RobotOptions) -> None:
        """Apply options; also runs all that is needed once, so that nothing is compiled while states come in."""
        assert isinstance(options, Options)
        super().set_options(options)
        self.options = options
        # All accelerations given: that has an answer for every robot.
        for wrenches in (None, np.zeros((self.model.n_bodies, 6))):
            hybrid_dynamics(self.dynamics, self.position, self.velocity, self.zero, self.zero, self._all, wrenches)
        within(self.zero, self.limit)

    def solve(self, commanded: bool, wrenches: Array | None = None) -> tuple[Array, Array]:
        """Accelerations and efforts for the present state, in model order, each of shape (n,).

        Parameters
        ----------
        commanded : bool
            Use the command; otherwise no joint counts as named.
        wrenches : ndarray, shape (n_bodies, 6), optional
            Wrench that the environment exerts on each body, in its frame [N m, N].

        Returns
        -------
        accelerations : ndarray, shape (n,) [rad/s^2 or m/s^2]
        efforts : ndarray, shape (n,) [N m or N]
            Where they are limited, the accelerations are those that the limited efforts cause.

        Raises
        ------
        MessageError
            The state leads to results that are not finite.
        LieDynamicsError
            There is no result: a body without mass is free to move.
        """
        values = self.values if commanded else self.zero
        prescribed, effort = self._complete(commanded, values)
        return self._within_limits(values, effort, prescribed, wrenches)

    def explain(
        self, accelerations: Array, efforts: Array, commanded: bool, wrenches: Array | None = None
    ) -> DynamicsAnswer:
        """Tell what the answer that `solve` returned for these arguments was computed from."""
        values = self.values if commanded else self.zero
        prescribed, effort = self._complete(commanded, values)
        model, position, velocity = self.dynamics, self.position, self.velocity
        _, before = hybrid_dynamics(model, position, velocity, values, effort, prescribed, wrenches)
        return DynamicsAnswer(
            position=position,
            velocity=velocity,
            prescribed=prescribed,
            given=np.where(prescribed, values, effort),
            wrench_effort=effort_of_wrenches(model, position, wrenches),
            gravity_effort=gravity_force(model, position),
            effort_before_limits=before,
            limited=self.options.saturate and bool((np.abs(before) > self.limit).any()),
            acceleration=accelerations,
            effort=efforts,
        )

    def _complete(self, commanded: bool, values: Array) -> tuple[NDArray[np.bool_], Array]:
        """Return which accelerations are given, and all efforts, also for the joints that are not named."""
        unnamed = self.options.unnamed
        if unnamed == "zero_acceleration":
            return (self.prescribed | ~self.named if commanded else self._all), values
        prescribed = self.prescribed if commanded else self._none
        if unnamed == "zero_effort":
            return prescribed, values
        return prescribed, np.where(self.named, values, self.effort) if commanded else self.effort

    def _within_limits(
        self, acceleration: Array, effort: Array, prescribed: NDArray[np.bool_], wrenches: Array | None
    ) -> tuple[Array, Array]:
        model, saturate = self.dynamics, self.options.saturate
        # Each round gives at least one joint its limit for an effort, so there are at most as many as joints.
        while True:
            accelerations, efforts = hybrid_dynamics(
                model, self.position, self.velocity, acceleration, effort, prescribed, wrenches
            )
            if within(accelerations, self._any) != 1:
                raise MessageError("not finite", "the state leads to accelerations that are not finite")
            if within(efforts, self.limit) == 1:
                return accelerations, efforts
            if not all_finite(efforts):
                raise MessageError("not finite", "the state leads to efforts that are not finite")
            if not saturate:
                return accelerations, efforts
            over = np.abs(efforts) > self.limit
            self.saturated |= over
            effort = np.where(over, np.clip(efforts, -self.limit, self.limit), effort)
            prescribed = prescribed & ~over
