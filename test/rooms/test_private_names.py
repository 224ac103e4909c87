"""What is private of rclpy is used in one module."""

import ast
from pathlib import Path

import lie_dynamics_ros

ROOT = Path(lie_dynamics_ros.__file__).parent
HOME = ROOT / "ros" / "wire" / "rclpy_private.py"
PRIVATE = {"_state_machine", "handle", "send_response", "_callback_type", "impl"}
"""Attributes and modules of rclpy beyond its public interface."""


def names_in(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            yield node.attr
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rclpy"):
            yield from node.module.split(".")


def test_what_is_private_of_rclpy_is_used_in_one_module():
    assert set(names_in(HOME)) >= PRIVATE
    for room in ("core", "ros", "nodes", "demo"):
        for path in (ROOT / room).rglob("*.py"):
            assert path == HOME or not PRIVATE & set(names_in(path)), path
