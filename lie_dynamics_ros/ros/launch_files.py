"""Shared parts of the launch files: their arguments, checked before anything starts, and what is started by them.

An argument without a value leaves things as the parameter file has them. Needs launch and launch_ros.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import yaml

from ..core.errors import RobotDescriptionError
from ..lie_dynamics.errors import LieDynamicsError
from ..lie_dynamics.model.urdf.fields import read_robot
from ..lie_dynamics.texts import plain_number, quoted
from .inputs.model_loading import read_description

# Parameter files, looked at before nodes are started with them.


def parameter_file(name: str, text: str) -> Path:
    """Return the path of a parameter file; refuse one that no node could read, with one line."""
    path = Path(text).expanduser()
    if not path.is_file():
        raise ValueError(f"{name} is {quoted(text)}; expected the path of a parameter file, and there is none")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name} is {quoted(text)}, which cannot be read: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark is not None else ""
        raise ValueError(f"{name} is {quoted(text)}, which is not valid YAML{place}") from error
    mixed = _mixed_list(content, 6)
    if mixed:
        raise ValueError(
            f"{name} is {quoted(text)}, where {mixed} mixes numbers with and without a decimal point: write 0.0 for 0"
        )
    return path


def _mixed_list(content: Any, depth: int) -> str:
    """Return the name of a parameter that is a list of integers and floating point numbers; empty where none is."""
    if not isinstance(content, dict) or not depth:
        return ""
    for key, value in content.items():
        if isinstance(value, list) and {type(entry) for entry in value} == {int, float}:
            return str(key)
        found = _mixed_list(value, depth - 1)
        if found:
            return found
    return ""


BOOLEANS = ("true", "false")
OF_ALL_NODES = ("autostart", "use_sim_time")
"""Arguments that every node has."""


@dataclass(frozen=True)
class Argument:
    """An argument of launch files."""

    description: str  # in ``ros2 launch --show-args``
    kind: str = "text"  # also "boolean", "number", "file", "name" of a topic or namespace, `LISTS`
    choices: tuple[str, ...] = ()  # allowed values, where not all are
    low: float = 0.0  # of a number
    high: float = 0.0  # of a number
    default: str = ""  # an empty one leaves things as they are
    empty: str = "as in the parameter file"  # text for an empty value

    def read(self, name: str, text: str) -> Any:
        """Return the value of a text that is not empty; raises ValueError, which names argument, value and rule."""
        if self.choices and text not in self.choices:
            raise ValueError(f"{name} is {quoted(text)}; expected {' or '.join(self.choices)}")
        if self.kind == "boolean":
            return text == "true"
        if self.kind == "number":
            value = plain_number(text)
            if value is None or not self.low <= value <= self.high:
                raise ValueError(f"{name} is {quoted(text)}; expected a number from {self.low:g} to {self.high:g}")
            return value
        if self.kind == "name" and not _NAME.fullmatch(text):
            raise ValueError(f"{name} is {quoted(text)}; expected words of letters, digits and _ with / between them")
        if self.kind in LISTS:
            return _read_list(name, text, self.kind)
        if self.kind == "file":
            return str(parameter_file(name, text))
        return text


LISTS = {"arms": "words namespace=base_link", "robots": "words of letters, digits and _, a namespace for each robot"}
"""Arguments that list what nodes are started for, and what is expected of them."""


def _read_list(name: str, text: str, kind: str) -> dict[str, str]:
    """Return the base link of each arm, or nothing of each robot, by its namespace; raises ValueError for the rest."""
    found: dict[str, str] = {}
    for word in text.split():
        namespace, equals, link = word.partition("=")
        wrong = not link if kind == "arms" else equals
        if wrong or not _NAME.fullmatch(namespace) or namespace.startswith(("/", "~")):
            raise ValueError(f"{name} has {quoted(word)}; expected {LISTS[kind]}")
        if namespace in found:
            raise ValueError(f"{name} names {namespace} twice")
        found[namespace] = link
    return found


_NAME = re.compile(r"(/|~/)?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*/?")


_BOOLEAN = {"kind": "boolean", "choices": BOOLEANS}
#: Arguments that set the parameter of the same name.
PARAMETERS = {
    "robot_description": Argument("The robot: URDF text, file path, file:// or package:// URI."),
    "loops": Argument("What closes the robot's loops: YAML text, file path, file:// or package:// URI."),
    "platform": Argument("Geometry of the platform: YAML text, file path, file:// or package:// URI."),
    "base_frame": Argument("Frame of the base joints."),
    "platform_frame": Argument("Frame of the platform joints."),
    "joint_prefix": Argument("Put before the names of joints or legs in all messages, such as left_."),
    "frame_prefix": Argument("Put before the names of frames in all messages, such as left/."),
    "carrying_joints": Argument("Joints between root link and base_link.", choices=("locked", "states")),
    "address": Argument("Address of this machine at which the page can be opened."),
    "rate": Argument("Joint states per second [Hz].", "number", low=0.1, high=10_000.0),
    "length_noise": Argument("Standard deviation of the leg lengths [m].", "number", low=0.0, high=1.0),
    "publish_clock": Argument("Publish simulated time on /clock.", **_BOOLEAN),  # type: ignore[arg-type]
    "autostart": Argument("Configure and activate on start.", **_BOOLEAN),  # type: ignore[arg-type]
    "use_sim_time": Argument("Follow the topic /clock.", **_BOOLEAN),  # type: ignore[arg-type]
}
_STEWART = ("platform", "base_frame", "platform_frame", "joint_prefix", "frame_prefix")
_ROBOT = ("robot_description", "joint_prefix", "frame_prefix", "carrying_joints")


@dataclass(frozen=True)
class NodeFile:
    """Arguments of a node: parameters by name, and topics by the argument that renames each."""

    parameters: tuple[str, ...]
    topics: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    modes: tuple[str, ...] = ()


#: Topics: argument, topic of the node, description.
LAUNCHED_NODES = {
    "inverse_dynamics": NodeFile(
        (*_ROBOT, *OF_ALL_NODES),
        {"commands": ("~/commands", "Topic of the effort commands; a name has them published.")},
    ),
    "hybrid_dynamics": NodeFile(
        (*_ROBOT, *OF_ALL_NODES),
        {"commands": ("~/command", "Topic of the commands, lie_dynamics_interfaces/HybridCommand.")},
    ),
    "computed_torque": NodeFile(
        (*_ROBOT, "loops", "mode", *OF_ALL_NODES),
        {"commands": ("~/commands", "Topic of the effort commands.")},
        ("computed_torque", "gravity_compensation", "passivity_based", "adaptive", "operational_space", "impedance"),
    ),
    "closed_loop": NodeFile(
        ("robot_description", "loops", "joint_prefix", "frame_prefix", *OF_ALL_NODES),
        {"commands": ("~/commands", "Topic of the effort commands.")},
    ),
    "contact": NodeFile((*_ROBOT, *OF_ALL_NODES), {"touching": ("~/touching", "Topic that reports contact.")}),
    "tool_wrench": NodeFile((*_ROBOT, *OF_ALL_NODES), {"wrench": ("~/wrench", "Topic of the sensor's readings.")}),
    "viewer": NodeFile(("robot_description", "joint_prefix", "frame_prefix", "platform", "address", *OF_ALL_NODES)),
    "simulated_robot": NodeFile(
        ("robot_description", "joint_prefix", "mode", "rate", "publish_clock", *OF_ALL_NODES),
        {
            "commands": ("~/commands", "Topic of the effort commands that it obeys."),
            "accelerations": ("~/joint_trajectory_point", "Topic of the accelerations of the motion."),
        },
        ("motion", "dynamics"),
    ),
    "simulated_stewart": NodeFile(
        (*_STEWART, "mode", "rate", "length_noise", *OF_ALL_NODES),
        {
            "commands": ("~/desired_pose", "Topic of the desired poses that it follows."),
            "leg_commands": ("~/leg_commands", "Topic of the set points of legs."),
            "joint_states": ("joint_states", "Topic of the leg lengths."),
        },
        ("motion", "actuators"),
    ),
    "stewart_command": NodeFile(
        (*_STEWART, *OF_ALL_NODES),
        {
            "commands": ("~/leg_commands", "Topic of the set points of legs."),
            "joint_states": ("joint_states", "Topic of the leg lengths."),
        },
    ),
    "stewart_pose": NodeFile(
        (*_STEWART, *OF_ALL_NODES), {"joint_states": ("joint_states", "Topic of the leg lengths.")}
    ),
}


@dataclass(frozen=True)
class Part:
    """A node of a launch file.

    One for ``each`` arm or robot is in a namespace below that of the file; states and description of arms are those of
    the whole robot.
    """

    node: str  # one of `LAUNCHED_NODES`
    takes: tuple[str, ...] = ()  # arguments of the launch file that concern it, besides those of all
    fixed: Mapping[str, str] = field(default_factory=dict)  # arguments that the file sets
    when: str = ""  # argument that selects whether it is started; empty: always
    each: str = ""  # argument that lists arms or robots (`LISTS`), for each of which it is started; empty: once
    shared: bool = False  # once for all of these arms, unless a ``joint_prefix`` makes each of them a robot


def whole(node: str) -> Part:
    """Return the part of a launch file that starts one node alone: every argument of the node is one of the file."""
    return Part(node, (*LAUNCHED_NODES[node].parameters, *LAUNCHED_NODES[node].topics))


def with_view(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return the parts and, with ``view:=true``, the viewer, which takes of their arguments those that it has.

    It looks at one robot: arms of several have a prefix each, which it does not take.
    """
    if any(part.node == "viewer" for part in parts):
        return tuple(parts)
    taken = {name for part in parts for name in part.takes}
    if any(part.each for part in parts):
        taken -= {"joint_prefix", "frame_prefix"}
    return *parts, Part("viewer", tuple(n for n in LAUNCHED_NODES["viewer"].parameters if n in taken), when="view")


def arguments_of(parts: Sequence[Part], defaults: Mapping[str, str]) -> dict[str, Argument]:
    """Return the arguments of a launch file that starts these parts, with these defaults."""
    parts = with_view(parts)
    found = {
        "namespace": Argument("Namespace of the nodes.", "name", empty="none"),
        "config": Argument("Parameter file for all nodes.", "file", empty="those of the package"),
    }
    for part in parts:
        node = LAUNCHED_NODES[part.node]
        for name in (*part.takes, *OF_ALL_NODES):
            found.setdefault(name, _argument(node, name))
        if part.when:
            found[part.when] = Argument(f"Start {part.node} too.", "boolean", BOOLEANS, default="false")
        if part.each and not part.shared:
            found[part.each] = Argument(f"{part.node} is started for each: {LISTS[part.each]}.", part.each)
    return {name: replace(argument, default=defaults.get(name, argument.default)) for name, argument in found.items()}


def _argument(node: NodeFile, name: str) -> Argument:
    if name == "mode":
        return Argument("Mode of the node.", choices=node.modes)
    if name in node.topics:
        topic, description = node.topics[name]
        return Argument(description, "name", empty=topic)
    return PARAMETERS[name]


# What launch is to start, from the arguments of a launch file.
#
# What is wrong is reported by its name, before the first process is started.


def node_options(
    parts: Sequence[Part], arguments: Mapping[str, Argument], texts: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return what launch is to start: name, namespace, parameter file, parameters and renamed topics of each node.

    Raises ValueError, which names every argument with a value that cannot be, the value, and what was expected.
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

    Joint states are in a namespace, and launch starts nodes as `node_options` has them.
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
