"""Services of the node stewart_command: hold, level, ride, and dry runs."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

from sensor_msgs.msg import Imu
from std_srvs.srv import SetBool, Trigger

from ...core.commanding.phases import OFF
from ...core.errors import MessageError, NodeError
from ...lie_dynamics import LieDynamicsError
from ...ros.model.platform_loading import frames_of
from ...ros.outputs.diagnostics import Report
from ...ros.requests.services import Services
from ...ros.requests.worker import Worker
from .core import StewartCommandCore
from .levelling import level_target
from .requests import check

if TYPE_CHECKING:
    from .node import StewartCommandNode


class CommandServices:
    """What the node can be asked for.

    Parameters
    ----------
    node : StewartCommandNode
    """

    def __init__(self, node: StewartCommandNode) -> None:
        self._node, self._worker = node, Worker()
        self._imu: tuple[Any, float] = None, 0.0
        node.create_service(Trigger, "~/hold", lambda _, response: _answer(response, self.hold))
        node.create_service(Trigger, "~/level", lambda _, response: _answer(response, self.level))
        node.create_service(SetBool, "~/ride", lambda ask, response: _answer(response, lambda: self.ride(ask.data)))
        self._offers = Services(node)
        self._offers.offer("CheckPosePath", "~/check_path", self._check, self._worker)

    def close(self) -> None:
        """End the thread."""
        self._worker.close()

    def on_imu(self, message: Imu) -> None:
        """Keep what levels the platform."""
        self._imu = message, monotonic()

    def _core(self, what: str) -> StewartCommandCore:
        core = self._node.core
        if core is None or core.phase == OFF:
            raise MessageError("phase", f"nothing to {what}: no leg lengths were found yet")
        return core

    def hold(self) -> str:
        """Slow down and hold; return why, or raise why not."""
        core, node = self._core("hold"), self._node
        timeout = core.options.state_timeout
        if timeout and monotonic() - node.heard > timeout:
            raise MessageError("stale", f"no leg lengths for {timeout:g} s")
        node.rider.end()
        node.planner.wait_no_more()
        core.hold()
        node.refused = ""
        return core.reason

    def level(self) -> str:
        """Go to the pose that levels the platform by the IMU, about the tool's origin."""
        core, settings, (message, heard) = self._core("level"), self._node.settings, self._imu
        tool = settings["frame_prefix"] + settings["tool_frame"]
        target = level_target(core, message, monotonic() - heard, frames_of(settings)[1], tool)
        self._node.ask(core, target)
        return "the platform goes to where the IMU is level"

    def ride(self, begin: bool) -> str:
        """Follow the vehicle, or go to the home pose."""
        core, node = self._core("ride"), self._node
        if begin:
            node.rider.begin(core, monotonic())
            return "following the vehicle"
        node.ask(core, node.rider.home(core))
        return "the platform goes to its home pose"

    def _check(self, request: Any, response: Any) -> None:
        check(self._node.reader, self._core("check"), request, response, self._node.legs)

    def describe(self, report: Report) -> None:
        """Tell of the services in the diagnostics."""
        self._offers.describe(report)


def _answer(response: Any, do: Callable[[], str]) -> Any:
    """Fill in a response with what is done, or with why it is not."""
    try:
        response.message = do()
        response.success = True
    except (NodeError, LieDynamicsError) as error:
        response.success, response.message = False, str(error)
    return response
