"""Chains of a thousand bodies: no limit of recursion, and the answers of closed forms."""

import pickle

import numpy as np
from support.compare import relative
from support.dense import Tree
from support.sample_trees import body, to_model

from lie_dynamics_ros import lie_dynamics as ld

N = 1000


def rope(n, step=0.01, mass=0.01):
    """Point masses on massless rods, hinged in one plane."""
    builder, place = ld.ModelBuilder(), np.eye(4)
    for k in range(n):
        place[0, 3] = step if k else 0.0
        inertia = ld.SpatialInertia(mass, [step, 0, 0], np.zeros((3, 3)))
        builder.add(f"b{k}", f"b{k - 1}" if k else None, ld.joint_types.revolute([0, -1, 0]), place, inertia)
    return builder.build()


def test_static_torques_of_a_rope():
    """Held out straight: m g times the sum of the distances of what hangs beyond."""
    model = rope(N)
    q = np.zeros(N)
    k = np.arange(N)
    expected = 9.81 * 0.01 * 0.01 * (N - k) * (N - k + 1) / 2
    assert relative(ld.gravity_force(model, q), expected) < 1e-12
    assert relative(ld.gravity_force(model, [q, q])[1], expected) < 1e-12
    assert relative(ld.forward_kinematics(model, q)[-1, :3, 3], [0.01 * (N - 1), 0, 0]) < 1e-12
    assert relative(ld.jacobian(model, q, f"b{N - 1}")[1], -np.ones(N)) < 1e-12


def test_forward_and_inverse_dynamics():
    model, rng = rope(N), np.random.default_rng(0)
    q, qd = 0.05 * rng.normal(size=(2, N))
    qdd = rng.normal(size=N)
    tau = ld.inverse_dynamics(model, q, qd, qdd)
    M = ld.mass_matrix(model, q)
    back = ld.inverse_dynamics(model, q, qd, ld.forward_dynamics(model, q, qd, tau))
    assert relative(back, tau) < 1e-9  # the condition of M grows with the fourth power of the length
    gravity = ld.gravity_force(model, q)
    assert relative(M @ qdd + ld.coriolis_matrix(model, q, qd) @ qd + gravity, tau) < 1e-12
    assert relative(ld.kinetic_energy(model, q, qd), 0.5 * qd @ M @ qd) < 1e-11
    given = np.arange(N) % 3 > 0
    assert np.isfinite(ld.hybrid_dynamics(model, q, qd, qdd, tau, given)).all()


def test_a_long_chain_from_urdf():
    """Built, pickled and evaluated without recursion."""
    links = "".join(
        f'<link name="l{k}"><inertial><origin xyz="0.005 0 0"/><mass value="0.01"/>'
        f'<inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for k in range(N + 1)
    )
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<origin xyz="0.01 0 0"/><axis xyz="0 0 1"/></joint>'
        for k in range(N)
    )
    model = ld.Model.from_urdf(f'<robot name="chain">{links}{joints}</robot>')
    assert model.nv == N
    assert model.joint_names[-1] == f"j{N - 1}"
    twin = pickle.loads(pickle.dumps(model))
    zero = np.zeros(N)
    assert (ld.gravity_force(twin, zero) == ld.gravity_force(model, zero)).all()


def test_a_wide_tree(rng):
    """Five hundred branches on one body: each its own equation."""
    trunk = body(rng, "trunk", None, "revolute")
    arms = [body(rng, f"arm {k}", "trunk", "revolute") for k in range(500)]
    model = to_model(Tree([trunk, *arms]))
    q, qd, qdd = rng.normal(size=(3, 501))
    tau = ld.inverse_dynamics(model, q, qd, qdd)
    for k in (0, 250, 499):
        pair = Tree([trunk, arms[k]])
        i = [0, k + 1]
        assert abs(pair.inverse_dynamics(q[i], qd[i], qdd[i])[1] - tau[k + 1]) < 1e-11 * np.abs(tau[1:]).max()
    assert relative(ld.forward_dynamics(model, q, qd, tau), qdd) < 1e-9
