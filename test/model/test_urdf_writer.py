"""Models written as URDF come back equal, and what URDF cannot hold is named."""

import numpy as np
import pytest
from support.compare import relative
from support.grids import every_run
from support.robots import PANDA, TALOS, all_robots, load

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.errors import DescriptionError
from lie_dynamics_ros.lie_dynamics.lie import se3, so3

UNREADABLE = {"ur_description/urdf/ur3.urdf"}
ROD = ld.SpatialInertia(1.0, [0.1, 0.2, 0.3], np.diag([0.2, 0.3, 0.25]))


def same(model, again, rng):
    """Compare by names, since the order of joints may differ."""
    assert sorted(model.joint_names) == sorted(again.joint_names)
    assert set(again.frame_names) - {"world"} == set(model.frame_names) - {"world"}
    q, there = model.random(rng), np.zeros(again.nq)
    rates, others = rng.normal(size=(2, model.nv)), np.zeros((2, again.nv))
    for joint in model.joints:
        other = again.joint(joint.name)
        assert (joint.body, joint.parent_body, joint.mimic) == (other.body, other.parent_body, other.mimic)
        there[other.q_slice], others[:, other.v_slice] = q[joint.q_slice], rates[:, joint.v_slice]
        for key in ("lower", "upper"):
            one, two = (getattr(m.limits, key)[j.q_slice] for m, j in ((model, joint), (again, other)))
            assert np.array_equal(one, two), (joint.name, key)
        for key in ("velocity", "effort", "acceleration", "deceleration", "jerk", "damping", "friction", "armature"):
            one, two = (getattr(m.limits, key)[j.v_slice] for m, j in ((model, joint), (again, other)))
            assert np.array_equal(one, two), (joint.name, key)
    tau, other_tau = ld.inverse_dynamics(model, q, *rates), ld.inverse_dynamics(again, there, *others)
    for joint in model.joints:
        theirs = other_tau[again.joint(joint.name).v_slice]
        assert np.abs(tau[joint.v_slice] - theirs).max() < 1e-13 * np.abs(tau).max()
    for frame in model.frame_names:
        assert relative(ld.frame_pose(again, there, frame), ld.frame_pose(model, q, frame)) < 1e-13, frame


WRITTEN = [*((name, False) for name in all_robots() if name not in UNREADABLE), (PANDA, True), (TALOS, True)]


@pytest.mark.parametrize(("name", "floating"), every_run([*WRITTEN[:-2:4], WRITTEN[-1]], WRITTEN))
def test_robots_come_back(name, floating, rng):
    model = load(name, floating)
    again = ld.Model.from_urdf(model.to_urdf(), inertia_check="ignore")
    if model.nv:
        same(model, again, rng)


def test_a_model_built_by_code_comes_back(rng):
    place = se3.exp(rng.normal(size=6))
    steep = se3.from_parts(so3.from_rpy([0.3, np.pi / 2, 0.0]), [1, 2, 3])  # where roll and yaw are not unique
    model = (
        ld.ModelBuilder()
        .add("b", joint=ld.joint_types.planar([1, 2, -3]), placement=place, inertia=ROD, damping=0.5, friction=0.1)
        .add("a", "b", ld.joint_types.prismatic([1, 1, 0]), steep, ROD, lower=-1, upper=np.inf, velocity=2, jerk=9.0)
        .add("tool", "a", placement=place)
        .add("hand", "tool", ld.joint_types.revolute([0, 1, 1]), place, ROD, lower=-1, upper=2, effort=3, armature=0.04)
        .add("massless", "hand", ld.joint_types.continuous([1, 0, 0]), mimic=("hand", -2.0, 0.3))
        .add("flag", None, placement=place)
        .build("odd")
    )
    same(model, ld.Model.from_urdf(model.to_urdf(), inertia_check="ignore"), rng)


@pytest.mark.parametrize(
    ("kind", "limits", "says"),
    [
        (ld.joint_types.spherical(), {}, "'x': is spherical"),
        (ld.joint_types.universal(), {}, "'x': is universal"),
        (ld.joint_types.cylindrical(), {}, "'x': is cylindrical"),
        (ld.joint_types.planar(), {"armature": [1, 2, 3]}, r"'x': has armature \[1.0, 2.0, 3.0\]"),
        (ld.joint_types.planar(), {"damping": [1, 2, 3]}, r"'x': has damping \[1.0, 2.0, 3.0\]"),
        (ld.joint_types.planar(), {"lower": [-1, -1, -1]}, "'x': is planar and has position limits"),
    ],
)
def test_what_urdf_cannot_hold_is_named(kind, limits, says):
    model = ld.ModelBuilder().add("x", joint=kind, inertia=ROD, **limits).build()
    with pytest.raises(DescriptionError, match=says):
        model.to_urdf()


def test_a_screw_is_a_hinge_and_a_slide_that_mimics_it(rng):
    place = se3.exp(rng.normal(size=6))
    screw = ld.joint_types.helical([1, 2, 2], -0.3)
    builder = ld.ModelBuilder().add("x", joint=screw, placement=place, inertia=ROD, lower=-1, upper=2)
    model = builder.add("y", "x", ld.joint_types.revolute([0, 1, 0]), place, ROD).build()
    again = ld.Model.from_urdf(model.to_urdf(), couple_mimics=True, inertia_check="ignore")
    q, qd, qdd = model.random(rng), *rng.normal(size=(2, 2))
    assert np.abs(ld.inverse_dynamics(model, q, qd, qdd) - ld.inverse_dynamics(again, q, qd, qdd)).max() < 1e-13
    assert np.abs(ld.frame_pose(model, q, "y") - ld.frame_pose(again, q, "y")).max() < 1e-14
    assert (again.limits.lower[0], again.limits.upper[0]) == (-1.0, 2.0)
    with pytest.raises(DescriptionError, match="'x_rise': the name is needed for a screw"):
        builder.add("flag", "y", ld.joint_types.revolute(), joint_name="x_rise").build().to_urdf()


def test_armature_can_be_left_out():
    model = ld.ModelBuilder().add("x", joint=ld.joint_types.revolute(), inertia=ROD, armature=0.1).build()
    assert not ld.Model.from_urdf(model.to_urdf(without_armature=True)).limits.armature.any()


def test_coupled_mimics_are_named():
    hand = (
        ld.ModelBuilder()
        .add("x", joint=ld.joint_types.revolute(), inertia=ROD)
        .add("y", "x", ld.joint_types.revolute(), inertia=ROD, mimic=("x", 1.0, 0.0))
        .build()
    )
    with pytest.raises(DescriptionError, match="'y': is coupled"):
        hand.with_coupled_mimics().to_urdf()
