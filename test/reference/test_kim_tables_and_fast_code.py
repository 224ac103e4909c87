"""The library's dynamics and sensitivities of random and real robots against Kim's Tables 2 to 7 in plain numpy."""

from dataclasses import replace

import numpy as np
import pytest
from support.compare import in_forces, relative
from support.grids import every_run
from support.robots import PANDA, PR2, TALOS, load
from support.sample_trees import ALIKE, JOINTS, branched, to_model, zoo

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.reference import kim_derivatives, kim_dynamics
from lie_dynamics_ros.lie_dynamics.reference.kim_derivatives import (
    forward_dynamics_derivative,
    hybrid_dynamics_derivative,
    inverse_dynamics_derivative,
)
from lie_dynamics_ros.lie_dynamics.reference.kim_dynamics import robot_at

WITH_SLOPES = [kind for kind in JOINTS if not kind.startswith("custom")]


def random_tree(rng, kinds):
    """Joints in random order on random parents."""
    kinds = list(rng.permutation(kinds))
    return to_model(branched(rng, kinds, [None, *(int(rng.integers(max(0, k - 4), k)) for k in range(1, len(kinds)))]))


ROBOTS = {f"zoo {k}": (lambda rng: to_model(zoo(rng))) for k in range(6)} | {
    name: (lambda rng, name=name, floating=floating: load(name, floating))
    for name, floating in ((PANDA, False), (TALOS, True), (PR2, True))
}


def state_of(model, rng):
    return model.random(rng), *rng.normal(size=(3, model.nv)), rng.normal(size=(model.n_bodies, 6))


def masks(model, rng):
    """Nothing given, all given, and joints at random."""
    some = np.concatenate([[rng.random() < 0.5] * joint.type.nv for joint in model.joints])
    return np.zeros(model.nv, bool), np.ones(model.nv, bool), some


@pytest.mark.parametrize("name", every_run(("zoo 0", "zoo 1", TALOS), ROBOTS))
def test_tables_2_3_and_4(name, rng):
    model = ROBOTS[name](rng)
    q, qd, qdd, tau, f = state_of(model, rng)
    M = ld.mass_matrix(model, q)
    run = kim_dynamics.inverse_dynamics(model, q, qd, qdd, f)
    assert relative(ld.inverse_dynamics(model, q, qd, qdd, f), run.tau) < 1e-12
    run = kim_dynamics.forward_dynamics(model, q, qd, tau, f)
    assert in_forces(M, ld.forward_dynamics(model, q, qd, tau, f), run.qdd) < 1e-11
    for given in masks(model, rng):
        run = kim_dynamics.hybrid_dynamics(model, q, qd, qdd, tau, given, f)
        found = ld.hybrid_dynamics(model, q, qd, qdd, tau, given, f)
        assert in_forces(M, found[0], run.qdd) < 1e-11
        assert relative(found[1], run.tau) < 1e-9  # condition of the mass matrix


def parameters(model, robot, rng):
    """Parameters of the library, each with its slopes for the tables."""
    n, found = model.nv, []

    def add(parameter, **slopes):
        found.append((parameter, replace(kim_derivatives.Slopes.none(robot), **slopes)))

    def one(k, value, width=(6,)):
        rows = np.zeros((model.n_bodies, *width))
        rows[k] = value
        return rows

    found += [(ld.Parameter.q(k), kim_derivatives.along_coordinate(robot, k)) for k in range(n)]
    found += [(ld.Parameter.qd(k), kim_derivatives.along_rate(robot, k)) for k in range(n)]
    bodies = range(model.n_bodies)
    found += [
        (ld.Parameter.inertia(k, 3 * k % 10), kim_derivatives.along_inertia(robot, k, 3 * k % 10)) for k in bodies
    ]
    for unit in np.eye(n):
        add(ld.Parameter.custom(dqdd=unit), dqdd=unit)
        add(ld.Parameter.custom(dtau=unit), dtau=unit)
    g, twist, wrench = rng.normal(size=3), *rng.normal(size=(2, 6))
    add(ld.Parameter.gravity(g), ddV_0=np.concatenate([np.zeros(3), -g]))
    add(ld.Parameter.custom(dh={3: twist}), dh=one(3, twist))
    add(ld.Parameter.external_force(2, wrench), dF_ext=one(2, wrench))
    return [parameter for parameter, _ in found], [slopes for _, slopes in found]


@pytest.mark.parametrize(
    ("seed", "kinds"),
    [
        (0, [kind for kind in WITH_SLOPES if kind not in ALIKE]),
        *(pytest.param(seed, WITH_SLOPES, marks=pytest.mark.slow) for seed in (0, 1, 2)),
    ],
)
def test_tables_5_6_and_7(seed, kinds):
    """Each parameter's derivatives, and columns of those of all coordinates at once."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, kinds)
    q, qd, qdd, tau, f = state_of(model, rng)
    wanted, slopes = parameters(model, robot_at(model, q, qd, f), rng)
    M, n = ld.mass_matrix(model, q), model.nv

    def same_accelerations(found, expected):
        assert np.abs((found - expected) @ M).max() <= 1e-10 * (np.abs(expected) @ np.abs(M)).max()

    run = kim_dynamics.inverse_dynamics(model, q, qd, qdd, f)
    expected = np.array([inverse_dynamics_derivative(run, p) for p in slopes])
    assert relative(ld.inverse_dynamics_sensitivity(model, q, qd, qdd, wanted, f), expected) < 1e-12
    whole = ld.inverse_dynamics_derivatives(model, q, qd, qdd, f)
    assert relative(np.concatenate([whole.dq, whole.dqd], axis=1).T, expected[: 2 * n]) < 1e-12

    run = kim_dynamics.forward_dynamics(model, q, qd, tau, f)
    expected = np.array([forward_dynamics_derivative(run, p) for p in slopes])
    same_accelerations(ld.forward_dynamics_sensitivity(model, q, qd, tau, wanted, f), expected)
    whole = ld.forward_dynamics_derivatives(model, q, qd, tau, f)
    same_accelerations(np.concatenate([whole.dq, whole.dqd], axis=1).T, expected[: 2 * n])

    for given in masks(model, rng):
        run = kim_dynamics.hybrid_dynamics(model, q, qd, qdd, tau, given, f)
        # What is not given does not change by itself.
        own = [replace(p, dqdd=p.dqdd * given, dtau=p.dtau * ~given) for p in slopes]
        dqdd, dtau = (np.array(x) for x in zip(*(hybrid_dynamics_derivative(run, p) for p in own), strict=True))
        found = ld.hybrid_dynamics_sensitivity(model, q, qd, qdd, tau, given, wanted, f)
        same_accelerations(found[0], dqdd)
        assert relative(found[1], dtau) < 1e-9  # condition of the mass matrix
        whole = ld.hybrid_dynamics_derivatives(model, q, qd, qdd, tau, given, f)
        same_accelerations(np.concatenate([whole.dqdd_dq, whole.dqdd_dqd], axis=1).T, dqdd[: 2 * n])
        assert relative(np.concatenate([whole.dtau_dq, whole.dtau_dqd], axis=1).T, dtau[: 2 * n]) < 1e-9
