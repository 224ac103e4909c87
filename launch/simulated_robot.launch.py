"""Start the node simulated_robot, which stands in for a driver."""

from lie_dynamics_ros.ros.launch_files import launch_description, whole


def generate_launch_description():
    return launch_description(whole("simulated_robot"), accelerations="inverse_dynamics/joint_trajectory_point")
