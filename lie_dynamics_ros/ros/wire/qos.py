"""Quality of service of every topic, in one place.

Each can be overridden with parameters, such as ``qos_overrides./joint_states.subscription.reliability``.
"""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

STREAM_INPUT = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=4,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
)
"""Joint states, and commands to simulated robots: best effort matches every publisher.

A queue is shared by all publishers: in one for a single message, one would push out another's, such as the arm's
controller the gripper's.
"""

SETPOINT_INPUT = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=10,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
)
"""Set points and trajectories: each may be sent once, and none may be lost."""

EVENT_INPUT = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=10,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
)
"""Inputs of which several count, such as wrenches at different frames."""

OUTPUT = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
)

DESCRIPTION = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
"""The robot description: late subscribers get the last one."""

TF = QoSProfile(depth=100)
"""As tf2 publishes and expects it."""

DIAGNOSTICS = QoSProfile(depth=10)


def overridable() -> QoSOverridingOptions:
    """Let the user override history, depth and reliability of a topic with parameters."""
    return QoSOverridingOptions.with_default_policies()
