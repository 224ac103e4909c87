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


def test_every_room_is_there_after_a_plain_import():
    folders = {path.parent.name for path in STUB.parent.glob("*/__init__.py")} - {"engine"}
    assert folders == set(lie_dynamics._ROOMS) - {"closed_form", "errors", "plots"}
    program = (
        "import sys\nimport lie_dynamics_ros.lie_dynamics as ld\n"
        "ours = [m for m in sys.modules if m.startswith('lie_dynamics_ros')]\n"
        "assert len(ours) == 2 and 'numpy' not in sys.modules, ours\n"
        "for room in sys.argv[1:]:\n    assert getattr(ld, room).__name__ == f'{ld.__name__}.{room}', room"
    )
    command = [sys.executable, "-c", program, *lie_dynamics._ROOMS]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def test_what_is_not_asked_for_is_not_imported():
    program = (
        "import sys\nfrom lie_dynamics_ros.lie_dynamics import Model, inverse_dynamics\n"
        "print(*[m for m in sys.modules if m.startswith('lie_dynamics_ros.lie_dynamics.')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=STUB.parents[2]
    )
    rooms = {name.split(".")[2] for name in run.stdout.split()}
    assert {"model", "engine", "dynamics"} <= rooms
    others = {"stewart", "constraints", "control", "estimation", "simulation", "identification", "closed_form"}
    assert not rooms & others
