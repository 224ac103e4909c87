"""`calibrate_stewart BAG --platform in.yaml --out my_platform/`: from measured poses to a platform file."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..lie_dynamics import InputError
from ..lie_dynamics.arrays import Array
from ..lie_dynamics.files import new_figure, write_file
from ..lie_dynamics.lie import so3
from ..lie_dynamics.plots import plot_legs
from ..lie_dynamics.shown import picture, table, write_page
from ..lie_dynamics.stewart import (
    DisplacementSensor,
    LegReadings,
    MeasuredCalibration,
    OffsetPlatform,
    PlannedPoses,
    PlatformSensors,
    RotaryPlatform,
    StewartPlatform,
    StewartWarning,
    calibrate_measured,
    calibrate_rotary,
    level_home,
    poses_to_measure,
)
from ..lie_dynamics.stewart.calibration.measured import unmeasured
from ..lie_dynamics.stewart.calibration.model import all_points
from ..lie_dynamics.stewart.calibration.rotary import DIRECTIONS, LEG_PARAMETERS, RotaryCalibration
from ..lie_dynamics.stewart.geometry.any_platform import Platform, any_platform, points_of
from ..lie_dynamics.stewart.plots import plot_platform
from ..lie_dynamics.texts import listed
from .command import check_output, ended
from .stations import Sources, read_stations

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# The report needs matplotlib.

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
    figure = new_figure((10.0, 3.6))
    axes = figure.subplots(1, 2, squeeze=False)
    number = np.flatnonzero(found.used)
    for k, (ax, label) in enumerate(zip(axes[0], ("distance [mm]", "angle [mrad]"), strict=True)):
        for errors, color, name in ((found.errors_before, "tab:orange", "drawing"),
                                    (found.errors_after, "tab:blue", "calibrated")):  # fmt: skip
            if (errors[:, k] > 0.0).any():
                ax.semilogy(number, 1e3 * errors[:, k], "o", ms=3, color=color, label=name)
        ax.set(xlabel="measurement", ylabel=label)
    shown = max(axes[0], key=lambda ax: len(ax.lines)).get_legend_handles_labels()
    figure.legend(*shown, loc="outside upper center", ncols=2, fontsize=8)
    return figure


def _bars(found: MeasuredCalibration) -> Figure:
    n = len(found.offsets)
    told = [(f"{name}: change [mm]", points - drawn) for name, points, drawn in _sides(found)]
    told.append(("offsets: change [mm]", found.offsets[:, None]))
    if len(found.deviations) > 7 * n:
        told.append(("gains: change [0.1 %]", found.gains[:, None] - 1.0))
    figure = new_figure((3.7 * len(told), 3.4))
    axes = figure.subplots(1, len(told), squeeze=False)
    spread = np.where(np.isfinite(found.deviations), found.deviations, 0.0)
    parts = np.split(1.96e3 * spread, (3 * n, 6 * n, 7 * n))
    for ax, (title, value), wide in zip(axes[0], told, parts, strict=False):
        for axis, name in enumerate("xyz"[: value.shape[1]]):
            at = np.arange(1, n + 1) + 0.25 * (axis - 0.5 * (value.shape[1] - 1))
            ax.bar(at, 1e3 * value[:, axis], 0.22, yerr=wide.reshape(n, -1)[:, axis], label=name, capsize=2)
        ax.set(title=f"{title}, 95 %", xlabel="leg")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside center right", fontsize=8)
    return figure


def _residuals(found: MeasuredCalibration, legs: Sequence[str]) -> Figure:
    figure = new_figure((10.0, 3.6))
    axes = figure.subplots(1, 1, squeeze=False)
    axes[0, 0].plot(np.flatnonzero(found.used), 1e6 * found.fit.length_residuals, ".")
    axes[0, 0].set(xlabel="measurement", ylabel="residual [um]")
    figure.legend(axes[0, 0].lines, [leg.replace("$", r"\$") for leg in legs], loc="outside center right", fontsize=7)
    return figure


#: Parameters that are angles.
ANGLES = ("tilt_x", "tilt_y", "zero")
_ROTARY_ERRORS = "Of the measurements, as calibrated, root mean squares."
_ROTARY_CHANGES = (
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
    shifts, turns = _rotary_errors(found, measured)
    rows = [("distance [mm]", f"{1e3 * np.sqrt(np.mean(shifts**2)):.4g}")]
    rows += [("angle [mrad]", f"{1e3 * np.sqrt(np.mean(turns**2)):.4g}")] if whole else []
    parts = ["<h1>Calibrated platform</h1>", *(f"<p>{escape(text)}.</p>" for text in (*remarks, str(found)))]
    parts += ["<h2>Errors</h2>", f"<p>{_ROTARY_ERRORS}</p>", table(("error", "calibrated"), rows)]
    parts += [picture(_drawn(shifts, turns if whole else None), "errors of each measurement")]
    parts += ["<h2>Legs</h2>", f"<p>{_ROTARY_CHANGES}</p>", _rotary_changes(found, legs)]
    lost = ", ".join(found.unidentifiable) or "nothing"
    parts += ["<h2>What the measurements determine</h2>"]
    parts += [f"<p>{found.rank} combinations of {len(found.names)} parameters. Not by themselves: {escape(lost)}.</p>"]
    parts += ["<h2>What to measure next</h2>", *plan, picture(plot_legs(found.platform, next_poses.poses[0]), "a pose")]
    return write_page(path, "Calibrated platform", parts)


def _rotary_errors(found: RotaryCalibration, measured: Array) -> tuple[Array, Array]:
    """Return distances (k,) [m] and angles (k,) [rad] from measured poses of the tool (k, 4, 4)."""
    seen = found.base @ found.poses @ found.tool
    turned = so3.log(np.swapaxes(seen[:, :3, :3], -1, -2) @ measured[:, :3, :3])
    return np.linalg.norm(seen[:, :3, 3] - measured[:, :3, 3], axis=1), np.linalg.norm(turned, axis=1)


def _rotary_changes(found: RotaryCalibration, legs: Sequence[str]) -> str:
    rows = []
    for k, name in enumerate(LEG_PARAMETERS):
        cells = zip(1e3 * found.corrections[:, k], 1e3 * found.deviations[:, k], found.told[:, k], strict=True)
        unit = "mrad" if name in ANGLES else "mm"
        rows.append((f"{name} [{unit}]", *(f"{x:+.3f} ± {s:.2g} ({part:.2f})" for x, s, part in cells)))
    return table(("change ± deviation (told)", *legs), rows)


def _drawn(shifts: Array, turns: Array | None) -> Figure:
    figure = new_figure((10.0, 3.2))
    axes = figure.subplots(1, 1 if turns is None else 2, squeeze=False)
    for ax, value, label in zip(axes[0], (shifts, turns), ("distance [mm]", "angle [mrad]"), strict=False):
        ax.plot(1e3 * np.asarray(value), "o", ms=3)
        ax.set(xlabel="measurement", ylabel=label)
    return figure


LEGS = tuple(f"leg_{k}" for k in range(1, 7))
#: What is taken where the command line says nothing [m, rad], for legs that slide and that turn.
SLIDING = {"still": 1e-4, "length_sigma": 1e-5, "drawing_sigma": 0.01}
ROTARY = {"still": 2e-3, "length_sigma": 1e-3, "drawing_sigma": 0.002}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 1 where the reasons why not were printed."""
    given = parser().parse_args(arguments)
    return ended("calibrate_stewart", lambda: run(given))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    found = argparse.ArgumentParser(prog="calibrate_stewart", description=__doc__)
    found.add_argument("bag", type=Path, nargs="?", help="rosbag2: folder, or mcap file")
    found.add_argument("--platform", type=Path, required=True, help="the platform as it is drawn, YAML")
    found.add_argument("--out", type=Path, default=Path("my_platform"), help="folder for what is written")
    found.add_argument("--legs", nargs=6, default=LEGS, metavar="LEG", help="names of the legs in joint states")
    found.add_argument(
        "--further", nargs="+", metavar="NAME", help="legs beyond six, sensors of the file; else those that the bag has"
    )
    found.add_argument(
        "--leg-topics", nargs="+", metavar="TOPIC",
        help="topics of plain numbers (Float64), for each leg, then of --further; '' for what comes by joint states",
    )  # fmt: skip
    found.add_argument("--gains", action="store_true", help="estimate a gain of each leg's encoder, too")
    found.add_argument(
        "--distance", nargs=4, action="append", default=[], metavar=("SIDE", "LEG", "LEG", "METRES"),
        help="measured distance of joint centres of the base or the platform, where nothing else gives the scale",
    )  # fmt: skip
    found.add_argument("--distance-sigma", type=float, default=1e-4, help="of these distances [m]")
    found.add_argument("--lengths", default="", help="topic of joint states, where there are several")
    found.add_argument("--poses", default="", help="topic of what was measured, where there are several")
    found.add_argument("--scale", type=float, nargs="+", help="lengths for each unit of the readings, not the file's")
    found.add_argument("--offset", type=float, nargs="+", help="rough, added to scaled readings [m], as --scale")
    found.add_argument("--still", type=float, help="what readings change by in a stand [m, rad]")
    found.add_argument("--rest", type=float, default=1.0, help="how long a stand is at least [s]")
    found.add_argument("--length-sigma", type=float, help="standard deviation of a length [m], or angle [rad]")
    found.add_argument("--rotation-sigma", type=float, default=5e-5, help="of a measured pose [rad]")
    found.add_argument("--position-sigma", type=float, default=2e-5, help="of a measured pose [m]")
    found.add_argument("--drawing-sigma", type=float, help="of the drawing [m]")
    found.add_argument("--next", type=int, default=10, help="how many poses to measure next")
    found.add_argument("--reach", type=float, help="of those poses: largest shift from home along each axis [m]")
    found.add_argument("--tilt", type=float, default=0.4, help="of those poses: largest turn about each axis [rad]")
    found.add_argument("--plan", action="store_true", help="only write poses to measure, without a bag")
    found.add_argument(
        "--measured", choices=("pose", "position", "orientation", "lengths"), default="pose",
        help="of the plan: by the device; lengths: there is none, also with a bag, but more than six legs",
    )  # fmt: skip
    return found


def run(given: argparse.Namespace) -> int:
    """Run the command line."""
    check_output(given.out, given.plan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StewartWarning)
        platform = any_platform(given.platform)
        sensors = PlatformSensors.from_yaml(given.platform, points_of(platform))
    for name, value in (ROTARY if isinstance(platform, RotaryPlatform) else SLIDING).items():
        if getattr(given, name) is None:
            setattr(given, name, value)
    for name in ("still", "rest"):
        if not 0.0 < getattr(given, name) < np.inf:
            raise InputError(f"--{name}: a positive number is expected, got {getattr(given, name)}")
    told = {f"length_{name}s": _six(name, getattr(given, name)) for name in ("scale", "offset") if getattr(given, name)}
    sensors = replace(sensors, readings={**sensors.readings, **told})
    readings = LegReadings.from_values(sensors.values())
    if isinstance(platform, RotaryPlatform):
        return _rotary(given, platform, sensors, readings)
    legs = further_legs(sensors, given.further)
    if given.measured == "lengths" and not legs:
        raise InputError("--measured lengths: sensors of kind length in the file are expected, beside six legs")
    if given.plan:
        return _write_plan(given.out, _plan(given, platform, None, given.measured, list(legs.values())))
    if given.bag is None:
        raise InputError("a bag, or --plan, is expected")
    scales = np.append(readings.scales, [sensors.scales[sensors.sensors.index(leg)] for leg in legs.values()])
    stations = read_stations(
        given.bag,
        (*given.legs, *(legs if given.further else ())),
        Sources(
            given.lengths,
            given.poses,
            given.measured != "lengths",
            _numbers(given.leg_topics or (), (*given.legs, *(given.further or ()))),
        ),
        (given.still / np.abs(scales)).tolist(),
        given.rest,
        () if given.further else tuple(legs),
    )
    for remark in stations.remarks:
        print(remark)
    print("calibrating", file=sys.stderr, flush=True)
    further = [legs[name] for name in stations.legs[6:]]
    found = calibrate_measured(
        platform, stations.poses, _lengths(stations.readings, readings, sensors, further), measured=stations.measured,
        length_sigma=given.length_sigma, rotation_sigma=given.rotation_sigma, position_sigma=given.position_sigma,
        drawing_sigma=given.drawing_sigma, further=further, gains=given.gains,
        distances=_distances(given.distance, given.legs), distance_sigma=given.distance_sigma,
    )  # fmt: skip
    for problem in found.problems:
        print(f"warning: {problem}")
    print("looking for the poses to measure next, and drawing", file=sys.stderr, flush=True)
    calibrated = found.joints or found.platform
    plan = _plan(given, calibrated, found.poses, stations.measured, found.further)
    files = [given.out / "platform.yaml", given.out / "stewart_pose.yaml"]
    sensors = sensors.with_offsets(found.offsets[:6], found.gains[:6])
    sensors = sensors.with_further(found.further, found.offsets[6:], found.gains[6:])
    sensors = sensors.on_legs(points_of(platform), found.platform)
    write_file(files[0], calibrated.to_yaml() + sensors.to_yaml())
    if found.joints is None:
        write_file(files[1], parameters(files[0], given.legs))
    else:  # the node takes point joints
        del files[1]
    files.append(write_calibration(found, given.out / "report.html", stations.legs, stations.remarks, plan))
    print(summary(found))
    print("written: " + ", ".join(str(path) for path in files))
    return _write_plan(given.out, plan)


def _rotary(
    given: argparse.Namespace, platform: RotaryPlatform, sensors: PlatformSensors, readings: LegReadings
) -> int:
    """Calibrate legs that turn, from poses or positions."""
    options = {"--gains": given.gains, "--distance": given.distance, "--further": given.further}
    refused = [name for name, asked in options.items() if asked]
    refused += [] if given.measured in ("pose", "position") else ["--measured"]
    if refused:
        raise InputError(f"{listed(refused)}: rotary_legs are in the platform's file, and know no such thing")
    if given.plan:
        return _write_plan(given.out, _plan(given, platform, None, given.measured, ()))
    if given.bag is None:
        raise InputError("a bag is expected")
    stations = read_stations(
        given.bag,
        given.legs,
        Sources(given.lengths, given.poses, numbers=_numbers(given.leg_topics or (), given.legs)),
        (given.still / np.abs(readings.scales)).tolist(),
        given.rest,
    )
    for remark in stations.remarks:
        print(remark)
    if stations.measured == "orientation":
        raise InputError("bag: legs that turn are calibrated from poses or positions, orientations alone were measured")
    whole = stations.measured == "pose"
    found = calibrate_rotary(
        platform, stations.poses if whole else None, _lengths(stations.readings, readings, sensors, ()),
        given.length_sigma, (given.rotation_sigma, given.position_sigma),
        (given.drawing_sigma, *DIRECTIONS),
        positions=None if whole else stations.poses[:, :3, 3], fit_base=True, fit_tool=True,
    )  # fmt: skip
    files: tuple[Path, ...] = (given.out / "platform.yaml", given.out / "stewart_pose.yaml")
    write_file(files[0], found.platform.to_yaml() + sensors.to_yaml())
    write_file(files[1], parameters(files[0], given.legs))
    plan = _plan(given, found.platform, found.poses, stations.measured, ())
    worth = f"<p>{escape(told(plan))}.</p>", planned(plan, given.legs)
    page = given.out / "report.html"
    files = *files, write_rotary(found, page, given.legs, stations.remarks, stations.poses, whole, worth, plan)
    print(found)
    spread = found.deviations.max(axis=0)
    for name, moved, left in zip(LEG_PARAMETERS, np.abs(found.corrections).max(axis=0), spread, strict=True):
        unit = "mrad" if name in ANGLES else "mm"
        print(f"  {name}: up to {1e3 * moved:.3g} {unit} off the drawing, standard deviation {1e3 * left:.2g} {unit}")
    print("written: " + ", ".join(str(path) for path in files))
    return _write_plan(given.out, plan)


def further_legs(sensors: PlatformSensors, names: Sequence[str] | None) -> dict[str, DisplacementSensor]:
    """Return legs beyond six by name: those that are named, else all of the platform's file."""
    there = {sensor.name: sensor for sensor in sensors.sensors if type(sensor) is DisplacementSensor}
    unknown = [name for name in names or () if name not in there]
    if unknown:
        raise InputError(
            f"--further: {listed(unknown)} are no sensors of kind length in the file; it has {listed(there) or 'none'}"
        )
    return {name: there[name] for name in names} if names else there


def _lengths(
    raw: np.ndarray, readings: LegReadings, sensors: PlatformSensors, further: Sequence[DisplacementSensor]
) -> np.ndarray:
    """Return lengths (k, n) of readings of six legs and further ones."""
    lengths = raw.copy()
    for row in lengths:
        readings.apply(row[:6], None, np.full(6, np.nan))
    for column, leg in enumerate(further, start=6):
        at = sensors.sensors.index(leg)
        lengths[:, column] = sensors.scales[at] * raw[:, column] + sensors.offsets[at]
    return lengths


def _numbers(topics: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Return legs by the topics on which they come as plain numbers; bags have names from the root."""
    if topics and len(topics) != len(names):
        raise InputError(f"--leg-topics: {len(topics)} topics, expected one for each of {listed(names)}")
    found: dict[str, str] = {}
    for topic, name in zip(topics, names, strict=False):
        at = f"/{topic.lstrip('/')}"
        if topic and at in found:
            raise InputError(f"--leg-topics: {listed((found[at], name))} both have the topic {at}, expected two")
        if topic:
            found[at] = name
    return found


def _distances(given: Sequence[Sequence[str]], legs: Sequence[str]) -> list[tuple[str, str, str, float]]:
    """Return distances as the library takes them, which counts the legs."""
    numbers = {leg: str(k) for k, leg in enumerate(legs, start=1)}
    found = []
    for side, first, second, metres in given:
        try:
            length = float(metres)
        except ValueError:
            raise InputError(f"--distance: a distance in metres is expected, got {metres!r}") from None
        found.append((side, numbers.get(first, first), numbers.get(second, second), length))
    return found


def parameters(platform: Path, legs: Sequence[str]) -> str:
    """Return parameters of the node `stewart_pose`, YAML."""
    import yaml

    values = {"platform": str(platform.absolute()), "legs": list(legs)}
    return yaml.safe_dump({"/**": {"stewart_pose": {"ros__parameters": values}}}, sort_keys=False)


def summary(found: MeasuredCalibration) -> str:
    """Return errors before and after, and what moved."""
    lines = ["errors of poses that were not used: drawing, calibrated"] if found.measured != "lengths" else []
    for what, unit, before, after in zip(("distance", "angle"), ("mm", "mrad"), *found.pose_errors(), strict=True):
        if before > 0.0:
            later = f"{1e3 * after:.4f} {unit}" if np.isfinite(after) else "too few poses to leave some out"
            lines.append(f"  {what}: {1e3 * before:.4f} {unit}, {later}")
    metric = 7 * len(found.offsets)
    worst, gain = (float(part.max(initial=0.0)) for part in (found.deviations[:metric], found.deviations[metric:]))
    least = f"{1e3 * worst:.3g} mm" if np.isfinite(worst) else "some cannot be determined"
    lines.append(f"largest standard deviation of a joint coordinate or offset: {least}")
    if len(found.deviations) > metric:
        told = f"{1e6 * gain:.3g} ppm" if np.isfinite(gain) else "some cannot be determined"
        lines.append(f"gains are {', '.join(f'{x:.6f}' for x in found.gains)}; largest standard deviation: {told}")
    return "\n".join(lines)


def _six(name: str, values: Sequence[float]) -> list[float]:
    if len(values) not in (1, 6) or not np.isfinite(values).all():
        raise InputError(f"--{name}: one finite number or six are expected, got {list(values)}")
    if name == "scale" and 0.0 in values:
        raise InputError("--scale: numbers other than zero are expected")
    return np.broadcast_to(np.array(values, dtype=float), 6).tolist()


def _plan(
    given: argparse.Namespace,
    platform: Platform,
    poses: np.ndarray | None,
    measured: str,
    further: Sequence[DisplacementSensor],
) -> PlannedPoses:
    sigma = np.repeat((given.rotation_sigma, given.position_sigma), 3)
    sigma[unmeasured(measured)] = np.inf
    if platform.home_pose is None and isinstance(platform, OffsetPlatform):
        raise InputError("--platform: a home_pose is expected")
    if isinstance(platform, StewartPlatform) and platform.home_pose is None:
        lengths = platform.leg_lengths(poses).mean(axis=0) if poses is not None else platform.leg_limits.mean(axis=1)
        if not np.isfinite(lengths).all():
            raise InputError("--platform: a home_pose, or leg_limits, are expected")
        platform = StewartPlatform(
            platform.base_points, platform.platform_points, platform.leg_limits,
            home_pose=level_home(platform, lengths), allow_singular=platform.allow_singular,
        )  # fmt: skip
    return poses_to_measure(
        platform, given.next, measured_poses=poses, length_sigma=given.length_sigma, pose_sigma=sigma,
        reach=given.reach, tilt=given.tilt, drawing_sigma=given.drawing_sigma,
        further=further, gains=given.gains,
    )  # fmt: skip


def _write_plan(folder: Path, plan: PlannedPoses) -> int:
    path = folder / "next_poses.yaml"
    write_file(path, plan.to_yaml())
    print(f"{told(plan)}: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
