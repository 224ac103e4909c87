"""Direct entry points: they take the arrays they are made for, refuse others, and keep the books of the interpreter.

What an entry point refuses, the public functions convert: so these must give the same numbers for any kind of array.
"""

import gc
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from support.compare import relative
from support.sample_trees import chain, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.control.passivity import slotine_li_regressor
from lie_dynamics_ros.lie_dynamics.dynamics.inputs import NO_WRENCH
from lie_dynamics_ros.lie_dynamics.dynamics.kernels import inverse_dynamics as gravity_kernels
from lie_dynamics_ros.lie_dynamics.dynamics.kernels import inverse_dynamics as kernels
from lie_dynamics_ros.lie_dynamics.engine import fastcall as layout
from lie_dynamics_ros.lie_dynamics.engine.compile import COMPILED
from lie_dynamics_ros.lie_dynamics.stewart import StewartTracker, reference_platform

ROUND_OFF = 1e-13  # what is converted may take the kernel of batches, whose sums are in another order
TEST_FOLDER = Path(__file__).resolve().parent.parent
entries_only = pytest.mark.skipif(
    os.environ.get(layout.SWITCH) == "0", reason="nothing to compare: numba's dispatcher is asked for"
)
compiled_only = pytest.mark.skipif(not COMPILED, reason="kernels run as plain Python")


@pytest.fixture(name="model")
def fixture_model(rng):
    return to_model(chain(rng, ["revolute", "prismatic", "universal"]))


def functions(model):
    """Each public function that calls an entry point, as a function of the same four vectors."""
    mask = np.arange(model.nv) % 2 == 0
    wrench = np.linspace(-1.0, 1.0, 6 * model.n_bodies).reshape(-1, 6)
    return {
        "inverse": lambda q, a, b, c: ld.inverse_dynamics(model, q, a, b),
        "inverse loaded": lambda q, a, b, c: ld.inverse_dynamics(model, q, a, b, wrench),
        "forward": lambda q, a, b, c: ld.forward_dynamics(model, q, a, b),
        "hybrid": lambda q, a, b, c: np.concatenate(ld.hybrid_dynamics(model, q, a, b, c, mask)),
        "hybrid loaded": lambda q, a, b, c: np.concatenate(ld.hybrid_dynamics(model, q, a, b, c, mask, wrench)),
        "gravity": lambda q, a, b, c: ld.gravity_force(model, q),
        "mass": lambda q, a, b, c: ld.mass_matrix(model, q),
        "coriolis": lambda q, a, b, c: ld.coriolis_matrix(model, q, a),
        "poses": lambda q, a, b, c: ld.forward_kinematics(model, q),
        "jacobian": lambda q, a, b, c: ld.jacobian(model, q, model.n_bodies - 1, "world"),
        "center": lambda q, a, b, c: ld.center_of_mass(model, q),
        "energy": lambda q, a, b, c: ld.kinetic_energy(model, q, a),
        "symbols": lambda q, a, b, c: ld.christoffel_symbols(model, q),
        "regressor": lambda q, a, b, c: ld.torque_regressor(model, q, a, b),
        "adaptive regressor": lambda q, a, b, c: slotine_li_regressor(model, q, a, b, c),
        "inverse derivatives": lambda q, a, b, c: ld.inverse_dynamics_derivatives(model, q, a, b, wrench).dq,
        "forward derivatives": lambda q, a, b, c: ld.forward_dynamics_derivatives(model, q, a, b).dq,
        "hybrid derivatives": lambda q, a, b, c: ld.hybrid_dynamics_derivatives(model, q, a, b, c, mask).dtau_dq,
    }


class Labelled(np.ndarray):
    """An array of another class, as libraries of units make them."""


def as_labelled(x):
    return x.view(Labelled)


def as_read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def as_strided(x):
    wide = np.full(2 * x.size, np.nan)
    wide[::2] = x
    return wide[::2]


def as_unaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)
    raw[1:] = np.frombuffer(x.tobytes(), np.uint8)
    return raw[1:].view(float)


OTHER_ARRAYS = {
    "list": list,
    "tuple": tuple,
    "subclass": as_labelled,
    "read-only": as_read_only,
    "strided": as_strided,
    "reversed": lambda x: x[::-1].copy()[::-1],
    "unaligned": as_unaligned,
    "other byte order": lambda x: x.astype(">f8"),
    "this byte order, named": lambda x: x.astype("<f8"),
    "long double": lambda x: x.astype(np.longdouble),
}


@pytest.mark.parametrize("form", OTHER_ARRAYS)
def test_any_form_of_array_gives_the_same_numbers(rng, model, form):
    state = rng.uniform(-1.0, 1.0, (4, model.nv))
    for name, function in functions(model).items():
        wanted = function(*state)
        for k in range(4):
            given = [OTHER_ARRAYS[form](x) if j == k else x for j, x in enumerate(state)]
            found = function(*given)
            assert type(found) is np.ndarray, name
            assert relative(np.asarray(found, float), wanted) < ROUND_OFF, (name, k)


@pytest.mark.parametrize("form", OTHER_ARRAYS)
def test_any_form_of_leg_lengths_gives_the_same_pose(form):
    platform, convert = reference_platform(), OTHER_ARRAYS[form]
    home = platform.home_pose
    lengths = platform.leg_lengths(home) + np.linspace(-0.02, 0.03, 6)
    state = lengths, np.linspace(0.1, 0.3, 6), np.linspace(-0.2, 0.4, 6)
    wanted = StewartTracker(platform, home).update(*state).require()
    for known in (1, 2, 3):
        found = StewartTracker(platform, home).update(*map(convert, state[:known])).require()
        assert np.array_equal(found.pose, wanted.pose)
        assert known < 2 or np.array_equal(found.twist, wanted.twist)
        assert known < 3 or np.array_equal(found.acceleration, wanted.acceleration)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
def test_numbers_of_other_kinds_are_converted(rng, model, dtype):
    state = rng.uniform(0.2, 3.0, (4, model.nv)).astype(dtype)
    # Lists take the same way to the same kernel; the test above compares that way with the entry points.
    same = [x.astype(float).tolist() for x in state]
    for name, function in functions(model).items():
        assert np.array_equal(function(*state), function(*same)), name


def test_wrong_shapes_and_numbers_still_get_their_errors(rng, model):
    state = rng.uniform(-1.0, 1.0, (3, model.nv))
    for wrong in (state[0, :-1], state[0, :0], np.zeros(()), np.append(state[0], 0.0)):
        with pytest.raises(ld.InputError, match="qd"):
            ld.inverse_dynamics(model, state[0], wrong, state[1])
    with pytest.raises(ld.InputError, match="nan"):
        ld.forward_dynamics(model, state[0], state[1], np.full(model.nv, np.nan))


@compiled_only
@entries_only
def test_an_entry_point_refuses_what_it_is_not_made_for(model):
    x, out = np.zeros(model.nv), np.ones(model.nv)
    kernel = kernels.inverse_dynamics
    assert kernel(model.table, x, x, x, NO_WRENCH, out) == 0
    assert kernel(model.table, x, x, x, NO_WRENCH).shape == (model.nv,)
    for value in ([0.0] * x.size, x.astype(int), x[None], x.astype(np.float32), x.astype(">f8"), None, "xx", 1.0):
        out[:] = 7.0
        assert kernel(model.table, value, x, x, NO_WRENCH, out) == -1
        assert kernel(model.table, x, x, value, NO_WRENCH) is None
        assert kernel(value, x, x, x, NO_WRENCH) is None
        assert (out == 7.0).all()
    for value in (as_labelled(x), as_strided(x), as_unaligned(x)):
        assert kernel(model.table, value, x, x, NO_WRENCH) is None
    for arguments in ((), (model.table,), (model.table, x, x, x), (model.table, x, x, x, NO_WRENCH, out, out)):
        assert kernel(*arguments) == -1
    with pytest.raises(TypeError):
        kernel(model.table, x, x, x, f_ext=NO_WRENCH)


def test_results_are_new_and_owned_by_the_caller(rng, model):
    state = rng.uniform(-1.0, 1.0, (4, model.nv))
    for name, function in functions(model).items():
        first = function(*state)
        kept = first.copy()
        again = function(*-state)
        assert not np.shares_memory(first, again), name
        assert np.array_equal(first, kept), name
        assert first.flags.writeable, name
        assert not any(np.shares_memory(first, x) for x in state), name


@compiled_only
@entries_only
def test_books_of_the_interpreter_are_kept(rng, model):
    """Neither arguments, nor results, nor what stands for a refusal gain or lose references over many calls."""
    good, bad = rng.uniform(-1.0, 1.0, model.nv), np.full(model.nv, np.nan)
    mask = np.zeros(model.nv, bool)
    watched = [good, bad, mask, model.table, NO_WRENCH, good.dtype, mask.dtype]
    calls = 2000

    def work():
        for _ in range(calls):
            kernels.inverse_dynamics_unloaded(model.table, good, good, good)
            kernels.inverse_dynamics_unloaded(model.table, good, good, bad)
            kernels.inverse_dynamics_unloaded(model.table, good, good, None)
            kernels.inverse_dynamics_unloaded(model.table, good)
            gravity_kernels.gravity_force(model.table, good)
            ld.forward_dynamics(model, good, good, good)
            ld.hybrid_dynamics(model, good, good, good, good, mask)

    work()
    gc.collect()
    before = [sys.getrefcount(x) for x in watched]
    none = sys.getrefcount(None)
    tracemalloc.start()
    work()
    gc.collect()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [sys.getrefcount(x) for x in watched] == before
    assert abs(sys.getrefcount(None) - none) < calls / 2
    assert grown < calls  # one lost array per round would be a hundred times as much


@compiled_only
@entries_only
def test_the_layout_of_arrays_is_known_here():
    """Otherwise entry points would silently be those of numba's dispatcher, right but slower."""
    assert layout.known_layout()


@compiled_only
@pytest.mark.parametrize("name", ["TYPE", "DATA", "NDIM", "DIMS", "DESCR", "FLAGS", "ORDER", "NUMBER"])
def test_another_layout_is_noticed(monkeypatch, name):
    monkeypatch.setattr(layout, name, {"TYPE": 16, "ORDER": 24}.get(name, 8))
    assert not layout.known_layout.__wrapped__()


@compiled_only
def test_another_version_of_numpy_is_noticed(monkeypatch):
    monkeypatch.setattr(layout, "_KNOWN_VERSIONS", (0x01,))
    assert not layout.known_layout.__wrapped__()


ELSEWHERE = """
import sys
sys.path.insert(0, sys.argv[1])
from lie_dynamics_ros.lie_dynamics.engine import fastcall as layout
layout.known_layout = lambda: False
from engine import test_direct as shared
every = shared.functions
shared.functions = lambda model: {name: every(model)[name] for name in ("inverse", "forward", "hybrid", "mass")}
rng = shared.np.random.default_rng(1)
model = shared.to_model(shared.chain(rng, ["revolute", "prismatic", "universal"]))
for form in shared.OTHER_ARRAYS:
    shared.test_any_form_of_array_gives_the_same_numbers(rng, model, form)
for dtype in (shared.np.float32, shared.np.int64, bool):
    shared.test_numbers_of_other_kinds_are_converted(rng, model, dtype)
shared.test_wrong_shapes_and_numbers_still_get_their_errors(rng, model)
shared.test_results_are_new_and_owned_by_the_caller(rng, model)
print("direct" if "builtin" in type(shared.kernels.inverse_dynamics.func).__name__ else "by numba")
"""


@pytest.mark.slow
@compiled_only
def test_numba_serves_where_the_layout_is_another():
    """With kernels of each kind of result; ``make matrix`` runs all tests so."""
    command = [sys.executable, "-c", ELSEWHERE, str(TEST_FOLDER)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout == "by numba\n"
