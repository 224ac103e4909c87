"""The node tool_wrench as a process: calibrated by its service, then contacts of the tool."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import WrenchStamped
from node_robots import ARM, ARM_JOINTS
from std_srvs.srv import Trigger
from support.sensed_tool import BIAS, COM, FLANGE, MASS, NOISE, Wrist
from test_tool_wrench_core import POSES

ZERO = np.zeros(7)


class Sensor:
    """Publishes what the sensor reads, with noise, and the state after it."""

    def __init__(self, bench, node):
        self.bench, self.wrist, self.rng = bench, Wrist(), np.random.default_rng(0)
        self._readings = bench.publisher(WrenchStamped, f"{node}/wrench")

    def read(self, reading, frame=FLANGE):
        message = WrenchStamped()
        message.header.frame_id = frame
        noisy = -(reading + BIAS + self.rng.multivariate_normal(np.zeros(6), NOISE))
        force, torque = message.wrench.force, message.wrench.torque
        torque.x, torque.y, torque.z, force.x, force.y, force.z = noisy.tolist()
        self._readings.publish(message)

    def state(self, q, qd=ZERO, push=None):
        for _ in range(3):  # a sensor is quicker than the driver, also on a busy machine
            self.read(self.wrist.read(q, ZERO, ZERO, push))
        return self.bench.make_state(ARM_JOINTS, q, qd)


def test_a_service_guides_through_the_calibration_and_contacts_are_told(bench):
    node = bench.start("tool_wrench", robot_description=ARM, pose_time=0.3, state_timeout=60.0)
    wrenches = bench.listen(WrenchStamped, f"{node}/contact_wrench")
    bench.wait_state(node, "active")
    sensor = Sensor(bench, node)
    answers = [bench.call_once(Trigger, node, "calibrate", Trigger.Request())]
    assert not answers[0].success and "is to rest for 0.3 s" in answers[0].message
    for q in POSES:
        for _ in range(5):  # it moves there; a lone state that no motion explains would be refused
            bench.states.publish(sensor.state(q, np.ones(7)))
        asked = []

        def taken(asked=asked):
            """The answer, once there were enough readings at rest."""
            if asked and asked[-1].done() and asked[-1].result().success:
                return asked[-1].result()
            if not asked or asked[-1].done():
                asked.append(bench.start_call(Trigger, node, "calibrate", Trigger.Request()))
            return None

        answers.append(bench.send_until(lambda q=q: bench.states.publish(sensor.state(q)), taken, "a pose"))
    assert "pose 1 is taken" in answers[1].message and "points down" in answers[1].message
    mass = bench.get(node, "tool_mass")
    assert f"mass {mass:.4g} " in answers[-1].message, answers[-1].message
    assert abs(mass - MASS) < 0.05 and bench.get(node, "reading_sign") == -1
    np.testing.assert_allclose(bench.get(node, "tool_center_of_mass"), COM, atol=0.01)
    np.testing.assert_allclose(bench.get(node, "sensor_bias"), [*BIAS[3:], *BIAS[:3]], atol=0.3)
    push = np.array([0.0, 0.0, 0.0, 3.0, -9.0, 6.0])
    told = []
    for _ in range(30):
        answer = bench.ask(lambda: sensor.state(POSES[-1], push=push), wrenches)
        assert answer.header.frame_id == FLANGE
        told.append([answer.wrench.force.x, answer.wrench.force.y, answer.wrench.force.z])
    np.testing.assert_allclose(np.mean(told[5:], axis=0), push[3:], atol=0.4)
    sensor.read(np.zeros(6), "nowhere")
    bench.wait_status(node, lambda s, v: int(v["dropped: readings"] or 0) > 0, "a reading at no frame")
