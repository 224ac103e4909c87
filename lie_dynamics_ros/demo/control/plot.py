"""Draws tracking error, torques and estimated payload over the acts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..recording import picture
from .check import EXACT_LIMIT, Verdict
from .play import Play

SHOWN = 12
"""Most joints whose torques are drawn; those with the largest."""
LEAST = 1e-6
"""Where the logarithmic axis of the errors ends [rad, m]."""


def draw(verdict: Verdict, play: Play, path: Path, limit: float = EXACT_LIMIT) -> None:
    """Write the picture."""
    heading = f"{play.model.name}: a trajectory, a payload that the model does not know, adaptation"
    with picture(path, heading) as plt:
        _, (error, torque, mass) = plt.subplots(3, 1, figsize=(11, 9), sharex=True, height_ratios=(1.3, 1.3, 1))
        colors = ("tab:green", "tab:red", "tab:blue")
        for act, times, errors, color in zip(play.acts, verdict.times, verdict.errors, colors, strict=True):
            size = np.maximum(np.abs(errors).max(axis=1), LEAST)
            error.semilogy(times, size, color=color, linewidth=1.0, label=act.story)
            for axis in (error, torque, mass):
                axis.axvspan(times[0], times[-1], color=color, alpha=0.06, linewidth=0)
        error.axhline(limit, color="0.3", linewidth=0.8, linestyle="--")
        title = "tracking error of the joint farthest off [rad, m]; dashed: limit of the rms with the exact model"
        error.set_title(title, fontsize=9, loc="left")
        error.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.04), ncols=3)
        names = play.model.joint_names
        shown = sorted(np.argsort(-np.abs(verdict.efforts).max(axis=0))[:SHOWN].tolist())
        for joint in shown:
            torque.plot(verdict.effort_times, verdict.efforts[:, joint], linewidth=0.9, label=names[joint])
        torque.set_title("torques [N m, N]", fontsize=9, loc="left")
        torque.legend(fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=7)
        mass.plot(verdict.mass_times, verdict.masses, color="tab:blue", linewidth=1.2, label="estimate")
        mass.axhline(play.payload.mass, color="black", linestyle="--", linewidth=0.9, label="truth")
        mass.set_title("mass of the payload [kg]", fontsize=9, loc="left")
        mass.set_xlabel("time [s]", fontsize=9)
        mass.legend(fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
