"""Figures 6 to 9 of the paper: iterations over step factor or damping ratio, from each state.

As in the paper, runs that reach the true pose count upwards and runs that go to the branch pose downwards. Runs that
end nowhere are marked on the axis.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..plots import new_figure, save_figure
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
