"""Parameter files in examples/drivers: parameters that the node has, values that it takes, joints that fit."""

from pathlib import Path

import pytest
import yaml

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from lie_dynamics_ros.nodes.computed_torque.node import SETTINGS
from lie_dynamics_ros.nodes.computed_torque.options import ComputedTorqueOptions

FOLDER = Path(__file__).parents[3] / "examples" / "drivers"
FILES = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yaml"))}
OURS = {stem: content for stem, content in FILES.items() if "controller_names" not in str(content)}
KNOWN = {setting.name: setting for setting in SETTINGS}


@pytest.mark.parametrize("stem", OURS)
def test_the_node_takes_them(stem):
    values = dict(OURS[stem]["computed_torque"]["ros__parameters"])
    values.pop("use_sim_time", None)  # rclpy's own
    assert values and set(values) <= set(KNOWN)
    for name, value in values.items():
        assert type(value) is type(KNOWN[name].default)
    ComputedTorqueOptions.from_values({**{name: setting.default for name, setting in KNOWN.items()}, **values})
    for other in (name for name in values if name == "rotors"):
        assert len(values[other]) == len(values["joints"])


def test_each_driver_is_here():
    assert set(FILES) == {"ros2_control", "moveit_controllers", "franka", "ur", "simulator"}


def test_controller_and_node_agree_on_the_joints():
    content = FILES["ros2_control"]
    expected = content["forward_effort_controller"]["ros__parameters"]["joints"]
    assert content["computed_torque"]["ros__parameters"]["joints"] == expected
    manager = content["controller_manager"]["ros__parameters"]
    assert {"joint_state_broadcaster", "forward_effort_controller"} < set(manager)
    moveit = FILES["moveit_controllers"]["moveit_simple_controller_manager"]
    (name,) = moveit["controller_names"]
    assert moveit[name]["type"] == "FollowJointTrajectory" and moveit[name]["action_ns"] == "follow_joint_trajectory"
