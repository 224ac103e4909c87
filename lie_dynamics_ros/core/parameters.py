"""Parameters of nodes: frozen dataclasses whose fields declare what a parameter may be, and when it may change.

The package generate_parameter_library_py makes such a class of a YAML file when a package is built, but what it makes
needs rclpy, which cores and the `Controller` do without, and its validators are free functions of one parameter: there
are no checks of several at once, no parameters that may change until a node is configured, and no groups that nodes
share. So the class itself is the declaration here, and YAML and tables are written from it. The package
diagnostic_updater runs all parts of a report at once, from its own timer; here a part that takes long waits until a
state has been answered (`ros.outputs.diagnostics`).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import yaml

from ..lie_dynamics.texts import quoted
from .errors import ParameterError

When = Literal["any time", "while unconfigured", "at start"]
if TYPE_CHECKING:
    from typing_extensions import Self

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


class Parameters:
    """Base of the parameters of a node, and of groups of them that several nodes have: frozen dataclasses.

    Each field is one parameter, made by `parameter`; an instance holds values that were checked, arrays as tuples.
    """

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Check values against each other; raises ParameterError. Subclasses call that of their bases."""

    @classmethod
    def settings(cls) -> tuple[Setting, ...]:
        """Return what is declared: by the class itself first, then by its bases, the nearest first."""
        found: dict[str, Setting] = {}
        for kind in cls.__mro__:
            for name in inspect.get_annotations(kind):
                if DECLARED in (metadata := kind.__dataclass_fields__[name].metadata):  # type: ignore[attr-defined]
                    found.setdefault(name, replace(metadata[DECLARED], name=name))
        return tuple(found.values())

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the values of all parameters where nobody sets them."""
        return {setting.name: setting.default for setting in cls.settings()}

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Make parameters of values by name; defaults for those that are left out. Raises ParameterError."""
        given = {one.name: values[one.name] for one in fields(cls) if one.name in values}  # type: ignore[arg-type]
        return cls(**{name: x if isinstance(x, (str, float, int)) else tuple(x) for name, x in given.items()})


DECLARED = "parameter"
"""Key of the metadata of a field that hold its declaration."""


def parameter(default: Any, description: str, when: When = "any time", **rules: Any) -> Any:
    """Return a field of `Parameters`; arguments as the attributes of `Setting`, arrays as lists."""
    setting = Setting("", default, description, when, **rules)
    return field(default=tuple(default) if isinstance(default, list) else default, metadata={DECLARED: setting})


def per_joint(default: float, description: str, when: When = "any time", **limits: float) -> Any:
    """Return a field that is one number for all joints, or one for each."""
    text = f"{description} One number for all joints, or one for each in model order."
    return parameter([default], text, when, by_joint=True, **limits)


def with_default(kind: type[Parameters], name: str, default: Any) -> Any:
    """Return the field of a class that declares a parameter as another does, but for its default."""
    (setting,) = (one for one in kind.settings() if one.name == name)
    return field(default=default, metadata={DECLARED: replace(setting, default=default)})
