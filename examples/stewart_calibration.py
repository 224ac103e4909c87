"""Calibrate a simulated platform from poses of a laser tracker, and see which poses are worth measuring."""

import argparse

import numpy as np

from lie_dynamics_ros.lie_dynamics.lie import se3, so3
from lie_dynamics_ros.lie_dynamics.stewart import StewartPlatform, calibrate, identifiability_report, reference_platform


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--poses", type=int, default=40, help="number of measured poses")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)

    drawing = reference_platform()
    built = StewartPlatform(
        drawing.base_points + rng.normal(scale=1e-3, size=(6, 3)),
        drawing.platform_points + rng.normal(scale=1e-3, size=(6, 3)),
    )
    offsets = rng.normal(scale=5e-4, size=6)
    angles = rng.uniform(-0.4, 0.4, (arguments.poses, 3))
    positions = rng.uniform((-0.12, -0.12, 0.4), (0.12, 0.12, 0.6), (arguments.poses, 3))
    poses = se3.from_parts(so3.from_rpy(angles), positions)

    # Encoders good to 5 um, a tracker good to 20 urad and 10 um.
    readings = built.leg_lengths(poses) - offsets + rng.normal(scale=5e-6, size=(arguments.poses, 6))
    pose_sigma = np.array([2e-5, 2e-5, 2e-5, 1e-5, 1e-5, 1e-5])
    noise = rng.normal(size=(arguments.poses, 6)) * pose_sigma
    measured = se3.from_parts(poses[:, :3, :3] @ so3.exp(noise[:, :3]), positions + noise[:, 3:])

    print("what these poses can tell, before measuring:")
    print(identifiability_report(drawing, measured, length_sigma=5e-6, pose_sigma=pose_sigma))
    level = measured.copy()
    level[:, :3, :3] = np.eye(3)
    print("\nthe same number of poses without any tilt:")
    print(
        "\n".join(
            str(identifiability_report(drawing, level, length_sigma=5e-6, pose_sigma=pose_sigma)).splitlines()[:2]
        )
    )

    found = calibrate(drawing, measured, readings, length_sigma=5e-6, pose_sigma=pose_sigma)
    print(f"\ncalibrated: converged {found.converged} in {found.iterations} iterations")
    print(f"chi square {found.chi_square:.0f} for {found.degrees_of_freedom} degrees of freedom")
    for name, nominal, result, truth in (
        ("base points", drawing.base_points, found.platform.base_points, built.base_points),
        ("platform points", drawing.platform_points, found.platform.platform_points, built.platform_points),
        ("offsets", np.zeros(6), found.offsets, offsets),
    ):
        before, after = np.abs(nominal - truth).max(), np.abs(result - truth).max()
        print(f"{name:16s} largest error before {1e6 * before:6.0f} um, after {1e6 * after:4.0f} um")


if __name__ == "__main__":
    main()
