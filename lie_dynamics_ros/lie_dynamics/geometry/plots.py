"""Pictures of curvature and geodesics. They need matplotlib, which is imported only here, and no display."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, ArrayLike
from ..dynamics.kinematics import forward_kinematics, frame_pose
from ..errors import InputError
from ..files import new_figure, write_figure
from ..model.arguments import require_model
from ..model.configuration import checked
from ..model.model import Model
from .curvature import scalar_curvature
from .geodesics import Geodesic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Curvature over a part of an arm's workspace.


@dataclass(frozen=True, eq=False)
class CurvatureMap:
    """Scalar curvature over a grid of two coordinates, and where a frame is there.

    Attributes
    ----------
    x, y : ndarray, shape (a,), (b,)
        Values of the two coordinates [rad or m].
    names : tuple of str
        Names of their joints.
    frame : str
        Name of the frame.
    curvature : ndarray, shape (a, b)
        Scalar curvature [1/(kg m^2)].
    position : ndarray, shape (a, b, 3)
        Origin of the frame in the world [m].
    """

    x: Array
    y: Array
    names: tuple[str, str]
    frame: str
    curvature: Array
    position: Array


def curvature_map(
    model: Model,
    frame: str | int,
    x: tuple[int, ArrayLike],
    y: tuple[int, ArrayLike],
    q: ArrayLike | None = None,
) -> CurvatureMap:
    """Return the scalar curvature over a grid of two coordinates.

    Parameters
    ----------
    model : Model
        A robot of joints made of axes.
    frame : str or int
        Frame or body whose place stands for a configuration in the workspace.
    x, y : tuple
        Index of a coordinate, and its values (a,) and (b,) [rad or m].
    q : array-like, shape (nq,), optional
        The other coordinates; the neutral configuration when left out.

    Raises
    ------
    InputError
        For two indices that are not two different coordinates; otherwise as `curvature_tensor`.
    """
    require_model(model)
    (i, first), (j, second) = x, y
    if not (0 <= i < model.nv and 0 <= j < model.nv and i != j):
        raise InputError(f"x and y: two different coordinates of {model.nv} are expected, got {i} and {j}")
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    states = np.empty((a.size, b.size, model.nq))
    states[...] = model.neutral() if q is None else checked(q, model.nq, "q", model)
    states[..., i], states[..., j] = np.meshgrid(a, b, indexing="ij")
    curvature = np.array([scalar_curvature(model, row) for row in states]).reshape(a.size, b.size)
    owners = [next(n.name for n in model.joints if n.q_slice.start <= k < n.q_slice.stop) for k in (i, j)]
    place = frame_pose(model, states, frame)[..., :3, 3]
    return CurvatureMap(a, b, (owners[0], owners[1]), model.frame(frame).name, curvature, place)


_PLANES = {"xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}


def save_figure(figure: Figure, path: str | PathLike[str]) -> Path:
    """Write a figure as PNG, make the folder if it is missing, and return the path."""
    return write_figure(path, figure, 110)


def _plane(plane: str) -> tuple[int, int]:
    try:
        return _PLANES[plane]
    except KeyError:
        raise InputError(f"plane: one of {list(_PLANES)} is expected, got {plane!r}", name="plane") from None


def plot_curvature_map(data: CurvatureMap, plane: str = "xy") -> Figure:
    """Draw scalar curvature over the two coordinates, and over the places of the frame in a plane of the world."""
    from matplotlib.colors import SymLogNorm

    a, b = _plane(plane)
    size = float(np.abs(data.curvature).max()) or 1.0
    norm = SymLogNorm(linthresh=0.01 * size, vmin=-size, vmax=size)
    figure = new_figure((10.0, 4.2))
    axes = figure.subplots(1, 2)
    axes[0].pcolormesh(data.x, data.y, data.curvature.T, norm=norm, cmap="RdBu_r", shading="nearest")
    axes[0].set(xlabel=data.names[0], ylabel=data.names[1], title="over the coordinates")
    place = data.position
    values = {"norm": norm, "cmap": "RdBu_r", "shading": "gouraud"}
    drawn = axes[1].pcolormesh(place[..., a], place[..., b], data.curvature, **values)
    axes[1].set(xlabel=f"{plane[0]} [m]", ylabel=f"{plane[1]} [m]", title=f"where {data.frame} is", aspect=1.0)
    figure.colorbar(drawn, ax=axes, label="scalar curvature [1/(kg m$^2$)]")
    return figure


def plot_geodesics(
    model: Model, paths: Sequence[Geodesic], frame: str | int, labels: Sequence[str] | None = None, plane: str = "xy"
) -> Figure:
    """Draw geodesics: the arm along the first one, the way of a frame along each, and their first two coordinates.

    Dashed lines are the straight lines in coordinates between the same ends; a cross is a first conjugate point.
    """
    a, b = _plane(plane)
    figure = new_figure((10.0, 4.6))
    axes = figure.subplots(1, 2)
    _draw_arm(axes[0], model, paths[0], frame, (a, b))
    for number, path in enumerate(paths):
        label = None if labels is None else labels[number]
        times = np.linspace(0.0, path.duration, 200)
        q = path.at(times)[0]
        straight = path.q[0] + np.outer(times / path.duration, path.q[-1] - path.q[0])
        for states, style in ((q, "-"), (straight, "--")):
            place = frame_pose(model, states, frame)[:, :3, 3]
            axes[0].plot(place[:, a], place[:, b], style, color=f"C{number}", label=label if style == "-" else None)
            axes[1].plot(states[:, 0], states[:, 1], style, color=f"C{number}")
        if not path.is_minimal:
            where = path.at(path.conjugate_time)[0]
            axes[1].plot(where[0], where[1], "x", color=f"C{number}", markersize=9)
    axes[0].set(xlabel=f"{plane[0]} [m]", ylabel=f"{plane[1]} [m]", aspect=1.0, title="in the world")
    axes[1].set(xlabel=model.joint_names[0], ylabel=model.joint_names[1], title="first two coordinates")
    if labels is not None:
        figure.legend(loc="outside lower center", ncols=len(paths), fontsize=8)
    return figure


def _draw_arm(ax: Any, model: Model, path: Geodesic, frame: str | int, plane: tuple[int, int]) -> None:
    """Draw the bodies' origins and the frame as a chain of lines, at equal steps of time."""
    times = np.linspace(0.0, path.duration, 9)
    q: Array = path.at(times)[0]
    points = np.concatenate(
        [forward_kinematics(model, q)[..., :3, 3], frame_pose(model, q, frame)[:, None, :3, 3]], axis=1
    )
    for shade, chain in zip(np.linspace(0.8, 0.3, len(times)), points, strict=True):
        ax.plot(chain[:, plane[0]], chain[:, plane[1]], "o-", color=str(shade), linewidth=1.0, markersize=3)
