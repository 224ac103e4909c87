"""Several nodes of this package in one process, on one executor.

    ros2 run lie_dynamics_ros together inverse_dynamics stewart_pose --ros-args --params-file my.yaml
    ros2 run lie_dynamics_ros together left/computed_torque right/computed_torque=guide --ros-args --params-file my.yaml

Each word names a node, as it is started by itself; in front of it a namespace, behind it another name. Parameters are
distinguished by the nodes' full names in the parameter file. See doc/real_time.md.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rclpy.node import Node
from rclpy.utilities import remove_ros_args

from ...core.errors import NodeError
from ...ros.node.spinning import asks_for_help, run_all

NODES_PACKAGE = __package__.rpartition(".")[0]
NODE_CLASSES = {
    "closed_loop": "ClosedLoopNode",
    "computed_torque": "ComputedTorqueNode",
    "contact": "ContactNode",
    "hybrid_dynamics": "HybridDynamicsNode",
    "inverse_dynamics": "InverseDynamicsNode",
    "simulated_robot": "SimulatedRobot",
    "simulated_stewart": "SimulatedStewart",
    "stewart_command": "StewartCommandNode",
    "stewart_pose": "StewartPoseNode",
    "tool_wrench": "ToolWrenchNode",
}
"""Nodes that can be run, with their classes."""


@dataclass(frozen=True)
class NodeWord:
    """One node to run: its kind, its name in the ROS graph, and its namespace, absolute or empty for the process's."""

    kind: str
    name: str
    namespace: str = ""

    @classmethod
    def read(cls, word: str) -> NodeWord:
        """Read ``[namespace/]kind[=name]``; raises NodeError for anything else."""
        place, _, name = word.partition("=")
        namespace, _, kind = place.rpartition("/")
        if kind not in NODE_CLASSES:
            raise NodeError(f"{word!r}: there is no node {kind!r}; expected one of {', '.join(NODE_CLASSES)}")
        if namespace and not namespace.startswith("/"):
            namespace = f"/{namespace}"
        return cls(kind, name or kind, namespace)

    def make(self) -> Node:
        """Make the node."""
        class_ = getattr(importlib.import_module(f"{NODES_PACKAGE}.{self.kind}.node"), NODE_CLASSES[self.kind])
        rules = ["-r", f"__node:={self.name}"]
        if self.namespace:
            rules += ["-r", f"__ns:={self.namespace}"]
        node: Node = class_(cli_args=["--ros-args", *rules])
        return node


def read_words(words: Sequence[str]) -> list[NodeWord]:
    """Read the nodes that words name; raises NodeError where there is none, or two of the same full name."""
    wanted = [NodeWord.read(word) for word in words]
    if not wanted:
        raise NodeError(f"no node is named; expected one or more of {', '.join(NODE_CLASSES)}")
    names = [(one.namespace, one.name) for one in wanted]
    for namespace, name in names:
        if names.count((namespace, name)) > 1:
            raise NodeError(f"two nodes are called {namespace}/{name}; name one of them otherwise: kind=name")
    return wanted


def main(args: Sequence[str] | None = None) -> int:
    """Run the nodes that the command line names."""
    if asks_for_help(args):
        print(__doc__)
        return 0
    words = remove_ros_args(sys.argv if args is None else ["together", *args])[1:]
    try:
        wanted = read_words(words)
    except NodeError as error:
        print(f"error: {error}\n\n{__doc__}", file=sys.stderr)
        return 2
    makers: list[Callable[[], Node]] = [one.make for one in wanted]
    return run_all(makers, args)


if __name__ == "__main__":
    sys.exit(main())
