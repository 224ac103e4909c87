"""The node contact as a process, and what computed_torque makes of what it tells."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from node_harness import stamp_of
from node_robots import ARM, ARM_JOINTS, oracle
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool, Trigger
from support.arms import load
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from lie_dynamics_ros.lie_dynamics import Model, frame_pose, inverse_dynamics, jacobian

Q = np.array([0.0, -0.3, 0.0, -1.9, 0.0, 1.6, 0.5])
FORCE = np.array([2.0, -3.0, 4.0])
GIVEN = {"velocity_noise": 1e-3, "effort_noise": 0.02, "velocity_source": "measured"}


def held(bench, push=0.0, stamp=None):
    message = bench.make_state(ARM_JOINTS, Q, np.zeros(7), stamp)
    message.effort = (oracle(ARM, Q) - push).tolist()
    return message


def no_state_is_lost(bench):
    side = f"qos_overrides.{bench.namespace}/joint_states.subscription"
    return {f"{side}.reliability": "reliable", f"{side}.depth": 100}


def call(bench, node, service):
    return bench.call_once(Trigger, node, service, Trigger.Request())


def switch(bench, node, service, on):
    return bench.call_once(SetBool, node, service, SetBool.Request(data=on))


def test_a_push_is_told_with_its_wrench_and_its_end(bench):
    from lie_dynamics_interfaces.msg import ContactState

    node = bench.start("contact", robot_description=ARM, contact_frame="panda_link8", state_timeout=60.0, **GIVEN)
    touching = bench.listen(Bool, f"{node}/touching")
    efforts = bench.listen(JointState, f"{node}/external_efforts")
    wrenches = bench.listen(WrenchStamped, f"{node}/contact_wrench")
    reports = bench.listen(ContactState, f"{node}/contact_state")
    bench.wait_state(node, "active")
    model = Model.from_urdf(ARM)
    push = jacobian(model, Q, "panda_link8", "aligned")[3:].T @ FORCE
    stamps = count(bench.now(), 2_000_000)  # a machine that is busy makes no gaps in them, which are no contacts
    answers = [bench.ask(lambda: held(bench, 0.0, next(stamps)), efforts, wrenches, reports) for _ in range(3)]
    assert np.abs(answers[-1][0].effort).max() < 1e-9 and not answers[-1][2].touching
    for _ in range(80):
        effort, wrench, report = bench.ask(lambda: held(bench, push, next(stamps)), efforts, wrenches, reports)
    bench.wait(lambda: touching and touching[-1].data, "a contact")
    np.testing.assert_allclose(effort.effort, push, atol=1e-9)
    axes = frame_pose(model, Q, "panda_link8")[:3, :3]
    force = [wrench.wrench.force.x, wrench.wrench.force.y, wrench.wrench.force.z]
    np.testing.assert_allclose(axes @ force, FORCE, atol=1e-9)
    assert wrench.header.frame_id == report.frame_id == "panda_link8"
    np.testing.assert_allclose(report.wrench[:3], force)
    assert report.touching and report.evidence > 1.0 and report.misfit > 0.99 and not report.unfelt
    cover = np.reshape(report.effort_covariance, (7, 7))
    np.testing.assert_allclose(cover, cover.T)
    assert np.linalg.eigvalsh(cover).min() > 0.0
    bench.send_until(lambda: bench.states.publish(held(bench)), lambda: not touching[-1].data, "the end of the contact")
    assert [message.data for message in touching][-3:] in ([False, True, False], [True, False])


def test_states_without_efforts_are_refused_and_noise_is_measured_at_rest(bench):
    bench.drive(qos=QoSProfile(depth=100))
    node = bench.start("contact", robot_description=ARM, noise_time=0.3, state_timeout=60.0, **no_state_is_lost(bench))
    efforts = bench.listen(JointState, f"{node}/external_efforts")
    bench.wait_state(node, "active")
    bench.send_until(
        lambda: bench.states.publish(bench.make_state(ARM_JOINTS, Q, np.zeros(7))),
        lambda: bench.reported(node, lambda s, v: int(v["dropped: no efforts"] or 0) > 0),
        "a report of states without efforts",
    )
    rng, stamp, gravity = np.random.default_rng(0), [bench.now() - 50 * 10**9], oracle(ARM, Q)

    def send():
        for _ in range(20):
            stamp[0] += 10**6
            message = bench.make_state(ARM_JOINTS, Q, 1e-3 * rng.normal(size=7), stamp[0])
            message.effort = (gravity + 0.02 * rng.normal(size=7)).tolist()
            bench.states.publish(message)

    measuring = "noise is being measured"
    bench.wait_status(node, lambda s, v: measuring in s.message, measuring)
    bench.send_until(send, lambda: efforts, "an answer, once noise is known")
    answer = call(bench, node, "measure_noise")
    assert answer.success and "rest for 0.3 s" in answer.message
    bench.wait_status(node, lambda s, v: measuring in s.message, f"{measuring} anew", bench.now())


def test_computed_torque_gives_way_when_it_is_told(bench):
    node = bench.start("computed_torque", robot_description=ARM, contact_reaction="gravity_compensation")
    phases, efforts = bench.listen(String, f"{node}/phase"), bench.listen(JointState, f"{node}/joint_efforts")
    contacts = bench.publisher(Bool, f"{node}/contact")
    bench.wait_state(node, "active")
    bench.ask(lambda: bench.make_state(ARM_JOINTS, Q, np.zeros(7)), efforts)
    contacts.publish(Bool(data=True))
    bench.wait(lambda: phases and phases[-1].data == "yielding: contact", "the phase")
    moved = Q + 0.05
    answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, moved, np.zeros(7)), efforts)
    expected = oracle(ARM, moved)
    np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    assert call(bench, node, "hold").success
    bench.wait(lambda: phases[-1].data.startswith("holding"), "control again")


def test_a_payload_is_identified_beside_the_states_and_taken_up(bench):
    rng = np.random.default_rng(4)
    bench.drive(qos=QoSProfile(depth=100))
    node = bench.start("contact", robot_description=ARM, state_timeout=3600.0, **GIVEN, **no_state_is_lost(bench))
    told = bench.listen(InertiaStamped, f"{node}/payload")
    efforts = bench.listen(JointState, f"{node}/external_efforts")
    bench.wait_state(node, "active")
    model, frame, mass, com = Model.from_urdf(ARM), "panda_link7", 2.0, [0.02, 0.01, 0.1]
    t = np.arange(0.0, 3.0, 0.015)[:, None]
    rate, phase = 2.0 * np.pi * np.array([0.2, 0.3, 0.25, 0.4, 0.5, 0.6, 0.7]), np.arange(7.0)
    q = Q + 0.4 * np.sin(rate * t + phase)
    qd, qdd = 0.4 * rate * np.cos(rate * t + phase), -0.4 * rate**2 * np.sin(rate * t + phase)
    refused = call(bench, node, "identify_payload")
    assert not refused.success and "unloaded and loaded" in refused.message
    stamp = bench.now() - 1000 * 10**9
    for which, robot in (("unloaded", model), ("loaded", model.with_payload(frame, mass, com))):
        tau = inverse_dynamics(robot, q, qd, qdd) + 0.01 * rng.normal(size=q.shape)
        assert switch(bench, node, f"record_{which}", True).success
        for k in range(len(q)):
            stamp += 15 * 10**6
            message = bench.make_state(ARM_JOINTS, q[k], qd[k], stamp)
            message.effort = tau[k].tolist()
            bench.states.publish(message)
            if k > 20:  # windows have begun, for the period of these states
                bench.wait(lambda at=stamp: efforts and stamp_of(efforts[-1]) == at, "an answer")
        assert switch(bench, node, f"record_{which}", False).success
    answer = call(bench, node, "identify_payload")
    assert answer.success and frame in answer.message, answer.message
    (payload,) = bench.wait(lambda: told, "the payload")
    assert abs(payload.inertia.m - mass) < 0.02 * mass and payload.header.frame_id == frame
    np.testing.assert_allclose([payload.inertia.com.x, payload.inertia.com.y, payload.inertia.com.z], com, atol=5e-3)
    bench.wait_status(node, lambda s, v: "kg at panda_link7" in v["payload"], "the payload in the diagnostics")

REST = np.array([0.0, -0.3, 0.0, -1.9, 0.0, 1.6, 0.5])
RADIUS, PERIOD, PAST = 0.05, 10**6, 100 * 10**9


@pytest.mark.slow
def test_the_arm_goes_back_within_10_ms_of_the_touch(bench):
    arm = load("panda_arm")
    sim = arm.simulated(ball=("panda_link8", (0.0, 0.0, 0.0), RADIUS), integrator="implicitfast")
    sim.set(REST + 0.25 * np.eye(7)[0], np.zeros(7))
    y = sim.data.body("panda_link8").xpos[1]
    sim.set(REST, np.zeros(7))
    sim.put_wall([0.5, y + RADIUS + 0.02, 0.5])
    late = {"robot_description": arm.text, "state_timeout": 3600.0}
    noise = {"velocity_noise": 1e-3, "effort_noise": 0.02, "efforts_are": "held"}
    touch = bench.start("contact", **late, **noise)
    remap = ["--remap", f"~/contact:={touch}/touching"]
    control = bench.start("computed_torque", arguments=remap, contact_reaction="retract", **late)
    efforts, felt = (
        bench.listen(JointState, f"{control}/joint_efforts"),
        bench.listen(JointState, f"{touch}/external_efforts"),
    )
    touching, phases = bench.listen(Bool, f"{touch}/touching"), bench.listen(String, f"{control}/phase")
    errors = bench.listen(JointState, f"{control}/tracking_error")
    paths = bench.publisher(JointTrajectory, f"{control}/joint_trajectory")
    for node in (touch, control):
        bench.wait_state(node, "active")
    rng, stamp, tau, k = np.random.default_rng(0), bench.now() - PAST, sim.gravity(REST), 0

    def send():
        state = bench.make_state(arm.model.joint_names, sim.q, sim.qd + 1e-3 * rng.normal(size=7), stamp)
        state.effort = (tau + 0.02 * rng.normal(size=7)).tolist()
        bench.states.publish(state)

    def answered(messages):
        return messages and stamp_of(messages[-1]) == stamp

    def ask(both):
        nonlocal stamp
        stamp += PERIOD
        send()
        bench.wait(lambda: answered(efforts) and answered(errors) and (not both or answered(felt)), "both answers")

    def first():
        nonlocal stamp
        stamp += PERIOD
        send()

    bench.send_until(first, lambda: efforts and felt and errors, "first answers")
    met = reacted = None
    desired = []
    while reacted is None or k < reacted + 300:
        ask(both=True)
        tau = np.array(efforts[-1].effort)
        desired.append(sim.q[0] + errors[-1].position[0])
        sim.advance(tau, 2)
        if met is None and np.linalg.norm(sim.contact_force()) > 0.0:
            met = k
        if k == 50:
            goal = REST + 0.6 * np.eye(7)[0]
            point = JointTrajectoryPoint(
                positions=goal.tolist(), velocities=[0.0] * 7, accelerations=[0.0] * 7, time_from_start=Duration(sec=1)
            )
            paths.publish(JointTrajectory(joint_names=list(arm.model.joint_names), points=[point]))
        if met is not None and reacted is None and np.diff(desired[-3:], 2)[0] < -1e-5:  # the swing: 4e-6 at most
            reacted = k
        k += 1
        assert k < 2500
    assert reacted - met <= 10
    assert any(message.data for message in touching)
    assert desired[-1] < max(desired) - 0.1
    assert np.linalg.norm(sim.contact_force()) == 0.0 and not phases[-1].data.startswith("stop")
