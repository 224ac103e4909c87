"""What is private of rclpy, and what differs between distributions of ROS 2, is in one module."""

import ast
import re
from pathlib import Path

import lie_dynamics_ros

ROOT = Path(lie_dynamics_ros.__file__).parent
HOME = ROOT / "ros" / "wire" / "compatibility.py"
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


def test_distributions_are_told_apart_in_one_module():
    """By name or by what is experimental in rclpy: code and docstrings of the others speak of none."""
    names = re.compile(r"humble|\biron\b|jazzy|kilted|lyrical|ROS_DISTRO|experimental", re.IGNORECASE)
    assert names.search(HOME.read_text())
    for path in (*ROOT.rglob("*.py"), *(ROOT.parent / "launch").glob("*.py")):
        assert path == HOME or not names.search(path.read_text()), path
