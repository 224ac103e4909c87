"""Node hybrid_dynamics: time in the callback beyond that of a bare relay.

As node_callback; two messages are published for each state, only the accelerations are listened to.
"""

from __future__ import annotations

from typing import Any

from lie_dynamics_ros.nodes.hybrid_dynamics.node import HybridDynamicsNode

from .node_callback import measure
from .results import Figure
from .subjects import HYBRID_DYNAMICS


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the medians of all turns."""
    return measure(HYBRID_DYNAMICS, HybridDynamicsNode)
