"""Parameters with descriptions, ranges and rules about when they may change.

rclpy validates types, and ranges of single numbers; `Settings` adds what it lacks: finite numbers, ranges of array
entries, choices, parameters that are fixed once the node is configured, checks across parameters, and a cached copy,
because a look-up in a callback costs more than it should. A change is applied as a whole or not at all: what it leads
to is built before anything is stored, and taken into use afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.node import Node
from rclpy.parameter import Parameter

from ...core.errors import ParameterError, reason_of, start_problem
from ...core.parameters import Parameters, Setting
from ..wire.compatibility import given_value


def make_descriptor(setting: Setting) -> ParameterDescriptor:
    """Build what ``ros2 param describe`` shows, and what rclpy checks."""
    rules = [f"one of: {', '.join(setting.choices)}"] if setting.choices else []
    example = setting.default[0] if isinstance(setting.default, list) else setting.default
    if setting.high is not None and isinstance(setting.default, list):
        rules.append(f"each entry from {setting.low:g} to {setting.high:g}")
    if setting.when != "any time":
        rules.append(f"can be set {'only ' if setting.when == 'at start' else ''}{setting.when}")
    descriptor = ParameterDescriptor(
        description=setting.description,
        additional_constraints="; ".join(rules),
        read_only=setting.when == "at start",
    )
    if setting.high is not None:
        if isinstance(example, int):
            descriptor.integer_range = [IntegerRange(from_value=int(setting.low), to_value=int(setting.high))]
        else:
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=float(setting.low), to_value=float(setting.high))
            ]
    return descriptor


class Settings(Mapping[str, Any]):
    """Declared parameters of a node, and a cached copy of their values.

    Parameters
    ----------
    node : Node
    kind : type
        What declares them.
    configured : callable
        Returns whether the node is configured, so that its structure may not change.
    check : callable
        Called with all values as they would be, and builds what they lead to; raises where that cannot be, whatever
        the error, and then nothing is changed.
    changed : callable
        Called with the names of the parameters that changed, once the cached copy has them; takes into use what was
        built.
    joints : callable
        Returns the names of the joints that arrays have entries for; none while they are not known.
    """

    def __init__(
        self,
        node: Node,
        kind: type[Parameters],
        configured: Callable[[], bool],
        check: Callable[[Mapping[str, Any]], None],
        changed: Callable[[set[str]], None],
        joints: Callable[[], Sequence[str]],
    ) -> None:
        self.kind = kind
        self._settings = {setting.name: setting for setting in kind.settings()}
        self._node, self._configured, self._check, self._changed = node, configured, check, changed
        self._joints = joints
        self._values: dict[str, Any] = {}
        for setting in self._settings.values():
            try:
                parameter = node.declare_parameter(setting.name, setting.default, make_descriptor(setting))
            except InvalidParameterTypeException as error:
                valid = setting.valid(given_value(node, setting.name))
                raise ParameterError(f"{start_problem(error)}; {valid}") from None
            setting.check(parameter.value)
            self._values[setting.name] = parameter.value
        node.add_on_set_parameters_callback(self._on_set)
        node.add_post_set_parameters_callback(self._after_set)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def read_numbers(self, parameters: list[Parameter]) -> list[Parameter]:
        """Return parameters with those texts as numbers that stand for small or large ones.

        ``ros2 param load`` sends 1e-05, as it writes what it reads, as text: YAML 1.1 has no number without a point.
        """
        return [
            Parameter(p.name, value=numbers)
            if p.name in self._settings and (numbers := _numbers(p.value, self._settings[p.name].default)) is not None
            else p
            for p in parameters
        ]

    def valid(self, parameters: list[Parameter]) -> str:
        """Return a valid value for each parameter that has another type than its default."""
        own = [(self._settings[p.name], p) for p in parameters if p.name in self._settings]
        wrong = [(s, p.value) for s, p in own if p.type_ != Parameter.Type.from_parameter_value(s.default)]
        return "; ".join(setting.valid(value) for setting, value in wrong)

    def _own(self, parameters: list[Parameter]) -> dict[str, Any]:
        return {p.name: p.value for p in parameters if p.name in self._settings}

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        changes = self._own(parameters)
        try:
            for name, value in changes.items():
                setting = self._settings[name]
                if setting.when == "while unconfigured" and self._configured() and value != self._values[name]:
                    raise ParameterError(f"{name} can only be set while the node is unconfigured")
                setting.check(value, self._joints())
            if changes:
                self._check({**self._values, **changes})
        except Exception as error:  # whatever is wrong with a value, nothing is stored, and the node goes on
            return SetParametersResult(successful=False, reason=reason_of(error))
        return SetParametersResult(successful=True)

    def _after_set(self, parameters: list[Parameter]) -> None:
        changes = self._own(parameters)
        if not changes:
            return
        self._values.update(changes)
        try:
            self._changed(set(changes))
        except Exception as error:
            self._node.get_logger().error(
                f"parameters {', '.join(changes)} are set, but not in use: {reason_of(error)}"
            )


def _numbers(value: Any, default: Any) -> Any:
    """Return the number, or numbers, that a text stands for where the default is such; None for anything else."""
    many = isinstance(default, list) and bool(default) and isinstance(default[0], float)
    if isinstance(value, str):
        words = value.strip("[] ").split(",") if many else [value]
    elif many and isinstance(value, list) and all(isinstance(word, str) for word in value):
        words = value
    else:
        return None
    if not many and not isinstance(default, float):
        return None
    try:
        found = [float(word) for word in words]
    except ValueError:
        return None
    return found if many else found[0]
