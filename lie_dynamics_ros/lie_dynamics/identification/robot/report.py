"""The report on an identified robot: one HTML file with its pictures inside. It needs matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...lie._arrays import number_of
from ...shown import picture, table, write_page
from .result import IdentifiedRobot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_SHARES = (
    "Root mean square of the effort that each body's change and each term of the drives makes, over the range of the "
    "joint's effort: what the model before got wrong, and by which parameter."
)


def write_report(
    robot: IdentifiedRobot, path: str | PathLike[str], remarks: Sequence[str] = (), bandwidth: float = 20.0
) -> Path:
    """Write what was identified, how well, and what the recording does not show; return the path.

    Parameters
    ----------
    robot : IdentifiedRobot
    path : str or path
        The HTML file.
    remarks : sequence of str
        Sentences on where the recording comes from.
    bandwidth : float
        Rate of computed torque [rad/s] for the errors of position to expect.
    """
    bandwidth = number_of("bandwidth", bandwidth, "a positive rate", lambda x: 0.0 < x < np.inf)
    names, told = robot.model.joint_names, robot.prediction
    before, after = told.tracking_error(bandwidth)
    parts = ["<h1>" + escape(f"Identified: {robot.model.name}") + "</h1>", *_texts(robot, remarks)]
    parts.append("<h2>Efforts of a motion that was not used</h2>")
    rows = _rows(names, 100.0 * told.error_before, 100.0 * told.error)
    parts.append(table(("joint", "error before, % of the range", "identified, %"), rows))
    parts.append(picture(plot_efforts(robot), "plot_efforts"))
    parts.append("<h2>What explains which part of the efforts</h2>")
    parts.append(f"<p>{_SHARES}</p>")
    parts.append(picture(plot_shares(robot), "plot_shares"))
    parts.append("<h2>Errors of position to expect</h2>")
    parts.append(f"<p>Of computed torque at the rate {bandwidth:g} rad/s on the same motion, root mean squares.</p>")
    rows = _rows(names, 1e3 * before, 1e3 * after)
    parts.append(table(("joint", "before, mrad or mm", "identified, mrad or mm"), rows))
    parts += ["<h2>Drives</h2>", _drives(robot), picture(plot_friction(robot), "plot_friction")]
    parts += ["<h2>What the motion could not see</h2>", _unseen(robot)]
    parts += ["<h2>Sums of parameters, with regions of 95 %</h2>", _sums(robot)]
    return write_page(path, "Identified robot", parts)


def _rows(names: Sequence[str], before: Array, after: Array) -> list[tuple[str, str, str]]:
    return [(name, f"{a:.3g}", f"{b:.3g}") for name, a, b in zip(names, before, after, strict=True)]


def _texts(robot: IdentifiedRobot, remarks: Sequence[str]) -> list[str]:
    delay = f"efforts were recorded {1e3 * robot.delay:.1f} ms later than the motion they cause"
    facts = [*remarks, f"{delay}; all was filtered at {robot.cutoff:.1f} Hz, without delay"]
    if (robot.gain != 1.0).any():
        facts.append("gains of the drives: " + ", ".join(f"{g:.3f}" for g in robot.gain))
    if robot.offset.any():
        facts.append("offsets of efforts beyond friction: " + ", ".join(f"{x:.3g}" for x in robot.offset))
    found = [f"<p>{escape(fact)}.</p>" for fact in facts]
    return found + [f"<p class='bad'>{escape(problem.text)}.</p>" for problem in robot.problems]


def _unseen(robot: IdentifiedRobot) -> str:
    if not robot.unseen:
        return "<p>Every sum of parameters that counts in motions as fast as this one was seen.</p>"
    rows = "".join(f"<li>{escape(text)}</li>" for text in robot.unseen)
    return f"<p>Through these, efforts of other motions may be wrong by more than 2 % of the range:</p><ul>{rows}</ul>"


def _drives(robot: IdentifiedRobot) -> str:
    law, numbers = robot.friction, []
    for j, name in enumerate(robot.model.joint_names):
        pairs = (f"{x[0, j]:.3g} / {x[1, j]:.3g}" for x in (law.friction, law.static_friction))
        single = (law.stribeck_speed[j], law.load_friction[j], law.damping[j], robot.model.limits.armature[j])
        numbers.append((name, *pairs, *(f"{x:.3g}" for x in single)))
    heads = ("joint", "dry friction, forwards / backwards", "at rest", "Stribeck speed", "by load", "damping", "rotor")
    return table(heads, numbers)


def _sums(robot: IdentifiedRobot) -> str:
    rows = []
    for text, value, deviation in zip(robot.base.expressions(), robot.base_values, robot.base_deviations, strict=True):
        rows.append((text if len(text) < 160 else text[:157] + "...", f"{value:.4g}", f"{1.96 * deviation:.2g}"))
    return table(("sum", "value", "+-"), rows)


def _plain(names: Iterable[str]) -> list[str]:
    """Return names that matplotlib takes for no formulas, nor for labels to be hidden."""
    return [("\u200b" if name.startswith("_") else "") + name.replace("$", r"\$") for name in names]


def _figure(rows: int, height: float) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, height), layout="constrained")
    return figure, figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]


def plot_efforts(robot: IdentifiedRobot) -> Figure:
    """Draw efforts of each joint, measured, predicted before and after."""
    told = robot.prediction
    figure, axes = _figure(robot.model.nv, 1.3 * robot.model.nv + 0.8)
    for j, (ax, name) in enumerate(zip(axes, _plain(robot.model.joint_names), strict=True)):
        ax.plot(told.time, told.measured[:, j], color="0.7", lw=3.0, label="measured")
        ax.plot(told.time, told.before[:, j], "--", color="tab:orange", lw=1.0, label="before")
        ax.plot(told.time, told.predicted[:, j], color="tab:blue", lw=1.0, label="identified")
        ax.set_title(f"{name} [N m, N]", loc="left", fontsize=8)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=3, fontsize=8)
    axes[-1].set_xlabel("time [s]")
    return figure


def plot_shares(robot: IdentifiedRobot) -> Figure:
    """Draw which change of the model makes which part of the efforts, as a table of colours."""
    table = 100.0 * np.array(list(robot.shares.values()))
    figure, (ax,) = _figure(1, 0.35 * len(table) + 1.5)
    image = ax.imshow(table, aspect="auto", cmap="Blues")
    ax.set_xticks(range(table.shape[1]), _plain(robot.model.joint_names), rotation=20, fontsize=8)
    ax.set_yticks(range(len(table)), _plain(robot.shares), fontsize=8)
    for (i, j), x in np.ndenumerate(table):
        ax.text(j, i, f"{x:.1f}" if x >= 0.05 else "", ha="center", va="center", fontsize=7,
                color="w" if x > 0.6 * table.max() else "k")  # fmt: skip
    figure.colorbar(image, label="% of the range")
    return figure


def plot_friction(robot: IdentifiedRobot) -> Figure:
    """Draw friction of all joints over their rates, without load."""
    figure, (ax,) = _figure(1, 3.5)
    rate = np.linspace(-1.0, 1.0, 801)[:, None] * np.maximum(10.0 * robot.friction.stribeck_speed, 0.5)
    force = robot.friction.force(rate)
    for j, name in enumerate(_plain(robot.model.joint_names)):
        ax.plot(rate[:, j], force[:, j], lw=1.0, label=name)
    ax.set(xlabel="rate [rad/s, m/s]", ylabel="friction [N m, N]")
    figure.legend(loc="outside right upper", fontsize=7)
    return figure
