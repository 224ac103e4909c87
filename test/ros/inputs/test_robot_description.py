"""Where a robot description comes from."""

from pathlib import Path

import pytest

pytest.importorskip("ament_index_python", reason="ROS 2 (ament_index_python) is not installed")

from lie_dynamics_ros.core.errors import RobotDescriptionError
from lie_dynamics_ros.ros.inputs import model_loading
from lie_dynamics_ros.ros.inputs.model_loading import locate, read_description

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
