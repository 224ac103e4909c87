"""Topics and services of the joint trajectory controller of ros2_controllers, where control_msgs is installed.

Under its names and types, so that what is made for that controller works here: its graphical interface, scaled drivers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from trajectory_msgs.msg import JointTrajectoryPoint

from ....core.errors import MessageError
from ....lie_dynamics.arrays import Array
from ....ros.node.answering_node import AnsweringNode
from ....ros.outputs.output import Output
from ....ros.wire.messages import nanoseconds
from ..core import ComputedTorqueCore
from ..laws import ControllerAnswer

_NONE = np.empty(0)


class StandardInterfaces:
    """`~/controller_state`, `~/query_state` and `~/speed_scaling_input`; none of them without control_msgs."""

    def __init__(self, node: AnsweringNode[ComputedTorqueCore], scale_speed: Callable[[float], None]) -> None:
        self._node = node
        self._state: Output | None = None
        try:
            from control_msgs.msg import JointTrajectoryControllerState
        except ImportError:
            return
        self._type = JointTrajectoryControllerState
        self._state = Output(node, JointTrajectoryControllerState, "~/controller_state")
        try:  # younger than the type before
            from control_msgs.msg import SpeedScalingFactor

            node.listen(SpeedScalingFactor, "~/speed_scaling_input", lambda m: scale_speed(m.factor))
        except ImportError:
            pass
        try:
            from control_msgs.srv import QueryTrajectoryState
        except ImportError:
            return
        node.create_service(QueryTrajectoryState, "~/query_state", self._query)

    @property
    def heard(self) -> bool:
        """Whether somebody listens to the state."""
        return self._state is not None and self._state.heard

    def publish(self, core: ComputedTorqueCore, answer: ControllerAnswer, stamp: Time) -> None:
        """Publish what was desired and measured at a state, and the efforts that answer it."""
        assert self._state is not None
        as_told, desired = self._node.inputs.as_told, answer.desired
        message = self._type(joint_names=list(core.model.joint_names))
        message.header.stamp = stamp
        for names, point in (
            (("reference", "desired"), make_point(as_told(desired.position), desired.velocity, desired.acceleration)),
            (("feedback", "actual"), make_point(as_told(answer.position), answer.velocity)),
            (("error",), make_point(answer.error, answer.error_rate)),
            (("output",), make_point(_NONE, _NONE, effort=answer.effort)),
        ):
            for name in names:  # two names of one field, the older one first
                if hasattr(message, name):
                    setattr(message, name, point)
        if hasattr(message, "speed_scaling_factor"):
            message.speed_scaling_factor = float(core.clock.rate)
        self._state.send(message)

    def _query(self, request: Any, response: Any) -> Any:
        """Tell the motion desired at a time: that of the last state, or later; 0 stands for the last state."""
        core = self._node.answering
        try:
            if core is None:
                raise MessageError("query", f"the node is not active but {self._node.state}")
            desired = core.desired_at(nanoseconds(request.time))
        except MessageError as error:
            response.success, response.message = False, str(error)
            return response
        response.success, response.name = True, list(core.model.joint_names)
        response.position = self._node.inputs.as_told(desired.position).tolist()
        response.velocity, response.acceleration = desired.velocity.tolist(), desired.acceleration.tolist()
        return response


def make_point(
    position: Array, velocity: Array, acceleration: Array = _NONE, effort: Array = _NONE, after: float = 0.0
) -> JointTrajectoryPoint:
    """Return a point of a trajectory, a time after its start [s]."""
    seconds, rest = divmod(round(after * 1e9), 10**9)
    return JointTrajectoryPoint(
        positions=position.tolist(), velocities=velocity.tolist(), accelerations=acceleration.tolist(),
        effort=effort.tolist(), time_from_start=Duration(sec=seconds, nanosec=rest),
    )  # fmt: skip
