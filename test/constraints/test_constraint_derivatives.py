"""Derivatives of constrained dynamics against differences of order six of the functions themselves."""

import numpy as np
import pytest
from support.compare import relative
from support.loops import random_loop, random_loops
from support.sample_trees import around, branched, chain, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.derivatives import constraint_derivatives
from lie_dynamics_ros.lie_dynamics.constraints.inputs import read_states
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import five_bar, four_bar

NODES = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
WEIGHTS = np.array([-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / 60.0

# Truncation h^6 and round-off eps / h of the differences balance near here; 1e-9 is what they are good for.
STEP, LIMIT = 2e-3, 1e-9


def differences(function, along):
    """Derivatives along directions (m, n); `function` takes a vector and returns arrays in a tuple."""
    columns = []
    for e in along:
        samples = [function(x * STEP * e) for x in NODES]
        columns.append([sum(w * s[k] for w, s in zip(WEIGHTS, samples, strict=True)) / STEP for k in range(3)])
    return [np.array([c[k] for c in columns]).T for k in range(3)]


def agree(found, model, function, q, qd, given, rng):
    """Compare `found` with differences of ``function(model, q, qd, given)``, along directions at random."""

    def values(result):
        return result.qdd, result.tau, result.multipliers

    n, width = model.nv, 10 * model.n_bodies
    inertias = [model.inertia(k).parameters() for k in range(model.n_bodies)]

    def with_parameters(step):
        changed = model
        for k in np.unique(np.flatnonzero(step) // 10):
            inertia = ld.SpatialInertia.from_parameters(inertias[k] + 0.05 * step[10 * k : 10 * k + 10])
            changed = changed.with_inertia(int(k), inertia)
        return changed

    for name, count, varied in (
        ("dq", n, lambda e: function(model, model.integrate(q, e), qd, given)),
        ("dqd", n, lambda e: function(model, q, qd + e, given)),
        ("dgiven", n, lambda e: function(model, q, qd, given + e)),
        ("dparameters", width, lambda e: function(with_parameters(e), q, qd, given)),
    ):
        along = rng.normal(size=(4, count)) / np.sqrt(count)
        expected = differences(lambda e, varied=varied: values(varied(e)), along)
        for what, part in zip(("qdd", "tau", "multipliers"), expected, strict=True):
            ours = getattr(getattr(found, what), name)
            assert ours.shape == (len(part), count)
            if name == "dparameters":  # in steps that leave inertias what bodies can have
                part = 20.0 * part
            size = max(np.abs(ours).max(initial=0.0), 1.0)
            assert np.abs(ours @ along.T - part).max(initial=0.0) < LIMIT * size, (what, name)


@pytest.mark.parametrize("kind", ["universal", "spherical", "free", "composite", "custom_ball"])
def test_loops(kind, rng):
    """Every cut joint, on joints of several kinds."""
    tree = around(rng, kind)
    model = to_model(tree)
    constraints = ld.ConstraintSet(model, random_loops(rng, tree))
    q, qd, qdd = tree.random(rng), rng.normal(size=tree.nv), rng.normal(size=tree.nv)
    force = rng.normal(size=constraints.size)
    states = read_states(model, constraints, {"q": q, "qd": qd})
    found = constraint_derivatives(model, constraints, states, qdd[None], force[None])

    def values(x, v):
        c = ld.constraint_quantities(model, constraints, x, v)
        return c.jacobian @ v, c.jacobian @ qdd + c.bias, c.jacobian.T @ force

    along_q = differences(lambda e: values(model.integrate(q, e), qd), np.eye(tree.nv))
    along_qd = differences(lambda e: values(q, qd + e), np.eye(tree.nv))
    assert relative(found.rate_dq[0], along_q[0]) < LIMIT
    assert relative(found.acceleration_dq[0], along_q[1]) < LIMIT
    assert relative(found.force_dq[0], along_q[2]) < LIMIT
    assert relative(found.acceleration_dqd[0], along_qd[1]) < LIMIT


def floating(rng, custom=False):
    kinds = ["free", "revolute", "universal", "custom_rail" if custom else "prismatic", "spherical", "revolute"]
    return branched(rng, kinds, [None, 0, 1, 0, 3, 4])


@pytest.mark.parametrize(
    ("custom", "stabilization"),
    [
        (False, None),
        (True, ld.Baumgarte(3.0, 0.7)),
        pytest.param(False, ld.Baumgarte(3.0, 0.7), marks=pytest.mark.slow),
        pytest.param(True, None, marks=pytest.mark.slow),
    ],
)
def test_forward(custom, stabilization, rng):
    tree = floating(rng, custom)
    model = to_model(tree)
    own = ld.UserConstraint(
        "own", 1, lambda x: np.array([np.sin(x[7])]), lambda x: np.cos(x[7]) * np.eye(model.nv)[6:7]
    )
    coupling = ld.Coupling({model.joint_names[5]: 1.0, model.joint_names[1]: -2.0}, 0.1)
    loop = random_loop(rng, "universal", tree.moving[2], tree.moving[5])
    constraints = ld.ConstraintSet(model, [loop] if custom else [loop, own, coupling])
    q, qd, tau = tree.random(rng), rng.normal(size=tree.nv), rng.normal(size=tree.nv)
    f_ext = rng.normal(size=(model.n_bodies, 6))

    def function(m, x, v, t):
        return ld.constrained_forward_dynamics(m, constraints, x, v, t, f_ext, stabilization=stabilization)

    found = ld.constrained_forward_derivatives(model, constraints, q, qd, tau, f_ext, stabilization=stabilization)
    agree(found, model, function, q, qd, tau, rng)


@pytest.mark.parametrize(
    ("actuated", "options"),
    [
        (["joint_1", "joint_5"], {}),
        (["joint_1", "joint_2", "joint_5"], {}),
        (["joint_1", "joint_2", "joint_5"], {"resolution": "least_torque"}),
        (None, {"resolution": "least_torque"}),
        (None, {"resolution": "weighted", "torque_weights": [1, 2, 3, 4, 5], "force_weights": 0.5}),
    ],
)
def test_inverse(actuated, options, rng):
    made = five_bar()
    model, constraints, q = made.model, made.constraints, made.q
    for k in range(model.n_bodies):  # rods are at the border of what inertias can be
        model = model.with_payload(k, 0.1, np.zeros(3), 0.01 * np.eye(3))
    qd, qdd, passive = rng.normal(size=(3, 5))
    options = {**options, "actuated": actuated, "passive_torque": passive}

    def function(m, x, v, a):
        return ld.constrained_inverse_dynamics(m, constraints, x, v, a, **options)

    found = ld.constrained_inverse_derivatives(model, constraints, q, qd, qdd, **options)
    agree(found, model, function, q, qd, qdd, rng)


@pytest.mark.parametrize("u", [[6], [0, 7, 9]])
def test_hybrid(u, rng):
    tree = floating(rng)
    model = to_model(tree)
    constraints = ld.ConstraintSet(model, [random_loop(rng, "spherical", tree.moving[2], tree.moving[5])])
    mask = np.zeros(tree.nv, bool)
    mask[u] = True
    q, qd, given = tree.random(rng), rng.normal(size=tree.nv), rng.normal(size=tree.nv)

    def function(m, x, v, c):
        return ld.constrained_hybrid_dynamics(m, constraints, x, v, c, c, mask)

    found = ld.constrained_hybrid_derivatives(model, constraints, q, qd, given, given, mask)
    agree(found, model, function, q, qd, given, rng)


def test_dependent_constraints(rng):
    """A hinge in space that closes a plane linkage: motion and joint forces have derivatives all the same."""
    plane, space = four_bar(), four_bar(spatial=True)
    qd, tau = ld.consistent_velocity(plane.model, plane.constraints, plane.q, rng.normal(size=3)), rng.normal(size=3)
    a = ld.constrained_forward_derivatives(plane.model, plane.constraints, plane.q, qd, tau)
    b = ld.constrained_forward_derivatives(space.model, space.constraints, space.q, qd, tau)
    for name in ("dq", "dqd", "dgiven", "dparameters"):
        assert relative(getattr(b.qdd, name), getattr(a.qdd, name)) < 1e-10


def test_more_accelerations_than_freedoms(rng):
    """Along consistent motions, hybrid dynamics with all but one coordinate given is inverse dynamics."""
    made = five_bar()
    model, constraints, q = made.model, made.constraints, made.q
    qd = ld.consistent_velocity(model, constraints, q, rng.normal(size=5))
    qdd = ld.consistent_acceleration(model, constraints, q, qd, rng.normal(size=5))
    mask = np.array([True, True, True, False, True])
    tau = np.zeros(5)
    found = ld.constrained_hybrid_derivatives(model, constraints, q, qd, qdd, tau, mask)
    inverse = ld.constrained_inverse_derivatives(model, constraints, q, qd, qdd, actuated=mask)
    along = ld.consistent_velocity(model, constraints, q, rng.normal(size=5))
    given = np.where(mask, along, 0.0)
    assert relative(found.qdd.dgiven @ given, along) < 1e-10
    assert relative(found.tau.dgiven @ given, inverse.tau.dgiven @ along) < 1e-9
    assert relative(found.tau.dparameters, inverse.tau.dparameters) < 1e-9


def test_batches(rng):
    tree = chain(rng, ["free", "revolute", "spherical", "universal"])
    model = to_model(tree)
    constraints = ld.ConstraintSet(model, [random_loop(rng, "point_in_plane", tree.moving[0], tree.moving[3])])
    q = np.array([tree.random(rng) for _ in range(3)])
    qd, tau = rng.normal(size=(2, 1, tree.nv)), rng.normal(size=tree.nv)
    found = ld.constrained_forward_derivatives(model, constraints, q, qd, tau)
    single = ld.constrained_forward_derivatives(model, constraints, q[1], qd[1, 0], tau)
    assert found.qdd.dparameters.shape == (2, 3, tree.nv, 10 * model.n_bodies)
    assert relative(found.qdd.dq[1, 1], single.qdd.dq) < 1e-11
    assert relative(found.multipliers.dgiven[1, 1], single.multipliers.dgiven) < 1e-11
