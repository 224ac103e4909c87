"""Node computed_torque: round trip of a joint state at 1 kHz, against a bare relay.

As node_round_trip; the node answers with commands, besides the efforts that are timed.
"""

from __future__ import annotations

from typing import Any

from .node_round_trip import measure
from .results import Figure
from .subjects import COMPUTED_TORQUE


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the percentiles of every turn."""
    return measure(COMPUTED_TORQUE, ratio=None, core=25.0)
