"""An argument of launch files, and how its text is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ...lie_dynamics.texts import plain_number, quoted

# Parameter files, looked at before nodes are started with them.


def parameter_file(name: str, text: str) -> Path:
    """Return the path of a parameter file; refuse one that no node could read, with one line."""
    path = Path(text).expanduser()
    if not path.is_file():
        raise ValueError(f"{name} is {quoted(text)}; expected the path of a parameter file, and there is none")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name} is {quoted(text)}, which cannot be read: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark is not None else ""
        raise ValueError(f"{name} is {quoted(text)}, which is not valid YAML{place}") from error
    mixed = _mixed_list(content, 6)
    if mixed:
        raise ValueError(
            f"{name} is {quoted(text)}, where {mixed} mixes numbers with and without a decimal point: write 0.0 for 0"
        )
    return path


def _mixed_list(content: Any, depth: int) -> str:
    """Return the name of a parameter that is a list of integers and floating point numbers; empty where none is."""
    if not isinstance(content, dict) or not depth:
        return ""
    for key, value in content.items():
        if isinstance(value, list) and {type(entry) for entry in value} == {int, float}:
            return str(key)
        found = _mixed_list(value, depth - 1)
        if found:
            return found
    return ""


BOOLEANS = ("true", "false")
OF_ALL_NODES = ("autostart", "use_sim_time")
"""Arguments that every node has."""


@dataclass(frozen=True)
class Argument:
    """An argument of launch files.

    Attributes
    ----------
    description : str
        Text in ``ros2 launch --show-args``.
    kind : {"text", "boolean", "number", "name", "file", "arms", "robots"}
        What a value must be: a name is that of a topic or namespace; arms are words ``namespace=base_link``, robots are
        namespaces.
    choices : tuple of str
        Allowed values, where not all are.
    low, high : float
        Range of a number.
    default : str
        Value where none is given; an empty one leaves things as they are.
    empty : str
        Text in ``--show-args`` for an empty value.
    """

    description: str
    kind: str = "text"
    choices: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    default: str = ""
    empty: str = "as in the parameter file"

    def read(self, name: str, text: str) -> Any:
        """Return the value of a text that is not empty; raises ValueError, which names argument, value and rule."""
        if self.choices and text not in self.choices:
            raise ValueError(f"{name} is {quoted(text)}; expected {' or '.join(self.choices)}")
        if self.kind == "boolean":
            return text == "true"
        if self.kind == "number":
            value = plain_number(text)
            if value is None or not self.low <= value <= self.high:
                raise ValueError(f"{name} is {quoted(text)}; expected a number from {self.low:g} to {self.high:g}")
            return value
        if self.kind == "name" and not _NAME.fullmatch(text):
            raise ValueError(f"{name} is {quoted(text)}; expected words of letters, digits and _ with / between them")
        if self.kind in LISTS:
            return _read_list(name, text, self.kind)
        if self.kind == "file":
            return str(parameter_file(name, text))
        return text


LISTS = {"arms": "words namespace=base_link", "robots": "words of letters, digits and _, a namespace for each robot"}
"""Arguments that list what nodes are started for, and what is expected of them."""


def _read_list(name: str, text: str, kind: str) -> dict[str, str]:
    """Return the base link of each arm, or nothing of each robot, by its namespace; raises ValueError for the rest."""
    found: dict[str, str] = {}
    for word in text.split():
        namespace, equals, link = word.partition("=")
        wrong = not link if kind == "arms" else equals
        if wrong or not _NAME.fullmatch(namespace) or namespace.startswith(("/", "~")):
            raise ValueError(f"{name} has {quoted(word)}; expected {LISTS[kind]}")
        if namespace in found:
            raise ValueError(f"{name} names {namespace} twice")
        found[namespace] = link
    return found


_NAME = re.compile(r"(/|~/)?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*/?")
