"""Start an arm without hardware: simulated_robot and inverse_dynamics, if wanted with hybrid_dynamics beside them."""

from lie_dynamics_ros.ros.launch_files import Part, launch_description

ACCELERATIONS = "inverse_dynamics/joint_trajectory_point"


def generate_launch_description():
    return launch_description(
        # The others take the robot from the topic robot_description, as beside a real driver.
        Part(
            "simulated_robot",
            ("robot_description", "joint_prefix", "rate", "publish_clock", "commands"),
            {"accelerations": ACCELERATIONS},
        ),
        Part("inverse_dynamics", ("commands", "joint_prefix", "frame_prefix")),
        Part("hybrid_dynamics", ("joint_prefix", "frame_prefix"), when="hybrid_dynamics"),
    )
