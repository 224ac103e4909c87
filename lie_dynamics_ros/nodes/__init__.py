"""ROS 2 nodes, a folder each: the node with its entry point in `node`, what it computes in `core`, without ROS."""

from ..core import end_quietly_while_importing

PROGRAMS = (
    "closed_loop",
    "computed_torque",
    "contact",
    "hybrid_dynamics",
    "inverse_dynamics",
    "simulated_robot",
    "simulated_stewart",
    "stewart_command",
    "stewart_pose",
    "together",
    "tool_wrench",
    "viewer",
)

end_quietly_while_importing(PROGRAMS)
