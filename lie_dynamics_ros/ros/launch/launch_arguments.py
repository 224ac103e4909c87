"""Arguments of the launch files: what each node has, and which node each reaches.

An argument without a value leaves things as the parameter file has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from .argument import BOOLEANS, LISTS, Argument
from .argument import OF_ALL_NODES as _COMMON

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
    "contact": NodeFile((*_ROBOT, *_COMMON), {"touching": ("~/touching", "Topic that reports contact.")}),
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
