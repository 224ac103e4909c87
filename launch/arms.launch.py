"""Start computed_torque for each arm of one robot, in a namespace of its own; without hardware simulated_robot too."""

from lie_dynamics_ros.ros.launch_files import Part, launch_description


def generate_launch_description():
    return launch_description(
        Part(
            "simulated_robot",
            ("robot_description", "joint_prefix", "rate", "publish_clock"),
            {"mode": "dynamics"},
            when="simulated",
            each="arms",
            shared=True,
        ),
        Part("computed_torque", ("mode", "joint_prefix", "frame_prefix", "carrying_joints"), each="arms"),
        simulated="true",
        arms="left=left_panda_link0 right=right_panda_link0",
        robot_description="package://lie_dynamics_ros/urdf/two_pandas.urdf",
        rate="1000.0",
    )
