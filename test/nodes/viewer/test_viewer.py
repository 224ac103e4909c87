"""The node viewer as a process: its page shows what is published, what is missing, and what comes back."""

import math
from importlib.util import find_spec

import numpy as np
import pytest
from geometry_msgs.msg import PoseWithCovarianceStamped
from node_platforms import TRUE, as_numbers
from node_robots import ARM, ARM_JOINTS, pendulum
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String

if find_spec("viser") is None:  # not imported by all who collect tests
    pytest.skip("viser, which serves the viewer's page, is not installed", allow_module_level=True)

from support.page.page_watcher import Watcher

POSITION = np.linspace(-0.5, 0.5, 7)


class Looking:
    """A viewer's process and who looks at its page."""

    def __init__(self, bench):
        self.bench = bench
        self.node = bench.start("viewer", port=0, stale_after=0.5, rate=50.0)
        status = bench.wait_status(self.node, lambda s, v: v["page"].startswith("http"), "the page's address")
        self.url = next(v.value for v in status.values if v.key == "page")
        self.watcher = Watcher(self.url)

    def sees(self, condition, what, send=lambda: None):
        """Publish until the page shows something."""

        def seen():
            while self.watcher.read(0.0):
                pass
            return condition()

        return self.bench.send_until(send, seen, f"{what} on the page")

    def look_again(self):
        self.watcher.close()
        self.watcher = Watcher(self.url)

    def drive(self, position=POSITION, names=ARM_JOINTS, effort=()):
        message = self.bench.make_state(names, position)
        message.effort = list(effort)
        self.bench.states.publish(message)

    def place(self):
        return self.watcher.nodes.get("/robot/7", {}).get("position")


@pytest.fixture
def looking(bench):
    looking = Looking(bench)
    yield looking
    looking.watcher.close()


def test_shows_a_robot_its_loss_and_its_return(looking):
    bench = looking.bench
    looking.sees(lambda: "waiting for a robot description" in looking.watcher.text, "that it waits")
    bench.publish_description(ARM)
    looking.sees(lambda: "no joint states yet" in looking.watcher.text, "the robot")
    looking.sees(lambda: "live" in looking.watcher.text and looking.place(), "the arm", looking.drive)
    before = looking.place()
    looking.sees(lambda: looking.place() != before, "a motion", lambda: looking.drive(POSITION + 0.2))
    efforts = bench.publisher(JointState, "inverse_dynamics/joint_efforts", heard=False)
    torques = JointState(name=ARM_JOINTS, effort=[1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0])
    looking.sees(lambda: "-6 of 12 N m" in looking.watcher.text, "the torques", lambda: efforts.publish(torques))
    before, all_joints = looking.place(), bench.publisher(JointState, "closed_loop/joint_states")
    closed = JointState(name=ARM_JOINTS, position=(POSITION - 0.3).tolist())
    looking.sees(lambda: looking.place() != before, "joints of a loop", lambda: all_joints.publish(closed))
    looking.sees(lambda: "stale: no joint states" in looking.watcher.text, "that the driver is lost")
    looking.look_again()  # a reload of the page meanwhile
    looking.sees(lambda: "stale: no joint states" in looking.watcher.text and looking.place(), "the same")
    looking.sees(lambda: "live" in looking.watcher.text, "that the driver is back", looking.drive)
    bench.publish_description(pendulum())
    looking.sees(
        lambda: "pendulum" in looking.watcher.text and "live" in looking.watcher.text,
        "another robot",
        lambda: looking.drive([0.2], ["swing"]),
    )
    assert bench.change_state(looking.node, "deactivate") and bench.change_state(looking.node, "activate")
    status = bench.wait_status(looking.node, lambda s, v: v["page"].startswith("http"), "a page again", bench.now())
    looking.url = next(v.value for v in status.values if v.key == "page")
    looking.look_again()
    looking.sees(lambda: "pendulum" in looking.watcher.text, "the robot on a page opened again")


def pose_of(numbers, covariance):
    message = PoseWithCovarianceStamped()
    p, q = message.pose.pose.position, message.pose.pose.orientation
    p.x, p.y, p.z, q.x, q.y, q.z, q.w = numbers
    message.pose.covariance = covariance
    return message


def test_goes_on_after_whatever_is_sent(looking):
    bench = looking.bench
    bench.publish_description(ARM)
    looking.sees(lambda: "live" in looking.watcher.text, "the arm", looking.drive)
    good = (1e-10 * np.eye(6)).ravel()
    poses = bench.publisher(PoseWithCovarianceStamped, "stewart_pose/pose")
    texts = bench.publisher(String, "robot_description", 1, heard=False)
    numbers = as_numbers(TRUE)
    for spoiled in (
        pose_of([math.nan, *numbers[1:]], good),
        pose_of(numbers, [math.nan] * 36),
        pose_of([*numbers[:3], 0.0, 0.0, 0.0, 0.0], good),
        pose_of([1e300, *numbers[1:]], good),
    ):

        def drops(v):
            return sum(int(count) for kind, count in v.items() if kind.startswith("dropped: "))

        before = [0]
        bench.wait_status(
            looking.node, lambda s, v, b=before: b.__setitem__(0, drops(v)) or True, "a report", bench.now()
        )
        bench.send_until(
            lambda m=spoiled: poses.publish(m),
            lambda b=before: bench.reported(looking.node, lambda s, v: drops(v) > b[0] and s.level == b"\x01"),
            "that it was dropped",
        )
    for state in (b"\x00\x01\x00\x03", b"\xff" * 50, ([math.inf] * 7, ARM_JOINTS), (POSITION[:3], ARM_JOINTS)):
        bench.states.publish(state) if isinstance(state, bytes) else looking.drive(*state)
    texts.publish(String(data="<robot"))
    texts.publish(String(data="<!DOCTYPE x [<!ENTITY a 'b'>]><robot name='&a;'/>"))
    touching = bench.publisher(Bool, "contact/touching")
    looking.sees(
        lambda: (
            "touching" in looking.watcher.text
            and "/platform/legs" in looking.watcher.nodes
            and "live" in looking.watcher.text
        ),
        "all that is good",
        lambda: (poses.publish(pose_of(numbers, good)), touching.publish(Bool(data=True)), looking.drive()),
    )
    assert np.isfinite(looking.watcher.numbers()).all()
    assert "panda" in looking.watcher.text
