"""A picture of what a trajectory takes of a robot. It needs matplotlib, which is imported only when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .judgement import KINDS, Feasibility

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 5.0
"""Largest value over its limit that is drawn."""


def plot_feasibility(*found: Feasibility, titles: tuple[str, ...] = ()) -> Figure:
    """Draw velocity, acceleration, jerk and effort over their limits, a column for each trajectory.

    Kinds without any limit are left out; what is beyond the grey band exceeds a limit.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    kinds = [k for k in KINDS if any(np.isfinite(getattr(f.limits, k)).any() for f in found)] or list(KINDS[:1])
    figure = Figure(figsize=(4.5 * len(found), 2.2 * len(kinds)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(kinds), len(found), squeeze=False, sharex="col", sharey="row")
    for row, kind in enumerate(kinds):
        shares = [judged.values[kind] / getattr(judged.limits, kind) for judged in found]
        top = max(np.abs(share).max(initial=0.0) for share in shares)
        axes[row, 0].set(ylabel=f"{kind} / limit", ylim=np.array([-1.1, 1.1]) * np.clip(top, 1.1, MOST))
        for ax, judged, share in zip(axes[row], found, shares, strict=True):
            ax.axhspan(-1.0, 1.0, color="0.92")
            for joint, name in enumerate(judged.limits.names):
                ax.plot(judged.times, share[:, joint], lw=1.0, label=name)
    for column in range(len(found)):
        if column < len(titles):
            axes[0, column].set_title(titles[column], fontsize=10)
        axes[-1, column].set_xlabel("time [s]")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", fontsize=7, ncols=7)
    return figure
