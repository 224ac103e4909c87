"""Start the node stewart_pose beside a driver that publishes leg lengths as joint_states."""

from lie_dynamics_ros.ros.launch_files import launch_description, whole


def generate_launch_description():
    return launch_description(whole("stewart_pose"))
