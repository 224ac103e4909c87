"""Kim's Tables 5, 6 and 7, corrected, against the recursions and the derivatives of all coordinates at once."""

import numpy as np
import pytest
from support.compare import relative
from support.sample_trees import JOINTS, around, to_model

from lie_dynamics_ros.lie_dynamics import (
    DescriptionError,
    Parameter,
    forward_dynamics_derivatives,
    forward_dynamics_sensitivity,
    hybrid_dynamics,
    hybrid_dynamics_sensitivity,
    inverse_dynamics_derivatives,
    inverse_dynamics_sensitivity,
)
from lie_dynamics_ros.lie_dynamics.reference import sensitivity_tables as tables

KINDS = [kind for kind in JOINTS if kind != "fixed" and not kind.startswith("custom")]


def case(kind):
    rng = np.random.default_rng(1)
    tree = around(rng, kind)
    model = to_model(tree)
    return rng, model, tree.random(rng), *rng.normal(size=(3, model.nv)), rng.normal(size=(model.n_bodies, 6))


def changes(model, rng):
    """Parameters, each with a function that makes the same change to the terms of the tables."""
    n = model.nv

    def tangent(name, k):
        return lambda bodies, x, qd: setattr(x, f"d{name}", np.eye(n)[k])

    def twist(k, value):
        return lambda bodies, x, qd: setattr(bodies[k], "dh", value)

    def wrench(k, value):
        return lambda bodies, x, qd: setattr(bodies[k], "d_wrench", value)

    def coordinate(k):
        return lambda bodies, x, qd: tables.along_coordinate(model, bodies, qd, k)

    def rate(k):
        return lambda bodies, x, qd: tables.along_rate(model, bodies, x, k)

    def inertia(k, which):
        return lambda bodies, x, qd: tables.along_inertia(bodies, k, which)

    found = [(Parameter.q(k), coordinate(k)) for k in range(n)]
    found += [(Parameter.qd(k), rate(k)) for k in range(n)]
    found += [(Parameter.qdd(k), tangent("qdd", k)) for k in range(n)]
    found += [(Parameter.tau(k), tangent("tau", k)) for k in range(n)]
    found += [(Parameter.inertia(k, 3 * k % 10), inertia(k, 3 * k % 10)) for k in range(model.n_bodies)]
    g, values = rng.normal(size=3), rng.normal(size=(2, 6))
    found.append((Parameter.gravity(g), lambda bodies, x, qd: setattr(x, "d_gravity", g)))
    found.append((Parameter.custom(dh={3: values[0]}), twist(3, values[0])))
    found.append((Parameter.external_force(2, values[1]), wrench(2, values[1])))
    return [p for p, _ in found], [make for _, make in found]


def terms(model, q, qd, qdd, tau, f, make, coordinates):
    zero = np.zeros(model.nv)
    bodies = tables.body_terms(model, q, qd, f)
    x = tables.Given(qd, qdd, tau, model.gravity, zero, zero, zero, np.zeros(3))
    make(bodies, x, qd)
    # What is not given does not change by itself.
    x.dqdd, x.dtau = np.where(coordinates, x.dqdd, 0.0), np.where(coordinates, 0.0, x.dtau)
    return bodies, x


@pytest.mark.parametrize("kind", KINDS)
def test_the_tables(kind):
    rng, model, q, qd, qdd, tau, f = case(kind)
    parameters, makers = changes(model, rng)
    everything, nothing = np.ones(model.n_bodies, bool), np.zeros(model.n_bodies, bool)
    some = rng.random(model.n_bodies) < 0.5
    for joints in (everything, nothing, some):
        mask = np.concatenate([[given] * j.type.nv for given, j in zip(joints, model.joints, strict=True)])
        accelerations, _ = hybrid_dynamics(model, q, qd, qdd, tau, mask, f)
        dqdd, dtau = hybrid_dynamics_sensitivity(model, q, qd, qdd, tau, mask, parameters, f)
        rows = [tables.hybrid_dynamics_table(*terms(model, q, qd, qdd, tau, f, make, mask), joints) for make in makers]
        assert relative(dqdd, np.array([r[0] for r in rows])) < 1e-9  # condition of the mass matrix
        assert relative(dtau, np.array([r[1] for r in rows])) < 1e-9
        if joints is everything:
            found = inverse_dynamics_sensitivity(model, q, qd, qdd, parameters, f)
            rows = [tables.inverse_dynamics_table(*terms(model, q, qd, qdd, tau, f, make, mask)) for make in makers]
            assert relative(found, np.array(rows)) < 1e-12
        if joints is nothing:
            assert relative(forward_dynamics_sensitivity(model, q, qd, tau, parameters, f), dqdd) < 1e-12
            assert np.isfinite(accelerations).all()


@pytest.mark.parametrize("kind", ["universal", "spherical", "free", "composite", "helical"])
def test_against_all_coordinates_at_once(kind):
    _, model, q, qd, qdd, tau, f = case(kind)
    units = [[make(k) for k in range(model.nv)] for make in (Parameter.q, Parameter.qd, Parameter.qdd, Parameter.tau)]
    inverse = inverse_dynamics_derivatives(model, q, qd, qdd, f)
    for parameters, block in zip(units, (inverse.dq, inverse.dqd, inverse.dqdd), strict=False):
        found = inverse_dynamics_sensitivity(model, q, qd, qdd, parameters, f)
        assert relative(found.T, block) < 1e-12
    forward = forward_dynamics_derivatives(model, q, qd, tau, f)
    for parameters, block in ((units[0], forward.dq), (units[1], forward.dqd), (units[3], forward.dtau)):
        found = forward_dynamics_sensitivity(model, q, qd, tau, parameters, f)
        assert relative(found.T, block) < 1e-9  # condition of the mass matrix


def test_user_defined_joints_are_refused():
    _, model, q, qd, *_ = case("custom_rail")
    with pytest.raises(DescriptionError, match="custom_rail"):
        tables.body_terms(model, q, qd)
