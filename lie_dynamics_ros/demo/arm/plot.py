"""Draws the recorded torques."""

from __future__ import annotations

from pathlib import Path

from ...lie_dynamics import Model
from ..recording import picture
from .check import Verdict

SHOWN = 12
"""Most joints drawn; those with the largest torques."""


def draw(verdict: Verdict, model: Model, path: Path) -> None:
    """Write a picture of the torques over time, and of the part that gravity alone takes."""
    largest = abs(verdict.efforts).max(axis=0)
    joints = sorted(sorted(range(model.nv), key=lambda j: -largest[j])[:SHOWN])
    columns = 1 if len(joints) <= 2 else 2
    rows = -(-len(joints) // columns)
    title = f"{model.name}: joint states in, torques out"
    if len(joints) < model.nv:
        title += f" (the {len(joints)} largest of {model.nv} joints)"
    with picture(path, title) as plt:
        _, axes = plt.subplots(rows, columns, figsize=(11, 1.2 + 1.7 * rows), sharex=True, squeeze=False)
        for axis, joint in zip(axes.flat, joints, strict=False):
            name = model.joint_names[joint]
            unit = "N" if model.joint(name).kind == "prismatic" else "N m"
            for values, color, label in (
                (verdict.gravity, "0.6", "gravity alone"),
                (verdict.efforts, "tab:blue", "inverse dynamics"),
            ):
                axis.plot(verdict.times, values[:, joint], color=color, linewidth=1.2, label=label)
            axis.set_title(f"{name} [{unit}]", fontsize=9, loc="left")
        for axis in axes.flat[len(joints) :]:
            axis.set_visible(False)
        for axis in axes[-1]:
            axis.set_xlabel("time [s]", fontsize=9)
        axes[0][0].legend(fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
