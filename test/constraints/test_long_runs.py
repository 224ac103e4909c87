"""Motion without actuation keeps its energy; the effective one-coordinate equation of a four-bar is met."""

import numpy as np
import pytest
from support.compare import relative

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints import consistent_velocity
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import five_bar, four_bar
from lie_dynamics_ros.lie_dynamics.simulation.simulator import simulate_constrained

FIVE_BAR = (lambda: five_bar(cranks=(-1.7, -1.4)), [2.0, 0.0, 0.0, 0.0, 1.0], 2.5e-3)


@pytest.mark.parametrize(
    ("make", "wish", "step", "seconds"),
    [
        pytest.param(four_bar, [1.0, 0.0, 0.0], 3e-3, 10.0, marks=pytest.mark.slow),
        (*FIVE_BAR, 2.5),
        pytest.param(*FIVE_BAR, 10.0, marks=pytest.mark.slow),
    ],
    ids=["four-bar", "five-bar", "five-bar for long"],
)
def test_energy_is_kept(make, wish, step, seconds):
    made = make()
    model, constraints = made.model, made.constraints
    qd = consistent_velocity(model, constraints, made.q, wish)
    run = simulate_constrained(model, constraints, made.q, qd, duration=seconds, step=step)
    kinetic = ld.kinetic_energy(model, run.q, run.qd)
    energy = kinetic + ld.potential_energy(model, run.q)
    assert kinetic.max() > 0.1
    assert np.abs(energy - energy[0]).max() < 1e-6 * kinetic.max()
    assert np.abs(ld.constraint_error(model, constraints, run.q)).max() < 2e-12


def test_power_balance(rng):
    """Constraint forces do no work: the rate of the energy is that of the actuators' work."""
    made = five_bar()
    model, constraints, q = made.model, made.constraints, made.q
    qd = consistent_velocity(model, constraints, q, rng.normal(size=5))
    tau = rng.normal(size=5)
    qdd = ld.constrained_forward_dynamics(model, constraints, q, qd, tau).qdd

    def energy(t):
        x, v = model.integrate(q, qd * t + 0.5 * qdd * t * t), qd + qdd * t
        return ld.kinetic_energy(model, x, v) + ld.potential_energy(model, x)

    h = 2e-4  # central differences of order four: truncation and round-off of some 1e-10
    rate = (8.0 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12.0 * h)
    assert rate == pytest.approx(tau @ qd, rel=1e-8)


def test_baumgarte_closes_an_open_loop():
    made = five_bar(cranks=(-1.7, -1.4))
    model, constraints = made.model, made.constraints
    q, qd = made.q + np.array([0, 1e-3, 0, 0, 0]), np.zeros(5)
    stabilization = ld.Baumgarte(40.0)
    errors = [np.abs(ld.constraint_error(model, constraints, q)).max()]
    h = 2e-3
    for _ in range(300):  # the midpoint rule will do
        a = ld.constrained_forward_dynamics(model, constraints, q, qd, np.zeros(5), stabilization=stabilization).qdd
        x, v = q + 0.5 * h * qd, qd + 0.5 * h * a
        a = ld.constrained_forward_dynamics(model, constraints, x, v, np.zeros(5), stabilization=stabilization).qdd
        q, qd = q + h * v, qd + h * a
        errors.append(np.abs(ld.constraint_error(model, constraints, q)).max())
    assert errors[0] > 1e-4
    assert errors[-1] < 1e-6


def test_four_bar_as_one_coordinate():
    """Everything as a function of the crank angle, from the closed form of the linkage, by complex steps."""
    lengths, masses = (1.0, 0.3, 0.9, 0.7), (0.8, 1.1, 0.6)
    g, a, b, c = lengths
    crank = 0.7
    made = four_bar(lengths, masses, crank)

    def angles(x):
        """Absolute angles of the rods for a crank angle, complex for complex steps; the coupler's end above."""
        px, py = a * np.cos(x), a * np.sin(x)
        dx, dy = g - px, -py
        square = dx * dx + dy * dy
        along = (square + b * b - c * c) / (2.0 * square)
        height = np.sqrt(b * b / square - along * along)
        ex, ey = px + along * dx - height * dy, py + along * dy + height * dx
        return x, arctan2(ey - py, ex - px), arctan2(ey, ex - g)

    def arctan2(y, x):
        return np.arctan2(y.real, x.real) + 1j * (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2)

    h = 1e-30
    x0 = np.array(angles(crank + 0j)).real

    def slopes(x):
        return np.array([t.imag / h for t in angles(x + 1j * h)])

    def inertia(x):
        """Effective inertia: rods turning about an end, or moving with their centre."""
        s, (t1, t2, _) = slopes(x), np.array(angles(x + 0j)).real
        vx = -a * np.sin(t1) * s[0] - 0.5 * b * np.sin(t2) * s[1]
        vy = a * np.cos(t1) * s[0] + 0.5 * b * np.cos(t2) * s[1]
        turning = masses[0] * a**2 / 3 * s[0] ** 2 + masses[2] * c**2 / 3 * s[2] ** 2
        return turning + masses[1] * (b**2 / 12 * s[1] ** 2 + vx**2 + vy**2)

    def height(x):
        t1, t2, t3 = angles(x)
        middle = a * np.sin(t1) + 0.5 * b * np.sin(t2)
        return masses[0] * 0.5 * a * np.sin(t1) + masses[1] * middle + masses[2] * 0.5 * c * np.sin(t3)

    weight = 9.81 * height(crank + 1j * h).imag / h
    d = 1e-3
    nodes, weights = (-3, -2, -1, 1, 2, 3), np.array([-1, 9, -45, 45, -9, 1]) / 60.0
    slope = sum(w * inertia(crank + k * d) for k, w in zip(nodes, weights, strict=True)) / d  # error of some 1e-12
    rate, torque = 1.7, 2.3
    acceleration = (torque - 0.5 * slope * rate**2 - weight) / inertia(crank)

    assert np.abs(made.q - [x0[0], x0[1] - x0[0], x0[2]]).max() < 1e-14
    s = slopes(crank)
    qd = rate * np.array([1.0, s[1] - 1.0, s[2]])
    found = ld.constrained_forward_dynamics(made.model, made.constraints, made.q, qd, np.array([torque, 0.0, 0.0]))
    assert found.qdd[0] == pytest.approx(acceleration, rel=1e-10)
    back = ld.constrained_inverse_dynamics(made.model, made.constraints, made.q, qd, found.qdd, actuated=["crank"])
    assert relative(back.tau, [torque, 0.0, 0.0]) < 1e-10
