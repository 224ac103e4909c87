"""One parameter of a node: what it may be, and when it may change."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ..lie_dynamics.texts import quoted
from .errors import ParameterError

When = Literal["any time", "while unconfigured", "at start"]


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
    """

    name: str
    default: Any
    description: str
    when: When = "any time"
    low: float = 0
    high: float | None = None
    choices: tuple[str, ...] = ()

    def check(self, value: Any) -> None:
        """Check what rclpy does not; raises ParameterError."""
        if self.choices and value not in self.choices:
            raise ParameterError(f"{self.name} is {quoted(value)}; expected one of: {', '.join(self.choices)}")
        numbers = value if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
        for number in numbers:
            if isinstance(number, float) and not math.isfinite(number):
                raise ParameterError(f"{self.name} holds {number}; expected finite numbers")
            if self.high is not None and not self.low <= number <= self.high:
                raise ParameterError(f"{self.name} holds {number:g}; expected {self.low:g} to {self.high:g}")


def per_joint(name: str, default: float, description: str, when: When = "any time", **limits: float) -> Setting:
    """Return a parameter that is one number for all joints, or one for each."""
    text = f"{description} One number for all joints, or one for each in model order."
    return Setting(name, [default], text, when, **limits)
