"""Start the node stewart_command beside a driver that publishes leg lengths and obeys set points of the legs."""

from lie_dynamics_ros.ros.launch_files import launch_description, whole


def generate_launch_description():
    return launch_description(whole("stewart_command"))
