"""Topics that parameters name: each is one of its own as ROS resolves it, or the node says why it is not configured."""

from __future__ import annotations

import json

import pytest
from support.preloaded import run_program

from lie_dynamics_ros.nodes.together.node import NODE_CLASSES

PROGRAM = """
import json
import sys
from importlib import import_module

import rclpy
from rclpy.parameter import Parameter

def reason(module, name, given, remaps):
    kind = getattr(import_module(f"lie_dynamics_ros.nodes.{module}.node"), name)
    usual = {"autostart": False}
    if "stewart" not in module:
        usual["robot_description"] = "package://lie_dynamics_ros/urdf/panda_arm.urdf"
    parameters = [Parameter(name, value=value) for name, value in {**usual, **given}.items()]
    arguments = ["--ros-args", *(part for remap in remaps for part in ("-r", remap))]
    try:
        node = kind(parameter_overrides=parameters, cli_args=arguments)
    except ValueError as error:
        return f"{type(error).__name__}: {error}"
    node.trigger_configure()
    node.destroy_node()
    return node.failure

rclpy.init()
for case in json.loads(sys.argv[1]):
    print(json.dumps(reason(*case)), flush=True)
"""
SIX = ["a", "b", "c", "d", "e", "f"]
BOTH = "{} and {} are both the topic {}; expected a topic of its own for each"
#: Module, parameters, remappings, and what is said.
CASES = [
    ("stewart_pose", {"leg_topics": SIX}, [], ""),
    ("stewart_pose", {"leg_topics": [*SIX[:5], "/legs/f"]}, ["joint_states:=legs/all"], ""),
    (
        "stewart_pose", {"leg_topics": ["a", "/a", *SIX[2:]]}, [],
        BOTH.format("leg_topics 2 ('/a')", "leg_topics 1 ('a')", "/a"),
    ),
    (
        "stewart_pose", {"leg_topics": [*SIX[:5], "/ns/c"]}, ["__ns:=/ns"],
        BOTH.format("leg_topics 6 ('/ns/c')", "leg_topics 3 ('c')", "/ns/c"),
    ),
    (
        "stewart_pose", {"leg_topics": SIX}, ["d:=a"],
        BOTH.format("leg_topics 4 ('d')", "leg_topics 1 ('a')", "/a"),
    ),
    (
        "stewart_pose", {"leg_topics": [*SIX[:5], "/joint_states"]}, [],
        BOTH.format("leg_topics 6 ('/joint_states')", "the input joint_states", "/joint_states"),
    ),
    (
        "stewart_pose", {"leg_topics": SIX, "joint_state_topics": ["b"]}, [],
        BOTH.format("leg_topics 2 ('b')", "joint_state_topics 1 ('b')", "/b"),
    ),
    (
        "stewart_pose", {"leg_topics": SIX, "use_leg_temperatures": True}, ["leg_temperature:=e"],
        BOTH.format("leg_topics 5 ('e')", "another input of this node", "/e"),
    ),
    (
        "stewart_pose", {"leg_topics": [*SIX[:5], "~/pose"]}, [],
        "leg_topics 6 ('~/pose') is the topic /stewart_pose/pose, which this node publishes",
    ),
    ("stewart_pose", {"leg_topics": SIX[:5]}, [], "leg_topics has 5 names; expected one for each of leg_1, leg_2"),
    ("stewart_pose", {"leg_topics": SIX * 20_000}, [], "leg_topics has 120000 names; expected at most 100"),
    ("stewart_command", {}, ["~/leg_commands:=joint_states"], "/joint_states is an input and an output of this node"),
    ("simulated_stewart", {}, ["~/leg_commands:=joint_states"], "/joint_states is an input and an output of this node"),
    ("simulated_robot", {}, ["~/joint_efforts:=joint_states"], "/joint_states is an input and an output of this node"),
    ("closed_loop", {}, ["~/joint_states:=joint_states"], "the input joint_states is the topic /joint_states, whi"),
    ("stewart_pose", {"use_imu": True}, ["imu:=joint_states"], "imu is the topic /joint_states, which this node has"),
    ("stewart_pose", {}, ["~/pose:=joint_states"], "~/pose is the topic /joint_states, which this node has for"),
    *(
        ("stewart_pose", {"leg_topics": [*SIX[:5], wrong]}, [], f"leg_topics 6 ({wrong!r}) cannot be heard: ")
        for wrong in ("a b", "1st", "a//b", "a/", "{nobody}", "länge")
    ),
    ("stewart_pose", {"leg_topics": [*SIX[:5], "a" * 400]}, [], "cannot be heard: "),
    (
        "closed_loop", {"joint_state_topics": ["~/joint_states"]}, [],
        "joint_state_topics 1 ('~/joint_states') is the topic /closed_loop/joint_states, which this node publishes",
    ),
]  # fmt: skip
ROBOTS = [name for name in NODE_CLASSES if not name.startswith(("simulated", "stewart"))]
for module in ROBOTS:  # which all have them by the same lines
    CASES += [
        (
            module, {"joint_state_topics": ["more", "", "/more"]}, [],
            BOTH.format("joint_state_topics 3 ('/more')", "joint_state_topics 1 ('more')", "/more"),
        ),
    ]  # fmt: skip
CASES += [
    ("inverse_dynamics", {"joint_state_topics": ["more", "", "arms/left"]}, [], ""),
    (
        "contact", {"joint_state_topics": ["other"]}, ["joint_states:=other"],
        BOTH.format("joint_state_topics 1 ('other')", "the input joint_states", "/other"),
    ),
    ("tool_wrench", {"joint_state_topics": ["more", "a b"]}, [], "joint_state_topics 2 ('a b') cannot be heard: "),
    (
        "closed_loop", {"joint_state_topics": ["a"] * 100_000}, [],
        "joint_state_topics has 100000 names; expected at most",
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def said(ros):
    """What is said of all cases, by nodes of one process."""
    cases = [(module, NODE_CLASSES[module], given, remaps) for module, given, remaps, _ in CASES]
    done = run_program(PROGRAM, json.dumps(cases))
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('"')]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_topic_is_heard_for_one_thing_or_refused_by_name(said, case):
    *_, words = CASES[case]
    assert words in said[case] if words else not said[case]
