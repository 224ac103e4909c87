"""Every node and every command prints help on standard output when it is asked for it, and nothing else."""

import importlib

import pytest

from lie_dynamics_ros.nodes import PROGRAMS
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
