"""Tracking errors and controllers: closed forms, Lyapunov functions and closed loops in simulation."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import sample_trees
from support.compare import relative
from support.robots import panda

from lie_dynamics_ros.lie_dynamics import (
    coriolis_matrix,
    forward_dynamics,
    frame_pose,
    gravity_force,
    inverse_dynamics,
    jacobian,
    jacobian_rate,
    mass_matrix,
)
from lie_dynamics_ros.lie_dynamics.control import (
    ComputedTorquePID,
    computed_torque,
    feedforward_pd,
    gradient,
    gravity_compensation,
    limit_effort,
    operational_space,
    passivity_based,
    position_rate,
    posture_torque,
    sliding_reference,
    slotine_li_force,
    tracking_error,
)
from lie_dynamics_ros.lie_dynamics.errors import InputError
from lie_dynamics_ros.lie_dynamics.lie import se3
from lie_dynamics_ros.lie_dynamics.simulation import Simulator, integrate_motion, simulate


@cache
def tree_with_balls(seed=1):
    kinds = ["revolute", "spherical", "free", "universal", "prismatic"]
    return sample_trees.to_model(sample_trees.branched(np.random.default_rng(seed), kinds, [None, 0, None, 2, 1]))


MIDDLE = np.array([0.0, 0.0, 0.0, -1.7, 0.0, 1.8, 0.5])
SWING = np.array([0.6, 0.5, 0.6, 0.5, 0.8, 0.8, 0.9])
PACE = 2 * np.pi * np.array([0.23, 0.31, 0.37, 0.41, 0.29, 0.47, 0.53])


def swing(t):
    """A motion of the arm that moves every joint at its own pace."""
    s, c = np.sin(PACE * t), np.cos(PACE * t)
    return MIDDLE + SWING * s, SWING * PACE * c, -SWING * PACE**2 * s


def wander(model, seed):
    """A desired motion on the manifold, q0 exp(a sin t) joint by joint."""
    rng = np.random.default_rng(seed)
    q0, a = model.random(rng), 0.7 * rng.normal(size=model.nv)

    def motion(t):  # along one direction the velocity of exp is the direction itself
        return model.integrate(q0, a * np.sin(t)), a * np.cos(t), -a * np.sin(t)

    return motion


def test_errors_are_the_rates_of_each_other():
    """d/dt e by differences along an actual and a desired motion, against J_l^-1 de; and the rate of Ad_E qd_d."""
    model = tree_with_balls()
    actual, desired = wander(model, 1), wander(model, 2)
    h = 1e-3

    def at(t):
        return tracking_error(model, *actual(t)[:2], *desired(t))

    e = {k: at(0.3 + k * h) for k in (-2, -1, 0, 1, 2)}

    def rate(name):
        x = {k: getattr(v, name) for k, v in e.items()}
        return (8 * (x[1] - x[-1]) - (x[2] - x[-2])) / (12 * h)

    assert relative(position_rate(model, e[0]), rate("position")) < 1e-8
    assert relative(e[0].reference_acceleration, rate("reference_velocity")) < 1e-6
    gain = np.random.default_rng(3).uniform(1, 5, model.nv)
    spring = {k: 0.5 * v.position @ (gain * v.position) for k, v in e.items()}
    power = gradient(model, e[0].position, gain) @ e[0].velocity
    assert power == pytest.approx((8 * (spring[1] - spring[-1]) - (spring[2] - spring[-2])) / (12 * h), rel=1e-7)
    r = {k: sliding_reference(model, *actual(0.3 + k * h)[:2], *desired(0.3 + k * h), 2.0) for k in (-1, 1)}
    middle = sliding_reference(model, *actual(0.3)[:2], *desired(0.3), 2.0)
    assert relative(middle.acceleration, (r[1].velocity - r[-1].velocity) / (2 * h)) < 1e-4


def test_computed_torque_gives_the_error_its_law():
    """From the exact model: qdd of forward dynamics under the torques obeys e'' + kd e' + kp e = 0."""
    model, rng = panda(), np.random.default_rng(1)
    q, qd, a, b, c = model.random(rng), *rng.normal(size=(4, 7))
    b = q + 0.1 * b
    tau = computed_torque(model, q, qd, b, a, c, 100.0, 20.0)
    e, de = b - q, a - qd
    assert relative(c - forward_dynamics(model, q, qd, tau), -20.0 * de - 100.0 * e) < 1e-10


def test_computed_torque_on_balls_lowers_its_lyapunov_function():
    model = tree_with_balls()
    desired, rng = wander(model, 5), np.random.default_rng(6)
    kp = rng.uniform(20, 60, model.nv)  # not one per joint: the gradient takes care of it
    q = model.integrate(desired(0.0)[0], 0.8 * rng.normal(size=model.nv))
    qd = rng.normal(size=model.nv)

    def acceleration(t, x, v):
        return forward_dynamics(model, x, v, computed_torque(model, x, v, *desired(t), kp, 8.0))

    motion = integrate_motion(model, acceleration, q, qd, step=1e-2, steps=70)
    V, power = [], []
    for t, x, v in zip(motion.time, motion.q, motion.qd, strict=True):
        e = tracking_error(model, x, v, *desired(t))
        V.append(0.5 * e.velocity @ e.velocity + 0.5 * e.position @ (kp * e.position))
        power.append(8.0 * e.velocity @ e.velocity)
    V, power = np.array(V), np.array(power)
    assert (np.diff(V) < 0.0).all() and V[-1] < 0.02 * V[0]
    assert np.allclose(np.gradient(V, motion.time)[2:-2], -power[2:-2], rtol=5e-3, atol=1e-2 * power.max())


def test_tracking_error_with_the_exact_model_is_that_of_the_integrator():
    """Computed torque at 1 kHz. The velocity of semi-implicit Euler is the mean over the step before, half a period
    late, so the damping asks for kd h / 2 qdd too little, which the spring gives at an error of kd h / (2 kp) qdd.
    """
    model, worst = panda(), []
    for h in (1e-3, 5e-4):
        robot = Simulator(model, *swing(0.0)[:2], step=h)
        motion = robot.run(round(1.0 / h), lambda t, q, qd: computed_torque(model, q, qd, *swing(t), 400.0, 40.0))
        wanted = np.array([swing(t)[0] for t in motion.time])
        worst.append(np.abs(motion.q - wanted)[len(wanted) // 3 :].max())
        fastest = np.abs([swing(t)[2] for t in motion.time[len(wanted) // 3 :]]).max()
        assert worst[-1] == pytest.approx(40.0 / 400.0 * h / 2.0 * fastest, rel=0.03)
    assert worst[0] < 1e-3


def test_pid_removes_what_an_unknown_load_leaves():
    model = panda()
    true = model.with_payload("panda_link7", 1.0, [0, 0, 0.1])
    goal = (MIDDLE, np.zeros(7), np.zeros(7))
    ends = []
    for ki in (0.0, 500.0):
        control, robot = ComputedTorquePID(model, 100.0, 20.0, ki), Simulator(true, MIDDLE)
        robot.run(4000, lambda _t, q, qd, c=control: c.update(q, qd, *goal, 1e-3))
        ends.append(np.abs(robot.q - MIDDLE).max())
    assert ends[0] > 1e-2 and ends[1] < 1e-4
    limited = ComputedTorquePID(model, 100.0, 20.0, 500.0, limit=1.0)
    for _ in range(1000):
        limited.update(MIDDLE, np.zeros(7), MIDDLE + 0.1, np.zeros(7), np.zeros(7), 1e-3)
    assert np.abs(500.0 * limited.integral).max() <= 1.0


def test_feedforward_and_gravity_compensation():
    model, rng = panda(), np.random.default_rng(4)
    q, qd, qdd = model.random(rng), *rng.normal(size=(2, 7))
    assert relative(feedforward_pd(model, q, qd, q, qd, qdd, 50.0, 5.0), inverse_dynamics(model, q, qd, qdd)) < 1e-13
    off = feedforward_pd(model, q, qd, q + 0.1, qd + 0.2, qdd, 50.0, 5.0)
    assert relative(off, inverse_dynamics(model, q + 0.1, qd + 0.2, qdd) + 5.0 + 1.0) < 1e-12
    held = simulate(model, q, np.zeros(7), lambda _t, x, v: gravity_compensation(model, x, v), duration=1.0)
    assert np.abs(held.q - q).max() < 1e-9
    assert relative(gravity_compensation(model, q, qd, 2.0), gravity_force(model, q) - 2.0 * qd) < 1e-13


@pytest.mark.parametrize("method", ["christoffel", "ploen"])
def test_slotine_li_force_is_that_of_the_matrices(method):
    model, rng = tree_with_balls(), np.random.default_rng(8)
    q, (qd, v, a) = model.random(rng), rng.normal(size=(3, model.nv))
    expected = mass_matrix(model, q) @ a + coriolis_matrix(model, q, qd, method) @ v + gravity_force(model, q)
    assert relative(slotine_li_force(model, q, qd, v, a, method), expected) < 1e-12


@pytest.mark.parametrize("method", ["ploen", pytest.param("christoffel", marks=pytest.mark.slow)])
def test_passivity_based_control_lowers_its_lyapunov_function(method):
    """dV/dt = -s^T Kd s for V = s^T M s / 2, with balls and a floating body, and s and e go to zero."""
    model, desired, rng = tree_with_balls(), wander(tree_with_balls(), 15), np.random.default_rng(16)
    q = model.integrate(desired(0.0)[0], 0.5 * rng.normal(size=model.nv))
    kd = rng.uniform(20, 60, model.nv)

    def acceleration(t, x, v):
        return forward_dynamics(model, x, v, passivity_based(model, x, v, *desired(t), 4.0, kd, method))

    motion = integrate_motion(model, acceleration, q, rng.normal(size=model.nv), step=5e-3, steps=120)
    V, power = np.empty(121), np.empty(121)
    for k, (t, x, v) in enumerate(zip(motion.time, motion.q, motion.qd, strict=True)):
        s = sliding_reference(model, x, v, *desired(t), 4.0).sliding
        V[k], power[k] = 0.5 * s @ mass_matrix(model, x) @ s, s @ (kd * s)
    assert (np.diff(V) < 0.0).all() and V[-1] < 1e-2 * V[0]
    rates = (8 * (V[3:-1] - V[1:-3]) - (V[4:] - V[:-4])) / (12 * 5e-3)
    assert np.abs(rates + power[2:-2]).max() < 2e-3 * power.max()
    assert np.abs(tracking_error(model, motion.q[-1], motion.qd[-1], *desired(0.6)).position).max() < 0.5


def test_operational_space_gives_the_pose_its_law_and_leaves_it_to_the_null_space():
    model, rng = panda(), np.random.default_rng(3)
    q, qd = MIDDLE + 0.2 * rng.normal(size=7), 0.5 * rng.normal(size=7)
    pose = frame_pose(model, q, "panda_link7") @ se3.exp(0.2 * rng.normal(size=6))
    twist, acceleration = rng.normal(size=(2, 6))
    secondary = 3.0 * rng.normal(size=7)
    task = operational_space(
        model, q, qd, "panda_link7", pose, twist, acceleration, kp=90.0, kd=18.0, null_torque=secondary
    )
    assert task.damped == 0
    qdd = forward_dynamics(model, q, qd, task.torque)
    J = jacobian(model, q, "panda_link7")
    rate = J @ qdd + jacobian_rate(model, q, qd, "panda_link7") @ qd
    E = np.linalg.inv(frame_pose(model, q, "panda_link7")) @ pose
    de = se3.Ad(E) @ twist - J @ qd
    wanted = se3.Ad(E) @ acceleration + se3.ad(de) @ se3.Ad(E) @ twist + 18.0 * de
    wanted = wanted + 90.0 * se3.left_jacobian_inverse(se3.log(E)).T @ se3.log(E)
    assert relative(rate, wanted) < 1e-9  # the condition of J M^-1 J^T, some 1e4
    without = forward_dynamics(model, q, qd, task.torque - task.null_space @ secondary)
    assert np.abs(J @ (qdd - without)).max() < 1e-9 * np.abs(rate).max()
    assert np.abs(qdd - without).max() > 0.1


def test_operational_space_reaches_a_pose_and_survives_a_singularity():
    model = panda()
    goal = frame_pose(model, MIDDLE + 0.3, "panda_link7")
    robot = Simulator(model, MIDDLE)

    def control(_t, q, qd, goal=goal):
        rest = posture_torque(model, q, qd, MIDDLE, 4.0, 4.0)
        return operational_space(model, q, qd, "panda_link7", goal, kp=100.0, kd=20.0, null_torque=rest).torque

    robot.run(2000, control)
    assert np.abs(frame_pose(model, robot.q, "panda_link7") - goal).max() < 1e-5
    straight = np.array([0.0, 0.0, 0.0, -0.0, 0.0, 0.0, 0.0])  # the stretched arm, as singular as it gets
    far = frame_pose(model, straight, "panda_link7").copy()
    far[2, 3] += 0.1  # out of reach
    task = operational_space(model, straight, np.zeros(7), "panda_link7", far, kp=100.0, kd=20.0)
    assert task.damped >= 1
    assert np.abs(task.torque).max() < 200.0
    near = straight + 1e-6 * np.arange(7)
    assert np.abs(operational_space(model, near, np.zeros(7), "panda_link7", far, kp=100.0, kd=20.0).torque).max() < 200


def test_operational_space_of_some_components():
    model, q = panda(), MIDDLE
    mask = np.array([False, False, False, True, True, True])
    pose = frame_pose(model, q, "panda_link7").copy()
    pose[:3, 3] += [0.05, -0.05, 0.1]
    task = operational_space(model, q, np.zeros(7), "panda_link7", pose, kp=50.0, kd=10.0, mask=mask)
    rate = jacobian(model, q, "panda_link7") @ forward_dynamics(model, q, np.zeros(7), task.torque)
    assert relative(rate[3:], 50.0 * pose[:3, :3].T @ [0.05, -0.05, 0.1]) < 1e-10


@given(
    st.lists(st.tuples(st.floats(-100, 100), st.floats(0, 50), st.floats(-60, 60)), min_size=1, max_size=7),
    st.sampled_from(["scale", "clip"]),
)
@settings(max_examples=40)
def test_efforts_stay_within_limits(numbers, policy):
    wanted, bound, base = np.array(numbers).T
    found = limit_effort(wanted, bound, policy, base)
    assert (np.abs(found.effort) <= bound).all()
    assert (found.saturated == (np.abs(wanted) > bound)).all()
    if not found.saturated.any():
        assert (found.effort == wanted).all() and found.scale == 1.0
    elif policy == "scale":
        start = np.clip(base, -bound, bound)
        assert np.allclose(found.effort, np.clip(start + found.scale * (wanted - start), -bound, bound), atol=1e-9)


def test_scaling_keeps_the_direction_and_clipping_does_not():
    assert np.allclose(limit_effort([40.0, 10.0], [20.0, 20.0]).effort, [20.0, 5.0], rtol=1e-15)
    assert limit_effort([40.0, 10.0], [20.0, 20.0], "clip").effort.tolist() == [20.0, 10.0]
    kept = limit_effort([40.0, 10.0], [20.0, 20.0], base=[10.0, 4.0])
    assert np.allclose(kept.effort, [20.0, 6.0], rtol=1e-15) and kept.scale == pytest.approx(1 / 3)


def test_bad_input_is_refused_by_name():
    model = tree_with_balls()
    q, zero = model.neutral(), np.zeros(model.nv)
    for call, said in [
        (lambda: computed_torque(model, q, zero, q, zero, zero, -1.0, 1.0), "kp"),
        (lambda: computed_torque(model, q, zero, q * np.nan, zero, zero, 1.0, 1.0), "q1"),
        (lambda: passivity_based(model, q, zero, q, zero, zero, np.arange(model.nv), 1.0), "joint spherical 1"),
        (lambda: limit_effort([np.nan], [1.0]), "effort"),
        (lambda: limit_effort([1.0], [1.0], "stretch"), "policy"),
        (lambda: operational_space(model, q, zero, "nobody", np.eye(4), kp=1, kd=1), "nobody"),
        (lambda: operational_space(model, q, zero, 0, np.eye(4), kp=[1, 2], kd=1), "kp"),
    ]:
        with pytest.raises(InputError, match=said):
            call()


def test_plain_arrays_and_lists_lead_to_the_same_reference_and_acceleration():
    """What kernels take directly, what they do not, and the definition; gains and states that are bad are refused."""
    model, rng = panda(), np.random.default_rng(8)
    rate, kp, kd = rng.uniform(1.0, 20.0, (3, 7))
    for _ in range(10):
        q, qd, *wanted = rng.normal(size=(5, 7))
        s = sliding_reference(model, q, qd, *wanted, rate)
        other = sliding_reference(model, q.tolist(), qd, *wanted, rate.tolist())
        e, de = wanted[0] - q, wanted[1] - qd
        for a, b, c in (
            (s.velocity, other.velocity, wanted[1] + rate * e),
            (s.acceleration, other.acceleration, wanted[2] + rate * de),
            (s.sliding, other.sliding, -de - rate * e),
        ):
            np.testing.assert_allclose(a, c, rtol=1e-13, atol=1e-13)
            np.testing.assert_allclose(b, c, rtol=1e-13, atol=1e-13)
        pid = ComputedTorquePID(model, kp, kd, 0.0)
        expected = wanted[2] + kd * de + kp * e
        np.testing.assert_allclose(pid.acceleration(q, qd, *wanted, 0.1), expected, rtol=1e-13, atol=1e-12)
        np.testing.assert_allclose(pid.acceleration(q.tolist(), qd, *wanted, 0.1), expected, rtol=1e-13, atol=1e-12)
    bad = q.copy()
    bad[3] = np.nan
    for states, gain in (((bad, qd, *wanted), rate), ((q, qd, bad, *wanted[1:]), rate), ((q, qd, *wanted), -rate)):
        with pytest.raises(InputError):
            sliding_reference(model, *states, gain)
    with pytest.raises(InputError):
        pid.acceleration(bad, qd, *wanted, 0.1)
