"""Every service of every node with random requests of its type: an answer each, and nodes that live on.

Requests are filled field by field from the description of the type, with what the robot and the platform really have
among what nobody should send. What was sent before an answer that does not come is in the message of the defect.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from .node_target import NodeTarget
from .target import DefectError

NUMBERS = (0.0, 1.0, 0.5, -1.0, 1e-308, 1e160, 1e308, -1e308, math.nan, math.inf)
TEXTS = ("", "panda_link8", "panda_joint1", "leg_1", "nowhere", "x" * 300, "ünï", "\n")
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


def interface(name: str) -> type:
    """Return the class of a type such as ``std_srvs/srv/Trigger``."""
    package, kind, type_ = name.split("/")
    return getattr(importlib.import_module(f"{package}.{kind}"), type_)


def fill(message: Any, rng: np.random.Generator, depth: int = 0) -> None:
    """Fill the fields of a message at random, most of them."""
    for name, kind in message.get_fields_and_field_types().items():
        if rng.random() < 0.15:
            continue
        base = kind.removeprefix("sequence<").split("[")[0].removesuffix(">").split(",")[0]
        if kind.startswith("sequence<"):
            size = int(rng.choice([0, 1, 6, 7, 12, 14, 36]))
            setattr(message, name, [_value(base, rng, depth) for _ in range(size if depth < 2 else 1)])
        elif "[" not in kind:
            setattr(message, name, _value(base, rng, depth))


def _value(kind: str, rng: np.random.Generator, depth: int) -> Any:
    if kind in ("double", "float"):
        number = float(rng.choice(NUMBERS)) if rng.random() < 0.1 else float(rng.normal(0.5, 0.3))
        return number if kind == "double" or abs(number) < 1e38 else 0.0
    if kind == "boolean":
        return bool(rng.random() < 0.5)
    if kind.startswith("string"):
        return str(rng.choice(TEXTS))
    if "int" in kind and "/" not in kind:
        bits, signed = int(kind.removeprefix("u").removeprefix("int")), not kind.startswith("u")
        high = 2 ** (bits - signed) - 1
        return int(rng.choice([0, 1, 2, high]))
    if kind == "octet":
        return b"\x00"
    package, name = kind.split("/")
    inner = interface(f"{package}/msg/{name}")()
    fill(inner, rng, depth + 1)
    return inner


def finite(message: Any) -> bool:
    """Tell whether all numbers of a message are finite, those of nested messages too."""
    for name, kind in message.get_fields_and_field_types().items():
        value = getattr(message, name)
        if "double" in kind and not np.isfinite(np.asarray(value)).all():
            return False
        if hasattr(value, "get_fields_and_field_types") and not finite(value):
            return False
        if isinstance(value, list) and not all(finite(v) for v in value if hasattr(v, "get_fields_and_field_types")):
            return False
    return True
