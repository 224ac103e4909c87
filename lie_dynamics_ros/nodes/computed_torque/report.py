"""Content of ``~/control_state`` for one answer. No messages in here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...core.arrays import Array
from .answer import ControllerAnswer
from .core import ComputedTorqueCore


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
