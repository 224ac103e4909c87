"""What else stood still while answers were missing: the machine, the link, or the driver."""

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


def cause(
    begin: int, end: int, stalls: Sequence[tuple[int, int, int]], link: Sequence[Span], driver: Sequence[Span]
) -> str:
    """Tell what lay between two times [ns]: stalls of processors, silences of the link, and of the driver."""
    found = []
    for processor in sorted({p for p, *_ in stalls}):
        stood = overlap([(a, b) for p, a, b in stalls if p == processor], begin, end)
        if stood > 0.0:
            found.append(f"processor {processor} stood still for {stood:.3f} s")
    for what, spans in (("nothing passed the link", link), ("no state of the driver came", driver)):
        silent = overlap(spans, begin, end)
        if silent > 0.0:
            found.append(f"{what} for {silent:.3f} s")
    return "; ".join(found) or "neither machine nor link nor driver stood still"
