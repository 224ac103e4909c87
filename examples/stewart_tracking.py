"""Follow the pose of a motion base through its leg lengths at 1 kHz, with twist, proof and encoder noise."""

import argparse
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics.lie import se3, so3
from lie_dynamics_ros.lie_dynamics.stewart import StewartTracker, reference_platform
from lie_dynamics_ros.lie_dynamics.stewart.plots import plot_tracking, save_figure


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    output = parser.parse_args().output

    platform = reference_platform()
    times = np.arange(0.0, 2.0, 1e-3)
    turns = 2.0 * np.pi * times[:, None] + np.array([0.0, 1.0, 2.0])
    shift = 0.08 * (np.sin(turns) - np.sin(turns[0]))
    tilt = np.deg2rad(17.0) * (np.sin(1.3 * turns) - np.sin(1.3 * turns[0])) / 2.0
    poses = se3.from_parts(so3.from_rpy(tilt), shift + platform.home_pose[:3, 3])
    lengths = platform.leg_lengths(poses)
    rates = np.gradient(lengths, times, axis=0)

    tracker = StewartTracker(platform, platform.home_pose, max_speed=(1.0, 4.0), leg_noise=1e-5)
    path = tracker.update_many(lengths, rates, dt=times[1] - times[0])
    print(f"samples {len(path)}, all followed: {bool(path.valid.all())}")
    print(f"largest pose error {np.abs(path.poses - poses).max():.1e}")
    print(f"corrections a sample {path.iterations.min()} to {path.iterations.max()}")
    print(f"certified at 1 m/s and 4 rad/s at most: {100.0 * path.certified.mean():.2f} %")
    print(f"h of the steps at most {path.largest_h.max():.4f} (proof below 0.5)")
    print(f"condition number {path.condition_numbers.min():.2f} to {path.condition_numbers.max():.2f}")
    deviations = np.sqrt(np.diagonal(path.covariances, axis1=1, axis2=2)).max(axis=0)
    print("largest standard deviation for 10 um of leg noise:", end=" ")
    print(np.round(1e6 * deviations[:3], 1), "urad,", np.round(1e6 * deviations[3:], 1), "um")
    print("picture", save_figure(plot_tracking(times, path), output / "stewart_tracking.png"))


if __name__ == "__main__":
    main()
