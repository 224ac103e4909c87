"""What the URDF reader makes of a file, and where files may come from."""

import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.grids import all_of

from lie_dynamics_ros.lie_dynamics.errors import DescriptionError, DescriptionWarning, InertiaError
from lie_dynamics_ros.lie_dynamics.lie import so3
from lie_dynamics_ros.lie_dynamics.model.description import Mimic
from lie_dynamics_ros.lie_dynamics.model.urdf.reader import read_urdf

ARM = """<?xml version="1.0" encoding="utf-8"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <material name="grey"/>
  <link name="base"/>
  <link name="upper">
    <visual><geometry><mesh filename="package://nowhere/upper.stl" scale="not a number"/></geometry></visual>
    <collision><geometry/></collision>
    <inertial>
      <origin xyz="0.1 0.2 0.3" rpy="0.5 -0.4 1.1"/>
      <mass value="2.5"/>
      <inertia ixx="0.01" ixy="0.001" ixz="-0.002" iyy="0.02" iyz="0.003" izz="0.025"/>
    </inertial>
    <sensor:camera xmlns:sensor="http://example.org/sensor" fov="1.0"/>
  </link>
  <link name="lower">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <link name="tip"/>
  <joint type="revolute" name="shoulder">
    <origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>
    <parent link="base"/><child link="upper"/>
    <axis xyz="0 3 4"/>
    <limit lower="-1.5" upper="2" effort="87" velocity="2.2"/>
    <dynamics damping="0.5" friction="0.25"/>
    <safety_controller k_velocity="what"/>
  </joint>
  <joint name="elbow" type="prismatic">
    <parent link="upper"/><child link="lower"/>
    <limit upper="0.3" effort="0" velocity="1"/>
    <mimic joint="shoulder" multiplier="-2"/>
  </joint>
  <joint name="flange" type="fixed"><parent link="lower"/><child link="tip"/><axis xyz="0 0 0"/></joint>
  <transmission name="t"><type>x</type></transmission>
  <gazebo reference="base"><plugin/></gazebo>
</robot>
"""


def test_every_figure_arrives(capfd):
    arm = read_urdf(ARM)
    assert (arm.name, arm.root) == ("arm", "base")
    assert [link.name for link in arm.links] == ["base", "upper", "lower", "tip"]
    assert arm.links[0].inertia is None
    upper = arm.links[1].inertia
    R = so3.from_rpy([0.5, -0.4, 1.1])
    figures = np.array([[0.01, 0.001, -0.002], [0.001, 0.02, 0.003], [-0.002, 0.003, 0.025]])
    assert upper.mass == 2.5
    np.testing.assert_allclose(upper.com, [0.1, 0.2, 0.3], rtol=1e-15)
    np.testing.assert_allclose(upper.inertia, R @ figures @ R.T, rtol=1e-14)

    shoulder, elbow, flange = arm.joints
    assert (shoulder.name, shoulder.kind, shoulder.parent, shoulder.child) == ("shoulder", "revolute", "base", "upper")
    np.testing.assert_array_equal(shoulder.placement[:3, 3], [1, 2, 3])
    np.testing.assert_allclose(shoulder.placement[:3, :3], so3.from_rpy([0.1, 0.2, 0.3]), rtol=1e-15)
    np.testing.assert_allclose(shoulder.axis, [0, 0.6, 0.8], rtol=1e-15)
    assert (shoulder.lower, shoulder.upper, shoulder.velocity_limit, shoulder.effort_limit) == (-1.5, 2.0, 2.2, 87.0)
    assert (shoulder.damping, shoulder.friction, shoulder.armature, shoulder.mimic) == (0.5, 0.25, 0.0, None)

    np.testing.assert_array_equal(elbow.placement, np.eye(4))
    np.testing.assert_array_equal(elbow.axis, [1, 0, 0])
    assert (elbow.lower, elbow.upper, elbow.effort_limit) == (0.0, 0.3, 0.0)
    assert elbow.mimic == Mimic("shoulder", -2.0, 0.0)
    assert flange.kind == "fixed"
    assert any("shoulder" in remark and "length 5 normalised" in remark for remark in arm.remarks)
    assert capfd.readouterr() == ("", "")


def test_values_cannot_be_changed():
    joint = read_urdf(ARM).joints[0]
    with pytest.raises(ValueError):
        joint.axis[0] = 1.0
    with pytest.raises(AttributeError):
        joint.lower = 0.0


@all_of(
    "limit, kind, expected",
    [
        ("", "revolute", (-np.inf, np.inf, np.inf, np.inf)),
        ("<limit/>", "prismatic", (-np.inf, np.inf, np.inf, np.inf)),
        ('<limit effort="3" velocity="2"/>', "revolute", (-np.inf, np.inf, 2.0, 3.0)),
        ('<limit lower="-1" effort="3" velocity="2"/>', "revolute", (-1.0, 0.0, 2.0, 3.0)),
        ('<limit lower="0" upper="0" effort="0" velocity="0"/>', "revolute", (0.0, 0.0, 0.0, 0.0)),
        ('<limit lower="-1" upper="1" velocity="2"/>', "prismatic", (-1.0, 1.0, 2.0, np.inf)),
        ('<limit lower="-1" upper="1" effort="3" velocity="2"/>', "continuous", (-np.inf, np.inf, 2.0, 3.0)),
        ('<limit lower="-inf" upper="inf" effort="inf" velocity="2"/>', "revolute", (-np.inf, np.inf, 2.0, np.inf)),
    ],
)
def test_limits_that_files_leave_out(limit, kind, expected):
    xml = f"""<robot name="r"><link name="a"/><link name="b"/>
      <joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{limit}</joint></robot>"""
    description = read_urdf(xml)
    joint = description.joints[0]
    assert (joint.lower, joint.upper, joint.velocity_limit, joint.effort_limit) == expected
    assert bool(description.remarks) == (np.inf in expected and kind != "continuous" and "inf" not in limit)


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic", "fixed", "floating", "planar"])
def test_every_kind_of_joint(kind):
    xml = f"""<robot name="r"><link name="a"/><link name="b"/>
      <joint name="j" type="{kind}"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>"""
    assert read_urdf(xml).joints[0].kind == kind


def test_order_of_elements_and_default_namespace_do_not_matter():
    plain = read_urdf(ARM)
    again = read_urdf(ARM.replace("<robot ", '<robot xmlns="http://www.ros.org" '))
    assert [link.name for link in again.links] == [link.name for link in plain.links]
    assert again.links[1].inertia == plain.links[1].inertia
    joint_first = """<robot name="r"><joint type="fixed" name="j"><child link="b"/><parent link="a"/></joint>
      <link name="b"/><link name="a"/></robot>"""
    assert read_urdf(joint_first).root == "a"
    assert read_urdf('<robot><link name="only"/></robot>').root == "only"


def test_sources(tmp_path, monkeypatch):
    share = tmp_path / "prefix" / "share" / "my_arm" / "urdf"
    share.mkdir(parents=True)
    file = share / "my arm.urdf"
    file.write_text(ARM)
    spaced = "file://" + str(file).replace(" ", "%20")
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nonexistent:{tmp_path / 'prefix'}")
    uri = "package://my_arm/urdf/my arm.urdf"
    texts = (ARM, "\ufeff\n " + ARM, ARM.encode(), ARM.encode("utf-8-sig"))
    for source in (*texts, str(file), file, file.as_uri(), spaced, uri):
        assert read_urdf(source).name == "arm"
    utf16 = ARM.replace("utf-8", "utf-16").encode("utf-16")
    assert read_urdf(utf16).name == "arm"

    monkeypatch.delenv("AMENT_PREFIX_PATH")
    with pytest.raises(DescriptionError, match="not found; looked in no folder"):
        read_urdf(uri)
    assert read_urdf(uri, package_dirs=[tmp_path / "prefix" / "share"]).name == "arm"
    assert read_urdf(uri, package_dirs=[tmp_path / "prefix" / "share" / "my_arm"]).name == "arm"
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "prefix" / "share"))
    assert read_urdf(uri).name == "arm"


def test_unphysical_inertia_is_an_error_a_warning_or_nothing():
    broken = ARM.replace('izz="0.025"', 'izz="0.25"')
    with pytest.raises(InertiaError, match=r"link 'upper'.*triangle inequality"):
        read_urdf(broken)
    with pytest.warns(DescriptionWarning, match="link 'upper'") as caught:
        described = read_urdf(broken, inertia_check="warn")
    assert caught[0].filename == __file__
    assert described.links[1].inertia.deficit() > 0.2
    assert any("on request" in remark for remark in described.remarks)
    assert read_urdf(broken, inertia_check="ignore").links[1].inertia.deficit() > 0.2
    with pytest.raises(DescriptionError, match="'error', 'warn' or 'ignore'"):
        read_urdf(ARM, inertia_check="no")
    with pytest.raises(InertiaError, match="negative"):
        read_urdf(ARM.replace('mass value="2.5"', 'mass value="-2.5"'), inertia_check="ignore")


def two_links(first, second, kind):
    body = '<inertial><mass value="{}"/><inertia ixx="{}" iyy="{}" izz="{}" ixy="0" ixz="0" iyz="0"/></inertial>'
    return f"""<robot name="r"><link name="a">{body.format(*first)}</link><link name="b">{body.format(*second)}</link>
      <joint name="j" type="{kind}"><parent link="a"/><child link="b"/></joint></robot>"""


def test_tolerance_is_relative_to_the_link_or_to_its_rigid_body():
    trunk, dummy = (10.0, 0.1, 0.2, 0.2), (1e-6, 1e-6, 1e-6, 1e-5)
    assert read_urdf(two_links((1.0, 1.0, 1.0, 2.001), trunk, "revolute")).remarks[-1].startswith("link 'a'")
    with pytest.raises(InertiaError, match="link 'a'"):
        read_urdf(two_links((1.0, 1.0, 1.0, 2.01), trunk, "revolute"))
    assert any("link 'b'" in remark for remark in read_urdf(two_links(trunk, dummy, "fixed")).remarks)
    with pytest.raises(InertiaError, match="link 'b'"):
        read_urdf(two_links(trunk, dummy, "revolute"))
    with pytest.raises(InertiaError, match="link 'b'"):  # large beside the trunk
        read_urdf(two_links(trunk, (1.0, 0.01, 0.01, 0.03), "fixed"))


def test_many_threads_may_read_at_once():
    """In a fresh process, where nothing has been imported or built yet."""
    code = (
        "import sys, threading; from concurrent.futures import ThreadPoolExecutor\n"
        "from lie_dynamics_ros.lie_dynamics.model.urdf.reader import read_urdf\n"
        "sys.setswitchinterval(1e-6)\n"
        "text = sys.stdin.read(); gate = threading.Barrier(8)\n"
        "def job(_):\n    gate.wait(); return read_urdf(text).root\n"
        "print({*ThreadPoolExecutor(8).map(job, range(8))})\n"
    )
    root = pathlib.Path(__file__).parents[2]
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, input=ARM, capture_output=True, text=True, cwd=root, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("{'base'}\n", "")
    with ThreadPoolExecutor(4) as pool:
        assert {read.root for read in pool.map(read_urdf, [ARM] * 16)} == {"base"}


def test_reading_imports_neither_ros_nor_another_parser():
    code = (
        "import sys; from lie_dynamics_ros.lie_dynamics.model.urdf.reader import read_urdf\n"
        'read_urdf(\'<robot name="r"><link name="a"/></robot>\')\n'
        "print([m for m in ('urdf_parser_py', 'lxml', 'rclpy') if m in sys.modules])"
    )
    root = pathlib.Path(__file__).parents[2]
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
