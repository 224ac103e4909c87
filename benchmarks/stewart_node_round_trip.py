"""Node stewart_pose: round trip of leg lengths at 1 kHz, against a bare relay.

As node_round_trip; the relay takes joint states, too, and answers with poses with covariance.
"""

from __future__ import annotations

from typing import Any

from .node_round_trip import measure
from .results import Figure
from .subjects import STEWART_POSE


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the percentiles of every turn."""
    return measure(STEWART_POSE)
