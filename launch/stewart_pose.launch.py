"""Start the node stewart_pose beside a driver that publishes leg lengths as joint_states."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

DEFAULT_CONFIG = PathJoinSubstitution([FindPackageShare("lie_dynamics_ros"), "config", "stewart_pose.yaml"])


def flag(text):
    return text.lower() in ("true", "1")


OVERRIDES = {
    "platform": (str, "Geometry of the platform: YAML text, file path, file:// or package:// URI."),
    "base_frame": (str, "Frame of the base joints."),
    "platform_frame": (str, "Frame of the platform joints."),
    "autostart": (flag, "Configure and activate by itself: true or false."),
    "use_sim_time": (flag, "Follow the topic /clock: true or false."),
}


def start(context):
    given = {name: LaunchConfiguration(name).perform(context) for name in OVERRIDES}
    overrides = {name: OVERRIDES[name][0](text) for name, text in given.items() if text}
    node = Node(
        package="lie_dynamics_ros",
        executable="stewart_pose",
        name="stewart_pose",
        namespace=LaunchConfiguration("namespace"),
        parameters=[LaunchConfiguration("config"), *([overrides] if overrides else [])],
        remappings=[("joint_states", LaunchConfiguration("joint_states"))],
        output="screen",
    )
    return [node]


def generate_launch_description():
    return LaunchDescription(
        [
            DeclareLaunchArgument("namespace", default_value="", description="Namespace of the platform."),
            DeclareLaunchArgument("config", default_value=DEFAULT_CONFIG, description="Parameter file."),
            DeclareLaunchArgument(
                "joint_states", default_value="joint_states", description="Topic of the leg lengths."
            ),
            *(
                DeclareLaunchArgument(name, default_value="", description=f"{text} Empty: as in the parameter file.")
                for name, (_, text) in OVERRIDES.items()
            ),
            OpaqueFunction(function=start),
        ]
    )
