"""One name for one thing: no two classes or constants of the same name in what nodes are made of."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import lie_dynamics_ros

ROOT = Path(lie_dynamics_ros.__file__).parent
ROOMS = ("core", "ros", "nodes")
ROLES = {"SETTINGS"}
"""What every node has under the same name: its parameters."""


def definitions(path):
    """Names of the classes and constants that a module defines."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            for name in getattr(target, "elts", [target]):
                if isinstance(name, ast.Name) and name.id.isupper():
                    yield name.id


def test_classes_and_constants_have_names_of_their_own():
    places = defaultdict(list)
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for name in set(definitions(path)) - ROLES:
                places[name].append(str(path.relative_to(ROOT)))
    assert len(places) > 100
    assert not {name: where for name, where in places.items() if len(where) > 1}


LIBRARY_NAMES_TWICE = {"Motion", "TrackingError"}
"""Public names of two rooms each, which users import from there."""


def test_classes_of_the_library_have_names_of_their_own():
    places = defaultdict(list)
    for path in sorted((ROOT / "lie_dynamics").rglob("*.py")):
        for name in re.findall(r"^class (?!_)(\w+)", path.read_text(), re.MULTILINE):
            places[name].append(str(path.relative_to(ROOT)))
    assert len(places) > 200
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert set(twice) == LIBRARY_NAMES_TWICE, twice


def test_types_of_arrays_are_defined_once():
    """In `lie_dynamics.arrays`; kernels may stand by themselves."""
    defined = re.compile(r"^(Array|AnyArray|Complex|Integers|Mask)\b.* = ", re.MULTILINE)
    assert len(defined.findall((ROOT / "lie_dynamics" / "arrays.py").read_text())) == 5
    for path in sorted(ROOT.rglob("*.py")):
        if path != ROOT / "lie_dynamics" / "arrays.py" and "kernels" not in path.parts:
            assert not defined.search(path.read_text()), path


def test_what_a_state_goes_through_is_called_a_core():
    """A task is something else: task space."""
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            named = re.findall(r"^ *(?:class|def) (\w+)", path.read_text(), re.MULTILINE)
            assert not [name for name in [path.stem, *named] if "task" in name.lower()], path


def test_what_grows_as_safety_shrinks_is_no_margin():
    """Parameters with a margin in their name: none; distances beyond a limit are tolerances."""
    for path in (ROOT.parent / "config").glob("*.yaml"):
        assert "margin" not in path.read_text(), path
