"""Derivatives of real robots against Pinocchio, and where there is no answer."""

import numpy as np
import pytest
from support.compare import relative
from support.pin_oracle import robot
from support.robots import PANDA, PR2, TALOS, UR5

from lie_dynamics_ros import lie_dynamics as ld

ROBOTS = [(PANDA, False), (UR5, False), (UR5, True), (TALOS, False), (TALOS, True), (PR2, True)]
#: Where each of our ten parameters is among Pinocchio's, who has Iyy before Ixz.
PARAMETERS = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


def sample(model, rng, count):
    q = np.array([model.random(rng) for _ in range(count)])
    return q, *rng.normal(size=(2, count, model.nv)), 10.0 * rng.normal(size=(count, model.n_bodies, 6))


def symmetric(matrix):
    upper = np.triu(matrix)
    return upper + np.triu(upper, 1).T


def theirs(oracle, which, q, x, y, f_ext):
    """Three matrices of Pinocchio, in our coordinates; of the last it fills the upper half only."""
    state = oracle.q(q), oracle.v(x), oracle.v(y)
    *first, last = getattr(oracle.pin, which)(oracle.model, oracle.data, *state, oracle.wrenches(f_ext))
    return [oracle.from_square(matrix) for matrix in (*first, symmetric(last))]


def compare(call, which, name, rng, bound):
    """Hold single states and a batch against Pinocchio; return its oracle, and the states with what was found."""
    model, oracle = robot(*name)
    states = sample(model, rng, 11)
    batch = call(model, *states)
    found = [(state, call(model, *state)) for state in zip(*states, strict=True)]
    for k, (state, single) in enumerate(found):
        for a, b, expected in zip(single[:3], batch[:3], theirs(oracle, which, *state), strict=True):
            assert relative(a, expected) < bound
            assert relative(b[k], expected) < bound
    return oracle, found


@pytest.mark.parametrize("name", ROBOTS, ids=str)
def test_inverse_dynamics(name, rng):
    compare(ld.inverse_dynamics_derivatives, "computeRNEADerivatives", name, rng, 1e-12)


@pytest.mark.parametrize("name", ROBOTS, ids=str)
def test_forward_dynamics(name, rng):
    # The condition of M is 1e4 (arms) to 1e7 (PR2); Pinocchio's results carry it too.
    oracle, found = compare(ld.forward_dynamics_derivatives, "computeABADerivatives", name, rng, 1e-10)
    for state, single in found:
        assert relative(single.qdd, oracle.forward_dynamics(*state)) < 1e-10


@pytest.mark.parametrize("name", [(PANDA, False), (UR5, False), (TALOS, False), (PR2, False)], ids=str)
def test_regressor(name, rng):
    model, oracle = robot(*name)
    for q, qd, qdd, _ in zip(*sample(model, rng, 5), strict=True):
        state = oracle.q(q), oracle.v(qd), oracle.v(qdd)
        expected = oracle.pin.computeJointTorqueRegressor(oracle.model, oracle.data, *state)
        by_body = np.asarray(expected).reshape(model.nv, -1, 10)[:, np.array(oracle.to_joint) - 1][..., PARAMETERS]
        expected = oracle.from_v(by_body.reshape(model.nv, -1).T).T
        assert relative(ld.torque_regressor(model, q, qd, qdd), expected) < 1e-12


@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
def test_a_link_without_mass(batch, rng):
    rod = ld.SpatialInertia(2.0, [0.3, 0.1, 0.2], np.diag([0.02, 0.03, 0.04]))
    builder = ld.ModelBuilder().add("arm", joint=ld.joint_types.revolute(), inertia=rod)
    model = builder.add("tip", "arm", ld.joint_types.universal([0, 0, 1], [1, 0, 0]), np.eye(4)).build()
    q, qd, x = rng.normal(size=(3, *batch, model.nv))
    ld.inverse_dynamics_derivatives(model, q, qd, x)
    with pytest.raises(ld.SingularityError, match="joint 'tip'"):
        ld.forward_dynamics_derivatives(model, q, qd, x)
    some = np.array([True, True, False])
    with pytest.raises(ld.SingularityError, match="joint 'tip'"):
        ld.hybrid_dynamics_derivatives(model, q, qd, x, x, some)
    found = ld.hybrid_dynamics_derivatives(model, q, qd, x, x, ~some | [False, True, False])
    assert np.isfinite(found.dtau_dq).all()


@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
def test_bad_input(batch, rng):
    model, _ = robot(UR5, True)
    q = np.broadcast_to(model.neutral(), (*batch, model.nq)).copy()
    x = rng.normal(size=(*batch, model.nv))
    mask = np.zeros(model.nv, bool)
    calls = (
        lambda q, x: ld.inverse_dynamics_derivatives(model, q, x, x),
        lambda q, x: ld.forward_dynamics_derivatives(model, q, x, x),
        lambda q, x: ld.hybrid_dynamics_derivatives(model, q, x, x, x, mask),
        lambda q, x: ld.torque_regressor(model, q, x, x),
    )
    wrong, nan = q.copy(), x.copy()
    wrong[..., 0] = 0.1
    nan[..., 7] = np.nan
    for call in calls:
        call(q.tolist(), x)
        with pytest.raises(ld.GroupError, match="root_joint"):
            call(wrong, x)
        with pytest.raises(ld.InputError, match="joint"):
            call(q, nan)
        with pytest.raises(ld.InputError, match="shape"):
            call(q[..., :-1], x)
    with pytest.raises(ld.InputError, match="f_ext"):
        ld.inverse_dynamics_derivatives(model, q, x, x, np.zeros((3, 3)))
    with pytest.raises(ld.InputError, match="prescribed"):
        ld.hybrid_dynamics_derivatives(model, q, x, x, x, mask[:-1])
