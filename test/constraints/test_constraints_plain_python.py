"""Constraints with kernels as plain Python: the same numbers, and complex steps through them."""

import numpy as np
from support.compare import relative
from support.loops import random_loop
from support.plain_python import run_in_plain_python
from support.sample_trees import branched, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import five_bar, four_bar


def robot():
    rng = np.random.default_rng(5)
    tree = branched(rng, ["composite", "revolute", "universal", "prismatic", "planar"], [None, 0, 1, 0, 3])
    model = to_model(tree)
    loop = random_loop(rng, "universal", tree.moving[2], tree.moving[4])
    constraints = ld.ConstraintSet(model, [loop, ld.Coupling({model.joint_names[1]: 1.0, model.joint_names[3]: 0.5})])
    return model, constraints, tree.random(rng), *rng.normal(size=(3, model.nv))


def evaluate():
    model, constraints, q, qd, qdd, tau = robot()
    forward = ld.constrained_forward_dynamics(model, constraints, q, qd, tau)
    mask = np.arange(model.nv) == 7
    hybrid = ld.constrained_hybrid_dynamics(model, constraints, q, qd, qdd, tau, mask)
    slopes = ld.constrained_forward_derivatives(model, constraints, q, qd, tau)
    spatial = four_bar(spatial=True)
    v = ld.consistent_velocity(spatial.model, spatial.constraints, spatial.q, np.array([1.0, 0.0, 0.0]))
    deficient = ld.constrained_forward_dynamics(spatial.model, spatial.constraints, spatial.q, v, np.zeros(3))
    made = five_bar()
    moved, rates = ld.project_to_constraints(made.model, made.constraints, made.q + 1e-3, np.ones(5))
    inverse = ld.constrained_inverse_dynamics(
        made.model, made.constraints, moved, rates, np.ones(5), resolution="least_torque"
    )
    none = ld.constrained_forward_derivatives(model, constraints, *np.zeros((3, 0, model.nv)))
    table = ld.ModelBuilder().build()
    still = ld.constrained_forward_sensitivity(table, ld.ConstraintSet(table, []), *np.zeros((3, 0)), [])
    held = ld.constrained_inverse_derivatives(
        made.model, made.constraints, moved, rates, np.ones(5), actuated=list(made.actuated)
    )
    tracker = ld.ClosedLoopTracker(made.model, made.constraints, made.q, made.actuated, np.full(5, 3.0))
    tracked = tracker.update_many(made.q[[0, 4]] + 1e-3 * np.arange(5)[:, None], dt=1e-3)
    return {
        "projected": np.concatenate([moved, rates]),
        "inverse": inverse.tau,
        "inverse slope": held.tau.dq,
        "tracked": tracked.q,
        "of no states and no joints": np.array([*none.qdd.dq.shape, *still.qdd.shape]),
        "regular for": tracked.regular_for * tracked.certified,
        "forward": forward.qdd,
        "multipliers": forward.multipliers,
        "hybrid": hybrid.tau,
        "slope": slopes.qdd.dq,
        "deficient": deficient.qdd,
        "rank": np.array([forward.rank, deficient.rank]),
        "bias": ld.constraint_quantities(model, constraints, q, qd).bias,
    }


def complex_steps():
    """Derivatives along q and qd of a plain evaluation, exact to round-off."""
    model, constraints, q, qd, _, tau = robot()
    h, columns = 1e-30, []
    for e in np.eye(model.nv):
        moved = q + 1j * h * e
        columns.append(ld.constrained_forward_dynamics(model, constraints, moved, qd, tau).qdd.imag / h)
    return {"complex_slope": np.array(columns).T}


def test_the_same_numbers_and_exact_derivatives(tmp_path):
    plain, compiled = run_in_plain_python(__file__, tmp_path, "evaluate", "complex_steps"), evaluate()
    for name, value in compiled.items():
        assert relative(plain[name], value) < 1e-10, name
    assert compiled["rank"].tolist() == [5, 2]
    assert relative(compiled["slope"], plain["complex_slope"]) < 1e-11
