"""The reference shares no code with what it is the oracle of: it imports Lie groups and models, nothing else."""

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

LIBRARY = Path(__file__).resolve().parents[2] / "lie_dynamics_ros" / "lie_dynamics"
WIDTH = LIBRARY / "engine" / "width.py"
ALLOWED = {"reference", "lie", "model", "errors", "texts", "files", "xml_elements", "arrays", "shown"}


@cache
def imported(path):
    """Dotted names that a module imports; those of the library as paths from its root, without leading dots."""
    return list(_imported(path))


def _imported(path):
    room = path.relative_to(LIBRARY).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (("outside", alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            above = room[: len(room) - node.level + 1] + tuple((node.module or "").split(".") if node.module else ())
            yield from (("inside", (*above, alias.name)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "outside", node.module


def module_of(parts):
    """File of a dotted path, or of the module that defines its last name."""
    for tail in (parts, parts[:-1]):
        for path in (LIBRARY.joinpath(*tail).with_suffix(".py"), LIBRARY.joinpath(*tail, "__init__.py")):
            if tail and path.is_file():
                return path
    raise AssertionError(f"no module {parts}")


def reached(starts):
    """All modules of the library that these import, directly or not, and what they import from outside."""
    found, outside, pending = set(), set(), list(starts)
    while pending:
        path = pending.pop()
        if path in found:
            continue
        found.add(path)
        for where, what in imported(path):
            if where == "inside":
                pending.append(module_of(what))
            else:
                outside.add(what.split(".")[0])
    return found, outside


def test_reach_of_the_reference():
    found, outside = reached((LIBRARY / "reference").glob("*.py"))
    # The layout of a model's table asks how wide lanes are: one number.
    rooms = {path.relative_to(LIBRARY).with_suffix("").parts[0] for path in found - {WIDTH}}
    assert {"reference", "lie", "model"} <= rooms <= ALLOWED, rooms - ALLOWED
    # What reads URDF has further needs; the reference's own files have numpy alone.
    own = {
        name for path in (LIBRARY / "reference").glob("*.py") for where, name in imported(path) if where == "outside"
    }
    assert {name.split(".")[0] for name in own} - set(sys.stdlib_module_names) == {"numpy"}
    assert not outside & {"numba", "llvmlite", "scipy"}


@pytest.mark.parametrize("room", ["dynamics", "geometry"])
def test_the_check_can_fail(room):
    found, outside = reached((LIBRARY / room).glob("*.py"))
    assert "numba" in outside
    assert not {path.relative_to(LIBRARY).with_suffix("").parts[0] for path in found} <= ALLOWED
