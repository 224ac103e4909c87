"""Several nodes in one process: each answers as it does by itself, and none takes the others down."""

import pkgutil

import numpy as np
import pytest
import yaml
from geometry_msgs.msg import PoseWithCovarianceStamped
from node_cases import ARM_POSITION
from node_harness import stamp_of
from node_platforms import LEGS, TRUE, as_numbers, lengths
from node_robots import ARM, ARM_JOINTS, oracle
from sensor_msgs.msg import JointState

from lie_dynamics_ros.core.errors import NodeError
from lie_dynamics_ros.nodes.together.node import NODE_CLASSES, NodeWord, read_words


def test_each_node_answers_and_a_broken_one_disturbs_none(bench, tmp_path):
    arm, legs = f"{bench.namespace}/arm", f"{bench.namespace}/legs"
    broken = tmp_path / "broken.yaml"
    broken.write_text(yaml.safe_dump({"/**/broken": {"ros__parameters": {"robot_description": "<robot/>"}}}))
    words = ["--params-file", str(broken), "--", f"{arm}/inverse_dynamics", f"{arm}/inverse_dynamics=broken"]
    bench.start("together", "unused", [*words, f"{legs}/stewart_pose"], robot_description=ARM)
    efforts = bench.listen(JointState, f"{arm}/inverse_dynamics/joint_efforts")
    poses = bench.listen(PoseWithCovarianceStamped, f"{legs}/stewart_pose/pose")
    bench.drive(f"{arm}/joint_states")
    answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, ARM_POSITION), efforts)
    np.testing.assert_allclose(answer.effort, oracle(ARM, ARM_POSITION), rtol=0, atol=1e-10)
    bench.drive(f"{legs}/joint_states")
    found = bench.ask(lambda: bench.make_state(LEGS, lengths(TRUE)), poses)
    pose = found.pose.pose
    place = [pose.position.x, pose.position.y, pose.position.z]
    np.testing.assert_allclose(place, as_numbers(TRUE)[:3], rtol=0, atol=1e-10)
    bench.wait_status(f"{arm}/broken", lambda s, v: "not configured" in s.message, "the broken node says so")
    bench.drive(f"{arm}/joint_states")
    again = bench.ask(lambda: bench.make_state(ARM_JOINTS, ARM_POSITION), efforts)
    assert stamp_of(again) > stamp_of(answer)


def test_words_name_kind_namespace_and_name():
    assert NodeWord.read("stewart_pose") == NodeWord("stewart_pose", "stewart_pose")
    assert NodeWord.read("left/computed_torque=guide") == NodeWord("computed_torque", "guide", "/left")
    assert NodeWord.read("/a/b/inverse_dynamics").namespace == "/a/b"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "no node is named; expected one or more of .*computed_torque"),
        (["nobody"], "there is no node 'nobody'; expected one of .*computed_torque"),
        (["a/inverse_dynamics", "a/inverse_dynamics"], "two nodes are called /a/inverse_dynamics"),
    ],
)
def test_unusable_words_are_refused(words, reason):
    with pytest.raises(NodeError, match=reason):
        read_words(words)


def test_every_node_of_the_package_can_be_run_together():
    import lie_dynamics_ros.nodes as nodes

    folders = sorted(module.name for module in pkgutil.iter_modules(nodes.__path__) if module.ispkg)
    assert sorted([*NODE_CLASSES, "together", "viewer"]) == sorted(nodes.PROGRAMS) == folders
    for kind, name in NODE_CLASSES.items():
        module = __import__(f"lie_dynamics_ros.nodes.{kind}.node", fromlist=[name])
        assert hasattr(module, name) and hasattr(module, "main")
