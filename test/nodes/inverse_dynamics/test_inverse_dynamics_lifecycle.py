"""Where the inverse_dynamics node gets its robot from, and what happens when that changes."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from node_harness import SharedNode
from node_robots import ARM, ARM_JOINTS, NO_JOINTS, UNPHYSICAL, oracle
from sensor_msgs.msg import JointState
from support.grids import every_run

from lie_dynamics_ros.nodes.inverse_dynamics.node import SETTINGS

Q = np.linspace(-0.4, 0.6, 7)


def assert_arm_torques(answer):
    expected = oracle(ARM, Q)
    np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


ENDS = [(how, executor) for how in (signal.SIGINT, signal.SIGTERM) for executor in ("events", "single_threaded")]


@pytest.mark.parametrize(("how", "executor"), every_run(ENDS[1:3], ENDS))
def test_ends_cleanly_on_signals(bench, how, executor):
    node = bench.start("inverse_dynamics", robot_description=ARM, executor=executor)
    answers = bench.listen(JointState, f"{node}/joint_efforts")
    assert_arm_torques(bench.ask(lambda: bench.make_state(ARM_JOINTS, Q), answers))
    process = bench.processes.pop()
    assert process.stop(how) == 0, process.output
    assert "Traceback" not in process.output


def test_takes_the_robot_from_the_topic_and_waits_for_it(bench):
    node = bench.start("inverse_dynamics")
    answers = bench.listen(JointState, f"{node}/joint_efforts")
    bench.wait_status(node, lambda s, v: "waiting for a robot description" in s.message, "waiting")
    assert "waiting for a robot description" in bench.processes[-1].output
    assert bench.state(node) == "unconfigured"
    bench.publish_description(ARM)
    bench.wait_state(node, "active")
    assert "waiting: no state received" in bench.processes[-1].output
    assert_arm_torques(bench.ask(lambda: bench.make_state(ARM_JOINTS, Q), answers))
    bench.wait(lambda: "answering: state received on" in bench.processes[-1].output, "a word of success")


def test_configure_waits_for_the_topic_and_then_says_that_nothing_came(bench):
    node = bench.start("inverse_dynamics", autostart=False, robot_description_timeout=0.3)
    assert not bench.change_state(node, "configure")
    assert bench.state(node) == "unconfigured"
    bench.wait_status(
        node, lambda s, v: s.level == b"\x02" and "nothing received on" in s.message, "no robot description"
    )
    bench.publish_description(ARM)
    bench.wait(lambda: bench.change_state(node, "configure"), "configure to succeed")
    assert bench.state(node) == "inactive"


@pytest.fixture(scope="module")
def unconfigured(module_bench):
    """A node that several tests share, and leave unconfigured, as it comes."""
    return SharedNode(module_bench, "inverse_dynamics", SETTINGS)


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        (NO_JOINTS, "no joint that moves"),
        (UNPHYSICAL, "rod"),
        ("/no/such/robot.urdf", "/no/such/robot.urdf"),
        ("package://no_such_package/robot.urdf", "no_such_package"),
        ("robot.urdf.xacro", "run xacro first"),
        ("https://example.org/robot.urdf", "only package:// and file://"),
    ],
)
def test_does_not_configure_without_a_usable_robot_and_says_why(unconfigured, description, reason):
    bench, node = unconfigured.bench, unconfigured.name
    assert bench.set(node, robot_description=description).successful
    assert not bench.change_state(node, "configure")
    bench.wait_status(node, lambda s, v: s.level == b"\x02" and reason in s.message, reason)
    assert bench.state(node) == "unconfigured"
    unconfigured.begin(robot_description="package://lie_dynamics_ros/urdf/panda_arm.urdf")
    unconfigured.end()


def test_begins_by_itself_once_its_robot_is_put_right(bench):
    node = bench.start("inverse_dynamics", robot_description="/no/such/robot.urdf")
    bench.wait_status(node, lambda s, v: s.level == b"\x02" and "/no/such/robot.urdf" in s.message, "the reason")
    assert bench.state(node) == "unconfigured"
    assert bench.set(node, robot_description="package://lie_dynamics_ros/urdf/panda_arm.urdf").successful
    bench.wait_state(node, "active")


@pytest.mark.parametrize(
    ("joints", "reason"), [(["panda_joint1", "elbow"], "elbow"), (["panda_joint1"] * 2, "names a joint twice")]
)
def test_does_not_configure_with_joints_that_make_no_sense(unconfigured, joints, reason):
    bench, node = unconfigured.bench, unconfigured.name
    assert bench.set(node, robot_description=ARM, joints=joints).successful
    assert not bench.change_state(node, "configure")
    bench.wait_status(node, lambda s, v: s.level == b"\x02" and reason in s.message, reason)
    assert bench.state(node) == "unconfigured"


def test_reads_the_robot_from_a_file(bench, tmp_path):
    path = tmp_path / "my arm.urdf"
    path.write_text(ARM)
    for source in (str(path), f"file://{path}"):
        node = bench.start("inverse_dynamics", f"from_{len(source)}", robot_description=source)
        answers = bench.listen(JointState, f"{node}/joint_efforts")
        assert_arm_torques(bench.ask(lambda: bench.make_state(ARM_JOINTS, Q), answers))
