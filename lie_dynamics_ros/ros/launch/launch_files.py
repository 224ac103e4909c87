"""What the launch files share: all arguments are checked before anything is started. Needs launch and launch_ros."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .launch_arguments import Part, arguments_of, node_options

PACKAGE = "lie_dynamics_ros"


def launch_description(*parts: Part, **defaults: str) -> Any:
    """Return the launch description of a file that starts these parts; defaults are those of its arguments."""
    from launch import LaunchDescription
    from launch.actions import DeclareLaunchArgument, OpaqueFunction
    from launch.substitutions import LaunchConfiguration

    arguments = arguments_of(parts, defaults)

    def start(context: Any) -> list[Any]:
        texts = {name: LaunchConfiguration(name).perform(context) for name in arguments}
        nodes = [_node(options) for options in node_options(parts, arguments, texts)]
        return [*nodes, *_rviz(parts, texts)]

    declared = []
    for name, argument in arguments.items():
        empty = "" if argument.default else f" Empty: {argument.empty}."
        choices = [*argument.choices, *([] if argument.default else [""])] if argument.choices else None
        declared.append(
            DeclareLaunchArgument(
                name, default_value=argument.default, description=argument.description + empty, choices=choices
            )
        )
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def _rviz(parts: Sequence[Part], texts: Mapping[str, str]) -> list[Any]:
    """Return RViz with the settings of this package, where it is wanted and installed."""
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix
    from launch.substitutions import PathJoinSubstitution
    from launch_ros.actions import Node
    from launch_ros.substitutions import FindPackageShare

    if texts.get("view", "").strip() != "true":
        return []
    try:
        get_package_prefix("rviz2")
    except (PackageNotFoundError, OSError):  # OSError: AMENT_PREFIX_PATH is not set
        return []
    kind = "stewart" if any(part.node.endswith(("stewart", "stewart_pose")) for part in parts) else "robot"
    settings = PathJoinSubstitution([FindPackageShare(PACKAGE), "config", "rviz", f"{kind}.rviz"])
    return [Node(package="rviz2", executable="rviz2", namespace=texts["namespace"], arguments=["-d", settings])]


def _node(options: Mapping[str, Any]) -> Any:
    from launch.substitutions import PathJoinSubstitution
    from launch_ros.actions import Node
    from launch_ros.parameter_descriptions import ParameterValue
    from launch_ros.substitutions import FindPackageShare

    # A text goes as it is: launch would read it as YAML.
    parameters = {
        name: ParameterValue(value, value_type=str) if isinstance(value, str) else value
        for name, value in options["parameters"].items()
    }
    own = PathJoinSubstitution([FindPackageShare(PACKAGE), "config", f"{options['name']}.yaml"])
    file = options["file"] or own
    return Node(
        package=PACKAGE,
        executable=options["name"],
        name=options["name"],
        namespace=options["namespace"],
        parameters=[file, *([parameters] if parameters else [])],
        remappings=options["remappings"],
        output="screen",
    )
