"""Start an arm without hardware: simulated_robot and inverse_dynamics, if wanted with hybrid_dynamics beside them."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare


def include(name, condition=None, **arguments):
    path = PathJoinSubstitution([FindPackageShare("lie_dynamics_ros"), "launch", f"{name}.launch.py"])
    # A group keeps the arguments of one from reaching the other.
    return GroupAction([IncludeLaunchDescription(path, launch_arguments=arguments.items())], condition=condition)


def generate_launch_description():
    namespace, robot, rate = (LaunchConfiguration(name) for name in ("namespace", "robot", "rate"))
    return LaunchDescription(
        [
            DeclareLaunchArgument("namespace", default_value="", description="Namespace of the robot."),
            DeclareLaunchArgument(
                "robot",
                default_value="",
                description="URDF text, file path, file:// or package:// URI; empty: the package's own 7-joint arm.",
            ),
            DeclareLaunchArgument("rate", default_value="", description="Joint states per second [Hz]; empty: 500."),
            DeclareLaunchArgument(
                "hybrid_dynamics", default_value="false", description="Start hybrid_dynamics too: true or false."
            ),
            include("simulated_robot", namespace=namespace, robot_description=robot, rate=rate),
            # The description arrives on the topic, as it does beside a real driver.
            include("inverse_dynamics", namespace=namespace),
            include("hybrid_dynamics", IfCondition(LaunchConfiguration("hybrid_dynamics")), namespace=namespace),
        ]
    )
