"""Derivatives along parameters, against complex steps through the dense definition of the dynamics."""

import numpy as np
import pytest
from support.compare import relative
from support.dense import Tree
from support.motions import hat, inverse, product, vee
from support.sample_trees import around, branched, each_kind, to_model, zoo

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.lie import inertial_parameters

STEP = 1e-30
KINDS = each_kind("fixed")


class ComplexTree(Tree):
    """A tree whose inertias are kept as given, complex if need be."""

    def __init__(self, tree):
        super().__init__(tree.bodies, tree.gravity)
        self.inertias = {b.name: super(ComplexTree, self).generalized_inertia(b) for b in self.bodies}

    def generalized_inertia(self, body):
        return self.inertias[body.name]


class Between:
    """A motion with rigid motions before and after it."""

    def __init__(self, before, motion, after):
        self.before, self.motion, self.after, self.nq, self.nv = before, motion, after, motion.nq, motion.nv

    def series(self, *state):
        still = np.zeros((4, 4))
        inner = product((self.before, still, still), self.motion.series(*state))
        return product(inner, (self.after, still, still))


def small(twist):
    """exp of a small imaginary twist."""
    return np.eye(4) + 1j * STEP * hat(np.asarray(twist, dtype=float))


def state_of(tree, rng):
    q = tree.random(rng)
    qd, qdd = rng.normal(size=(2, tree.nv))
    return q, qd, qdd, rng.normal(size=(len(tree.moving), 6))


@pytest.mark.parametrize("kind", KINDS)
def test_states_and_commands(kind):
    """One by one what `test_derivatives` holds, all at once, to complex steps through the definition."""
    rng = np.random.default_rng(1)
    tree = around(rng, kind)
    model, n = to_model(tree), tree.nv
    q, qd, qdd, f = state_of(tree, rng)
    tau = rng.normal(size=n)
    states = [make(k) for make in (ld.Parameter.q, ld.Parameter.qd) for k in range(n)]
    found = ld.inverse_dynamics_sensitivity(model, q, qd, qdd, states + [ld.Parameter.qdd(k) for k in range(n)], f)
    assert relative(found.T, np.hstack(ld.inverse_dynamics_derivatives(model, q, qd, qdd, f))) < 1e-11
    M = ld.mass_matrix(model, q)
    for given in (np.zeros(n, bool), np.ones(n, bool), rng.random(n) < 0.5):
        parameters = states + [ld.Parameter.qdd(k) if given[k] else ld.Parameter.tau(k) for k in range(n)]
        dqdd, dtau = ld.hybrid_dynamics_sensitivity(model, q, qd, qdd, tau, given, parameters, f)
        whole = ld.hybrid_dynamics_derivatives(model, q, qd, qdd, tau, given, f)
        expected = np.hstack([whole.dqdd_dq, whole.dqdd_dqd, whole.dqdd_dgiven]).T
        assert np.abs((dqdd - expected) @ M).max() <= 1e-11 * (np.abs(expected) @ np.abs(M)).max()
        assert relative(dtau, np.hstack([whole.dtau_dq, whole.dtau_dqd, whole.dtau_dgiven]).T) < 1e-9  # condition of M
        if not given.any():
            assert relative(ld.forward_dynamics_sensitivity(model, q, qd, tau, parameters, f), dqdd) < 1e-12


def test_inertia():
    rng = np.random.default_rng(3)
    kinds = ["universal", "fixed", "spherical", "revolute", "prismatic"]
    tree = branched(rng, kinds, [None, 0, 0, 2, 2])
    model = to_model(tree)
    q, qd, qdd, f = state_of(tree, rng)
    parameters, expected = [], []
    for body in tree.bodies:
        for k in range(10):
            parameters.append(ld.Parameter.inertia(body.name, k))
            changed = ComplexTree(tree)
            unit = inertial_parameters.generalized_inertia(np.eye(10)[k])
            changed.inertias[body.name] = changed.inertias[body.name] + 1j * STEP * unit
            expected.append(changed.inverse_dynamics(q, qd, qdd, f).imag / STEP)
    found = ld.inverse_dynamics_sensitivity(model, q, qd, qdd, parameters, f)
    assert relative(found, np.array(expected)) < 1e-12  # also of the body that is welded to another
    by_name = ld.inverse_dynamics_sensitivity(model, q, qd, qdd, ld.Parameter.inertia(model.body_names[1], "Ixz"), f)
    assert relative(by_name, expected[26]) < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_placement_and_axis(kind):
    rng = np.random.default_rng(4)
    tree = around(rng, kind)
    model = to_model(tree)
    q, qd, qdd, f = state_of(tree, rng)
    body = tree.bodies[3]
    joint = f"joint {body.name}"
    placement, motion = body.placement, body.motion
    twist, turn = rng.normal(size=6), rng.normal(size=3)
    parameters = [ld.Parameter.placement(joint, twist), ld.Parameter.placement(joint, twist, "parent")]
    expected = []
    for moved in (placement @ small(twist), small(twist) @ placement):
        body.placement = moved
        expected.append(tree.inverse_dynamics(q, qd, qdd, f).imag / STEP)
    body.placement = placement
    if model.joint(joint).type.steps:
        # All axes of the joint turned by as much, and its body turned back.
        rotation = small([*turn, 0, 0, 0])
        steps = range(model.joint(joint).type.nv)
        parameters.append(sum((ld.Parameter.axis(joint, turn, k) for k in steps), ld.Parameter(())))
        body.motion = Between(rotation, motion, inverse(rotation))
        expected.append(tree.inverse_dynamics(q, qd, qdd, f).imag / STEP)
        body.motion = motion
    found = ld.inverse_dynamics_sensitivity(model, q, qd, qdd, parameters, f)
    assert relative(found, np.array(expected)) < 1e-12


@pytest.mark.parametrize("held", ["body", "world", "aligned"])
def test_external_forces(held):
    """Components of wrenches, and wrenches that stay where they are while the robot moves under them."""
    rng = np.random.default_rng(6)
    tree = around(rng, "free")
    model = to_model(tree)
    q, qd, qdd, _ = state_of(tree, rng)
    f = sum(ld.external_wrench(model, q, b, rng.normal(size=6)) for b in range(model.n_bodies))
    v = rng.normal(size=model.nv)
    bodies = [b for b in tree.bodies if b.motion.nv]

    def wrenches(step):
        """Body wrenches at the displaced configuration of those that are `f` in the body frames at q."""
        now, then, out = tree.poses(q), tree.series(q, step=step), []
        for body, wrench in zip(bodies, f, strict=True):
            T0, T1 = now[body.name], then[body.name][0]
            if held == "body":
                out.append(wrench)
                continue
            moment, force = T0[:3, :3] @ wrench[:3], T0[:3, :3] @ wrench[3:]
            if held == "world":
                moment = moment + np.cross(T0[:3, 3], force) - np.cross(T1[:3, 3], force)
            out.append(np.concatenate([T1[:3, :3].T @ moment, T1[:3, :3].T @ force]))
        return np.array(out)

    step = 1j * STEP * v
    expected = tree.inverse_dynamics(q, qd, qdd, wrenches(step), step=step).imag / STEP
    found = ld.inverse_dynamics_sensitivity(model, q, qd, qdd, ld.Parameter.custom(dq=v), f, f_ext_held=held)
    assert relative(found, expected) < 1e-12
    component = rng.normal(size=6)
    found = ld.inverse_dynamics_sensitivity(model, q, qd, qdd, ld.Parameter.external_force(3, component, held), f)
    change = ld.inverse_dynamics(model, q, qd, qdd, ld.external_wrench(model, q, 3, component, held))
    assert relative(found, change - ld.inverse_dynamics(model, q, qd, qdd)) < 1e-12


def test_gravity_and_sums():
    rng = np.random.default_rng(7)
    tree = zoo(rng)
    model = to_model(tree)
    q, qd, qdd, f = state_of(tree, rng)
    g = rng.normal(size=3)
    expected = ld.inverse_dynamics(model.with_gravity(g), q, 0 * qd, 0 * qdd)
    assert relative(ld.inverse_dynamics_sensitivity(model, q, qd, qdd, ld.Parameter.gravity(g), f), expected) < 1e-12
    parts = [
        ld.Parameter.gravity(g),
        ld.Parameter.q(2),
        ld.Parameter.inertia(1, "m"),
        ld.Parameter.qd(0),
        ld.Parameter.placement(3, np.ones(6)),
    ]
    a, b, c, d, e = ld.inverse_dynamics_sensitivity(model, q, qd, qdd, parts, f)
    whole = parts[0] + 2.0 * parts[1] - parts[2] * 0.5 + parts[3] - parts[4]
    found = ld.inverse_dynamics_sensitivity(model, q, qd, qdd, whole, f)
    assert relative(found, a + 2 * b - 0.5 * c + d - e) < 1e-12


@pytest.mark.parametrize("kind", ["universal", "composite", "spherical", "free", "custom_rail", "helical"])
def test_what_a_user_gives(kind):
    """A coordinate of q as a user's own parameter: dh = S, with dS and dS/dt by complex steps of its motion."""
    rng = np.random.default_rng(8)
    tree = around(rng, kind)
    model = to_model(tree)
    q, qd, qdd, f = state_of(tree, rng)
    body, (at_q, at_v) = tree.bodies[3], tree.parts[3]
    joint = model.joint(f"joint {body.name}")
    n = joint.type.nv

    def subspace(step, rate):
        series = [body.motion.series(q[at_q], e, 0 * e, step) for e in np.eye(n)]
        S = np.array([vee(inverse(T) @ T1) for T, T1, _ in series]).T
        turned = body.motion.series(q[at_q], rate, np.zeros(n), step)
        X = inverse(turned[0]) @ turned[1]
        return S, vee(inverse(turned[0]) @ turned[2] - X @ X)

    for k in range(n):
        unit = np.eye(n)[k]
        dS = subspace(1j * STEP * unit, qd[at_v])[0].imag / STEP
        # Only (dS/dt) qd enters; one column carries it.
        rate = subspace(1j * STEP * unit, qd[at_v])[1].imag / STEP
        columns = np.zeros((6, n))
        columns[:, 0] = rate / qd[at_v][0]
        S = subspace(np.zeros(n), qd[at_v])[0]
        own = ld.Parameter.custom(dh={joint.name: S[:, k]}, dS={joint.name: dS}, dS_rate={joint.name: columns})
        found = ld.inverse_dynamics_sensitivity(model, q, qd, qdd, [own, ld.Parameter.q(joint.name, k)], f)
        assert relative(found[0], found[1]) < 1e-12
