"""What the launch files make of their arguments; runs without launch."""

import inspect
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from launch_cases import COMPOSITES, FILES, VALUES, options_of, parts_of

from lie_dynamics_ros.ros.launch_files import LAUNCHED_NODES, arguments_of
from lie_dynamics_ros.ros.node.robot_node import RobotNode

#: Which nodes of composite files an argument reaches.
REACHES = {
    "bringup": {
        "robot_description": ["simulated_robot"],  # which publishes it for the others
        "joint_prefix": ["simulated_robot", "inverse_dynamics", "hybrid_dynamics"],
        "frame_prefix": ["inverse_dynamics", "hybrid_dynamics"],
        "rate": ["simulated_robot"],
        "publish_clock": ["simulated_robot", "inverse_dynamics", "hybrid_dynamics"],  # who then live in its time
        "commands": ["simulated_robot", "inverse_dynamics"],
    },
    "control": {
        "robot_description": ["simulated_robot"],
        "joint_prefix": ["simulated_robot", "computed_torque"],
        "frame_prefix": ["computed_torque"],
        "rate": ["simulated_robot"],
        "publish_clock": ["simulated_robot", "computed_torque"],
        "commands": ["simulated_robot", "computed_torque"],
        "mode": ["computed_torque"],
    },
    "arms": {
        "robot_description": ["simulated_robot"],
        "rate": ["simulated_robot"],
        "publish_clock": ["simulated_robot", "computed_torque"],
        "joint_prefix": ["simulated_robot", "computed_torque"],
        "frame_prefix": ["computed_torque"],
        "carrying_joints": ["computed_torque"],
        "mode": ["computed_torque"],
        "arms": ["computed_torque"],
        "simulated": ["computed_torque"],
    },
    "fleet": {
        "robot_description": ["simulated_robot"],
        "rate": ["simulated_robot"],
        "joint_prefix": ["simulated_robot", "computed_torque"],
        "frame_prefix": ["computed_torque"],
        "mode": ["computed_torque"],
        "robots": ["simulated_robot", "computed_torque"],
        "simulated": ["computed_torque"],
    },
    "stewart_bringup": {
        "platform": ["simulated_stewart", "stewart_pose"],
        "base_frame": ["simulated_stewart", "stewart_pose"],
        "platform_frame": ["simulated_stewart", "stewart_pose"],
        "joint_prefix": ["simulated_stewart", "stewart_pose"],
        "frame_prefix": ["simulated_stewart", "stewart_pose"],
        "joint_states": ["simulated_stewart", "stewart_pose"],
        "rate": ["simulated_stewart"],
        "length_noise": ["simulated_stewart"],
        "commands": ["simulated_stewart"],
    },
    "stewart_command_bringup": {
        **{
            name: ["simulated_stewart", "stewart_command", "stewart_pose"]
            for name in ("platform", "base_frame", "platform_frame", "joint_prefix", "frame_prefix", "joint_states")
        },
        "rate": ["simulated_stewart"],
        "length_noise": ["simulated_stewart"],
    },
}
EVERY = ("namespace", "config", "autostart", "use_sim_time")


def test_there_is_a_file_for_each_node_and_setup():
    assert sorted([*LAUNCHED_NODES, *COMPOSITES]) == FILES


@pytest.mark.parametrize("node", LAUNCHED_NODES)
def test_a_node_file_says_what_its_node_has(node, monkeypatch):
    """Parameters, choices and ranges are those of the node; topics are in its source."""
    module = import_module(f"lie_dynamics_ros.nodes.{node}.node")
    settings = {setting.name: setting for setting in module.SETTINGS}
    parts, defaults = parts_of(node, monkeypatch)
    arguments = arguments_of(parts, defaults)
    every = {"namespace", "config", *LAUNCHED_NODES[node].parameters, *LAUNCHED_NODES[node].topics}
    assert set(arguments) == every | ({"view"} if node != "viewer" else set())
    for name in LAUNCHED_NODES[node].parameters:
        if name in ("use_sim_time", "autostart") or (name not in settings and name == "robot_description"):
            continue
        setting, argument = settings[name], arguments[name]
        if argument.kind == "boolean":
            assert isinstance(setting.default, bool)
        elif argument.kind == "number":
            assert (argument.low, argument.high) == (setting.low, setting.high)
        else:
            assert argument.choices == setting.choices
            assert isinstance(setting.default, str)
    source = Path(module.__file__).read_text()
    if "take_commands" in source:
        source += inspect.getsource(RobotNode.take_commands)
    for argument, (topic, _) in LAUNCHED_NODES[node].topics.items():
        assert f'"{topic}"' in source or argument == "joint_states"
    without = ("contact", "stewart_pose", "tool_wrench", "viewer")  # neither give nor take any
    assert ("commands" in arguments) == (node not in without)


@pytest.mark.parametrize("node", LAUNCHED_NODES)
def test_a_node_file_hands_everything_to_its_node(node, monkeypatch, tmp_path):
    plain = options_of(node, monkeypatch)[node]
    assert (plain["parameters"], plain["namespace"], plain["file"]) == ({}, "", "")
    config = tmp_path / "mine.yaml"
    config.write_text("/**:\n  ros__parameters:\n    gravity: [0.0, 0.0, -9.81]\n")
    launched = LAUNCHED_NODES[node]
    given = {name: VALUES[name] for name in (*launched.parameters, *launched.topics, "namespace")}
    given |= {"simulated_robot": {"mode": "dynamics"}, "simulated_stewart": {"mode": "actuators"}}.get(node, {})
    options = options_of(node, monkeypatch, config=str(config), **given)[node]
    assert (options["namespace"], options["file"]) == ("cell/arm", str(config))
    expected = {name: given[name] for name in LAUNCHED_NODES[node].parameters}
    expected |= {name: text == "true" for name, text in expected.items() if text in ("true", "false")}
    expected |= {name: float(expected[name]) for name in ("rate", "length_noise") if name in expected}
    if node == "inverse_dynamics":
        expected["publish_commands"] = True  # a topic without what is published on it would be no answer
    assert options["parameters"] == expected
    assert options["remappings"] == [(topic, VALUES[name]) for name, (topic, _) in LAUNCHED_NODES[node].topics.items()]


@pytest.mark.parametrize("composite", COMPOSITES)
def test_a_composite_file_hands_each_argument_to_the_nodes_it_concerns(composite, monkeypatch, tmp_path):
    config = tmp_path / "mine.yaml"
    config.write_text("a: 1\n")
    switch = {"hybrid_dynamics": "true"} if composite == "bringup" else {}
    before = options_of(composite, monkeypatch, **switch)
    assert list(before) == COMPOSITES[composite]
    parts, defaults = parts_of(composite, monkeypatch)
    reaches = REACHES[composite] | dict.fromkeys(EVERY, COMPOSITES[composite])
    assert set(arguments_of(parts, defaults)) == {*reaches, *switch, "view"}
    for name, expected in reaches.items():
        value = str(config) if name == "config" else VALUES[name]
        after = options_of(composite, monkeypatch, **switch, **{name: value})
        assert [node for node in after if after[node] != before[node]] == expected, name


def test_what_the_parts_of_a_composite_file_share():
    for part in ("bringup", "control"):
        with pytest.MonkeyPatch.context() as patch:
            robot = options_of(part, patch)["simulated_robot"]
            assert robot["parameters"].get("mode") == {"bringup": None, "control": "dynamics"}[part]
    with pytest.MonkeyPatch.context() as patch:
        control = options_of("control", patch)
        topics = {dict(options["remappings"])["~/commands"] for options in control.values()}
        assert topics == {"simulated_robot/commands"}
        assert control["simulated_robot"]["parameters"]["rate"] == 1000.0
        assert list(options_of("bringup", patch)) == ["simulated_robot", "inverse_dynamics"]


@pytest.mark.parametrize(("given", "lives"), [({}, True), ({"use_sim_time": "false"}, False)])
def test_who_answers_states_of_simulated_time_lives_in_it_unless_told_otherwise(given, lives, monkeypatch):
    nodes = options_of("control", monkeypatch, publish_clock="true", **given)
    assert {options["parameters"]["use_sim_time"] for options in nodes.values()} == {lives}
    assert options_of("control", monkeypatch, publish_clock="false")["computed_torque"]["parameters"] == {}


BAD = [
    ("bringup", {"rate": "fast"}, "rate is 'fast'; expected a number from 0.1 to 10000"),
    ("bringup", {"rate": "0"}, "rate is '0'; expected a number from 0.1"),
    ("bringup", {"rate": "1_000"}, "rate is '1_000'"),
    ("bringup", {"rate": "nan"}, "rate is 'nan'"),
    ("bringup", {"hybrid_dynamics": "yes"}, "hybrid_dynamics is 'yes'; expected true or false"),
    ("bringup", {"autostart": "yes", "rate": "x"}, "rate is 'x'.*; autostart is 'yes'; expected true or false"),
    ("inverse_dynamics", {"use_sim_time": "1"}, "use_sim_time is '1'; expected true or false"),
    ("control", {"mode": "pid"}, "mode is 'pid'; expected computed_torque or gravity_compensation or"),
    ("control", {"namespace": "a-b"}, "namespace is 'a-b'; expected words"),
    ("control", {"commands": "a//b"}, "commands is 'a//b'"),
    ("control", {"commands": "9"}, "commands is '9'"),
    ("arms", {"arms": " "}, "arms is empty; expected words namespace=base_link"),
    ("arms", {"arms": "left"}, "arms has 'left'; expected words namespace=base_link"),
    ("arms", {"joint_prefix": "x_"}, "joint_prefix is 'x_' for several arms; expected {arm} in it"),
    ("arms", {"joint_prefix": "{arm}_", "publish_clock": "true"}, "publish_clock is true with joint_prefix"),
    ("arms", {"joint_prefix": "{arm}_", "view": "true"}, "view is true with joint_prefix"),
    ("arms", {"view": "1"}, "view is '1'; expected true or false"),
    ("arms", {"arms": "a-b=link"}, "arms has 'a-b=link'"),
    ("arms", {"arms": "a=x a=y"}, "arms names a twice"),
    ("fleet", {"robots": " "}, "robots is empty; expected words of letters"),
    ("fleet", {"robots": "a b=link"}, "robots has 'b=link'; expected words of letters"),
    ("fleet", {"robots": "/a"}, "robots has '/a'; expected words of letters"),
    ("fleet", {"robots": "a-b"}, "robots has 'a-b'"),
    ("fleet", {"robots": "a b a"}, "robots names a twice"),
    ("fleet", {"view": "true"}, "view is true with robots; expected one robot"),
    ("stewart_bringup", {"length_noise": "-1"}, "length_noise is '-1'; expected a number from 0 to 1"),
    ("stewart_bringup", {"config": "/no/such/file"}, "config is '/no/such/file'; expected the path"),
]


@pytest.mark.parametrize(("name", "given", "message"), BAD)
def test_bad_values_are_named_before_anything_is_started(name, given, message, monkeypatch):
    with pytest.raises(ValueError, match=message):
        options_of(name, monkeypatch, **given)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/**:\n  n:\n    ros__parameters:\n      gravity: [0, 0, -9.81]\n", "gravity mixes numbers .*write 0.0 for 0"),
        ("/**:\n  ros__parameters: {a: {kp: [1, 2.0]}}\n", "kp mixes numbers"),
        ("a: [1, 2\nb: 3\n", "not valid YAML at line"),
        ("a: \0\n", "not valid YAML"),
    ],
)
def test_a_slip_in_a_parameter_file_is_named(text, message, monkeypatch, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=f"config is '.*{message}"):
        options_of("bringup", monkeypatch, config=str(file))
    file.write_text(text.encode("utf-16").decode("latin-1"), encoding="latin-1")
    with pytest.raises(ValueError, match="config is"):
        options_of("bringup", monkeypatch, config=str(file))


@pytest.mark.parametrize("name", [name for name in FILES if name not in ("viewer", "fleet")])  # refused: BAD
def test_view_starts_the_viewer_which_sees_what_the_others_do(name, monkeypatch):
    given = {"view": "true", "namespace": "cell"}
    arguments = arguments_of(*parts_of(name, monkeypatch))
    given |= {key: VALUES[key] for key in ("robot_description", "platform") if key in arguments}
    options = options_of(name, monkeypatch, **given)
    viewer = options.pop("viewer")
    assert options == {k: v for k, v in options_of(name, monkeypatch, **{**given, "view": "false"}).items()}
    assert (viewer["namespace"], viewer["remappings"]) == ("cell", [])
    assert viewer["parameters"] == {k: v for k, v in given.items() if k in ("robot_description", "platform")}
