"""The library's public names: all there, the same for type checkers, and imported only when they are asked for."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from lie_dynamics_ros import lie_dynamics

STUB = Path(lie_dynamics.__file__).with_suffix(".pyi")


def test_the_stub_says_the_same():
    found, rooms = {}, []
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module is None:
            rooms += [alias.asname for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.name: node.module for alias in node.names}
        else:
            names = ast.literal_eval(node.value)
    assert found == lie_dynamics._MODULES
    assert tuple(rooms) == lie_dynamics._ROOMS
    assert sorted(names) == lie_dynamics.__all__


def test_every_name_is_there():
    for name, module in lie_dynamics._MODULES.items():
        value = getattr(lie_dynamics, name)
        assert value is getattr(import_module(f"{lie_dynamics.__name__}.{module}"), name)
        assert value.__doc__, name
    assert set(lie_dynamics.__all__) <= set(dir(lie_dynamics))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = lie_dynamics.no_such_name


PROGRAM = """
import sys
import lie_dynamics_ros.lie_dynamics as ld

def ours():
    return [name for name in sys.modules if name.startswith("lie_dynamics_ros")]

assert len(ours()) == 2 and "numpy" not in sys.modules, ours()
ld.Model, ld.inverse_dynamics
print(*{name.split(".")[2] for name in ours() if name.count(".") > 1})
for room in sys.argv[1:]:
    assert getattr(ld, room).__name__ == f"{ld.__name__}.{room}", room
    assert room == "plots" or "matplotlib" not in sys.modules, room
"""


def test_every_room_is_there_after_a_plain_import_and_imported_when_it_is_asked_for():
    """None but that of pictures loads what draws them."""
    folders = {path.parent.name for path in STUB.parent.glob("*/__init__.py")} - {"engine"}
    assert folders == set(lie_dynamics._ROOMS) - {"closed_form", "errors", "plots"}
    command = [sys.executable, "-c", PROGRAM, *sorted(lie_dynamics._ROOMS, key="plots".__eq__)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    rooms = set(found.stdout.split())
    assert {"model", "engine", "dynamics"} <= rooms
    others = {"stewart", "constraints", "control", "estimation", "simulation", "identification", "closed_form"}
    assert not rooms & others
