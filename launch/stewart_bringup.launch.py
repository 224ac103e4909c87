"""Start the nodes simulated_stewart and stewart_pose together: leg lengths in, poses out, without hardware."""

from lie_dynamics_ros.ros.launch_files import Part, launch_description

SHARED = ("platform", "base_frame", "platform_frame", "joint_prefix", "frame_prefix", "joint_states")


def generate_launch_description():
    return launch_description(
        Part("simulated_stewart", (*SHARED, "rate", "length_noise", "commands")),
        Part("stewart_pose", SHARED),
        namespace="stewart",
    )
