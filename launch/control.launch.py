"""Start a simulated arm that obeys efforts, and computed_torque, which makes it follow trajectories."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare


def include(name, **arguments):
    path = PathJoinSubstitution([FindPackageShare("lie_dynamics_ros"), "launch", f"{name}.launch.py"])
    # A group keeps the arguments of one from reaching the other.
    return GroupAction([IncludeLaunchDescription(path, launch_arguments=arguments.items())])


def generate_launch_description():
    namespace, robot, rate, mode = (LaunchConfiguration(name) for name in ("namespace", "robot", "rate", "mode"))
    return LaunchDescription(
        [
            DeclareLaunchArgument("namespace", default_value="", description="Namespace of the robot."),
            DeclareLaunchArgument(
                "robot",
                default_value="",
                description="URDF text, file path, file:// or package:// URI; empty: the package's own 7-joint arm.",
            ),
            DeclareLaunchArgument("rate", default_value="1000.0", description="Joint states per second [Hz]."),
            DeclareLaunchArgument("mode", default_value="", description="Of computed_torque; empty: as in its file."),
            include("simulated_robot", namespace=namespace, robot_description=robot, rate=rate, mode="dynamics"),
            include("computed_torque", namespace=namespace, commands="simulated_robot/commands", mode=mode),
        ]
    )
