"""Mimic joints coupled into one coordinate: against the full robot and the selection matrix of the coupling."""

import numpy as np
import pytest
from support.compare import relative

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.dynamics import inputs


def link(name, mass):
    return f"""<link name="{name}"><inertial><origin xyz="0.1 0.02 {0.05 * mass}"/><mass value="{mass}"/>
      <inertia ixx="0.03" iyy="0.04" izz="0.05" ixy="0.002" ixz="0" iyz="0.001"/></inertial></link>"""


def joint(name, parent, child, kind="revolute", mimic="", limits='lower="-3" upper="3"'):
    axis = "0 0.6 0.8" if kind == "revolute" else "1 0 0"
    return f"""<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
      <origin xyz="0.2 0.1 0.3" rpy="0.3 0.2 0.1"/><axis xyz="{axis}"/>
      <limit {limits} velocity="2" effort="10"/><dynamics damping="0.4" friction="0.1"/>{mimic}</joint>"""


ARM = f"""<robot name="hand"><link name="base"/>{link("palm", 2)}{link("thumb", 1)}
{joint("a wrist", "base", "palm")}{joint("b thumb", "palm", "thumb")}"""
HAND = f"""{ARM}{link("finger", 1.5)}{link("tip", 0.5)}
{joint("c finger", "palm", "finger", "prismatic", '<mimic joint="b thumb" multiplier="-0.3" offset="0.05"/>')}
{joint("d tip", "finger", "tip", "revolute", '<mimic joint="c finger" multiplier="2" offset="-0.1"/>')}
</robot>"""
FULL, MODEL = ld.Model.from_urdf(HAND), ld.Model.from_urdf(HAND, couple_mimics=True)
#: Full coordinates: wrist, then finger, tip (its child), thumb (siblings by name: b before c).
ORDER = ["a wrist", "b thumb", "c finger", "d tip"]
G = np.array([[1, 0], [0, 1], [0, -0.3], [0, -0.6]])
C = np.array([0, 0, 0.05, 0.0])


def widen(q, qd, qdd):
    assert list(FULL.joint_names) == ORDER
    return q @ G.T + C, qd @ G.T, qdd @ G.T


@pytest.fixture(params=[(), (5,)], ids=["single", "batch"])
def state(request, rng):
    return tuple(rng.normal(size=(3, *request.param, 2)))


def test_coordinates():
    assert (MODEL.nq, MODEL.nv, MODEL.n_bodies) == (2, 2, 4)
    assert (FULL.nq, FULL.nv, FULL.n_bodies) == (4, 4, 4)
    assert MODEL.body_names == FULL.body_names
    assert FULL.with_coupled_mimics().nv == 2
    assert MODEL.with_coupled_mimics() is MODEL
    plain = ld.Model.from_urdf(ARM + "</robot>")
    assert plain.with_coupled_mimics() is plain


def test_motion_and_forces(state):
    q, qd, qdd = state
    full = widen(*state)
    assert relative(ld.forward_kinematics(MODEL, q), ld.forward_kinematics(FULL, full[0])) < 1e-14
    assert relative(ld.inverse_dynamics(MODEL, q, qd, qdd), ld.inverse_dynamics(FULL, *full) @ G) < 1e-13
    assert relative(ld.gravity_force(MODEL, q), ld.gravity_force(FULL, full[0]) @ G) < 1e-13
    assert relative(ld.bias_force(MODEL, q, qd), ld.bias_force(FULL, *full[:2]) @ G) < 1e-13
    assert relative(ld.kinetic_energy(MODEL, q, qd), ld.kinetic_energy(FULL, *full[:2])) < 1e-13


def test_matrices(state):
    q, qd, _ = state
    x, v, _ = widen(*state)
    assert relative(ld.mass_matrix(MODEL, q), G.T @ ld.mass_matrix(FULL, x) @ G) < 1e-13
    assert relative(ld.mass_matrix_rate(MODEL, q, qd), G.T @ ld.mass_matrix_rate(FULL, x, v) @ G) < 1e-13
    for method in ("christoffel", "ploen"):
        assert (
            relative(ld.coriolis_matrix(MODEL, q, qd, method), G.T @ ld.coriolis_matrix(FULL, x, v, method) @ G) < 1e-13
        )
    for frame in ("body", "world", "aligned"):
        assert relative(ld.jacobian(MODEL, q, "tip", frame), ld.jacobian(FULL, x, "tip", frame) @ G) < 1e-13
        expected = ld.jacobian_rate(FULL, x, v, "tip", frame) @ G
        assert relative(ld.jacobian_rate(MODEL, q, qd, "tip", frame), expected) < 1e-13


def test_forward_and_hybrid_dynamics(state, rng):
    q, qd, qdd = state
    f_ext = rng.normal(size=(4, 6))
    tau = ld.inverse_dynamics(MODEL, q, qd, qdd, f_ext)
    assert relative(ld.forward_dynamics(MODEL, q, qd, tau, f_ext), qdd) < 1e-12
    solved = np.linalg.solve(ld.mass_matrix(MODEL, q), tau[..., None])[..., 0]
    assert relative(ld.solve_mass_matrix(MODEL, q, tau), solved) < 1e-12
    for mask in ([True, False], [False, True], [True, True], [False, False]):
        given = np.array(mask)
        a, t = ld.hybrid_dynamics(
            MODEL, q, qd, np.where(given, qdd, np.nan), np.where(given, np.nan, tau), given, f_ext
        )
        assert relative(a, qdd) < 1e-12
        assert relative(t, tau) < 1e-12


def test_threads_share_batches(rng, monkeypatch):
    """Each of the batches that coupled dynamics are made of goes to as many threads as were asked for."""
    pools = []

    class Pool(inputs.ThreadPoolExecutor):
        def __init__(self, threads):
            pools.append(threads)
            super().__init__(threads)

    monkeypatch.setattr(inputs, "ThreadPoolExecutor", Pool)
    q, qd, tau = rng.normal(size=(3, 40, 2))
    given = np.array([True, False])
    for function in (
        lambda **k: [ld.forward_dynamics(MODEL, q, qd, tau, **k)],
        lambda **k: ld.hybrid_dynamics(MODEL, q, qd, tau, tau, given, **k),
        lambda **k: ld.forward_dynamics_derivatives(MODEL, q, qd, tau, **k),
    ):
        pools.clear()
        shared = function(threads=3)
        assert pools
        assert set(pools) == {3}
        for one, other in zip(function(), shared, strict=True):
            assert np.abs(one - other).max() < 1e-12 * np.abs(one).max()


def test_losses_add_up(state):
    """Whichever is asked for first, coupling or losses."""
    q, qd, qdd = state
    expected = ld.inverse_dynamics(FULL.with_joint_terms(damping=True, friction=True), *widen(*state)) @ G
    for model in (
        MODEL.with_joint_terms(damping=True, friction=True),
        FULL.with_joint_terms(damping=True, friction=True).with_coupled_mimics(),
    ):
        tau = ld.inverse_dynamics(model, q, qd, qdd)
        assert relative(tau, expected) < 1e-13
        assert relative(ld.forward_dynamics(model, q, qd, tau), qdd) < 1e-12


def test_configurations(rng):
    for _ in range(50):
        x = MODEL.random(rng) @ G.T + C
        assert (x >= FULL.limits.lower - 1e-12).all()
        assert (x <= FULL.limits.upper + 1e-12).all()
    q, v = rng.normal(size=(2, 2))
    assert relative(MODEL.integrate(q, v), q + v) < 1e-15
    assert relative(MODEL.difference(q, q + v), v) < 1e-14
    assert MODEL.neutral().shape == (2,)


def test_payload_of_a_coupled_robot(state):
    q, qd, qdd = state
    loaded, full = MODEL.with_payload("tip", 0.3, [0.1, 0, 0]), FULL.with_payload("tip", 0.3, [0.1, 0, 0])
    assert relative(ld.inverse_dynamics(loaded, q, qd, qdd), ld.inverse_dynamics(full, *widen(*state)) @ G) < 1e-13


def test_bad_input_names_the_joint():
    good, bad = [0.1, 0.2], [0.1, np.nan]
    for k, name in enumerate(("q", "qd", "qdd")):
        with pytest.raises(ld.InputError, match=rf"^{name}: finite numbers .* 'b thumb'"):
            ld.inverse_dynamics(MODEL, *(bad if j == k else good for j in range(3)))
    for k, name in enumerate(("q", "qd", "tau")):
        with pytest.raises(ld.InputError, match=rf"^{name}: finite numbers .* 'b thumb'"):
            ld.forward_dynamics(MODEL, *(bad if j == k else good for j in range(3)))
        for wrong in ([0.1], "abc", [0.1, 0.2, 0.3, 0.4]):
            with pytest.raises(ld.InputError, match=rf"^{name}: "):
                ld.forward_dynamics(MODEL, *(wrong if j == k else good for j in range(3)))
    with pytest.raises(ld.InputError, match="batch dimensions do not fit"):
        ld.forward_dynamics(MODEL, [good] * 2, good, [good] * 3)
    with pytest.raises(ld.InputError, match=r"^f_ext: shape"):
        ld.forward_dynamics(MODEL, good, good, good, np.zeros((2, 6)))


def test_refusals():
    with pytest.raises(ld.DescriptionError, match="'d tip'"):
        ld.Model.from_urdf(HAND.replace('mimic joint="c finger"', 'mimic joint="d tip"'), couple_mimics=True)
