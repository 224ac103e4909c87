"""Start the node viewer, whose page shows robot, efforts, Stewart platform, contacts and diagnostics."""

from lie_dynamics_ros.ros.launch_files import launch_description, whole


def generate_launch_description():
    return launch_description(whole("viewer"))
