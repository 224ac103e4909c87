"""Friction of joints against its formula in other words, a dense integration of Stribeck's curve, and MuJoCo."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from simulation_robots import mixed_tree, pendulum, slider, state

from lie_dynamics_ros.lie_dynamics import JointFriction, forward_dynamics, hybrid_dynamics, inverse_dynamics
from lie_dynamics_ros.lie_dynamics.errors import DescriptionError, InputError
from lie_dynamics_ros.lie_dynamics.simulation import JointPhysics, linearize, simulate

METHODS = ["semi_implicit", "rkmk4", "variational"]
ALL = {
    "damping": 2.0, "friction": [[4.0], [3.0]], "static_friction": [[6.0], [5.0]], "stribeck_speed": 0.1,
    "load_friction": 0.2, "smoothing_speed": 1e-3,
}  # fmt: skip


def friction(n=1, **values):
    return JointFriction(**{"damping": np.zeros(n), "friction": 0.0, **values})


def law(v, x):
    """F(v, x) of `ALL` for one joint far from rest, textbook."""
    slide, rest = (4.0, 6.0) if v > 0.0 else (3.0, 5.0)
    return 2.0 * v + np.sign(v) * (slide + (rest - slide) * np.exp(-((v / 0.1) ** 2)) + 0.2 * abs(x))


def physics(model, law, **values):
    return JointPhysics.none(model).changed(law=law, **values)


def test_the_force_is_the_formula_away_from_rest_and_smooth_about_it():
    f = friction(**{**ALL, "damping": [2.0]})
    for v, x in ((0.05, 3.0), (-0.05, 3.0), (0.3, -7.0), (-2.0, -7.0)):
        side = v / np.hypot(v, 1e-3)
        assert f.force([v], [x])[0] == pytest.approx(law(v, x), rel=1.1 * (1.0 - abs(side)) + 1e-12)
    assert f.force([0.0], [50.0])[0] == 0.0
    v = np.linspace(-5e-3, 5e-3, 20001)[:, None]
    slope = np.gradient(f.force(v, [1.0])[:, 0], v[1, 0] - v[0, 0])
    assert np.abs(np.diff(slope)).max() < 2e-3 * np.abs(slope).max()  # no kink, at rest either


def test_what_comes_to_the_bodies_is_the_inverse_in_any_batch():
    rng = np.random.default_rng(0)
    f = JointFriction(
        *rng.uniform(0.0, 2.0, (1, 5)), rng.uniform(0, 2, (2, 5)), rng.uniform(2, 3, (2, 5)), rng.uniform(0.1, 1, 5),
        rng.uniform(0, 0.9, 5),
    )  # fmt: skip
    qd, x = rng.normal(size=(3, 1, 5)), 20.0 * rng.normal(size=(4, 5))
    tau = x + f.force(qd, x)
    assert tau.shape == (3, 4, 5)
    np.testing.assert_allclose(f.transmitted(tau, qd), np.broadcast_to(x, (3, 4, 5)), rtol=0, atol=1e-13 * 50)
    assert f.force(np.zeros((0, 5))).shape == (0, 5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_box_slides_along_the_curve_as_a_dense_integration_has_it(method, way):
    """Out of rest, over the falling part of Stribeck's curve, under a force that ends; v > 0 all the while."""
    model, mass = slider(2.0), 2.0
    joints = physics(model, friction(**{**ALL, "damping": [2.0]}), friction_speed=1e-5)

    def rate(_t, y, tau):
        rest = tau - way * law(way * y[1], 0.0) if way > 0 else tau - law(-abs(y[1]), 0.0)
        # x + 0.2 |x| = tau - F(v, 0) and x = m a, in the way of the motion
        x = rest / (1.0 + 0.2 * way * np.sign(rest))
        return [y[1], x / mass]

    v0 = 0.02 * way
    push = solve_ivp(rate, (0, 0.2), [0.0, v0], args=(way * 12.0,), method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    coast = solve_ivp(rate, (0, 0.1), push, args=(way * -1.0,), method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    step = 1e-4
    tau = np.where(np.arange(3000) < 2000, way * 12.0, way * -1.0)[:, None]
    motion = simulate(model, [0.0], [v0], tau, duration=0.3, step=step, method=method, joints=joints)
    rough = method == "semi_implicit"
    assert motion.qd[2000, 0] == pytest.approx(push[1], rel=1e-3 if rough else 1e-6)
    assert [motion.q[-1, 0], motion.qd[-1, 0]] == pytest.approx(coast, rel=1e-3 if rough else 1e-5)


def test_it_sticks_up_to_static_friction_of_each_side_grown_by_load():
    """On a slope the bodies get x = m g sin(a): held while x - tau stays within c_0 + m |x| of either side."""
    f = friction(**{**ALL, "damping": [2.0]})
    for slope in (0.0, 7.0, -7.0):
        model = slider(2.0, gravity=(-slope / 2.0, 0, 0))
        held, more = 0.2 * abs(slope), 1e-6
        for tau, moves in (
            (slope + 6.0 + held - more, 0), (slope + 6.0 + held + more, 1),
            (slope - 5.0 - held + more, 0), (slope - 5.0 - held - more, -1),
        ):  # fmt: skip
            motion = simulate(model, [0.3], [0.0], [tau], duration=0.2, joints=physics(model, f))
            assert np.sign(motion.qd[-1, 0]) == moves
            if not moves:
                assert (motion.q == 0.3).all() and (motion.qd == 0.0).all()


def test_in_a_chain_every_joint_obeys_the_law():
    model = pendulum(4)
    f = friction(
        4, friction=[[5.0] * 4, [4.0] * 4], static_friction=8.0, stribeck_speed=0.2, load_friction=0.1,
        damping=np.full(4, 0.5),
    )  # fmt: skip
    motion = simulate(model, [1.2, -0.5, 0.8, 0.3], np.zeros(4), duration=10.0, step=2e-4, joints=physics(model, f))
    x = inverse_dynamics(model, motion.q[:-1], motion.qd[:-1], np.diff(motion.qd, axis=0) / 2e-4)
    v, w = motion.qd[:-1], motion.qd[1:]
    on = (v * w > 0.0) & (np.abs(v) > 1e-3)  # slides, and does not turn round
    slide = np.where(v > 0, 5.0, 4.0)
    expected = 0.5 * w + np.sign(v) * (slide + (8.0 - slide) * np.exp(-((v / 0.2) ** 2)) + 0.1 * np.abs(x))
    np.testing.assert_allclose(-x[on], expected[on], rtol=0, atol=2e-3)
    stuck = (v == 0.0) & (w == 0.0)
    assert on.sum() > 1e3 and stuck[:, 0].sum() > 100
    assert (np.abs(x) <= 8.0 + 0.1 * np.abs(x) + 1e-6)[stuck].all()


@pytest.mark.parametrize("method", METHODS)
def test_prescribed_motions_tell_what_drives_exert(method):
    model = mixed_tree()
    q, qd = state(model, 21, 0.3)
    rng = np.random.default_rng(4)
    given = rng.random(model.nv) < 0.5
    dry, load = np.full(model.nv, 0.3), np.full(model.nv, 0.1)
    for joint in model.joints:
        if joint.kind == "free":  # along whose position friction acts along the axes of the world
            dry[joint.v_slice.start + 3 : joint.v_slice.stop] = load[joint.v_slice.start + 3 : joint.v_slice.stop] = 0.0
    f = friction(model.nv, friction=dry, load_friction=load, damping=np.full(model.nv, 0.2))
    qdd, tau = rng.normal(size=model.nv), rng.normal(size=model.nv)
    motion = simulate(
        model, q, qd, tau, duration=1e-4, step=1e-4, method=method, joints=physics(model, f, friction_speed=1e-9),
        qdd=qdd, prescribed=given,
    )  # fmt: skip
    side = np.sign(qd)
    inward = tau - 0.2 * qd - dry * side
    x = np.where(given, 0.0, inward / (1.0 + load * side * np.sign(inward)))
    found_qdd, found = hybrid_dynamics(model, q, qd, qdd, x, given)
    expected = np.where(given, found + 0.2 * qd + side * (dry + load * np.abs(found)), tau)
    allowed = {"variational": 5e-3}.get(method, 3e-4)
    assert np.abs(motion.tau[0] - expected).max() < allowed * np.abs(expected).max()
    assert np.abs(motion.qdd[0] - found_qdd).max() < 10 * allowed * np.abs(found_qdd).max()


def test_dry_and_viscous_friction_as_mujoco_has_them():
    arms, _ = pytest.importorskip("support.arms"), pytest.importorskip("mujoco")
    arm = arms.load("panda_arm")
    model, n = arm.model, arm.model.nv
    dry, damping = np.linspace(1.0, 3.0, n), np.linspace(0.5, 1.5, n)
    judge = arm.simulated(friction=dry, damping=damping, step=1e-4, integrator="implicitfast")
    judge.model.dof_solref[:] = [2e-4, 1.0]  # stiff, as friction here is exact
    judge.model.dof_solimp[:] = [0.9999, 0.9999, 1e-3, 0.5, 2.0]
    q, qd = 0.5 * (arm.lower + arm.upper), np.full(n, 0.4)
    judge.set(q, qd)
    tau = inverse_dynamics(model, q, np.zeros(n), np.zeros(n))
    joints = physics(model, friction(n, friction=dry, damping=damping))
    ours = simulate(model, q, qd, tau, duration=0.25, step=1e-4, joints=joints)
    judge.advance(tau, 2500)
    moved = np.abs(ours.q[-1] - q).max()
    assert moved > 0.02
    assert np.abs(judge.q - ours.q[-1]).max() < 0.01 * moved
    free = simulate(model, q, qd, tau, duration=0.25, step=1e-4)
    assert np.abs(judge.q - free.q[-1]).max() > 0.2 * moved  # friction did it


def test_forward_dynamics_of_what_is_transmitted_is_the_motion():
    model = pendulum(3)
    rng = np.random.default_rng(1)
    q, qd, tau = rng.normal(size=(3, 3))
    f = friction(3, friction=[[0.5] * 3, [0.7] * 3], load_friction=0.1, smoothing_speed=1e-3)
    motion = simulate(model, q, qd, tau, duration=1e-6, step=1e-6, method="rkmk4", joints=physics(model, f))
    np.testing.assert_allclose(motion.qdd[0], forward_dynamics(model, q, qd, f.transmitted(tau, qd)), rtol=1e-12)


def test_it_is_read_from_yaml_by_joint():
    model = pendulum(2)
    text = """
joints:
  rod 1: {damping: 0.5, friction: [1, 2], static_friction: [3, 2.5], stribeck_speed: 0.1, load_friction: 0.03}
"""
    text = text.replace("rod 1", model.joint_names[1])
    f = JointFriction.from_yaml(text, model)
    expected = JointFriction([0, 0.5], [[0, 1], [0, 2]], [[0, 3], [0, 2.5]], [0, 0.1], [0, 0.03])
    assert (f._table == expected._table).all()
    name = model.joint_names[0]
    more = text + "  torso: {friction: 1}\n"
    assert (JointFriction.from_yaml(more, model, ("torso",))._table == f._table).all()
    for entry, message in (
        ("{friction: -1}", f"joint {name!r} in the YAML text: friction: .* numbers from 0"),
        ("{friction: [1, 2, 3]}", "expected one number, or two"),
        ("{friction: 2, static_friction: 1}", "static_friction: as much as friction"),
        ("{static_friction: 1}", "stribeck_speed: a positive rate"),
        ("{load_friction: 1.0}", "load_friction: at most 0.9"),
        ("{smoothing_speed: 0}", "smoothing_speed: a positive rate"),
        ("{damping: yes}", "damping is 'yes', expected a finite number"),
        ("{coulomb: 1}", "unknown keys 'coulomb'"),
        ("3", "is a number, 3; expected the keys damping"),
    ):
        with pytest.raises(DescriptionError, match=message):
            JointFriction.from_yaml(f"joints:\n  {name}: {entry}\n", model)
    for text, message in (
        ("joints:\n  elbow: {friction: 1}\n", "no joint 'elbow' that moves"),
        (more, "no joint 'torso' that moves"),
        ("joints: 3\n\n", "joints in the YAML text is a number"),
        ("joint: {}\n", "unknown keys 'joint'"),
    ):
        with pytest.raises(DescriptionError, match=message):
            JointFriction.from_yaml(text, model)


def test_bad_friction_is_refused_by_name():
    model = slider()
    for values, name in (
        ({"damping": [-1.0]}, "damping"), ({"friction": [np.nan]}, "friction"), ({"load_friction": "much"}, "load_fri"),
        ({"friction": np.ones((2, 3))}, "friction"), ({"smoothing_speed": np.inf}, "smoothing_speed"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=f"{name}"):
            friction(**{"damping": [0.0], **values})
    f = friction(2, friction=1.0)
    for qd, x in (([1.0, 2.0, 3.0], 0.0), ([np.nan, 0.0], 0.0), ([0.0, 0.0], "x"), (np.zeros((2, 2)), np.ones((3, 2)))):
        with pytest.raises(InputError):
            f.force(qd, x)
    with pytest.raises(InputError, match="law: 1 coordinates"):
        physics(model, f)
    with pytest.raises(InputError, match="joints: no law"):
        linearize(model, [0.0], [0.0], [0.0], 1e-3, joints=physics(model, friction(friction=1.0)))
