"""The kernels of simulation and control as plain Python give the numbers of the compiled ones."""

import numpy as np
from support.compare import relative
from support.plain_python import run_in_plain_python
from support.sample_trees import branched, to_model

from lie_dynamics_ros.lie_dynamics import JointFriction
from lie_dynamics_ros.lie_dynamics.control import slotine_li_regressor
from lie_dynamics_ros.lie_dynamics.simulation import JointPhysics, simulate


def evaluate():
    """A few steps of each integrator, with all that joints do, and a regressor."""
    rng = np.random.default_rng(3)
    kinds = ["revolute", "spherical", "free", "universal", "prismatic"]
    model = to_model(branched(rng, kinds, [None, 0, None, 2, 1]))
    q, (qd, v, a) = model.random(rng), rng.normal(size=(3, model.nv))
    given = rng.random(model.nv) < 0.3
    dry = np.ones(model.nv)
    free = next(joint for joint in model.joints if joint.kind == "free")
    dry[free.v_slice.start + 3 : free.v_slice.stop] = 0.0  # no kernel has friction along the axes of the world
    joints = JointPhysics.none(model).changed(
        damping=np.full(model.nv, 0.2), friction=0.5 * dry, upper=np.full(model.nv, 0.3),
        stop_stiffness=np.full(model.nv, 50.0), stop_damping=np.full(model.nv, 1.0),
        law=JointFriction(np.full(model.nv, 0.1), 0.2 * dry, 0.4 * dry, 0.5, 0.05 * dry),
    )  # fmt: skip
    f_ext = rng.normal(size=(model.n_bodies, 6))
    out = {"friction": joints.law.force(qd, v), "transmitted": joints.law.transmitted(v, qd)}
    out |= {"regressor": slotine_li_regressor(model, q, qd, v, a)}
    for method in ("semi_implicit", "rkmk4", "variational"):
        motion = simulate(
            model, q, qd, v, duration=0.005, method=method, joints=joints, qdd=a, prescribed=given, f_ext=f_ext
        )
        for name in ("q", "qd", "qdd", "tau"):
            out[f"{method} {name}"] = getattr(motion, name)
    return out


def test_plain_python_agrees(tmp_path):
    plain, compiled = run_in_plain_python(__file__, tmp_path, "evaluate"), evaluate()
    assert set(plain) == set(compiled)
    for name, value in compiled.items():
        # Accelerations of the variational step are differences over 1 ms of what it solves to round-off.
        assert relative(plain[name], value) < (1e-7 if name == "variational qdd" else 1e-9), name
