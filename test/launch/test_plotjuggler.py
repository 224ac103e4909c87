"""The layout for PlotJuggler, read as PlotJuggler reads it."""

from xml.etree import ElementTree as ET

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from lie_dynamics_ros.nodes.interfaces import INTERFACES
from lie_dynamics_ros.ros.launch_files import ANSWERS, LAUNCHED_NODES, joints_of, layout, topics_of, write

NODES = [{"name": name, "namespace": "cell"} for name in LAUNCHED_NODES]


def test_nodes_that_answer_with_efforts_are_all_of_them():
    assert {name for name, node in INTERFACES.items() if "~/joint_efforts" in node.publishes} - {
        "simulated_robot"
    } == set(ANSWERS)


def test_topics_have_their_namespaces():
    topics = topics_of("cell", NODES)
    assert topics.pop("/cell/joint_states") == ("position", "velocity")
    assert topics == {f"/cell/{name}/joint_efforts": ("effort",) for name in LAUNCHED_NODES if name in ANSWERS}
    assert list(topics_of("", [{"name": "computed_torque", "namespace": ""}])) == [
        "/computed_torque/joint_efforts",
        "/joint_states",
    ]


def test_joints_are_those_that_move_under_the_names_of_messages():
    arm = joints_of("package://lie_dynamics_ros/urdf/panda_arm.urdf", "left_")
    assert arm == [f"left_panda_joint{k}" for k in range(1, 8)]
    for unknown in ("", "/no/such/robot.urdf", "<robot", "<!DOCTYPE a><robot/>"):
        assert joints_of(unknown) == []


def test_a_layout_has_a_curve_for_each_joint_and_chooses_the_topics():
    root = ET.fromstring(
        layout({"/a/joint_efforts": ("effort",), "/joint_states": ("position", "velocity")}, ["j<1", "j2"])
    )
    splitter = root.find("tabbed_widget/Tab/Container/DockSplitter")
    areas = splitter.findall("DockArea")
    assert int(splitter.get("count")) == len(areas) == len(splitter.get("sizes").split(";")) == 3
    assert sum(map(float, splitter.get("sizes").split(";"))) == pytest.approx(1.0, abs=1e-5)
    names = [[curve.get("name") for curve in area.findall("plot/curve")] for area in areas]
    assert names == [
        ["/a/joint_efforts/j<1/effort", "/a/joint_efforts/j2/effort"],
        ["/joint_states/j<1/position", "/joint_states/j2/position"],
        ["/joint_states/j<1/velocity", "/joint_states/j2/velocity"],
    ]
    (plugin,) = root.findall("Plugins/plugin")
    assert plugin.get("ID") == root.find("previouslyLoaded_Streamer").get("name") == "ROS2 Topic Subscriber"
    assert plugin.find("selected_topics").get("value") == "/a/joint_efforts;/joint_states"
    assert int(plugin.find("max_array_size").get("value")) > 0


def test_a_layout_is_written_for_its_user_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = write("<root/>")
    assert path.parent == tmp_path and path.read_text() == "<root/>" and path.stat().st_mode & 0o077 == 0
