"""Geodesics of the mass metric of planar arms with two and three links: the motions of least kinetic energy."""

import argparse
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics import ModelBuilder, SpatialInertia, joint_types, mass_matrix
from lie_dynamics_ros.lie_dynamics.closed_form import geodesic
from lie_dynamics_ros.lie_dynamics.geometry.plots import plot_geodesics, save_figure


def planar_arm(links):
    """An arm of equal slender rods, 1 kg and 1 m each, in the xy plane."""
    rod, joint = SpatialInertia(1.0, [0.5, 0.0, 0.0], np.diag([0.0, 1.0, 1.0]) / 12.0), np.eye(4)
    builder, parent = ModelBuilder(), None
    for k in range(links):
        builder.add(f"link {k + 1}", parent, joint_types.revolute(), joint, rod, f"q{k + 1}")
        parent, joint = f"link {k + 1}", np.eye(4)
        joint[0, 3] = 1.0
    return builder.add("tip", parent, placement=joint).build(f"{links}R arm")


def straight_line_energy(model, path):
    """Mean kinetic energy of the straight line in coordinates, run through in the same time at an even pace."""
    rate = (path.q[-1] - path.q[0]) / path.duration
    q = path.q[0] + np.outer(np.linspace(0.0, path.duration, 2001), rate)
    return float(np.mean(0.5 * np.einsum("i,tij,j->t", rate, mass_matrix(model, q), rate)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the pictures")
    arguments = parser.parse_args()
    tasks = {
        2: [([0.0, 0.6], [1.8, 0.6]), ([0.0, 0.3], [3.0, 2.4])],
        3: [([0.0, 0.5, 0.5], [2.0, 0.5, 0.5]), ([0.0, -0.6, 1.2], [2.2, 1.2, -0.8])],
    }
    for links, ends in tasks.items():
        model = planar_arm(links)
        paths = [geodesic(model, start, goal) for start, goal in ends]
        print(model.name)
        for path in paths:
            line = straight_line_energy(model, path)
            print(f"  {path.q[0]} -> {path.q[-1]}: {path.energy:.4f} J, straight line in coordinates {line:.4f} J;")
            print(f"    energy constant to {path.energy_error:.1e}; least nearby: {path.is_minimal}")
        figure = plot_geodesics(model, paths, "tip", ["first task", "second task"])
        print("  picture", save_figure(figure, arguments.output / f"closed_form_geodesics_{links}r.png"))


if __name__ == "__main__":
    main()
