"""Pictures of robots, motions and platforms: what ``model.show()``, ``motion.plot()`` and ``platform.show()`` draw.

They need matplotlib (``pip install matplotlib``), which is imported only when a picture is made, and no display: each
returns a figure, which notebooks show and ``figure.savefig(path)`` writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays import Array, ArrayLike
from .constraints.constraint_set import ConstraintSet
from .dynamics.kinematics import forward_kinematics
from .errors import InputError
from .files import new_figure
from .model.arguments import require_model
from .model.configuration import checked
from .model.model import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NAMES = 12
"""With more joints than this their names are left out of pictures."""
SAMPLES = 200
"""Points at which a trajectory without points of its own is drawn."""
QUANTITIES = {
    "q": "position [rad, m]",
    "qd": "velocity [rad/s, m/s]",
    "qdd": "acceleration [rad/s², m/s²]",
    "tau": "effort [N m, N]",
}
__all__ = ["plot_legs", "plot_model", "plot_motion"]


def _space(figure: Figure, points: Array) -> Any:
    """Return 3-D axes with equal scales about points (k, 3); z = 0 is at the bottom where it is near enough."""
    ax: Any = figure.add_subplot(projection="3d")
    low, high = points.min(axis=0), points.max(axis=0)
    half = 0.55 * max(float((high - low).max()), 1e-3)
    middle = (low + high) / 2.0
    for setter, at in zip((ax.set_xlim, ax.set_ylim), middle, strict=False):
        setter(at - half, at + half)
    bottom = min(0.0, low[2]) if low[2] < 2.0 * half else low[2]
    ax.set_zlim(bottom, bottom + 2.0 * half)
    ax.set_box_aspect((1, 1, 1))
    ax.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    return ax


def plot_model(model: Model, q: ArrayLike | None = None, constraints: ConstraintSet | None = None) -> Figure:
    """Draw a robot as lines from joint to joint, with its frames, and centres of mass sized by mass.

    Parameters
    ----------
    model : Model
        The robot.
    q : array-like, shape (nq,), optional
        Its configuration; neutral when left out.
    constraints : ConstraintSet, optional
        What closes its loops: cut joints are drawn, too.

    Returns
    -------
    matplotlib.figure.Figure
        Orange: joints; blue: bodies, and lines to frames welded to them; grey discs: centres of mass.

    Raises
    ------
    InputError
        For a configuration of another shape, or NaN.
    ImportError
        Without matplotlib.
    """
    require_model(model)
    at = checked(model.neutral() if q is None else q, model.nq, "q", model)
    if at.ndim != 1:
        raise InputError(f"q: one configuration ({model.nq},) is expected, got shape {at.shape}", name="q")
    poses = {"world": np.eye(4), **dict(zip(model.body_names, forward_kinematics(model, at), strict=True))}
    lines = [
        (poses[joint.parent_body][:3, 3], poses[joint.body][:3, 3], "tab:blue")
        for joint in model.joints
        if joint.kind != "free"
    ]
    for frame in model.frames.values():
        body = poses["world" if frame.body < 0 else model.body_names[frame.body]]
        lines.append((body[:3, 3], (body @ frame.placement)[:3, 3], "lightsteelblue"))
    for loop in () if constraints is None else constraints.loops:
        for name, placement in ((loop.first, loop.first_placement), (loop.second, loop.second_placement)):
            frame = model.frame(name)
            body = poses["world" if frame.body < 0 else model.body_names[frame.body]]
            at_cut = body @ frame.placement @ (np.eye(4) if placement is None else np.asarray(placement))
            lines.append((body[:3, 3], at_cut[:3, 3], "tab:blue"))
    masses = np.array([model.inertia(body).mass for body in model.body_names])
    centres = np.array(
        [poses[b][:3, :3] @ np.asarray(model.inertia(b).com) + poses[b][:3, 3] for b in model.body_names]
    )
    figure = new_figure((5.0, 5.0))
    ax = _space(figure, np.array([end for *ends, _ in lines for end in ends]))
    for start, end, color in lines:
        if (start != end).any():
            ax.plot(*np.stack([start, end]).T, color=color, linewidth=3 if color == "tab:blue" else 1.5)
    heavy = masses > 0.0
    if heavy.any():
        sizes = 300.0 * (masses[heavy] / masses.max()) ** (2.0 / 3.0)
        ax.scatter(*centres[heavy].T, s=sizes, color="0.6", alpha=0.5)
    places = np.array([poses[body][:3, 3] for body in model.body_names])
    ax.scatter(*places.T, s=25, color="tab:orange", depthshade=False)
    if len(places) <= MOST_NAMES:
        for name, place in zip(model.joint_names, places, strict=True):
            ax.text(*place, f"  {_plain(name)}", fontsize=7)
    ax.set_title(_plain(model.name), fontsize=10)
    return figure


def plot_motion(motion: Any, names: Sequence[str] = ()) -> Figure:
    """Draw positions, rates, accelerations and efforts of a motion over time, each where it has them.

    Parameters
    ----------
    motion : Trajectory, Simulation, Motion, OptimalMotion, Recording or the like
        What has `time` (n,) and arrays `q`, `qd`, `qdd`, `tau` of n, or n - 1, rows; or a `Trajectory`.
    names : sequence of str, optional
        Names of the coordinates in the legend; those of the joints of a `Trajectory` when left out, else numbers.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for each quantity.

    Raises
    ------
    InputError
        For what is no motion.
    ImportError
        Without matplotlib.
    """
    model = getattr(motion, "model", None)
    if not names and isinstance(model, Model) and model.nq == model.nv == model.n_bodies:
        names = model.joint_names
    values: dict[str, Array]
    if hasattr(motion, "times") and hasattr(motion, "at"):
        time = np.linspace(motion.times[0], motion.times[-1], SAMPLES)
        points = [motion.at(float(t)) for t in time]
        values = {key: np.array([getattr(point, key) for point in points]) for key in ("q", "qd", "qdd")}
    elif getattr(motion, "time", None) is not None and getattr(motion, "q", None) is not None:
        time = np.asarray(motion.time)
        values = {key: np.asarray(getattr(motion, key)) for key in QUANTITIES if getattr(motion, key, None) is not None}
    else:
        raise InputError(f"motion: what has time and q is expected, got {type(motion).__name__}", name="motion")
    figure = new_figure((7.0, 1.0 + 1.7 * len(values)))
    axes = figure.subplots(len(values), 1, squeeze=False, sharex=True)[:, 0]
    for ax, (key, rows) in zip(axes, values.items(), strict=True):
        for column in range(rows.shape[1]):
            label = _plain(names[column]) if len(names) == rows.shape[1] else str(column)
            ax.plot(time[: len(rows)], rows[:, column], linewidth=1.0, label=label)
        ax.set_ylabel(QUANTITIES[key], fontsize=8)
        ax.grid(alpha=0.3)
    axes[-1].set_xlabel("time [s]")
    figure.legend(*axes[-1].get_legend_handles_labels(), loc="outside lower center", fontsize=7, ncols=5)
    return figure


def plot_legs(platform: Any, pose: ArrayLike | None = None) -> Figure:
    """Draw a platform of six legs, of any kind, with the numbers of the legs.

    Parameters
    ----------
    platform : StewartPlatform, RotaryPlatform or OffsetPlatform
        Rotary legs have their horns drawn, too, others the offsets of their joints.
    pose : array-like, shape (4, 4), optional
        Of {B} in {N}; the home pose when left out.

    Returns
    -------
    matplotlib.figure.Figure
        Grey: base; blue: platform; orange: legs, or rods; red: horns, and offsets.

    Raises
    ------
    InputError
        For a platform without home pose where no pose is given, and a pose of another shape.
    ImportError
        Without matplotlib.
    """
    pose = getattr(platform, "home_pose", None) if pose is None else pose
    if pose is None:
        raise InputError("pose: the platform has no home pose, so a pose (4, 4) is expected", name="pose")
    T = np.asarray(pose, np.float64)
    if T.shape != (4, 4) or not np.isfinite(T).all():
        raise InputError(f"pose: a finite pose (4, 4) is expected, got shape {T.shape}", name="pose")
    points = getattr(platform, "points", platform)
    base, top = np.asarray(points.base_points), T[:3, 3] + np.asarray(points.platform_points) @ T[:3, :3].T
    tips, ends = base, top
    if hasattr(platform, "tips"):
        tips = np.asarray(platform.tips(platform.motor_positions(T)))
    elif hasattr(platform, "feet"):
        tips, seen = platform.feet(T)
        ends = T[:3, 3] + seen @ T[:3, :3].T
    figure = new_figure((5.0, 5.0))
    ax = _space(figure, np.concatenate((base, top, tips)))
    for points, color in ((base, "0.35"), (top, "tab:blue")):
        ax.plot(*np.vstack((points, points[:1])).T, color=color, linewidth=2)
    for leg, (start, tip, end, ball) in enumerate(zip(base, tips, ends, top, strict=True), start=1):
        for part in ((start, tip), (end, ball)):
            ax.plot(*np.stack(part).T, color="tab:red", linewidth=3)
        ax.plot(*np.stack([tip, end]).T, color="tab:orange", linewidth=2)
        ax.text(*((tip + end) / 2.0), str(leg), fontsize=8)
    return figure


def _plain(name: str) -> str:
    """Return a name that matplotlib takes for no formula, nor for a label to be hidden."""
    return name.replace("$", r"\$").lstrip("_") or name
