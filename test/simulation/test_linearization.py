"""Derivatives of integrator steps, against extrapolated differences of the steps themselves."""

import numpy as np
import pytest
from support.compare import relative
from support.sample_trees import around, branched, each_kind, to_model

from lie_dynamics_ros.lie_dynamics import InputError, ModelBuilder, SpatialInertia, forward_dynamics, joint_types
from lie_dynamics_ros.lie_dynamics.simulation import JointPhysics, Simulator, linearize, rkmk4_step, semi_implicit_step

STEPS = {"semi_implicit": semi_implicit_step, "rkmk4": rkmk4_step}


def case(kind, seed=1):
    rng = np.random.default_rng(seed)
    tree = branched(rng, ["revolute", kind, "prismatic", "universal"], [None, 0, 1, 1])
    model = to_model(tree)
    return model, tree.random(rng), *rng.normal(size=(2, model.nv)), rng.normal(size=(model.n_bodies, 6))


def step_of(model, tau, f, dt, integrator):
    return lambda q, qd: STEPS[integrator](model, lambda _, x, y: forward_dynamics(model, x, y, tau, f), 0.0, q, qd, dt)


@pytest.mark.parametrize("integrator", STEPS)
@pytest.mark.parametrize("kind", each_kind("fixed"))
def test_against_differences(kind, integrator, rng):
    """Along directions at random, to which all columns add."""
    model, q, qd, tau, f = case(kind)
    dt, n = 0.05, model.nv
    found = linearize(model, q, qd, tau, dt, integrator, f)
    after = step_of(model, tau, f, dt, integrator)(q, qd)
    assert relative(found.q, after[0]) < 1e-13
    assert relative(found.qd, after[1]) < 1e-12

    def change(dq, dqd, dtau):
        q1, qd1 = step_of(model, tau + dtau, f, dt, integrator)(model.integrate(q, dq), qd + dqd)
        return np.concatenate([model.difference(after[0], q1), qd1 - after[1]])

    def slope(*direction):
        total = 0.0
        for s, w in ((1, 64 / 45), (2, -20 / 45), (4, 1 / 45)):
            ahead, behind = (change(*(sign * s * 2e-3 * x for x in direction)) for sign in (1, -1))
            total = total + w * (ahead - behind) / (2 * s * 2e-3)
        return total

    along, zero = rng.normal(size=(2, 3, n)), np.zeros(n)
    for dq, dqd, dtau in along:
        assert relative(found.A[:, :n] @ dq, slope(dq, zero, zero)) < 1e-9  # of the differences
        assert relative(found.A[:, n:] @ dqd, slope(zero, dqd, zero)) < 1e-9
        assert relative(found.B @ dtau, slope(zero, zero, dtau)) < 1e-9


@pytest.mark.parametrize("integrator", STEPS)
def test_the_simulator_takes_the_same_step(integrator):
    model, q, qd, tau, f = case("free")
    found = linearize(model, q, qd, tau, 1e-3, integrator, f)
    simulator = Simulator(model, q, qd, step=1e-3, method=integrator)
    simulator.advance(tau, f_ext=f)
    assert np.abs(model.difference(found.q, simulator.q)).max() < 1e-12
    assert relative(simulator.qd, found.qd) < 1e-12


def test_damping_is_implicit_as_in_the_simulator():
    rng = np.random.default_rng(5)
    builder, parent = ModelBuilder(), None
    for name in "abc":
        body = SpatialInertia(1.0, rng.normal(size=3), np.eye(3))
        kind = joint_types.revolute(rng.normal(size=3))
        builder.add(name, parent, kind, inertia=body, damping=3.0, friction=0.2, armature=0.1)
        parent = name
    model, dt = builder.build("damped").with_joint_terms(True, True, True), 0.05
    q, qd, tau = rng.normal(size=(3, 3))
    qd += np.sign(qd)  # sliding, and no change of direction within the step

    def step(x):
        simulator = Simulator(model, x[:3], x[3:6], step=dt)
        simulator.advance(x[6:])
        return np.concatenate([simulator.q, simulator.qd])

    found, x = linearize(model, q, qd, tau, dt), np.concatenate([q, qd, tau])
    assert relative(np.concatenate([found.q, found.qd]), step(x)) < 1e-12
    slopes = [(step(x + 1e-5 * e) - step(x - 1e-5 * e)) / 2e-5 for e in np.eye(9)]
    assert relative(np.hstack([found.A, found.B]), np.array(slopes).T) < 1e-8  # of central differences


def stopped(kind="universal"):
    rng = np.random.default_rng(6)
    tree = branched(rng, ["revolute", kind, "prismatic", "revolute"], [None, 0, 1, 1])
    model = to_model(tree)
    n = model.nv
    physics = JointPhysics(*rng.uniform(0.1, 0.5, (2, n)), np.full(n, -0.5), np.full(n, 0.5),
                           rng.uniform(200, 400, n), rng.uniform(5, 10, n), 0.1)  # fmt: skip
    return model, physics


#: State of a coordinate: position and rate, and which stop pushes in the step.
IN_STOPS = {
    "free": (0.1, 0.4, 0),
    "going in above": (0.6, 0.4, 1),
    "coming out above": (0.6, -0.4, 1),
    "going in below": (-0.6, -0.4, -1),
    "thrown out": (0.5001, -3.0, 0),
    "arriving": (0.4995, 0.4, 1),
}


@pytest.mark.parametrize(
    ("kind", "integrator"),
    [
        pytest.param(kind, step, marks=pytest.mark.slow if (kind, step) == ("custom_ball", "rkmk4") else ())
        for kind in ("universal", "custom_ball") for step in STEPS
    ],
)  # fmt: skip
def test_stops_as_in_the_simulator(kind, integrator):
    """Coordinates in, before and behind their stops: differences of the simulator's own step.

    Damping and stops are explicit, and friction is regularised, where a user's functions are asked.
    """
    model, physics = stopped(kind)
    if integrator == "semi_implicit" and kind == "universal":
        physics = physics.changed(friction=np.zeros(model.nv))
    n, dt = model.nv, 0.004
    tau = np.random.default_rng(7).normal(size=n)

    def step(x):
        simulator = Simulator(model, x[:n], x[n : 2 * n], step=dt, joints=physics, method=integrator)
        simulator.advance(x[2 * n :])
        return np.concatenate([simulator.q, simulator.qd])

    states, expected = [], []
    for k in range(n) if kind == "universal" else [1]:
        for position, rate, side in IN_STOPS.values():
            q, qd = np.full(n, 0.2), np.full(n, 0.3)
            q[k], qd[k] = position, rate
            states.append(np.concatenate([q, qd, tau]))
            expected.append((k, side))
    whole = linearize(model, *np.split(np.array(states), [n, 2 * n], axis=1), dt, integrator, joints=physics)
    for number, x in enumerate(states):
        k, side = expected[number]
        found = linearize(model, x[:n], x[n : 2 * n], x[2 * n :], dt, integrator, joints=physics)
        if integrator == "semi_implicit" and kind == "universal":
            assert found.stops[k] == side
        assert relative(np.concatenate([found.q, found.qd]), step(x)) < 1e-12
        slopes = [(step(x + 1e-6 * e) - step(x - 1e-6 * e)) / 2e-6 for e in np.eye(3 * n)]
        assert relative(np.hstack([found.A, found.B]), np.array(slopes).T) < 1e-7  # of central differences
        assert relative(whole.A[number], found.A) < 1e-12
        assert relative(whole.qd[number], found.qd) < 1e-12
        assert np.array_equal(whole.stops[number], found.stops)


def test_stops_with_losses_of_the_model_and_wrenches():
    rng = np.random.default_rng(8)
    builder, parent = ModelBuilder(), None
    for name in "abc":
        body = SpatialInertia(1.0, rng.normal(size=3), np.eye(3))
        kind = joint_types.revolute(rng.normal(size=3))
        builder.add(name, parent, kind, inertia=body, damping=3.0, armature=0.1)
        parent = name
    model, dt = builder.build("damped").with_joint_terms(True, True, True), 0.01
    physics = JointPhysics.none(model).changed(lower=np.full(3, -0.5), upper=np.full(3, 0.5),
                                               stop_stiffness=np.full(3, 300.0), stop_damping=np.full(3, 8.0),
                                               damping=np.array([0.4, 0.0, 1.0]))  # fmt: skip
    f, x = rng.normal(size=(3, 6)), np.array([0.6, -0.1, -0.52, 0.3, 0.2, 0.4, *rng.normal(size=3)])

    def step(x):
        simulator = Simulator(model, x[:3], x[3:6], step=dt, joints=physics)
        simulator.advance(x[6:], f_ext=f)
        return np.concatenate([simulator.q, simulator.qd])

    found = linearize(model, *np.split(x, 3), dt, "semi_implicit", f, physics)
    assert list(found.stops) == [1, 0, -1]
    assert relative(np.concatenate([found.q, found.qd]), step(x)) < 1e-12
    slopes = [(step(x + 1e-6 * e) - step(x - 1e-6 * e)) / 2e-6 for e in np.eye(9)]
    assert relative(np.hstack([found.A, found.B]), np.array(slopes).T) < 1e-7  # of central differences


@pytest.mark.parametrize("integrator", STEPS)
def test_stops_of_no_joints_and_of_no_states(integrator):
    nothing = ModelBuilder().add("base", None, joint_types.fixed()).build()
    empty = np.zeros(0)
    free = JointPhysics.none(nothing)
    assert linearize(nothing, empty, empty, empty, 0.01, integrator, joints=free).A.shape == (0, 0)
    model, physics = stopped()
    physics, none = physics.changed(friction=np.zeros(model.nv)), np.zeros((0, model.nv))
    assert linearize(model, none, none, none, 0.01, integrator, joints=physics).B.shape == (0, 2 * model.nv, model.nv)


def test_on_a_kink_the_derivative_is_that_of_the_side_the_step_takes():
    model, physics = stopped()
    physics = physics.changed(friction=np.zeros(model.nv))
    zero, q = np.zeros(model.nv), np.zeros(model.nv)
    q[0] = 0.5  # on the limit, at rest: free
    found = linearize(model, q, zero, zero, 0.004, joints=physics)
    inside = linearize(model, q, zero, zero, 0.004, joints=physics.changed(stop_stiffness=zero, stop_damping=zero))
    assert np.array_equal(found.A, inside.A) and not found.stops.any()
    q[0] = 0.6  # at rest in the stop: as on the way out, without the damper
    found = linearize(model, q, zero, zero, 0.004, joints=physics)
    assert np.array_equal(found.A, linearize(model, q, zero, zero, 0.004, joints=physics.changed(stop_damping=zero)).A)
    assert found.stops[0] == 1


def test_friction_that_sticks_is_refused():
    model, physics = stopped()
    zero = np.zeros(model.nv)
    with pytest.raises(InputError, match="dry friction that sticks"):
        linearize(model, zero, zero, zero, 0.01, joints=physics)
    for wrong in (3, JointPhysics(*np.zeros((6, 1)))):
        with pytest.raises(InputError, match="JointPhysics of"):
            linearize(model, zero, zero, zero, 0.01, joints=wrong)


def test_batches():
    rng = np.random.default_rng(2)
    tree = around(rng, "spherical")
    model = to_model(tree)
    q = np.array([tree.random(rng) for _ in range(4)])
    qd, tau = rng.normal(size=(2, 4, model.nv))
    for integrator in STEPS:
        found = linearize(model, q, qd, tau[0], 0.01, integrator)
        assert found.A.shape == (4, 2 * model.nv, 2 * model.nv)
        assert found.B.shape == (4, 2 * model.nv, model.nv)
        one = linearize(model, q[2], qd[2], tau[0], 0.01, integrator)
        assert relative(found.A[2], one.A) < 1e-12
        assert relative(found.B[2], one.B) < 1e-12
        assert relative(found.q[2], one.q) < 1e-12


def test_rollout_of_a_disturbance():
    """Over many steps, the product of the A is the derivative of the whole motion."""
    model, q, qd, tau, _ = case("free", 3)
    v = np.random.default_rng(4).normal(size=2 * model.nv)

    def roll(t):
        x, y = model.integrate(q, t * v[: model.nv]), qd + t * v[model.nv :]
        for _ in range(20):
            x, y = step_of(model, tau, None, 0.01, "semi_implicit")(x, y)
        return x, y

    moved, at = v, (q, qd)
    for _ in range(20):
        step = linearize(model, *at, tau, 0.01)
        moved, at = step.A @ moved, (step.q, step.qd)
    h = 1e-5
    ahead, behind = roll(h), roll(-h)
    expected = np.concatenate([model.difference(behind[0], ahead[0]), ahead[1] - behind[1]]) / (2 * h)
    assert relative(moved, expected) < 1e-7  # of central differences


@pytest.mark.parametrize(("dt", "integrator"), [(0.0, "rkmk4"), (np.nan, "rkmk4"), (0.1, "euler")])
def test_refused(dt, integrator):
    model, q, qd, tau, _ = case("revolute")
    with pytest.raises(InputError, match=r"dt|integrator"):
        linearize(model, q, qd, tau, dt, integrator)
