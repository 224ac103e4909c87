"""Start the node stewart_command beside a driver that publishes leg lengths and obeys set points of the legs."""

from lie_dynamics_ros.ros.launch.launch_arguments import whole
from lie_dynamics_ros.ros.launch.launch_files import launch_description


def generate_launch_description():
    return launch_description(whole("stewart_command"))
