"""Messages on the topic robot_description, and files that hold none: what is taken, what is refused, who answers."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from node_robots import ARM, ARM_JOINTS, NO_JOINTS, UNPHYSICAL, oracle, pendulum
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from lie_dynamics_ros.nodes.inverse_dynamics.node import InverseDynamicsNode

Q = np.linspace(-0.4, 0.6, 7)
ERROR = b"\x02"
BAD = {
    "no joints": (NO_JOINTS, "no joint that moves"),
    "unphysical inertia": (UNPHYSICAL, "rod"),
    "cut off": ("<robot name='cut'><link", "cannot be used"),
    "empty": ("", "XML is expected"),
    "no XML": ("hello", "XML is expected, which begins with '<'; got 'hello'"),
    "endless file": ("/dev/zero", "XML is expected"),
    "path of a robot": ("package://lie_dynamics_ros/urdf/panda_arm.urdf", "XML is expected"),
    "long": ("secret " * 1000, "XML is expected"),
    "too large": ("<robot/>" + " " * 2**20, "max_description_size"),
}


def assert_arm_answers(bench, answers):
    answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, Q), answers)
    expected = oracle(ARM, Q)
    np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def assert_pendulum_answers(bench, answers):
    answer = bench.ask(lambda: bench.make_state(["swing"], [0.7]), answers)
    assert list(answer.name) == ["swing"]
    np.testing.assert_allclose(answer.effort, oracle(pendulum(), [0.7]), rtol=1e-12)


def refused(bench, node, reason):
    since = bench.now()
    status = bench.wait_status(node, lambda s, v: s.level == ERROR and reason in s.message, reason, since)
    assert len(status.message) < 700
    return status


@pytest.fixture
def make(bench):
    """Makes the node in this process, where its reports need not be waited for."""
    made = []

    def make(**parameters):
        overrides = [Parameter(key, value=value) for key, value in {"state_timeout": 10.0, **parameters}.items()]
        node = InverseDynamicsNode(namespace=bench.namespace, parameter_overrides=overrides)
        bench.executor.add_node(node)
        made.append(node)
        return node, bench.listen(JointState, "inverse_dynamics/joint_efforts")

    yield make
    for node in made:
        bench.executor.remove_node(node)
        node.destroy_node()


def complaint(node) -> str:
    return next((reason for reason in node.report(1.0).reasons if "robot" in reason), "")


@pytest.mark.parametrize("allowed", [True, False])
def test_keeps_its_robot_whatever_is_published_that_is_none(bench, make, allowed):
    node, answers = make(allow_robot_change=allowed, max_description_size=2**20)
    bench.publish_description(ARM)
    assert_arm_answers(bench, answers)
    core = node.core
    for text, reason in BAD.values():
        could_be = text.strip().startswith("<") and len(text) < 2**20
        expected = "allow_robot_change is false" if could_be and not allowed else reason
        bench.publish_description(text)
        bench.wait(lambda expected=expected: expected in complaint(node), expected)
        assert len(complaint(node)) < 700
        assert_arm_answers(bench, answers)
        bench.publish_description(ARM)  # the same robot again is nothing, but that all is well
        bench.wait(lambda: not complaint(node), "no complaint")
    assert node.state == "active"
    assert node.core is core


@pytest.mark.parametrize("by", ["a parameter", "transitions"])
def test_takes_another_robot_while_active_where_a_parameter_allows_it_or_configured_again(bench, by):
    node = bench.start("inverse_dynamics")
    answers = bench.listen(JointState, f"{node}/joint_efforts")
    bench.publish_description(ARM)
    assert_arm_answers(bench, answers)
    bench.publish_description(pendulum())
    refused(bench, node, "allow_robot_change is false")
    assert_arm_answers(bench, answers)
    if by == "a parameter":
        assert bench.set(node, allow_robot_change=True).successful
    else:
        for transition in ("deactivate", "cleanup", "configure", "activate"):
            assert bench.change_state(node, transition)
    assert_pendulum_answers(bench, answers)
    if by == "a parameter":
        bench.publish_description(ARM)
        assert_arm_answers(bench, answers)
    assert bench.state(node) == "active"


def test_the_robot_before_answers_while_another_is_made(bench, make):
    node, answers = make(allow_robot_change=True)
    bench.publish_description(ARM)
    assert_arm_answers(bench, answers)
    begun, go_on, build = threading.Event(), threading.Event(), node.source.build

    def slow(description, values):
        begun.set()
        assert go_on.wait(60)
        return build(description, values)

    node.source.build = slow
    bench.send_until(lambda: bench.publish_description(pendulum()), begun.is_set, "the robot to be made")
    bench.publish_description(pendulum(effort=50.0))  # when the first is ready, it is not the last any more
    for _ in range(50):
        assert_arm_answers(bench, answers)
    go_on.set()
    assert_pendulum_answers(bench, answers)
    assert bench.wait(lambda: node.core.limit[0] == 50.0, "the last of both robots")


FILES = {
    "platform": ("base_points: ", "password: hash\npassword: hash\n", "has none of the keys", "holds more than"),
    "robot_description": ("<robot name='x'>", "root:$6$salt$hash:19:0:::\n", "holds no XML", "more than 1048576 bytes"),
}
"""How a file of each parameter begins, what another holds, and why that, and one that is too large, are refused."""


@pytest.mark.parametrize("parameter", FILES)
def test_files_that_hold_something_else_are_named_without_what_they_hold(bench, tmp_path, parameter):
    begin, held, other, long = FILES[parameter]
    secret, fifo, large = tmp_path / "shadow", tmp_path / "fifo", tmp_path / "large"
    secret.write_text(3 * held)
    os.mkfifo(fifo)
    large.write_text(begin + " " * 2**20)
    robot = parameter == "robot_description"
    more = {"max_description_size": 2**20} if robot else {}
    node = bench.start("inverse_dynamics" if robot else "stewart_pose", autostart=False, **more)
    for source, reason in (
        (f"file://{secret}", other),
        (str(fifo), "a regular file is expected"),
        ("/dev/zero", "a regular file is expected"),
        (str(tmp_path), "directory"),
        (str(large), long),
        ("~nobody_of_this_name/file", "nobody_of_this_name"),
        ("/\0/file", "cannot be read"),
        ("<robot>" + " " * 2**20, "at most 1048576") if robot else ("a: &a [1]\nb: *a", ""),
    ):
        assert bench.set(node, **{parameter: source}).successful
        assert not bench.change_state(node, "configure")
        output = bench.wait(
            lambda r=reason: (o := bench.processes[-1].output.rpartition("not configured: ")[2]) and r in o and o,
            reason,
        )
        assert "hash" not in output
    assert "hash" not in bench.processes[-1].output and bench.state(node) == "unconfigured"
    if robot:
        assert bench.set(node, robot_description="package://lie_dynamics_ros/urdf/panda_arm.urdf").successful
        bench.wait(lambda: bench.change_state(node, "configure"), "the robot to be taken")
