"""What the computed torque node computes, without ROS: one robot, states and desired motion in, efforts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..lie_dynamics import Model, SpatialInertia, gravity_force, inverse_dynamics, mass_matrix
from ..lie_dynamics.control import (
    AdaptiveController,
    ComputedTorquePID,
    gravity_compensation,
    limit_effort,
    passivity_based,
)
from ..lie_dynamics.control.signal_kernels import LARGEST, within
from ..ros.errors import MessageError, ParameterError
from ..ros.messages import Array, all_finite
from ..ros.robot_options import RobotOptions
from ..ros.robot_task import RobotTask
from .trajectory_player import Desired

MODES = ("computed_torque", "gravity_compensation", "passivity_based", "adaptive")
POLICIES = ("scale", "clip")
NUMBERS = ("kp", "kd", "ki", "integral_limit", "convergence_rate", "sliding_rate", "sliding_damping", "guiding_damping")
"""Parameters with one number for all joints, or one for each."""


@dataclass(frozen=True)
class Options(RobotOptions):
    """What may change at run time; see the parameters of the node."""

    mode: str
    numbers: dict[str, tuple[float, ...]]
    adaptation_weight: float
    adapted_bodies: tuple[str, ...]
    driver_compensates_gravity: bool
    saturate: bool
    effort_policy: str
    error_limit: float
    velocity_margin: float

    @staticmethod
    def read(values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes that parameter values stand for; raises ParameterError."""
        numbers = {name: tuple(values[name]) for name in NUMBERS}
        for name, entries in numbers.items():
            if not entries or any(x < 0.0 for x in entries):
                raise ParameterError(f"{name} is {list(entries)}; expected numbers that are not negative")
        return {
            **RobotOptions.read(values),
            "mode": values["mode"],
            "numbers": numbers,
            "adaptation_weight": values["adaptation_weight"],
            "adapted_bodies": tuple(name for name in values["adapted_bodies"] if name),
            "driver_compensates_gravity": values["driver_compensates_gravity"],
            "saturate": values["saturate_efforts"],
            "effort_policy": values["effort_policy"],
            "error_limit": values["error_limit"],
            "velocity_margin": values["velocity_margin"],
        }

    def apply(self, model: Model) -> Model:
        """Return the model with all this included; raises ParameterError where that cannot be."""
        for name, entries in self.numbers.items():
            if len(entries) not in (1, model.nv):
                raise ParameterError(f"{name} has {len(entries)} entries; expected 1 or {model.nv}, one for each joint")
        unknown = [name for name in self.adapted_bodies if name not in model.frames]
        if unknown:
            raise ParameterError(f"adapted_bodies: the robot has no link {', '.join(unknown)}")
        return super().apply(model)


class ComputedTorqueTask(RobotTask):
    """A controller of one robot; see `RobotTask`.

    Attributes
    ----------
    error, error_rate : ndarray, shape (n,)
        Desired minus actual position and velocity of the last state [rad, m and rates].
    scale : float
        What part of the efforts beyond gravity was exerted last; 1 unless limits were met.
    """

    options: Options

    def __init__(self, model: Model, joints: Sequence[str], options: Options) -> None:
        n = len(model.joint_names)
        self.error, self.error_rate, self.scale = np.zeros(n), np.zeros(n), 1.0
        self._learner: AdaptiveController | None = None
        limits = model.limits
        self.lower, self.upper = limits.lower, limits.upper
        self.fastest = np.where(limits.velocity > 0.0, limits.velocity, np.inf)  # exporters write 0 for "not given"
        super().__init__(model, joints, options)

    def set_options(self, options: RobotOptions) -> None:
        """Apply options; also runs all that is needed once, so that nothing is compiled while states come in."""
        assert isinstance(options, Options)
        before = getattr(self, "options", None)
        super().set_options(options)
        self.options = options
        self._fast = self.fastest * (1.0 + options.velocity_margin)
        watched = options.mode != "gravity_compensation" and options.error_limit > 0.0
        self._far = np.full(self.dynamics.nv, options.error_limit if watched else np.inf)
        self._usual = np.minimum(self.limit, LARGEST)
        numbers = {name: _spread(options.numbers[name], self.dynamics.nv) for name in NUMBERS}
        self._numbers = numbers
        integral = None if before is None else self._pid.integral
        self._pid = ComputedTorquePID(
            self.dynamics, numbers["kp"], numbers["kd"], numbers["ki"], numbers["integral_limit"]
        )
        if integral is not None and before is not None and before.numbers["ki"] == options.numbers["ki"]:
            self._pid.integral = integral
        self._set_learner(before)
        held = Desired(self.position, self.zero, self.zero, self.zero)
        for mode in MODES:
            self._torque(mode, held, 0.0)
        self.gravity()
        within(self.zero, self.limit)

    def _set_learner(self, before: Options | None) -> None:
        """Make the adaptive controller, or change its gains: what was learned stays while the robot is the same."""
        options, numbers = self.options, self._numbers
        same = before is not None and (
            RobotOptions.apply(before, self.model)._rows.tobytes() == self.dynamics._rows.tobytes()
            and before.adapted_bodies == options.adapted_bodies
        )
        bodies = options.adapted_bodies or None
        learner = AdaptiveController(
            self.dynamics, numbers["convergence_rate"], numbers["sliding_rate"], options.adaptation_weight, bodies
        )
        if same and self._learner is not None:
            learner.adopt(self._learner)
        self._learner = learner

    @property
    def learner(self) -> AdaptiveController:
        """The adaptive controller, whether in use or not."""
        assert self._learner is not None
        return self._learner

    def start(self) -> None:
        """Forget integrals and what was learned."""
        self._pid.reset()
        self.learner.reset()

    def gravity(self) -> Array:
        """Efforts that hold the robot at rest in its position, shape (n,) [N m or N], in model order."""
        return gravity_force(self.dynamics, self.position)

    def violation(self) -> str:
        """Say which limit the present state breaks, or which error is too large; empty where none."""
        if within(self.velocity, self._fast) == 1 and within(self.error, self._far) == 1:
            return ""
        names = self.model.joint_names
        for bad, what in (
            (np.abs(self.velocity) > self._fast, "moves faster than its limit"),
            (np.abs(self.error) > self._far, "is farther from its desired position than error_limit"),
        ):
            if bad.any():
                return f"joint {', '.join(names[k] for k in np.flatnonzero(bad))} {what}"
        return ""

    def track(self, desired: Desired) -> None:
        """Note the errors of the present state."""
        self.error, self.error_rate = desired.position - self.position, desired.velocity - self.velocity

    def efforts(self, desired: Desired, period: float, wrenches: Array | None = None) -> Array:
        """Efforts for the present state, `period` [s] after the last, in model order, limited as options say.

        Known wrenches on the bodies (n_bodies, 6) are compensated.

        Raises
        ------
        MessageError
            The state leads to efforts that are not finite.
        """
        efforts = self._torque(self.options.mode, desired, period) + desired.effort
        if wrenches is not None:
            efforts = efforts + inverse_dynamics(self.dynamics, self.position, self.zero, self.zero, wrenches)
            efforts = efforts - self.gravity()
        return self._limited(efforts)

    def stopping_efforts(self, damping: Array) -> Array:
        """Efforts that hold the robot up and brake it, in model order."""
        return self._limited(gravity_compensation(self.dynamics, self.position, self.velocity, damping))

    def braking(self) -> Array:
        """Damping [N m s/rad, N s/m] that stops the robot: that of the mass of each joint here, at the rate kd."""
        return self._inertias() * self._numbers["kd"]

    def _sliding_damping(self) -> Array:
        return np.asarray(self._inertias() * self._numbers["sliding_rate"] + self._numbers["sliding_damping"])

    def _inertias(self) -> Array:
        """Return the inertia that each joint feels here with the others held, shape (n,) [kg m^2, kg]."""
        return np.diagonal(mass_matrix(self.dynamics, self.position))

    def _torque(self, mode: str, desired: Desired, period: float) -> Array:
        q, qd, n = self.position, self.velocity, self._numbers
        motion = (desired.position, desired.velocity, desired.acceleration)
        if mode == "gravity_compensation":
            return gravity_compensation(self.dynamics, q, qd, n["guiding_damping"])
        if mode == "passivity_based":
            return passivity_based(self.dynamics, q, qd, *motion, n["convergence_rate"], self._sliding_damping())
        if mode == "adaptive":
            self.learner.kd = self._sliding_damping()  # any positive damping keeps the proof
            return self.learner.update(q, qd, *motion, period if self.scale == 1.0 else 0.0)  # limits teach nothing
        return self._pid.update(q, qd, *motion, period)

    def _limited(self, efforts: Array) -> Array:
        """Refuse efforts that are not finite; limit the others, and leave gravity out where the driver adds it."""
        if within(efforts, self._usual) == 1:
            self.scale = 1.0
        else:
            efforts = self._within_limits(efforts)
        return efforts - self.gravity() if self.options.driver_compensates_gravity else efforts

    def _within_limits(self, efforts: Array) -> Array:
        """Do so with efforts that are not within the limits."""
        if not all_finite(efforts):
            raise MessageError("not finite", "the state leads to efforts that are not finite")
        self.scale = 1.0
        options = self.options
        over = np.abs(efforts) > self.limit
        if options.saturate and over.any():
            self.saturated |= over
            policy = "scale" if options.effort_policy == "scale" else "clip"
            limited = limit_effort(efforts, self.limit, policy, self.gravity())  # type: ignore[arg-type]
            efforts, self.scale = limited.effort, limited.scale
        return efforts

    def estimate(self) -> tuple[str, SpatialInertia]:
        """Return the first body whose parameters are learned, and its estimated inertia in its frame."""
        body = self.learner.bodies[0]
        return self.model.body_names[body], self.learner.inertia(body)


def _spread(numbers: tuple[float, ...], size: int) -> Array:
    return np.array(np.broadcast_to(np.array(numbers, np.float64), (size,)))
