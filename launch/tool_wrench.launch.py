"""Start the node tool_wrench beside a driver that publishes joint_states and robot_description, and a sensor."""

from lie_dynamics_ros.ros.launch_files import launch_description, whole


def generate_launch_description():
    return launch_description(whole("tool_wrench"))
