"""Arguments of the launch files: what each node has, which node each reaches, and what values they may have.

An argument without a value leaves things as the parameter file has them. What is wrong is told by its name, before the
first process is started.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...lie_dynamics.texts import plain_number, quoted
from .parameter_files import parameter_file

BOOLEANS = ("true", "false")


@dataclass(frozen=True)
class Argument:
    """An argument of launch files.

    Attributes
    ----------
    description : str
        What ``ros2 launch --show-args`` tells.
    kind : {"text", "boolean", "number", "name", "file", "arms", "robots"}
        What a value must be: a name is that of a topic or namespace; arms are words ``namespace=base_link``, robots are
        namespaces.
    choices : tuple of str
        Allowed values, where not all are.
    low, high : float
        Range of a number.
    default : str
        Value where none is given; an empty one leaves things as they are.
    empty : str
        What ``--show-args`` tells of an empty value.
    """

    description: str
    kind: str = "text"
    choices: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    default: str = ""
    empty: str = "as in the parameter file"

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
    "autostart": Argument("Configure and activate by itself.", **_BOOLEAN),  # type: ignore[arg-type]
    "use_sim_time": Argument("Follow the topic /clock.", **_BOOLEAN),  # type: ignore[arg-type]
}
_COMMON = ("autostart", "use_sim_time")
_STEWART = ("platform", "base_frame", "platform_frame", "joint_prefix", "frame_prefix")
_ROBOT = ("robot_description", "joint_prefix", "frame_prefix", "carrying_joints")


@dataclass(frozen=True)
class NodeFile:
    """What can be said of a node: parameters by name, and topics by the argument that renames each."""

    parameters: tuple[str, ...]
    topics: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    modes: tuple[str, ...] = ()


#: Topics: argument, topic of the node, description.
LAUNCHED_NODES = {
    "inverse_dynamics": NodeFile(
        (*_ROBOT, *_COMMON),
        {"commands": ("~/commands", "Topic of the effort commands; a name has them published.")},
    ),
    "hybrid_dynamics": NodeFile(
        (*_ROBOT, *_COMMON),
        {"commands": ("~/command", "Topic of the commands, lie_dynamics_interfaces/HybridCommand.")},
    ),
    "computed_torque": NodeFile(
        (*_ROBOT, "loops", "mode", *_COMMON),
        {"commands": ("~/commands", "Topic of the effort commands.")},
        ("computed_torque", "gravity_compensation", "passivity_based", "adaptive", "operational_space", "impedance"),
    ),
    "closed_loop": NodeFile(
        ("robot_description", "loops", "joint_prefix", "frame_prefix", *_COMMON),
        {"commands": ("~/commands", "Topic of the effort commands.")},
    ),
    "contact": NodeFile((*_ROBOT, *_COMMON), {"touching": ("~/touching", "Topic that tells when something touches.")}),
    "tool_wrench": NodeFile((*_ROBOT, *_COMMON), {"wrench": ("~/wrench", "Topic of the sensor's readings.")}),
    "viewer": NodeFile(("robot_description", "joint_prefix", "frame_prefix", "platform", "address", *_COMMON)),
    "simulated_robot": NodeFile(
        ("robot_description", "joint_prefix", "mode", "rate", "publish_clock", *_COMMON),
        {
            "commands": ("~/commands", "Topic of the effort commands that it obeys."),
            "accelerations": ("~/joint_trajectory_point", "Topic of the accelerations of the motion."),
        },
        ("motion", "dynamics"),
    ),
    "simulated_stewart": NodeFile(
        (*_STEWART, "mode", "rate", "length_noise", *_COMMON),
        {
            "commands": ("~/desired_pose", "Topic of the desired poses that it follows."),
            "leg_commands": ("~/leg_commands", "Topic of the set points of legs."),
            "joint_states": ("joint_states", "Topic of the leg lengths."),
        },
        ("motion", "actuators"),
    ),
    "stewart_command": NodeFile(
        (*_STEWART, *_COMMON),
        {
            "commands": ("~/leg_commands", "Topic of the set points of legs."),
            "joint_states": ("joint_states", "Topic of the leg lengths."),
        },
    ),
    "stewart_pose": NodeFile((*_STEWART, *_COMMON), {"joint_states": ("joint_states", "Topic of the leg lengths.")}),
}


@dataclass(frozen=True)
class Part:
    """A node of a launch file.

    Attributes
    ----------
    node : str
        One of `LAUNCHED_NODES`.
    takes : tuple of str
        Arguments of the launch file that concern it, besides namespace, config, autostart and use_sim_time.
    fixed : mapping
        Arguments of the node that the launch file sets.
    when : str
        Boolean argument of the launch file that says whether it is started; empty: always.
    each : str
        Argument of the launch file that lists arms or robots (`LISTS`), for each of which it is started, in a namespace
        below that of the file. States and description of arms are those of the whole robot. Empty: once.
    shared : bool
        Whether it is started once for all of these arms, unless a ``joint_prefix`` makes each of them a robot.
    """

    node: str
    takes: tuple[str, ...] = ()
    fixed: Mapping[str, str] = field(default_factory=dict)
    when: str = ""
    each: str = ""
    shared: bool = False


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
        for name in (*part.takes, *_COMMON):
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
    given = {name: values[name] for name in (*part.takes, *_COMMON) if name in values} | dict(part.fixed)
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
