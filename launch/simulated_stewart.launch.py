"""Start the node simulated_stewart, which stands in for the driver of a Stewart platform."""

from lie_dynamics_ros.ros.launch_files import launch_description, whole


def generate_launch_description():
    return launch_description(whole("simulated_stewart"))
