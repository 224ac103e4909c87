"""Start the node computed_torque beside a driver that takes efforts; the robot comes from robot_description."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

DEFAULT_CONFIG = PathJoinSubstitution([FindPackageShare("lie_dynamics_ros"), "config", "computed_torque.yaml"])
OVERRIDES = {
    "mode": (str, "computed_torque, gravity_compensation, passivity_based or adaptive."),
    "robot_description": (str, "URDF text, file path, file:// or package:// URI."),
    "autostart": (lambda text: text.lower() in ("true", "1"), "Configure and activate by itself: true or false."),
    "use_sim_time": (lambda text: text.lower() in ("true", "1"), "Follow the topic /clock: true or false."),
}


def start(context):
    given = {name: LaunchConfiguration(name).perform(context) for name in OVERRIDES}
    overrides = {name: OVERRIDES[name][0](text) for name, text in given.items() if text}
    node = Node(
        package="lie_dynamics_ros",
        executable="computed_torque",
        name="computed_torque",
        namespace=LaunchConfiguration("namespace"),
        remappings=[("~/commands", LaunchConfiguration("commands"))],
        parameters=[LaunchConfiguration("config"), *([overrides] if overrides else [])],
        output="screen",
    )
    return [node]


def generate_launch_description():
    return LaunchDescription(
        [
            DeclareLaunchArgument("namespace", default_value="", description="Namespace of the robot."),
            DeclareLaunchArgument("config", default_value=DEFAULT_CONFIG, description="Parameter file."),
            DeclareLaunchArgument(
                "commands",
                default_value="effort_controller/commands",
                description="Topic of the effort commands; simulated_robot/commands for the simulated robot.",
            ),
            *(
                DeclareLaunchArgument(name, default_value="", description=f"{text} Empty: as in the parameter file.")
                for name, (_, text) in OVERRIDES.items()
            ),
            OpaqueFunction(function=start),
        ]
    )
