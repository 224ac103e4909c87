"""The action's glue without DDS: what each goal is told, where the messages are stand-ins and the core is real."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import numpy as np
from builtin_interfaces.msg import Duration
from core_loop import MIDDLE, Loop, panda
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectory

from lie_dynamics_ros.nodes.computed_torque.node import ComputedTorqueNode
from lie_dynamics_ros.nodes.computed_torque.requests import action
from lie_dynamics_ros.ros.node.worker import Job

NAMES = list(panda().joint_names)
SIDE = SimpleNamespace(name_of=str, post=lambda do, *args: do(*args))  # the side node, whose thread is this one
STRANGE = SimpleNamespace(name="y", position=0.1, velocity=0.0)


class Handle:
    """A goal as rclpy hands it out."""

    def __init__(self, request):
        self.request, self.goal_id = request, SimpleNamespace(uuid=np.random.default_rng().bytes(16))
        self.is_cancel_requested, self.status, self.result = False, "", None

    def succeed(self):
        self.status = "succeeded"

    def abort(self):
        self.status = "aborted"

    def canceled(self):
        self.status = "canceled"


class Node:
    """What the action uses of its node; prepares at once, and takes when told to."""

    def __init__(self, core):
        self.core = self.answering = core
        self.state, self.jobs, self.log = "active", [], []
        self.warnings = []

        def say(text, **_):
            self.log.append(text)

        def warn(text, **_):
            self.warnings.append(text)
            say(text)

        self.get_logger = lambda: SimpleNamespace(info=say, warning=warn, error=say)

    def prepare(self, make, then):
        job = Job(None, make)
        job.run()
        self.jobs.append(lambda: then(job))

    def take(self):
        while self.jobs:
            self.jobs.pop(0)()


@pytest.fixture
def world(monkeypatch):
    package, module = ModuleType("control_msgs"), ModuleType("control_msgs.action")
    module.FollowJointTrajectory = SimpleNamespace(Result=SimpleNamespace, Feedback=None)
    monkeypatch.setitem(sys.modules, "control_msgs", package)
    monkeypatch.setitem(sys.modules, "control_msgs.action", module)
    monkeypatch.setattr(action, "GoalServer", lambda *args, **callbacks: SimpleNamespace(**callbacks))
    monkeypatch.setattr(action, "begin_goal", lambda handle: setattr(handle, "status", "executing"))
    monkeypatch.setattr(action, "finish_goal", lambda server, handle, result: setattr(handle, "result", result))
    loop = Loop(rate=1000.0)
    loop.run(0.02)
    node = Node(loop.core)
    return loop, node, action.TrajectoryAction(node, node.prepare, SIDE)


def goal(names=NAMES, times=(1.0,), offset=0.2, **fields):
    message = JointTrajectory(joint_names=list(names))
    for t in times:
        time = Duration(sec=int(t), nanosec=round(1e9 * (t % 1.0)))
        at, rest = (MIDDLE + offset)[: len(names)].tolist(), [0.0] * len(names)
        message.points.append(JointTrajectoryPoint(positions=at, velocities=rest, time_from_start=time))
    usual = {"path_tolerance": [], "goal_tolerance": [], "goal_time_tolerance": Duration(),
             "component_path_tolerance": [], "component_goal_tolerance": []}  # fmt: skip
    return SimpleNamespace(trajectory=message, multi_dof_trajectory=MultiDOFJointTrajectory(), **{**usual, **fields})


def send(world, request):
    server = world[2]
    handle = Handle(request)
    assert server._server.goal_callback(request) == action.GoalResponse.ACCEPT
    server._server.handle_accepted_callback(handle)
    assert handle.status in ("executing", "aborted")
    return handle


def run(world, seconds):
    loop, node, server = world
    for _ in range(round(1000 * seconds)):
        loop.step()
        server.go_on(node.core)


def test_a_goal_is_told_when_it_has_been_reached(world):
    handle = send(world, goal())
    world[1].take()
    run(world, 0.9)
    assert handle.result is None
    run(world, 0.2)
    assert (handle.status, handle.result.error_code, handle.result.error_string) == ("succeeded", 0, "")


MANY = np.linspace(0.01, 2.0, 200)
UNUSABLE = [
    (goal(times=()), -1, "without points"),
    (goal([*NAMES[:6], "x"]), -2, "no joint 'x';"),
    (goal([*NAMES[:6], NAMES[0]]), -2, "named twice: 'panda_joint1';"),
    (goal(["y" * 9000] * 30000), -2, "yyy...yyy"),
    (goal(NAMES * 5000), -2, "named twice: 'panda_joint1', "),
    (goal([f"z{k}" for k in range(30000)]), -2, "and 29988 more"),
    (goal(offset=np.nan), -1, "not finite"),
    (goal(times=(0.0, 0.0)), -1, "do not rise"),
    (goal(goal_time_tolerance=Duration(sec=-(2**31), nanosec=2**32 - 1), times=()), -1, "without points"),
    (goal(times=(2.0, 1.0)), -1, "do not rise"),
    (goal(component_goal_tolerance=[0]), -1, "several coordinates"),
    (SimpleNamespace(trajectory=None), -1, "AttributeError"),
]


@pytest.mark.parametrize(("request_", "code", "text"), UNUSABLE)
def test_what_shows_at_once_is_rejected_and_logged(world, request_, code, text):
    """As the joint trajectory controller does; whoever has accepted it before it changed is told by code and text."""
    _, node, server = world
    assert server._server.goal_callback(request_) == action.GoalResponse.REJECT
    assert [line for line in node.log if text in line] == node.log


@pytest.mark.parametrize(
    ("request_", "code", "text"),
    [
        (goal(times=(2.0**31 - 1.0,), offset=1e308), -1, "panda_joint1"),
        (goal(times=(0.01,)), -1, "a velocity of"),
        (goal(times=[*MANY, MANY[0]]), -1, "do not rise"),
        (goal(times=MANY, offset=np.nan), -1, "not finite"),
        (goal(times=(0.0, 1.0), offset=0.3), -4, "; start_tolerance"),
    ],
)
def test_what_takes_longer_to_find_is_aborted_with_code_and_text(world, request_, code, text):
    handle = send(world, request_)
    world[1].take()
    assert handle.status == "aborted" and handle.result.error_code == code and text in handle.result.error_string
    assert not world[1].core.goals.active


def test_tolerances_of_strangers_are_told_and_not_looked_at(world):
    handle = send(world, goal(path_tolerance=[STRANGE]))
    world[1].take()
    assert any("path_tolerance of joint 'y' is not looked at" in line for line in world[1].log)
    run(world, 1.1)
    assert (handle.status, handle.result.error_code) == ("succeeded", 0)


def test_goals_in_part_can_be_left_out(world):
    loop, _, server = world
    loop.change(allow_partial_joints_goal=False)
    world[1].core = world[1].answering = loop.core
    assert server._server.goal_callback(goal(NAMES[:6])) == action.GoalResponse.REJECT
    assert server._server.goal_callback(goal()) == action.GoalResponse.ACCEPT
    assert "joint 'panda_joint7' is missing" in world[1].log[-1]


def test_replaced_goals_are_no_warnings(world):
    """An MPC client replaces fifty a second."""
    _, node, _ = world
    for k in range(5):
        send(world, goal(offset=0.01 * k))
        node.take()
        run(world, 0.02)
    assert node.warnings == []


@pytest.mark.parametrize("offset", [pytest.param(0.0, marks=pytest.mark.slow), 0.05])
def test_a_goal_of_one_point_at_time_zero_is_reached_smoothly(world, offset):
    """What planners send where the robot is at the goal already, or about."""
    loop, node, _ = world
    handle = send(world, goal(times=(0.0,), offset=offset))
    node.take()
    run(world, 1.0)
    assert (handle.status, handle.result.error_code) == ("succeeded", 0)
    desired = np.array([a.desired.position for a in loop.answers])
    assert np.abs(np.diff(desired, axis=0)).max() <= 0.01 * offset
    assert np.ptp(desired, axis=0).max() == pytest.approx(offset)


def test_joints_may_come_in_any_order_and_in_part(world):
    loop, node, _ = world
    request = goal(NAMES[3:5])
    request.trajectory.joint_names = [NAMES[5], NAMES[2]]
    request.trajectory.points[0].positions = [MIDDLE[5] + 0.1, MIDDLE[2] - 0.1]
    handle = send(world, request)
    node.take()
    run(world, 1.1)
    assert handle.status == "succeeded"
    np.testing.assert_allclose(loop.answers[-1].desired.position - MIDDLE, [0, 0, -0.1, 0, 0, 0.1, 0], atol=1e-12)


def test_a_goal_in_the_first_period_of_another_replaces_it_and_one_that_waits_can_be_cancelled(world):
    loop, node, server = world
    first, second = send(world, goal()), send(world, goal(offset=0.1))
    waiting = goal()
    waiting.trajectory.header.stamp.sec = 4
    third = send(world, waiting)
    node.take()
    run(world, 0.002)
    assert first.status == "aborted" and first.result.error_code == -1 and second.status == "executing"
    third.is_cancel_requested = True
    assert server._server.cancel_callback(third) == action.CancelResponse.ACCEPT
    run(world, 1.1)
    assert second.status == "succeeded" and third.status == "canceled"
    np.testing.assert_allclose(loop.answers[-1].desired.position, MIDDLE + 0.1, atol=1e-12)


def test_a_node_that_is_not_active_says_so(world):
    world[1].answering, world[1].state = None, "inactive"
    assert world[2]._server.goal_callback(goal()) == action.GoalResponse.REJECT
    assert "not active but inactive" in world[1].log[-1]


def test_cancelled_while_it_is_prepared_and_under_way(world):
    _, node, server = world
    early, late = send(world, goal()), send(world, goal(offset=0.3))
    early.is_cancel_requested = True
    assert server._server.cancel_callback(early) == action.CancelResponse.ACCEPT
    node.take()
    assert early.status == "canceled" and late.status == "executing"
    run(world, 0.5)
    late.is_cancel_requested = True
    assert server._server.cancel_callback(late) == action.CancelResponse.ACCEPT
    run(world, 0.001)
    assert late.status == "canceled" and late.result.error_code == 0
    assert server._server.cancel_callback(late) == action.CancelResponse.REJECT  # known no more


def test_the_end_of_the_node_ends_its_goals(world):
    _, node, server = world
    handle = send(world, goal())
    node.take()
    run(world, 0.1)
    node.core.end()
    server.go_on(node.core)
    assert handle.status == "aborted" and "not active" in handle.result.error_string


@pytest.mark.parametrize("silence", ["joint states have ceased", "joint states cannot be answered: no odometry"])
def test_goals_do_not_wait_for_states_that_are_not_answered(world, silence):
    """Whoever waits for a result learns why the robot is not controlled any more."""
    _, node, server = world
    handle = send(world, goal())
    node.take()
    run(world, 0.1)
    node._action, node._answer, node._go_on = server, None, server.go_on
    node.stream = SimpleNamespace(hears=lambda: "ceased" not in silence, silence=lambda longest: "")
    ComputedTorqueNode._on_timer(node)
    assert handle.result is None
    node.stream.silence = lambda longest: silence
    ComputedTorqueNode._on_timer(node)
    assert handle.status == "aborted" and handle.result.error_string == silence


def test_without_control_msgs_the_node_says_so_once(world, monkeypatch):
    node = world[1]
    monkeypatch.setitem(sys.modules, "control_msgs.action", None)
    action.TrajectoryAction(node, node.prepare, SIDE)
    assert [x for x in node.log if "control_msgs is not installed" in x] == node.log
