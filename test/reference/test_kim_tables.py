"""Kim's Tables 2 to 7 as they stand in the paper, against the definition of dynamics (support/dense.py)."""

from dataclasses import replace

import numpy as np
import pytest
from support.compare import in_forces, relative
from support.dense import Tree
from support.grids import every_run
from support.sample_trees import around, chain, each_kind, to_model

from lie_dynamics_ros.lie_dynamics import DescriptionError, InputError, ModelBuilder, SpatialInertia, joint_types
from lie_dynamics_ros.lie_dynamics.lie import inertial_parameters
from lie_dynamics_ros.lie_dynamics.reference import kim_derivatives
from lie_dynamics_ros.lie_dynamics.reference.kim_derivatives import (
    forward_dynamics_derivative,
    hybrid_dynamics_derivative,
    inverse_dynamics_derivative,
)
from lie_dynamics_ros.lie_dynamics.reference.kim_dynamics import (
    forward_dynamics,
    hybrid_dynamics,
    inverse_dynamics,
    robot_at,
)

STEP = 1e-30
WITH_SLOPES = ["revolute", "helical", "universal", "planar", "composite", "spherical", "free"]


class Changed(Tree):
    """A tree with an imaginary change of one body's generalised inertia."""

    def __init__(self, tree, name, change):
        super().__init__(tree.bodies, tree.gravity)
        self.name, self.change = name, change

    def generalized_inertia(self, body):
        return super().generalized_inertia(body) + 1j * STEP * self.change * (body.name == self.name)


@pytest.fixture(params=each_kind())
def tree(request, rng):
    return around(rng, request.param)


def state_of(tree, rng):
    qd, qdd, tau = rng.normal(size=(3, tree.nv))
    return tree.random(rng), qd, qdd, tau, rng.normal(size=(len(tree.moving), 6))


def split(model, rng):
    """A random choice of joints in u, as a mask of coordinates."""
    return np.concatenate([[rng.random() < 0.5] * joint.type.nv for joint in model.joints])


def test_tables_2_3_and_4(tree, rng):
    model = to_model(tree)
    q, qd, qdd, tau, f = state_of(tree, rng)
    M = tree.mass_matrix(q)
    assert relative(inverse_dynamics(model, q, qd, qdd, f).tau, tree.inverse_dynamics(q, qd, qdd, f)) < 1e-12
    assert in_forces(M, forward_dynamics(model, q, qd, tau, f).qdd, tree.forward_dynamics(q, qd, tau, f)) < 1e-11
    given = split(model, rng)
    expected, run = tree.hybrid_dynamics(q, qd, qdd, tau, given, f), hybrid_dynamics(model, q, qd, qdd, tau, given, f)
    assert in_forces(M, run.qdd, expected[0]) < 1e-11
    assert relative(run.tau, expected[1]) < 1e-9  # the solve of M in the oracle has a condition up to 1e7
    # The forces of Table 4, (43), are those of Table 2 for the motion found.
    again = inverse_dynamics(model, q, qd, run.qdd, f)
    assert all(relative(run.F[i], again.F[i]) < 1e-9 for i in range(model.n_bodies))


@pytest.mark.parametrize("kind", every_run(["spherical"], WITH_SLOPES))
def test_tables_5_6_and_7(kind, rng):
    """Complex steps of inverse dynamics at constant qdd; then M dqdd = dtau - that."""
    tree = around(rng, kind)
    model, n = to_model(tree), tree.nv
    q, qd, qdd, tau, f = state_of(tree, rng)
    robot, units, M = robot_at(model, q, qd, f), np.eye(n), tree.mass_matrix(q)
    parameters = [kim_derivatives.along_coordinate(robot, k) for k in range(n)]
    parameters += [kim_derivatives.along_rate(robot, k) for k in range(n)]
    for name in ("dqdd", "dtau"):
        for unit in units:
            parameters.append(kim_derivatives.Slopes.none(robot))
            setattr(parameters[-1], name, unit)
    unit_inertias = inertial_parameters.generalized_inertia(np.eye(10))
    parameters += [kim_derivatives.along_inertia(robot, k % model.n_bodies, k) for k in range(10)]
    for given in (np.ones(n, bool), np.zeros(n, bool), split(model, rng)):
        run = hybrid_dynamics(model, q, qd, qdd, tau, given, f)
        a = tree.hybrid_dynamics(q, qd, qdd, tau, given, f)[0]
        fixed = [tree.inverse_dynamics(q, qd, a, f, step=1j * STEP * e).imag / STEP for e in units]
        fixed += [tree.inverse_dynamics(q, qd + 1j * STEP * e, a, f).imag / STEP for e in units]
        fixed += [M @ (given * e) for e in units] + [np.zeros(n)] * n
        for k, change in enumerate(unit_inertias):
            changed = Changed(tree, model.body_names[k % model.n_bodies], change)
            fixed.append(changed.inverse_dynamics(q, qd, a, f).imag / STEP)
        dqdd = np.array([p.dqdd * given for p in parameters])
        free, dtau_given = ~given, np.array([p.dtau * ~given for p in parameters])
        rest = (dtau_given - fixed)[:, free]
        dqdd[:, free] = np.linalg.solve(M[np.ix_(free, free)], rest.T).T
        dtau = np.where(given, fixed + (dqdd * free) @ M, dtau_given)
        largest = (np.abs(dqdd) @ np.abs(M)).max()
        inverse, forward = inverse_dynamics(model, q, qd, qdd, f), forward_dynamics(model, q, qd, tau, f)
        for k, p in enumerate(parameters):
            p = replace(p, dqdd=p.dqdd * given, dtau=p.dtau * ~given)
            found = hybrid_dynamics_derivative(run, p)
            assert np.abs((found[0] - dqdd[k]) @ M).max() < 1e-10 * largest  # as forces: see `compare.in_forces`
            assert np.abs(found[1] - dtau[k]).max() < 1e-9 * np.abs(dtau).max()
            if given.all():
                table_5 = inverse_dynamics_derivative(inverse, p)
                assert np.abs(table_5 - dtau[k]).max() < 1e-12 * np.abs(dtau).max()
            if not given.any():
                table_6 = forward_dynamics_derivative(forward, p)
                assert np.abs((table_6 - dqdd[k]) @ M).max() < 1e-10 * largest


def test_refused(rng):
    model = to_model(chain(rng, ["revolute", "universal", "custom_rail"]))
    x = np.zeros(model.nv)
    with pytest.raises(InputError, match=r"q: .*\(4,\)"):
        inverse_dynamics(model, np.zeros((2, 4)), x, x)
    with pytest.raises(InputError, match="qdd"):
        inverse_dynamics(model, x, x, np.zeros(3))
    with pytest.raises(InputError, match="f_ext"):
        inverse_dynamics(model, x, x, x, np.zeros((2, 3, 6)))
    with pytest.raises(InputError, match="joint universal 1"):
        hybrid_dynamics(model, x, x, x, x, [True, True, False, False])
    with pytest.raises(InputError, match="booleans"):
        hybrid_dynamics(model, x, x, x, x, [1, 0, 0, 1])
    with pytest.raises(InputError, match="joint custom_rail 2"):
        kim_derivatives.along_coordinate(robot_at(model, x, x), 3)
    body = SpatialInertia(1.0, [1.0, 0.0, 0.0], np.eye(3))
    builder = ModelBuilder().add("a", joint=joint_types.revolute(), inertia=body, armature=2.0)
    builder.add("b", "a", joint_types.revolute(), inertia=body, mimic=("a", 2.0, 0.0))
    for other in (builder.build().with_joint_terms(armature=True), builder.build().with_coupled_mimics()):
        with pytest.raises(DescriptionError):
            robot_at(other, np.zeros(other.nq), np.zeros(other.nv))
