"""Targets of stewart_command in all frames, with pivots near and far: the screw of a platform knows no tool."""

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from scipy.spatial.transform import Rotation
from stewart_command_runs import HOME, Run, core_of, pose

from lie_dynamics_ros.nodes.stewart_command.requests import TargetReader

READER = TargetReader({"base": "base", "work": "work", "tool": "tool"})
GOAL = pose([0.03, -0.02, 0.01], [0.1, 0.05, -0.08])


def numbers(rng, far):
    """A pose so far away, as parameters have it, and its matrix."""
    turn, way = Rotation.random(random_state=rng), rng.normal(size=3)
    way *= far / np.linalg.norm(way)
    made = np.eye(4)
    made[:3, :3], made[:3, 3] = turn.as_matrix(), way
    return [*way.tolist(), *turn.as_quat().tolist()], made


def stamped(T, frame):
    message = PoseStamped()
    message.header.frame_id = frame
    p, q = message.pose.position, message.pose.orientation
    p.x, p.y, p.z = T[:3, 3].tolist()
    q.x, q.y, q.z, q.w = Rotation.from_matrix(T[:3, :3]).as_quat().tolist()
    return message


def follow(values, target):
    run = Run(core_of(shape="screw", **values))
    run.ask(READER.single(stamped(*target), run.core.ways.frames))
    run.until_rest()
    assert not run.core.refusal
    return np.array(run.lengths), run


@pytest.fixture(scope="module")
def expected():
    found, run = follow({}, (GOAL, "base"))
    run.check()
    return found


@pytest.mark.parametrize("far", [0.1, 10.0, 1e3, 1e5])
@pytest.mark.parametrize("frame", ["base", "work", "tool"])
def test_paths_are_those_of_the_platform_wherever_the_tool_and_the_work_are(rng, expected, frame, far):
    (at_tool, tool), (at_work, work) = numbers(rng, far), numbers(rng, far)
    here = {"base": np.eye(4), "work": work, "tool": HOME @ tool}[frame]
    target = np.linalg.inv(here) @ GOAL @ tool, frame
    found, _ = follow({"tool_pose": at_tool, "work_pose": at_work}, target)
    assert len(found) == len(expected)
    assert np.abs(found - expected).max() < 5e-15 * max(1.0, far)
