"""Derivatives where mimic joints are coupled, against differences of the dynamics along the remaining coordinates."""

import numpy as np
import pytest
from dynamics.coupled.test_coupled_mimics import HAND, G, widen
from support.compare import relative

from lie_dynamics_ros import lie_dynamics as ld

MODELS = {
    "rigid": ld.Model.from_urdf(HAND, couple_mimics=True),
    "with armature and damping": ld.Model.from_urdf(HAND, couple_mimics=True).with_joint_terms(
        armature=True, damping=True
    ),
}
#: Central differences of order six; with this step truncation and round-off are both some 1e-11 of the values.
STEP, WEIGHTS = 2e-3, ((1, 45.0), (2, -9.0), (3, 1.0))
TOLERANCE = 1e-9


def difference(f, x):
    """Return the derivative of f along each entry of x, last index the entry."""
    columns = [
        sum(w * (f(x + k * STEP * e) - f(x - k * STEP * e)) for k, w in WEIGHTS) / (60.0 * STEP) for e in np.eye(x.size)
    ]
    return np.stack(columns, axis=-1)


@pytest.fixture(params=MODELS.values(), ids=MODELS.keys())
def model(request):
    return request.param


def test_inverse(model, rng):
    q, qd, qdd = rng.normal(size=(3, 2))
    found = ld.inverse_dynamics_derivatives(model, q, qd, qdd)
    assert relative(found.dq, difference(lambda x: ld.inverse_dynamics(model, x, qd, qdd), q)) < TOLERANCE
    assert relative(found.dqd, difference(lambda x: ld.inverse_dynamics(model, q, x, qdd), qd)) < TOLERANCE
    assert relative(found.dqdd, ld.mass_matrix(model, q)) < 1e-12


def test_forward(model, rng):
    q, qd, tau = rng.normal(size=(3, 2))
    found = ld.forward_dynamics_derivatives(model, q, qd, tau)
    assert relative(found.dq, difference(lambda x: ld.forward_dynamics(model, x, qd, tau), q)) < TOLERANCE
    assert relative(found.dqd, difference(lambda x: ld.forward_dynamics(model, q, x, tau), qd)) < TOLERANCE
    assert relative(found.dtau @ ld.mass_matrix(model, q), np.eye(2)) < 1e-10


@pytest.mark.parametrize("given", [[False, False], [True, False], [False, True], [True, True]])
def test_hybrid(model, rng, given):
    q, qd, command = rng.normal(size=(3, 2))

    def both(q, qd, command):
        return np.concatenate(ld.hybrid_dynamics(model, q, qd, command, command, given))

    found = ld.hybrid_dynamics_derivatives(model, q, qd, command, command, given)
    for along, wanted in (
        ("dq", difference(lambda x: both(x, qd, command), q)),
        ("dqd", difference(lambda x: both(q, x, command), qd)),
        ("dgiven", difference(lambda x: both(q, qd, x), command)),
    ):
        blocks = np.concatenate([getattr(found, f"dqdd_{along}"), getattr(found, f"dtau_{along}")])
        assert relative(blocks, wanted) < TOLERANCE, along


def test_regressor(rng):
    """What the joints of the whole robot feel, reduced as their forces are."""
    q, qd, qdd = rng.normal(size=(3, 2))
    coupled, whole = MODELS["rigid"], ld.Model.from_urdf(HAND)
    assert (
        relative(ld.torque_regressor(coupled, q, qd, qdd), G.T @ ld.torque_regressor(whole, *widen(q, qd, qdd))) < 1e-12
    )
    parameters = np.concatenate([coupled.inertia(name).parameters() for name in coupled.body_names])
    tau = ld.inverse_dynamics(coupled, q, qd, qdd)
    assert relative(ld.torque_regressor(coupled, q, qd, qdd) @ parameters, tau) < 1e-12
