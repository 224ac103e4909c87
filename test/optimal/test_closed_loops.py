"""Optimal motions of closed mechanisms: derivatives, loops, neighbours, the balance of power, limits."""

from dataclasses import replace

import numpy as np
import pytest
from support.compare import relative

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.optimal.problem import MotionProblem
from lie_dynamics_ros.lie_dynamics.optimal.task import MotionRequest, make_bounds, make_task, rate_bound

NAMES = ("five-bar", "planar 3-RRR", "four-bar arm", "6-UPS")


def asked(name, rng, size, more=()):
    """A mechanism, its motors, and a goal near its home that the motors lead to."""
    made = ld.mechanism(name)
    model, q = made.model, made.q.copy()
    motors = [*made.actuated, *more]
    places = [model.joint(x).q_slice.start for x in made.actuated]
    q[places] += size * rng.uniform(-1.0, 1.0, len(places))
    found = ld.assemble(model, made.constraints, q, held=list(made.actuated))
    assert found.converged
    return made, motors, found.q


def consistent(made, path, tolerance=1e-9):
    """Loops are closed in positions, rates and accelerations."""
    model, constraints = made.model, made.constraints
    assert np.abs(ld.constraint_error(model, constraints, path.q)).max() < tolerance
    found = ld.constraint_quantities(model, constraints, path.q, path.qd)
    assert np.abs(found.rate).max() < tolerance
    change = (found.jacobian @ path.qdd[..., None])[..., 0] + found.bias
    assert np.abs(change).max() < tolerance * (1.0 + np.abs(path.qdd).max())


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_against_differences(name, rng):
    made, motors, goal = asked(name, rng, 0.05)
    model, n = made.model, made.model.nv
    cost = ld.MotionCost(torque=rng.uniform(0.5, 1.0, n), power=0.1, energy=0.2, acceleration=0.1, time=1.0)
    request = MotionRequest(model, made.q, goal, (0.5, 1.5), constraints=made.constraints, actuated=motors, cost=cost)
    task = make_task(request)
    most = np.full(n, 2.0)
    limits = replace(
        model.limits, lower=np.full(model.nq, -3.0), upper=np.full(model.nq, 3.0), velocity=most, effort=most,
        acceleration=most, deceleration=most, jerk=np.full(n, np.inf),
    )  # fmt: skip
    bounds = make_bounds(model, limits, np.ones(n)) | {"effort_rate": rate_bound(model, 3.0)}
    problem = MotionProblem(task, bounds, 2, 3.0)
    x, dx, h = 0.02 * rng.normal(size=problem.size), rng.normal(size=problem.size), 1e-5
    x[-1], dx[-1] = 0.9, 0.2
    z = np.where(problem.weight > 0.0, rng.uniform(0, 1, problem.weight.size), 0.0)
    point, ahead, behind = (problem.at(x + s * dx) for s in (0.0, h, -h))
    assert point.slopes.gradient() @ dx == pytest.approx((ahead.cost - behind.cost) / (2 * h), rel=2e-6)
    assert relative(point.slopes.forward(dx), (ahead.room - behind.room) / (2 * h)) < 2e-6
    whole, _ = point.bends.hessian(z, np.zeros_like(z))
    slopes = [p.slopes.gradient() - p.slopes.transposed(z) for p in (ahead, behind)]
    assert relative(whole @ dx, (slopes[0] - slopes[1]) / (2 * h)) < 2e-5


@pytest.mark.parametrize("more", [pytest.param((), marks=pytest.mark.slow), ("joint_2",)])
def test_five_bar_with_two_and_with_three_motors(more, rng):
    """Neighbours, assembled and differentiated by hand, cost more; a third motor makes it cheaper."""
    made, motors, goal = asked("five-bar", np.random.default_rng(5), 0.6, more)
    model, T = made.model, 0.8
    path = ld.optimal_motion(
        model, made.q, goal, T, constraints=made.constraints, actuated=motors, tolerance=1e-5, max_modes=32
    )
    assert path.converged
    consistent(made, path)
    assert relative(path.q[-1], goal) < 1e-9
    places = [model.joint(x).q_slice.start for x in made.actuated]
    t, h = np.linspace(0.05, T - 0.05, 25), 1e-4

    def cost(bend):
        def q(t):
            guess = path.at(t)[0]
            guess[:, places] += np.sin(np.pi * t / T)[:, None] ** 2 * bend
            return np.array([ld.assemble(model, made.constraints, x, held=list(made.actuated)).q for x in guess])

        low, here, high = q(t - h), q(t), q(t + h)
        tau = ld.constrained_inverse_dynamics(
            model, made.constraints, here, (high - low) / (2 * h), (high - 2 * here + low) / h**2, actuated=motors,
            resolution="least_torque",
        ).tau  # fmt: skip
        return np.trapezoid((tau**2).sum(axis=1), t)

    least = cost(np.zeros(2))
    inside = path.at(t)[3]
    assert least == pytest.approx(np.trapezoid((inside**2).sum(axis=1), t), rel=1e-4)
    for bend in 0.1 * rng.normal(size=(2, 2)):
        assert cost(bend) + cost(-bend) > 2.0 * least
    if more:
        fewer = ld.optimal_motion(
            model, made.q, goal, T, constraints=made.constraints, actuated=made.actuated, tolerance=1e-5, max_modes=32
        )
        assert path.cost < fewer.cost


def test_stewart_platform(rng):
    """Legs within limits, loops closed, and the work of the motors is what the energy gains."""
    made, motors, goal = asked("6-UPS", rng, 0.05)
    model = made.model
    path = ld.optimal_motion(
        model, made.q, goal, 0.6, constraints=made.constraints, actuated=motors, smooth_ends=True, tolerance=1e-3,
        max_modes=3,
    )  # fmt: skip
    consistent(made, path)
    assert path.stationarity < 1e-3
    power = (path.tau * path.qd).sum(axis=1)
    energy = ld.kinetic_energy(model, path.q, path.qd) + ld.potential_energy(model, path.q)
    work = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(path.time))])
    assert np.abs(work - (energy - energy[0])).max() < 1e-3 * np.abs(work).max()
    passive = [k for k in range(model.nv) if k not in [model.joint(x).v_slice.start for x in motors]]
    assert np.abs(path.tau[:, passive]).max() == 0.0


def test_limits_of_motors_are_kept():
    made, motors, goal = asked("five-bar", np.random.default_rng(5), 0.6)
    model, T = made.model, 0.6
    options = {"constraints": made.constraints, "actuated": motors, "tolerance": 1e-3, "max_modes": 8}
    free = ld.optimal_motion(model, made.q, goal, T, **options)
    limits = replace(
        model.limits, effort=np.full(5, 0.9 * np.abs(free.tau).max()), velocity=np.full(5, 0.9 * np.abs(free.qd).max())
    )
    path = ld.optimal_motion(model, made.q, goal, T, limits=limits, **options)
    assert path.converged
    assert path.cost > free.cost
    t = np.linspace(0.0, T, 1001)
    _, qd, _, tau = path.at(t)
    assert (np.abs(qd) <= limits.velocity * (1.0 + 1e-4)).all()
    assert (np.abs(tau) <= limits.effort + 1e-4 * path.effort_scale).all()


def test_refusals():
    made = ld.mechanism("five-bar")
    model, q = made.model, made.q
    options = {"constraints": made.constraints, "actuated": made.actuated}
    wrong = q + 0.1 * np.eye(5)[1]
    for start, goal, arguments, match in (
        (wrong, q, options, "start: loops that are closed"),
        (q, wrong, options, "goal: closed loops"),
        (q, q + 2.0 * np.pi * np.eye(5)[1], options, "goal: a configuration that"),
        (q, q, options | {"independent": ["joint_1"]}, "independent: 2 different"),
        (q, q, options | {"start_velocity": np.eye(5)[0]}, "start_velocity"),
        (q, q, options | {"cost": ld.MotionCost(jerk=1.0)}, "jerk"),
        (q, q, {"actuated": made.actuated}, "constraints"),
    ):
        with pytest.raises(ld.InputError, match=match):
            ld.optimal_motion(model, start, goal, 1.0, **arguments)
