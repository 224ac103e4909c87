"""A stewart_pose node that the tests of a file share."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped, TwistStamped
from node_harness import SharedNode

from lie_dynamics_ros.nodes.stewart_pose.node import SETTINGS


@pytest.fixture(scope="module")
def one(module_bench):
    """A node that begins afresh for each test, and its poses."""
    node = SharedNode(module_bench, "stewart_pose", SETTINGS)
    return node, module_bench.listen(PoseWithCovarianceStamped, f"{node.name}/pose")


@pytest.fixture
def start(one):
    """Return a function that lets the node begin with some parameters, and returns its bench, its name and poses."""
    node, poses = one

    def begin(**parameters):
        node.begin(**parameters)
        poses.clear()
        return node.bench, node.name, poses

    return begin


@pytest.fixture(scope="module")
def published(module_bench, one):
    """The bench, the node, and its poses, twists and reports."""
    node, poses = one
    topics = (TwistStamped, "twist"), (DiagnosticArray, "status")
    return module_bench, node, [poses, *(module_bench.listen(kind, f"{node.name}/{topic}") for kind, topic in topics)]
