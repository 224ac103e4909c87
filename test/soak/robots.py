"""What the messages of a run speak of."""

from __future__ import annotations

from node_robots import ARM_JOINTS, pendulum
from sensor_msgs.msg import JointState

ARM = "package://lie_dynamics_ros/urdf/panda_arm.urdf"

OTHER = pendulum(effort=50.0)
"""Another robot than the arm, for the topic of descriptions."""


def leg_lengths() -> JointState:
    """Leg lengths of the reference platform in a pose that the solvers know [m], at rest."""
    lengths = [0.5585583542, 0.6253130024, 0.5274363698, 0.5514569326, 0.4479721341, 0.5199103155]
    return JointState(name=[f"leg_{i}" for i in range(1, 7)], position=lengths, velocity=[0.0] * 6)


def arm_state(value: float) -> JointState:
    """A state of the arm at rest with its last joint at this position [rad]."""
    return JointState(name=list(ARM_JOINTS), position=[0.0, 0.0, 0.0, -1.5, 0.0, 1.5, value], velocity=[0.0] * 7)
