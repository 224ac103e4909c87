"""Node stewart_pose: time in the callback beyond that of a bare relay.

As node_callback; covariance and twist are computed for each message, only the pose is listened to.
"""

from __future__ import annotations

from typing import Any

from lie_dynamics_ros.nodes.stewart_pose.node import StewartPoseNode

from .node_callback import measure
from .results import Figure
from .subjects import STEWART_POSE


def run() -> tuple[list[Figure], Any]:
    """Measure; returns figures and the medians of all turns."""
    return measure(STEWART_POSE, StewartPoseNode)
