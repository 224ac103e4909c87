"""Node hybrid_dynamics: resident memory over 100,000 joint states."""

from __future__ import annotations

from typing import Any

from .node_memory import measure
from .results import Figure
from .subjects import HYBRID_DYNAMICS


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the memory after each tenth of the states."""
    return measure(HYBRID_DYNAMICS)
