"""What the messages of a run speak of."""

from __future__ import annotations

from sensor_msgs.msg import JointState

ARM = "package://lie_dynamics_ros/urdf/panda_arm.urdf"

OTHER = """
<robot name="other">
  <link name="base"/>
  <link name="rod">
    <inertial>
      <origin xyz="0 0 -0.5"/><mass value="2"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.01"/>
    </inertial>
  </link>
  <joint name="swing" type="revolute">
    <parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="5" effort="50"/>
  </joint>
</robot>
"""
"""Another robot than the arm, for the topic of descriptions."""


def leg_lengths() -> JointState:
    """Leg lengths of the reference platform in a pose that the solvers know [m], at rest."""
    lengths = [0.5585583542, 0.6253130024, 0.5274363698, 0.5514569326, 0.4479721341, 0.5199103155]
    return JointState(name=[f"leg_{i}" for i in range(1, 7)], position=lengths, velocity=[0.0] * 6)


def arm_state(value: float) -> JointState:
    """A state of the arm at rest with its last joint at this position [rad]."""
    names = [f"panda_joint{i}" for i in range(1, 8)]
    return JointState(name=names, position=[0.0, 0.0, 0.0, -1.5, 0.0, 1.5, value], velocity=[0.0] * 7)
