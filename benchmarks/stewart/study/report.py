"""The study as markdown: paper, ours and verdict side by side."""

from __future__ import annotations

from collections.abc import Sequence

from lie_dynamics_ros.lie_dynamics.stewart.solvers.forward_kinematics import METHODS

from .basins import GUESSES, PATH_STEPS, BasinResult
from .designs import DesignResult
from .tables import Row

_NAMES = {"r6": "R6", "quat": "Quat", "se3": "SE3"}


def name_of(method: str) -> str:
    """Name of a solver as the paper writes it."""
    if method == "auto":
        return "auto"
    algorithm, space = method.split("-")
    return f"{algorithm.upper()}-{_NAMES[space]}"


def _cells(values: Sequence[int]) -> str:
    return ", ".join(str(value) for value in values)


def tables_markdown(rows: list[Row]) -> str:
    """Tables 2 and 3: percent that converge to the true pose, states 1 to 5."""
    lines = []
    for number, kind in ((2, "gn"), (3, "lm")):
        lines += [f"Table {number}: percent of 50 settings that converge to the true pose, states 1 to 5", ""]
        lines += ["| method | paper | ours | verdict |", "|---|---|---|---|"]
        for row in rows:
            if row.method.startswith(kind):
                cells = f"{_cells(row.printed)} | {_cells(row.percent)} | {row.verdict}"
                lines.append(f"| {name_of(row.method)} | {cells} |")
        lines.append("")
    return "\n".join(lines)


def readings_markdown(rows: list[Row]) -> str:
    """Rows in other readings of the paper."""
    lines = ["Other readings of the same algorithms", ""]
    lines += ["| method | reading | paper | ours | verdict |", "|---|---|---|---|---|"]
    for row in rows:
        cells = f"{_cells(row.printed)} | {_cells(row.percent)} | {row.verdict}"
        lines.append(f"| {name_of(row.method)} | {row.reading} | {cells} |")
    return "\n".join([*lines, ""])


def basins_markdown(result: BasinResult) -> str:
    """Random targets: percent that end in the true pose, and in any pose with the given lengths."""
    worst = max(result.margin(percent) for percent in result.to_true.values())
    lines = [
        f"{result.targets} random targets: percent that reach the true pose (in brackets: any pose with these "
        f"lengths); 95 % intervals within {worst:.1f} points",
        "",
        f"| method | {' | '.join(f'guess: {kind}' for kind in GUESSES)} |",
        f"|---|{'---|' * len(GUESSES)}",
    ]
    for method in METHODS:
        cells = [f"{result.to_true[method, kind]:.1f} ({result.to_any[method, kind]:.1f})" for kind in GUESSES]
        lines.append(f"| {name_of(method)} | {' | '.join(cells)} |")
    lines += [
        "",
        f"No guess, lengths followed from the home pose in {PATH_STEPS} steps: {result.path_to_true:.1f} percent reach "
        "the true pose.",
        f"No guess, `StewartTracker` from the home pose: {result.tracker_to_true:.1f} percent, "
        f"{result.tracker_refused:.1f} percent refused.",
    ]
    return "\n".join([*lines, ""])


def designs_markdown(results: Sequence[DesignResult], targets: int) -> str:
    """Designs beside solvers: percent that reach the true pose, in brackets iterations where a pose was found."""
    lines = [
        f"Designs: percent of {targets} random targets that reach the true pose from a guess within twice the targets' "
        "region (mean iterations of those that end in a pose). Condition numbers at home, with the platform's radius "
        "as characteristic length. Best: within two points of the best.",
        "",
        f"| design | condition | {' | '.join(map(name_of, METHODS))} | best |",
        f"|---|---|{'---|' * (len(METHODS) + 1)}",
    ]
    for one in results:
        cells = " | ".join(f"{one.to_true[method]:.1f} ({one.iterations[method]:.1f})" for method in METHODS)
        lines.append(f"| {one.name} | {one.condition:.1f} | {cells} | {', '.join(map(name_of, one.best))} |")
    return "\n".join([*lines, ""])
