"""The library stands on its own; what nodes compute needs no ROS, nor what of this package deals with it."""

import ast
import subprocess
import sys
from pathlib import Path

import lie_dynamics_ros

ROOT = Path(lie_dynamics_ros.__file__).parent
CORES = sorted(f"lie_dynamics_ros.nodes.{path.parent.name}.core" for path in ROOT.glob("nodes/*/core.py"))
SHARED = sorted(f"lie_dynamics_ros.core.{path.stem}" for path in ROOT.glob("core/*.py") if path.stem != "__init__")
PROGRAM = """
import importlib, pkgutil, sys

ROS = ("rclpy", "ament_index_python", "rcl_interfaces", "lie_dynamics_interfaces", "launch")


class NoRos:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ROS or name.split(".")[0].endswith(("_msgs", "_srvs")):
            raise ImportError(f"the library or a core imports {name}")


sys.meta_path.insert(0, NoRos())
import lie_dynamics_ros.lie_dynamics as library

modules = [m.name for m in pkgutil.walk_packages(library.__path__, library.__name__ + ".")]
for name in modules:
    if not name.endswith("__main__"):
        importlib.import_module(name)
assert len(modules) > 20, modules
others = tuple(f"lie_dynamics_ros.{room}" for room in ("core", "ros", "nodes"))
assert not [m for m in sys.modules if m.startswith(others)]

for name in sys.argv[1:]:
    importlib.import_module(name)
loaded = [m for m in sys.modules if m.startswith("lie_dynamics_ros.ros") or m.endswith(".node")]
assert not loaded, loaded
"""


def test_neither_the_library_nor_a_core_imports_ros():
    assert len(CORES) == 11 and len(SHARED) > 8
    command = [sys.executable, "-c", PROGRAM, *CORES, *SHARED]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_no_core_names_ros_even_for_types():
    """Nor where only a type checker looks."""
    files = [*ROOT.glob("core/*.py"), *ROOT.glob("nodes/*/core.py")]
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(alias.name for alias in node.names)] if node.level else [node.module]
                first = names[0].split(".")[0] if names[0] else names[1]
                assert first not in ("ros", "rclpy", "node") and not first.endswith("_msgs"), (path, node.lineno)
