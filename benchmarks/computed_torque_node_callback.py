"""Node computed_torque: time in the callback beyond that of a bare relay.

As node_callback; commands and efforts are published for each state, only the efforts are listened to.
"""

from __future__ import annotations

from typing import Any

from lie_dynamics_ros.nodes.computed_torque.node import ComputedTorqueNode

from .node_callback import measure
from .results import Figure
from .subjects import COMPUTED_TORQUE


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the medians of all turns."""
    return measure(COMPUTED_TORQUE, ComputedTorqueNode)
