"""Quality of service of every topic, in one place.

Each can be overridden with parameters, such as ``qos_overrides./joint_states.subscription.reliability``.
"""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions


def _latest(
    depth: int, reliability: ReliabilityPolicy, durability: DurabilityPolicy = DurabilityPolicy.VOLATILE
) -> QoSProfile:
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=depth, reliability=reliability, durability=durability)


STREAM_INPUT = _latest(4, ReliabilityPolicy.BEST_EFFORT)
"""Joint states, and commands to simulated robots: best effort matches every publisher.

A queue is shared by all publishers: in one for a single message, one would push out another's, such as the arm's
controller the gripper's.
"""

PARTS_INPUT = _latest(16, ReliabilityPolicy.BEST_EFFORT)
"""Lengths of legs, where each leg and further sensor may send a message of its own, all of them at once."""

SETPOINT_INPUT = _latest(10, ReliabilityPolicy.RELIABLE)
"""Set points and trajectories: each may be sent once, and none may be lost."""

EVENT_INPUT = _latest(10, ReliabilityPolicy.BEST_EFFORT)
"""Inputs of which several count, such as wrenches at different frames."""

REQUESTS = _latest(100, ReliabilityPolicy.RELIABLE)
"""Queues of an action, whose requests and results come in bursts: what a queue cannot hold is never answered."""

OUTPUT = _latest(1, ReliabilityPolicy.RELIABLE)

DESCRIPTION = _latest(1, ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL)
"""The robot description: late subscribers get the last one."""

TF = QoSProfile(depth=100)
"""As tf2 publishes and expects it."""

DIAGNOSTICS = QoSProfile(depth=10)


def overridable() -> QoSOverridingOptions:
    """Let the user override history, depth and reliability of a topic with parameters."""
    return QoSOverridingOptions.with_default_policies()
