"""A platform follows a path of poses in the shortest time: which limit of which leg binds where."""

import argparse
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics.stewart import reference_platform
from lie_dynamics_ros.lie_dynamics.stewart.command import CommandLimits, check_path, smooth_path, turned_about

RATE, ACCELERATION = 0.15, 0.8


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    arguments = parser.parse_args()

    platform = reference_platform()
    home = platform.home_pose
    poses = [home]
    for shift, turn in (((0.06, 0.0, 0.03), (0.2, 0.0, 0.0)), ((0.0, 0.06, -0.02), (0.0, 0.2, 0.3)), ((0.0,) * 3,) * 2):
        pose = turned_about(home, turn, home[:3, 3])
        pose[:3, 3] += shift
        poses.append(pose)
    limits = CommandLimits(platform, stroke=(0.4, 0.7), rate=RATE, acceleration=ACCELERATION)
    report = check_path(smooth_path(poses), limits)
    print(report)
    t = np.linspace(0.0, report.motion.duration, 600)
    points = report.motion.at(t)

    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, rows = pyplot.subplots(3, 1, sharex=True, figsize=(7, 6), layout="constrained")
    shown = ((points.lengths, None, "length [m]"), (points.rates, RATE, "rate [m/s]"),
             (points.accelerations, ACCELERATION, "acceleration [m/s$^2$]"))  # fmt: skip
    for axes, (values, limit, label) in zip(rows, shown, strict=True):
        for leg in range(6):
            axes.plot(t, values[:, leg], lw=0.9, color=f"C{leg}", label=f"leg {leg + 1}")
        axes.set_ylabel(label)
        if limit is not None:
            for bound in (-limit, limit):
                axes.axhline(bound, color="0.3", ls="--", lw=0.8, label="limit" if bound > 0.0 else None)
            binds = np.abs(values).max(axis=1) > 0.99 * limit
            axes.fill_between(t, 0, 1, where=binds, transform=axes.get_xaxis_transform(), color="C1", alpha=0.2, lw=0,
                              label="a leg is at its limit")  # fmt: skip
            print(f"{label}: a leg is at its limit in {100.0 * binds.mean():.0f} % of the time")
    rows[-1].set_xlabel("time [s]")
    handles, labels = rows[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    arguments.output.mkdir(parents=True, exist_ok=True)
    path = arguments.output / "stewart_command.png"
    figure.savefig(path, dpi=90)
    print("picture", path)


if __name__ == "__main__":
    main()
