"""What must not matter: where the base stands, what things are called, in which frame a body is written."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.compare import relative
from support.dense import Body, Tree
from support.motions import Screws, inverse
from support.sample_trees import around, body, branched, chain, to_model, zoo

from lie_dynamics_ros import lie_dynamics as ld


def random_pose(rng):
    T = np.eye(4)
    T[:3, :3] = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
    T[:3, 3] = rng.normal(size=3)
    return T


def sample(tree, rng):
    return tree.random(rng), *rng.normal(size=(2, tree.nv))


def test_moving_the_base(rng):
    """Base and gravity turned together, base shifted: the same torques; poses move along."""
    tree, B = zoo(rng), random_pose(rng)
    moved = Tree(
        [
            Body(b.name, b.parent, b.placement if b.parent else B @ b.placement, *list(vars(b).values())[3:])
            for b in tree.bodies
        ],
        B[:3, :3] @ tree.gravity,
    )
    here, there = to_model(tree), to_model(moved)
    q, qd, qdd = sample(tree, rng)
    assert relative(ld.inverse_dynamics(there, q, qd, qdd), ld.inverse_dynamics(here, q, qd, qdd)) < 1e-12
    assert relative(ld.mass_matrix(there, q), ld.mass_matrix(here, q)) < 1e-12
    assert relative(ld.forward_kinematics(there, q), B @ ld.forward_kinematics(here, q)) < 1e-13
    assert relative(ld.momentum(there, q, qd)[3:], B[:3, :3] @ ld.momentum(here, q, qd)[3:]) < 1e-12


def test_a_floating_robot_far_away_loses_no_digits(rng):
    """Only the pose of the base differs: by 10^6 m."""
    tree = branched(rng, ["free", "revolute", "universal", "spherical"], [None, 0, 1, 0])
    model = to_model(tree)
    q, qd, qdd = sample(tree, rng)
    far = q.copy()
    far[4:7] += [1e6, -2e6, 3e6]
    for function in (lambda x: ld.inverse_dynamics(model, x, qd, qdd), lambda x: ld.mass_matrix(model, x)):
        assert relative(function(far), function(q)) < 1e-12


def test_names_and_order_of_siblings_do_not_matter(rng):
    """The same tree, its branches added in another order under other names: coordinates permute, nothing else."""
    bodies = [body(rng, name, None, "revolute") for name in ("trunk", "arm", "leg", "tail")]
    for b in bodies[1:]:
        b.parent = "trunk"
    orders = ([0, 1, 2, 3], [0, 3, 1, 2])
    names = ({b.name: b.name for b in bodies}, {"trunk": "z", "arm": "b", "leg": "a", "tail": "0"})
    state = rng.normal(size=(3, 4))
    found = []
    for order, name in zip(orders, names, strict=True):
        tree = Tree(
            [Body(name[bodies[k].name], name.get(bodies[k].parent), *list(vars(bodies[k]).values())[2:]) for k in order]
        )
        tau = ld.inverse_dynamics(to_model(tree), *state[:, order])
        found.append(tau[np.argsort(order)])
    assert relative(found[0], found[1]) < 1e-13


def test_another_frame_on_the_same_body(rng):
    """A joint axis and inertia written in a turned body frame: the same torques, wrenches turned along."""
    tree = chain(rng, ["revolute", "universal", "prismatic", "planar"])
    R = random_pose(rng)
    R[:3, 3] = 0.0
    r = R[:3, :3]
    bodies, before = [], np.eye(4)
    for b in tree.bodies:
        turned = Screws(*[[*(r.T @ x[:3]), *(r.T @ x[3:])] for x in b.motion.twists])
        parts = [
            ld.joint_types.revolute(x[:3]) if x[:3].any() else ld.joint_types.prismatic(x[3:]) for x in turned.twists
        ]
        placement, inertia = inverse(before) @ b.placement @ R, r.T @ b.inertia @ r
        bodies.append(
            Body(b.name, b.parent, placement, turned, b.mass, r.T @ b.com, inertia, ld.joint_types.composite(*parts))
        )
        before = R
    q, qd, qdd = sample(tree, rng)
    f = rng.normal(size=(4, 6))
    turned_f = f @ np.kron(np.eye(2), r)
    one, other = to_model(tree), to_model(Tree(bodies))
    assert relative(ld.inverse_dynamics(one, q, qd, qdd, f), ld.inverse_dynamics(other, q, qd, qdd, turned_f)) < 1e-12
    assert relative(ld.jacobian(one, q, 3, "aligned"), ld.jacobian(other, q, 3, "aligned")) < 1e-12
    given = rng.random(tree.nv) < 0.5
    for a, b in zip(
        ld.hybrid_dynamics(one, q, qd, qdd, qdd, given), ld.hybrid_dynamics(other, q, qd, qdd, qdd, given), strict=True
    ):
        assert relative(a, b) < 1e-11


def test_reversing_an_axis(rng):
    tree = branched(rng, ["revolute", "prismatic", "revolute"], [None, 0, 1])
    sign = np.array([-1.0, 1.0, -1.0])
    flipped = []
    for b, s in zip(tree.bodies, sign, strict=True):
        x = s * b.motion.twists[0]
        kind = ld.joint_types.revolute(x[:3]) if x[:3].any() else ld.joint_types.prismatic(x[3:])
        flipped.append(Body(b.name, b.parent, b.placement, Screws(x), b.mass, b.com, b.inertia, kind))
    one, other = to_model(tree), to_model(Tree(flipped))
    q, qd, qdd = rng.normal(size=(3, 3))
    expected = sign * ld.inverse_dynamics(one, q, qd, qdd)
    assert relative(ld.inverse_dynamics(other, sign * q, sign * qd, sign * qdd), expected) < 1e-13


def test_a_chain_taken_from_its_other_end(rng):
    """A free-floating chain, re-rooted at its last body: the same joint accelerations from the same joint torques."""
    kinds = ["revolute", "revolute", "prismatic", "revolute"]
    tree = branched(rng, ["free", *kinds], [None, 0, 1, 2, 3])
    there = [b.placement for b in tree.bodies]
    last = tree.bodies[-1]
    backwards = [Body(last.name, None, np.eye(4), tree.bodies[0].motion, last.mass, last.com, last.inertia)]
    backwards[0].joint_type = ld.joint_types.free()
    for k in range(len(kinds), 0, -1):
        # From body k to body k-1: exp(-S q) placement^-1. The joint sits at body k's frame, so the child's frame is
        # not at the joint: the body k-1 is welded on by a fixed placement.
        b, below = tree.bodies[k], tree.bodies[k - 1]
        x = -b.motion.twists[0]
        kind = ld.joint_types.revolute(x[:3]) if x[:3].any() else ld.joint_types.prismatic(x[3:])
        parent = backwards[-1].name
        backwards.append(Body(f"joint {k}", parent, np.eye(4), Screws(x), joint_type=kind))
        backwards.append(
            Body(below.name, f"joint {k}", inverse(there[k]), Screws(), below.mass, below.com, below.inertia)
        )
        backwards[-1].joint_type = ld.joint_types.fixed()
    one, other = to_model(tree), to_model(Tree(backwards))
    q, qd, tau = one.random(rng), rng.normal(size=one.nv), rng.normal(size=one.nv)
    tau[:6] = 0.0
    qdd = ld.forward_dynamics(one, q, qd, tau)

    T = ld.forward_kinematics(one, q)[-1]
    V = ld.jacobian(one, q, one.n_bodies - 1) @ qd
    joints = slice(None, None, -1)
    q2 = np.concatenate([Rotation.from_matrix(T[:3, :3]).as_quat(), T[:3, 3], q[7:][joints]])
    qd2, tau2 = np.concatenate([V, qd[6:][joints]]), np.concatenate([np.zeros(6), tau[6:][joints]])
    assert relative(ld.forward_dynamics(other, q2, qd2, tau2)[6:], qdd[6:][joints]) < 1e-11
    assert relative(ld.momentum(other, q2, qd2), ld.momentum(one, q, qd)) < 1e-12


def test_external_wrench_helper(rng):
    """A wrench on a frame does J^T F at the joints, whatever frame it is given in."""
    tree = around(rng, "fixed")
    model = to_model(tree)
    q, qd = tree.random(rng), rng.normal(size=tree.nv)
    for at in (tree.moving[-1], "fixed 3"):
        for frame in ("body", "world", "aligned"):
            F = rng.normal(size=6)
            f_ext = ld.external_wrench(model, q, at, F, frame)
            effect = ld.bias_force(model, q, qd) - ld.inverse_dynamics(model, q, qd, np.zeros(tree.nv), f_ext)
            assert relative(effect, ld.jacobian(model, q, at, frame).T @ F) < 1e-12
            many = ld.external_wrench(model, [q, q], at, [F, 2 * F], frame)
            assert relative(many, [f_ext, 2 * f_ext]) < 1e-14


@pytest.mark.parametrize("tip", [0.0, np.pi / 2, -0.3])
def test_weight_on_a_hook(tip):
    """2 kg at the end of a 0.5 m rod: m g l cos(angle), by hand."""
    urdf = """
    <robot name="rod"><link name="base"/><link name="rod"/><link name="hook"/>
      <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 -1 0"/></joint>
      <joint name="weld" type="fixed">
        <parent link="rod"/><child link="hook"/><origin xyz="0.5 0 0" rpy="1 2 3"/>
      </joint>
    </robot>"""
    model = ld.Model.from_urdf(urdf)
    f_ext = ld.external_wrench(model, [tip], "hook", [0, 0, 0, 0, 0, -2 * 9.81])
    expected = 2 * 9.81 * 0.5 * np.cos(tip)
    assert abs(ld.inverse_dynamics(model, [tip], [0], [0], f_ext)[0] - expected) < 1e-14
    payload = model.with_payload("hook", 2.0, [0, 0, 0])
    assert abs(ld.inverse_dynamics(payload, [tip], [0], [0])[0] - expected) < 1e-14
