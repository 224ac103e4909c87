"""One parameter of a node: what it may be, and when it may change."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import yaml

from ..lie_dynamics.texts import quoted
from .errors import ParameterError

When = Literal["any time", "while unconfigured", "at start"]
MOST_SHOWN = 20
"""Longest array that a message repeats."""


@dataclass(frozen=True)
class Setting:
    """One parameter of a node.

    Attributes
    ----------
    name, default, description
        As declared; units in square brackets in the description.
    when : {"any time", "while unconfigured", "at start"}
        When it may be set.
    low, high : float or int, optional
        Range of a number, or of each entry of an array, ends included; no `high` for texts and booleans only.
    choices : tuple of str
        Allowed texts, where not all are.
    by_joint : bool
        Whether an array has an entry for each joint; see `per_joint`.
    """

    name: str
    default: Any
    description: str
    when: When = "any time"
    low: float = 0
    high: float | None = None
    choices: tuple[str, ...] = ()
    by_joint: bool = False

    def valid(self, value: Any) -> str:
        """Return a valid value as YAML: what one of another type means where that is clear, else the default."""
        meant, many = self.default, isinstance(self.default, list)
        first = self.default[0] if many and self.default else self.default
        entries = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
        numbers = all(isinstance(entry, (int, float)) and not isinstance(entry, bool) for entry in entries)
        if isinstance(first, float) and numbers and 0 < len(entries) <= (MOST_SHOWN if many else 1):
            meant = [float(entry) for entry in entries] if many else float(entries[0])
        elif many and isinstance(first, str) and isinstance(value, str):
            meant = [value]
        text = yaml.safe_dump([meant], default_flow_style=True, width=math.inf).strip()[1:-1]  # 1.0e-05, not 1e-05
        return f"a valid value of {self.name}: {text}"

    def check(self, value: Any, joints: Sequence[str] = ()) -> None:
        """Check what rclpy does not; raises ParameterError, which names the joint where the robot's are known."""
        if self.choices and value not in self.choices:
            raise ParameterError(f"{self.name} is {quoted(value)}; expected one of: {', '.join(self.choices)}")
        numbers = value if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
        for k, number in enumerate(numbers):
            where = f" for joint {joints[k]}" if self.by_joint and 1 < len(numbers) == len(joints) else ""
            if isinstance(number, float) and not math.isfinite(number):
                raise ParameterError(f"{self.name} holds {number}{where}; expected finite numbers")
            if self.high is not None and not self.low <= number <= self.high:
                raise ParameterError(f"{self.name} holds {number:g}{where}; expected {self.low:g} to {self.high:g}")


def per_joint(name: str, default: float, description: str, when: When = "any time", **limits: float) -> Setting:
    """Return a parameter that is one number for all joints, or one for each."""
    text = f"{description} One number for all joints, or one for each in model order."
    return Setting(name, [default], text, when, by_joint=True, **limits)
