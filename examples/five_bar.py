"""The planar five-bar of Kim, section 3.1, drawing an ellipse with two and with three motors; with one, it swings."""

import argparse
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics import (
    InputError,
    constrained_hybrid_dynamics,
    constrained_inverse_dynamics,
    constraint_error,
    constraint_quantities,
    kinetic_energy,
    potential_energy,
)
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import five_bar
from lie_dynamics_ros.lie_dynamics.geometry.plots import save_figure
from lie_dynamics_ros.lie_dynamics.simulation.simulator import simulate_constrained

GROUND, CRANK, COUPLER = 0.4, 0.3, 0.5
PERIOD = 1.0


def elbow(pivot, tip, side):
    """End of a crank about `pivot` whose coupler reaches `tip`, on one side (complex numbers are points)."""
    gap = tip - pivot
    along = (abs(gap) ** 2 + CRANK**2 - COUPLER**2) / (2.0 * abs(gap))
    return pivot + gap / abs(gap) * (along + side * 1j * np.sqrt(CRANK**2 - along**2))


def motion(samples=256):
    """Times, tip, and q, qd, qdd of one round of the ellipse; differentiated by its Fourier series."""
    t = PERIOD * np.arange(samples) / samples
    phase = 2.0 * np.pi * t / PERIOD
    tip = 0.2 + 0.55j + 0.12 * np.cos(phase) + 0.06j * np.sin(phase)
    first, second = elbow(0.0, tip, 1.0), elbow(GROUND, tip, -1.0)
    absolute = np.angle([first, tip - first, second - tip, GROUND - second])
    q = np.concatenate([np.diff(absolute, axis=0, prepend=0.0), np.angle([second - GROUND])]).T
    q = np.unwrap(q, axis=0)
    factor = 2j * np.pi * np.fft.fftfreq(samples, PERIOD / samples)[:, None]
    coefficients = np.fft.fft(q, axis=0)
    return (
        t,
        tip,
        q,
        np.fft.ifft(factor * coefficients, axis=0).real,
        np.fft.ifft(factor**2 * coefficients, axis=0).real,
    )


def picture(t, tip, q, results):
    """The linkage in four phases, and what each choice of motors and resolution asks for."""
    from lie_dynamics_ros.lie_dynamics.geometry.plots import new_figure

    figure, (left, middle, right) = new_figure(3, size=(13.0, 4.0))
    left.plot(tip.real, tip.imag, "k", lw=1)
    for k in range(0, len(t), len(t) // 4):
        angles = np.cumsum(q[k, :2])
        first = CRANK * np.exp(1j * angles[0])
        second = GROUND + CRANK * np.exp(1j * q[k, 4])
        points = np.array([0.0, first, tip[k], second, GROUND])
        left.plot(points.real, points.imag, "o-", ms=4, alpha=0.6)
    left.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title="five-bar, tip on an ellipse")
    for label, found in results.items():
        middle.plot(t, np.linalg.norm(found.tau, axis=1), label=label)
        right.plot(t, np.linalg.norm(found.multipliers, axis=1), label=label)
    middle.set(xlabel="t [s]", ylabel="norm of the torques [N m]", title="motors")
    right.set(xlabel="t [s]", ylabel="norm of the multipliers", title="load on the cut")
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=len(results))
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    parser.add_argument("--duration", type=float, default=10.0, help="of the free swing [s]")
    arguments = parser.parse_args()
    made = five_bar((GROUND, CRANK, COUPLER, COUPLER, CRANK))
    model, constraints = made.model, made.constraints
    t, tip, q, qd, qdd = motion()
    found = constraint_quantities(model, constraints, q, qd)
    violated = np.einsum("tij,tj->ti", found.jacobian, qdd) + found.bias
    print(f"motion: errors {np.abs(found.error).max():.1e} m, {np.abs(found.rate).max():.1e} m/s,", end=" ")
    print(f"{np.abs(violated).max():.1e} m/s^2")

    two, three = ["joint_1", "joint_5"], ["joint_1", "joint_2", "joint_5"]
    results = {
        "two motors": constrained_inverse_dynamics(model, constraints, q, qd, qdd, actuated=two),
        "three, least constraint force": constrained_inverse_dynamics(model, constraints, q, qd, qdd, actuated=three),
        "three, least torque": constrained_inverse_dynamics(
            model, constraints, q, qd, qdd, actuated=three, resolution="least_torque"
        ),
    }
    for label, one in results.items():
        print(f"{label}: torques up to {np.abs(one.tau).max():.2f} N m,", end=" ")
        print(f"multipliers up to {np.abs(one.multipliers).max():.2f}, residual {one.residual.max():.0e}")
    try:
        constrained_inverse_dynamics(model, constraints, q, qd, qdd, actuated=["joint_1"])
    except InputError as error:
        print("one motor:", error)
    hybrid = constrained_hybrid_dynamics(model, constraints, q[0], qd[0], qdd[0], np.zeros(5), ["joint_1"])
    print(f"one motor, hybrid: torque {hybrid.tau[0]:.2f} N m; joint_5 then accelerates by {hybrid.qdd[4]:.1f} rad/s^2")

    hanging = five_bar((GROUND, CRANK, COUPLER, COUPLER, CRANK), cranks=(-1.5, -1.4))
    run = simulate_constrained(
        hanging.model, hanging.constraints, hanging.q, np.zeros(5), duration=arguments.duration, step=2e-3
    )
    kinetic = kinetic_energy(hanging.model, run.q, run.qd)
    energy = kinetic + potential_energy(hanging.model, run.q)
    drift = np.abs(energy - energy[0]).max() / kinetic.max()
    gap = np.abs(constraint_error(hanging.model, hanging.constraints, run.q)).max()
    print(f"free swing of {arguments.duration:g} s: energy constant to {drift:.1e}, loop closed to {gap:.1e}")
    print("picture", save_figure(picture(t, tip, q, results), arguments.output / "five_bar.png"))


if __name__ == "__main__":
    main()
