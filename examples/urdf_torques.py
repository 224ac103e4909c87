"""Read a robot from a URDF and print the torques that hold it up and that move it."""

import argparse
from pathlib import Path

import numpy as np

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics import Model, gravity_force, inverse_dynamics


def motion(model, times):
    """Return a smooth motion about the middle of the joints' ranges: q, qd, qdd, one row for each time."""
    low, high = np.maximum(model.limits.lower, -1.5), np.minimum(model.limits.upper, 1.5)
    middle, swing = 0.5 * (low + high), 0.25 * (high - low)
    rate = 1.0 + 0.3 * np.arange(model.nv)
    phase = np.outer(times, rate)
    return middle + swing * np.sin(phase), swing * rate * np.cos(phase), -swing * rate**2 * np.sin(phase)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    arm = Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf"
    parser.add_argument("urdf", nargs="?", type=Path, default=arm, help="robot of joints that turn or slide")
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    arguments = parser.parse_args()
    model = Model.from_urdf(arguments.urdf)
    if model.nq != model.nv:
        parser.error(f"{model.name} has ball or free joints, which this motion does not move")
    times = np.linspace(0.0, 6.0, 601)
    q, qd, qdd = motion(model, times)
    torques = inverse_dynamics(model, q, qd, qdd)  # all states in one call
    holding = gravity_force(model, q)
    print(f"{model.name}: efforts at t = 0 [N m, N], positive along the joint, gravity included")
    for name, hold, move in zip(model.joint_names, holding[0], torques[0], strict=True):
        print(f"  {name:<24} to hold {hold:9.3f}   to move {move:9.3f}")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    lines = axes.plot(times, torques)
    for line, column in zip(lines, holding.T, strict=True):
        axes.plot(times, column, linestyle=":", linewidth=1.0, color=line.get_color())
    axes.set(xlabel="time [s]", ylabel="effort [N m, N]", title=f"{model.name}: to move, and dotted to hold")
    figure.legend(lines, model.joint_names, fontsize="x-small", loc="outside right upper")
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / "urdf_torques.png"
    figure.savefig(file, dpi=120)
    print("picture", file)


if __name__ == "__main__":
    main()
