"""Start the node hybrid_dynamics beside a driver that publishes joint_states and robot_description."""

from lie_dynamics_ros.ros.launch_files import launch_description, whole


def generate_launch_description():
    return launch_description(whole("hybrid_dynamics"))
