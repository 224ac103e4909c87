"""A simulator that is paused, over DDS: with clock and states a goal pauses and efforts cease; then all goes on."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from action_interface import provide
from action_msgs.msg import GoalStatus
from controlled_robot import MIDDLE, trajectory
from mujoco_driver import MujocoDriver
from node_harness import stamp_of
from rclpy.action import ActionClient
from rosgraph_msgs.msg import Clock
from support import arms

from lie_dynamics_ros.ros.wire import qos

pytestmark = pytest.mark.slow
FILE = Path(__file__).parents[3] / "examples" / "drivers" / "simulator.yaml"
REPORTS = 2  # how many seconds the pause lasts at least; the file lets states be silent for one, of simulated time


class PausableSimulator(MujocoDriver):
    """Time goes on with the states, and only with them."""

    def __init__(self, bench, **parameters):
        self.clock = bench.publisher(Clock, "/clock", heard=False)
        super().__init__(bench, arms.load("panda_arm"), 1, MIDDLE, **parameters)

    def send(self):
        now = Clock()
        now.clock.sec, now.clock.nanosec = divmod(self.stamp, 10**9)
        self.clock.publish(now)
        super().send()


def test_a_paused_simulator_pauses_a_goal_and_efforts_go_on_without_a_step(ros, bench):
    with pytest.MonkeyPatch.context() as patch:
        provide(patch)
        from control_msgs.action import FollowJointTrajectory

        parameters = yaml.safe_load(FILE.read_text())["computed_torque"]["ros__parameters"]
        assert parameters["silence_timeout"] < REPORTS
        driver = PausableSimulator(bench, **parameters)
        (node,) = driver.nodes
        efforts, names = driver.efforts[node], driver.arm.model.joint_names
        client = ActionClient(
            bench.node, FollowJointTrajectory, f"{node}/follow_joint_trajectory",
            goal_service_qos_profile=qos.REQUESTS, result_service_qos_profile=qos.REQUESTS,
        )  # fmt: skip
        bench.wait(client.server_is_ready, "the action")
        target, zero = [MIDDLE + 0.4], [np.zeros(7)]
        sent = client.send_goal_async(
            FollowJointTrajectory.Goal(trajectory=trajectory(names, [2.0], target, zero, zero))
        )
        driver.run(sent.done, "the answer to a goal")
        result = sent.result().get_result_async()
        driver.run(lambda: driver.simulated.q[0] > MIDDLE[0] + 0.15, "the middle of the motion")
        count, told = len(efforts), {}

        def stands_still():  # reports come once a second, whatever time the simulator tells
            status = bench.reported(node, lambda s, v: "simulated time stands still" in s.message)
            told[id(status)] = status
            return len([s for s in told.values() if s is not None]) > REPORTS

        bench.wait(stands_still, "reports of a pause")
        assert len(efforts) == count and not result.done()
        driver.run(result.done, "the end of the goal")
        found = result.result()
        assert (found.status, found.result.error_code) == (GoalStatus.STATUS_SUCCEEDED, 0), found.result.error_string
        np.testing.assert_allclose(driver.simulated.q, target[0], atol=5e-3)
        # The first efforts after the pause differ from the last ones before by no more than any others of the motion.
        begin = count - 50
        steps = np.abs(np.diff([e.effort for e in efforts[begin:]], axis=0)).max(axis=1)
        assert stamp_of(efforts[count]) - stamp_of(efforts[count - 1]) == 2_000_000
        assert steps[count - 1 - begin] <= 1.5 * np.median(steps[:49])
