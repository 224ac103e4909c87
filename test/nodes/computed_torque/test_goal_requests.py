"""Goals as the C library holds them, read as rclpy reads them; where that cannot be, rclpy does it."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import action_interface
from builtin_interfaces.msg import Duration
from rclpy.type_support import check_for_type_support
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from unique_identifier_msgs.msg import UUID

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.ros.wire import goal_requests
from lie_dynamics_ros.ros.wire.goal_requests import POINT, Form, forget_points, read_request, reads_well
from lie_dynamics_ros.ros.wire.serialized import FIELDS, fields_of


class Behind:
    """The C functions of a trajectory, used as those of a request that has 16 bytes of an id before it."""

    def __init__(self):
        check_for_type_support(JointTrajectory)
        self.form, self.given = Form(JointTrajectory), None

    @staticmethod
    def type():
        goal = SimpleNamespace(trajectory=JointTrajectory(), goal_time_tolerance=Duration())
        return SimpleNamespace(goal_id=UUID(), goal=goal)

    def use(self, do, content):
        self.given = content
        return self.form.use(lambda message: do(message - 16), content.goal.trajectory)

    def to_python(self, message):
        goal = SimpleNamespace(**{**vars(self.given.goal), "trajectory": self.form.to_python(message + 16)})
        return SimpleNamespace(goal_id=self.given.goal_id, goal=goal)


@pytest.fixture(scope="module", params=["a trajectory", pytest.param("the action", marks=pytest.mark.slow)])
def form(request):
    """The request of the action, its C functions found; that takes a minute where control_msgs is not installed."""
    if request.param == "a trajectory":
        yield Behind()
        return
    with pytest.MonkeyPatch.context() as patch:
        action_interface.provide(patch)
        from control_msgs.action import FollowJointTrajectory

        check_for_type_support(FollowJointTrajectory)
        yield Form(FollowJointTrajectory.Impl.SendGoalService.Request)


def request_of(form, count, lengths, size, rng):
    """A request whose points have arrays of these lengths, in the order of `FIELDS`."""
    request = form.type()
    request.goal_id.uuid = rng.integers(0, 256, 16).tolist()
    trajectory = request.goal.trajectory
    trajectory.joint_names = ["j" * (k + 1) for k in range(size)]
    trajectory.header.stamp.sec, trajectory.header.stamp.nanosec = -3, 999_999_999
    request.goal.goal_time_tolerance = Duration(sec=2)
    for k in range(count):
        arrays = {name: rng.normal(size=n).tolist() for name, n in zip(FIELDS, lengths, strict=True)}
        trajectory.points.append(JointTrajectoryPoint(**arrays, time_from_start=Duration(sec=k - 1, nanosec=7 * k)))
    return request


@pytest.mark.parametrize("size", [1, 7])
def test_is_what_rclpy_reads(form, size, rng):
    for carried, count in itertools.product(itertools.product((0, 1), repeat=4), (0, 1, 5)):
        request = request_of(form, count, [size * has for has in carried], size, rng)
        found = form.use(lambda message: read_request(form, message), request)
        read = found.goal.trajectory.fields()
        expected = fields_of(form.use(form.to_python, request).goal.trajectory)
        assert found.goal_id == request.goal_id and found.goal.goal_time_tolerance.sec == 2
        assert (read.start, read.names) == (expected.start, expected.names)
        assert read.times.tolist() == expected.times.tolist()
        assert len(found.goal.trajectory.points) == count
        for name, values in expected.fields.items():
            assert np.array_equal(read.fields[name], values) if values is not None else read.fields[name] is None


def test_points_that_differ_are_refused_as_elsewhere(form, rng):
    request = request_of(form, 3, [2, 2, 0, 0], 2, rng)
    request.goal.trajectory.points[1].velocities = [1.0]
    found = form.use(lambda message: read_request(form, message), request)
    with pytest.raises(MessageError, match=r"velocities has \[1, 2\] entries for 2 joints"):
        found.goal.trajectory.fields()


def test_points_are_forgotten_once_read(form, rng):
    request = request_of(form, 3, [2, 0, 0, 0], 2, rng)
    trajectory = form.use(lambda message: read_request(form, message), request).goal.trajectory
    forget_points(trajectory)
    assert not len(trajectory.points) and not trajectory.fields().fields


def test_a_goal_that_is_laid_out_otherwise_is_noticed(form, monkeypatch):
    assert reads_well(form)
    names = [*FIELDS[::-1], "sec", "nanosec"]
    turned = np.dtype([(name, POINT[k]) for k, name in enumerate(names)], align=True)
    monkeypatch.setattr(goal_requests, "POINT", turned)
    assert not reads_well(form)
    wider = np.dtype([(name, POINT[name]) for name in POINT.names] + [("more", np.uintp)], align=True)
    monkeypatch.setattr(goal_requests, "POINT", wider)
    with pytest.raises(RuntimeError, match="no points"):
        reads_well(form)
    monkeypatch.setattr(goal_requests, "POINTS", goal_requests.POINTS + 8)
    with pytest.raises(RuntimeError, match="no 3 points"):
        reads_well(form)
