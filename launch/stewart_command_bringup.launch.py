"""Start stewart_command, simulated_stewart with actuators, stewart_pose: targets in, poses out, without hardware."""

from lie_dynamics_ros.ros.launch_files import Part, launch_description

SHARED = ("platform", "base_frame", "platform_frame", "joint_prefix", "frame_prefix", "joint_states")
LEGS = {"leg_commands": "stewart_command/leg_commands"}


def generate_launch_description():
    return launch_description(
        Part("simulated_stewart", (*SHARED, "rate", "length_noise"), {"mode": "actuators", **LEGS}),
        Part("stewart_command", SHARED),
        Part("stewart_pose", SHARED),
        namespace="stewart",
    )
