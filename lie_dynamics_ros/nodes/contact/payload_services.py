"""Services of the node contact that identify a payload."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import InertiaStamped
from rclpy.clock import Clock, ClockType
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger

from ...core.errors import NodeError, RequestError, reason_of
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.identification import PayloadEstimate
from ...ros.node.robot_node import RobotNode
from ...ros.wire import qos
from .core import ContactCore
from .payload import find_payload

LOOK_PERIOD = 0.1
"""How often the executor looks for a payload that was found [s]."""


class PayloadServices:
    """Recordings begin and end by services; one identifies what was carried, and has the node take it into account."""

    def __init__(self, node: RobotNode[ContactCore]) -> None:
        self._node = node
        self._waiting: PayloadEstimate | None = None  # found, and not carried yet
        node.create_timer(LOOK_PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        for which in ("unloaded", "loaded"):
            node.create_service(
                SetBool,
                f"~/record_{which}",
                lambda request, response, which=which: self._answer(
                    response, lambda: self._record(request.data, which)
                ),
            )
        service = node.create_service(Trigger, "~/identify_payload", lambda request, _: request)
        node.worker.serve(service, lambda _: self._answer(Trigger.Response(), self._identify))
        self._found = node.create_lifecycle_publisher(
            InertiaStamped, "~/payload", qos.DESCRIPTION, qos_overriding_options=qos.overridable()
        )

    def _answer(self, response: Any, do: Callable[[], str]) -> Any:
        try:
            response.message, response.success = do(), True
        except (NodeError, LieDynamicsError) as error:
            response.message = str(error)
        except Exception as error:  # whatever was recorded, the node goes on
            response.message = reason_of(error)
        return response

    def _record(self, begin: bool, which: str) -> str:
        core = self._node.answering
        if core is None:
            raise RequestError("the node is not active")
        return core.recorder.begin(which) if begin else core.recorder.end(which)

    def _identify(self) -> str:
        """Find the payload from the recordings; beside the executor."""
        core = self._node.require_core()
        frame = core.options.payload.frame or core.frame
        found = find_payload(core.model, core.options, core.recorder.motions(), frame)
        self._waiting = found
        return found.report()

    def _look(self) -> None:
        """Take up what was found, on the executor's thread."""
        found, self._waiting = self._waiting, None
        if found is not None:
            self._carry(found)

    def _carry(self, found: PayloadEstimate) -> None:
        """Take a payload into account from now on, and publish it."""
        node, body = self._node, found.inertia
        xx, xy, xz, _, yy, yz, _, _, zz = body.inertia.reshape(-1).tolist()
        values = {
            "payload_frame": found.frame,
            "payload_mass": float(body.mass),
            "payload_center_of_mass": body.com.tolist(),
            "payload_inertia": [xx, xy, xz, yy, yz, zz],
        }
        result = node.set_parameters_atomically([Parameter(name, value=value) for name, value in values.items()])
        if not result.successful:
            node.get_logger().error(f"the payload that was identified is not used: {result.reason}")
            return
        message = InertiaStamped()
        message.header.stamp = node.get_clock().now().to_msg()
        message.header.frame_id = node.frame_of(found.frame)
        inertia = message.inertia
        inertia.m = values["payload_mass"]
        inertia.com.x, inertia.com.y, inertia.com.z = values["payload_center_of_mass"]
        inertia.ixx, inertia.ixy, inertia.ixz, inertia.iyy, inertia.iyz, inertia.izz = xx, xy, xz, yy, yz, zz
        self._found.publish(message)
