"""Picture of the basins: which pose each solver ends in, over guesses that differ in two coordinates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...lie import se3, so3
from ..geometry.designs import reference_platform
from ..plots import new_figure, save_figure
from ..solvers.forward_kinematics import solve_forward_kinematics
from . import paper

Note = Callable[[str], None]
METHODS = ("lm-r6", "lm-quat", "lm-se3", "auto")
_YAW = 180.0
_PITCH = 90.0


def plot_basins(path: Path, resolution: int = 121, note: Note = lambda text: None) -> Path:
    """Map the end of each solver over yaw and pitch of the guess, position at the true pose's and roll zero."""
    platform = reference_platform()
    lengths = platform.leg_lengths(paper.TRUE_POSE)
    yaw, pitch = np.linspace(-_YAW, _YAW, resolution), np.linspace(-_PITCH, _PITCH, resolution)
    angles = np.deg2rad(np.stack(np.broadcast_arrays(0.0, pitch[:, None], yaw[None, :]), axis=-1))
    guesses = se3.from_parts(so3.from_rpy(angles), paper.TRUE_POSE[:3, 3])
    # The other two real poses of these lengths mirror the true one and the branch below the base.
    mirror = np.diag([1.0, 1.0, -1.0, 1.0])
    ends = [paper.TRUE_POSE, paper.BRANCH_POSE, mirror @ paper.TRUE_POSE @ mirror, mirror @ paper.BRANCH_POSE @ mirror]
    names = ["none", "true pose", "branch", "mirror of true pose", "mirror of branch"]
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    colors = ["0.15", "tab:green", "tab:orange", "tab:blue", "tab:purple"]
    figure, axes = new_figure(1, len(METHODS), size=(3.0 * len(METHODS), 3.0), sharey=True)
    for ax, method in zip(axes, METHODS, strict=True):
        result = solve_forward_kinematics(platform, lengths, guesses, method)
        label = np.zeros((resolution, resolution), dtype=np.int64)
        for number, end in enumerate(ends, start=1):
            label[paper.near(result.pose, end, *paper.BRANCH_TOLERANCES)] = number
        ax.imshow(
            label,
            origin="lower",
            extent=(-_YAW, _YAW, -_PITCH, _PITCH),
            aspect="auto",
            cmap=ListedColormap(colors),
            vmin=-0.5,
            vmax=4.5,
            interpolation="nearest",
        )
        ax.set_title(method.upper(), fontsize=9)
        ax.set_xlabel("yaw of the guess [deg]")
        note(f"basins of {method.upper()}")
    axes[0].set_ylabel("pitch of the guess [deg]")
    handles = [Patch(color=color, label=name) for color, name in zip(colors, names, strict=True)]
    figure.legend(handles=handles, loc="lower center", ncols=5, fontsize=8, frameon=False)
    figure.subplots_adjust(bottom=0.27)
    return save_figure(figure, path)
