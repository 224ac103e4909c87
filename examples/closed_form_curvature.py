"""Curvature of the mass metric over the workspace of a planar arm; how counterweights make it flat."""

import argparse
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics import ModelBuilder, SpatialInertia, is_flat, joint_types
from lie_dynamics_ros.lie_dynamics.geometry import curvature_map
from lie_dynamics_ros.lie_dynamics.geometry.plots import plot_curvature_map, save_figure


def planar_arm(counterweight=False):
    """Three rods of 1 kg and 1 m in the xy plane; with a counterweight, all beyond joint 2 balances on its axis."""
    rod, joint = SpatialInertia(1.0, [0.5, 0.0, 0.0], np.diag([0.0, 1.0, 1.0]) / 12.0), np.eye(4)
    builder, parent = ModelBuilder(), None
    for k in range(3):
        body = rod
        if counterweight and k > 0:  # the rod, and beyond the last joint nothing: 1 m m = 0.5 l m for what hangs there
            moment = 0.5 if k == 2 else 1.5 + 1.0
            weight = 2.0 * moment
            body = rod + SpatialInertia(weight, [-moment / weight, 0.0, 0.0], np.zeros((3, 3)))
        builder.add(f"link {k + 1}", parent, joint_types.revolute(), joint, body, f"q{k + 1}")
        parent, joint = f"link {k + 1}", np.eye(4)
        joint[0, 3] = 1.0
    return builder.add("tip", parent, placement=joint).build("3R arm")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the pictures")
    parser.add_argument("--points", type=int, default=121, help="grid points along each side")
    arguments = parser.parse_args()
    model = planar_arm()
    grid = np.linspace(0.02, np.pi - 0.02, arguments.points)
    data = curvature_map(model, "tip", (1, grid), (2, grid))
    print(f"{model.name}: scalar curvature {data.curvature.min():.3f} to {data.curvature.max():.3f} 1/(kg m^2)")
    print("picture", save_figure(plot_curvature_map(data), arguments.output / "closed_form_curvature.png"))
    for name, arm in (("plain", model), ("with counterweights", planar_arm(counterweight=True))):
        answer = is_flat(arm)
        print(f"{name}: {'flat' if answer else 'not flat'} (curvature ratio {answer.ratio:.1e})")


if __name__ == "__main__":
    main()
