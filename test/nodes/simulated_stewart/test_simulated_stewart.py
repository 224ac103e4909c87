"""The simulated_stewart node: what a driver would publish, true poses beside it, and a motion that is one."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, TwistStamped
from node_harness import common_stamps, stamp_of
from node_platforms import HOME, LEGS, TEXT, as_numbers, jacobian, lengths, matrix_of, pose_at
from sensor_msgs.msg import Imu, JointState
from std_srvs.srv import Trigger

from lie_dynamics_ros.lie_dynamics.stewart import RotaryPlatform, StewartPlatform
from lie_dynamics_ros.nodes.simulated_stewart.core import MotionOptions, PlatformMotion, specific_force

SERVOS = Path(__file__).parents[3] / "lie_dynamics_ros/platforms/servo_hexapod.yaml"
GOAL = pose_at([0.03, -0.02, 0.47], [0.1, -0.15, 0.2])


def motion(text=TEXT, **options):
    platform = StewartPlatform.from_yaml(text)
    values = {"translation_amplitude": 0.05, "frequency": 0.5, "response_time": 0.1, **options}
    return PlatformMotion(platform, HOME, MotionOptions(**values))


def test_the_motion_is_smooth_and_its_rates_are_those_of_its_poses():
    moving = motion()
    h = 1e-5
    for k in range(300):
        if k == 150:
            moving.go_to(GOAL)
        before, twist, rates = moving.lengths, moving.twist, moving.rates
        T = moving.pose
        moving.advance(h)
        # The motion is once differentiable: differences are good to its acceleration times h, here below 1e-3.
        np.testing.assert_allclose((moving.lengths - before) / h, rates, rtol=0, atol=2e-3)
        spatial = np.concatenate((T[:3, :3] @ twist[3:], T[:3, :3] @ twist[:3]))
        np.testing.assert_allclose(jacobian(T) @ spatial, rates, rtol=0, atol=1e-8)
        np.testing.assert_allclose(moving.lengths, lengths(moving.pose), rtol=1e-12)
        moving.advance(0.02)


def test_the_accelerometer_measures_the_second_differences_of_its_place_less_gravity():
    moving, h, gravity = motion(response_time=0.05), 1e-4, np.array([0.5, 0.0, -9.7])
    for _ in range(20):
        moving.advance(0.03)
        behind, before = moving.pose, moving.twist
        moving.advance(h)
        pose, twist = moving.pose, moving.twist
        moving.advance(h)
        second = (moving.pose[:3, 3] - 2.0 * pose[:3, 3] + behind[:3, 3]) / h**2
        found = specific_force(pose, twist, before, h, gravity)
        np.testing.assert_allclose(found, pose[:3, :3].T @ (second - gravity), rtol=0, atol=0.02)


def test_the_motion_goes_to_a_pose_and_back_to_itself():
    moving = motion()
    moving.go_to(GOAL)
    for _ in range(500):
        moving.advance(0.01)
    np.testing.assert_allclose(moving.pose, GOAL, rtol=0, atol=1e-12)
    assert np.abs(moving.twist).max() < 1e-12
    moving.go_to(None)
    for _ in range(100):
        moving.advance(0.01)
    assert np.abs(moving.pose - GOAL).max() > 1e-3


def test_the_motion_waits_before_limits_and_singular_poses():
    limited = motion(TEXT + "\nleg_limits: [0.5, 0.55]\n")
    flat = motion()
    flat.go_to(pose_at([0, 0, 0.01], [0, 0, 0]))
    held = 0
    for _ in range(500):
        limited.advance(0.01)
        held += bool(limited.held)
        assert ((limited.lengths >= 0.5) & (limited.lengths <= 0.55)).all()
        flat.advance(0.01)
    assert 0 < held < 500
    assert "singular" in flat.held and flat.pose[2, 3] > 0.01
    np.testing.assert_array_equal(flat.rates, np.zeros(6))


def test_publishes_noisy_lengths_of_the_true_pose(bench):
    node = bench.start("simulated_stewart", rate=200.0, length_noise=1e-4, rate_noise=1e-3, seed=7)
    states = bench.listen(JointState, "joint_states", 1000)
    poses = bench.listen(PoseStamped, f"{node}/true_pose", 1000)
    twists = bench.listen(TwistStamped, f"{node}/true_twist", 1000)
    imus = bench.listen(Imu, "imu", 1000)
    whole = common_stamps(states, poses, twists)
    bench.wait(lambda: whole() > 100 and len(imus) > 100, "whole states")
    assert {m.header.frame_id for m in imus} == {"stewart_platform"}
    up = np.mean([[getattr(m.linear_acceleration, axis) for axis in "xyz"] for m in imus[-100:]], axis=0)
    assert 9.0 < np.linalg.norm(up) < 11.0 and up[2] > 8.0
    assert {tuple(state.name) for state in states} == {LEGS}
    assert {m.header.frame_id for m in (*poses, *twists)} == {"stewart_base"}
    truth, rates = ({stamp_of(m): m for m in messages} for messages in (poses, twists))
    errors, rate_errors = [], []
    for state in states:
        if (true := truth.get(stamp_of(state))) is None or (twist := rates.get(stamp_of(state))) is None:
            continue
        T = matrix_of(true.pose)
        errors.append(np.array(state.position) - lengths(T))
        v, w = twist.twist.linear, twist.twist.angular
        rate_errors.append(np.array(state.velocity) - jacobian(T) @ [v.x, v.y, v.z, w.x, w.y, w.z])
    assert len(errors) > 100
    # Six samples each: 600 and more, whose standard deviation is known to 3 %.
    assert np.std(errors) == pytest.approx(1e-4, rel=0.15)
    assert np.std(rate_errors) == pytest.approx(1e-3, rel=0.15)


def desired(T, frame=""):
    message = PoseStamped()
    message.header.frame_id = frame
    p, q = message.pose.position, message.pose.orientation
    p.x, p.y, p.z, q.x, q.y, q.z, q.w = as_numbers(T)
    return message


def test_goes_to_a_desired_pose_refuses_others_and_moves_on_after_reset(bench):
    node = bench.start(
        "simulated_stewart", platform=TEXT + "\nleg_limits: [0.3, 0.8]\n", rate=100.0, response_time=0.05
    )
    poses = bench.listen(PoseStamped, f"{node}/true_pose")
    wanted = bench.publisher(PoseStamped, f"{node}/desired_pose")
    bench.send_until(
        lambda: wanted.publish(desired(GOAL, "stewart_base")),
        lambda: poses and np.abs(matrix_of(poses[-1].pose) - GOAL).max() < 1e-9,
        "the desired pose",
    )
    refused = (
        (desired(HOME, "map"), "'map'"),
        (desired(HOME * math.nan), "not finite"),
        (desired(pose_at([0, 0, 1.5], [0, 0, 0])), "leg_"),
    )
    for message, reason in refused:
        bench.send_until(
            lambda message=message: wanted.publish(message),
            lambda reason=reason: bench.reported(node, lambda s, v: s.level == b"\x02" and reason in s.message),
            f"refusal: {reason}",
        )
        assert np.abs(matrix_of(bench.together(poses).pose) - GOAL).max() < 1e-9
    answer = bench.call(Trigger, f"{node}/reset", Trigger.Request())
    assert answer.success
    bench.wait(lambda: np.abs(matrix_of(poses[-1].pose) - GOAL).max() > 1e-2, "the motion to go on")


def test_publishes_nothing_unless_active_and_needs_a_home_pose(bench):
    text = "\n".join(line for line in TEXT.splitlines() if not line.startswith("home_pose"))
    node = bench.start("simulated_stewart", platform=text)
    states = bench.listen(JointState, "joint_states")
    bench.wait_status(node, lambda s, v: s.level == b"\x02" and "home_pose" in s.message, "no home pose")
    assert not states
    assert bench.set(node, platform=TEXT).successful
    bench.wait(lambda: states, "states")
    assert bench.change_state(node, "deactivate")
    begin = bench.now()
    bench.wait_status(node, lambda s, v: v["lifecycle state"] == "inactive", "inactive", since=begin)
    end = bench.now()
    assert bench.change_state(node, "activate")
    bench.wait(lambda: stamp_of(states[-1]) > end, "states again")
    assert not [s for s in states if begin < stamp_of(s) < end]


def test_its_own_motion_gets_smaller_where_it_meets_limits():
    """Default amplitudes are too much for a servo hexapod: after a while it hardly ever waits, and moves."""
    platform = RotaryPlatform.from_yaml(SERVOS.read_text())
    motion = PlatformMotion(platform, platform.home_pose, MotionOptions())
    held, poses = [], []
    for _ in range(2500):
        motion.advance(0.02)
        held.append(bool(motion.held))
        poses.append(motion.pose[:3, 3].copy())
    assert sum(held[:1000]) > 50  # of 20 s
    assert sum(held[-1000:]) < 5
    assert np.ptp(poses[-1000:], axis=0).min() > 2e-3
