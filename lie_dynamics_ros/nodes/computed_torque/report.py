"""Content of ``~/control_state`` and ``~/setpoint`` for one answer. No messages in here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core.errors import MessageError
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control.robots import inverse_dynamics
from .core import ComputedTorqueCore
from .laws import ControllerAnswer


class Setpoint(NamedTuple):
    """Set points of a driver, each (n,), in model order [rad, m, and per s, N m, N]."""

    position: Array
    velocity: Array
    acceleration: Array
    effort: Array


def make_setpoint(core: ComputedTorqueCore, answer: ControllerAnswer) -> Setpoint:
    """Return the motion desired in an answer, with the efforts that it takes: no feedback, which is the driver's part.

    They hold friction, the trajectory's feed-forward and known wrenches, within the effort limits; gravity unless the
    driver adds it. Raises MessageError where they are not finite.
    """
    desired, options = answer.desired, core.options
    try:
        effort = inverse_dynamics(core.dynamics, desired.position, desired.velocity, desired.acceleration)
        effort = core.drive_effort(desired.velocity, effort) + desired.effort - answer.wrench
        if not np.isfinite(effort).all():
            raise MessageError("not finite", "the desired motion takes efforts that are not finite")
        if options.saturate_efforts:
            effort = np.clip(effort, -core.limit, core.limit)
        if options.driver_compensates_gravity:
            effort = effort - core.gravity(answer.position)
    except LieDynamicsError as error:
        raise MessageError("not finite", f"the desired motion has no finite efforts: {error}") from error
    return Setpoint(desired.position, desired.velocity, desired.acceleration, effort)


@dataclass(frozen=True)
class ControllerReport:
    """The fields of ``ControllerState``, described there; arrays (n,) in model order."""

    mode: str
    phase: str
    reason: str
    position: Array
    velocity: Array
    desired_position: Array
    desired_velocity: Array
    desired_acceleration: Array
    position_error: Array
    velocity_error: Array
    reference_velocity: Array
    reference_acceleration: Array
    damping_effort: Array
    feed_forward_effort: Array
    wrench_effort: Array
    gravity_effort: Array
    effort_before_limits: Array
    blend_effort: Array
    scale: float
    effort: Array


def make_report(
    core: ComputedTorqueCore, answer: ControllerAnswer, as_told: Callable[[Array], Array]
) -> ControllerReport:
    """Return the report of an answer; ``as_told`` makes positions of those that count turns on."""
    ahead, law = answer.ahead, answer.law
    return ControllerReport(
        answer.mode, answer.phase, answer.reason, as_told(answer.position), answer.velocity,
        as_told(ahead.position), ahead.velocity, ahead.acceleration, answer.error, answer.error_rate,
        law.velocity, law.acceleration, law.damping, ahead.effort, answer.wrench, core.gravity(answer.position),
        answer.wanted, answer.blend, float(answer.scale), answer.total,
    )  # fmt: skip
