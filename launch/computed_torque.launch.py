"""Start the node computed_torque beside a driver that takes efforts; the robot comes from robot_description."""

from lie_dynamics_ros.ros.launch_files import launch_description, whole


def generate_launch_description():
    return launch_description(whole("computed_torque"), commands="effort_controller/commands")
