"""Arguments of the launch files: what each node has, and which node each reaches.

An argument without a value leaves things as the parameter file has them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from ...lie_dynamics.texts import plain_number, quoted

# An argument of launch files, and how its text is read.

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
    """An argument of launch files.

    Attributes
    ----------
    description : str
        Text in ``ros2 launch --show-args``.
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
        Text in ``--show-args`` for an empty value.
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

    Attributes
    ----------
    node : str
        One of `LAUNCHED_NODES`.
    takes : tuple of str
        Arguments of the launch file that concern it, besides namespace, config, autostart and use_sim_time.
    fixed : mapping
        Arguments of the node that the launch file sets.
    when : str
        Boolean argument of the launch file that selects whether it is started; empty: always.
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
