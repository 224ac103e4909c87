"""What else stood still while answers were missing: the machine, or the driver."""

from __future__ import annotations

from collections.abc import Sequence

Span = tuple[int, int]
"""Begin and end [ns]."""


def overlap(spans: Sequence[Span], begin: int, end: int) -> float:
    """Return for how long any of the spans lay between two times [s]."""
    covered, reached = 0, begin
    for a, b in sorted(spans):
        a, b = max(a, reached), min(b, end)
        if b > a:
            covered, reached = covered + b - a, b
    return covered * 1e-9


def cause(begin: int, end: int, stalls: Sequence[tuple[int, int, int]], driver: Sequence[Span]) -> str:
    """Tell what lay between two times [ns]: stalls of processors, as seen on each, and silences of the driver."""
    found = []
    for processor in sorted({p for p, *_ in stalls}):
        stood = overlap([(a, b) for p, a, b in stalls if p == processor], begin, end)
        if stood > 0.0:
            found.append(f"processor {processor} stood still for {stood:.3f} s")
    silent = overlap(driver, begin, end)
    if silent > 0.0:
        found.append(f"the driver was silent for {silent:.3f} s")
    return "; ".join(found) or "neither the machine nor the driver stood still"
