"""What the nodes say about themselves on /diagnostics."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node


class Reports:
    """Keeps the last report of each node, and errors.

    Attributes
    ----------
    last : dict
        Last status of each node, by its name.
    errors : set
        Messages of errors of nodes while they were active.
    """

    def __init__(self) -> None:
        self.last: dict[str, DiagnosticStatus] = {}
        self.errors: set[str] = set()

    def listen(self, node: Node) -> None:
        """Subscribe."""
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_message, 50)

    def figures(self) -> dict[str, dict[str, str]]:
        """Key figures of each node's last report."""
        return {name: {value.key: value.value for value in status.values} for name, status in self.last.items()}

    def _on_message(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.last[status.name] = status
            active = any(value.key == "lifecycle state" and value.value == "active" for value in status.values)
            if active and status.level == DiagnosticStatus.ERROR:
                self.errors.add(f"{status.name}: {status.message}")
