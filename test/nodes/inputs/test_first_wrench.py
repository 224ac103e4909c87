"""The first external wrench is answered like any other: nothing is read from disk or compiled for it."""

from __future__ import annotations

import numpy as np
import pytest
from node_robots import ARM
from support.forked import run_in_copies

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.core.expiring_values import ExternalWrenches
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.nodes.together.node import NODE_CLASSES

PROGRAM = """
from importlib import import_module
import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from lie_dynamics_ros.ros.node.robot_node import RobotNode

def first_wrench(module, kind):
    rclpy.init()
    node = getattr(import_module(f"lie_dynamics_ros.nodes.{module}.node"), kind)(parameter_overrides=[
        Parameter("robot_description", value="package://lie_dynamics_ros/urdf/panda_arm.urdf"),
        Parameter("autostart", value=False),
    ])
    assert node.trigger_configure().name == node.trigger_activate().name == "SUCCESS"
    callbacks = {s.topic_name.rpartition("/")[2]: s.callback for s in node.subscriptions}
    position = [0.0, 0.0, 0.0, -1.5, 0.0, 1.5, 0.0]
    state = JointState(name=[f"panda_joint{i}" for i in range(1, 8)], position=position, velocity=[0.0] * 7)
    wrench = WrenchStamped()
    wrench.header.frame_id = "panda_link8"
    wrench.wrench.force.z = -10.0
    for _ in range(2):
        node.stream.on_state(state)
    opened = []
    sys.addaudithook(lambda event, args: opened.append(args[0]) if event in ("open", "compile", "import") else None)
    callbacks["external_wrench"](wrench)
    node.stream.on_state(state)
    after = list(opened)
    assert node.stream.statistics.answered == 3, node.stream.statistics.problem
    assert node.inputs.wrenches.frames == ("panda_link8",)
    print(module, "opened:", after)
    assert not after

in_copies(first_wrench)
"""


def test_the_first_wrench_loads_nothing(ros):
    run_in_copies(PROGRAM, [(x, NODE_CLASSES[x]) for x in ("computed_torque", "hybrid_dynamics", "inverse_dynamics")])


def test_a_slash_before_a_frame_makes_no_other_frame_of_it():
    wrenches = ExternalWrenches(Model.from_urdf(ARM))
    wrenches.put("/panda_link8", np.ones(6), 0)
    wrenches.put("panda_link8", np.arange(6.0), 0)
    assert wrenches.frames == ("panda_link8",)
    (body,) = np.flatnonzero(wrenches.on_bodies(0, 1).any(axis=1))
    assert body == 6


def test_a_frame_that_the_robot_does_not_have_is_named_in_short():
    wrenches = ExternalWrenches(Model.from_urdf(ARM))
    with pytest.raises(MessageError, match="no link or frame 'xxx") as error:
        wrenches.put("x" * 10_000, np.ones(6), 0)
    assert len(str(error.value)) < 200
