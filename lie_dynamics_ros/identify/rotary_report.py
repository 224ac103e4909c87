"""Report of `calibrate_stewart` for rotary legs; it needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..lie_dynamics.arrays import Array
from ..lie_dynamics.lie import so3
from ..lie_dynamics.plots import plot_legs
from ..lie_dynamics.shown import picture, table, write_page
from ..lie_dynamics.stewart import PlannedPoses
from ..lie_dynamics.stewart.calibration.rotary import LEG_PARAMETERS, RotaryCalibration
from ..lie_dynamics.stewart.plots import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Parameters that are angles.
ANGLES = ("tilt_x", "tilt_y", "zero")
_ERRORS = "Of the measurements, as calibrated, root mean squares."
_CHANGES = (
    "What was added to the drawing, with standard deviations: points and lengths [mm], axes and zero angles [mrad]. "
    "What is told: the part of each tolerance that the measurements took away, 0 (as drawn) to 1."
)


def write_rotary(
    found: RotaryCalibration, path: Path, legs: Sequence[str], remarks: Sequence[str], measured: Array, whole: bool,
    plan: Sequence[str], next_poses: PlannedPoses,
) -> Path:  # fmt: skip
    """Write what was calibrated, how well, and what to measure next; return the path.

    Measured poses are (k, 4, 4), of which positions alone count unless they are whole.
    """
    shifts, turns = errors(found, measured)
    rows = [("distance [mm]", f"{1e3 * np.sqrt(np.mean(shifts**2)):.4g}")]
    rows += [("angle [mrad]", f"{1e3 * np.sqrt(np.mean(turns**2)):.4g}")] if whole else []
    parts = ["<h1>Calibrated platform</h1>", *(f"<p>{escape(text)}.</p>" for text in (*remarks, str(found)))]
    parts += ["<h2>Errors</h2>", f"<p>{_ERRORS}</p>", table(("error", "calibrated"), rows)]
    parts += [picture(_drawn(shifts, turns if whole else None), "errors of each measurement")]
    parts += ["<h2>Legs</h2>", f"<p>{_CHANGES}</p>", _changes(found, legs)]
    lost = ", ".join(found.unidentifiable) or "nothing"
    parts += ["<h2>What the measurements determine</h2>"]
    parts += [f"<p>{found.rank} combinations of {len(found.names)} parameters. Not by themselves: {escape(lost)}.</p>"]
    parts += ["<h2>What to measure next</h2>", *plan, picture(plot_legs(found.platform, next_poses.poses[0]), "a pose")]
    return write_page(path, "Calibrated platform", parts)


def errors(found: RotaryCalibration, measured: Array) -> tuple[Array, Array]:
    """Return distances (k,) [m] and angles (k,) [rad] from measured poses of the tool (k, 4, 4)."""
    seen = found.base @ found.poses @ found.tool
    turned = so3.log(np.swapaxes(seen[:, :3, :3], -1, -2) @ measured[:, :3, :3])
    return np.linalg.norm(seen[:, :3, 3] - measured[:, :3, 3], axis=1), np.linalg.norm(turned, axis=1)


def _changes(found: RotaryCalibration, legs: Sequence[str]) -> str:
    rows = []
    for k, name in enumerate(LEG_PARAMETERS):
        cells = zip(1e3 * found.corrections[:, k], 1e3 * found.deviations[:, k], found.told[:, k], strict=True)
        unit = "mrad" if name in ANGLES else "mm"
        rows.append((f"{name} [{unit}]", *(f"{x:+.3f} ± {s:.2g} ({part:.2f})" for x, s, part in cells)))
    return table(("change ± deviation (told)", *legs), rows)


def _drawn(shifts: Array, turns: Array | None) -> Figure:
    figure, axes = new_figure(1, 1 if turns is None else 2, (10.0, 3.2), squeeze=False)
    for ax, value, label in zip(axes[0], (shifts, turns), ("distance [mm]", "angle [mrad]"), strict=False):
        ax.plot(1e3 * np.asarray(value), "o", ms=3)
        ax.set(xlabel="measurement", ylabel=label)
    figure.set_layout_engine("constrained")
    return figure
