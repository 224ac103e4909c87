"""Draws true against estimated pose, and the errors between the bounds that the covariance gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...lie_dynamics.lie import so3
from ..recording import picture
from .check import Verdict

COLORS = ("tab:blue", "tab:orange", "tab:green")
SHOWN = 400
"""Most estimates drawn as points over the truth."""


def draw(verdict: Verdict, path: Path) -> None:
    """Write the picture."""
    with picture(path, "Stewart platform: noisy leg lengths in, poses with covariance out") as plt:
        figure = plt.figure(figsize=(11, 9.5))
        grid = figure.add_gridspec(4, 2, height_ratios=(2.2, 1, 1, 1))
        top = [figure.add_subplot(grid[0, column]) for column in range(2)]
        times, every = verdict.times, slice(None, None, max(1, len(verdict.times) // SHOWN))
        home = np.array([0.0, 0.0, verdict.truth[:, 2, 3].mean()])
        columns = (
            ("position [mm]", ("x", "y", "z from its mean"), 1e3, lambda T: T[:, :3, 3] - home),
            ("orientation [deg]", ("roll", "pitch", "yaw"), 180.0 / np.pi, lambda T: so3.to_rpy(T[:, :3, :3])),
        )
        for column, (title, names, scale, values) in enumerate(columns):
            truth, estimates = scale * values(verdict.truth), scale * values(verdict.estimates)
            for axis in range(3):
                top[column].plot(times, truth[:, axis], color=COLORS[axis], linewidth=1.2, label=names[axis])
                top[column].plot(times[every], estimates[every, axis], ".", color="black", markersize=1.5)
            top[column].plot([], [], ".", color="black", markersize=3, label="estimates")
            top[column].set_title(title, fontsize=9, loc="left")
            top[column].legend(fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4)
        units = ("[um]", "[urad]")
        for index in range(6):
            column, row = divmod(index, 3)
            axes = figure.add_subplot(grid[1 + row, column])
            axes.plot(times, 1e6 * verdict.errors[:, index], color=COLORS[row], linewidth=0.4)
            for sign in (-3.0, 3.0):
                label = "three standard deviations, as the node gives them" if sign > 0.0 and not index else None
                axes.plot(times, sign * 1e6 * verdict.deviations[:, index], color="0.2", linewidth=0.9, label=label)
            name = ("along ", "about ")[column] + "xyz"[row]
            axes.set_title(f"error {name} {units[column]}", fontsize=9, loc="left")
            if not index:
                axes.legend(fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 1.0))
            if row == 2:
                axes.set_xlabel("time [s]", fontsize=9)
