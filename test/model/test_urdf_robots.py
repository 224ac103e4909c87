"""Every robot of example-robot-data: read and compared with Pinocchio, or refused for the reason stated here."""

import numpy as np
import pytest
from robot_files import REASON, folder, urdf_files

from lie_dynamics_ros.lie_dynamics.errors import DescriptionError, DescriptionWarning, InertiaError
from lie_dynamics_ros.lie_dynamics.lie import SpatialInertia, so3
from lie_dynamics_ros.lie_dynamics.model.urdf import read_urdf

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
#: Refused also with inertia_check="warn": its mimic joints follow joints that do not exist (a prefix was left out).
DANGLING_MIMIC = "alex_description/urdf/alex_psyonic_hands.urdf"

FILES = urdf_files() or [pytest.param("", marks=pytest.mark.skip(reason=REASON))]


def read_any(name):
    if name in UNPHYSICAL:
        with pytest.warns(DescriptionWarning):
            return read_urdf(folder() / name, inertia_check="warn")
    return read_urdf(folder() / name)


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
    if not urdf_files():
        pytest.skip(REASON)
    assert len(urdf_files()) >= 69
    assert {*UNPHYSICAL, EMPTY} <= set(urdf_files())


@pytest.mark.parametrize("name", FILES)
def test_loads_or_is_refused_for_its_reason(name, capfd):
    path = folder() / name
    if name == EMPTY:
        with pytest.raises(DescriptionError, match="no links"):
            read_urdf(path)
    elif name in UNPHYSICAL:
        link, excess = UNPHYSICAL[name]
        with pytest.raises(InertiaError, match=f"link '{link}'.*triangle inequality.*inertia_check='warn'") as caught:
            read_urdf(path)
        low, middle, high = caught.value.value
        assert caught.value.name == link
        assert (high - low - middle) / high == pytest.approx(excess, rel=5e-3)
    else:
        description = read_urdf(path)
        assert len(description.joints) == len(description.links) - 1
    out, err = capfd.readouterr()
    assert out == err == ""  # the parser's complaints about extensions do not reach the user


@pytest.mark.parametrize("name", FILES)
def test_agrees_with_pinocchio(name):
    pin = pytest.importorskip("pinocchio")
    if name in (DANGLING_MIMIC, EMPTY):
        pytest.skip("nothing to compare: no robot in it, or not read at all")
    description = read_any(name)
    model = pin.buildModelFromUrdf(str(folder() / name), pin.JointModelFreeFlyer())
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


@pytest.mark.parametrize(
    "name", ["anymal_b_simple_description/robots/anymal.urdf", "hyq_description/robots/hyq_no_sensors.urdf"]
)
def test_placeholder_inertias_on_a_trunk_are_accepted_with_a_remark(name):
    if not urdf_files():
        pytest.skip(REASON)
    remarks = read_urdf(folder() / name).remarks
    assert any("'base" in remark and "too small to matter" in remark for remark in remarks)
