"""Pictures of platforms, workspaces and basins.

They need matplotlib, which is imported only when a picture is made, and no display.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, ArrayLike
from ..files import new_figure, write_figure
from ..lie import so3
from .geometry.inverse_kinematics import as_pose
from .geometry.platform import StewartPlatform

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .geometry.workspace import WorkspaceSlice
    from .tracking.result import TrackedPath

_DPI = 110


def save_figure(figure: Figure, path: str | PathLike[str]) -> Path:
    """Write a figure as PNG, make the folder if it is missing, and return the path."""
    return write_figure(path, figure, _DPI, tight=True)


def plot_platform(platform: StewartPlatform, poses: ArrayLike, titles: list[str] | None = None) -> Figure:
    """Draw the platform in one pose (4, 4) or several (k, 4, 4), side by side, with the numbers of the legs."""
    drawn = np.atleast_3d(as_pose(poses)).reshape(-1, 4, 4)
    columns = min(len(drawn), 4)
    rows = -(-len(drawn) // columns)
    figure = new_figure((3.4 * columns, 3.4 * rows), None)
    axes = figure.subplots(rows, columns, subplot_kw={"projection": "3d"}, squeeze=False)
    corners = [platform.base_points]
    corners += [pose[:3, 3] + platform.platform_points @ pose[:3, :3].T for pose in drawn]
    points = np.concatenate(corners)
    middle, reach = (points.max(axis=0) + points.min(axis=0)) / 2.0, np.ptp(points, axis=0).max() / 2.0
    for number, ax in enumerate(axes.ravel()):
        if number >= len(drawn):
            ax.set_axis_off()
            continue
        _draw(ax, platform.base_points, corners[number + 1], drawn[number])
        for setter, centre in zip((ax.set_xlim, ax.set_ylim, ax.set_zlim), middle, strict=True):
            setter(centre - reach, centre + reach)
        ax.set_box_aspect((1, 1, 1))
        ax.tick_params(labelsize=6)
        if titles is not None:
            ax.set_title(titles[number], fontsize=9)
    return figure


def _draw(ax: Any, base: Array, top: Array, pose: Array) -> None:
    """Draw one platform into 3-D axes; joints of a side are joined in the order of the legs."""
    for points, color in ((base, "0.35"), (top, "tab:blue")):
        closed = np.vstack([points, points[:1]])
        ax.plot(*closed.T, color=color, linewidth=2)
    for leg, (start, end) in enumerate(zip(base, top, strict=True), start=1):
        ax.plot(*np.stack([start, end]).T, color="tab:orange", linewidth=1.5)
        ax.text(*(0.5 * (start + end)), str(leg), fontsize=7)
    size = 0.3 * np.ptp(base, axis=0).max()
    for axis, color in zip(pose[:3, :3].T, ("tab:red", "tab:green", "tab:purple"), strict=True):
        ax.plot(*np.stack([pose[:3, 3], pose[:3, 3] + size * axis]).T, color=color, linewidth=1)


def plot_workspace_slice(slice_: WorkspaceSlice) -> Figure:
    """Draw a workspace slice: condition number where the pose is within limits, grey where it is not."""
    from matplotlib.colors import LogNorm

    figure = new_figure((5.2, 4.2), None)
    ax = figure.subplots()
    shown = np.where(slice_.reachable, slice_.condition_number, np.nan)
    finite = shown[np.isfinite(shown)]
    ax.set_facecolor("0.85")
    if finite.size:
        # A map of one colour only would be no picture: give the scale a decade at least.
        low, high = float(finite.min()), float(max(finite.max(), 10.0 * finite.min()))
        mesh = ax.pcolormesh(
            slice_.x_values, slice_.y_values, shown.T, norm=LogNorm(low, min(high, 1e4 * low)), cmap="viridis"
        )
        figure.colorbar(mesh, ax=ax, label=f"condition number (length {slice_.characteristic_length:.3g} m)")
    ax.set_xlabel(slice_.x_label)
    ax.set_ylabel(slice_.y_label)
    ax.set_title("grey: a leg beyond its limits, or behind a singularity", fontsize=9)
    return figure


def plot_tracking(times: ArrayLike, path: TrackedPath) -> Figure:
    """Draw a tracked motion over time [s]: legs, position, angles, condition number; shaded where not followed."""
    seconds = np.asarray(times, dtype=np.float64)
    figure = new_figure((7.0, 8.0), None)
    axes = figure.subplots(4, 1, sharex=True)
    angles = np.rad2deg(np.unwrap(so3.to_rpy(path.poses[:, :3, :3]), axis=0))
    shown = np.where(path.valid, 1.0, np.nan)
    parts: tuple[tuple[str, Array, tuple[str, ...]], ...] = (
        ("leg lengths [m]", path.lengths, tuple(f"leg {leg}" for leg in range(1, 7))),
        ("position [m]", path.poses[:, :3, 3] * shown[:, None], ("x", "y", "z")),
        ("angles [deg]", angles * shown[:, None], ("roll", "pitch", "yaw")),
        ("condition number", path.condition_numbers[:, None] * shown[:, None], ("",)),
    )
    for ax, (label, values, names) in zip(axes, parts, strict=True):
        for column, name in zip(values.T, names, strict=True):
            ax.plot(seconds, column, linewidth=1.0, label=name or None)
        ax.set_ylabel(label, fontsize=8)
        if len(names) > 1:
            ax.legend(fontsize=6, ncols=len(names), loc="lower right", bbox_to_anchor=(1.0, 1.0))
        ax.fill_between(
            seconds,
            0.0,
            1.0,
            where=~path.valid,
            transform=ax.get_xaxis_transform(),
            color="tab:red",
            alpha=0.25,
            linewidth=0,
        )
    axes[-1].set_xlabel("time [s]")
    return figure
