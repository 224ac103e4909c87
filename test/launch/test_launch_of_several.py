"""What the launch files for several arms and robots start; runs without launch."""

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from launch_cases import parts_of

from lie_dynamics_ros.ros.launch_files import arguments_of, node_options


@pytest.mark.parametrize("namespace", ["", "cell/", "/cell"])
@pytest.mark.parametrize("simulated", ["true", "false"])
def test_each_arm_has_a_controller_of_its_own_below_one_robot(namespace, simulated, monkeypatch):
    parts, defaults = parts_of("arms", monkeypatch)
    arguments = arguments_of(parts, defaults)
    texts = {name: argument.default for name, argument in arguments.items()}
    given = {"namespace": namespace, "simulated": simulated, "mode": "adaptive"}
    options = node_options(parts, arguments, {**texts, **given, "arms": "a=link_a  b=link_b c=link_c"})
    root = "/cell" if namespace else ""
    assert len(options) == 3 + (simulated == "true")
    for name, one in zip("abc", options[-3:], strict=True):
        assert one["name"] == "computed_torque" and one["namespace"] == f"{root}/{name}"
        assert one["parameters"] == {"mode": "adaptive", "base_link": f"link_{name}"}
        topics = dict(one["remappings"])
        assert topics["joint_states"] == f"{root}/joint_states"
        assert topics["robot_description"] == f"{root}/robot_description"
        efforts = f"{root}/simulated_robot/joint_efforts" if simulated == "true" else None
        assert topics.get("~/joint_efforts") == efforts


@pytest.mark.parametrize("namespace", ["", "cell"])
def test_with_prefixes_one_description_and_one_file_serve_several_arms(namespace, monkeypatch):
    """Each is a robot of its own: simulated by itself, told apart by the names of its joints on the same topic."""
    parts, defaults = parts_of("arms", monkeypatch)
    arguments = arguments_of(parts, defaults)
    texts = {name: argument.default for name, argument in arguments.items()}
    given = {"namespace": namespace, "robot_description": "arm.urdf", "arms": "left=base right=base"}
    prefixes = {"joint_prefix": "{arm}_", "frame_prefix": "{arm}/"}
    options = node_options(parts, arguments, {**texts, **given, **prefixes})
    root = f"/{namespace}" if namespace else ""
    assert [(one["name"], one["namespace"]) for one in options] == [
        (node, f"{root}/{arm}") for node in ("simulated_robot", "computed_torque") for arm in ("left", "right")
    ]
    for one in options:
        arm, parameters, topics = one["namespace"].rpartition("/")[2], one["parameters"], dict(one["remappings"])
        assert parameters["joint_prefix"] == f"{arm}_" and parameters["base_link"] == "base"
        assert topics["joint_states"] == f"{root}/joint_states"
        if one["name"] == "computed_torque":
            assert parameters["frame_prefix"] == f"{arm}/"
            assert topics["~/joint_efforts"] == f"{root}/{arm}/simulated_robot/joint_efforts"
        else:
            assert parameters["robot_description"] == "arm.urdf" and "~/joint_efforts" not in topics


@pytest.mark.parametrize("namespace", ["", "cell/", "/cell"])
@pytest.mark.parametrize("simulated", ["true", "false"])
def test_each_robot_of_a_fleet_is_alone_in_its_namespace(namespace, simulated, monkeypatch):
    parts, defaults = parts_of("fleet", monkeypatch)
    arguments = arguments_of(parts, defaults)
    texts = {name: argument.default for name, argument in arguments.items()}
    given = {"namespace": namespace, "simulated": simulated, "frame_prefix": "{robot}/", "mode": "adaptive"}
    options = node_options(parts, arguments, {**texts, **given, "robots": "a  b"})
    nodes = ["simulated_robot", "computed_torque"] if simulated == "true" else ["computed_torque"]
    root = "/cell" if namespace else ""
    assert [(one["name"], one["namespace"]) for one in options] == [(n, f"{root}/{r}") for n in nodes for r in "ab"]
    for one in options:
        assert not any(topic.startswith("/") for _, topic in one["remappings"])  # all stay in its namespace
        if one["name"] == "computed_torque":
            assert one["parameters"] == {"mode": "adaptive", "frame_prefix": f"{one['namespace'][-1]}/"}
            efforts = "simulated_robot/joint_efforts" if simulated == "true" else None
            assert dict(one["remappings"]).get("~/joint_efforts") == efforts
        else:
            assert one["parameters"] == {"mode": "dynamics", "rate": 1000.0} and not one["remappings"]
