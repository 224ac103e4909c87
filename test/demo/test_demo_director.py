"""The director of the demo: what it does where a trajectory is refused. Its node is a stand-in without DDS."""

import time
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("lie_dynamics_interfaces.msg", reason="lie_dynamics_interfaces is not installed")

from builtin_interfaces.msg import Time
from rosgraph_msgs.msg import Clock

from lie_dynamics_interfaces import msg
from lie_dynamics_ros.demo.control import PATIENCE, TRIES, Director
from lie_dynamics_ros.demo.play import AHEAD, Play
from lie_dynamics_ros.demo.processes import ShortfallError
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.ros.inputs.model_loading import read_description
from lie_dynamics_ros.ros.wire.messages import nanoseconds

BEGIN = 10**12


class Stage:
    """A node whose services agree at once, and whose clock and controller the test plays."""

    def __init__(self):
        robot = Model.from_urdf(read_description("package://lie_dynamics_ros/urdf/panda_arm.urdf"))
        self.heard, self.sent = {}, []
        self.director = Director(Play(robot, 30.0))
        self.director.listen(self)

    def create_subscription(self, type_, topic, callback, qos):
        self.heard[topic.rpartition("/")[2]] = callback

    def create_client(self, type_, name):
        result = SimpleNamespace(result=SimpleNamespace(successful=True, reason=""))
        answer = SimpleNamespace(done=lambda: True, result=lambda: result)
        return SimpleNamespace(service_is_ready=lambda: True, call_async=lambda request: answer)

    def create_publisher(self, type_, topic, qos):
        return SimpleNamespace(publish=self.sent.append, get_subscription_count=lambda: 1)

    def at(self, now):
        clock = Clock(clock=Time(sec=now // 10**9, nanosec=now % 10**9))
        self.heard["clock"](clock)
        self.director.proceed()

    def accept(self):
        self.heard["trajectory_status"](msg.TrajectoryStatus(header=self.sent[-1].header, accepted=True))

    def refuse(self):
        self.heard["trajectory_status"](msg.TrajectoryStatus(header=self.sent[-1].header, reason="too fast"))

    @property
    def start(self):
        return nanoseconds(self.sent[-1].header.stamp)


@pytest.fixture
def stage():
    stage = Stage()
    stage.at(BEGIN)
    stage.at(BEGIN)
    assert stage.start == BEGIN + round(AHEAD * 1e9) == stage.director.starts[0]
    return stage


@pytest.mark.parametrize("heard", [10**9, -1], ids=["after its start", "before it"])
def test_sends_a_refused_trajectory_further_ahead_before_it_gives_up(stage, heard):
    """The clock is no witness of what the controller read late: it may be heard late, too."""
    for _ in range(TRIES - 1):
        late = stage.start + heard
        stage.refuse()
        stage.at(late)
        assert stage.start > late + round(AHEAD * 1e9)
        assert stage.director.starts == [stage.start]
    stage.refuse()
    with pytest.raises(ShortfallError, match="act exact: its trajectory was refused: too fast"):
        stage.at(stage.start + heard)


def test_takes_no_notice_of_what_became_of_others(stage):
    stage.accept()
    other = msg.TrajectoryStatus(reason="another")
    stage.heard["trajectory_status"](other)
    stage.at(stage.start + 1)
    assert len(stage.sent) == 1


def test_no_act_begins_before_it_is_known_that_the_last_one_was_taken(stage):
    """A busy machine may tell it when the clock says that the act is over."""
    long_after = stage.start + 10**12
    stage.at(long_after)
    stage.at(long_after)
    assert len(stage.sent) == 1
    stage.refuse()
    stage.at(long_after)
    assert len(stage.sent) == 2 and stage.director.starts == [stage.start] and stage.start > long_after
    stage.accept()
    for _ in range(2):
        stage.at(stage.start + 10**12)
    assert len(stage.sent) == 3 and len(stage.director.starts) == 2


def test_gives_up_where_nothing_tells_what_became_of_a_trajectory(stage, monkeypatch):
    stage.at(stage.start)
    later = time.monotonic() + 2.0 * PATIENCE
    monkeypatch.setattr("time.monotonic", lambda: later)
    with pytest.raises(ShortfallError, match="act exact: the nodes did not say what became of the trajectory"):
        stage.at(stage.start)
