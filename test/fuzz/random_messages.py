"""Messages of any type, filled at random from the description of the type."""

from __future__ import annotations

import importlib
import math
import re
from typing import Any

import numpy as np

NUMBERS = (0.0, 1.0, 0.5, -1.0, 1e-308, 1e160, 1e308, -1e308, math.nan, math.inf)
TEXTS = ("", "panda_link8", "panda_joint1", "leg_1", "nowhere", "x" * 300, "ünï", "\n")


def interface(name: str) -> type:
    """Return the class of a type such as ``std_srvs/srv/Trigger``."""
    package, kind, type_ = name.split("/")
    return getattr(importlib.import_module(f"{package}.{kind}"), type_)


def fill(message: Any, rng: np.random.Generator, depth: int = 0) -> None:
    """Fill the fields of a message at random, most of them."""
    for name, kind in message.get_fields_and_field_types().items():
        if rng.random() < 0.15:
            continue
        base, size = re.fullmatch(r"(?:sequence<)?([\w/]+)(?:<\d+>)?(?:\[(\d+)\])?(?:, \d+)?>?", kind).groups()
        if kind.startswith("sequence<"):
            count = int(rng.choice([0, 1, 6, 7, 12, 14, 36]))
            setattr(message, name, _values(base, rng, depth, count if depth < 2 else 1))
        elif size:
            wild = rng.random() < 0.2  # else one field of a covariance would nearly always be no number
            setattr(message, name, _values(base, rng, depth, int(size)) if wild else rng.normal(size=int(size)))
        else:
            setattr(message, name, _value(base, rng, depth))


def _values(kind: str, rng: np.random.Generator, depth: int, count: int) -> list[Any]:
    if kind != "double":
        return [_value(kind, rng, depth) for _ in range(count)]
    values = rng.normal(0.5, 0.3, count)
    if count and rng.random() < 0.5:
        values[rng.integers(count)] = rng.choice(NUMBERS)
    return values.tolist()


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
