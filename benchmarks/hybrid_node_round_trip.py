"""Node hybrid_dynamics: round trip of a joint state at 1 kHz, against a bare relay.

As node_round_trip; the relay answers with accelerations, too, and the node with efforts besides.
"""

from __future__ import annotations

from typing import Any

from .node_round_trip import measure
from .results import Figure
from .subjects import HYBRID_DYNAMICS


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the percentiles of every turn."""
    return measure(HYBRID_DYNAMICS)
