"""Response times: a histogram, late answers, the longest."""

from __future__ import annotations

from bisect import bisect_left

from ...core.setting import Setting
from . import diagnostics
from .diagnostics import Report

DEADLINE = Setting(
    "deadline",
    0.001,
    "Answers that take longer are counted as late, in the diagnostics alone [s].",
    low=1e-6,
    high=3600.0,
)

EDGES = (50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 50e-3, 100e-3)
"""Upper ends of the bins of the histogram [s]; one more holds what is longer."""


class ResponseTimes:
    """Response times of a node since it was activated.

    Attributes
    ----------
    deadline : float
        Longest time that counts as in time [s].
    late : int
        How many were longer.
    longest : float
        [s].
    """

    def __init__(self) -> None:
        self.deadline = DEADLINE.default
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self._counts = [0] * (len(EDGES) + 1)
        self.late = 0
        self.longest = self._recent = 0.0

    def add(self, duration: float) -> None:
        """Take in one response time [s]."""
        self._counts[bisect_left(EDGES, duration)] += 1
        if duration > self.deadline:
            self.late += 1
        if duration > self._recent:
            self._recent = duration

    def describe(self, report: Report, timeout: float) -> None:
        """Write all of it into a diagnostic report; one since the last report beyond ``timeout`` [s] is an error."""
        recent, self._recent = self._recent, 0.0
        self.longest = max(self.longest, recent)
        values = report.values
        names = [f"<= {1e6 * edge:g} us" for edge in EDGES] + ["longer"]
        filled = [f"{name}: {count}" for name, count in zip(names, self._counts, strict=True) if count]
        values["response times"] = ", ".join(filled) or "none"
        values["answers later than deadline"] = self.late
        values["longest response [us]"] = f"{1e6 * self.longest:.0f}"
        if timeout and recent > timeout:
            report.add(
                diagnostics.ERROR, f"an answer took {recent:.3f} s, more than state_timeout, which is {timeout:g} s"
            )
