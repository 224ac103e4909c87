"""Shared parts of the launch files: arguments are checked before anything starts. Needs launch and launch_ros."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from ...core.errors import RobotDescriptionError
from ...lie_dynamics.errors import LieDynamicsError
from ...lie_dynamics.model.urdf.fields import read_robot
from ...lie_dynamics.texts import quoted
from ..model.robot_description import read_description
from .launch_arguments import LAUNCHED_NODES, LISTS, OF_ALL_NODES, Argument, Part, arguments_of, with_view

# What launch is to start, from the arguments of a launch file.
#
# What is wrong is reported by its name, before the first process is started.


def node_options(
    parts: Sequence[Part], arguments: Mapping[str, Argument], texts: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return what launch is to start: name, namespace, parameter file, parameters and renamed topics of each node.

    Raises
    ------
    ValueError
        Names every argument with a value that cannot be, the value, and what was expected.
    """
    parts = with_view(parts)
    values, problems = {}, []
    for name, argument in arguments.items():
        text = texts[name].strip() if argument.kind != "text" else texts[name]
        try:
            if text:
                values[name] = argument.read(name, text)
        except ValueError as error:
            problems.append(str(error))
    if not problems:
        for name in dict.fromkeys(part.each for part in parts if part.each and not part.shared):
            problems += _problems_of_arms(name, values)
    if problems:
        raise ValueError("; ".join(problems))
    if values.get("publish_clock"):  # who answers states that are stamped with simulated time lives in it
        values.setdefault("use_sim_time", True)
    started = [part for part in parts if not part.when or values.get(part.when)]
    found = []
    for part in started:
        options = _options(part, values)
        if part.each and not (part.shared and "joint_prefix" not in values):
            obeys = any(other.node == "simulated_robot" for other in started)
            if part.each == "robots":
                found += [_for_robot(options, robot, obeys) for robot in values[part.each]]
                continue
            found += [_for_arm(options, *arm, obeys, "joint_prefix" in values) for arm in values[part.each].items()]
        else:
            found.append(options)
    return found


ARM = "{arm}"
"""Stands for the namespace of each arm in the value of an argument."""
ROBOT = "{robot}"
"""The same for robots."""


def _problems_of_arms(name: str, values: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the arguments of a file for several arms or robots."""
    if not values.get(name):
        return [f"{name} is empty; expected {LISTS[name]}"]
    if name == "robots":
        return ["view is true with robots; expected one robot"] if values.get("view") else []
    prefix = values.get("joint_prefix", ARM)
    if len(values[name]) > 1 and ARM not in prefix:
        return [f"joint_prefix is {quoted(prefix)} for several arms; expected {ARM} in it, which stands for each"]
    if "joint_prefix" in values and values.get("publish_clock"):
        return ["publish_clock is true with joint_prefix; expected one simulated robot, and each arm has its own"]
    if "joint_prefix" in values and values.get("view"):
        return ["view is true with joint_prefix; expected one robot, and each arm is one of its own"]
    return []


def _for_arm(options: dict[str, Any], namespace: str, base_link: str, simulated: bool, apart: bool) -> dict[str, Any]:
    """Return the options of a node for one arm, whose efforts go to the simulated robot where there is one.

    That is one for all, or in the namespace of each arm where they are robots of their own, ``apart``.
    """
    root = f"/{options['namespace'].strip('/')}".rstrip("/")
    shared = {topic: f"{root}/{topic}" for topic in ("joint_states", "robot_description", "imu", "odometry")}
    if simulated and options["name"] != "simulated_robot":
        shared["~/joint_efforts"] = f"{root}{f'/{namespace}' if apart else ''}/simulated_robot/joint_efforts"
    return {
        **options,
        "namespace": f"{root}/{namespace}",
        "parameters": {**_prefixed(options, ARM, namespace), "base_link": base_link},
        "remappings": [*options["remappings"], *shared.items()],
    }


def _for_robot(options: dict[str, Any], namespace: str, simulated: bool) -> dict[str, Any]:
    """Return the options of a node for one robot, all of whose topics lie in its namespace."""
    obeyed = [("~/joint_efforts", "simulated_robot/joint_efforts")]
    return {
        **options,
        "namespace": f"/{options['namespace'].strip('/')}".rstrip("/") + f"/{namespace}",
        "parameters": _prefixed(options, ROBOT, namespace),
        "remappings": [
            *options["remappings"],
            *(obeyed if simulated and options["name"] != "simulated_robot" else []),
        ],
    }


def _prefixed(options: dict[str, Any], stands: str, namespace: str) -> dict[str, Any]:
    """Return the parameters with the namespace in the place of what stands for it in prefixes."""
    return {
        name: value.replace(stands, namespace) if name.endswith("_prefix") else value
        for name, value in options["parameters"].items()
    }


def _options(part: Part, values: Mapping[str, Any]) -> dict[str, Any]:
    node = LAUNCHED_NODES[part.node]
    given = {name: values[name] for name in (*part.takes, *OF_ALL_NODES) if name in values} | dict(part.fixed)
    parameters = {name: given[name] for name in node.parameters if name in given}
    if part.node == "inverse_dynamics" and "commands" in given:
        parameters["publish_commands"] = True
    return {
        "name": part.node,
        "namespace": values.get("namespace", ""),
        "file": values.get("config", ""),
        "parameters": parameters,
        "remappings": [(topic, given[name]) for name, (topic, _) in node.topics.items() if name in given],
    }


# A layout of PlotJuggler for what a launch file starts: efforts, positions and velocities of joints over time.
#
# PlotJuggler names curves of joint states by the joints, so a layout is made for each robot.

ANSWERS = ("computed_torque", "inverse_dynamics", "hybrid_dynamics", "closed_loop")
"""Nodes that answer with ``~/joint_efforts``."""
_STREAMER = "ROS2 Topic Subscriber"
_SETTINGS = {
    "use_header_stamp": "false",
    "discard_large_arrays": "true",
    "max_array_size": "100",
    "boolean_strings_to_number": "true",
    "remove_suffix_from_strings": "true",
}
"""Settings of the streamer, which reads all of them."""
_COLORS = ("#1f77b4", "#d62728", "#1ac938", "#ff7f0e", "#f14cc1", "#9467bd", "#17becf", "#bcbd22")


def topics_of(namespace: str, nodes: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return the topics to look at, each with the fields of joint states that are drawn.

    Parameters
    ----------
    namespace : str
        Where joint states are.
    nodes : iterable of mapping
        What launch starts, as `node_options` has it.
    """
    answers = [
        f"{_absolute(node['namespace'])}{node['name']}/joint_efforts" for node in nodes if node["name"] in ANSWERS
    ]
    return {**dict.fromkeys(answers, ("effort",)), f"{_absolute(namespace)}joint_states": ("position", "velocity")}


def joints_of(description: str, prefix: str = "") -> list[str]:
    """Return the names that messages have for the joints of a URDF that move; none where it cannot be read."""
    try:
        robot = read_robot(read_description(description), "robot_description")
    except (RobotDescriptionError, LieDynamicsError):  # the nodes say what is wrong with it
        return []
    return [prefix + joint.get("name", "") for joint in robot.joints if joint.get("type") != "fixed"]


def layout(topics: Mapping[str, Sequence[str]], joints: Sequence[str]) -> str:
    """Return a layout, XML: a plot for each field of each topic, and the streamer that listens to them.

    Without joints the topics are chosen and no curve is drawn.
    """
    plots = [(topic, quantity) for topic, quantities in topics.items() for quantity in quantities]
    root = ET.Element("root")
    tabs = ET.SubElement(root, "tabbed_widget", name="Main Window", parent="main_window")
    tab = ET.SubElement(tabs, "Tab", containers="1", tab_name="robot")
    share = ";".join([f"{1.0 / len(plots):.6f}"] * len(plots))
    container = ET.SubElement(tab, "Container")
    rows = ET.SubElement(container, "DockSplitter", orientation="-", count=str(len(plots)), sizes=share)
    for topic, quantity in plots:
        area = ET.SubElement(rows, "DockArea", name=f"{quantity}, {topic}")
        plot = ET.SubElement(area, "plot", mode="TimeSeries", style="Lines", flip_x="false", flip_y="false")
        for k, joint in enumerate(joints):
            ET.SubElement(plot, "curve", name=f"{topic}/{joint}/{quantity}", color=_COLORS[k % len(_COLORS)])
    ET.SubElement(tabs, "currentTabIndex", index="0")
    ET.SubElement(root, "use_relative_time_offset", enabled="1")
    plugin = ET.SubElement(ET.SubElement(root, "Plugins"), "plugin", ID=_STREAMER)
    for name, value in {**_SETTINGS, "selected_topics": ";".join(topics)}.items():
        ET.SubElement(plugin, name, value=value)
    ET.SubElement(root, "previouslyLoaded_Streamer", name=_STREAMER)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def write(text: str) -> Path:
    """Write a layout to a new file that others cannot change; PlotJuggler reads it when it starts."""
    handle, path = tempfile.mkstemp(prefix="lie_dynamics_ros_", suffix=".xml")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(path)


def _absolute(namespace: str) -> str:
    return f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"


PACKAGE = "lie_dynamics_ros"


def launch_description(*parts: Part, **defaults: str) -> Any:
    """Return the launch description of a file that starts these parts; defaults are those of its arguments."""
    from launch import LaunchDescription
    from launch.actions import DeclareLaunchArgument, OpaqueFunction
    from launch.substitutions import LaunchConfiguration

    arguments = arguments_of(parts, defaults)

    def start(context: Any) -> list[Any]:
        texts = {name: LaunchConfiguration(name).perform(context) for name in arguments}
        nodes = node_options(parts, arguments, texts)
        return [*map(_node, nodes), *_viewers(parts, nodes, texts)]

    declared = []
    for name, argument in arguments.items():
        empty = "" if argument.default else f" Empty: {argument.empty}."
        choices = [*argument.choices, *([] if argument.default else [""])] if argument.choices else None
        declared.append(
            DeclareLaunchArgument(
                name, default_value=argument.default, description=argument.description + empty, choices=choices
            )
        )
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def _viewers(parts: Sequence[Part], nodes: Sequence[Mapping[str, Any]], texts: Mapping[str, str]) -> list[Any]:
    """Return RViz and PlotJuggler with settings for what is started, where they are wanted and installed."""
    from launch.substitutions import PathJoinSubstitution
    from launch_ros.actions import Node
    from launch_ros.substitutions import FindPackageShare

    if texts.get("view", "").strip() != "true":
        return []
    found = []
    stewart = any(part.node.endswith(("stewart", "stewart_pose", "stewart_command")) for part in parts)
    namespace = texts["namespace"].strip()
    if _installed("rviz2"):
        file = f"{'stewart' if stewart else 'robot'}.rviz"
        settings = PathJoinSubstitution([FindPackageShare(PACKAGE), "config", "rviz", file])
        found.append(Node(package="rviz2", executable="rviz2", namespace=namespace, arguments=["-d", settings]))
    if _installed("plotjuggler") and not stewart:
        joints = joints_of(texts.get("robot_description", ""), texts.get("joint_prefix", "").strip())
        file = write(layout(topics_of(namespace, nodes), joints))
        found.append(
            Node(package="plotjuggler", executable="plotjuggler", arguments=["--nosplash", "--layout", str(file)])
        )
    return found


def _installed(package: str) -> bool:
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix

    try:
        get_package_prefix(package)
    except (PackageNotFoundError, OSError):  # OSError: AMENT_PREFIX_PATH is not set
        return False
    return True


def _node(options: Mapping[str, Any]) -> Any:
    from launch.substitutions import PathJoinSubstitution
    from launch_ros.actions import Node
    from launch_ros.parameter_descriptions import ParameterValue
    from launch_ros.substitutions import FindPackageShare

    # A text goes as it is: launch would read it as YAML.
    parameters = {
        name: ParameterValue(value, value_type=str) if isinstance(value, str) else value
        for name, value in options["parameters"].items()
    }
    own = PathJoinSubstitution([FindPackageShare(PACKAGE), "config", f"{options['name']}.yaml"])
    file = options["file"] or own
    return Node(
        package=PACKAGE,
        executable=options["name"],
        name=options["name"],
        namespace=options["namespace"],
        parameters=[file, *([parameters] if parameters else [])],
        remappings=options["remappings"],
        output="screen",
    )
