"""Figures 6 to 9 of the paper: iterations over step factor or damping ratio, from each state; a picture of the basins.

As in the paper, runs that reach the true pose count upwards and runs that go to the branch pose downwards. Runs that
end nowhere are marked on the axis.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics.lie import se3, so3
from lie_dynamics_ros.lie_dynamics.stewart.geometry.any_platform import reference_platform
from lie_dynamics_ros.lie_dynamics.stewart.plots import new_figure, save_figure
from lie_dynamics_ros.lie_dynamics.stewart.solvers.forward_kinematics import solve_forward_kinematics

from . import paper
from .tables import Row

_FIGURES = (
    ("stewart_figure_6.png", "gn", (1, 2, 3)),
    ("stewart_figure_7.png", "gn", (4, 5)),
    ("stewart_figure_8.png", "lm", (1, 2, 3)),
    ("stewart_figure_9.png", "lm", (4, 5)),
)
_STYLES = {"r6": ("tab:blue", "o"), "quat": ("tab:orange", "s"), "se3": ("tab:green", "^")}
_NAMES = {"r6": "R⁶", "quat": "quaternions", "se3": "SE(3)"}


def plot_figures(rows: list[Row], folder: Path) -> list[Path]:
    """Draw the four figures from the default rows into a folder and return their paths."""
    return [_plot(rows, folder / name, kind, states) for name, kind, states in _FIGURES]


def _plot(rows: list[Row], path: Path, kind: str, states: tuple[int, ...]) -> Path:
    settings = paper.STEP_FACTORS if kind == "gn" else np.log10(paper.DAMPING_RATIOS)
    figure, axes = new_figure(1, len(states), size=(3.6 * len(states), 3.2))
    for state, ax in zip(states, np.ravel(axes), strict=True):
        for row in rows:
            algorithm, space = row.method.split("-")
            if algorithm != kind or row.reading:
                continue
            color, marker = _STYLES[space]
            true, branch = row.to_true[state - 1], row.to_branch[state - 1]
            counts = row.iterations[state - 1]
            style = {"color": color, "marker": marker, "markersize": 3, "linestyle": "none"}
            ax.plot(settings[true], counts[true], **style, label=f"{kind.upper()}, {_NAMES[space]}")
            ax.plot(settings[branch], -counts[branch], **style)
            lost = ~(true | branch)
            ax.plot(settings[lost], np.zeros(lost.sum()), color=color, marker="x", markersize=3, linestyle="none")
        ax.axhline(0.0, color="0.6", linewidth=0.8)
        ax.set_title(f"state {state}", fontsize=9)
        ax.set_xlabel("step factor α₀" if kind == "gn" else "log₁₀ τ")
    first = np.ravel(axes)[0]
    first.set_ylabel("iterations: true pose +, branch −, none ×")
    handles = [
        first.plot(
            [], [], color=color, marker=marker, markersize=4, linestyle="none", label=f"{kind.upper()}, {_NAMES[space]}"
        )[0]
        for space, (color, marker) in _STYLES.items()
    ]
    figure.legend(handles=handles, loc="lower center", ncols=3, fontsize=8, frameon=False)
    figure.subplots_adjust(bottom=0.26)
    return save_figure(figure, path)


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
