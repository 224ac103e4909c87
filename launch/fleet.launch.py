"""Start computed_torque for each robot of a fleet, in a namespace of its own; without hardware simulated_robot too."""

from lie_dynamics_ros.ros.launch_files import Part, launch_description


def generate_launch_description():
    return launch_description(
        Part(
            "simulated_robot",
            ("robot_description", "joint_prefix", "rate"),
            {"mode": "dynamics"},
            when="simulated",
            each="robots",
        ),
        Part("computed_torque", ("mode", "joint_prefix", "frame_prefix"), each="robots"),
        simulated="true",
        robots="robot1 robot2 robot3",
        rate="1000.0",
    )
