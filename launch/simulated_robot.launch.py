"""Start the node simulated_robot, which stands in for a driver."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

DEFAULT_CONFIG = PathJoinSubstitution([FindPackageShare("lie_dynamics_ros"), "config", "simulated_robot.yaml"])
OVERRIDES = {
    "robot_description": (str, "URDF text, file path, file:// or package:// URI."),
    "mode": (str, "motion, which depends on time alone, or dynamics, which obeys commands."),
    "rate": (float, "Joint states per second [Hz]."),
    "autostart": (lambda text: text.lower() in ("true", "1"), "Configure and activate by itself: true or false."),
}


def start(context):
    given = {name: LaunchConfiguration(name).perform(context) for name in OVERRIDES}
    overrides = {name: OVERRIDES[name][0](text) for name, text in given.items() if text}
    node = Node(
        package="lie_dynamics_ros",
        executable="simulated_robot",
        name="simulated_robot",
        namespace=LaunchConfiguration("namespace"),
        parameters=[LaunchConfiguration("config"), *([overrides] if overrides else [])],
        remappings=[("~/joint_trajectory_point", LaunchConfiguration("accelerations"))],
        output="screen",
    )
    return [node]


def generate_launch_description():
    return LaunchDescription(
        [
            DeclareLaunchArgument("namespace", default_value="", description="Namespace of the robot."),
            DeclareLaunchArgument("config", default_value=DEFAULT_CONFIG, description="Parameter file."),
            DeclareLaunchArgument(
                "accelerations",
                default_value="inverse_dynamics/joint_trajectory_point",
                description="Topic for the accelerations of the motion.",
            ),
            *(
                DeclareLaunchArgument(name, default_value="", description=f"{text} Empty: as in the parameter file.")
                for name, (_, text) in OVERRIDES.items()
            ),
            OpaqueFunction(function=start),
        ]
    )
