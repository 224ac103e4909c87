"""Every service of every node with random requests of its type: an answer each, and nodes that live on.

Requests are filled field by field from the description of the type, with what the robot and the platform really have
among what nobody should send. What was sent before an answer that does not come is in the message of the defect.
"""

from __future__ import annotations

import numpy as np

from .node_target import NodeTarget
from .random_messages import fill, finite, interface
from .target import DefectError

SKIPPED = ("change_state",)
"""By the end of the name; of the target `lifecycle`."""


class Subject(NodeTarget):
    """See the module."""

    cases = 2000

    def prepare(self) -> None:
        from test_parameter_files import NODES

        self.nodes = [self.start(module) for module in NODES]
        self.services = self.bench.wait(self._services, "services of all nodes")

    def _services(self) -> list[tuple[str, type]]:
        found = []
        for node in self.nodes:
            namespace, name = node.rsplit("/", 1)
            offered = self.bench.node.get_service_names_and_types_by_node(name, namespace)
            if len(offered) < 12:
                return []
            found += [(name, interface(types[0])) for name, types in sorted(offered) if not name.endswith(SKIPPED)]
        return found

    def check(self, rng: np.random.Generator, index: int) -> None:
        name, type_ = self.services[index % len(self.services)]
        request = type_.Request()
        if "parameter" not in name or "describe" in name:  # whose values are of the target `parameters`
            fill(request, rng)
        try:
            response = self.bench.call(type_, name, request)
        except AssertionError as error:
            raise DefectError(f"{name}: no answer to {str(request)[:2000]}: {error}") from error
        self.require_alive()
        if not hasattr(response, "success") or not hasattr(response, "message"):
            return
        if "Error:" in response.message:
            raise DefectError(f"{name}: an exception that nobody expected: {response.message}; {str(request)[:2000]}")
        if not response.success and not response.message:
            raise DefectError(f"{name}: refused without a reason: {str(request)[:2000]}")
        if response.success and not finite(response):
            raise DefectError(f"{name}: success with numbers that are not finite: {str(request)[:2000]}")
