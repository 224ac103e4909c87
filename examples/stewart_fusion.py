"""A leg of a platform fails and recovers: six legs and an IMU fused, the leg named, left out and taken in again."""

import argparse
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics.lie import so3
from lie_dynamics_ros.lie_dynamics.stewart import InertialSensor, StewartFusion, reference_platform

DT, NOISE, GRAVITY = 1e-3, 1e-5, np.array([0.0, 0.0, -9.81])


def pose_at(t):
    """A platform that rolls and heaves."""
    pose = np.eye(4)
    pose[:3, :3] = so3.exp([0.1 * np.sin(5.0 * t), 0.08 * np.cos(4.0 * t), 0.0])
    pose[:3, 3] = 0.02 * np.sin(3.0 * t), 0.0, 0.5 + 0.03 * np.sin(6.0 * t)
    return pose


def inertial_readings(t, rng, h=1e-4):
    """What gyroscope and accelerometer at the origin of {B} read, by differences."""
    before, now, after = (pose_at(t + k * h) for k in (-1, 0, 1))
    w = so3.log(before[:3, :3].T @ after[:3, :3]) / (2 * h)
    acceleration = (after[:3, 3] - 2 * now[:3, 3] + before[:3, 3]) / h**2
    force = now[:3, :3].T @ (acceleration - GRAVITY)
    return w + rng.normal(0, 2e-3, 3), force + rng.normal(0, 3e-2, 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    arguments = parser.parse_args()

    rng, platform = np.random.default_rng(1), reference_platform()
    fusion = StewartFusion(platform, pose_at(0.0), leg_noise=NOISE, inertial=InertialSensor())
    rows = []
    for k in range(600):
        lengths = platform.leg_lengths(pose_at(k * DT)) + rng.normal(0, NOISE, 6)
        fault = 5e-5 * (k - 199) if 200 <= k < 400 else 0.0  # leg 3 drifts by 50 um a sample
        lengths[2] += fault
        fused = fusion.update(lengths, *inertial_readings(k * DT, rng), dt=DT)
        for name in fused.named:
            print(f"{k * DT:.3f} s: {name} left out, it {fused.left_out[name].reason}")
        for name in fused.returned:
            print(f"{k * DT:.3f} s: {name} taken in again")
        error = fused.pose[2, 3] - pose_at(k * DT)[2, 3]
        rows.append((k * DT, fault, error, np.sqrt(fused.covariance[5, 5]), bool(fused.left_out)))

    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    t, fault, error, deviation, out = np.array(rows).T
    figure, (top, bottom) = pyplot.subplots(2, 1, sharex=True, figsize=(7, 4.5), layout="constrained")
    top.plot(t, 1e3 * fault, color="C3")
    top.set_ylabel("error of leg 3 [mm]")
    bottom.fill_between(t, -5e6 * deviation, 5e6 * deviation, color="0.85", label="5 standard deviations told")
    bottom.plot(t, 1e6 * error, lw=0.8, label="error of the height")
    bottom.set(xlabel="time [s]", ylabel="[um]")
    figure.legend(loc="outside lower center", ncols=2)
    for axes in (top, bottom):
        axes.fill_between(t, 0, 1, where=out > 0, transform=axes.get_xaxis_transform(), color="C1", alpha=0.25, lw=0)
    arguments.output.mkdir(parents=True, exist_ok=True)
    path = arguments.output / "stewart_fusion.png"
    figure.savefig(path, dpi=90)
    print("picture", path)


if __name__ == "__main__":
    main()
