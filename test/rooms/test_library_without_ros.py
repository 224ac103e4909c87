"""The library stands on its own."""

import subprocess
import sys

PROGRAM = """
import importlib, pkgutil, sys

ROS = ("rclpy", "ament_index_python", "lie_dynamics_interfaces", "launch")


class NoRos:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ROS or name.split(".")[0].endswith("_msgs"):
            raise ImportError(f"the library imports {name}")


sys.meta_path.insert(0, NoRos())
import lie_dynamics_ros.lie_dynamics as library

modules = [m.name for m in pkgutil.walk_packages(library.__path__, library.__name__ + ".")]
for name in modules:
    if not name.endswith("__main__"):
        importlib.import_module(name)
assert len(modules) > 20, modules
others = tuple(f"lie_dynamics_ros.{room}" for room in ("core", "ros", "nodes"))
assert not [m for m in sys.modules if m.startswith(others)]
"""


def test_no_module_of_the_library_imports_ros_or_the_nodes():
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
