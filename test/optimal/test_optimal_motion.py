"""Optimal motions within limits: the package's Panda, other costs, free durations, waypoints, obstacles, periods."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from support.compare import relative
from support.grids import every_run
from support.robots import OWN, panda
from support.sample_trees import rods_in_a_row

from benchmarks.library.optimal_motions import judged, pair
from lie_dynamics_ros import Controller
from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.optimal import OptimalMotionError
from lie_dynamics_ros.lie_dynamics.optimal.interior_point import solve

POINT = ld.SpatialInertia(2.0, np.zeros(3), np.zeros((3, 3)))


def cart(axes=1, **limits):
    """A mass of 2 kg on one slide, or on two that cross."""
    builder = ld.ModelBuilder()
    for k in range(axes):
        inertia = POINT if k == axes - 1 else ld.SpatialInertia(0.0, np.zeros(3), np.zeros((3, 3)))
        parent = None if k == 0 else f"cart {k - 1}"
        builder.add(f"cart {k}", parent, ld.joint_types.prismatic(np.eye(3)[k]), np.eye(4), inertia, **limits)
    return builder.build().with_gravity([0.0, 0.0, 0.0])


#: A pair of states by hand, whose cubic keeps all limits; one whose cubic is too fast; one drawn, with two minima.
PAIRS = {
    "slow": ([0, -0.6, 0, -2.2, 0, 1.6, 0.8], [1.2, 0.5, -0.4, -1.2, 0.6, 2.2, -0.5], 2.5),
    "fast": ([0, -0.6, 0, -2.2, 0, 1.6, 0.8], [1.2, 0.5, -0.4, -1.2, 0.6, 2.2, -0.5], 0.75),
    "two minima": ([-1.55, 1.17, -1.59, -0.95, -0.87, 1.45, 0.25], [1.97, -1.4, -1.57, -1.04, -0.49, 1.23, 2.15], 2.2),
}


def require_kept(model, path, limits, tolerance=1e-5):
    """All limits at 2,001 times, by inverse dynamics, and the cost by another quadrature."""
    t = np.linspace(0.0, path.duration, 2001)
    q, qd, qdd, tau = path.at(t)
    assert relative(ld.inverse_dynamics(model, q, qd, qdd), tau) < 1e-12
    assert (np.abs(qd) <= limits.velocity * (1 + tolerance)).all()
    assert (np.abs(tau) <= limits.effort + tolerance * path.effort_scale).all()
    assert (q >= limits.lower - tolerance).all()
    assert (q <= limits.upper + tolerance).all()
    return np.trapezoid((tau**2).sum(axis=1), t)


@pytest.mark.parametrize("name", every_run(["fast"], PAIRS))
def test_panda_within_its_limits_against_slsqp(name):
    """The limits of its URDF push: no dearer than the judge's motion with as many modes, and kept everywhere."""
    start, goal, T = (np.array(x, dtype=float) for x in PAIRS[name])
    model = panda()
    path = ld.torque_optimal_motion(model, start, goal, float(T), limits=model.limits, tolerance=1e-3, max_modes=6)
    assert path.converged
    assert path.reason == "optimal"
    assert path.cost <= 1.005 * judged(model, start, goal, float(T), 6)
    assert require_kept(model, path, model.limits) == pytest.approx(path.cost, rel=1e-5)
    assert path.stationarity + path.gap == pytest.approx(path.residual)
    assert path.gap < 1e-3


def test_limits_to_round_off():
    """The certificate reaches round-off of multipliers and room, with limits kept everywhere; the same once more."""
    start, goal, T = (np.array(x, dtype=float) for x in PAIRS["slow"])
    model = panda()
    path, again = (
        ld.torque_optimal_motion(model, start, goal, float(T), limits=model.limits, max_modes=3) for _ in range(2)
    )
    np.testing.assert_array_equal(path.q, again.q)
    assert path.converged and path.residual < 1e-10 and path.excess < 1e-6
    require_kept(model, path, model.limits)


def test_starts_out_of_reach_are_left_out(monkeypatch):
    """What cannot be evaluated from other starts, as too far for double precision, ends no search."""
    model = panda()
    start, goal, T = (np.array(x, dtype=float) for x in PAIRS["fast"])
    options = {"limits": model.limits, "tolerance": 1e-3, "max_modes": 6}
    path = ld.torque_optimal_motion(model, start, goal, float(T), **options)
    calls = []

    def out_of_reach(*args, **options):
        if "barrier" in options:  # of the search itself
            return solve(*args, **options)
        calls.append(args)
        raise ld.SingularityError("out of reach")

    monkeypatch.setattr(ld.optimal, "solve", out_of_reach)
    alone = ld.torque_optimal_motion(model, start, goal, float(T), **options)
    assert len(calls) > 2
    assert path.converged and alone.converged
    assert path.cost <= alone.cost * (1 + 1e-3)


def test_another_valley_is_found():
    """From the cubic alone the search ends at 1577; a judge with as many modes finds 1226."""
    model = panda()
    start, goal, T = pair(model, 25)
    path = ld.torque_optimal_motion(model, start, goal, T, limits=model.limits, tolerance=1e-3, max_modes=6)
    assert path.converged and path.reason == "optimal" and path.cost < 1226.0
    assert require_kept(model, path, model.limits) == pytest.approx(path.cost, rel=1e-5)
    assert path.stationarity + path.gap == pytest.approx(path.residual)
    assert path.gap < 1e-3


def test_ends_on_a_limit():
    """Near an end on a limit nothing is lost between points; with a little room beyond it costs hardly less."""
    model = panda()
    start, goal = (np.array(x, dtype=float) for x in PAIRS["slow"][:2])
    start[3], goal[1] = model.limits.lower[3], model.limits.upper[1]
    costs = []
    for room in (0.0, 1e-3):
        wider = replace(model.limits, lower=model.limits.lower - room, upper=model.limits.upper + room)
        path = ld.torque_optimal_motion(
            model, start, goal, 1.5, limits=wider, tolerance=1e-3, max_modes=8, guess=[start, goal]
        )
        assert path.converged
        require_kept(model, path, wider)
        costs.append(path.cost)
    assert costs[1] <= costs[0] < 1.02 * costs[1]


def test_a_start_is_never_made_worse():
    """Found by a search that is stopped at once, a motion is the start that keeps the limits."""
    model = panda()
    start, goal, T = (np.array(x, dtype=float) for x in PAIRS["slow"])
    s = np.linspace(0.0, 1.0, 41)[:, None]
    guess = start + (goal - start) * (3 * s**2 - 2 * s**3)
    rates = (goal - start) * 6 * (s - s**2) / T, (goal - start) * (6 - 12 * s) / T**2
    cubic = np.trapezoid((ld.inverse_dynamics(model, guess, *rates) ** 2).sum(axis=1), s[:, 0] * T)
    path = ld.torque_optimal_motion(model, start, goal, float(T), limits=model.limits, guess=guess, max_modes=1)
    assert path.cost < cubic
    require_kept(model, path, model.limits)


def test_advice_of_a_longer_duration_is_right():
    model = cart()
    limits = replace(model.limits, effort=np.array([2.0]))
    given = {"limits": limits, "guess": [[0.0], [1.5]]}  # which has one valley
    with pytest.raises(OptimalMotionError, match=r"effort of joint 'cart 0'.* a duration of 3 s was found"):
        ld.torque_optimal_motion(model, [0.0], [1.5], 2.0, max_modes=4, **given)
    path = ld.torque_optimal_motion(model, [0.0], [1.5], 3.0, max_modes=16, tolerance=1e-3, **given)
    assert path.excess < 1e-6
    lift = ld.ModelBuilder().add("lift", joint=ld.joint_types.prismatic([0, 0, 1]), inertia=POINT).build()
    weak = replace(lift.limits, effort=np.array([15.0]))  # it weighs 19.6 N
    with pytest.raises(OptimalMotionError, match=r"no duration up to 3 s was found"):
        ld.torque_optimal_motion(lift, [0.0], [1.0], 1.0, limits=weak, max_modes=4, guess=[[0.0], [1.0]])


def planar(links):
    """Rods that hang in a row."""
    start, goal = np.zeros(links), np.full(links, 0.4)
    start[0] = -np.pi / 2
    return rods_in_a_row(links, [0.0, -9.81, 0.0]), start, goal


@pytest.mark.parametrize("links", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_planar_arms_to_the_optimum(links):
    """Without limits: what more modes find is as far below as the refinement says."""
    model, start, goal = planar(links)
    path = ld.torque_optimal_motion(model, start, goal, 0.4, tolerance=1e-2, max_modes=32)
    finer = ld.torque_optimal_motion(model, start, goal, 0.4, tolerance=1e-15, max_modes=64)
    assert path.converged
    assert path.modes < finer.modes
    assert finer.refinement < 1e-3
    assert 0.0 <= path.cost / finer.cost - 1.0 <= 3.0 * path.refinement


@pytest.mark.parametrize("links", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_a_judge_gains_nothing_among_the_same_modes(links):
    """Without limits: scipy's BFGS in another basis of the same polynomials, with slopes by differences."""
    model, start, goal = planar(links)
    T, modes = 0.4, 8
    path = ld.torque_optimal_motion(model, start, goal, T, max_modes=modes)
    assert path.converged and path.residual < 1e-10
    t, w = np.polynomial.legendre.leggauss(2 * modes + 16)  # as many points
    t, w = 0.5 * T * (t + 1.0), 0.5 * T * w
    bumps = [np.polynomial.Polynomial([0, 0, 1, -2, 1])(np.polynomial.Polynomial([0, 1 / T]))] * modes
    bumps = [b * np.polynomial.Legendre.basis(k, domain=[0, T]).convert(kind=type(b)) for k, b in enumerate(bumps)]
    shapes = np.array([[b.deriv(d)(t) if d else b(t) for b in bumps] for d in range(3)])  # (3, k, modes)
    around = path.at(t)[:3]

    def forces(x):
        bend = np.einsum("dak,...an->d...kn", shapes, x.reshape(*x.shape[:-1], modes, links))
        return ld.inverse_dynamics(model, *(a + b for a, b in zip(around, bend, strict=True)))

    def cost(x):
        return float(w @ (forces(x) ** 2).sum(axis=-1)) / path.cost

    def slope(x):
        change = forces(x + 1e-4 * np.eye(len(x))) - forces(x - 1e-4 * np.eye(len(x)))
        return np.einsum("k,kn,mkn->m", w, forces(x), change) / 1e-4 / path.cost

    none = np.zeros(modes * links)
    found = minimize(cost, none, jac=slope, method="BFGS", options={"gtol": 1e-12})
    assert cost(none) == pytest.approx(1.0, abs=1e-12)
    assert cost(none) - found.fun < 1e-10
    away = minimize(cost, none + 1e-2, jac=slope, method="BFGS", options={"gtol": 1e-9, "maxiter": 2000})
    assert away.fun >= 1.0 - 1e-10


# -- other costs and limits, in closed form ---------------------------------------------------------------------------


def test_time_against_torque():
    """12 m^2 d^2 / T^3 + w T is least where T^4 = 36 m^2 d^2 / w."""
    w, d = 5.0, 1.5
    path = ld.optimal_motion(cart(), [0.0], [d], (0.5, 9.0), cost=ld.MotionCost(torque=1.0, time=w), tolerance=1e-9)
    T = (36.0 * 4.0 * d**2 / w) ** 0.25
    assert path.converged
    assert path.duration == pytest.approx(T, rel=1e-6)
    assert path.cost == pytest.approx(12.0 * 4.0 * d**2 / T**3 + w * T, rel=1e-10)


def test_shortest_time_within_an_effort_limit():
    """Bang and bang: T = 2 sqrt(m d / u), which polynomials come near."""
    model = cart()
    limits = replace(model.limits, effort=np.array([4.0]))
    options = {"cost": ld.MotionCost(time=1.0), "limits": limits, "max_modes": 64, "guess": [[0.0], [1.0]]}
    path = ld.optimal_motion(model, [0.0], [1.0], (0.1, 20.0), **options)
    least = 2.0 * np.sqrt(2.0 / 4.0)
    assert least <= path.duration < 1.01 * least
    assert path.excess < 1e-6


def test_jerk_alone():
    """From rest to rest with free accelerations: a quintic whose jerk is 60 d s (1 - s) / T^3."""
    path = ld.optimal_motion(cart(), [0.0], [1.5], 2.0, cost=ld.MotionCost(jerk=3.0))
    assert path.cost == pytest.approx(3.0 * 120.0 * 1.5**2 / 2.0**5, rel=1e-9)


def test_acceleration_and_jerk_limits():
    model = cart()
    limits = replace(model.limits, acceleration=np.array([1.6]), deceleration=np.array([1.6]), jerk=np.array([9.0]))
    path = ld.optimal_motion(model, [0.0], [1.0], 1.8, limits=limits, max_modes=32, tolerance=1e-3)
    t = np.linspace(0.0, path.duration, 2001)
    assert np.abs(path.at(t)[2]).max() < 1.6 * 1.00001
    assert np.abs(np.diff(path.at(t)[2][:, 0]) / np.diff(t)).max() < 9.0 * 1.0001
    free = ld.optimal_motion(model, [0.0], [1.0], 1.8)
    assert path.cost > 1.001 * free.cost
    assert path.excess < 1e-4


def test_electrical_energy():
    """Work and heat: what work goes into motion comes back, so that heat alone counts: twice the cubic's weight."""
    path = ld.optimal_motion(cart(), [0.0], [1.5], 2.0, cost=ld.MotionCost(torque=0.3, energy=1.0), tolerance=1e-9)
    assert path.cost == pytest.approx(0.3 * 12.0 * 4.0 * 1.5**2 / 8.0, rel=1e-8)


def test_power_is_what_it_says_and_takes_less():
    model, ends = cart(), ([0.0], [1.5], 2.0)
    path = ld.optimal_motion(model, *ends, cost=ld.MotionCost(power=1.0, torque=1e-3), tolerance=1e-4, max_modes=32)
    t = np.linspace(0.0, 2.0, 20001)
    _, qd, _, tau = path.at(t)
    assert path.cost == pytest.approx(np.trapezoid(((tau * qd) ** 2 + 1e-3 * tau**2)[:, 0], t), rel=1e-6)
    other = ld.torque_optimal_motion(model, *ends)
    _, qd, _, tau = other.at(t)
    assert path.cost < np.trapezoid(((tau * qd) ** 2 + 1e-3 * tau**2)[:, 0], t)


def test_rate_of_force():
    """The cubic's force falls by 24 m d / T^3 a second; a smaller rate than that is kept, and costs more."""
    model, d, T = cart(), 1.0, 1.0
    most = 0.8 * 24.0 * 2.0 * d / T**3
    path = ld.optimal_motion(
        model, [0.0], [d], T, effort_rate=[most], start_velocity=[1.0], goal_velocity=[0.5], max_modes=32,
        tolerance=1e-3,
    )  # fmt: skip
    free = ld.optimal_motion(model, [0.0], [d], T, start_velocity=[1.0], goal_velocity=[0.5])
    t = np.linspace(0.0, T, 2001)
    rate = [np.abs(np.diff(p.at(t)[3][:, 0]) / np.diff(t)).max() for p in (path, free)]
    assert rate[0] < most * 1.001
    assert path.cost >= free.cost * (1.0 - 1e-9)


@pytest.mark.slow
def test_rates_of_forces_of_an_arm():
    """Smaller ones than the free motion has, at its ends too."""
    start, goal, T = (np.array(x, dtype=float) for x in PAIRS["slow"])
    model, t = panda(), np.linspace(0.0, float(T), 4001)

    def rates(path):
        return np.abs(np.diff(path.at(t)[3], axis=0)).max(axis=0) / t[1]

    options = {"limits": model.limits, "tolerance": 1e-3, "max_modes": 8}
    most = np.full(7, 0.7 * rates(ld.optimal_motion(model, start, goal, float(T), **options)).max())
    path = ld.optimal_motion(model, start, goal, float(T), effort_rate=most, **options)
    assert path.converged and path.excess < 1e-6
    assert (rates(path) < 1.02 * most).all()  # of quotients over longer steps they are kept
    require_kept(model, path, model.limits)


def test_a_coarser_motion_is_kept(monkeypatch):
    """Where a search among more modes ends early, the motion of fewer that is optimal is the result."""
    model = cart()
    limits = replace(model.limits, effort=np.array([11.0]))
    options = {"limits": limits, "tolerance": 1e-9, "max_modes": 16}
    finer = ld.torque_optimal_motion(model, [0.0], [1.0], 1.0, **options)

    def ended(problem, *args, **options):
        found = solve(problem, *args, **options)
        return replace(found, reason="iterations") if problem.count > 8 else found

    monkeypatch.setattr(ld.optimal, "solve", ended)
    path = ld.torque_optimal_motion(model, [0.0], [1.0], 1.0, **options)
    assert (path.modes, finer.modes) == (8, 16)
    assert path.converged and path.cost > finer.cost


def test_waypoints_are_a_spline():
    """Least acceleration through points is the cubic spline with clamped ends."""
    from scipy.interpolate import CubicSpline

    parts, through = np.array([0.3, 0.7]), np.array([[0.8], [-0.2]])
    path = ld.optimal_motion(cart(), [0.0], [1.0], 2.0, waypoints=(parts, through), tolerance=1e-6, max_modes=64)
    spline = CubicSpline(2.0 * np.array([0.0, 0.3, 0.7, 1.0]), [0.0, 0.8, -0.2, 1.0], bc_type="clamped")
    t = np.linspace(0.0, 2.0, 4001)
    assert np.abs(path.at(2.0 * parts)[0] - through).max() < 1e-12
    assert path.cost == pytest.approx(np.trapezoid((2.0 * spline(t, 2)) ** 2, t), rel=1e-4)
    assert np.abs(path.at(t)[0][:, 0] - spline(t)).max() < 1e-3


def test_periodic_motion_through_points():
    """A periodic cubic spline."""
    from scipy.interpolate import CubicSpline

    parts, through = np.array([0.0, 0.5]), np.array([[0.0], [1.0]])
    path = ld.optimal_motion(
        cart(), [0.0], [0.0], 2.0, waypoints=(parts, through), periodic=True, tolerance=1e-6, max_modes=64
    )
    spline = CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 0.0], bc_type="periodic")
    t = np.linspace(0.0, 2.0, 2001)
    assert path.cost == pytest.approx(np.trapezoid((2.0 * spline(t, 2)) ** 2, t), rel=1e-3)
    q, qd, qdd, tau = path.at([0.0, 2.0])
    for x in (q, qd, qdd, tau):
        assert np.abs(x[0] - x[1]).max() < 1e-9


def test_smooth_ends_are_followed_by_the_controller():
    """Accelerations of zero at both ends: the least jerk is the quintic's; the Panda's motion is taken as it is."""
    path = ld.optimal_motion(cart(), [0.3], [1.8], 2.0, smooth_ends=True, cost=ld.MotionCost(jerk=1.0))
    s = path.time[:, None] / 2.0
    assert np.abs(path.qdd[[0, -1]]).max() < 1e-12
    assert path.cost == pytest.approx(720.0 * 1.5**2 / 2.0**5, rel=1e-9)
    assert relative(path.q, 0.3 + 1.5 * (10 * s**3 - 15 * s**4 + 6 * s**5)) < 1e-9
    start, goal, T = (np.array(x, dtype=float) for x in PAIRS["slow"])
    model = panda()
    path = ld.optimal_motion(model, start, goal, float(T), limits=model.limits, smooth_ends=True, tolerance=1e-2)
    controller = Controller(OWN)
    controller.update(0.0, start, np.zeros(7))
    assert controller.follow(path.time, path.q, path.qd, path.qdd) == ""
    for t in (0.5, 1.0, 2.0):
        q, qd, _, _ = path.at(t)
        out = controller.update(t, q, qd)
        assert np.abs(out.desired_position - q).max() < 0.02


def test_a_disc_is_passed():
    """Around a disc that lies a little off the straight line, against the least over one bend by hand."""
    model, centre, radius = cart(2), np.array([0.5, -0.05]), 0.2

    def disc(q):
        arm = q - centre
        distance = np.linalg.norm(arm, axis=1)
        return distance[:, None] - radius, (arm / distance[:, None])[:, None]

    guess = np.array([[0.0, 0.0], [0.5, 0.4], [1.0, 0.0]])
    path = ld.optimal_motion(model, [0.0, 0.0], [1.0, 0.0], 1.0, obstacles=disc, guess=guess, tolerance=1e-4)
    t = np.linspace(0.0, 1.0, 1001)
    assert disc(path.at(t)[0])[0].min() > -1e-6
    free = ld.torque_optimal_motion(model, [0.0, 0.0], [1.0, 0.0], 1.0)
    assert disc(free.at(t)[0])[0].min() < -0.1
    # through one point above: a spline in y, whose cost is 192 m^2 h^2; the touching point is found by a scalar search

    def bound(s):
        x = 3 * s**2 - 2 * s**3
        height = centre[1] + np.sqrt(max(radius**2 - (x - centre[0]) ** 2, 0.0))
        return -height

    top = -minimize_scalar(bound, bounds=(0.3, 0.7), method="bounded").fun
    assert path.cost >= 12.0 * 4.0 + 192.0 * 4.0 * (0.9 * top) ** 2
    assert path.cost <= 1.05 * (12.0 * 4.0 + 192.0 * 4.0 * top**2)


def test_refusals():
    model = cart()
    ends = [0.0], [1.0]
    for arguments, match in (
        ({"duration": (2.0, 1.0)}, "shortest"),
        ({"duration": (1.0, 2.0, 3.0)}, "duration"),
        ({"duration": 1.0, "cost": 3.0}, "MotionCost"),
        ({"duration": 1.0, "cost": ld.MotionCost()}, "not 0"),
        ({"duration": 1.0, "cost": ld.MotionCost(torque=-1.0)}, r"cost\.torque"),
        ({"duration": 1.0, "cost": ld.MotionCost(torque=[1.0, 2.0])}, r"cost\.torque"),
        ({"duration": 1.0, "waypoints": ([0.5, 0.4], [[0.0], [0.1]])}, "rising"),
        ({"duration": 1.0, "waypoints": ([0.5], [[0.0], [0.1]])}, "waypoints"),
        ({"duration": 1.0, "waypoints": ([0.3, 0.5], [[0.0], [0.1]]), "max_modes": 2}, "max_modes"),
        ({"duration": 1.0, "effort_rate": [0.0]}, "effort_rate"),
        ({"duration": 1.0, "effort_rate": [1.0, 2.0]}, "effort_rate"),
        ({"duration": 1.0, "obstacles": lambda q: (np.zeros(len(q)), np.zeros((len(q), 1)))}, "obstacles"),
        ({"duration": 1.0, "obstacles": lambda q: (q * np.nan, np.zeros((len(q), 1, 1)))}, "obstacles"),
        ({"duration": 1.0, "periodic": True, "start_velocity": [1.0]}, "periodic"),
    ):
        with pytest.raises(ld.InputError, match=match):
            ld.optimal_motion(model, *ends, **arguments)
