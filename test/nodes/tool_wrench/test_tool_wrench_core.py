"""The node tool_wrench without ROS and as a process: guided calibration, and contacts of a tool in motion."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from node_robots import ARM, ARM_JOINTS
from std_srvs.srv import Trigger
from support.sensed_tool import BIAS, COM, FLANGE, INERTIA, MASS, NOISE, Wrist

from lie_dynamics_ros.core.errors import MessageError, ParameterError, RequestError
from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.nodes.tool_wrench.core import ToolWrenchCore, ToolWrenchOptions

S, MS = 10**9, 10**6
DEFAULTS = ToolWrenchOptions.defaults()
WRISTS = ((1.6, 0.5), (3.2, 0.5), (2.4, -1.0), (0.4, 1.8), (2.4, 2.0))
POSES = np.array([[0.0, -0.3, 0.0, -1.9, 0.0, *wrist] for wrist in WRISTS])


@pytest.fixture(scope="module")
def wrist():
    return Wrist()


class Cell:
    """The core, and the sensor's readings at 1 kHz with their noise."""

    def __init__(self, wrist, sign=-1, **values):
        self.wrist, self.sign = wrist, sign
        self.values = {**DEFAULTS, "pose_time": 0.2, **values}
        self.core = ToolWrenchCore(wrist.model, ToolWrenchOptions.from_values(self.values))
        self.rng, self.now = np.random.default_rng(0), S

    def send(self, q, qd, reading, frame=FLANGE):
        self.now += MS
        noisy = self.sign * (reading + BIAS + self.rng.multivariate_normal(np.zeros(6), NOISE))
        self.core.read(frame, noisy, self.now)
        return self.core.answer(RobotState(self.now, q, qd, arrival=self.now))

    def rest(self, q, push=None, count=300):
        reading = self.wrist.read(q, np.zeros(7), np.zeros(7), push)
        return [self.send(q, np.zeros(7), reading) for _ in range(count)]

    def move(self):
        """One state in motion, after which a pose is another one."""
        self.send(POSES[0], np.ones(7), np.zeros(6))

    def calibrate(self):
        for q in POSES:
            self.move()
            self.rest(q)
            found, text = self.core.add_pose()
        self.core.known = found
        return found, text


def test_poses_lead_to_a_calibration_as_good_as_told(wrist):
    cell = Cell(wrist)
    assert not any(cell.rest(POSES[0], count=50))
    with pytest.raises(RequestError, match="is to rest for"):
        cell.core.add_pose()
    for _ in range(10):
        cell.now += 24 * MS  # a slow sensor
        cell.rest(POSES[0], count=1)
    with pytest.raises(RequestError, match="longer pose_time"):
        cell.core.add_pose()
    found, text = cell.calibrate()
    assert found.sign == -1 and "mass 1.3" in text and "points down" in text
    assert abs(found.mass - MASS) < 4.0 * found.mass_deviation < 0.1
    assert (np.abs(found.com - COM) < 4.0 * found.com_deviation).all() and found.com_deviation.max() < 5e-3
    assert found.plausibility > 1e-4
    with pytest.raises(RequestError, match="as in pose 5"):
        cell.core.add_pose()


def test_contacts_are_told_in_motion_and_none_where_there_is_none(wrist):
    cell = Cell(wrist, tool_inertia=INERTIA[np.triu_indices(3)].tolist())
    cell.calibrate()
    t = np.arange(0.0, 1.5, 1e-3)[:, None]
    q = POSES[0] + 0.3 * np.sin(3.0 * t + np.arange(7)) - 0.3 * np.sin(np.arange(7))
    qd, qdd = 0.9 * np.cos(3.0 * t + np.arange(7)), -2.7 * np.sin(3.0 * t + np.arange(7))
    push, free, touched = np.array([0.0, 0.0, 0.0, 6.0, -4.0, 5.0]), [], []
    for k, motion in enumerate(zip(q, qd, qdd, strict=True)):
        now = push if k >= 1000 else None
        answer = cell.send(*motion[:2], wrist.read(*motion, now))
        (free if now is None else touched).append(answer.wrench)
    assert np.abs(np.mean(free[200:], axis=0)[3:]).max() < 0.2
    assert np.abs(np.array(free[200:])[:, 3:]).max() < 1.0  # five deviations of the noise, and late accelerations
    assert np.abs(np.mean(touched[100:], axis=0) - push).max() < 0.2


def test_each_number_of_a_calibration_can_be_set_anew(wrist):
    cell = Cell(wrist, sensor_bias=[0.0] * 6, tool_mass=1.0)
    cell.core.known = cell.calibrate()[0]
    kept = {"sensor_bias": [*cell.core.known.bias[3:], *cell.core.known.bias[:3]], "tool_mass": cell.core.known.mass,
            "tool_center_of_mass": cell.core.known.com.tolist(), "reading_sign": -1}  # fmt: skip
    cell.core.set_options(ToolWrenchOptions.from_values({**cell.values, **kept}))
    assert cell.core.known.degrees > 0  # with how good it is
    for name, value in (("tool_center_of_mass", [0.0, 0.0, 0.5]), ("reading_sign", 1), ("tool_mass", 2.0)):
        cell.core.set_options(ToolWrenchOptions.from_values({**cell.values, **kept, name: value}))
        assert {"tool_center_of_mass": cell.core.known.com.tolist(), "reading_sign": cell.core.known.sign,
                "tool_mass": cell.core.known.mass}[name] == value  # fmt: skip


def test_zero_takes_the_drift_of_the_bias(wrist):
    cell = Cell(wrist)
    with pytest.raises(RequestError, match="not calibrated"):
        cell.core.zeroed()
    cell.calibrate()
    drift = np.array([0.0, 0.0, 0.0, 2.0, 0.0, 0.0])
    reading = wrist.read(POSES[1], np.zeros(7), np.zeros(7)) + drift
    cell.move()
    for _ in range(300):
        answer = cell.send(POSES[1], np.zeros(7), reading)
    assert np.abs(answer.wrench - drift).max() < 0.6  # six deviations of a reading
    before = cell.core.known.bias
    np.testing.assert_allclose(cell.core.zeroed() - before, drift, atol=0.1)


def test_what_cannot_be_used_is_refused_and_silence_tells_nothing(wrist):
    cell = Cell(wrist, sensor_bias=[0.0] * 6, tool_mass=1.0)
    with pytest.raises(MessageError, match="'nowhere'"):
        cell.core.read("nowhere", np.zeros(6), cell.now)
    with pytest.raises(MessageError, match="not finite"):
        cell.core.read(FLANGE, np.full(6, np.nan), cell.now)
    assert cell.send(POSES[0], np.zeros(7), np.zeros(6)) is not None
    late = RobotState(cell.now + S, POSES[0], np.zeros(7), arrival=cell.now + S)
    assert cell.core.answer(late) is None
    afloat = Cell(wrist, gravity=[0.0, 0.0, 0.0])
    afloat.rest(POSES[0])
    with pytest.raises(RequestError, match="no gravity"):
        afloat.core.add_pose()
    for name, value in (("sensor_bias", [1.0, 2.0]), ("reading_sign", 0), ("sensor_frame", "nowhere")):
        with pytest.raises(ParameterError, match=name):
            Cell(wrist, **{name: value})

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
