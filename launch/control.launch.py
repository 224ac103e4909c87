"""Start a simulated arm that obeys efforts, and computed_torque, which makes it follow trajectories."""

from lie_dynamics_ros.ros.launch_files import Part, launch_description


def generate_launch_description():
    return launch_description(
        # computed_torque takes the robot from the topic robot_description, as beside a real driver.
        Part(
            "simulated_robot",
            ("robot_description", "joint_prefix", "rate", "publish_clock", "commands"),
            {"mode": "dynamics"},
        ),
        Part("computed_torque", ("commands", "mode", "joint_prefix", "frame_prefix")),
        commands="simulated_robot/commands",
        rate="1000.0",
    )
