"""The input of hybrid dynamics, from either kind of message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array, all_finite
from ...core.commands import HybridCommand
from ...core.errors import COMMANDS, MessageError
from ...core.joint_mapping import JointMapping, JointMatch

if TYPE_CHECKING:
    from trajectory_msgs.msg import JointTrajectory


def read_hybrid_command(message: Any, joints: JointMapping) -> HybridCommand:
    """Read a HybridCommand; raises MessageError where it is malformed, ambiguous or not finite."""
    match = joints.match(message.joint_names)
    for name, field in (("prescribed", message.prescribed), ("input", message.input)):
        _check_size(name, len(field), match)
    prescribed = np.array(message.prescribed, dtype=bool)
    return _in_model_order(match, prescribed, np.asarray(message.input), len(joints.joints))


def read_trajectory_command(message: JointTrajectory, joints: JointMapping) -> HybridCommand:
    """Read the first point of a JointTrajectory, which gives each joint an acceleration or an effort, not both.

    What is not given is NaN, or the whole field is absent. Raises MessageError otherwise.
    """
    if not message.points:
        raise MessageError(COMMANDS, "a trajectory without points")
    match = joints.match(message.joint_names)
    point = message.points[0]
    fields = []
    for name, values in (("accelerations", point.accelerations), ("effort", point.effort)):
        if len(values):
            _check_size(name, len(values), match)
        fields.append(np.asarray(values) if len(values) else np.full(match.size, np.nan))
    accelerations, efforts = fields
    prescribed = ~np.isnan(accelerations)
    twice_or_never = prescribed != np.isnan(efforts)
    if twice_or_never.any():
        name = message.joint_names[int(np.argmax(twice_or_never))]
        raise MessageError(
            COMMANDS, f"joint {name!r} has both or neither of acceleration and effort; expected one, and the other NaN"
        )
    return _in_model_order(match, prescribed, np.where(prescribed, accelerations, efforts), len(joints.joints))


def _check_size(field: str, size: int, match: JointMatch) -> None:
    if size != match.size:
        raise MessageError(COMMANDS, f"{field} has {size} entries for {match.size} joints")


def _in_model_order(match: JointMatch, prescribed: NDArray[np.bool_], values: Array, n: int) -> HybridCommand:
    if match.duplicated:
        raise MessageError(COMMANDS, match.problem)
    if not all_finite(values):
        raise MessageError(COMMANDS, "values that are not finite numbers")
    named = match.indices >= 0
    all_prescribed, all_values = np.zeros(n, dtype=bool), np.zeros(n)
    all_prescribed[named] = prescribed[match.indices[named]]
    all_values[named] = values[match.indices[named]]
    return HybridCommand(named, all_prescribed, all_values)
