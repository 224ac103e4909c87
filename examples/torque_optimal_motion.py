"""An arm of two links that hangs is swung up with the least joint torques: freely, and with weak motors."""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics import (
    ModelBuilder,
    SpatialInertia,
    inverse_dynamics,
    joint_types,
    torque_optimal_motion,
)
from lie_dynamics_ros.lie_dynamics.geometry.plots import new_figure, save_figure

START, GOAL, DURATION = np.array([-np.pi / 2, 0.0]), np.array([np.pi / 2, 0.0]), 1.2


def planar_arm():
    """Two equal slender rods, 1 kg and 1 m each, in the vertical xy plane."""
    rod, tip = SpatialInertia(1.0, [0.5, 0.0, 0.0], np.diag([0.0, 1.0, 1.0]) / 12.0), np.eye(4)
    tip[0, 3] = 1.0
    builder = ModelBuilder().add("upper", None, joint_types.revolute(), inertia=rod, joint_name="shoulder")
    builder.add("lower", "upper", joint_types.revolute(), tip, rod, "elbow")
    return builder.build("2R arm").with_gravity([0.0, -9.81, 0.0])


def cubic_cost(model):
    """The cost of the same motion by a cubic in time."""
    t = np.linspace(0.0, 1.0, 2001)[:, None]
    d, T = GOAL - START, DURATION
    q, qd, qdd = START + d * (3 * t**2 - 2 * t**3), d * 6 * (t - t**2) / T, d * 6 * (1 - 2 * t) / T**2
    squares = (inverse_dynamics(model, q, qd, qdd) ** 2).sum(axis=1)
    return T * float(np.mean(0.5 * (squares[1:] + squares[:-1])))


def draw(paths, folder):
    figure, axes = new_figure(2, (10.0, 3.6))
    for number, (label, path) in enumerate(paths.items()):
        for joint, style in ((0, "-"), (1, "--")):
            name = f"{label}, {('shoulder', 'elbow')[joint]}"
            axes[0].plot(path.time, path.q[:, joint], style, color=f"C{number}", label=name)
            axes[1].plot(path.time, path.tau[:, joint], style, color=f"C{number}")
    axes[0].set(xlabel="time [s]", ylabel="angle [rad]")
    axes[1].set(xlabel="time [s]", ylabel="torque [N m]")
    figure.legend(loc="outside lower center", ncols=4, fontsize=8)
    return save_figure(figure, folder / "torque_optimal_motion.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    folder = parser.parse_args().output
    model = planar_arm()
    weak = replace(model.limits, effort=np.array([12.0, 8.0]))
    paths = {
        "free": torque_optimal_motion(model, START, GOAL, DURATION, tolerance=1e-8),
        "weak motors": torque_optimal_motion(model, START, GOAL, DURATION, limits=weak, tolerance=1e-3),
    }
    print(f"cubic in time: {cubic_cost(model):.2f} N^2 m^2 s")
    for label, path in paths.items():
        largest = np.abs(path.tau).max(axis=0).round(2)
        print(f"{label}: {path.cost:.2f} N^2 m^2 s with {path.modes} modes; refinement {path.refinement:.1e}, limits "
              f"exceeded by {path.excess:.1e}; largest torques {largest} N m")  # fmt: skip
    print("picture", draw(paths, folder))


if __name__ == "__main__":
    main()
