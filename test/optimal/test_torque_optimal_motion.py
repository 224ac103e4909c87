"""Motions of least joint forces against closed forms, Pontryagin's equations, and their neighbours."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_bvp
from scipy.optimize import brentq
from support.compare import relative
from support.grids import every_run
from support.sample_trees import rods_in_a_row

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.optimal import OptimalMotionError

POINT = ld.SpatialInertia(2.0, np.zeros(3), np.zeros((3, 3)))
BALL = ld.SpatialInertia(2.0, np.zeros(3), 0.3 * np.eye(3))
REST, DOWN = (0.0, 0.0, 0.0), (0.0, -9.81, 0.0)
ALONE = [[0.0], [1.5]]
"""A guess: the search begins at the cubic alone. Motions of one slide have one valley; others are drawn elsewhere."""


def cart(**limits):
    """A mass of 2 kg on a slide."""
    builder = ld.ModelBuilder().add("cart", joint=ld.joint_types.prismatic([1, 0, 0]), inertia=POINT, **limits)
    return builder.build().with_gravity(REST)


def pendulum(damping=0.0):
    bob = ld.SpatialInertia(1.7, [0, 0, -0.6], np.zeros((3, 3)))
    joint = ld.joint_types.revolute([1, 0, 0])
    model = ld.ModelBuilder().add("bob", joint=joint, inertia=bob, damping=damping).build()
    return model.with_joint_terms(damping=damping > 0.0)


# -- closed forms -----------------------------------------------------------------------------------------------------


def test_a_mass_on_a_slide_moves_by_a_cubic():
    path = ld.torque_optimal_motion(cart(), [0.3], [1.8], 2.0)
    assert path.converged
    assert path.cost == pytest.approx(12.0 * 2.0**2 * 1.5**2 / 2.0**3, rel=1e-12)
    t = np.linspace(0.0, 2.0, 11)
    q, qd, qdd, tau = path.at(t)
    s = t / 2.0
    assert np.abs(q[:, 0] - (0.3 + 1.5 * (3 * s**2 - 2 * s**3))).max() < 1e-12
    assert np.abs(tau[:, 0] - 2.0 * 1.5 / 4.0 * (6 - 12 * s)).max() < 1e-11
    assert relative(qdd, tau / 2.0) < 1e-12
    assert np.abs(qd[:, 0] - 1.5 / 2.0 * (6 * s - 6 * s**2)).max() < 1e-12


def test_damping_is_part_of_the_force():
    """m x'' + d x' = u: the least u obeys (D^2 - c^2) D^2 x = 0, c = d / m."""
    d, m, T, goal = 3.0, 2.0, 1.5, 0.8
    path = ld.torque_optimal_motion(cart(damping=d).with_joint_terms(damping=True), [0.0], [goal], T)
    c = d / m

    def rows(t):
        e, f = np.exp(c * t), np.exp(-c * t)
        return [1.0, t, e, f], [0.0, 1.0, c * e, -c * f]

    k = np.linalg.solve([*rows(0.0), *rows(T)], [0.0, 0.0, goal, 0.0])
    q, qd, _, _ = path.at(np.linspace(0.0, T, 9))
    found = np.array([np.array(rows(t)) @ k for t in np.linspace(0.0, T, 9)])
    assert relative(np.concatenate([q, qd], axis=1), found) < 1e-6
    # u = m x'' + d x' = d k1 + 2 m c^2 k2 exp(c t)
    a, b = d * k[1], 2.0 * m * c**2 * k[2]
    integral = a**2 * T + 2 * a * b * (np.exp(c * T) - 1) / c + b**2 * (np.exp(2 * c * T) - 1) / (2 * c)
    assert path.cost == pytest.approx(integral, rel=1e-9)


def test_a_pendulum_that_swings_little():
    """Linear: the least torque obeys (D^2 + w^2)^2 x = 0."""
    T, w, size = 1.3, np.sqrt(9.81 / 0.6), 1e-5
    path = ld.torque_optimal_motion(pendulum(), [0.0], [size], T, goal_velocity=[2.0 * size])

    def rows(t):
        c, s = np.cos(w * t), np.sin(w * t)
        return [c, s, t * c, t * s], [-w * s, w * c, c - w * t * s, s + w * t * c]

    k = np.linalg.solve([*rows(0.0), *rows(T)], [0.0, 0.0, size, 2.0 * size])
    t = np.linspace(0.0, T, 2001)
    q, _, _, tau = path.at(t)
    assert path.converged
    assert np.abs(q[:, 0] - [rows(x)[0] @ k for x in t]).max() < 1e-7 * size
    torque = 1.7 * 0.6**2 * 2.0 * w * (k[3] * np.cos(w * t) - k[2] * np.sin(w * t))
    assert relative(tau[:, 0], torque) < 1e-5


def test_a_ball_turns_about_one_axis_and_a_body_flies_straight():
    ball = ld.ModelBuilder().add("ball", joint=ld.joint_types.spherical(), inertia=BALL).build().with_gravity(REST)
    angle = np.array([0.4, -1.2, 2.0])
    start = ball.random(np.random.default_rng(1))
    path = ld.torque_optimal_motion(ball, start, ball.integrate(start, angle), 1.5)
    assert path.cost == pytest.approx(12.0 * 0.3**2 * angle @ angle / 1.5**3, rel=1e-9)
    body = ld.ModelBuilder().add("body", joint=ld.joint_types.free(), inertia=BALL).build().with_gravity(REST)
    start = body.random(np.random.default_rng(2))
    goal = start.copy()
    goal[4:] += [1.0, -2.0, 0.5]
    path = ld.torque_optimal_motion(body, start, goal, 1.5)
    assert path.cost == pytest.approx(12.0 * 2.0**2 * 5.25 / 1.5**3, rel=1e-9)
    assert path.converged


def test_free_fall_takes_no_force():
    model = ld.ModelBuilder().add("body", joint=ld.joint_types.free(), inertia=BALL).build()
    start = model.neutral()
    v, T = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 2.0]), 0.5
    goal, end = start.copy(), v.copy()
    goal[4:] += T * v[3:] + 0.5 * T**2 * model.gravity
    end[3:] += T * model.gravity
    path = ld.torque_optimal_motion(model, start, goal, T, start_velocity=v, goal_velocity=end)
    assert path.cost < 1e-20
    assert path.residual == path.refinement == 0.0


# -- limits -----------------------------------------------------------------------------------------------------------


def test_limit_of_speed():
    """Rates rise by parabolas to the limit and stay there."""
    T, d, most = 2.0, 1.5, 1.0
    model = cart()
    path = ld.torque_optimal_motion(
        model, [0.0], [d], T, limits=replace(model.limits, velocity=np.array([most])), tolerance=1e-5, guess=ALONE
    )
    ramp = 1.5 * (most * T - d) / most
    assert path.cost == pytest.approx(2.0**2 * 8.0 * most**2 / (3.0 * ramp), rel=1e-4)
    assert path.qd.max() < most * 1.001
    assert path.excess < 1e-3


def test_limit_of_force():
    """The force is a falling line, cut at the limits."""
    T, d, most = 2.0, 1.5, 3.5
    model, a = cart(), 3.5 / 2.0
    limits = replace(model.limits, effort=np.array([most]))
    path = ld.torque_optimal_motion(model, [0.0], [d], T, limits=limits, tolerance=1e-5, max_modes=64, guess=ALONE)
    t = np.linspace(0.0, T, 20001)

    def force(full):
        return np.clip(most * (0.5 * T - t) / (0.5 * T - full), -most, most)

    def distance(full):
        return np.trapezoid((T - t) * force(full) / 2.0, t) - d

    assert a * T**2 / 4 > d > a * T**2 / 6  # the limit counts, and can be kept
    full = brentq(distance, 0.0, 0.999 * T / 2)
    assert path.cost == pytest.approx(np.trapezoid(force(full) ** 2, t), rel=1e-4)
    assert np.abs(path.tau).max() < most * 1.01


WALLS = (0.3, 4.0), (0.2, 2 * (2 + 6 * 0.2**2)), (0.1, 8 / 0.9)


@pytest.mark.parametrize(("height", "least"), every_run(WALLS[1:2], WALLS))
def test_limit_of_position(height, least):
    """Bryson, Denham and Dreyfus: thrown at a wall and back, in closed form for walls far, touched once, and near."""
    model = cart()
    limits = replace(model.limits, upper=np.array([height]))
    path = ld.torque_optimal_motion(
        model, [0.0], [0.0], 1.0, start_velocity=[1.0], goal_velocity=[-1.0], limits=limits, weights=[0.25],
        tolerance=1e-5, max_modes=64, guess=[[0.0], [0.0]],
    )  # fmt: skip
    assert path.cost == pytest.approx(least, rel=2e-4)
    assert path.q.max() < height + 1e-3


def test_forces_beyond_double_precision_are_told():
    with pytest.raises(OptimalMotionError, match="too large for double precision"), np.errstate(all="ignore"):
        ld.torque_optimal_motion(pendulum(), [0.0], [1.0], 1.0, goal_velocity=[1e160])


def test_a_passive_joint():
    """A cart swings a pendulum up that no motor turns; the force integrates to the momentum gained and lost."""
    builder = ld.ModelBuilder().add("cart", joint=ld.joint_types.prismatic([1, 0, 0]), inertia=POINT)
    bob = ld.SpatialInertia(0.5, [0, 0, -0.5], np.zeros((3, 3)))
    model = builder.add("pole", "cart", ld.joint_types.revolute([0, 1, 0]), inertia=bob).build()
    limits = replace(model.limits, effort=np.array([np.inf, 0.0]))
    path = ld.torque_optimal_motion(model, [0.0, 0.0], [0.0, np.pi], 2.0, limits=limits, tolerance=1e-2, max_modes=32)
    assert np.abs(path.tau[:, 1]).max() < 1e-3 * path.effort_scale[1]
    assert np.abs(path.q[-1] - [0.0, np.pi]).max() < 1e-12
    assert path.excess < 1e-3


# -- Pontryagin -------------------------------------------------------------------------------------------------------


def two_links(q, qd, tau):
    """Accelerations of two equal rods, 1 kg and 1 m, that hang, by hand; analytic, (2, m) each."""
    c2, s2 = np.cos(q[1]), np.sin(q[1])
    m11, m12, m22 = 5.0 / 3.0 + c2, 1.0 / 3.0 + 0.5 * c2, 1.0 / 3.0
    g1 = 9.81 * (1.5 * np.cos(q[0]) + 0.5 * np.cos(q[0] + q[1]))
    g2 = 9.81 * 0.5 * np.cos(q[0] + q[1])
    r1 = tau[0] + 0.5 * s2 * qd[1] * (2.0 * qd[0] + qd[1]) - g1
    r2 = tau[1] - 0.5 * s2 * qd[0] ** 2 - g2
    det = m11 * m22 - m12**2
    return np.array([m22 * r1 - m12 * r2, m11 * r2 - m12 * r1]) / det


def pontryagin(_, y):
    """States and costates (8, m): q, qd and what multiplies their equations."""
    q, qd, p, r = y.reshape(4, 2, -1)
    none = np.zeros_like(q)
    step = 1e-30j

    def slopes(k):
        """d(acceleration)/d(argument k), columns by complex steps."""
        columns = []
        for i in range(2):
            arguments = [q.astype(complex), qd.astype(complex), tau.astype(complex)]
            arguments[k][i] += step
            columns.append(two_links(*arguments).imag / 1e-30)
        return np.array(columns)  # [i, row, m]

    tau = none
    tau = -0.5 * np.einsum("ijm,jm->im", slopes(2), r)
    back = [np.einsum("ijm,jm->im", slopes(k), r) for k in (0, 1)]
    return np.concatenate([qd, two_links(q, qd, tau), -back[0], -p - back[1]])


def test_two_links_obey_pontryagin():
    """Another method altogether: the boundary-value problem of states and costates, with dynamics by hand."""
    a, b, T = np.array([-np.pi / 2, 0.3]), np.array([0.2, 0.8]), 0.8
    path = ld.torque_optimal_motion(rods_in_a_row(2, DOWN), a, b, T)
    t = np.linspace(0.0, T, 41)
    s = t / T
    guess = np.zeros((8, 41))
    guess[:2] = a[:, None] + (b - a)[:, None] * (3 * s**2 - 2 * s**3)
    guess[2:4] = (b - a)[:, None] * 6 * (s - s**2) / T

    def ends(x, y):
        return np.concatenate([x[:2] - a, x[2:4], y[:2] - b, y[2:4]])

    found = solve_bvp(pontryagin, ends, t, guess, tol=1e-8, max_nodes=20000)
    assert found.success
    assert path.converged
    y = found.sol(path.time)
    assert np.abs(path.q - y[:2].T).max() < 2e-6
    assert np.abs(path.qd - y[2:4].T).max() < 2e-5


def test_more_modes_take_no_more_and_the_refinement_foretells_it():
    model = rods_in_a_row(2, DOWN)
    paths = [ld.torque_optimal_motion(model, [-np.pi / 2, 0.0], [0.5, 0.4], 1.0, max_modes=k) for k in (2, 4, 8, 64)]
    costs = [p.cost for p in paths]
    assert costs == sorted(costs, reverse=True)
    assert all(p.converged and p.residual < 1e-10 for p in paths)
    assert [p.refinement < 1e-10 for p in paths] == [False, False, False, True]
    for path in paths[:3]:
        left = path.cost / costs[-1] - 1.0
        assert 0.2 * left < path.refinement < 5.0 * left


def test_guesses_lead_to_different_motions():
    """Down and up again the near way or with a swing: the second takes less where time is long."""
    model, T = pendulum(), 2.5
    t = np.linspace(0.0, 1.0, 30)
    ends = [0.0], [np.pi]
    direct = ld.torque_optimal_motion(model, *ends, T, max_modes=32)
    other = ld.torque_optimal_motion(model, *ends, T, guess=(np.pi * t**2 + 2.0 * np.sin(3 * np.pi * t))[:, None])
    assert direct.cost != pytest.approx(other.cost, rel=0.01)


def test_weights_move_the_load():
    model = rods_in_a_row(2, REST)
    ends = [0.0, 0.3], [1.0, 1.0]
    even, spared = (ld.torque_optimal_motion(model, *ends, 1.0, weights=w) for w in ([1.0, 1.0], [1.0, 50.0]))
    load = [[np.mean(p.tau[:, k] ** 2) for k in (0, 1)] for p in (even, spared)]
    assert load[1][1] < load[0][1]
    assert load[1][0] > load[0][0]


def test_a_coupled_mimic_moves_along():
    builder = ld.ModelBuilder().add("a", joint=ld.joint_types.prismatic([1, 0, 0]), inertia=POINT)
    builder.add("b", joint=ld.joint_types.prismatic([0, 1, 0]), inertia=POINT, mimic=("a", 2.0, 0.0))
    model = builder.build().with_coupled_mimics().with_gravity(REST)
    path = ld.torque_optimal_motion(model, [0.0], [1.0], 1.0)
    assert path.cost == pytest.approx(12.0 * (2.0 + 4.0 * 2.0) ** 2, rel=1e-10)


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_refusals():
    model = cart(friction=1.0, lower=-1.0, upper=1.0, velocity=2.0)
    with pytest.raises(ld.DescriptionError, match="dry friction"):
        ld.torque_optimal_motion(model.with_joint_terms(friction=True), [0.0], [1.0], 1.0)
    with pytest.raises(ld.InputError, match=r"goal: position 1.5 of joint 'cart'"):
        ld.torque_optimal_motion(model, [0.0], [1.5], 1.0, limits=model.limits)
    with pytest.raises(ld.InputError, match=r"start: velocity 3.0 of joint 'cart'"):
        ld.torque_optimal_motion(model, [0.0], [0.5], 1.0, start_velocity=[3.0], limits=model.limits)
    with pytest.raises(ld.InputError, match="lower position limit"):
        wrong = replace(model.limits, lower=np.array([2.0]))
        ld.torque_optimal_motion(model, [0.0], [0.5], 1.0, limits=wrong)
    with pytest.raises(ld.InputError, match="guess"):
        ld.torque_optimal_motion(model, [0.0], [0.5], 1.0, guess=[[0.0]])
    with pytest.raises(ld.InputError, match="overflows"):
        ld.torque_optimal_motion(model, [0.0], [1e300], 1e-10)
    path = ld.torque_optimal_motion(model, [0.0], [0.5], 1.0)
    for time in (-0.1, 1.1, np.nan, "now"):
        with pytest.raises(ld.LieDynamicsError):
            path.at(time)
    assert path.at(0.5)[0].shape == (1,)
    assert path.at(np.zeros((2, 3)))[3].shape == (2, 3, 1)
