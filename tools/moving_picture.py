"""Draws the moving picture of the README, doc/figures/moving.gif, by the library alone.

Left an arm on a periodic motion, in the middle the torques of that motion in parts of the arm's limits, by inverse
dynamics; right a Stewart platform at the poses that forward kinematics finds from noisy leg lengths.
"""

import argparse
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics import (
    Model,
    StewartPlatform,
    forward_kinematics,
    inverse_dynamics,
    solve_forward_kinematics,
)
from lie_dynamics_ros.lie_dynamics.lie import se3, so3

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "lie_dynamics_ros"
FRAMES, PERIOD = 72, 6.0
PHASES = 2 * np.pi * np.arange(FRAMES) / FRAMES
MIDDLE = np.array([0.0, 0.1, 0.0, -1.6, 0.0, 1.8, 0.5])
SWING = np.array([1.0, 0.5, 0.5, 0.5, 0.9, 0.6, 1.2])
TURNS = np.array([1, 2, 1, 3, 2, 1, 2])
NOISE = 20e-6
COLORS = 48


def arm():
    """Return points along the arm, shape (frames, n, 3) [m], and torques in parts of the limits, (frames, joints)."""
    model = Model.from_urdf(PACKAGE / "urdf" / "panda_arm.urdf")
    angle = TURNS * PHASES[:, None] + np.arange(7)
    rate = TURNS * 2 * np.pi / PERIOD
    q, qd, qdd = MIDDLE + SWING * np.sin(angle), SWING * rate * np.cos(angle), -SWING * rate**2 * np.sin(angle)
    poses = forward_kinematics(model, q)
    tip = poses[:, -1:, :3, 3] + 0.2 * poses[:, -1:, :3, 2]
    points = np.concatenate([np.zeros((FRAMES, 1, 3)), poses[..., :3, 3], tip], axis=1)
    return points, inverse_dynamics(model, q, qd, qdd) / model.limits.effort


def platform():
    """Return the joints of the base, shape (6, 3) [m], and of the platform as it is found, (frames, 6, 3)."""
    device = StewartPlatform.from_yaml((PACKAGE / "platforms" / "reference_platform.yaml").read_text())
    rng = np.random.default_rng(0)
    pose, joints = device.home_pose, []
    for phase in PHASES:
        angles = [0.18 * np.sin(phase), 0.18 * np.cos(phase), 0.15 * np.sin(2 * phase)]
        shift = [0.04 * np.cos(phase), 0.04 * np.sin(phase), 0.03 * np.sin(phase)]
        lengths = device.leg_lengths(se3.from_parts(so3.from_rpy(angles), device.home_pose[:3, 3] + shift))
        pose = solve_forward_kinematics(device, lengths + NOISE * rng.standard_normal(6), pose).pose
        joints.append(device.platform_points @ pose[:3, :3].T + pose[:3, 3])
    return device.base_points, np.array(joints)


def space(axes, points, title):
    """Prepare axes in space around points."""
    low, high = points.reshape(-1, 3).min(axis=0), points.reshape(-1, 3).max(axis=0)
    middle, half = (low + high) / 2, 0.5 * (high - low).max()
    xlim, ylim, zlim = np.column_stack([middle - half, middle + half])
    axes.set(xlim=xlim, ylim=ylim, zlim=zlim, title=title)
    axes.set_box_aspect((1, 1, 1), zoom=1.15)
    axes.set_axis_off()


def main():
    """Draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "doc" / "figures" / "moving.gif")
    output = parser.parse_args().output
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    points, torques = arm()
    base, joints = platform()
    figure = Figure(figsize=(8.4, 3.2), dpi=90, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    grid = figure.add_gridspec(1, 3, width_ratios=(1.1, 1, 1.1))
    left, right = (figure.add_subplot(grid[k], projection="3d") for k in (0, 2))
    bars = figure.add_subplot(grid[1])
    space(left, points, "joint states ...")
    (trail,) = left.plot([], [], [], color="tab:orange", linewidth=1.2)
    (links,) = left.plot([], [], [], "-o", color="0.25", linewidth=6, markersize=8, solid_capstyle="round")
    names = [f"joint {k + 1}" for k in range(torques.shape[1])]
    drawn = bars.barh(names, torques[0], color="tab:blue")
    bars.set(xlim=(-1, 1), title="... become torques", xlabel="part of the limit", xticks=(-1, 0, 1))
    bars.title.set_fontsize(10)
    bars.invert_yaxis()
    bars.axvline(0.0, color="0.5", linewidth=0.8)
    space(right, np.concatenate([np.broadcast_to(base, joints.shape), joints]), "leg lengths become poses")
    for axes in (left, right):
        axes.title.set_fontsize(10)
    around = [0, 1, 2, 3, 4, 5, 0]
    right.plot(*base[around].T, color="0.5", linewidth=3)
    legs = [right.plot([], [], [], color="tab:blue", linewidth=3)[0] for _ in range(6)]
    (top,) = right.plot([], [], [], color="0.25", linewidth=5, solid_capstyle="round")
    images = []
    for k in range(FRAMES):
        links.set_data_3d(*points[k].T)
        trail.set_data_3d(*points[[*range(FRAMES), 0], -1].T)
        for bar, part in zip(drawn, torques[k], strict=True):
            bar.set_width(part)
        for leg, a, b in zip(legs, base, joints[k], strict=True):
            leg.set_data_3d(*np.array([a, b]).T)
        top.set_data_3d(*joints[k][around].T)
        canvas.draw()
        images.append(Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").quantize(COLORS))
    output.parent.mkdir(parents=True, exist_ok=True)
    timing = {"duration": 1000 * PERIOD / FRAMES, "loop": 0}
    images[0].save(output, save_all=True, append_images=images[1:], optimize=True, **timing)
    print(output, f"{output.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
