"""Trajectories: end conditions, polynomials they reproduce, continuity, derivatives on the manifold."""

import numpy as np
import pytest
from scipy.interpolate import BPoly, CubicHermiteSpline
from support.compare import relative
from test_controllers import panda, tree_with_balls

from lie_dynamics_ros.lie_dynamics.control import Trajectory
from lie_dynamics_ros.lie_dynamics.errors import InputError


def points(model, count=4, seed=0):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.3, 1.0, count))
    q = [model.random(rng)]
    while len(q) < count:
        q.append(model.integrate(q[-1], 0.8 * rng.normal(size=model.nv)))
    return times, np.array(q), rng.normal(size=(count, model.nv)), rng.normal(size=(count, model.nv))


def test_axis_joints_follow_the_splines_of_scipy():
    model = panda()
    times, q, qd, qdd = points(model)
    cubic, quintic = CubicHermiteSpline(times, q, qd), BPoly.from_derivatives(times, np.stack([q, qd, qdd], axis=1))
    for t in np.linspace(times[0], times[-1], 37)[:-1]:
        linear = Trajectory(model, times, q).at(t)
        assert np.allclose(linear.q, [np.interp(t, times, x) for x in q.T], rtol=1e-12, atol=1e-12)
        for trajectory, spline in (
            (Trajectory(model, times, q, qd), cubic),
            (Trajectory(model, times, q, qd, qdd), quintic),
        ):
            p = trajectory.at(t)
            for k, x in enumerate((p.q, p.qd, p.qdd)):
                assert relative(x, spline.derivative(k)(t) if k else spline(t)) < 1e-9


@pytest.mark.parametrize("order", [1, 3, 5])
def test_points_are_reached_on_the_manifold(order):
    model = tree_with_balls()
    times, q, qd, qdd = points(model, seed=3)
    given = {1: (), 3: (qd,), 5: (qd, qdd)}[order]
    trajectory = Trajectory(model, times, q, *given)
    assert trajectory.order == order and trajectory.duration == pytest.approx(times[-1] - times[0])
    tiny = 1e-9
    for k, t in enumerate(times):
        for side in ([-tiny] if k else []) + ([tiny] if k < len(times) - 1 else []):
            p = trajectory.at(t + side)
            assert np.abs(model.difference(q[k], p.q)).max() < 1e-7
            if order >= 3:
                assert np.abs(p.qd - qd[k]).max() < 1e-6
            if order == 5:
                assert np.abs(p.qdd - qdd[k]).max() < 1e-5


@pytest.mark.parametrize("order", [1, 3, 5])
def test_velocities_and_accelerations_are_rates(order):
    model, h = tree_with_balls(), 1e-4
    times, q, qd, qdd = points(model, seed=5)
    trajectory = Trajectory(model, times, q, *{1: (), 3: (qd,), 5: (qd, qdd)}[order])
    for t in np.linspace(times[0] + 0.01, times[-1] - 0.01, 20):
        p, (a, b) = trajectory.at(t), (trajectory.at(t - h), trajectory.at(t + h))
        rate = (model.difference(p.q, b.q) - model.difference(p.q, a.q)) / (2 * h)
        assert np.abs(rate - p.qd).max() < 1e-5 * max(1.0, np.abs(p.qd).max() ** 3)
        assert np.abs((b.qd - a.qd) / (2 * h) - p.qdd).max() < 1e-5 * max(1.0, np.abs(p.qdd).max() ** 2)


def test_outside_it_stands_still():
    model = tree_with_balls()
    times, q, qd, _ = points(model)
    trajectory = Trajectory(model, times, q, qd)
    for t, k in ((times[0] - 1.0, 0), (times[-1], -1), (times[-1] + 5.0, -1)):
        p = trajectory.at(t)
        assert (p.q == q[k]).all() and not p.qd.any() and not p.qdd.any()
    assert (Trajectory(model, [1.0], q[:1]).at(1.0).q == q[0]).all()


def test_bad_points_are_refused():
    model = panda()
    times, q, qd, qdd = points(model)
    for arguments, said in [
        ((times[::-1], q), "times"),
        ((times[1:], q), "times"),
        ((times, q[:, 1:]), "q"),
        ((times, q * np.nan), "panda_joint1"),
        ((times, q, qd[1:]), "qd"),
        ((times, q, None, qdd), "qdd"),
    ]:
        with pytest.raises(InputError, match=said):
            Trajectory(model, *arguments)
