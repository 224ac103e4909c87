"""URDF 1.0, 1.1 and 1.2: what each version adds, with Pinocchio's reader as the judge; what is told, not dropped."""

import numpy as np
import pytest
from support.grids import all_of

from lie_dynamics_ros.lie_dynamics import Model, ModelBuilder, gravity_force, joint_types, mass_matrix
from lie_dynamics_ros.lie_dynamics.errors import DescriptionError, DescriptionWarning
from lie_dynamics_ros.lie_dynamics.model.urdf.reader import read_urdf

BODY = '<mass value="1.5"/><inertia ixx="0.2" ixy="0.01" ixz="-0.02" iyy="0.3" iyz="0.03" izz="0.4"/>'


def arm(version="", joint_origin="", inertial_origin="", inside="", more=""):
    return f"""<robot name="arm" {version}>
      <link name="base"/>
      <link name="upper"><inertial><origin {inertial_origin}/>{BODY}</inertial></link>
      <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin {joint_origin}/>
        <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="9" velocity="3"/>{inside}</joint>{more}</robot>"""


def random_turns(count):
    turns = np.random.default_rng(1).normal(size=(count, 4))
    return [" ".join(repr(float(x)) for x in turn / np.linalg.norm(turn)) for turn in turns]


@all_of("version", ["1.1", "1.2"])
@all_of("turn", [*random_turns(5), "0 0 0.70710678 0.70710678", "0 0.71 0 0.71", "-1 0 0 0"])
def test_quaternions_of_joints_and_inertials(version, turn):
    pin = pytest.importorskip("pinocchio")
    text = arm(f'version="{version}"', f'xyz="1 2 3" quat_xyzw="{turn}"', f'quat_xyzw="{turn}" xyz="0.5 0 0.1"')
    theirs = pin.buildModelFromXML(text)
    ours = Model.from_urdf(text)
    for q in ([0.0], [0.7]):
        expected = pin.computeGeneralizedGravity(theirs, theirs.createData(), np.array(q))
        assert gravity_force(ours, q) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        expected = pin.crba(theirs, theirs.createData(), np.array(q))
        assert mass_matrix(ours, q) == pytest.approx(expected, rel=1e-9)


def test_a_quaternion_turns_the_axis_into_gravity():
    """A rod along x about y, turned by 90 degrees about x: the axis is vertical, and nothing is to be held."""
    level, upright = (
        gravity_force(Model.from_urdf(arm('version="1.1"', f'quat_xyzw="{turn}"', 'xyz="1 0 0"')), [0.0])
        for turn in ("0 0 0 1", "0.7071068 0 0 0.7071068")
    )
    assert abs(level[0]) == pytest.approx(1.5 * 9.81)
    assert abs(upright[0]) < 1e-6


def test_quaternions_are_normalised():
    rotation = read_urdf(arm('version="1.1"', 'quat_xyzw="0 0 0.71 0.71"')).joints[0].placement[:3, :3]
    np.testing.assert_allclose(rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


@pytest.mark.parametrize("version", ["", 'version="1.0"', 'version="1.1"', 'version="1.2"'])
def test_limits_of_acceleration_deceleration_and_jerk(version):
    def limits(attributes):
        limit = f'<limit lower="-2" upper="2" effort="9" velocity="3" {attributes}/>'
        described = arm(version).replace('<limit lower="-2" upper="2" effort="9" velocity="3"/>', limit)
        found = Model.from_urdf(described).limits
        return found.acceleration.tolist(), found.deceleration.tolist(), found.jerk.tolist()

    assert limits("") == ([np.inf], [np.inf], [np.inf])
    assert limits('acceleration="4"') == ([4.0], [4.0], [np.inf])
    assert limits('acceleration="4" deceleration="5" jerk="60"') == ([4.0], [5.0], [60.0])
    assert limits('deceleration="5"') == ([np.inf], [5.0], [np.inf])


def test_limits_of_a_coupled_mimic():
    """What follows at twice the speed is at its limits at half of them."""
    builder = ModelBuilder()
    builder.add("a", None, joint_types.revolute(), velocity=8, acceleration=8, deceleration=8, jerk=8)
    builder.add("b", None, joint_types.revolute(), mimic=("a", -2.0, 0.0), velocity=6, acceleration=4, jerk=20)
    limits = builder.build().with_coupled_mimics().limits
    found = (limits.velocity, limits.acceleration, limits.deceleration, limits.jerk)
    assert [x.tolist() for x in found] == [[3.0], [2.0], [8.0], [8.0]]
    with pytest.raises(DescriptionError, match="jerk must not be negative"):
        ModelBuilder().add("a", None, joint_types.revolute(), jerk=-1.0)


def test_what_is_not_known_is_told_in_one_warning(recwarn):
    more = """<link name="hand" type="x"><inertia/><inertial/><visual/><sensor/></link>
      <joint name="wrist" type="fixed" dont_collapse="true"><parent link="upper"/><child link="hand"/>
        <dynamics damping="1" stiffness="2"/><safety_controller k_velocity="?"/><hardwareInterface>x</hardwareInterface>
        <calibration rising="?"/><limit effort="1" velocity="1"><soft/></limit></joint>"""
    inside = '<dynamics damping="1" stiffness="3"/><dynamics damping="2"/><x:y xmlns:x="http://example.org/x"/>'
    more = more.replace("<inertial/>", f"<inertial>{BODY}<com/></inertial>")
    text = arm("", 'quat="0 0 0 1"', 'xyz="0 0 0"', inside, more)
    description = read_urdf(text)
    assert description.joints[0].damping == 1.0  # the first one
    (warning,) = recwarn.list
    assert warning.category is DescriptionWarning
    assert warning.filename == __file__
    told = str(warning.message)
    for words in (
        "robot 'arm'",
        "attribute 'quat' of <origin> (joint 'shoulder')",
        "attribute 'stiffness' of <dynamics> (joint 'shoulder' and 1 more)",
        "a second <dynamics> in one <joint> (joint 'shoulder')",
        "element <y> in <joint> (joint 'shoulder')",
        "attribute 'dont_collapse' of <joint> (joint 'wrist')",
        "element <hardwareInterface> in <joint> (joint 'wrist')",
        "element <soft> in <limit> (joint 'wrist')",
        "element <com> in <inertial> (link 'hand')",
        "element <inertia> in <link> (link 'hand')",
    ):
        assert words in told
    assert not any(word in told for word in ("visual", "sensor", "calibration", "safety", "type"))
    assert told.removeprefix("robot 'arm': ") in description.remarks


def test_a_well_formed_file_gives_no_warning(recwarn):
    read_urdf(arm('version="1.2"'))
    assert not recwarn.list


MISSING = '<mimic joint="sholder" multiplier="2"/>'


def test_a_mimic_without_its_master_moves_by_itself():
    with pytest.warns(DescriptionWarning, match="'shoulder' mimics 'sholder'; did you mean 'shoulder'?") as caught:
        model = Model.from_urdf(arm(inside=MISSING))
    assert [w.category for w in caught].count(DescriptionWarning) == 1
    assert model.nv == 1
    with pytest.raises(DescriptionError, match="'shoulder' mimics joint 'sholder', which does not move"):
        model.with_coupled_mimics()
