"""Bad input: a library error that names the argument, the joint or the body, and what was expected; never a number."""

import inspect
from itertools import product

import numpy as np
import pytest
from support.grids import all_of
from support.sample_trees import branched, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.engine.compile import COMPILED

TREE = branched(np.random.default_rng(1), ["free", "revolute", "spherical", "prismatic"], [None, 0, 1, 2])
MODEL = to_model(TREE)
Q, V = MODEL.neutral(), np.zeros(MODEL.nv)
MASK = np.zeros(MODEL.nv, bool)

#: Functions, and the arrays they take.
FUNCTIONS = {
    "inverse_dynamics": (lambda q, qd, qdd: ld.inverse_dynamics(MODEL, q, qd, qdd), ("q", "qd", "qdd")),
    "forward_dynamics": (lambda q, qd, tau: ld.forward_dynamics(MODEL, q, qd, tau), ("q", "qd", "tau")),
    "hybrid_dynamics": (lambda q, qd, qdd, tau: ld.hybrid_dynamics(MODEL, q, qd, qdd, tau, MASK), ("q", "qd", "tau")),
    "mass_matrix": (lambda q: ld.mass_matrix(MODEL, q), ("q",)),
    "coriolis_matrix": (lambda q, qd: ld.coriolis_matrix(MODEL, q, qd), ("q", "qd")),
    "forward_kinematics": (lambda q: ld.forward_kinematics(MODEL, q), ("q",)),
    "frame_pose": (lambda q: ld.frame_pose(MODEL, q, 2), ("q",)),
    "jacobian": (lambda q: ld.jacobian(MODEL, q, 3), ("q",)),
    "jacobian_rate": (lambda q, qd: ld.jacobian_rate(MODEL, q, qd, 3), ("q", "qd")),
    "body_velocities": (lambda q, qd: ld.body_velocities(MODEL, q, qd), ("q", "qd")),
    "kinetic_energy": (lambda q, qd: ld.kinetic_energy(MODEL, q, qd), ("q", "qd")),
    "center_of_mass": (lambda q: ld.center_of_mass(MODEL, q), ("q",)),
    "integrate": (MODEL.integrate, ("q", "v")),
    "difference": (MODEL.difference, ("q0", "q1")),
}
CASES = [(name, argument) for name, (_, arguments) in FUNCTIONS.items() for argument in arguments]


def call(name, **changed):
    function = FUNCTIONS[name][0]
    given = {argument: good(argument) for argument in inspect.signature(function).parameters}
    return function(**(given | changed))


def good(argument):
    return Q if argument in ("q", "q0", "q1") else V


@all_of(("name", "argument"), CASES)
def test_not_finite(name, argument):
    """The joint is named: the prismatic one, whose coordinate enters no sine."""
    for bad, batch in product((np.nan, np.inf, -np.inf), ((), (3,), (2, 9))):
        array = np.broadcast_to(good(argument), (*batch, good(argument).size)).copy()
        array[..., -1].flat[-1] = bad
        with pytest.raises(ld.InputError, match=rf"^{argument}: finite numbers .*'joint prismatic 3'"):
            call(name, **{argument: array})


@all_of(("name", "argument"), CASES)
def test_wrong_shapes(name, argument):
    size = good(argument).size
    for shape in ((size - 1,), (size + 1,), (0,), (), (2, size + 1), (size, 1), (3, 0)):
        with pytest.raises(ld.InputError, match=rf"^{argument}: shape \(\.\.\., {size}\) is expected"):
            call(name, **{argument: np.zeros(shape)})


@all_of(("name", "argument"), CASES)
def test_not_numbers(name, argument):
    for value in ("abc", None, {}, [[1], [1, 2]], [], [object()], np.array(["x"])):
        with pytest.raises(ld.InputError, match=rf"^{argument}: "):
            call(name, **{argument: value})


@all_of(("name", "argument"), [c for c in CASES if len(FUNCTIONS[c[0]][1]) > 1])
def test_batches_that_do_not_fit(name, argument):
    other = next(a for a in FUNCTIONS[name][1] if a != argument)
    with pytest.raises(ld.InputError, match=r"batch dimensions do not fit each other: q0? \("):
        call(name, **{argument: np.array([good(argument)] * 2), other: np.array([good(other)] * 3)})


@all_of("name", [n for n in FUNCTIONS if n not in ("integrate", "difference")])
def test_quaternions_of_another_length(name):
    start = MODEL.joint("joint spherical 2").q_slice.start
    for scale, batch in product((0.0, 0.5, 1.0 + 1e-5, -2.0, 1e200), ((), (5,))):
        q = np.broadcast_to(Q, (*batch, Q.size)).copy()
        q.reshape(-1, Q.size)[-1, start : start + 4] *= scale
        with pytest.raises(ld.GroupError, match=r"'joint spherical 2': a unit quaternion \(x, y, z, w\)"):
            call(name, q=q)


def test_quaternions_are_accepted_within_round_off_of_a_message():
    q = Q.copy()
    q[:4] *= 1.0 + 4e-7
    assert np.isfinite(ld.inverse_dynamics(MODEL, q, V, V)).all()


@pytest.mark.parametrize("batch", [(), (5,)], ids=str)
def test_external_wrenches(batch):
    n, q = MODEL.n_bodies, np.broadcast_to(Q, (*batch, Q.size)).copy()
    for shape in ((6,), (n, 5), (n + 1, 6), (n - 1, 6), (0, 6), (2, n + 1, 6), ()):
        with pytest.raises(ld.InputError, match=rf"^f_ext: shape \(\.\.\., {n}, 6\) is expected"):
            ld.inverse_dynamics(MODEL, q, V, V, np.zeros(shape))
        with pytest.raises(ld.InputError, match=rf"^f_ext: shape \(\.\.\., {n}, 6\) is expected"):
            ld.forward_dynamics(MODEL, q, V, V, np.zeros(shape))
    for bad in (np.nan, np.inf):
        wrench = np.zeros((n, 6))
        wrench[2, 4] = bad
        for function in (ld.inverse_dynamics, ld.forward_dynamics):
            with pytest.raises(ld.InputError, match=r"^f_ext: finite numbers .* on body 'spherical 2'"):
                function(MODEL, q, V, V, wrench)
    with pytest.raises(ld.InputError, match=r"^f_ext: an array of numbers"):
        ld.inverse_dynamics(MODEL, q, V, V, "push")


@all_of(
    "mask",
    [True, [True], [1] * MODEL.nv, np.zeros(MODEL.nv), ["a"] * MODEL.nv, np.zeros((2, MODEL.nv), bool), None, []],
)
def test_masks(mask):
    for q in (Q, np.array([Q, Q])):
        with pytest.raises(ld.InputError, match=rf"^prescribed: {MODEL.nv} truth values are expected"):
            ld.hybrid_dynamics(MODEL, q, V, V, V, mask)


def test_masks_may_be_lists_and_views():
    expected = ld.hybrid_dynamics(MODEL, Q, V, V, V, MASK)
    for mask in (MASK.tolist(), np.zeros(2 * MODEL.nv, bool)[::2], np.broadcast_to(False, MODEL.nv)):
        assert all((a == b).all() for a, b in zip(ld.hybrid_dynamics(MODEL, Q, V, V, V, mask), expected, strict=True))


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", None])
def test_threads(threads):
    with pytest.raises(ld.InputError, match=r"^threads: at least 1"):
        ld.inverse_dynamics(MODEL, np.array([Q] * 4), V, V, threads=threads)
    with pytest.raises(ld.InputError, match=r"^threads: at least 1"):
        ld.inverse_dynamics(MODEL, list(Q), V, V, threads=threads)


def test_results_that_overflow():
    for q in (Q, np.array([Q, Q])):
        with pytest.raises(ld.InputError, match="overflows"):
            ld.inverse_dynamics(MODEL, q, V + 1e200, V)


@pytest.mark.skipif(not COMPILED, reason="plain Python takes complex numbers")
def test_complex_numbers_need_the_plain_kernels():
    with pytest.raises(ld.InputError, match="NUMBA_DISABLE_JIT=1"):
        ld.inverse_dynamics(MODEL, Q + 0j, V, V)


def test_external_wrench_helper():
    for bad in ([0] * 5, [np.nan] * 6):
        with pytest.raises(ld.InputError, match=r"wrench: six finite numbers"):
            ld.external_wrench(MODEL, Q, 0, bad)
    with pytest.raises(ld.InputError, match=r"'body', 'world' or 'aligned'"):
        ld.external_wrench(MODEL, Q, 0, [0] * 6, "base")
    with pytest.raises(ld.InputError, match=r"fixed to the world"):
        ld.external_wrench(MODEL, Q, "world", [0] * 6)


def test_one_class_catches_them_all():
    with pytest.raises(ld.LieDynamicsError):
        ld.inverse_dynamics(MODEL, Q * np.nan, V, V)
    with pytest.raises(ValueError, match="finite"):
        ld.inverse_dynamics(MODEL, Q * np.nan, V, V)


@pytest.mark.parametrize("kind", [list, np.array])
def test_a_robot_without_coordinates_has_empty_results(kind):
    """The mask of no coordinates is a mask all the same."""
    builder = ld.ModelBuilder()
    builder.add("a", None, ld.joint_types.fixed(), np.eye(4), ld.SpatialInertia(1.0, np.zeros(3), np.eye(3)))
    model, none = builder.build(), kind([])
    mask = np.zeros(0, bool)
    assert ld.inverse_dynamics(model, none, none, none).shape == (0,)
    assert ld.forward_dynamics(model, none, none, none).shape == (0,)
    assert [x.shape for x in ld.hybrid_dynamics(model, none, none, none, none, mask)] == [(0,), (0,)]
