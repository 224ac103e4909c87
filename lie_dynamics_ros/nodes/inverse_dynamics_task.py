"""What the inverse dynamics node computes, without ROS: one robot, one state in, efforts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..lie_dynamics import Model, gravity_force, inverse_dynamics
from ..ros.errors import ConfigurationError, MessageError, ParameterError
from ..ros.external_wrenches import ExternalWrenches
from ..ros.joint_mapping import JointMapping
from ..ros.messages import Array, all_finite


@dataclass(frozen=True)
class Options:
    """What may change at run time; see the parameters of the node."""

    gravity: tuple[float, ...]
    gravity_only: bool
    driver_compensates_gravity: bool
    saturate: bool
    damping: bool
    friction: bool

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Options:
        """Make options of parameter values; raises ParameterError where they make no sense together."""
        gravity = tuple(values["gravity"])
        if len(gravity) != 3:
            raise ParameterError(f"gravity has {len(gravity)} entries; expected 3 (x, y, z)")
        if values["gravity_only"] and values["driver_compensates_gravity"]:
            raise ParameterError("gravity_only and driver_compensates_gravity together would leave nothing to publish")
        return cls(
            gravity=gravity,
            gravity_only=values["gravity_only"],
            driver_compensates_gravity=values["driver_compensates_gravity"],
            saturate=values["saturate_efforts"],
            damping=values["include_damping"],
            friction=values["include_friction"],
        )


class InverseDynamicsTask:
    """Inverse dynamics of one robot, with everything prepared that does not change from state to state.

    Parameters
    ----------
    model : Model
        Every joint must have one coordinate, because a JointState has one position per joint.
    joints : sequence of str
        Joints of the outputs, in this order; none stands for all, in model order.
    options : Options

    Notes
    -----
    An effort limit of zero counts as none: exporters write it where no limit was entered, and a joint that may
    exert no effort needs no answer.

    Attributes
    ----------
    position, velocity, acceleration : ndarray, shape (n,)
        State and desired acceleration in model order, to be set before `efforts` is called
        [rad or m, and per s, per s^2].
    joints : tuple of str
        Joints of the outputs.
    states, named_points : JointMapping
        Match the names in states, and in desired accelerations with names, against the model's joints.
    points : JointMatch
        Where the joints stand in desired accelerations without names: in the order of the outputs.
    wrenches : ExternalWrenches
        Wrenches that act on the robot.
    """

    def __init__(self, model: Model, joints: Sequence[str], options: Options) -> None:
        self.model = model
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
        self.joints = tuple(joints) or names
        self.wrenches = ExternalWrenches(model)
        self.states = JointMapping(names)
        self.named_points = JointMapping(names)
        self.points = JointMapping(names).match(self.joints)
        self._order: NDArray[np.intp] | None = None
        if self.joints != names:
            self._order = np.array([names.index(joint) for joint in self.joints], dtype=np.intp)
        n = len(names)
        self.position, self.velocity, self.acceleration = np.zeros(n), np.zeros(n), np.zeros(n)
        self._zero = np.zeros(n)
        # Without a limit the largest float: infinity and NaN lie outside of it as well.
        limited = (model.limits.effort > 0.0) & np.isfinite(model.limits.effort)
        self._limit = np.where(limited, model.limits.effort, np.finfo(float).max)
        self._bounds = tuple(self._limit.tolist())
        self.saturated: NDArray[np.bool_] = np.zeros(n, dtype=bool)
        self.set_options(options)

    def set_options(self, options: Options) -> None:
        """Apply options; also runs all that is needed once, so that nothing is compiled while states come in."""
        self.options = options
        model = self.model.with_joint_terms(damping=options.damping, friction=options.friction)
        self._with_gravity = model.with_gravity(options.gravity)
        self._weightless = model.with_gravity((0.0, 0.0, 0.0))
        no_wrenches = np.zeros((model.n_bodies, 6))
        for wrenches in (None, no_wrenches):
            inverse_dynamics(self._with_gravity, self.position, self.velocity, self.acceleration, wrenches)
        self.gravity_efforts()

    def gravity_efforts(self) -> Array:
        """Efforts that hold the robot at rest in its position, shape (n,) [N m or N], in model order."""
        return gravity_force(self._with_gravity, self.position)

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
            model = self._weightless if options.driver_compensates_gravity else self._with_gravity
            acceleration = self.acceleration if desired else self._zero
            efforts = inverse_dynamics(model, self.position, self.velocity, acceleration, wrenches)
        # A loop over plain floats costs less than three array operations that are seldom needed.
        for effort, bound in zip(efforts.tolist(), self._bounds, strict=True):
            if not -bound <= effort <= bound:
                return self._limited(efforts, gravity)
        if options.driver_compensates_gravity and options.saturate:
            return self._limited(efforts, gravity)
        return efforts, gravity

    def select(self, efforts: Array) -> Array:
        """Bring efforts from model order into the order of the outputs."""
        return efforts if self._order is None else efforts[self._order]

    def take_saturated(self) -> tuple[str, ...]:
        """Joints whose efforts were limited since the last call."""
        names = tuple(np.array(self.model.joint_names)[self.saturated])
        self.saturated[:] = False
        return names

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
        over = np.abs(total) > self._limit
        if over.any():
            self.saturated |= over
            limited = np.clip(total, -self._limit, self._limit)
            efforts = np.where(over, limited if total is efforts else limited - gravity, efforts)
        return efforts, gravity
