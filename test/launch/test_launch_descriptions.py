"""What launch is told, whose few classes in use are stood in for; what RViz and others are told to show."""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import yaml

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from launch_cases import COMPOSITES, FILES, FOLDER, loaded

from lie_dynamics_ros.nodes.interfaces import INTERFACES


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
