"""Every robot of example-robot-data: read and compared with Pinocchio, or refused for the reason stated here."""

import re
import warnings

import numpy as np
import pytest
from support.grids import all_of, every_run
from support.robots import all_robots, path

from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.lie_dynamics.errors import DescriptionError, DescriptionWarning, InertiaError
from lie_dynamics_ros.lie_dynamics.lie import SpatialInertia, so3
from lie_dynamics_ros.lie_dynamics.model.urdf.reader import read_urdf

#: By how much the largest principal moment of the link exceeds the sum of the others, as a part of the largest.
UNPHYSICAL = {
    "alex_description/urdf/alex_psyonic_hands.urdf": ("LeftPsyonicAbilityBaseLink", 0.0883),
    "allegro_hand_description/urdf/allegro_left_hand.urdf": ("link_11.0", 0.204),
    "allegro_hand_description/urdf/allegro_right_hand.urdf": ("link_3.0", 0.204),
    "anymal_c_simple_description/urdf/anymal.urdf": ("hatch", 1.0),
    "pr2_description/urdf/pr2.urdf": ("sensor_mount_link", 0.8),
    "romeo_description/urdf/romeo_laas_small.urdf": ("LShoulderYaw_link", 0.00183),
    "romeo_description/urdf/romeo_small.urdf": ("RShoulderYawLink", 0.796),
}
#: The file holds a <robot> without a single link: what its xacro macro would define was never called.
EMPTY = "ur_description/urdf/ur3.urdf"
#: Its mimic joints follow joints that do not exist (a prefix was left out).
MIMIC_ASTRAY = "alex_description/urdf/alex_psyonic_hands.urdf"
#: What some files hold and the format does not know, with the number of joints that have it.
UNKNOWN = {
    "anymal_b_simple_description/robots/anymal-kinova.urdf": ("'current' of <limit>", 12),
    "anymal_b_simple_description/robots/anymal.urdf": ("'command_effort' of <limit>", 12),
    "g1_description/urdf/g1_29dof_rev_1_0.urdf": ("'dont_collapse' of <joint>", 2),
    "go2_description/urdf/go2.urdf": ("'dont_collapse' of <joint>", 4),
    "panda_description/urdf/panda.urdf": ("'mu_viscous' of <dynamics>", 7),
    "panda_description/urdf/panda_collision.urdf": ("'mu_viscous' of <dynamics>", 7),
}

FILES = all_robots()


def read_any(name):
    """Read a file, however unphysical; return the description and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        description = read_urdf(path(name), inertia_check="warn" if name in UNPHYSICAL else "error")
    ours = [warning for warning in caught if warning.category is not ResourceWarning]  # of what other tests left open
    assert all(warning.category is DescriptionWarning for warning in ours)
    return description, [str(warning.message) for warning in ours]


def poses_at_zero(description):
    """Pose of every link in the frame of the root link, all coordinates zero."""
    poses = {description.root: np.eye(4)}
    waiting = list(description.joints)
    while waiting:
        later = []
        for joint in waiting:
            if joint.parent in poses:
                poses[joint.child] = poses[joint.parent] @ joint.placement
            else:
                later.append(joint)
        assert len(later) < len(waiting)
        waiting = later
    return poses


def test_the_collection_is_the_one_known_here():
    path(EMPTY)
    assert len(FILES) >= 69
    assert {*UNPHYSICAL, EMPTY} <= set(FILES)


@all_of("name", FILES)
def test_loads_or_is_refused_for_its_reason(name, capfd):
    file = path(name)
    if name == EMPTY:
        with pytest.raises(DescriptionError, match="no links"):
            read_urdf(file)
    elif name in UNPHYSICAL:
        link, excess = UNPHYSICAL[name]
        with pytest.raises(InertiaError, match=f"link '{link}'.*triangle inequality.*inertia_check='warn'") as caught:
            read_urdf(file)
        low, middle, high = caught.value.value
        assert caught.value.name == link
        assert (high - low - middle) / high == pytest.approx(excess, rel=5e-3)
    else:
        description, told = read_any(name)
        assert len(description.joints) == len(description.links) - 1
        assert len(told) == (name in UNKNOWN)
    out, err = capfd.readouterr()
    assert out == err == ""  # the parser's complaints about extensions do not reach the user


@pytest.mark.parametrize("name", every_run(FILES[1::8], [name for name in FILES if name != EMPTY]))
def test_agrees_with_pinocchio(name):
    pin = pytest.importorskip("pinocchio")
    description, _ = read_any(name)
    model = pin.buildModelFromUrdf(str(path(name)), pin.JointModelFreeFlyer())
    data = model.createData()
    q = pin.neutral(model)
    pin.framesForwardKinematics(model, data, q)
    base = data.oMf[model.getFrameId(description.root, pin.FrameType.BODY)].inverse()
    poses = poses_at_zero(description)
    for link in description.links:
        frame = model.getFrameId(link.name, pin.FrameType.BODY)
        np.testing.assert_allclose(poses[link.name], (base * data.oMf[frame]).homogeneous, atol=1e-12)

    whole = SpatialInertia.zero()
    for link in description.links:
        if link.inertia is not None:
            whole = whole + link.inertia.transformed(poses[link.name])
    pin.ccrba(model, data, q, np.zeros(model.nv))
    assert whole.mass == pytest.approx(data.Ig.mass, rel=1e-13)
    np.testing.assert_allclose(whole.com, (base * pin.SE3(np.eye(3), data.com[0])).translation, atol=1e-12)
    np.testing.assert_allclose(whole.inertia, data.Ig.inertia, atol=1e-12 * max(1.0, np.abs(whole.inertia).max()))

    for joint in description.joints:
        if joint.kind not in ("revolute", "prismatic"):
            continue
        theirs = model.joints[model.getJointId(joint.name)]
        assert joint.effort_limit == pytest.approx(model.effortLimit[theirs.idx_v])
        assert joint.velocity_limit == pytest.approx(model.velocityLimit[theirs.idx_v])
        assert joint.damping == pytest.approx(model.damping[theirs.idx_v])
        assert joint.friction == pytest.approx(model.friction[theirs.idx_v])
        if not np.isinf(joint.lower):
            assert joint.lower == pytest.approx(model.lowerPositionLimit[theirs.idx_q])
            assert joint.upper == pytest.approx(model.upperPositionLimit[theirs.idx_q])
        # the axis: where the joint at 0.3 puts the child, by Rodrigues' formula
        moved = q.copy()
        moved[theirs.idx_q] = 0.3
        pin.forwardKinematics(model, data, moved)
        motion = data.oMi[model.parents[theirs.id]].inverse() * data.oMi[theirs.id]
        here = model.jointPlacements[theirs.id].inverse() * motion
        step = 0.3 * joint.axis
        expected = so3.exp(step) if joint.kind == "revolute" else np.eye(3)
        np.testing.assert_allclose(here.rotation, expected, atol=1e-12)
        np.testing.assert_allclose(here.translation, 0.0 * step if joint.kind == "revolute" else step, atol=1e-12)


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_format_does_not_know_is_told(name):
    (what, count), (told,) = UNKNOWN[name], read_any(name)[1]
    assert re.search(rf"attribute {what} \(joint '\w+' and {count - 1} more\)", told)


def test_mimic_joints_without_a_master_are_coordinates_of_their_own():
    description, told = read_any(MIMIC_ASTRAY)
    assert any("mimic joints follow joints that do not exist" in sentence for sentence in told)
    followers = [joint.name for joint in description.joints if joint.mimic is not None]
    assert followers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Model.from_urdf(path(MIMIC_ASTRAY), inertia_check="ignore")
    assert {*followers} < {*model.joint_names}


@pytest.mark.parametrize(
    "name", ["anymal_b_simple_description/robots/anymal.urdf", "hyq_description/robots/hyq_no_sensors.urdf"]
)
def test_placeholder_inertias_on_a_trunk_are_accepted_with_a_remark(name):
    remarks = read_any(name)[0].remarks
    assert any("'base" in remark and "too small to matter" in remark for remark in remarks)
