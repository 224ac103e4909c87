"""Help of every node and command on standard output, and what nodes say at start of what they wait for."""

import importlib

import pytest
from driven import NODE_CLASSES
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from lie_dynamics_ros.nodes import PROGRAMS
from lie_dynamics_ros.nodes.parameters import node_settings
from lie_dynamics_ros.ros.node.spinning import asks_for_help

COMMANDS = ("demo.__main__", "identify.command", "identify.calibrate_command")


@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_node_prints_help(program, option, capsys):
    module = importlib.import_module(f"lie_dynamics_ros.nodes.{program}.node")
    assert module.main([option]) == 0
    said = capsys.readouterr()
    assert program in said.out and not said.err
    for setting in getattr(module, "SETTINGS", ()):
        assert f"  {setting.name} = " in said.out and setting.description in said.out


@pytest.mark.parametrize("module", COMMANDS)
def test_a_command_prints_help(module, capsys):
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(f"lie_dynamics_ros.{module}").main(["--help"])
    said = capsys.readouterr()
    assert ended.value.code == 0 and "usage: " in said.out and not said.err


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["--help"], True),
        (["--ros-args", "-p", "x:=1", "--", "-h"], True),
        (["--ros-args", "-r", "a:=b", "--help"], False),  # rcl's
        (["inverse_dynamics"], False),
        ([], False),
    ],
)
def test_help_is_asked_for_outside_of_what_ros_reads(words, asked):
    assert asks_for_help(words) == asked

DESCRIBED = [
    kind for kind in NODE_CLASSES if any(one.name == "robot_description_timeout" for one in node_settings(kind))
]


@pytest.mark.parametrize("durability", ["VOLATILE", "TRANSIENT_LOCAL"])
@pytest.mark.parametrize("kind", DESCRIBED)
def test_a_volatile_publisher_of_the_description_is_named_with_the_remedy(bench, kind, durability):
    quality = QoSProfile(depth=1, durability=DurabilityPolicy[durability])
    topic = f"{bench.namespace}/robot_description"
    publisher = bench.publisher(String, topic, quality, heard=False)
    node = NODE_CLASSES[kind](
        namespace=bench.namespace, cli_args=["--ros-args", "-p", "autostart:=false"], context=bench.node.context
    )
    try:
        bench.wait(lambda: node.count_publishers(topic), "the publisher")
        text = node.source.topic.say_waiting()
        assert (bench.node.get_name() in text) == (durability == "VOLATILE")
        assert (f"qos_overrides.{topic}.subscription.durability" in text) == (durability == "VOLATILE")
    finally:
        node.destroy_node()
        bench.node.destroy_publisher(publisher)


def test_all_that_read_a_description_are_here():
    assert {"inverse_dynamics", "computed_torque", "contact", "closed_loop"} < set(DESCRIBED)
