"""A transition that fails half-way leaves nothing open: no node answers states while it is said to be inactive."""

from __future__ import annotations

from support.preloaded import run_program

from lie_dynamics_ros.nodes.together.node import NODE_CLASSES

PROGRAM = """
import sys
from importlib import import_module

import rclpy
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

def fails(*_):
    raise RuntimeError("on purpose")

def try_node(module, name):
    given = {"robot_description": "package://lie_dynamics_ros/urdf/panda_arm.urdf", "autostart": False}
    if module == "stewart_pose":
        del given["robot_description"]  # its platform has a default
    kind = getattr(import_module(f"lie_dynamics_ros.nodes.{module}.node"), name)
    node = kind(parameter_overrides=[Parameter(name, value=value) for name, value in given.items()])
    assert node.trigger_configure().name == "SUCCESS", node.failure
    usual, node.stream._say_waiting = node.stream._say_waiting, fails  # the last that opening a stream does
    assert node.trigger_activate().name == "FAILURE"
    assert node.state == "inactive" and not node.stream.open
    assert node.answering is None

    node.stream._say_waiting = usual
    assert node.trigger_activate().name == "SUCCESS" and node.stream.open
    position = [0.0, 0.0, 0.0, -1.5, 0.0, 1.5, 0.0]
    names = [f"panda_joint{i}" for i in range(1, 8)]
    node.stream.on_state(JointState(name=names, position=position, velocity=[0.0] * 7))
    for publisher in node.publishers:
        publisher.publish = fails
    node.trigger_deactivate()
    assert node.state == "inactive" and not node.stream.open
    assert node.answering is None
    print(module)

rclpy.init()
for module, name in zip(sys.argv[1::2], sys.argv[2::2]):
    try_node(module, name)
"""
#: Nodes that answer states; stewart_command has a timer instead of a stream of states.
ANSWERING = [name for name in NODE_CLASSES if not name.startswith("simulated") and name != "stewart_command"]


def test_what_fails_half_way_leaves_no_stream_open(ros):
    """All nodes in one process of their own, one after the other; it prints the names of those that passed."""
    done = run_program(PROGRAM, *(part for name in ANSWERING for part in (name, NODE_CLASSES[name])))
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if line in NODE_CLASSES] == ANSWERING
