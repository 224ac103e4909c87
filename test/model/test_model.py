"""The Model: names, immutability, pickling, and the changed copies that its with_... methods return."""

import copy
import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.compare import relative
from support.sample_trees import branched, to_model, zoo

from lie_dynamics_ros import lie_dynamics as ld

TREE = branched(np.random.default_rng(2), ["free", "revolute", "fixed", "spherical", "prismatic"], [None, 0, 1, 2, 2])
MODEL = to_model(TREE)


def motion(model, rng):
    return model.random(rng), *rng.normal(size=(2, model.nv))


def arm(payload="", hand="0 0 0.1"):
    return f"""
    <robot name="arm">
      <link name="base"/>
      <link name="upper"><inertial><origin xyz="0 0 0.2" rpy="0.1 0.2 0.3"/><mass value="3"/>
        <inertia ixx="0.04" iyy="0.05" izz="0.02" ixy="0.001" ixz="0" iyz="0.002"/></inertial></link>
      <link name="lower"><inertial><origin xyz="0.01 0 0.15"/><mass value="2"/>
        <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="hand"/>{payload}
      <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
        <limit lower="-2" upper="2" velocity="3" effort="80"/><dynamics damping="0.7" friction="1.5"/></joint>
      <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.4"/>
        <axis xyz="1 0 0"/><limit lower="-1" upper="2.5" velocity="4" effort="40"/><dynamics damping="0.2"/></joint>
      <joint name="wrist" type="fixed">
        <parent link="lower"/><child link="hand"/><origin xyz="{hand}" rpy="0.4 0.5 0.6"/></joint>
    </robot>"""


# -- names ------------------------------------------------------------------------------------------------------------


def test_joints_and_bodies():
    assert (MODEL.nq, MODEL.nv, MODEL.n_bodies) == (7 + 1 + 4 + 1, 6 + 1 + 3 + 1, 4)
    assert MODEL.body_names == ("free 0", "revolute 1", "spherical 3", "prismatic 4")
    assert MODEL.joint_names == tuple(f"joint {name}" for name in MODEL.body_names)
    assert set(MODEL.frame_names) == {"world", "fixed 2", *MODEL.body_names}
    joint = MODEL.joint("joint spherical 3")
    assert (joint.kind, joint.body, joint.parent_body) == ("spherical", "spherical 3", "revolute 1")
    assert (joint.q_slice, joint.v_slice) == (slice(8, 12), slice(7, 10))
    assert MODEL.joint("joint free 0").parent_body == "world"
    assert [MODEL.joints[i].index for i in range(4)] == [0, 1, 2, 3]
    assert MODEL.frame("fixed 2").body == 1
    assert MODEL.frame(3).name == "prismatic 4"
    assert MODEL.frame("world").body == -1
    assert "4 bodies" in repr(MODEL)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ld.InputError, match=r"no joint 'elbow'.*joint prismatic 4"):
        MODEL.joint("elbow")
    with pytest.raises(ld.InputError, match=r"no body or frame 'hand'.*fixed 2"):
        MODEL.frame("hand")
    for index in (-1, 4):
        with pytest.raises(ld.InputError, match=rf"no body {index} .*0 to 3"):
            MODEL.frame(index)


def test_limits_of_a_urdf():
    model = ld.Model.from_urdf(arm())
    limits = model.limits
    assert (limits.lower.tolist(), limits.upper.tolist()) == ([-2, -1], [2, 2.5])
    assert (limits.velocity.tolist(), limits.effort.tolist()) == ([3, 4], [80, 40])
    assert (limits.damping.tolist(), limits.friction.tolist()) == ([0.7, 0.2], [1.5, 0])
    assert limits.armature.tolist() == [0, 0]
    assert (model.gravity == [0, 0, -9.81]).all()


# -- immutability -----------------------------------------------------------------------------------------------------


def test_a_model_does_not_change():
    with pytest.raises(AttributeError, match="does not change"):
        MODEL.nq = 3
    with pytest.raises(AttributeError, match="does not change"):
        MODEL.anything = 3
    for array in (MODEL.limits.lower, MODEL.limits.damping, MODEL.frame("fixed 2").placement):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
    with pytest.raises(TypeError):
        MODEL.frames["new"] = MODEL.frame("world")
    MODEL.gravity[2] = 0.0  # a copy
    assert MODEL.gravity[2] == -9.81
    inertia = MODEL.inertia("free 0")
    with pytest.raises(ValueError, match="read-only"):
        inertia.com[0] = 1.0


def test_the_builders_arrays_are_copied():
    placement, lower = np.eye(4), np.array([-1.0])
    builder = ld.ModelBuilder().add("a", joint=ld.joint_types.revolute(), placement=placement, lower=lower)
    builder.add("tip", "a", placement=placement, inertia=ld.SpatialInertia(1.0, [1, 0, 0], np.eye(3)))
    model = builder.build()
    before = ld.inverse_dynamics(model, [0.3], [0], [1])
    placement[0, 3], lower[0] = 5.0, 7.0
    builder.add("more", "a", ld.joint_types.revolute(), inertia=ld.SpatialInertia(1.0, [1, 0, 0], np.eye(3)))
    assert (ld.inverse_dynamics(model, [0.3], [0], [1]) == before).all()
    assert model.limits.lower[0] == -1.0
    assert model.frame_names == ("world", "a", "tip")


COPIES = {"pickle": lambda model: pickle.loads(pickle.dumps(model)), "copy": copy.copy, "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("how", COPIES.values(), ids=COPIES)
def test_copies(how, rng):
    model = MODEL.with_gravity([1.0, 2.0, 3.0]).with_joint_terms(damping=True, armature=True)
    twin = how(model)
    state = motion(model, rng)
    assert (ld.inverse_dynamics(twin, *state) == ld.inverse_dynamics(model, *state)).all()
    assert twin.joint_names == model.joint_names
    assert twin.frame_names == model.frame_names
    assert (twin.gravity == model.gravity).all()
    with pytest.raises(ValueError, match="read-only"):
        twin.limits.lower[...] = 0.0


# -- payload, inertia, gravity ----------------------------------------------------------------------------------------

COM, BOX = [0.02, -0.03, 0.06], np.diag([0.004, 0.005, 0.006])


def test_a_payload_is_a_welded_link(rng):
    """On a body and on a frame, against the same mass in the URDF."""
    for at in ("lower", "hand"):
        link = f"""
        <link name="load"><inertial><origin xyz="{COM[0]} {COM[1]} {COM[2]}"/><mass value="1.5"/>
          <inertia ixx="0.004" iyy="0.005" izz="0.006" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="grip" type="fixed"><parent link="{at}"/><child link="load"/></joint>"""
        welded, loaded = ld.Model.from_urdf(arm(link)), ld.Model.from_urdf(arm()).with_payload(at, 1.5, COM, BOX)
        state = motion(welded, rng)
        assert relative(ld.inverse_dynamics(loaded, *state), ld.inverse_dynamics(welded, *state)) < 1e-13
        assert relative(ld.mass_matrix(loaded, state[0]), ld.mass_matrix(welded, state[0])) < 1e-13
        assert abs(ld.total_mass(loaded) - 6.5) < 1e-14


def test_payloads_add_up_and_come_off(rng):
    model = ld.Model.from_urdf(arm())
    state = motion(model, rng)
    before = ld.inverse_dynamics(model, *state)
    twice = model.with_payload("hand", 0.7, COM).with_payload("hand", 0.7, COM)
    once = model.with_payload("hand", 1.4, COM)
    assert relative(ld.inverse_dynamics(twice, *state), ld.inverse_dynamics(once, *state)) < 1e-13
    assert relative(ld.inverse_dynamics(model.with_payload("hand", 0.0, COM), *state), before) < 1e-14
    assert (ld.inverse_dynamics(model, *state) == before).all()
    assert twice.frames is model.frames  # structure is shared
    assert twice.joints is model.joints


def test_unphysical_payloads_are_refused():
    model = ld.Model.from_urdf(arm())
    with pytest.raises(ld.InertiaError, match=r"payload on hand: mass -1 kg is negative"):
        model.with_payload("hand", -1.0, COM)
    with pytest.raises(ld.InertiaError, match=r"payload on hand: principal moments .* triangle inequality"):
        model.with_payload("hand", 1.0, COM, np.diag([1.0, 1.0, 3.0]))
    with pytest.raises(ld.InertiaError, match=r"payload on hand: .* negative"):
        model.with_payload("hand", 1.0, COM, np.diag([1.0, 1.0, -0.1]))
    with pytest.raises(ld.InertiaError, match="symmetric"):
        model.with_payload("hand", 1.0, COM, [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]])
    for bad in ((np.nan, COM, BOX), (1.0, [0, 0], BOX), (1.0, [0, 0, np.inf], BOX), (1.0, COM, np.eye(2))):
        with pytest.raises(ld.InputError):
            model.with_payload("hand", *bad)
    with pytest.raises(ld.InputError, match="fixed to the world"):
        model.with_payload("base", 1.0, COM)
    with pytest.raises(ld.InputError, match="no body or frame 'gripper'"):
        model.with_payload("gripper", 1.0, COM)


def test_inertia_can_be_read_and_replaced(rng):
    for tree in (TREE, zoo(rng)):
        model = to_model(tree)
        state = motion(model, rng)
        for name in model.body_names:
            again = model.with_inertia(name, model.inertia(name))
            assert relative(ld.inverse_dynamics(again, *state), ld.inverse_dynamics(model, *state)) < 1e-12
    body = next(b for b in TREE.bodies if b.name == "prismatic 4")
    given = MODEL.inertia("prismatic 4")
    assert abs(given.mass - body.mass) < 1e-15
    assert relative(given.com, body.com) < 1e-13
    assert relative(given.inertia, body.inertia) < 1e-12
    other = ld.SpatialInertia(7.0, [0.1, 0.2, 0.3], np.eye(3))
    assert abs(MODEL.with_inertia("prismatic 4", other).inertia("prismatic 4").mass - 7.0) < 1e-14
    with pytest.raises(ld.InertiaError, match=r"prismatic 4: mass -1"):
        MODEL.with_inertia("prismatic 4", ld.SpatialInertia(-1.0, [0, 0, 0], np.eye(3)))
    with pytest.raises(ld.InputError, match="fixed to the world"):
        MODEL.with_inertia("world", other)


def test_gravity(rng):
    q, qd, qdd = motion(MODEL, rng)
    down, up = (ld.inverse_dynamics(MODEL.with_gravity(g), q, qd, qdd) for g in ([0, 0, -9.81], [0, 0, 9.81]))
    none = ld.inverse_dynamics(MODEL.with_gravity([0, 0, 0]), q, qd, qdd)
    assert relative(down + up, 2 * none) < 1e-12
    assert (down == ld.inverse_dynamics(MODEL, q, qd, qdd)).all()
    moon = ld.inverse_dynamics(MODEL.with_gravity([0, 0, -1.62]), q, qd, qdd)
    assert relative(moon - none, (down - none) * 1.62 / 9.81) < 1e-11
    for bad in ([0, 0], 9.81, [0, 0, np.nan], "down", None):
        with pytest.raises(ld.InputError, match=r"gravity: three finite numbers"):
            MODEL.with_gravity(bad)
        with pytest.raises(ld.InputError, match=r"gravity: three finite numbers"):
            ld.ModelBuilder(gravity=bad).build()


# -- losses and armature ----------------------------------------------------------------------------------------------


def test_joints_can_have_a_prefix(rng):
    text = arm().replace(
        "</robot>",
        """<link name="finger"/><joint name="finger" type="revolute"><parent link="hand"/>
      <child link="finger"/><mimic joint="shoulder" multiplier="2"/></joint></robot>""",
    )
    model = ld.Model.from_urdf(text, base_link="base")
    named = model.with_joint_prefix("left_")
    assert named.joint_names == tuple(f"left_{name}" for name in model.joint_names)
    assert named.frame_names == model.frame_names and named.joint("left_finger").mimic == ("left_shoulder", 2.0, 0.0)
    assert "shoulder" in model.joint_names and pickle.loads(pickle.dumps(named)).joint_names == named.joint_names
    state = motion(model, rng)
    np.testing.assert_array_equal(ld.inverse_dynamics(named, *state), ld.inverse_dynamics(model, *state))
    assert named.with_coupled_mimics().nv == model.nv - 1
    with pytest.raises(ld.InputError, match="prefix: a text is expected, got 3"):
        model.with_joint_prefix(3)


def test_joint_terms_are_left_out_unless_asked_for(rng):
    model = ld.Model.from_urdf(arm())
    q, qd, qdd = motion(model, rng)
    bare = ld.inverse_dynamics(model, q, qd, qdd)
    damped, both = model.with_joint_terms(damping=True), model.with_joint_terms(damping=True, friction=True)
    assert relative(ld.inverse_dynamics(damped, q, qd, qdd) - bare, [0.7 * qd[0], 0.2 * qd[1]]) < 1e-12
    with_friction = [0.7 * qd[0] + 1.5 * np.sign(qd[0]), 0.2 * qd[1]]
    assert relative(ld.inverse_dynamics(both, q, qd, qdd) - bare, with_friction) < 1e-12
    assert (
        ld.inverse_dynamics(both, q, 0 * qd, qdd) == ld.inverse_dynamics(model, q, 0 * qd, qdd)
    ).all()  # none at rest
    assert (ld.inverse_dynamics(both.with_joint_terms(), q, qd, qdd) == bare).all()
    assert relative(ld.mass_matrix(both, q), ld.mass_matrix(model, q)) == 0.0


def test_armature(rng):
    tree = branched(rng, ["revolute", "universal", "prismatic"], [None, 0, 1])
    builder, sizes = ld.ModelBuilder(), [0.3, [0.1, 0.2], 4.0]
    for b, armature in zip(tree.bodies, sizes, strict=True):
        inertia = ld.SpatialInertia(b.mass, b.com, b.inertia)
        builder.add(b.name, b.parent, b.joint_type, b.placement, inertia, armature=armature)
    model = builder.build()
    q, qd, qdd = motion(model, rng)
    rotors = model.with_joint_terms(armature=True)
    added = np.array([0.3, 0.1, 0.2, 4.0]) * qdd
    assert relative(ld.inverse_dynamics(rotors, q, qd, qdd), tree.inverse_dynamics(q, qd, qdd) + added) < 1e-12
    M = tree.mass_matrix(q) + np.diag([0.3, 0.1, 0.2, 4.0])
    assert relative(ld.mass_matrix(rotors, q), M) < 1e-13
    expected = np.linalg.solve(M, qdd - tree.bias_force(q, qd))
    assert relative(ld.forward_dynamics(rotors, q, qd, qdd), expected) < 1e-12


def test_other_rotors(rng):
    tree = branched(rng, ["revolute", "universal"], [None, 0])
    model, sizes = to_model(tree), np.array([0.3, 0.1, 0.2])
    found = model.with_armature(sizes)
    q, qd, qdd = motion(model, rng)
    assert (
        relative(ld.inverse_dynamics(found, q, qd, qdd), ld.inverse_dynamics(model, q, qd, qdd) + sizes * qdd) < 1e-12
    )
    assert found.limits.armature.tolist() == sizes.tolist() and not model.limits.armature.any()
    for bad in ([0.1], [-1.0, 0.0, 0.0], [np.nan, 0.0, 0.0], "no"):
        with pytest.raises(ld.InputError, match="armature"):
            model.with_armature(bad)


def test_losses_in_every_algorithm(rng):
    """Inverse, forward and hybrid dynamics with losses agree, single and in a batch."""
    model = ld.Model.from_urdf(arm()).with_joint_terms(damping=True, friction=True)
    q = np.array([model.random(rng) for _ in range(10)])
    qd, qdd = rng.normal(size=(2, 10, 2))
    tau = ld.inverse_dynamics(model, q, qd, qdd)
    assert relative(ld.forward_dynamics(model, q, qd, tau), qdd) < 1e-12
    mask = np.array([True, False])
    a, t = ld.hybrid_dynamics(model, q, qd, np.where(mask, qdd, 5.0), np.where(mask, 5.0, tau), mask)
    assert relative(a, qdd) < 1e-12
    assert relative(t, tau) < 1e-12
    for k in range(10):
        assert relative(ld.inverse_dynamics(model, q[k], qd[k], qdd[k]), tau[k]) < 1e-13
        assert relative(ld.forward_dynamics(model, q[k], qd[k], tau[k]), qdd[k]) < 1e-12


def test_bad_input_of_a_model_with_losses():
    model = ld.Model.from_urdf(arm()).with_joint_terms(damping=True)
    for function in (ld.inverse_dynamics, ld.forward_dynamics):
        for k, name in ((1, "qd"), (2, "qdd" if function is ld.inverse_dynamics else "tau")):
            for bad in ([1.0], [1.0, 2.0, 3.0], "abc", [np.nan, 0.0]):
                arguments = [[0.0, 0.0]] * 3
                arguments[k] = bad
                with pytest.raises(ld.InputError, match=rf"^{name}: "):
                    function(model, *arguments)


# -- no joints --------------------------------------------------------------------------------------------------------


def test_a_robot_that_cannot_move():
    model = ld.Model.from_urdf('<robot name="stone"><link name="base"/></robot>')
    assert (model.nq, model.nv, model.n_bodies, model.joint_names) == (0, 0, 0, ())
    for batch in ((), (3,)):
        zero = np.zeros((*batch, 0))
        assert ld.inverse_dynamics(model, zero, zero, zero).shape == (*batch, 0)
        assert ld.forward_dynamics(model, zero, zero, zero).shape == (*batch, 0)
        assert ld.mass_matrix(model, zero).shape == (*batch, 0, 0)


def test_floating_base(rng):
    fixed, floating = ld.Model.from_urdf(arm()), ld.Model.from_urdf(arm(), floating_base=True)
    joint = floating.joint("root_joint")
    assert (joint.kind, joint.body, joint.parent_body) == ("free", "base", "world")
    assert (floating.nq, floating.nv) == (7 + fixed.nq, 6 + fixed.nv)
    q, qd, qdd = motion(fixed, rng)
    base = [0, 0, 0, 1, 0, 0, 0], np.zeros(6), np.zeros(6)
    rest = [np.concatenate(pair) for pair in zip(base, (q, qd, qdd), strict=True)]
    assert relative(ld.inverse_dynamics(floating, *rest)[6:], ld.inverse_dynamics(fixed, q, qd, qdd)) < 1e-13
    turned = rest[0].copy()
    turned[:4] = Rotation.from_rotvec([0.3, 0.4, 0.5]).as_quat()
    weight = ld.inverse_dynamics(floating, turned, 0 * rest[1], 0 * rest[1])[3:6]
    assert abs(np.linalg.norm(weight) - 9.81 * ld.total_mass(floating)) < 1e-12
    assert relative(ld.center_of_mass(floating, rest[0]), ld.center_of_mass(fixed, q)) < 1e-13
