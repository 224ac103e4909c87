"""Batches against single states, and whatever arrays a caller may hand over."""

import threading

import numpy as np
import pytest
from support.compare import relative
from support.grids import every_run
from support.sample_trees import around, chain, to_model, zoo

from lie_dynamics_ros import lie_dynamics as ld

CALLS = {
    "inverse_dynamics": ld.inverse_dynamics,
    "forward_dynamics": ld.forward_dynamics,
    "hybrid_dynamics": lambda m, q, v, a, f=None, **k: ld.hybrid_dynamics(m, q, v, a, a, MASK[: m.nv], f, **k)[1],
    "mass_matrix": lambda m, q, v, a, f=None, **k: ld.mass_matrix(m, q, **k),
    "coriolis_matrix": lambda m, q, v, a, f=None, **k: ld.coriolis_matrix(m, q, v, **k),
    "forward_kinematics": lambda m, q, v, a, f=None, **k: ld.forward_kinematics(m, q, **k),
    "jacobian": lambda m, q, v, a, f=None, **k: ld.jacobian(m, q, m.n_bodies - 1, **k),
    "kinetic_energy": lambda m, q, v, a, f=None, **k: ld.kinetic_energy(m, q, v, **k),
    "gravity_force": lambda m, q, v, a, f=None, **k: ld.gravity_force(m, q, **k),
}
MASK = np.random.default_rng(5).random(100) < 0.5


@pytest.fixture(params=CALLS)
def call(request):
    return CALLS[request.param]


def states(tree, rng, batch):
    """(q, qd, qdd, f_ext) with leading axes `batch`."""
    count = int(np.prod(batch))
    q = np.array([tree.random(rng) for _ in range(count)]).reshape(*batch, tree.nq)
    qd, qdd = rng.normal(size=(2, *batch, tree.nv))
    return q, qd, qdd, rng.normal(size=(*batch, len(tree.moving), 6))


def test_each_state_as_if_alone(call, rng):
    """Lanes are eight wide: sizes around that, and what is left over."""
    tree = around(rng, "planar")
    model = to_model(tree)
    for count in (0, 1, 2, 7, 8, 9, 40):
        arrays = states(tree, rng, (count,))
        batch = call(model, *arrays)
        assert len(batch) == count
        for k in range(count):
            assert relative(batch[k], call(model, *(a[k] for a in arrays))) < 1e-13


def test_every_kind_of_joint_in_lanes(call, rng):
    tree = zoo(rng)
    model = to_model(tree)
    arrays = states(tree, rng, (9,))
    batch = call(model, *arrays)
    for k in range(9):
        single = call(model, *(a[k] for a in arrays))
        assert relative(batch[k], single) < 1e-11  # forward dynamics of 40 coordinates, condition 1e6


def test_several_batch_axes(call, rng):
    tree = around(rng, "spherical")
    model = to_model(tree)
    arrays = states(tree, rng, (2, 3, 4))
    batch = call(model, *arrays)
    flat = call(model, *(a.reshape(24, *a.shape[3:]) for a in arrays))
    assert batch.shape[:3] == (2, 3, 4)
    assert (batch.reshape(flat.shape) == flat).all()


def test_broadcasting(rng):
    tree = around(rng, "revolute")
    model = to_model(tree)
    q, qd, qdd, f_ext = states(tree, rng, (3, 4))
    full = ld.inverse_dynamics(model, q, qd[0], qdd[0, 0], f_ext[:, :1])
    for i in range(3):
        for k in range(4):
            alone = ld.inverse_dynamics(model, q[i, k], qd[0, k], qdd[0, 0], f_ext[i, 0])
            assert relative(full[i, k], alone) < 1e-13
    assert ld.inverse_dynamics(model, q[0, 0], qd[0, 0], qdd[:, :1]).shape == (3, 1, model.nv)
    assert ld.inverse_dynamics(model, q[0, 0], qd[0, 0], qdd[0, 0], f_ext).shape == (3, 4, model.nv)
    assert ld.forward_dynamics(model, q[:, :1], qd[:1], qdd[0, 0]).shape == (3, 4, model.nv)


def test_results_do_not_depend_on_threads(call, rng):
    tree = around(rng, "universal")
    model = to_model(tree)
    arrays = states(tree, rng, (53,))
    alone = call(model, *arrays)
    for threads in (2, 3, 4, 60):
        assert (call(model, *arrays, threads=threads) == alone).all()


def test_python_threads_share_a_model(call, rng):
    """Kernels let go of the interpreter lock: eight threads at once, each with a workspace of its own."""
    tree = around(rng, "free")
    model = to_model(tree)
    arrays = states(tree, rng, (8, 30))
    expected = [[call(model, *(a[t, k] for a in arrays)) for k in range(30)] for t in range(8)]
    wrong, start = [], threading.Barrier(8)

    def work(t):
        start.wait()
        for _ in range(8):
            for k in range(30):
                if not (call(model, *(a[t, k] for a in arrays)) == expected[t][k]).all():
                    wrong.append((t, k))
            if not np.allclose(call(model, *(a[t] for a in arrays)), expected[t], rtol=1e-9, atol=1e-9):
                wrong.append((t, "batch"))

    threads = [threading.Thread(target=work, args=(t,)) for t in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def variants(array):
    """The same numbers in other arrays; in single precision too if it holds them exactly."""
    frozen = array.copy()
    frozen.flags.writeable = False
    wide = np.zeros((*array.shape, 2))
    wide[..., 0] = array
    return {
        "fortran": np.asfortranarray(array),
        "strided": wide[..., 0],
        "reversed": np.ascontiguousarray(array[..., ::-1])[..., ::-1],
        "read-only": frozen,
        "list": array.tolist(),
        "tuple": tuple(array.tolist()),
        "float32": array.astype(np.float32),
        "long double": array.astype(np.longdouble),
        "big-endian": array.astype(">f8"),
    }


@pytest.mark.parametrize("batch", [(), (10,)], ids=["single", "batch"])
def test_any_array_will_do(call, batch, rng):
    tree = chain(rng, ["revolute", "prismatic", "universal"])
    model = to_model(tree)
    arrays = [np.round(8 * a) / 8 for a in states(tree, rng, batch)]  # exact in single precision
    expected, others = call(model, *arrays), [variants(a) for a in arrays]
    kept = [a.copy() for a in arrays]
    for kind in others[0]:
        for k in range(4):
            changed = [others[j][kind] if j == k else a for j, a in enumerate(arrays)]
            assert relative(call(model, *changed), expected) < 1e-13, (kind, k)
        assert relative(call(model, *(other[kind] for other in others)), expected) < 1e-13, kind
    assert all((a == b).all() for a, b in zip(arrays, kept, strict=True))  # inputs are left alone


def test_integers(call, rng):
    tree = chain(rng, ["revolute", "prismatic", "universal"])
    model = to_model(tree)
    arrays = [np.round(3 * a) for a in states(tree, rng, ())]
    assert relative(call(model, *(a.astype(int) for a in arrays)), call(model, *arrays)) < 1e-13


def test_a_new_result_every_time(call, rng):
    tree = around(rng, "revolute")
    model, arrays = to_model(tree), states(tree, rng, ())
    first = call(model, *arrays)
    kept = np.array(first)
    call(model, *(a + 0.1 for a in arrays))
    assert (np.asarray(first) == kept).all()


@pytest.mark.parametrize("angle", every_run((9.9e4, 1.1e5), (9.9e4, 1.1e5, -2.5e6, 3e9, 1e15)))
def test_angles_beyond_the_reach_of_the_lanes(call, angle, rng):
    """Such states are evaluated one by one; those beside them must not suffer. Compared with angles less full turns."""
    tree = chain(rng, ["revolute", "universal", "continuous"])
    model = to_model(tree)
    q, qd, qdd, f_ext = states(tree, rng, (19,))
    far = q.copy()
    far[[2, 11], 1] = angle
    far[18, 3] = -angle
    near = np.arctan2(np.sin(far), np.cos(far))
    assert relative(call(model, far, qd, qdd, f_ext), call(model, near, qd, qdd, f_ext)) < 1e-12
    rest = qd[2], qdd[2], f_ext[2]
    assert relative(call(model, far[2], *rest), call(model, near[2], *rest)) < 1e-12


def test_far_away_prismatic_joint(rng):
    tree = chain(rng, ["prismatic", "revolute"])
    model = to_model(tree)
    q, qd, qdd, _ = states(tree, rng, (9,))
    q[4, 0] = 1e7
    tau = ld.inverse_dynamics(model, q, qd, qdd)
    assert relative(tau[4], ld.inverse_dynamics(model, [0.0, q[4, 1]], qd[4], qdd[4])) < 1e-8
