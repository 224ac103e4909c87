"""Gravity from an IMU, in all nodes that answer a robot's states, against another library."""

from __future__ import annotations

import numpy as np
import pytest
from node_robots import ARM, ARM_JOINTS, assert_close, oracle
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import Imu, JointState
from support.grids import every_run

Q = np.linspace(-0.5, 0.5, 7)
STILL = {
    "inverse_dynamics": {},
    "hybrid_dynamics": {"unnamed_joints": "zero_acceleration"},
    "computed_torque": {"blend_time": 0.0},
}
ROOT = "panda_link0"


def imu(bench, base, orientation=True, frame=ROOT, stamp=None):
    message = Imu()
    stamp = bench.now() if stamp is None else stamp
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    if orientation:
        q = message.orientation
        q.x, q.y, q.z, q.w = base.as_quat().tolist()
    else:
        message.orientation_covariance[0] = -1.0
        a = message.linear_acceleration
        a.x, a.y, a.z = base.inv().apply([0, 0, 9.81]).tolist()
    return message


@pytest.mark.parametrize("module", every_run(("computed_torque",), STILL))
def test_the_direction_of_gravity_follows_the_base(bench, module):
    node = bench.start(
        module, robot_description=ARM, gravity_source="imu", imu_filter_time=0.0, imu_timeout=0.2, **STILL[module]
    )
    answers = bench.listen(JointState, f"{node}/joint_efforts")
    messages = bench.publisher(Imu, "imu")
    before = oracle(ARM, Q)
    answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, np.zeros(7)), answers)
    assert_close(answer.effort, before, 1e-10)
    bench.wait_status(node, lambda s, v: "no IMU message could be used yet" in s.message, "why")
    for roll, orientation in ((0.3, True), (-0.4, False)):
        base = Rotation.from_euler("xyz", [roll, 0.2, 1.0])
        expected = oracle(ARM, Q, gravity=base.inv().apply([0, 0, -9.81]))

        def ask(base=base, orientation=orientation):
            messages.publish(imu(bench, base, orientation))
            return bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, np.zeros(7)), answers)

        answer = bench.turns(ask, expected, before, numbers=lambda a: a.effort)
        assert_close(answer.effort, expected, 1e-10)
        before = expected
    since = bench.now()
    bench.wait_status(
        node, lambda s, v: "gravity keeps its last direction" in s.message and v["gravity source"] == "imu", "silence",
        since=since,
    )  # fmt: skip
    # What cannot be used is counted, and changes nothing; another parameter keeps what was measured.
    bench.send_until(
        lambda: messages.publish(imu(bench, base, frame="panda_link3")),
        lambda: bench.reported(node, lambda s, v: any("panda_link3" in value for value in v.values())),
        "a refusal",
    )
    assert bench.set(node, payload_frame="panda_link8").successful
    answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, np.zeros(7)), answers)
    assert_close(answer.effort, before, 1e-10)
