"""The topic on which a node reports its answers and their inputs."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node

from ..wire.interface_package import interfaces
from .output import Output


class StateReports:
    """A topic of this project's own message type, published only while somebody subscribes.

    Without the interface package, or with one that is older than the message, there is no such topic.

    Parameters
    ----------
    node : LifecycleNode
        Publishes only while it is active.
    topic : str
    type_name : str
        Of the message, which has a header and ``joint_names``.
    report : type
        The dataclass that is published; its attributes are fields of the message.
    """

    def __init__(self, node: Node, topic: str, type_name: str, report: type) -> None:
        self._type = getattr(interfaces("msg"), type_name, None)
        if self._type is not None and not {f.name for f in fields(report)} <= set(
            self._type.get_fields_and_field_types()
        ):
            node.get_logger().warning(f"without {topic}: the interface package that is installed is another version")
            self._type = None
        self._output = None if self._type is None else Output(node, self._type, topic)

    @property
    def heard(self) -> bool:
        """Whether somebody listens; see `Output`."""
        return self._output is not None and self._output.heard

    def publish(self, joints: Sequence[str], report: Any, stamp: Time) -> None:
        """Publish a dataclass whose attributes are fields of the message, under the stamp of the state it is about."""
        assert self._type is not None and self._output is not None
        message = self._type(joint_names=list(joints))
        message.header.stamp = stamp
        for field in fields(report):
            value = getattr(report, field.name)
            if isinstance(value, np.ndarray):  # rclpy would look at each entry of an array
                value = array("d", value.tobytes()) if value.dtype == np.float64 else value.tolist()
            setattr(message, field.name, value)
        self._output.send(message)
