"""Both nodes and an arm in MuJoCo that runs into a wall, in lock step over DDS: from the touch to what the arm does."""

from __future__ import annotations

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from node_harness import stamp_of
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String
from support.arms import load
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

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
