"""Runs of the paper's experiment: each solver from each state with fifty settings, and the verdict on each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lie_dynamics_ros.lie_dynamics.stewart.geometry.any_platform import reference_platform
from lie_dynamics_ros.lie_dynamics.stewart.solvers.forward_kinematics import solve_forward_kinematics

from . import paper

Note = Callable[[str], None]
CLOSE = 4


@dataclass(frozen=True)
class Row:
    """Runs of one method in one reading.

    Attributes
    ----------
    method : name of the solver. reading : how it departs from the default reading, "" if not.
    iterations : (5, 50), states by settings.
    to_true, to_branch : (5, 50), where the run ended.
    """

    method: str
    reading: str
    iterations: npt.NDArray[np.int64]
    to_true: npt.NDArray[np.bool_]
    to_branch: npt.NDArray[np.bool_]

    @property
    def percent(self) -> tuple[int, ...]:
        """Percentages that reach the true pose, states 1 to 5."""
        return tuple(round(100.0 * float(share)) for share in self.to_true.mean(axis=1))

    @property
    def printed(self) -> tuple[int, ...]:
        """The paper's percentages for this method."""
        return (paper.TABLE_2 | paper.TABLE_3)[self.method]

    @property
    def verdict(self) -> str:
        """Say in words how ours and the paper's compare."""
        gaps = [abs(ours - theirs) for ours, theirs in zip(self.percent, self.printed, strict=True)]
        if not any(gaps):
            return "exact in all five states"
        same = [str(state) for state, gap in enumerate(gaps, start=1) if gap == 0]
        never = [0 in pair for pair in zip(self.percent, self.printed, strict=True)]  # is no near miss of sometimes
        near = [0 < gap <= CLOSE and not one for gap, one in zip(gaps, never, strict=True)]
        close = [str(state) for state, one in enumerate(near, start=1) if one]
        off = [str(state) for state, gap in enumerate(gaps, start=1) if gap and not near[state - 1]]
        parts = [f"exact in {', '.join(same)}"] if same else []
        parts += [f"within {CLOSE} points in {', '.join(close)}"] if close else []
        parts += [f"not reproduced in {', '.join(off)}"] if off else []
        return "; ".join(parts)


#: Readings run beside the default one: method, name, options.
OTHER_READINGS: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    ("gn-r6", "strict descent, as in (27)", {"accept": "strict"}),
    ("gn-r6", "residuals of lengths, not squares", {"residual": "length"}),
    ("gn-quat", "homogeneous rotation matrix", {"rotation": "homogeneous"}),
    ("gn-quat", "residuals of lengths, not squares", {"residual": "length"}),
    ("gn-se3", "simple descent", {"accept": "decrease"}),
    ("gn-se3", "no test, the factor is always taken", {"accept": "always"}),
    ("gn-se3", "factor alpha^m instead of repeated squares", {"shrink": "power"}),
    ("gn-se3", "A1 lines 12, 13 in the printed order", {"order": "test then square"}),
    ("gn-se3", "residuals of lengths, not squares", {"residual": "length"}),
    ("lm-r6", "residuals of lengths, not squares", {"residual": "length"}),
    ("lm-r6", "lengths in metres", {"length_unit": 1.0}),
    ("lm-quat", "homogeneous rotation matrix", {"rotation": "homogeneous"}),
    ("lm-quat", "homogeneous, norm equation times 1e4", {"rotation": "homogeneous", "weight": 1e4}),
    ("lm-quat", "residuals of lengths, not squares", {"residual": "length"}),
    ("lm-se3", "body screw, as printed in A2", {"screw": "body"}),
    ("lm-se3", "residuals of lengths, not squares", {"residual": "length"}),
)


def run_row(method: str, reading: str = "", note: Note = lambda text: None, **options: Any) -> Row:
    """Run one method from the five states with its fifty settings; ``note`` hears of each state done."""
    platform = reference_platform()
    lengths = platform.leg_lengths(paper.TRUE_POSE)
    grid: dict[str, Any] = {"alpha": paper.STEP_FACTORS} if method.startswith("gn") else {"tau": paper.DAMPING_RATIOS}
    guesses = np.repeat(np.stack(paper.STATES)[:, None], len(paper.STEP_FACTORS), axis=1)
    result = solve_forward_kinematics(platform, lengths, guesses, method, **grid, **options)
    for number in range(1, len(paper.STATES) + 1):
        note(f"{method.upper()} from state {number}{': ' if reading else ''}{reading}")
    to_branch = paper.near(result.pose, paper.BRANCH_POSE, *paper.BRANCH_TOLERANCES)
    return Row(method, reading, result.iterations, paper.near(result.pose, paper.TRUE_POSE), to_branch)


def run_tables(note: Note = lambda text: None) -> list[Row]:
    """Run the six rows of Tables 2 and 3 in the default reading."""
    return [run_row(method, note=note) for method in (*paper.TABLE_2, *paper.TABLE_3)]


def run_other_readings(note: Note = lambda text: None) -> list[Row]:
    """Run the rows of `OTHER_READINGS`."""
    return [run_row(method, reading, note, **options) for method, reading, options in OTHER_READINGS]


def count_steps(readings: bool) -> int:
    """Return the number of calls of ``note`` by `run_tables`, and with ``readings`` by `run_other_readings` too."""
    rows = len(paper.TABLE_2) + len(paper.TABLE_3) + (len(OTHER_READINGS) if readings else 0)
    return rows * len(paper.STATES)
