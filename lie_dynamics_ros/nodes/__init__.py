"""ROS 2 nodes; each module holds one node and its entry point."""

from ..ros.signals import end_quietly_while_importing

PROGRAMS = (
    "computed_torque",
    "hybrid_dynamics",
    "inverse_dynamics",
    "simulated_robot",
    "simulated_stewart",
    "stewart_pose",
    "together",
)

end_quietly_while_importing(PROGRAMS)
