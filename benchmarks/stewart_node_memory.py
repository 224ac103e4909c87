"""Node stewart_pose: resident memory over 100,000 sets of leg lengths."""

from __future__ import annotations

from typing import Any

from .node_memory import measure
from .results import Figure
from .subjects import STEWART_POSE


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the memory after each tenth of the states."""
    return measure(STEWART_POSE)
