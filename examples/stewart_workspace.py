"""Slices through the workspace of the paper's platform with legs of 0.40 to 0.65 m: what is reachable, how well."""

import argparse
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics.stewart import reference_platform, workspace_slice
from lie_dynamics_ros.lie_dynamics.stewart.plots import plot_workspace_slice, save_figure


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the pictures")
    parser.add_argument("--points", type=int, default=161, help="grid points along each side")
    arguments = parser.parse_args()

    platform = reference_platform(leg_limits=(0.40, 0.65))
    turn = np.deg2rad(np.linspace(-120.0, 120.0, arguments.points))
    slices = {
        "xz": (("x", np.linspace(-0.4, 0.4, arguments.points)), ("z", np.linspace(0.2, 0.7, arguments.points))),
        "yaw_pitch": (("yaw", turn), ("pitch", turn)),
    }
    for name, (x, y) in slices.items():
        found = workspace_slice(platform, x, y)
        area = found.reachable.mean() * np.ptp(x[1]) * np.ptp(y[1])
        best = found.condition_number[found.reachable].min()
        size = f"{area:.4f} {found.x_label} x {found.y_label}"
        print(f"{name}: reachable {100.0 * found.reachable.mean():.1f} % of the slice ({size})")
        print(f"  condition number from {best:.2f}; limiting legs {np.unique(found.limiting_leg[found.within_limits])}")
        print("  picture", save_figure(plot_workspace_slice(found), arguments.output / f"stewart_workspace_{name}.png"))


if __name__ == "__main__":
    main()
