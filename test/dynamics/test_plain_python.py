"""The kernels as plain Python: the same numbers, one warning where numba is missing, complex steps."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.compare import relative
from support.grids import every_run
from support.plain_python import run_in_plain_python
from support.sample_trees import around, to_model, zoo

from lie_dynamics_ros import lie_dynamics as ld

TEST_FOLDER = Path(__file__).resolve().parent.parent
PROGRAM = """
import sys, warnings
{before}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import lie_dynamics_ros.lie_dynamics as library
    from lie_dynamics_ros.lie_dynamics.engine.compile import COMPILED
    sys.path.insert(0, sys.argv[1])
    from dynamics import test_plain_python as shared
    import numpy as np
    assert not COMPILED
    results = shared.evaluate()
about = [str(w.message) for w in caught if "numba" in str(w.message)]
assert not [w for w in caught if w.category is RuntimeWarning], [str(w.message) for w in caught]
print(len(about), "numba" in sys.modules and sys.modules["numba"] is not None)
np.savez(sys.argv[2], **results)
"""
WITHOUT_NUMBA = "sys.modules['numba'] = None"


def evaluate():
    """Results of every family of kernels for a tree of all kinds of joints: single, batch, with wrenches."""
    rng = np.random.default_rng(8)
    tree = zoo(rng)
    model = to_model(tree)
    q = np.array([tree.random(rng) for _ in range(2)])
    qd, qdd = rng.normal(size=(2, 2, tree.nv))
    f_ext, given = rng.normal(size=(2, model.n_bodies, 6)), rng.random(tree.nv) < 0.5
    out = {}
    for name, s in (("single", 0), ("batch", slice(None))):
        state = q[s], qd[s], qdd[s]
        out[f"inverse {name}"] = ld.inverse_dynamics(model, *state, f_ext[s])
        out[f"forward {name}"] = ld.forward_dynamics(model, *state)
        out[f"hybrid {name}"] = np.array(ld.hybrid_dynamics(model, *state, qdd[s], given, f_ext[s]))
        out[f"poses {name}"] = ld.forward_kinematics(model, q[s])
        out[f"mass {name}"] = ld.mass_matrix(model, q[s])
        out[f"christoffel {name}"] = ld.coriolis_matrix(model, q[s], qd[s])
        out[f"ploen {name}"] = ld.coriolis_matrix(model, q[s], qd[s], "ploen")
        out[f"jacobian rate {name}"] = ld.jacobian_rate(model, q[s], qd[s], model.n_bodies - 1, "world")
        out[f"energy {name}"] = ld.kinetic_energy(model, q[s], qd[s])
    return out


def run(program, tmp_path, **environment):
    arguments = [sys.executable, "-c", program, str(TEST_FOLDER), str(tmp_path / "out.npz")]
    result = subprocess.run(arguments, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    assert result.returncode == 0, result.stderr
    return result.stdout.split(), dict(np.load(tmp_path / "out.npz"))


@pytest.mark.parametrize("case", every_run(["without numba"], ["without numba", "compilation switched off"]))
def test_the_same_numbers(case, tmp_path):
    if case == "without numba":
        (warned, loaded), plain = run(PROGRAM.format(before=WITHOUT_NUMBA), tmp_path)
        assert (warned, loaded) == ("1", "False")
    else:
        (warned, _), plain = run(PROGRAM.format(before=""), tmp_path, NUMBA_DISABLE_JIT="1")
        assert warned == "0"
    compiled = evaluate()
    assert plain.keys() == compiled.keys()
    for name, value in compiled.items():
        limit = 1e-9 if name.startswith(("forward", "hybrid")) else 1e-12  # condition of M up to 1e6
        assert relative(plain[name], value) < limit, name


def test_compilation_ahead_says_that_there_is_nothing_to_compile():
    run_it = "runpy.run_module('lie_dynamics_ros.lie_dynamics.engine', run_name='__main__')"
    program = f"import runpy, sys; {WITHOUT_NUMBA}; {run_it}"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "nothing to compile" in result.stdout


STEP = 1e-30


def sample():
    rng = np.random.default_rng(3)
    tree = around(rng, "universal")
    return tree, to_model(tree), tree.random(rng), *rng.normal(size=(4, tree.nv))


def complex_steps():
    """Derivatives along random directions, single and in a batch."""
    _, model, q, qd, qdd, v, _ = sample()
    z = q + 1j * STEP * v
    given = np.arange(model.nv) % 2 == 0
    return {
        "inverse": ld.inverse_dynamics(model, z, qd, qdd).imag / STEP,
        "inverse batch": ld.inverse_dynamics(model, np.array([z, z]), qd, qdd).imag[1] / STEP,
        "inverse qd": ld.inverse_dynamics(model, q, qd + 1j * STEP * v, qdd).imag / STEP,
        "inverse f_ext": ld.inverse_dynamics(model, q, qd, qdd, 1j * STEP * np.ones((model.n_bodies, 6))).imag / STEP,
        "forward": ld.forward_dynamics(model, z, qd, qdd).imag / STEP,
        "hybrid": np.array(ld.hybrid_dynamics(model, z, qd, qdd, qdd, given)).imag / STEP,
        "mass": ld.mass_matrix(model, z).imag / STEP,
        "poses": ld.forward_kinematics(model, z).imag / STEP,
    }


@pytest.mark.slow  # in every run inverse, forward and hybrid dynamics: test_sensitivity_plain_python
def test_complex_steps_through_the_kernels(tmp_path):
    """Against the dense definition, itself differentiated by complex steps, and central differences (1e-8)."""
    found = run_in_plain_python(__file__, tmp_path, "complex_steps")
    tree, model, q, qd, qdd, v, _ = sample()
    expected = tree.inverse_dynamics(q, qd, qdd, step=1j * STEP * v).imag / STEP
    assert relative(found["inverse"], expected) < 1e-12
    assert relative(found["inverse batch"], expected) < 1e-12
    assert relative(found["mass"], tree.mass_matrix_rate(q, v)) < 1e-12
    h = 1e-6
    given = np.arange(model.nv) % 2 == 0
    central = {
        "inverse": lambda t: ld.inverse_dynamics(model, q + t * v, qd, qdd),
        "inverse qd": lambda t: ld.inverse_dynamics(model, q, qd + t * v, qdd),
        "inverse f_ext": lambda t: ld.inverse_dynamics(model, q, qd, qdd, t * np.ones((model.n_bodies, 6))),
        "forward": lambda t: ld.forward_dynamics(model, q + t * v, qd, qdd),
        "hybrid": lambda t: np.array(ld.hybrid_dynamics(model, q + t * v, qd, qdd, qdd, given)),
        "poses": lambda t: ld.forward_kinematics(model, q + t * v),
    }
    for name, function in central.items():
        assert relative(found[name], (function(h) - function(-h)) / (2 * h)) < 1e-7, name
