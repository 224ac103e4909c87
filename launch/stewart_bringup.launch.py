"""Start the nodes simulated_stewart and stewart_pose together: leg lengths in, poses out, without hardware."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare


def include(name, **arguments):
    path = PathJoinSubstitution([FindPackageShare("lie_dynamics_ros"), "launch", f"{name}.launch.py"])
    # A group keeps the arguments of one from reaching the other.
    return GroupAction([IncludeLaunchDescription(path, launch_arguments=arguments.items())])


def generate_launch_description():
    shared = {name: LaunchConfiguration(name) for name in ("namespace", "platform", "base_frame")}
    simulated = {name: LaunchConfiguration(name) for name in ("rate", "length_noise")}
    return LaunchDescription(
        [
            DeclareLaunchArgument("namespace", default_value="stewart", description="Namespace of the platform."),
            DeclareLaunchArgument(
                "platform",
                default_value="",
                description="Geometry: YAML text, file path, file:// or package:// URI; empty: the reference platform.",
            ),
            DeclareLaunchArgument("base_frame", default_value="", description="Base frame; empty: stewart_base."),
            DeclareLaunchArgument("rate", default_value="", description="Joint states per second [Hz]; empty: 500."),
            DeclareLaunchArgument(
                "length_noise", default_value="", description="Noise of the leg lengths [m]; empty: 1e-5."
            ),
            include("simulated_stewart", **shared, **simulated),
            include("stewart_pose", **shared),
        ]
    )
