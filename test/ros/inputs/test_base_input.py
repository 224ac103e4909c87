"""What a node takes of messages that tell how its base moves or is tilted, and what it says of them."""

from functools import partial
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import numpy as np
from geometry_msgs.msg import Pose, Twist
from std_msgs.msg import Header
from support import arms, cores
from support.two_arms import CARRIERS, LEANING
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.core.frames import link_of
from lie_dynamics_ros.core.moving_base import GravitySensor, MovingBase, Odometry
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.ros.inputs import base_input
from lie_dynamics_ros.ros.inputs.base_input import ImuInput
from lie_dynamics_ros.ros.inputs.robot_inputs import RobotInputs
from lie_dynamics_ros.ros.outputs.diagnostics import Report


@pytest.fixture
def odometry():
    return Odometry(Model.from_urdf(LEANING, floating_base=True))


@pytest.fixture
def tell(odometry, monkeypatch):
    """Sends odometry, whose message needs no package here, to a node with frames of its own."""
    monkeypatch.setattr(base_input, "OdometryMessage", SimpleNamespace)
    heard, inputs = {}, SimpleNamespace(odometry=odometry)
    base_input.BaseInput(
        SimpleNamespace(
            settings={"base_motion": "odometry", "carrying_joints": "locked"}, answering=True, ros_time=lambda: 10**9,
            inputs=inputs, link_of=lambda frame: link_of(frame, "left/"),
            take_in=lambda _, topic, take, *__: heard.setdefault(topic, partial(take, None, inputs)),
        )
    )  # fmt: skip

    def tell(child="left/stand", orientation=1.0, place=0.0, speed=0.0):
        pose, twist = Pose(), Twist()
        pose.orientation.w, pose.position.x, twist.linear.x = orientation, place, speed
        told = [SimpleNamespace(**{name: value}) for name, value in (("pose", pose), ("twist", twist))]
        header = Header(frame_id="odom")
        heard["odometry"](SimpleNamespace(header=header, child_frame_id=child, pose=told[0], twist=told[1]))

    return tell


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"child": "stand"}, "odometry: the frame 'stand'; expected one that begins with 'left/'"),
        ({"child": "left/nobody"}, "odometry of the frame 'nobody'; expected a link or frame of the robot"),
        ({"orientation": 0.0}, "odometry: a pose whose quaternion has length 0 instead of 1"),
        ({"place": np.nan}, "odometry: a pose with numbers that are not finite"),
        ({"speed": np.inf}, "odometry with a twist that is not finite or beyond 1e+06"),
    ],
)
def test_whatever_is_wrong_is_counted_as_odometry_and_named_so(odometry, tell, wrong, why):
    tell(speed=0.5)
    assert odometry.at(10**9, 0)[1][3] == 0.5 and not odometry.problem
    with pytest.raises(MessageError) as refusal:
        tell(**wrong)
    assert (refusal.value.kind, str(refusal.value), odometry.problem) == ("odometry", why, why)
    assert odometry.at(10**9, 0)[1][3] == 0.5


def test_accelerations_of_joints_that_carry_are_those_that_a_robot_may_have():
    """One that is far beyond would take all efforts for `base_timeout`, or for ever where that is 0."""
    model, whole = (Model.from_urdf(LEANING, base_link="left_panda_link0", with_carriers=k) for k in (False, True))
    inputs = RobotInputs(model, (), MovingBase(model, whole, "left_panda_link0"))
    assert inputs._base.joints == CARRIERS

    def carry(rate):
        point = JointTrajectoryPoint(accelerations=[rate])
        inputs.carry(JointTrajectory(joint_names=["torso_lift"], points=[point]), 0)

    carry(2.0)
    for rate in (np.nan, 1e7, -1e100):
        with pytest.raises(MessageError, match="finite"):
            carry(rate)
    np.testing.assert_array_equal(inputs._told.at(0, 0), [2.0, 0.0, 0.0])


@pytest.fixture
def node():
    model = Model.from_urdf(arms.OWN)
    core = cores.make_core(model)
    return SimpleNamespace(
        settings={"gravity_source": "imu", "imu_timeout": 0.5}, core=core, answering=core, take_in=lambda *_: None,
        inputs=SimpleNamespace(gravity=GravitySensor(model)), ros_time=lambda: 10**9,
    )  # fmt: skip


def said(node):
    report = Report()
    ImuInput(node).describe(report)
    return report.values["gravity [m/s^2]"], " ".join(report.reasons)


def test_the_gravity_that_is_used_is_the_one_that_is_told(node):
    assert said(node) == ("0, 0, -9.81", "no IMU message could be used yet: gravity is that of the parameter")
    sideways = node.inputs.gravity.measure("panda_link0", np.array([0.0, 1.0, 0.0, 0.0]), None, 10**9, 9.81, 0.0)
    node.core.measure_gravity(sideways)
    assert said(node) == ("-0, -0, 9.81", "")
    node.ros_time = lambda: 3 * 10**9
    assert "could be used for 2.0 s: gravity keeps its last direction" in said(node)[1]
    node.inputs.gravity.clear()  # time went back
    told = said(node)
    assert told == ("-0, -0, 9.81", "no IMU message could be used yet: gravity is as it was measured last")
