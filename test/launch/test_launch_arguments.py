"""What the launch files make of their arguments; runs without launch, whose few classes in use are stood in for."""

import json
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import yaml

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from lie_dynamics_ros.nodes.interfaces import INTERFACES
from lie_dynamics_ros.ros.launch.launch_arguments import LAUNCHED_NODES, arguments_of, node_options

FOLDER = Path(__file__).parents[2] / "launch"
FILES = sorted(path.name.removesuffix(".launch.py") for path in FOLDER.glob("*.launch.py"))
COMPOSITES = {
    "bringup": ["simulated_robot", "inverse_dynamics", "hybrid_dynamics"],
    "control": ["simulated_robot", "computed_torque"],
    "arms": ["simulated_robot", "computed_torque"],
    "fleet": ["simulated_robot", "computed_torque"],
    "stewart_bringup": ["simulated_stewart", "stewart_pose"],
    "stewart_command_bringup": ["simulated_stewart", "stewart_command", "stewart_pose"],
}
#: A value for each argument, and where it is to be found in what is started.
VALUES = {
    "touching": "a/touching",
    "address": "0.0.0.0",
    "wrench": "a/wrench",
    "robot_description": "/a/robot.urdf",
    "mode": "adaptive",
    "rate": "250.0",
    "length_noise": "0.001",
    "loops": "loops: []",
    "platform": "semi_regular: {}",
    "base_frame": "floor",
    "platform_frame": "top",
    "joint_prefix": "{arm}_",
    "frame_prefix": "{arm}/",
    "carrying_joints": "states",
    "publish_clock": "true",
    "autostart": "false",
    "use_sim_time": "true",
    "commands": "some/commands",
    "accelerations": "some/accelerations",
    "joint_states": "some/states",
    "leg_commands": "some/set_points",
    "hybrid_dynamics": "true",
    "namespace": "cell/arm",
    "arms": "one=base_link",
    "robots": "one",
    "simulated": "false",
}
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


def loaded(name):
    spec = spec_from_file_location(f"{name}_launch", FOLDER / f"{name}.launch.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parts_of(name, monkeypatch):
    """What a launch file asks for: its parts and the defaults of its arguments."""
    module = loaded(name)
    monkeypatch.setattr(module, "launch_description", lambda *parts, **defaults: (parts, defaults))
    return module.generate_launch_description()


def options_of(name, monkeypatch, **given):
    """What a launch file starts, by node."""
    parts, defaults = parts_of(name, monkeypatch)
    arguments = arguments_of(parts, defaults)
    assert set(given) <= set(arguments)
    texts = {key: given.get(key, argument.default) for key, argument in arguments.items()}
    return {options["name"]: options for options in node_options(parts, arguments, texts)}


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


def recorded(name):
    """A class that keeps what it was made with."""

    def keep(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs

    return type(name, (), {"__init__": keep})


def stand_in(monkeypatch):
    """Put modules in the place of launch's, of classes that keep what they are made with."""
    names = {
        "launch": ["LaunchDescription"],
        "launch.actions": ["DeclareLaunchArgument", "OpaqueFunction"],
        "launch.substitutions": ["LaunchConfiguration", "PathJoinSubstitution"],
        "launch_ros": [],
        "launch_ros.actions": ["Node"],
        "launch_ros.parameter_descriptions": ["ParameterValue"],
        "launch_ros.substitutions": ["FindPackageShare"],
    }
    for module, classes in names.items():
        stub = ModuleType(module)
        for name in classes:
            setattr(stub, name, recorded(name))
        monkeypatch.setitem(sys.modules, module, stub)
    sys.modules["launch.substitutions"].LaunchConfiguration.perform = lambda self, context: context.texts[self.args[0]]


@pytest.mark.parametrize("name", FILES)
def test_what_launch_is_told(name, monkeypatch):
    stand_in(monkeypatch)
    *declared, start = loaded(name).generate_launch_description().args[0]
    texts = {argument.args[0]: argument.kwargs["default_value"] for argument in declared}
    for argument in declared:
        switches = ("autostart", "use_sim_time", "publish_clock", "hybrid_dynamics", "simulated", "view")
        assert (argument.args[0] in switches) == ({"true", "false"} <= set(argument.kwargs["choices"] or ()))
        assert argument.kwargs["description"].endswith(".")
        as_in_the_file = argument.kwargs["description"].endswith("Empty: as in the parameter file.")
        topic = argument.args[0] in ("commands", "leg_commands", "accelerations", "joint_states", "touching", "wrench")
        elsewhere = topic or texts[argument.args[0]] or argument.args[0] in ("namespace", "config")
        assert as_in_the_file is not bool(elsewhere)
        assert texts[argument.args[0]] in (argument.kwargs["choices"] or (texts[argument.args[0]],))
    given = {"robot_description": "<robot name='a: b'/>", "platform": "a: b\n", "use_sim_time": "true"}
    texts |= {key: value for key, value in given.items() if key in texts}
    nodes = start.kwargs["function"](SimpleNamespace(texts=texts))
    executables = dict.fromkeys(node.kwargs["executable"] for node in nodes)  # each once
    whole = COMPOSITES.get(name, [name])
    assert list(executables) == (whole[:2] if name == "bringup" else whole)  # the third only where it is asked for
    for node in nodes:
        config, parameters = node.kwargs["parameters"]
        assert config.args[0][1:] == ["config", f"{node.kwargs['name']}.yaml"]
        assert parameters["use_sim_time"] is True
        for key, value in parameters.items():
            if key in given and key != "use_sim_time":  # as a text, not as the YAML that it looks like
                assert (value.args, value.kwargs) == ((given[key],), {"value_type": str})


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


@pytest.mark.parametrize(("name", "settings"), [("control", "robot"), ("stewart_bringup", "stewart"), ("viewer", "")])
@pytest.mark.parametrize("installed", [("rviz2", "plotjuggler"), ("plotjuggler",), ()])
def test_view_starts_rviz_and_plotjuggler_where_they_are_installed(name, settings, installed, monkeypatch, tmp_path):
    import ament_index_python.packages as index

    def prefix(package):
        if package not in installed:
            raise index.PackageNotFoundError(package)
        return "/opt"

    stand_in(monkeypatch)
    monkeypatch.setattr(index, "get_package_prefix", prefix)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    *declared, start = loaded(name).generate_launch_description().args[0]
    texts = {argument.args[0]: argument.kwargs["default_value"] for argument in declared}
    texts |= {"robot_description": "package://lie_dynamics_ros/urdf/panda_arm.urdf"} if settings == "robot" else {}
    wanted = {"view": "true"} if "view" in texts else {}
    nodes = start.kwargs["function"](SimpleNamespace(texts=texts | wanted))
    shown = [node.kwargs["arguments"][1].args[0][1:] for node in nodes if node.kwargs["package"] == "rviz2"]
    assert shown == ([["config", "rviz", f"{settings}.rviz"]] if "rviz2" in installed and settings else [])
    plots = [node.kwargs["arguments"] for node in nodes if node.kwargs["package"] == "plotjuggler"]
    assert len(plots) == ("plotjuggler" in installed and settings == "robot")
    for nosplash, option, file in plots:
        assert (nosplash, option) == ("--nosplash", "--layout")
        text = Path(file).read_text()
        assert '"/computed_torque/joint_efforts/panda_joint7/effort"' in text
    assert [node.kwargs["executable"] for node in nodes].count("viewer") == 1
    others = ("rviz2", "plotjuggler")
    assert not [n for n in start.kwargs["function"](SimpleNamespace(texts=texts)) if n.kwargs["package"] in others]


def test_settings_of_other_viewers_name_topics_that_there_are():
    config = FOLDER.parent / "config"
    outputs = {topic.replace("~", node) for node, i in INTERFACES.items() for topic in i.publishes}
    for path in sorted(config.glob("rviz/*.rviz")):
        displays = yaml.safe_load(path.read_text())["Visualization Manager"]["Displays"]
        topics = {part["Value"] for one in displays for key, part in one.items() if key.endswith("Topic")}
        assert topics and topics <= outputs, path
    layout = json.loads((config / "foxglove" / "arm.json").read_text())
    panels = layout["configById"]
    topics = {p["value"].partition(".")[0] for one in panels.values() for p in one.get("paths", ())}
    topics |= set(panels["3D!robot"]["topics"])
    assert topics and {topic.lstrip("/") for topic in topics} <= outputs
    assert all(f'"{name}"' in json.dumps(layout["layout"]) for name in panels)
