"""Where a description comes from, its format, what nodes with loops make of it, and the friction of its joints."""

from pathlib import Path

import pytest

import lie_dynamics_ros
from lie_dynamics_ros.core.errors import ParameterError, RobotDescriptionError
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.lie_dynamics.errors import DescriptionError
from lie_dynamics_ros.ros.inputs import model_loading
from lie_dynamics_ros.ros.inputs.model_loading import (
    format_of,
    held_joints,
    load_constraints,
    load_friction,
    load_model_with_loops,
    locate,
    read_description,
)
from lie_dynamics_ros.ros.inputs.platform_loading import load_any_platform

pytest.importorskip("ament_index_python", reason="ROS 2 (ament_index_python) is not installed")

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

ARM = (Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf").read_text()
FILE = "joints: {panda_joint1: {friction: 1}, panda_joint5: {friction: 2}}"


def load(file, base_link="", locked=("",)):
    model = Model.from_urdf(ARM, base_link=base_link or None, locked={name: 0.0 for name in locked if name})
    values = {"friction_file": file, "base_link": base_link, "locked_joints": list(locked)}
    return load_friction(ARM, values, model)


def test_joints_that_are_locked_may_be_in_the_file():
    assert load(FILE).friction[0].tolist() == [1, 0, 0, 0, 2, 0, 0]
    assert load(FILE, "panda_link3").friction[0].tolist() == [0, 2, 0, 0]
    assert load(FILE, locked=("panda_joint1",)).friction[0].tolist() == [0, 0, 0, 2, 0, 0]
    assert load(" ") is None


def test_joints_that_the_robot_does_not_have_may_not(tmp_path):
    for base in ("", "panda_link3"):
        with pytest.raises(RobotDescriptionError, match=r"friction_file: .*no joint 'panda_joint9' that moves"):
            load("joints: {panda_joint9: {friction: 1}}", base)
    with pytest.raises(RobotDescriptionError, match=r"friction_file: file .* cannot be read"):
        load(str(tmp_path / "missing.yaml"))


TEXT = '<?xml version="1.0"?>\n<robot name="r"><link name="é"/></robot>\n'


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "with space" / "r.urdf"
    path.parent.mkdir()
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture
def index(tmp_path, monkeypatch):
    """An ament index with one package."""
    marker = tmp_path / "prefix/share/ament_index/resource_index/packages/some_robot"
    marker.parent.mkdir(parents=True)
    marker.touch()
    share = tmp_path / "prefix/share/some_robot"
    (share / "urdf").mkdir(parents=True)
    (share / "urdf/r.urdf").write_text(TEXT, encoding="utf-8")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "prefix"))


def test_text_is_itself():
    assert read_description(TEXT) == TEXT
    assert read_description(f"\n  {TEXT}") == f"\n  {TEXT}"


def test_files_by_path_and_uri(file, monkeypatch):
    assert read_description(str(file)) == TEXT
    assert read_description(f"file://{file}") == TEXT
    assert read_description(f"file://{str(file).replace(' ', '%20')}") == TEXT
    monkeypatch.setenv("HOME", str(file.parent))
    assert read_description("~/r.urdf") == TEXT


def test_files_in_packages(index):
    assert read_description("package://some_robot/urdf/r.urdf") == TEXT


def test_files_in_packages_of_ros_package_path(tmp_path, monkeypatch):
    (tmp_path / "my-robot").mkdir()
    (tmp_path / "my-robot/r.urdf").write_text(TEXT, encoding="utf-8")
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path}")
    assert read_description("package://my-robot/r.urdf") == TEXT
    for package in ("", "..", "other"):
        with pytest.raises(RobotDescriptionError, match="neither in the ament index"):
            locate(f"package://{package}/r.urdf")


@pytest.mark.parametrize("prefix", [None, "", "/nowhere"])
def test_own_files_are_found_without_the_ament_index(monkeypatch, prefix):
    if prefix is None:
        monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    else:
        monkeypatch.setenv("AMENT_PREFIX_PATH", prefix)
    path = locate("package://lie_dynamics_ros/urdf/panda_arm.urdf")
    assert path == Path(model_loading.__file__).parents[2] / "urdf" / "panda_arm.urdf"
    assert 'name="panda"' in read_description(str(path))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("/no/such/file.urdf", "/no/such/file.urdf"),
        ("package://no_such_package/r.urdf", "no_such_package"),
        ("package://some_robot/no_such_file.urdf", "no_such_file"),
        ("http://example.org/r.urdf", "only package:// and file://"),
        ("arm.urdf.xacro", "run xacro first"),
        ("/", "cannot be read"),
    ],
)
def test_says_what_is_wrong(index, source, reason):
    with pytest.raises(RobotDescriptionError, match=reason):
        read_description(source)


def test_refuses_an_empty_file_and_one_that_is_not_text(tmp_path):
    (tmp_path / "empty.urdf").write_text(" \n")
    (tmp_path / "binary.urdf").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(RobotDescriptionError, match="is empty"):
        read_description(str(tmp_path / "empty.urdf"))
    with pytest.raises(RobotDescriptionError, match="cannot be read"):
        read_description(str(tmp_path / "binary.urdf"))


def test_who_takes_a_description_in_says_how_large_it_may_be():
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
    from lie_dynamics_ros.ros.inputs.model_loading import ModelSourceParameters, load_model

    arm = '<robot name="r"><link name="a"/><joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
    solid = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    arm += f'</joint><link name="b"><inertial>{solid}</inertial></link></robot>'
    padded = arm + "<!--" + "x" * model_loading.MAX_SIZE + "-->"
    with pytest.raises(RobotDescriptionError, match="at most"):
        read_description(padded)
    values = ModelSourceParameters.defaults()
    assert load_model(read_description(padded, len(padded)), values, None).joint_names == ("j",)
