"""Setup of a tracked closed mechanism: joints measured and driven, its start, its speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...lie_dynamics import ClosedLoopTracker, ConstraintSet, Model, assemble
from ..arrays import Array
from ..errors import ConfigurationError, ParameterError

MOST_GUESSES = 50


@dataclass(frozen=True, eq=False)
class TrackedMechanism:
    """A closed mechanism and how it is tracked; names of joints as in messages.

    Attributes
    ----------
    constraints : ConstraintSet
    measured, motors : tuple of str
        Joints measured in states, and those with motors.
    start : ndarray, shape (nq,)
        Closed configuration that tracking starts from.
    start_known : bool
        Whether somebody gave it.
    max_speed : mapping, or None
        Largest rates of all joints, where they are known.
    noise, error : tuple of float
        Of the measured joints, one for all or one for each [rad, m].
    max_steps : int
    idle : tuple of str
        Joints that the measured ones need not determine.
    """

    constraints: ConstraintSet
    measured: tuple[str, ...]
    motors: tuple[str, ...]
    start: Array
    start_known: bool
    max_speed: Mapping[str, Any] | None
    noise: tuple[float, ...]
    error: tuple[float, ...]
    max_steps: int
    idle: tuple[str, ...] = ()

    @staticmethod
    def from_values(
        model: Model, constraints: ConstraintSet, values: Mapping[str, Any], closed: bool = False
    ) -> TrackedMechanism:
        """Read parameter values; raises ParameterError or ConfigurationError where they do not fit the model.

        `closed` means that all loops are closed where all coordinates are zero, and that they start there unless the
        parameters give another place.
        """
        measured = _joints(model, values, "measured_joints", constraints) or single_joints(model)
        known = closed or any(values["start_joints"]) or list(values["start_positions"]) != [0.0]
        each = {}
        for name in ("sensor_noise", "sensor_error"):
            each[name] = tuple(values[name])
            if len(each[name]) not in (1, len(measured)):
                raise ParameterError(f"{name} has {len(each[name])} numbers; expected 1 or {len(measured)}")
        return TrackedMechanism(
            constraints,
            measured,
            _joints(model, values, "motors", constraints) or measured,
            _start(model, constraints, values, closed),
            known,
            _speeds(model, values["max_speed"]),
            each["sensor_noise"],
            each["sensor_error"],
            values["max_steps"],
            _named(values, "idle_joints", model.joint_names, constraints),
        )

    def tracker(self, model: Model, bounded: bool, most: int | None = None) -> ClosedLoopTracker:
        """Return a tracker at the start, of so many steps at most; raises LieDynamicsError where sensors do not do."""
        error, noise = (values[0] if len(values) == 1 else values for values in (self.error, self.noise))
        return ClosedLoopTracker(
            model,
            self.constraints,
            self.start,
            self.measured,
            self.max_speed if bounded else None,
            sensor_error=error,
            sensor_noise=noise,
            max_steps=min(self.max_steps, most or self.max_steps),
            idle=self.idle,
        )


def single_joints(model: Model) -> tuple[str, ...]:
    """Return the joints of one coordinate, which a JointState can hold."""
    return tuple(joint.name for joint in model.joints if joint.type.nq == 1)


def _joints(model: Model, values: Mapping[str, Any], key: str, constraints: ConstraintSet) -> tuple[str, ...]:
    return _named(values, key, single_joints(model), constraints)


def _named(values: Mapping[str, Any], key: str, there: Sequence[str], constraints: ConstraintSet) -> tuple[str, ...]:
    """Return the joints that a parameter names, which must be some of those that are `there`."""
    names = tuple(values["joint_prefix"] + name for name in values[key] if name)
    unknown = [name for name in names if name not in there]
    if unknown:
        cut = [name for name in unknown if name.removeprefix(values["joint_prefix"]) in constraints.names]
        hint = f"; {', '.join(cut)} closes a loop, another joint of it is to be cut (doc/models.md)" if cut else ""
        single = "" if key == "idle_joints" else " of one coordinate"
        raise ConfigurationError(
            f"parameter {key}: the robot has no joint {', '.join(unknown)}{single}; it has {', '.join(there)}{hint}"
        )
    if len(set(names)) != len(names):
        raise ConfigurationError(f"parameter {key} names a joint twice: {', '.join(names)}")
    return names


def _start(model: Model, constraints: ConstraintSet, values: Mapping[str, Any], closed: bool) -> Array:
    """Return the closed configuration near the one that parameters give."""
    names, positions = _joints(model, values, "start_joints", constraints), list(values["start_positions"])
    guess = model.neutral()
    if names:
        if len(positions) != len(names):
            raise ParameterError(f"start_positions has {len(positions)} numbers for {len(names)} start_joints")
        for name, position in zip(names, positions, strict=True):
            guess[model.joint(name).q_slice] = position
    elif positions != [0.0]:
        if len(positions) != model.nq:
            raise ParameterError(
                f"start_positions has {len(positions)} numbers; expected one for each of start_joints, or {model.nq} "
                f"for {', '.join(joint.name for joint in model.joints)}"
            )
        guess = np.array(positions)
    found = assemble(model, constraints, guess)
    rng = np.random.default_rng(0)
    known = closed or names or positions != [0.0]
    for _ in range(0 if known else MOST_GUESSES):  # nobody knows: any configuration will do
        if found.converged:
            break
        found = assemble(model, constraints, model.random(rng))
    if not found.converged:
        raise ConfigurationError(
            f"the loops cannot be closed near the start: {found.worst!r} is off by {found.residual:.3g} m or rad; "
            "expected start_positions near a configuration where they can"
        )
    return found.q


def _speeds(model: Model, given: Sequence[float]) -> Mapping[str, Any] | None:
    if list(given) == [0.0]:
        return None
    if len(given) not in (1, len(model.joints)) or min(given) <= 0.0:
        raise ParameterError(
            f"max_speed is {list(given)}; expected one number above zero, or {len(model.joints)}, one for each of "
            f"{', '.join(joint.name for joint in model.joints)}, or [0.0] where they are not known"
        )
    speeds = given if len(given) > 1 else [given[0]] * len(model.joints)
    return {
        joint.name: (speed, speed) if joint.kind == "free" else speed
        for joint, speed in zip(model.joints, speeds, strict=True)
    }
