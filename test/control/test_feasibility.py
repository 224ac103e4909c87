"""Trajectories judged by all limits, and retimed; the oracle integrates the phase plane with MuJoCo's dynamics."""

import re
from dataclasses import replace

import numpy as np
import pytest
from support import arms
from support.control.curved_paths import ARM, START, WAY, quintic

from lie_dynamics_ros.lie_dynamics import InputError, Model
from lie_dynamics_ros.lie_dynamics.control import Trajectory
from lie_dynamics_ros.lie_dynamics.control.feasibility import (
    JointPath,
    MotionLimits,
    RetimingError,
    feasibility,
    plot_feasibility,
    retime,
)
from lie_dynamics_ros.lie_dynamics.control.feasibility.joint_path import largest, largest_against


def weak(part):
    """Limits with a part of the efforts, the other limits far away: efforts alone decide."""
    limits = MotionLimits.of(arms.load(ARM).model)
    return replace(limits, effort=part * limits.effort, velocity=np.full(7, np.inf))


def by_way(trajectory):
    """Return position and its derivatives by the share of the way: a parameter that moves where the robot begins to."""
    shares = np.linspace(0.0, 1.0, 4001)
    passed = shares**3 * (10 - 15 * shares + 6 * shares**2)

    def position(u):
        return trajectory.at(trajectory.duration * np.interp(u, passed, shares)).q

    def motion(u, h=2e-3):
        ahead, here, behind = position(u + h), position(u), position(u - h)
        return here, (ahead - behind) / (2 * h), (ahead - 2 * here + behind) / h**2

    return motion, (0.003, 0.997)


def by_time(trajectory):
    """Return the same by the time that was asked for."""

    def motion(t):
        at = trajectory.at(t)
        return at.q, at.qd, at.qdd

    return motion, (0.0, trajectory.duration)


def shortest(path, limit, judge, steps=150, fastest=None):
    """Return the shortest time along a path by effort limits [s], on a dense grid; s is the path's parameter.

    From rest to rest, or, with ``fastest``, at any rate up to that at its ends. Efforts are linear in s'' and s'^2,
    with coefficients from MuJoCo's inverse dynamics.
    """
    motion, ends = path
    s = np.linspace(*ends, steps + 1)[:-1] + 0.5 * (ends[1] - ends[0]) / steps
    rows = []
    for x in s:
        q, first, second = motion(x)
        zero = np.zeros(7)
        still = judge.inverse_dynamics(q, zero, zero)
        slope = judge.inverse_dynamics(q, zero, first) - still
        rows.append((slope, judge.inverse_dynamics(q, first, second) - still, limit - still, -limit - still))
    a, b, top, bottom = (np.array(x) for x in zip(*rows, strict=True))

    def slopes(k, square):
        """Least and largest s'' at a place and s'^2; the least above the largest where there is none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.sort(np.stack([top[k] - b[k] * square, bottom[k] - b[k] * square]) / a[k], axis=0)
        kept = np.abs(a[k]) > 1e-12
        return ends[0][kept].max(initial=-1e12), ends[1][kept].min(initial=1e12)

    def highest(k):
        low, high = 0.0, 1e4 if fastest is None else fastest**2
        for _ in range(45):
            middle = 0.5 * (low + high)
            least, most = slopes(k, middle)
            low, high = (middle, high) if least <= most else (low, middle)
        return low

    most, h = np.array([highest(k) for k in range(steps)]), s[1] - s[0]
    if fastest is None:
        most[-1] = min(most[-1], -h * slopes(steps - 1, 0.0)[0])
    reach = most.copy()  # largest from which the rest of the path can be followed
    for k in range(steps - 2, -1, -1):
        low, high = 0.0, most[k]
        for _ in range(40):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if middle + 2 * h * slopes(k, middle)[0] <= reach[k + 1] else (low, middle)
        reach[k] = low
    squares = reach.copy()
    if fastest is None:
        squares[0] = min(reach[0], h * slopes(0, 0.0)[1])
    for k in range(steps - 1):
        squares[k + 1] = max(min(reach[k + 1], squares[k] + 2 * h * slopes(k, squares[k])[1]), 1e-12)
    return float(np.sum(h / np.sqrt(squares)))


@pytest.mark.parametrize("duration", [0.3, pytest.param(0.5, marks=pytest.mark.slow)])
def test_retimed_paths_keep_effort_limits_and_lose_little_of_the_shortest_time(duration):
    arm, judge, limits = arms.load(ARM), arms.physics(ARM), weak(0.6)
    trajectory = quintic(duration)
    assert not feasibility(arm.model, trajectory, limits).feasible
    found = retime(arm.model, trajectory, limits)
    retimed = found.trajectory(arm.model)
    assert found.factor == pytest.approx(retimed.duration / duration) and found.factor >= 1.0
    assert feasibility(arm.model, retimed, limits).feasible
    times = np.linspace(0.0, retimed.duration * (1 - 1e-9), 1500)
    efforts = [judge.inverse_dynamics(*(getattr(retimed.at(t), x) for x in ("q", "qd", "qdd"))) for t in times]
    assert (np.abs(efforts) / limits.effort).max() < 1.01
    best = shortest(by_way(trajectory), limits.effort, judge)
    assert retimed.duration < 1.05 * best, (retimed.duration, best)
    assert retimed.duration > 0.97 * best  # the oracle leaves out the ends of the way
    places = np.array([retimed.at(t).q for t in times])
    own = np.array([trajectory.at(s).q for s in np.linspace(0.0, duration, 3000)])
    off = [np.abs(own - q).max(axis=1).min() for q in places[::75]]
    assert max(off) < 1e-3  # the same path


def test_a_path_that_is_too_fast_in_one_place_is_nowhere_faster_than_asked():
    arm, judge = arms.load(ARM), arms.physics(ARM)
    trajectory = quintic(1.6)
    asked = feasibility(arm.model, trajectory, weak(1.0)).use("effort").max()
    limits = weak(0.97 * asked)
    found = retime(arm.model, trajectory, limits)
    assert found.rates.max() <= 1.0 + 1e-9 and 1.0 < found.factor < 1.1
    best = shortest(by_time(trajectory), limits.effort, judge, fastest=1.0)
    assert 0.99 * best < found.times[-1] < 1.05 * best


def test_losses_are_those_at_the_speed_that_is_found():
    text = arms.load(ARM).text
    text = re.sub(r"<dynamics[^>]*/>", "", text).replace("</joint>", '<dynamics damping="8" friction="3"/></joint>')
    model = Model.from_urdf(text).with_joint_terms(damping=True, friction=True)
    trajectory, limits = quintic(0.5, model), weak(0.7)
    found = retime(model, trajectory, limits)
    assert feasibility(model, found.trajectory(model), limits).feasible
    assert feasibility(model, found.trajectory(model), limits).use("effort").max() > 0.98
    free = retime(arms.load(ARM).model, quintic(0.5), limits)
    assert abs(found.times[-1] - free.times[-1]) > 0.01 * free.times[-1]


def test_velocity_acceleration_and_deceleration_limits_are_kept():
    model = arms.load(ARM).model
    limits = replace(MotionLimits.of(model), acceleration=np.full(7, 6.0), deceleration=np.full(7, 3.0))
    trajectory = quintic(0.8)
    found = retime(model, trajectory, limits).trajectory(model)
    at = [found.at(t) for t in np.linspace(0.0, found.duration * (1 - 1e-9), 700)]
    qd, qdd = (np.array([getattr(x, n) for x in at]) for n in ("qd", "qdd"))
    assert (np.abs(qd) / limits.velocity).max() <= 1.0
    slowing = qd * qdd < 0.0
    assert np.abs(qdd[slowing]).max() <= 3.0 and 5.9 < np.abs(qdd[~slowing]).max() <= 6.0
    assert feasibility(model, found, limits).feasible
    excess = feasibility(model, quintic(1.5), limits).excess
    assert excess is not None and excess.kind == "deceleration" and 3.0 < abs(excess.value) < 6.0


def test_jerk_is_kept_by_one_rate_for_the_whole_path():
    model = arms.load(ARM).model
    limits = replace(MotionLimits.of(model), jerk=np.full(7, 50.0))
    trajectory = quintic(1.0)
    judged = feasibility(model, trajectory, limits)
    assert judged.excess.kind in ("jerk", "velocity")
    found = retime(model, trajectory, limits)
    slow = feasibility(model, found.trajectory(model), limits)
    assert slow.feasible and slow.use("jerk").max() == pytest.approx(1.0, abs=2e-3)
    t, motion = np.linspace(0.0, found.times[-1], 3000), found.trajectory(model)
    qdd = np.array([motion.at(x).qdd for x in t])
    assert np.abs(np.diff(qdd, axis=0)[:-1] / np.diff(t)[:-1, None]).max() < 50.0 * 1.01
    assert np.ptp(found.rates) == 0.0


def test_a_judgement_says_what_is_exceeded_by_which_joint_where():
    model = arms.load(ARM).model
    good = feasibility(model, quintic(4.0))
    assert good.feasible and good.excess is None and good.use("velocity").max() < 1.0
    judge, k = arms.physics(ARM), 40
    at = quintic(4.0).at(good.times[k])
    np.testing.assert_allclose(good.values["effort"][k], judge.inverse_dynamics(at.q, at.qd, at.qdd), atol=1e-9)
    assert "velocity" in str(feasibility(model, quintic(0.5)).excess)
    loaded = model.with_payload("panda_link7", 9.0, [0.0, 0.0, 0.1])
    excess = feasibility(loaded, quintic(3.0)).excess
    assert excess.kind == "effort" and excess.joint in model.joint_names and "takes" in str(excess)
    assert abs(excess.value) > excess.limit


def test_what_cannot_be_retimed_says_why():
    model = arms.load(ARM).model
    corner = Trajectory(model, [0.0, 1.0, 2.0], [START, START + WAY, START])
    with pytest.raises(RetimingError, match="corner after 1 s"):
        retime(model, corner)
    with pytest.raises(RetimingError, match="two points"):
        retime(model, Trajectory(model, [0.0], [START]))
    with pytest.raises(InputError, match="a Trajectory is expected"):
        feasibility(model, START)
    heavy = model.with_payload("panda_link7", 40.0, [0.0, 0.0, 0.1])
    with pytest.raises(RetimingError, match="at rest on the path joint panda_joint"):
        retime(heavy, quintic(3.0))


def test_extremes_of_polynomials_agree_with_samples(rng):
    for _ in range(50):
        c, rate = rng.normal(size=4), rng.normal(size=5)
        x = np.linspace(0.0, 1.0, 20001)
        values, slopes = np.polynomial.polynomial.polyval(x, c), np.polynomial.polynomial.polyval(x, rate)
        assert largest(c) == pytest.approx(values.max(), abs=1e-6)
        expected = values[slopes < 0.0].max(initial=-np.inf)
        found = largest_against(c, rate)
        assert (found == expected == -np.inf) or found == pytest.approx(expected, abs=2e-3)


def test_paths_of_some_joints_leave_the_others_where_they_are():
    model = arms.load(ARM).model
    whole = JointPath.of(quintic(1.0))
    part = JointPath(
        np.array([1, 3]), whole.times, whole.position[:, [1, 3]], whole.segments[:, :, [1, 3]], START
    )  # fmt: skip
    judged = feasibility(model, part)
    assert not judged.values["velocity"][:, [0, 2, 4, 5, 6]].any()
    expected = feasibility(model, quintic(1.0)).values["velocity"][:, 1]
    np.testing.assert_allclose(judged.values["velocity"][:, 1], expected)


def test_a_picture_is_drawn():
    pytest.importorskip("matplotlib", reason="matplotlib, which draws, is not installed")
    model = arms.load(ARM).model
    found = feasibility(model, quintic(0.6))
    figure = plot_feasibility(found, feasibility(model, quintic(3.0)), titles=("as asked", "slower"))
    assert len(figure.axes) == 4 and figure.axes[0].get_title() == "as asked"
