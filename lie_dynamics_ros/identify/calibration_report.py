"""The report on a calibrated platform: one HTML file with its pictures inside. It needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..lie_dynamics.arrays import Array
from ..lie_dynamics.shown import picture, table, write_page
from ..lie_dynamics.stewart import MeasuredCalibration, PlannedPoses
from ..lie_dynamics.stewart.calibration.parameters import all_points
from ..lie_dynamics.stewart.plots import new_figure, plot_platform

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_ERRORS = (
    "Against the device, root mean squares: each pose by a calibration that did not use it; the drawing with the "
    "offsets given, in the frames that fit it best."
)
_FRAMES = (
    "In the frames of the drawing, onto which both sides were moved as well as rigid motions can; with standard "
    "deviations. Residuals over what the deviations given let expect:"
)


def write_calibration(
    found: MeasuredCalibration, path: Path, legs: Sequence[str], remarks: Sequence[str], plan: PlannedPoses
) -> Path:
    """Write what was calibrated, how well, and what to measure next; return the path."""
    parts = ["<h1>Calibrated platform</h1>", *(f"<p>{escape(text)}.</p>" for text in remarks)]
    parts += [f"<p class='bad'>{escape(text)}.</p>" for text in found.problems]
    errors = found.measured != "lengths"
    parts += ["<h2>Poses from leg lengths</h2>", f"<p>{_ERRORS}</p>"] if errors else []
    rows = []
    for what, before, after in zip(("distance [mm]", "angle [mrad]"), *found.pose_errors(), strict=True):
        if before > 0.0:
            rows.append((what, f"{1e3 * before:.4g}", _number(1e3 * after, ".4g", "too few poses")))
    if errors:
        parts += [table(("error", "drawing", "calibrated"), rows), picture(_errors(found), "errors of each pose")]
    parts += ["<h2>Joint centres and offsets</h2>", f"<p>{_FRAMES} {found.noise_ratio:.2f}.</p>"]
    parts += [_changes(found, legs), picture(_bars(found), "changes")]
    parts += ["<h2>Residuals of the legs</h2>", picture(_residuals(found, legs), "residuals")]
    parts += ["<h2>What the poses determine</h2>", f"<p>{escape(str(found.fit.report).splitlines()[0])}.</p>"]
    if found.fit.report.combinations:
        parts.append("<ul>" + "".join(f"<li>{escape(x)}</li>" for x in found.fit.report.combinations) + "</ul>")
    parts += ["<h2>What to measure next</h2>", f"<p>{escape(told(plan))}.</p>", planned(plan, legs[:6])]
    parts.append(picture(plot_platform(found.platform, plan.poses[:4]), "poses to measure"))
    return write_page(path, "Calibrated platform", parts)


def told(plan: PlannedPoses) -> str:
    """Say what the plan is worth."""
    return (f"{len(plan.poses)} poses lower the largest standard deviation of a joint coordinate or offset from "
            f"{1e3 * plan.deviation_before:.3g} to {1e3 * plan.deviation_after:.3g} mm")  # fmt: skip


def planned(plan: PlannedPoses, legs: Sequence[str]) -> str:
    """Return a table of poses."""
    rows = [(*(f"{x:.4f}" for x in pose[:3, 3]), *(f"{x:.4f}" for x in lengths))
            for pose, lengths in zip(plan.poses, plan.lengths, strict=True)]  # fmt: skip
    return table(("x [m]", "y", "z", *legs), rows)


def _number(value: float, form: str, otherwise: str) -> str:
    return format(value, form) if np.isfinite(value) else otherwise


def _sides(found: MeasuredCalibration) -> list[tuple[str, Array, Array]]:
    """Return names of the sides, and their points calibrated and drawn, (n, 3) each."""
    points = all_points(found.platform, found.further), all_points(found.nominal, found.fit.nominal_further)
    return list(zip(("base", "platform"), *points, strict=True))


def _changes(found: MeasuredCalibration, legs: Sequence[str]) -> str:
    rows = []
    n = len(legs)
    deviations = 1e3 * found.deviations
    for side, (name, points, drawn) in enumerate(_sides(found)):
        for k, leg in enumerate(legs):
            numbers = zip(points[k], 1e3 * (points[k] - drawn[k]), deviations[3 * (n * side + k) :], strict=False)
            texts = (f"{x:.6f} ({dx:+.3f} ± {_number(s, '.2g', 'unknown')})" for x, dx, s in numbers)
            rows.append((f"{name} {leg}", *texts))
    points_table = table(("joint", "x [m] (change [mm])", "y", "z"), rows)
    rows = [(leg, f"{1e3 * o:+.4f} ± {_number(s, '.2g', 'unknown')}")
            for leg, o, s in zip(legs, found.offsets, deviations[6 * n : 7 * n], strict=True)]  # fmt: skip
    head: tuple[str, ...] = ("leg", "offset [mm]")
    if len(deviations) > 7 * n:
        spread = 1e6 * found.deviations[7 * n :]
        head = (*head, "gain (deviation [ppm])")
        rows = [(*row, f"{g:.7f} ± {_number(s, '.2g', 'unknown')}")
                for row, g, s in zip(rows, found.gains, spread, strict=True)]  # fmt: skip
    return points_table + table(head, rows)


def _errors(found: MeasuredCalibration) -> Figure:
    figure, axes = new_figure(1, 2, (10.0, 3.6), squeeze=False)
    number = np.flatnonzero(found.used)
    for k, (ax, label) in enumerate(zip(axes[0], ("distance [mm]", "angle [mrad]"), strict=True)):
        for errors, color, name in ((found.errors_before, "tab:orange", "drawing"),
                                    (found.errors_after, "tab:blue", "calibrated")):  # fmt: skip
            if (errors[:, k] > 0.0).any():
                ax.semilogy(number, 1e3 * errors[:, k], "o", ms=3, color=color, label=name)
        ax.set(xlabel="measurement", ylabel=label)
    shown = max(axes[0], key=lambda ax: len(ax.lines)).get_legend_handles_labels()
    figure.set_layout_engine("constrained")
    figure.legend(*shown, loc="outside upper center", ncols=2, fontsize=8)
    return figure


def _bars(found: MeasuredCalibration) -> Figure:
    n = len(found.offsets)
    told = [(f"{name}: change [mm]", points - drawn) for name, points, drawn in _sides(found)]
    told.append(("offsets: change [mm]", found.offsets[:, None]))
    if len(found.deviations) > 7 * n:
        told.append(("gains: change [0.1 %]", found.gains[:, None] - 1.0))
    figure, axes = new_figure(1, len(told), (3.7 * len(told), 3.4), squeeze=False)
    spread = np.where(np.isfinite(found.deviations), found.deviations, 0.0)
    parts = np.split(1.96e3 * spread, (3 * n, 6 * n, 7 * n))
    for ax, (title, value), wide in zip(axes[0], told, parts, strict=False):
        for axis, name in enumerate("xyz"[: value.shape[1]]):
            at = np.arange(1, n + 1) + 0.25 * (axis - 0.5 * (value.shape[1] - 1))
            ax.bar(at, 1e3 * value[:, axis], 0.22, yerr=wide.reshape(n, -1)[:, axis], label=name, capsize=2)
        ax.set(title=f"{title}, 95 %", xlabel="leg")
    figure.set_layout_engine("constrained")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside center right", fontsize=8)
    return figure


def _residuals(found: MeasuredCalibration, legs: Sequence[str]) -> Figure:
    figure, axes = new_figure(1, 1, (10.0, 3.6), squeeze=False)
    axes[0, 0].plot(np.flatnonzero(found.used), 1e6 * found.fit.length_residuals, ".")
    axes[0, 0].set(xlabel="measurement", ylabel="residual [um]")
    figure.set_layout_engine("constrained")
    figure.legend(axes[0, 0].lines, [leg.replace("$", r"\$") for leg in legs], loc="outside center right", fontsize=7)
    return figure
