"""Compiled solutions of regular states against those of any rank, which go by singular values; all projections."""

import pickle
from itertools import product

import numpy as np
import pytest
from mechanisms_by_name import MADE
from support.compare import relative
from support.grids import every_run
from support.loops import random_loop
from support.sample_trees import branched, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import five_bar, four_bar

RESOLUTIONS = {
    "least_constraint_force": {},
    "least_torque": {},
    "weighted": {"torque_weights": 2.0, "force_weights": 0.5},
}


def moving(made, rng, count=3):
    """Closed states near the mechanism's own, and consistent motions."""
    model, constraints = made.model, made.constraints
    q = np.array([model.integrate(made.q, 0.02 * rng.normal(size=model.nv)) for _ in range(count)])
    q, _ = ld.project_to_constraints(model, constraints, q)
    qd = np.array([ld.consistent_velocity(model, constraints, x, rng.normal(size=model.nv)) for x in q])
    qdd = np.array(
        [ld.consistent_acceleration(model, constraints, *x, rng.normal(size=model.nv)) for x in zip(q, qd, strict=True)]
    )
    return q, qd, qdd


def by_singular_values(monkeypatch, module):
    monkeypatch.setattr(f"lie_dynamics_ros.lie_dynamics.constraints.{module}.PLAIN_CUT", np.array([np.inf]))


@pytest.mark.parametrize("resolution", RESOLUTIONS)
@pytest.mark.parametrize("name", MADE)
def test_inverse_dynamics(name, resolution, rng, monkeypatch):
    made = MADE[name]()
    q, qd, qdd = moving(made, rng)
    sets = (list(made.actuated), [*made.actuated, made.model.joint_names[-1]], list(made.model.joint_names))

    def solutions():
        return [
            ld.constrained_inverse_dynamics(
                made.model,
                made.constraints,
                q,
                qd,
                qdd,
                actuated=names,
                resolution=resolution,
                **RESOLUTIONS[resolution],
            )
            for names in sets
        ]

    ours = solutions()
    by_singular_values(monkeypatch, "dynamics")
    for one, other in zip(ours, solutions(), strict=True):
        for part in ("tau", "multipliers", "wrenches"):
            size = max(np.abs(other.tau).max(), 1.0)
            assert np.abs(getattr(one, part) - getattr(other, part)).max() < 1e-11 * size, part
        assert np.array_equal(one.rank, other.rank)
        assert one.residual.max() < 1e-13


@pytest.mark.parametrize("problem", ["forward", "inverse", "hybrid", "one prescribed"])
@pytest.mark.parametrize("name", MADE)
def test_derivatives(name, problem, rng, monkeypatch):
    made = MADE[name]()
    model, constraints, names = made.model, made.constraints, list(made.actuated)
    q, qd, qdd = moving(made, rng, 2)
    tau = rng.normal(size=model.nv)

    def derivatives():
        if problem == "forward":
            return ld.constrained_forward_derivatives(model, constraints, q, qd, tau)
        if problem == "inverse":
            return ld.constrained_inverse_derivatives(model, constraints, q, qd, qdd, actuated=names)
        some = names if problem == "hybrid" else names[:1]
        return ld.constrained_hybrid_derivatives(model, constraints, q, qd, qdd, tau, some)

    ours = derivatives()
    by_singular_values(monkeypatch, "derivatives")
    theirs = derivatives()
    for what in ("qdd", "tau", "multipliers"):
        for along in ("dq", "dqd", "dgiven", "dparameters"):
            one, other = (getattr(getattr(x, what), along) for x in (ours, theirs))
            assert np.abs(one - other).max() < 1e-9 * max(np.abs(other).max(), 1.0), (what, along)


def test_a_state_of_lower_rank_among_others(rng):
    """A plane linkage with spatial hinges goes the long way, also in a batch, and with the same forces."""
    plane, space = four_bar(), four_bar(spatial=True)
    q, qd, qdd = moving(plane, rng)
    options = {"actuated": list(plane.actuated), "resolution": "least_torque"}
    a = ld.constrained_inverse_dynamics(plane.model, plane.constraints, q, qd, qdd, **options)
    b = ld.constrained_inverse_dynamics(space.model, space.constraints, q, qd, qdd, **options)
    assert relative(a.tau, b.tau) < 1e-11
    assert np.array_equal(a.rank, b.rank)


def constrained_tree(rng, kind, extras):
    tree = branched(rng, ["free", "revolute", kind, "revolute", "revolute"], [None, 0, 1, 0, 3])
    model = to_model(tree)
    loop = random_loop(rng, "point_in_plane", tree.moving[2], tree.moving[4])
    q0 = tree.random(rng)
    own = []
    if "coupling" in extras:
        own.append(ld.Coupling({model.joint_names[1]: 1.0, model.joint_names[4]: 0.5}, q0[7] + 0.5 * q0[-1]))
    if "user" in extras:
        height = q0[6]
        own.append(ld.UserConstraint("height", 1, lambda x: np.array([x[6] - height + 0.1 * np.sin(x[7] - q0[7])])))
    return model, ld.ConstraintSet(model, [loop, *own]), q0


@pytest.mark.parametrize(
    ("kind", "extras"),
    every_run(
        [("custom_ball", ("coupling",)), ("spherical", ("coupling", "user"))],
        product(("spherical", "custom_ball"), ((), ("coupling",), ("user",), ("coupling", "user"))),
    ),
)
def test_projection(kind, extras, rng):
    model, constraints, q0 = constrained_tree(rng, kind, extras)
    closed = ld.assemble(model, constraints, q0)
    assert closed.converged
    rates = rng.normal(size=(3, model.nv))
    moved = np.array([model.integrate(closed.q, 1e-4 * rng.normal(size=model.nv)) for _ in range(3)])
    q, qd = ld.project_to_constraints(model, constraints, moved, rates)
    found = ld.constraint_quantities(model, constraints, q, qd)
    assert np.abs(found.error).max() < 1e-12
    assert np.abs(found.rate).max() < 1e-8 if "user" in extras else np.abs(found.rate).max() < 1e-11
    for k in range(3):
        alone = ld.project_to_constraints(model, constraints, moved[k], rates[k])
        assert np.abs(model.difference(alone[0], q[k])).max() < 1e-9
        assert np.abs(alone[1] - qd[k]).max() < 1e-6


def test_derivatives_along_parameters_are_made_when_asked_for():
    made = five_bar()
    state = made.q, np.zeros(5), np.ones(5)
    found = ld.constrained_forward_derivatives(made.model, made.constraints, *state)
    again = pickle.loads(pickle.dumps(found))
    assert found.qdd.dparameters is found.qdd.dparameters
    assert np.array_equal(again.tau.dparameters, found.tau.dparameters)
    assert again.qdd.dparameters.shape == (5, 50)
