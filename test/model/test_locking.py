"""Locked joints: against Pinocchio's reduced models, and what is refused."""

import numpy as np
import pytest
from support import arms

from lie_dynamics_ros.lie_dynamics import Model, bias_force, forward_kinematics, inverse_dynamics, mass_matrix
from lie_dynamics_ros.lie_dynamics.errors import DescriptionError, InputError

pin = pytest.importorskip("pinocchio", reason="the oracle, pin, is not installed")

TWO = """
<robot name="two">
  <link name="world_link"/>
  <link name="torso">{mass}</link><link name="arm_a">{mass}</link><link name="hand_a">{mass}</link>
  <link name="arm_b">{mass}</link><link name="finger_1">{mass}</link><link name="finger_2">{mass}</link>
  <joint name="turn" type="continuous"><parent link="world_link"/><child link="torso"/><axis xyz="0 1 0"/></joint>
  <joint name="a" type="revolute"><parent link="torso"/><child link="arm_a"/><origin xyz="0.3 0 0.2" rpy="0.1 0.2 0.3"/>
    <axis xyz="1 2 2"/><limit lower="0.2" upper="2" velocity="1" effort="1"/></joint>
  <joint name="slide" type="prismatic"><parent link="arm_a"/><child link="hand_a"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
  <joint name="b" type="revolute"><parent link="torso"/><child link="arm_b"/><origin xyz="-0.3 0 0.2"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" velocity="1" effort="1"/></joint>
  <joint name="f1" type="prismatic"><parent link="arm_b"/><child link="finger_1"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
  <joint name="f2" type="prismatic"><parent link="arm_b"/><child link="finger_2"/><axis xyz="-1 0 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/><mimic joint="f1" multiplier="2" offset="0.1"/></joint>
</robot>
""".format(
    mass='<inertial><origin xyz="0.1 0.02 0.3"/><mass value="1.5"/>'
    '<inertia ixx="0.03" ixy="0.001" ixz="0" iyy="0.02" iyz="0.002" izz="0.04"/></inertial>'
)


def judge(text, model, positions, rng):
    """Hold a model against Pinocchio's, reduced where joints are locked at positions by name."""
    whole = pin.buildModelFromXML(text)
    q = pin.neutral(whole)

    def put(q, of, name, value):
        joint = of.joints[of.getJointId(name)]
        q[joint.idx_q : joint.idx_q + joint.nq] = (np.cos(value), np.sin(value)) if joint.nq == 2 else value

    for name, value in positions.items():
        put(q, whole, name, value)
    reduced = pin.buildReducedModel(whole, [whole.getJointId(name) for name in positions], q)
    assert set(model.joint_names) == set(reduced.names[1:])
    values, speeds, accelerations = rng.uniform(-1, 1, (3, model.nv))
    there = pin.neutral(reduced), np.zeros(reduced.nv), np.zeros(reduced.nv)
    place = [reduced.joints[reduced.getJointId(name)].idx_v for name in model.joint_names]
    for name, value in zip(model.joint_names, values, strict=True):
        put(there[0], reduced, name, value)
    there[1][place], there[2][place] = speeds, accelerations
    data = reduced.createData()
    expected = pin.rnea(reduced, data, *there)[place]
    np.testing.assert_allclose(inverse_dynamics(model, values, speeds, accelerations), expected, atol=1e-12)
    M = pin.crba(reduced, data, there[0])
    np.testing.assert_allclose(mass_matrix(model, values), M[np.ix_(place, place)], atol=1e-12)


def test_locked_joints_are_those_of_a_reduced_model(rng):
    for positions in ({"slide": 0.4}, {"turn": 2.0, "a": 0.7}, {"b": -1.1, "slide": -0.2}):
        judge(TWO, Model.from_urdf(TWO, locked=positions), positions, rng)
    followers = {"f1": 0.2, "f2": 0.5}
    judge(TWO, Model.from_urdf(TWO, locked={"f1": 0.2}), followers, rng)
    judge(TWO, Model.from_urdf(TWO, locked={"f1": 0.2, "f2": 0.3}), {"f1": 0.2, "f2": 0.3}, rng)


def test_below_a_link_only_its_joints_move(rng):
    model = Model.from_urdf(TWO, base_link="arm_b", locked={"turn": 0.8})
    assert model.joint_names == ("f1", "f2")
    judge(TWO, model, {"turn": 0.8, "a": 0.2, "slide": 0.0, "b": 0.0}, rng)  # zero, or the nearest limit
    assert Model.from_urdf(TWO, base_link="torso").joint_names == ("a", "slide", "b", "f1", "f2")
    whole = Model.from_urdf(TWO)
    assert Model.from_urdf(TWO, base_link="world_link").joint_names == whole.joint_names
    # Gravity and the world remain those of the whole robot.
    q = np.zeros(whole.nv)
    q[whole.joint_names.index("turn")], q[whole.joint_names.index("a")] = 0.8, 0.2
    bodies = [whole.body_names.index(name) for name in model.body_names]
    poses = forward_kinematics(whole, q)[bodies]
    np.testing.assert_allclose(forward_kinematics(model, np.zeros(2)), poses, atol=1e-14)
    zero = np.zeros(2)
    forces = bias_force(whole, q, np.zeros(whole.nv))[[whole.joint_names.index(name) for name in model.joint_names]]
    np.testing.assert_allclose(bias_force(model, zero, zero), forces, atol=1e-12)


def test_what_carries_a_link_moves_where_that_is_asked_for(rng):
    def carried(text=TWO, **how):
        return Model.from_urdf(text, base_link="arm_b", with_carriers=True, **how)

    assert carried().joint_names == ("turn", "b", "f1", "f2")
    judge(TWO, carried(), {"a": 0.2, "slide": 0.0}, rng)
    judge(TWO, carried(locked={"turn": 0.8}), {"turn": 0.8, "a": 0.2, "slide": 0.0}, rng)
    assert Model.from_urdf(TWO, base_link="world_link", with_carriers=True).nv == Model.from_urdf(TWO).nv
    # It follows a joint that was locked by name, not one that is locked because it lies elsewhere.
    mimic = '<limit lower="-2" upper="2" velocity="1" effort="1"/><mimic joint="slide"/></joint>'
    text = TWO.replace('<limit lower="-2" upper="2" velocity="1" effort="1"/></joint>', mimic)
    assert text != TWO
    assert carried(text).joint_names == ("turn", "b", "f1", "f2")
    assert carried(text, locked={"slide": 0.4}).joint_names == ("turn", "f1", "f2")
    floating = carried(floating_base=True)
    assert floating.joint_names == ("root_joint", "turn", "b", "f1", "f2")


def test_the_panda_without_its_fingers(rng):
    text = arms.load("panda").text
    fingers = {"panda_finger_joint1": 0.02, "panda_finger_joint2": 0.03}
    judge(text, Model.from_urdf(text, locked=fingers), fingers, rng)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"locked": {"nobody": 0.0}}, "'nobody'.*no such joint; there are turn, a, slide"),
        ({"locked": {"a": 3.0}}, "'a' is to be locked at 3; its limits are 0.2 and 2"),
        ({"locked": {"a": np.nan}}, "'a' is to be locked at nan"),
        ({"locked": {"a": None}}, "'a' is to be locked at nan"),
        ({"base_link": "nowhere"}, "no link 'nowhere'; there are world_link, torso"),
    ],
)
def test_what_cannot_be_locked_is_refused(how, message):
    with pytest.raises(DescriptionError, match=message):
        Model.from_urdf(TWO, **how)
    text = TWO.replace('name="turn" type="continuous"', 'name="turn" type="planar"')
    with pytest.raises(DescriptionError, match="a planar joint cannot be"):
        Model.from_urdf(text, locked={"turn": 0.0})


@pytest.mark.parametrize(
    "locked", [{"turn": np.inf}, {"turn": 1e300}, {"a": "x"}, {"a": [0.5]}, {"a": True}, [("a", 0.5)], 3]
)
def test_what_is_no_position_is_refused_by_name(locked):
    with pytest.raises(InputError, match="locked"):
        Model.from_urdf(TWO, locked=locked)


def test_joints_that_follow_a_locked_one_to_infinity_are_refused():
    """Without an end to the search of positions, for which infinity times zero is never equal to itself."""
    joint = "<joint name='j{0}' type='revolute'><parent link='world_link'/><child link='l{0}'/>{1}</joint>"
    mimic = "<mimic joint='{}' multiplier='{}'/>"
    bound = "<limit lower='-1' upper='1' velocity='1' effort='1'/>"
    joints = [
        f"<link name='l{k}'/>"
        + joint.format(k, bound + mimic.format(f"j{k - 1}" if k else "f1", "0" if k == 9 else "1" + 45 * "0"))
        for k in range(10)
    ]
    text = TWO.replace("</robot>", "".join(joints) + "</robot>")
    assert Model.from_urdf(text).nv == 16
    with pytest.raises(DescriptionError, match="'j1' follows a locked one to 1e"):
        Model.from_urdf(text, locked={"f1": 1.0})
