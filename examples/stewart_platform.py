"""A motion platform from drawing to numbers: leg lengths, rates, forward kinematics, leg forces, and a picture."""

import argparse
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics.lie import se3, so3
from lie_dynamics_ros.lie_dynamics.stewart import (
    StewartPlatform,
    holding_forces,
    semi_regular_platform,
    solve_forward_kinematics,
    weight_wrench,
)
from lie_dynamics_ros.lie_dynamics.stewart.plots import plot_platform, save_figure


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    output = parser.parse_args().output

    # Joints on circles of 1.2 m and 0.8 m, pairs 20 and 16 degrees apart, at home 1.1 m high, legs of 1.0 to 1.7 m.
    platform = semi_regular_platform(1.2, 0.8, np.deg2rad(10), np.deg2rad(8), height=1.1, leg_limits=(1.0, 1.7))
    print(f"architecture: {platform.architecture}")

    pose = se3.from_parts(so3.from_rpy(np.deg2rad([12.0, -8.0, 15.0])), [0.10, -0.05, 1.15])
    lengths = platform.leg_lengths(pose)
    platform.check_leg_limits(lengths)
    print("leg lengths [m]     ", np.round(lengths, 4))
    print("margin to limits [m]", np.round(platform.leg_margins(lengths), 4))
    twist = np.array([0.0, 0.0, 0.5, 0.2, 0.0, 0.0])  # turning about its own z axis, moving along its own x axis
    print("leg rates [m/s]     ", np.round(platform.leg_rates(pose, twist), 4))
    print(f"condition number     {float(platform.condition_number(pose)):.2f}")

    found = solve_forward_kinematics(platform, lengths, platform.home_pose)
    print(f"forward kinematics   converged {found.converged} in {found.iterations} iterations")
    print(f"                     pose off by {np.abs(found.pose - pose).max():.1e}")

    weight = weight_wrench(pose, mass=450.0, center_of_mass=[0.0, 0.0, 0.6])
    print("leg forces [N]      ", np.round(holding_forces(platform, pose, weight), 0), "(positive: compression)")

    again = StewartPlatform.from_yaml(platform.to_yaml())
    print("yaml round trip      exact:", np.array_equal(again.base_points, platform.base_points))
    figure = plot_platform(platform, np.stack([platform.home_pose, pose]), ["home", "moved"])
    print("picture             ", save_figure(figure, output / "stewart_platform.png"))


if __name__ == "__main__":
    main()
