"""What `ros2 param` does with every parameter of every node: dump, load, and values of another type."""

from __future__ import annotations

import math
import re
import subprocess
import sys

import pytest
import rclpy
import yaml
from driven import NODE_CLASSES
from rclpy.parameter import Parameter, get_parameter_value
from test_parameter_files import NODES

from lie_dynamics_ros.core.errors import ParameterError
from lie_dynamics_ros.ros.node.description_source import same_robot


@pytest.fixture(scope="module", params=NODES)
def node(request):
    context = rclpy.Context()
    rclpy.init(context=context)
    found = NODE_CLASSES[request.param](context=context, cli_args=["--ros-args", "-p", "autostart:=false"])
    found.kind = request.param
    yield found
    found.destroy_node()
    context.shutdown()


def loaded(value):
    """What `ros2 param load` sends of a value in a file: it guesses the type of its text."""
    return rclpy.parameter.parameter_value_to_python(get_parameter_value(str(value)))


def test_every_default_survives_dump_and_load(node):
    for setting in NODES[node.kind]:
        (dumped,) = yaml.safe_load(yaml.safe_dump([node.get_parameter(setting.name).value]))
        result = node.set_parameters_atomically([Parameter(setting.name, value=loaded(dumped))])
        if setting.when == "at start":
            assert "read-only" in result.reason
        else:
            assert result.successful, (setting.name, dumped, result.reason)
            assert node.get_parameter(setting.name).value == setting.default


def test_small_and_large_numbers_are_loaded_where_they_are_in_range(node):
    for setting in NODES[node.kind]:
        if isinstance(setting.default, list) and setting.default and isinstance(setting.default[0], float):
            for value in (["1e-05"] * len(setting.default), str([1e-05] * len(setting.default))):
                (read,) = node.settings.read_numbers([Parameter(setting.name, value=value)])
                assert read.value == [1e-05] * len(setting.default)
        elif isinstance(setting.default, float):
            (read,) = node.settings.read_numbers([Parameter(setting.name, value="1e+16")])
            assert read.value == 1e16
        else:
            given = Parameter(setting.name, value="1e-05")
            assert node.settings.read_numbers([given]) == [given]


def test_a_value_of_another_type_is_refused_with_a_valid_one(node):
    for setting in NODES[node.kind]:
        if setting.when == "at start":
            continue
        wrong = {bool: "x", int: "x", float: "x"}.get(type(setting.default), 100.0)
        result = node.set_parameters_atomically([Parameter(setting.name, value=wrong)])
        assert not result.successful
        marker = f"a valid value of {setting.name}: "
        assert marker in result.reason, result.reason
        valid = yaml.safe_load(result.reason.rpartition(marker)[2])
        assert type(valid) is type(setting.default)
        if isinstance(valid, list) and valid and setting.default:
            assert type(valid[0]) is type(setting.default[0]), (setting.name, valid)


def test_a_wrong_number_of_one_joint_is_told_with_the_joint(node):
    for setting in (s for s in NODES[node.kind] if s.by_joint):
        for wrong in (2.0 * setting.low - 1.0, math.nan):
            with pytest.raises(ParameterError, match=f"{setting.name} holds .* for joint b; expected "):
                setting.check([setting.default[0], wrong, setting.default[0]], ("a", "b", "c"))
            with pytest.raises(ParameterError, match=re.escape(f"{setting.name} holds {wrong:g}; expected ")):
                setting.check([wrong], ("a", "b", "c"))


def test_a_number_for_a_list_is_told_as_a_list():
    setting = next(s for s in NODES["computed_torque"] if s.name == "kp")
    assert setting.valid(100.0) == setting.valid(100) == "a valid value of kp: [100.0]"


def test_a_file_with_a_number_for_a_list_is_refused_with_the_list():
    code = "import sys; from lie_dynamics_ros.nodes.computed_torque.node import main; sys.exit(main(sys.argv[1:]))"
    arguments = [sys.executable, "-c", code, "--ros-args", "-p", "kp:=100.0"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "a valid value of kp: [100.0]" in done.stderr


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ('<robot  name="a" >\n<link name="b" /><!-- c --></robot>\n', True),
        ("<robot name='a'><link name='b'></link></robot>", True),
        ('<robot name="a"><link name="c"/></robot>', False),
        ('<robot name="a"><link name="b"/><link name="c"/></robot>', False),
        ('<robot name="a"><link name="b"/>', False),
        (None, False),
    ],
)
def test_descriptions_that_differ_by_blanks_and_comments_are_the_same_robot(other, same):
    assert same_robot('<robot name="a"><link name="b"/></robot>', other) == same
