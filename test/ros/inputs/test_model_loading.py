"""Which format a description has, and what nodes with loops make of each."""

import pytest

pytest.importorskip("ament_index_python", reason="ROS 2 (ament_index_python) is not installed")

from lie_dynamics_ros.core.errors import ParameterError
from lie_dynamics_ros.lie_dynamics.errors import DescriptionError
from lie_dynamics_ros.ros.inputs.model_loading import format_of, held_joints, load_constraints, load_model_with_loops
from lie_dynamics_ros.ros.inputs.platform_loading import load_any_platform

SOLID = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
LINK = f'<link name="{{}}">{SOLID}</link>'
JOINT = '<joint name="{0}" type="{1}"><parent>{2}</parent><child>{3}</child><axis><xyz>0 0 1</xyz></axis></joint>'
SDF = (
    '<sdf version="1.9"><model name="m">'
    + "".join(LINK.format(name) for name in "abc")
    + "".join(JOINT.format(a + b, "revolute", a, b) for a, b in ("ab", "bc", "ac"))
    + "</model></sdf>"
)
VALUES = {"robot_description": "", "base_link": "", "locked_joints": [""], "inertia_check": "error", "sdf_model": ""}


class Log(list):
    def warning(self, text):
        self.append(text)

    info = warning


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<robot/>", "URDF"),
        ("<sdf version='1.9'/>", "SDF"),
        ("<mujoco/>", "MJCF"),
        ('\ufeff\n<?xml version="1.0"?>\n<!-- <mujoco> --><!-- a\n -->\n<sdf\nversion="1"/>', "SDF"),
        ("<sdfx/>", "URDF"),
        ("<!-- <sdf> ", "URDF"),
        ("", "URDF"),
        ("<!-- a -->\n" * 20_000 + "<robot/>", "URDF"),  # no pattern that tries all ways to split them
    ],
)
def test_the_first_element_tells_the_format(text, kind):
    assert format_of(text) == kind


def test_sdf_brings_its_loops_and_says_what_it_leaves_out():
    log = Log()
    text = SDF.replace("</axis></joint></model>", "<limit><lower>-1</lower></limit></axis></joint></model>")
    model = load_model_with_loops(text, VALUES, log)
    assert model.joint_names == ("ab", "bc") and "joint 'ac'" in "".join(log)
    more = "couplings: [{follower: bc, leader: ab}]"
    assert load_constraints(more, model, "left_", text).names == ("ac", "bc")


def test_a_world_says_which_of_its_models_is_the_robot():
    robot = SDF[len('<sdf version="1.9">') : -len("</sdf>")]
    box = f'<model name="box">{LINK.format("box")}</model>'
    text = f'<sdf version="1.9"><world name="w">{box}{robot}</world></sdf>'
    with pytest.raises(DescriptionError, match=r"'box'.*'m'"):
        load_model_with_loops(text, VALUES, Log())
    model = load_model_with_loops(text, {**VALUES, "sdf_model": "m"}, Log())
    assert model.joint_names == ("ab", "bc") and load_constraints("", model, "", text, "m").names == ("ac",)
    with pytest.raises(ParameterError, match="sdf_model: it is for SDF; expected none with MJCF, got 'm'"):
        load_model_with_loops("<mujoco/>", {**VALUES, "sdf_model": "m"}, Log())


@pytest.mark.parametrize("text", [SDF, "<mujoco/>"])
def test_parts_of_robots_are_for_urdf(text):
    with pytest.raises(ParameterError, match="base_link is for URDF"):
        load_model_with_loops(text, {**VALUES, "robot_description": text, "base_link": "b"}, Log())


def test_joints_of_an_sdf_are_locked_by_couplings():
    model = load_model_with_loops(SDF, VALUES, Log())
    (held,) = held_joints(model, {**VALUES, "joint_prefix": "a_", "locked_joints": ["bc"], "locked_positions": [0.3]})
    assert dict(held.coefficients) == {"a_bc": 1.0} and held.offset == 0.3 and held.name == "a_bc locked"
    with pytest.raises(ParameterError, match="locked_joints: joints of one coordinate are expected, got 'ca'"):
        held_joints(model, {**VALUES, "joint_prefix": "", "locked_joints": ["ca"], "locked_positions": [0.3]})


@pytest.mark.parametrize("name", ["reference_platform", "servo_hexapod"])
def test_the_reference_platform_is_named_where_nobody_gave_one(name):
    said = Log()
    load_any_platform(f"package://lie_dynamics_ros/platforms/{name}.yaml", said)
    assert [text for text in said if "parameter platform is not set" in text] == said[: name == "reference_platform"]
    assert len(said) == (name == "reference_platform")
