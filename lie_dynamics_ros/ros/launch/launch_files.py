"""What the launch files share: all arguments are checked before anything is started. Needs launch and launch_ros."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .launch_arguments import Part, arguments_of
from .node_options import node_options
from .plotjuggler import joints_of, layout, topics_of, write

PACKAGE = "lie_dynamics_ros"


def launch_description(*parts: Part, **defaults: str) -> Any:
    """Return the launch description of a file that starts these parts; defaults are those of its arguments."""
    from launch import LaunchDescription
    from launch.actions import DeclareLaunchArgument, OpaqueFunction
    from launch.substitutions import LaunchConfiguration

    arguments = arguments_of(parts, defaults)

    def start(context: Any) -> list[Any]:
        texts = {name: LaunchConfiguration(name).perform(context) for name in arguments}
        nodes = node_options(parts, arguments, texts)
        return [*map(_node, nodes), *_viewers(parts, nodes, texts)]

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


def _viewers(parts: Sequence[Part], nodes: Sequence[Mapping[str, Any]], texts: Mapping[str, str]) -> list[Any]:
    """Return RViz and PlotJuggler with settings for what is started, where they are wanted and installed."""
    from launch.substitutions import PathJoinSubstitution
    from launch_ros.actions import Node
    from launch_ros.substitutions import FindPackageShare

    if texts.get("view", "").strip() != "true":
        return []
    found = []
    stewart = any(part.node.endswith(("stewart", "stewart_pose", "stewart_command")) for part in parts)
    namespace = texts["namespace"].strip()
    if _installed("rviz2"):
        file = f"{'stewart' if stewart else 'robot'}.rviz"
        settings = PathJoinSubstitution([FindPackageShare(PACKAGE), "config", "rviz", file])
        found.append(Node(package="rviz2", executable="rviz2", namespace=namespace, arguments=["-d", settings]))
    if _installed("plotjuggler") and not stewart:
        joints = joints_of(texts.get("robot_description", ""), texts.get("joint_prefix", "").strip())
        file = write(layout(topics_of(namespace, nodes), joints))
        found.append(
            Node(package="plotjuggler", executable="plotjuggler", arguments=["--nosplash", "--layout", str(file)])
        )
    return found


def _installed(package: str) -> bool:
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix

    try:
        get_package_prefix(package)
    except (PackageNotFoundError, OSError):  # OSError: AMENT_PREFIX_PATH is not set
        return False
    return True


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
