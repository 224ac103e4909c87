"""Sensitivities and second derivatives by kernels as plain Python: the same numbers, and complex steps through them."""

import numpy as np
from support.compare import relative
from support.plain_python import run_in_plain_python
from support.sample_trees import branched, to_model

from lie_dynamics_ros import lie_dynamics as ld

STEP = 1e-30


def sample():
    rng = np.random.default_rng(1)
    tree = branched(rng, ["revolute", "universal", "prismatic", "helical"], [None, 0, 1, 1])
    model = to_model(tree)
    f = rng.normal(size=(model.n_bodies, 6))
    return model, tree.random(rng), *rng.normal(size=(4, tree.nv)), f, np.arange(model.nv) % 3 == 0


def evaluate():
    model, q, qd, qdd, v, y, f, given = sample()
    parameters = [
        ld.Parameter.custom(dq=v),
        ld.Parameter.custom(dqd=v),
        ld.Parameter.custom(dqdd=v),
        ld.Parameter.custom(dtau=v),
    ]
    others = [ld.Parameter.inertia(3, 5), ld.Parameter.axis(3, [1, 2, 3]), ld.Parameter.external_force(2, 4, "world")]
    second = ld.inverse_dynamics_second_derivatives(model, q, qd, qdd, y, f)
    whole = ld.inverse_dynamics_second_derivatives(model, q, qd, qdd, None, f)
    packed = ld.inverse_dynamics_second_derivatives(model, [q, q + 1], qd, qdd, None, f, packed=True)
    solved = ld.forward_dynamics_second_derivatives(model, q, qd, qdd, f_ext=f)
    kept = ld.forward_dynamics_second_derivatives(model, [q, q + 1], qd, qdd, f_ext=f, packed=True)
    names = ("dq_dq", "dq_dqd", "dqd_dqd", "dq_dqdd")
    return {
        "inverse": ld.inverse_dynamics_sensitivity(model, q, qd, qdd, parameters[:3], f),
        "forward": ld.forward_dynamics_sensitivity(model, q, qd, qdd, [*parameters[:2], parameters[3]], f),
        "hybrid": np.array(ld.hybrid_dynamics_sensitivity(model, q, qd, qdd, qdd, given, parameters, f)),
        "others": ld.inverse_dynamics_sensitivity(model, q, qd, qdd, others, f, f_ext_held="aligned"),
        "batch": ld.inverse_dynamics_sensitivity(model, np.array([q, q + 1, q - 1]), qd, qdd, others, f)[:, 1],
        **{name: getattr(second, name) for name in names},
        "packed": packed.values,
        "forward packed": kept.values,
        **{f"forward {name}": getattr(solved, name) for name in (*names[:3], "dq_dtau")},
        **{f"whole {name}": np.tensordot(y, getattr(whole, name), 1) for name in names},
    }


def complex_steps():
    """The same derivatives along v, of functions that are one derivative lower."""
    model, q, qd, qdd, v, y, f, given = sample()
    u = 1j * STEP * v
    inverse = [(q + u, qd, qdd), (q, qd + u, qdd), (q, qd, qdd + u)]
    hybrid = [(*x, qdd) for x in inverse] + [(q, qd, qdd, qdd + u)]
    units = [[make(k) for k in range(model.nv)] for make in (ld.Parameter.q, ld.Parameter.qd, ld.Parameter.qdd)]
    first = [np.array([ld.inverse_dynamics_sensitivity(model, *x, p, f) @ y for p in units]) for x in inverse[:2]]
    found = {
        "step inverse": [ld.inverse_dynamics(model, *x, f) for x in inverse],
        "step forward": [ld.forward_dynamics(model, *x, f) for x in inverse],
        "step hybrid": np.moveaxis([ld.hybrid_dynamics(model, *x, given, f) for x in hybrid], 1, 0),
        "step second": first,
    }
    return {name: np.imag(value) / STEP for name, value in found.items()}


def test_plain_python_and_complex_steps(tmp_path):
    plain, compiled = run_in_plain_python(__file__, tmp_path, "evaluate", "complex_steps"), evaluate()
    for name, value in compiled.items():
        assert relative(plain[name], value) < (1e-9 if name.startswith(("forward", "hybrid")) else 1e-12), name
    assert relative(compiled["inverse"], plain["step inverse"]) < 1e-12
    assert relative(compiled["forward"], plain["step forward"]) < 1e-10  # condition of the mass matrix
    assert relative(compiled["hybrid"], plain["step hybrid"]) < 1e-10
    v = sample()[4]
    along_q, along_qd = plain["step second"]
    assert relative(compiled["dq_dq"] @ v, along_q[0]) < 1e-12
    assert relative(v @ compiled["dq_dqd"], along_q[1]) < 1e-12
    assert relative(v @ compiled["dq_dqdd"], along_q[2]) < 1e-12
    assert relative(compiled["dq_dqd"] @ v, along_qd[0]) < 1e-12
    assert relative(compiled["dqd_dqd"] @ v, along_qd[1]) < 1e-12
