"""Bases that odometry moves, in all nodes that answer a robot's states, against another library."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import AccelStamped, WrenchStamped
from node_robots import assert_close
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from support.grids import every_run
from support.two_arms import CARRIERS, LEANING, LEFT, RIGHT, Whole
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

nav = pytest.importorskip("nav_msgs.msg", reason="nav_msgs is not installed")
pin = pytest.importorskip("pinocchio", reason="the oracle, pin, is not installed")

TURN, PLACE = Rotation.from_euler("xyz", [0.3, -0.4, 2.0]), [3.0, -2.0, 0.5]
TWIST = np.array([*TURN.inv().apply([0.0, 0.0, 0.6]), 0.5, 0.1, -0.2])
"""About the vertical: whichever message of odometry a state meets, gravity points the same way on the base."""
RATE = np.array([0.5, 0.1, -0.6, 0.2, 0.9, -0.4])
STILL = {
    "inverse_dynamics": {},
    "hybrid_dynamics": {"unnamed_joints": "zero_acceleration"},
    "computed_torque": {"blend_time": 0.0},
}
NAMES = (*CARRIERS, *LEFT, *RIGHT)
Q = np.linspace(0.1, 0.3, len(NAMES))


def write(vector, numbers):
    vector.x, vector.y, vector.z = (float(x) for x in numbers)


def odometry(stamp, turn=TURN, twist=TWIST, child="stand", frame="odom"):
    message = nav.Odometry(child_frame_id=child)
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    write(message.pose.pose.position, PLACE)
    q = message.pose.pose.orientation
    q.x, q.y, q.z, q.w = turn.as_quat().tolist()
    write(message.twist.twist.angular, twist[:3])
    write(message.twist.twist.linear, twist[3:])
    return message


def expected(rate=None, turn=TURN, twist=TWIST, **wrenches):
    """Efforts that hold all joints still on the base that moves, and the wrench on it."""
    whole = Whole(pin, LEANING, free=True)
    whole.move_base(turn.as_quat(), PLACE, twist, np.zeros(6) if rate is None else rate)
    whole.move(NAMES, Q, np.zeros(len(NAMES)))
    return whole.efforts(NAMES, wrenches), whole.base_wrench


class Rider:
    """A node, and who tells it of its base."""

    def __init__(self, bench, module, **parameters):
        self.bench = bench
        given = {"robot_description": LEANING, "base_motion": "odometry", "saturate_efforts": False}
        self.node = bench.start(module, **{**given, **STILL[module], **parameters})
        self.answers = bench.listen(JointState, f"{self.node}/joint_efforts")
        self.told = bench.publisher(nav.Odometry, "odometry")

    def state(self, stamp=None):
        return self.bench.make_state(NAMES, Q, np.zeros(len(NAMES)), stamp)

    def both(self, late=0.0, **told):
        """Publish odometry so much older than a state [s], and return that."""
        state = self.state()
        stamp = state.header.stamp.sec * 10**9 + state.header.stamp.nanosec
        self.told.publish(odometry(stamp - round(late * 1e9), **told))
        return state

    def efforts(self, *more, **told):
        found = self.bench.ask(lambda: self.both(**told), self.answers, *more)
        answer, *others = found if more else (found,)
        efforts = dict(zip(answer.name, answer.effort, strict=True))
        return np.array([efforts[name] for name in NAMES]), *others


def numbers(message):
    """Angular part, then the linear part, of a wrench or an acceleration."""
    part = getattr(message, "wrench", None) or message.accel
    first, second = (part.torque, part.force) if hasattr(part, "force") else (part.angular, part.linear)
    return np.array([first.x, first.y, first.z, second.x, second.y, second.z])


@pytest.mark.parametrize("module", every_run(("inverse_dynamics",), STILL))
def test_efforts_are_those_of_a_base_that_moves_as_odometry_tells(bench, module):
    rider = Rider(bench, module)
    efforts, wrench = expected()
    if module == "computed_torque":
        (found,) = rider.efforts()
        assert_close(found, efforts, 1e-9)
        return
    wrenches = bench.listen(WrenchStamped, f"{rider.node}/base_wrench")
    found, pushed = rider.efforts(wrenches)
    assert_close(found, efforts, 1e-9)
    assert pushed.header.frame_id == "stand"
    assert_close(numbers(pushed), wrench, 1e-9)
    # The acceleration that the base is to have.
    desired = bench.publisher(AccelStamped, f"{rider.node}/desired_base_acceleration")
    message = AccelStamped()
    message.header.frame_id = "stand"
    write(message.accel.angular, RATE[:3])
    write(message.accel.linear, RATE[3:])
    accelerated, on_base = expected(RATE)

    def ask():
        desired.publish(message)
        return rider.efforts(wrenches)

    _, pushed = bench.turns(ask, accelerated, efforts, numbers=lambda found: found[0], tolerance=1e-9)
    assert_close(numbers(pushed), on_base, 1e-9)


def test_a_free_base_accelerates_as_nothing_holds_it_but_wrenches(bench):
    rider = Rider(bench, "hybrid_dynamics", free_base=True, wrench_timeout=0.0)
    rates = bench.listen(AccelStamped, f"{rider.node}/base_acceleration")
    wrenches = bench.listen(WrenchStamped, f"{rider.node}/base_wrench")
    push = bench.publisher(WrenchStamped, f"{rider.node}/external_wrench")
    message = WrenchStamped()
    message.header.frame_id = "stand"
    message.wrench.force.x, message.wrench.torque.y = 300.0, 50.0

    def held(**wrenches_there):
        efforts, rate, wrench = rider.efforts(rates, wrenches)
        assert rate.header.frame_id == "stand" and not numbers(wrench).any()
        found, nothing = expected(numbers(rate), **wrenches_there)
        return np.abs(nothing).max() < 1e-7 and np.abs(efforts - found).max() < 1e-7

    assert held()
    pushed = {"stand": ([0.0, 50.0, 0.0], [300.0, 0.0, 0.0])}
    bench.send_until(lambda: push.publish(message), lambda: held(**pushed), "the push")


def test_what_odometry_must_be(bench):
    """Without, or with what cannot be used, nothing is answered; the reason is told; then all goes on."""
    rider = Rider(bench, "inverse_dynamics", base_timeout=0.5, odometry_frame="odom", state_timeout=5.0)
    node = rider.node

    def told(why, make):
        since = bench.now()
        bench.send_until(
            lambda: bench.states.publish(make()),
            lambda: bench.reported(node, lambda s, v: any(why in text for text in (s.message, *v.values())), since),
            why,
        )

    told("no odometry could be used yet", rider.state)
    bad = {
        "frame 'map'; odometry_frame is 'odom'": {"frame": "map"},
        "of the frame 'nowhere'": {"child": "nowhere"},
        "'torso', which moves": {"child": "torso"},
        "a twist that is not finite": {"twist": np.array([0, 0, np.nan, 0, 0, 0])},
    }
    for why, what in bad.items():
        told(why, lambda what=what: rider.both(**what))
    assert not rider.answers
    # Somewhat older than the state; `test_base_odometry` sees it turned on.
    (found,) = rider.efforts(late=0.2)
    assert_close(found, expected()[0], 1e-9)
    count = len(rider.answers)
    told("s older than the state; base_timeout is 0.5 s", lambda: rider.state(bench.now() + 600_000_000))
    assert len(rider.answers) >= count
    assert bench.set(node, base_timeout=0.0).successful
    rider.efforts(late=0.2)
    second = bench.publisher(nav.Odometry, "odometry")
    told("2 publishers of", rider.both)
    bench.node.destroy_publisher(second)


@pytest.mark.parametrize("module", every_run(("hybrid_dynamics",), STILL))
def test_joints_that_carry_an_arm_move_as_states_and_accelerations_tell(bench, module):
    """Names and efforts are those of the arm alone; `test_moving_base` has the cores on all bases."""
    node = bench.start(
        module, robot_description=LEANING, base_link="left_panda_link0", carrying_joints="states", base_timeout=0.0,
        saturate_efforts=False, **STILL[module],
    )  # fmt: skip
    answers = bench.listen(JointState, f"{node}/joint_efforts")
    told = bench.publisher(JointTrajectory, f"{node}/carrying_accelerations")
    speed, rate = np.array([0.1, 0.8, -0.5]), np.array([0.7, 0.0, 2.0])
    velocity = np.concatenate((speed, np.zeros(14)))

    def expected_on(rate):
        whole = Whole(pin, LEANING)
        whole.move(NAMES, Q, velocity, [*rate, *np.zeros(14)])
        return whole.efforts(LEFT)

    def ask():
        answer = bench.ask(lambda: bench.make_state(NAMES, Q, velocity), answers)
        assert tuple(answer.name) == LEFT
        return answer

    steady, speeding = expected_on(np.zeros(3)), expected_on(rate)
    assert_close(ask().effort, steady, 1e-9)
    told.publish(JointTrajectory(joint_names=["torso_lift"], points=[JointTrajectoryPoint(accelerations=[np.nan])]))
    names = ["torso_lean", "stranger", "torso_lift"]
    point = JointTrajectoryPoint(accelerations=[rate[2], 9.0, rate[0]])
    told.publish(JointTrajectory(joint_names=names, points=[point]))
    bench.turns(ask, speeding, steady, numbers=lambda answer: answer.effort, tolerance=1e-9)


def test_a_link_fixed_to_the_root_link_may_be_the_one_that_is_told_of(bench):
    """And an angular velocity makes its origin move otherwise than that of the root link."""
    mounted = LEANING.replace(
        "</robot>",
        '<link name="footprint"/><joint name="feet" type="fixed"><parent link="stand"/><child link="footprint"/>'
        '<origin xyz="0.4 0.1 -0.5" rpy="0.2 0.1 1"/></joint></robot>',
    )
    rider = Rider(bench, "inverse_dynamics", robot_description=mounted)
    feet = Rotation.from_euler("xyz", [0.2, 0.1, 1.0])
    linear = TWIST[3:] + np.cross(TWIST[:3], [0.4, 0.1, -0.5])
    twist = np.concatenate((feet.inv().apply(TWIST[:3]), feet.inv().apply(linear)))
    (found,) = rider.efforts(child="footprint", turn=TURN * feet, twist=twist)
    assert_close(found, expected()[0], 1e-9)
