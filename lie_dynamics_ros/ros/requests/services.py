"""Services of a node: where the interface package is there, and never with an exception for an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rclpy.node import Node

from ...core.errors import NodeError, reason_of
from ...lie_dynamics import LieDynamicsError
from ..outputs.diagnostics import Report
from ..wire.compatibility import BUILD_IT, INTERFACE_PACKAGE, interfaces
from .worker import Worker

if TYPE_CHECKING:
    from ..node.side_node import SideNode

Handler = Callable[[Any, Any], None]
"""Fills in a response for a request; raises `NodeError` or `LieDynamicsError` with the reason where it cannot."""


class Services:
    """The services that a node offers of its own, beside those of ROS.

    Responses have ``success``, true unless the handler sets it, and ``message``. Where a handler raises,
    ``success`` is false and all else in the response is empty.

    Parameters
    ----------
    node : Node
        Without the interface package it gets no services, and logs that once.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._types = interfaces("srv")
        self._calls = self._refused = 0
        self._problem = ""
        if self._types is None:
            what = f"the package {INTERFACE_PACKAGE} is not installed; {BUILD_IT}"
            node.get_logger().info(f"without services and topics of own types: {what}")

    @property
    def available(self) -> bool:
        """Whether services can be offered."""
        return self._types is not None

    def offer(
        self, type_name: str, name: str, handler: Handler, worker: Worker | None = None, side: SideNode | None = None
    ) -> None:
        """Offer a service under a name such as ``~/compute_mass_matrix``, where its type is installed.

        With a ``worker`` the handler runs on its thread, and topics go on meanwhile; with a ``side`` node requests are
        taken on that one's.
        """
        type_ = getattr(self._types, type_name, None)
        if type_ is None:
            return
        if worker is None:
            self._node.create_service(type_, name, lambda request, _: self._respond(type_, name, handler, request))
            return

        node, full_name = (self._node, name) if side is None else (side, side.name_of(name))
        service = node.create_service(type_, full_name, lambda request, _: request)
        worker.serve(service, lambda request: self._respond(type_, name, handler, request))

    def _respond(self, type_: Any, name: str, handler: Handler, request: Any) -> Any:
        self._calls += 1
        response = type_.Response(success=True)
        try:
            handler(request, response)
        except (NodeError, LieDynamicsError) as error:
            text = str(error)
        except Exception as error:  # whatever is requested, the node goes on
            text = reason_of(error)
            self._node.get_logger().error(f"{name} failed: {text}", throttle_duration_sec=5.0)
        else:
            return response
        self._refused += 1
        self._problem = f"{name.removeprefix('~/')}: {text}"
        return type_.Response(success=False, message=text)

    def describe(self, report: Report) -> None:
        """Write the key figures into a diagnostic report."""
        if self.available:
            report.values["service calls"] = self._calls
            report.values["service calls refused"] = self._refused
            if self._problem:
                report.values["last refused call"] = self._problem
