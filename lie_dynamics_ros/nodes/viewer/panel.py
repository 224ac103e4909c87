"""The texts, tables and bars beside the scene, as HTML in which all that comes from elsewhere is escaped."""

from __future__ import annotations

import html
import math

import numpy as np

from ...lie_dynamics.lie import so3
from ...lie_dynamics.texts import shortened
from .picture import BAD, DOUBTFUL, GOOD, ContactView, Effort, Picture, PlatformView, ReportView

COLORS = {GOOD: "#2b8a3e", DOUBTFUL: "#e67700", BAD: "#c92a2a"}
FADED = "#868e96"
MOST_ROWS = 60
"""Joints in the table of efforts."""
LONGEST_REPORT = 240
"""Characters of what a node says that are shown."""
_STYLE = "font: 12px/1.5 system-ui, sans-serif; padding: 0 0.8em; overflow-wrap: anywhere"


def text(words: str) -> str:
    """Return a text from elsewhere, short, and safe in HTML."""
    return html.escape(shortened(words))


def state_of(picture: Picture, waiting: str) -> str:
    """Return what is shown, and what of it is stale; ``waiting`` says what is waited for without a robot."""
    robot = picture.robot
    if robot is None:
        return _block(f"<i>{html.escape(waiting)}</i>")
    lines = [f"<b>{text(robot.model.name)}</b>, {robot.model.nv} joints"]
    if picture.age is None:
        lines.append(_mark(DOUBTFUL, "no joint states yet"))
    elif picture.stale:
        lines.append(_mark(BAD, f"stale: no joint states for {picture.age:.0f} s"))
    elif picture.unknown:
        more = ", ..." if len(picture.unknown) > 5 else ""
        lines.append(_mark(DOUBTFUL, f"not heard of: {', '.join(map(text, picture.unknown[:5]))}{more}"))
    else:
        lines.append(_mark(GOOD, "live"))
    lines += [_mark(DOUBTFUL, text(problem)) for problem in robot.problems[:3]]
    return _block("<br>".join(lines))


def bars(efforts: tuple[Effort, ...], source: str) -> str:
    """Return a bar for each joint, from the middle to its limits; without a limit, as a share of the largest effort."""
    if not efforts:
        return _block("<i>no efforts are heard</i>")
    largest = max((abs(e.value) for e in efforts if e.value is not None), default=0.0) or 1.0
    rows = [_bar(effort, largest) for effort in efforts[:MOST_ROWS]]
    if len(efforts) > MOST_ROWS:
        rows.append(f"<tr><td>... and {len(efforts) - MOST_ROWS} more</td></tr>")
    return _block(f"from {html.escape(source)}<table style='width:100%'>{''.join(rows)}</table>")


def _bar(effort: Effort, largest: float) -> str:
    value, name = effort.value, f"<td>{text(effort.joint)}</td>"
    if value is None:
        return f"<tr>{name}<td colspan=2 style='color:{FADED}'>stale</td></tr>"
    limited = math.isfinite(effort.limit) and effort.limit > 0.0
    share = min(1.0, abs(value) / (effort.limit if limited else largest))
    color = FADED if not limited else COLORS[GOOD if share < 0.8 else DOUBTFUL if share < 1.0 else BAD]
    side = f"left:{50.0 - 50.0 * share:.1f}%" if value < 0.0 else "left:50%"
    inner = f"<div style='position:absolute;top:0;bottom:0;{side};width:{50.0 * share:.1f}%;background:{color}'></div>"
    middle = "linear-gradient(#495057,#495057) 50%/1px 100% no-repeat #dee2e6"
    frame = f"position:relative;height:0.9em;width:7em;background:{middle}"
    of = f" of {effort.limit:.4g}" if limited else ""
    return f"<tr>{name}<td><div style='{frame}'>{inner}</div></td><td>{value:+.4g}{of} {effort.unit}</td></tr>"


def platform(view: PlatformView | None, scale: float) -> str:
    """Return pose and standard deviations of the Stewart platform."""
    if view is None:
        return _block("<i>no pose of a Stewart platform is heard</i>")
    place = ", ".join(f"{1e3 * x:.2f}" for x in view.pose[:3, 3])
    turn = ", ".join(f"{np.degrees(a):.2f}" for a in so3.to_rpy(view.pose[:3, :3]))
    sigma = ", ".join(f"{1e3 * x:.3g}" for x in view.deviations)
    lines = [f"position {place} mm", f"roll, pitch, yaw {turn} deg", f"one sigma {sigma} mm, drawn {scale:g} times"]
    if view.stale:
        lines.append(_mark(BAD, "stale"))
    elif view.word:
        lines.append(_mark(view.level, text(view.word)))
    return _block("<br>".join(lines))


def contact(view: ContactView | None) -> str:
    """Return whether something touches, and how hard."""
    if view is None:
        return _block("<i>no contacts are told</i>")
    lines = []
    if view.touching is not None:
        lines.append(_mark(DOUBTFUL, "touching") if view.touching else _mark(GOOD, "not touching"))
    if view.frame:
        unknown = "" if view.arrow is not None else ", which is no frame of the robot"
        lines.append(f"{view.force:.3g} N at {text(view.frame)}{unknown}")
    return _block("<br>".join(lines))


def reports(views: tuple[ReportView, ...]) -> str:
    """Return the last report of each node."""
    if not views:
        return _block("<i>no diagnostics are heard</i>")
    return _block("<br>".join(_mark(FADED if v.stale else v.level, _report(v)) for v in views))


def _report(view: ReportView) -> str:
    said = " ".join(view.message.split())
    cut = said if len(said) <= LONGEST_REPORT else f"{said[:LONGEST_REPORT]}..."
    return f"<b>{text(view.name)}</b> {'stale' if view.stale else html.escape(cut)}"


def _mark(level: int | str, inner: str) -> str:
    color = level if isinstance(level, str) else COLORS[level]
    return f"<span style='color:{color}'>&#9679;</span> {inner}"


def _block(inner: str) -> str:
    return f"<div style='{_STYLE}'>{inner}</div>"
