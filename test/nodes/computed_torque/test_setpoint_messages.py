"""The topic ~/setpoint: its messages, their order, and the last one."""

from __future__ import annotations

import numpy as np
import pytest
from node_robots import ARM, ARM_JOINTS, assert_close, oracle
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

Q = np.linspace(-0.5, 0.5, 7)
ORDER = [3, 0, 1, 2, 6, 5, 4]
TYPES = {"joint_state": JointState, "joint_trajectory_point": JointTrajectoryPoint}


@pytest.mark.parametrize("kind", TYPES)
def test_a_robot_at_rest_is_to_stay_there(bench, kind):
    node = bench.start("computed_torque", robot_description=ARM, outputs=kind, joints=[ARM_JOINTS[k] for k in ORDER])
    efforts, points = bench.listen(JointState, f"{node}/joint_efforts"), bench.listen(TYPES[kind], f"{node}/setpoint")

    def asked():
        bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, np.zeros(7)), efforts)
        return points and points[-1]

    point = bench.wait(asked, "a set point")  # it may be heard later than efforts are
    position, velocity = (
        (point.position, point.velocity) if kind == "joint_state" else (point.positions, point.velocities)
    )
    assert_close(position, Q[ORDER])
    assert_close(point.effort, oracle(ARM, Q)[ORDER], 1e-10)
    assert np.abs(velocity).max() == 0.0
    if kind == "joint_state":
        assert list(point.name) == [ARM_JOINTS[k] for k in ORDER]
    else:
        assert np.abs(point.accelerations).max() == 0.0
    count = len(points)
    bench.states.publish(bench.make_state(ARM_JOINTS, Q, np.zeros(7)))
    assert bench.change_state(node, "deactivate")
    bench.wait(lambda: len(points) > count, "the last set point")
    assert_close(points[-1].effort, oracle(ARM, Q)[ORDER], 1e-10)
