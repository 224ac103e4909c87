"""The computed_torque node over DDS: closed loop with simulated_robot, trajectories, modes."""

import numpy as np
import pytest
from controlled_robot import MIDDLE, Loop, trajectory
from geometry_msgs.msg import InertiaStamped, PoseStamped, TwistStamped
from node_harness import LATCHED, stamp_of
from node_robots import ARM, ARM_JOINTS, oracle
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

ERROR = b"\x02"


def test_closed_loop_follows_a_quintic_trajectory(bench):
    """Exact model, 500 Hz in lock step: e = kd h / (2 kp) qdd of the integrator, and the wait for the first point."""
    loop = Loop(bench, rate=500.0, kp=[400.0], kd=[40.0])
    times, pace = np.linspace(0.125, 1.0, 8), 1.4 * np.pi  # it comes where it ends but once
    swing = 0.2 * np.sin(pace * times)[:, None] * np.ones(7)
    rate, bend = 0.2 * pace * np.cos(pace * times)[:, None], -0.2 * pace**2 * np.sin(pace * times)[:, None]
    rate[-1] = 0.0
    errors = loop.send(ARM_JOINTS, times, MIDDLE + swing, rate * np.ones(7), bend * np.ones(7))
    assert np.abs(errors).max() < 2e-3
    np.testing.assert_allclose(loop.position(), MIDDLE + swing[-1], atol=1e-3)
    status = bench.wait_status(loop.control, lambda s, v: v["mode"] == "computed_torque", "mode")
    assert status.level != ERROR


@pytest.mark.slow
def test_partial_trajectories_by_name_and_order_move_their_joints_only(bench):
    loop = Loop(bench)
    loop.send(["nobody", "panda_joint6", "panda_joint2"], [0.5], [[9.0, 2.0, 0.3]], [[0.0, 0.0, 0.0]])
    expected = MIDDLE.copy()
    expected[[5, 1]] = 2.0, 0.3
    np.testing.assert_allclose(loop.position(), expected, atol=5e-3)


@pytest.mark.slow  # one is below
@pytest.mark.parametrize("mode", ["passivity_based", "adaptive"])
def test_other_modes_follow_too(bench, mode):
    loop = Loop(bench, mode=mode, adapted_bodies=["panda_link7"])
    errors = loop.send(ARM_JOINTS, [1.0], [MIDDLE + 0.3], [np.zeros(7)], [np.zeros(7)])
    assert np.median(np.abs(errors).max(axis=1)) < 2e-2
    np.testing.assert_allclose(loop.position(), MIDDLE + 0.3, atol=3e-2)


def test_a_tool_follows_its_targets_and_tells_where_it_is(bench):
    loop = Loop(bench, mode="operational_space", translational_speed=1.0, translational_acceleration=8.0)
    poses = bench.listen(PoseStamped, f"{loop.control}/tool_pose")
    targets = bench.publisher(PoseStamped, f"{loop.control}/target_pose")
    twists = bench.publisher(TwistStamped, f"{loop.control}/target_twist")

    def height():
        return poses[-1].pose.position.z if poses else None

    bench.wait(lambda: poses, "a pose of the tool")
    begin, goal = poses[-1], PoseStamped()
    assert begin.header.frame_id == "panda_link0" and stamp_of(begin) > 0
    goal.pose = begin.pose
    wanted = goal.pose.position.z = height() - 0.05
    goal.header.frame_id = "panda_link0"
    targets.publish(goal)
    bench.wait(lambda: abs(height() - wanted) < 1e-4, "the tool at its target")
    jog = TwistStamped()
    jog.twist.linear.z = 0.1
    twists.publish(jog)
    bench.wait(lambda: height() > wanted + 2e-3, "the tool on its way up")
    goal.header.frame_id = "panda_link3"
    targets.publish(goal)
    bench.wait_status(loop.control, lambda s, v: "in frame 'panda_link3'" in str((s, v)), "a target that is refused")
    loop.trajectories.publish(trajectory(ARM_JOINTS, [1.0], [MIDDLE]))
    bench.wait_status(loop.control, lambda s, v: "which follows none" in str((s, v)), "a trajectory that is refused")


def test_adaptive_mode_finds_a_payload(bench):
    payload = {"payload_frame": "panda_link7", "payload_mass": 1.5, "payload_center_of_mass": [0.0, 0.0, 0.1]}
    loop = Loop(bench, simulated=payload, mode="adaptive", adapted_bodies=["panda_link7"], error_limit=2.0)
    inertias = bench.listen(InertiaStamped, f"{loop.control}/estimated_inertia")
    loop.send(ARM_JOINTS, [1.0], [MIDDLE + 0.3], [np.zeros(7)], [np.zeros(7)])
    own = 0.735522
    bench.wait(lambda: inertias and abs(inertias[-1].inertia.m - own - 1.5) < 0.3, "the mass of the payload")
    assert {inertia.header.frame_id for inertia in inertias} == {"panda_link7"}


def test_gravity_compensation_lets_the_robot_be_guided(bench):
    loop = Loop(bench, mode="gravity_compensation")
    efforts = bench.listen(JointState, f"{loop.control}/joint_efforts")
    for _ in range(10):
        state, effort = bench.together(loop.states, efforts)
        np.testing.assert_allclose(effort.effort, oracle(ARM, state.position), atol=0.05)
    np.testing.assert_allclose(loop.position(), MIDDLE, atol=1e-2)
    loop.trajectories.publish(trajectory(ARM_JOINTS, [1.0], [MIDDLE]))
    bench.wait_status(loop.control, lambda s, v: "gravity_compensation, which follows none" in s.message, "a refusal")


@pytest.mark.slow
def test_hold_brings_the_robot_to_rest(bench):
    loop = Loop(bench, stop_time=0.2)
    loop.trajectories.publish(trajectory(ARM_JOINTS, [20.0], [MIDDLE + 0.5], [np.zeros(7)]))  # slow: hold comes in it
    bench.wait(lambda: loop.position()[0] > 0.01, "the robot to move")
    assert loop.call(f"{loop.control}/hold").success
    known = stamp_of(bench.together(loop.states))
    rest = known + 4 * 10**8
    state = bench.wait(lambda: (s := bench.together(loop.states)) and stamp_of(s) > rest and s, "twice the time for it")
    assert np.abs(state.velocity).max() < 1e-2
    assert state.position[0] < 0.35


def test_each_phase_of_a_stop_is_published(bench):
    """As a supervisor needs it: `stopped` follows `stopping`, for the same reason."""
    loop = Loop(bench)
    phases = bench.listen(String, f"{loop.control}/phase", LATCHED)
    loop.trajectories.publish(trajectory(ARM_JOINTS, [20.0], [MIDDLE + 0.5], [np.zeros(7)]))
    bench.wait(lambda: loop.position()[0] > 0.01, "the robot to move")
    assert bench.set(loop.control, error_limit=1e-9).successful
    bench.wait(lambda: phases and phases[-1].data.startswith("stopped"), "the phase stopped")
    told = [tuple(message.data.split(": ", 1)) for message in phases]
    assert "error_limit" in told[-1][1]
    # Between two that come at once the latched topic may keep the second alone.
    assert {phase for phase, reason in told if reason == told[-1][1]} <= {"stopping", "stopped"}


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (JointTrajectory(joint_names=list(ARM_JOINTS)), "without points"),
        (trajectory(["nobody"], [1.0], [[0.0]]), "names no joint"),
        (trajectory(ARM_JOINTS, [1.0, 1.0], [MIDDLE, MIDDLE]), "do not rise"),
        (trajectory(ARM_JOINTS, [1.0], [MIDDLE + np.nan]), "not finite"),
        (trajectory(ARM_JOINTS, [1.0], [MIDDLE[1:]]), "entries for 7 joints"),
        (trajectory(ARM_JOINTS, [1.0], [MIDDLE + 3.0]), "beyond the limits"),
        (trajectory(ARM_JOINTS, [1.0], [MIDDLE], None, [MIDDLE]), "without velocities"),
        (trajectory(ARM_JOINTS, [0.0, 1.0], [MIDDLE + 0.3, MIDDLE]), "start_tolerance"),
        (trajectory(ARM_JOINTS, [1.0], [MIDDLE], stamp=10**9), "past"),
        (trajectory([*ARM_JOINTS, ARM_JOINTS[0]], [1.0], [[*MIDDLE, 0.0]]), "more than once"),
    ],
)
def test_unusable_trajectories_are_refused_and_told(module_bench, message, reason):
    bench = module_bench
    node = f"{bench.namespace}/computed_torque"
    if not bench.processes:
        bench.start("computed_torque", robot_description=ARM)
        bench.answers = bench.listen(JointState, f"{node}/joint_efforts")
        bench.trajectories = bench.publisher(JointTrajectory, f"{node}/joint_trajectory")
    bench.ask(lambda: bench.make_state(ARM_JOINTS, MIDDLE), bench.answers)
    bench.trajectories.publish(message)
    bench.wait_status(node, lambda s, v: reason in v["last problem"], reason)
    answer = bench.ask(lambda: bench.make_state(ARM_JOINTS, MIDDLE), bench.answers)
    np.testing.assert_allclose(answer.effort, oracle(ARM, MIDDLE), atol=1e-9)  # and it goes on as before
