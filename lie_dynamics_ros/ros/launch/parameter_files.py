"""Parameter files, looked at before nodes are started with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ...lie_dynamics.texts import quoted


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
