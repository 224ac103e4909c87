"""stewart_pose, stewart_command and simulated_stewart with rotary legs, against circles and spheres."""

from __future__ import annotations

import re

import numpy as np
import pytest
from node_platforms import matrix_of
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from std_srvs.srv import Trigger

from lie_dynamics_ros.core.platform import LegState
from lie_dynamics_ros.lie_dynamics.stewart import RotaryPlatform, StewartError, TrackingStatus
from lie_dynamics_ros.nodes.simulated_stewart.core import ActuatorOptions, LegActuators, MotionOptions, PlatformMotion
from lie_dynamics_ros.nodes.stewart_command.core import CommandParameters, StewartCommandCore, StewartCommandOptions
from lie_dynamics_ros.nodes.stewart_command.targets import PathTarget
from lie_dynamics_ros.nodes.stewart_pose.core import StewartPoseCore, StewartPoseOptions
from lie_dynamics_ros.nodes.stewart_pose.fusing import FusingCore
from lie_dynamics_ros.nodes.stewart_pose.fusion_options import FusionOptions
from lie_dynamics_ros.nodes.stewart_pose.node import SETTINGS

SERVOS = [f"servo_{k}" for k in range(1, 7)]
FILE = """
unit: mm
angle_unit: deg
semi_regular: {base_radius: 62, platform_radius: 50, base_half_angle: 13, platform_half_angle: 11.5}
rotary_legs: {pattern: coplanar, horns: 20, rods: 110, home_angles: 5, angle_limits: [-80, 80]}
"""
PLATFORM = RotaryPlatform.from_yaml(FILE)
HOME = PLATFORM.home_pose
AZIMUTHS = np.radians([13.0, 107.0, 133.0, 227.0, 253.0, 347.0])
PLANES = np.radians([90.0, 30.0, 210.0, 150.0, 330.0, 270.0])  # where horns point at angle 0


def pose_at(t):
    """Of a motion through home."""
    T = HOME.copy()
    w = 2.0 * np.pi * t
    T[:3, :3] = (
        HOME[:3, :3] @ Rotation.from_rotvec([0.1 * np.sin(w), 0.08 * np.sin(2 * w), 0.15 * np.sin(w)]).as_matrix()
    )
    T[:3, 3] += 0.004 * np.array([np.sin(3 * w), np.sin(w), 0.5 - 0.5 * np.cos(w)])
    return T


def angles_of(T):
    """Where circles of horns meet spheres of rods, nearest to level: by the drawing alone."""
    found = []
    for azimuth, plane, ball in zip(AZIMUTHS, PLANES, PLATFORM.platform_points, strict=True):
        end = T[:3, :3] @ ball + T[:3, 3] - 0.062 * np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
        out = np.array([np.cos(plane), np.sin(plane), 0.0])
        gap = lambda t, e=end, x=out: np.linalg.norm(e - 0.02 * (np.cos(t) * x + np.sin(t) * np.eye(3)[2])) - 0.11  # noqa: E731
        grid = np.linspace(-1.4, 1.4, 57)
        values = [gap(t) for t in grid]
        roots = [brentq(gap, a, b, xtol=1e-15) for a, b, u, v in zip(grid, grid[1:], values, values[1:], strict=False)
                 if u * v < 0]  # fmt: skip
        found.append(min(roots, key=abs))
    return np.array(found)


def rates_at(t, h=1e-5):
    return (angles_of(pose_at(t + h)) - angles_of(pose_at(t - h))) / (2.0 * h)


def core_of(**values):
    options = StewartPoseOptions.from_values({s.name: s.default for s in SETTINGS} | values)
    return StewartPoseCore(PLATFORM, SERVOS, options)


def test_in_lock_step_with_circles():
    core = core_of(max_speed=[0.3, 5.0], leg_noise=[1e-4])
    assert core.begins.source == "home pose of the platform"
    for t in np.arange(0.0, 0.4, 0.01):
        tracked = core.answer(LegState(round(t * 1e9), angles_of(pose_at(t)), rates_at(t))).tracked
        assert tracked.status is TrackingStatus.TRACKED and tracked.certified
        assert np.abs(tracked.pose - pose_at(t)).max() < 1e-12
    h, T = 1e-5, pose_at(t)
    spin = Rotation.from_matrix(T[:3, :3].T @ pose_at(t + h)[:3, :3]).as_rotvec()
    back = Rotation.from_matrix(T[:3, :3].T @ pose_at(t - h)[:3, :3]).as_rotvec()
    speed = T[:3, :3].T @ (pose_at(t + h)[:3, 3] - pose_at(t - h)[:3, 3])
    assert tracked.twist == pytest.approx(np.r_[spin - back, speed] / (2.0 * h), abs=1e-6)
    bad = angles_of(T)
    bad[3] = 1.5
    answer = core.answer(LegState(10**9, bad, None))
    with pytest.raises(type(answer.refusal), match=r"servo_4: angle of leg 4 is 1\.5 rad, 0\.104 rad above its limits"):
        raise answer.refusal


def test_angles_are_fused_and_a_servo_that_is_silent_is_done_without(rng):
    given = {"fusion": True, "use_imu": True, "leg_noise": [1e-3], "jerk": [1.0, 5.0]}
    values = {s.name: s.default for s in SETTINGS} | given
    core = FusingCore(PLATFORM, SERVOS, StewartPoseOptions.from_values(values), FusionOptions.from_values(values))
    for k in range(120):
        t, h = 0.01 * k, 1e-4
        before, T, after = (pose_at(t + s) for s in (-h, 0.0, h))
        spin = Rotation.from_matrix(after[:3, :3] @ before[:3, :3].T).as_rotvec() / (2.0 * h)
        felt = (before[:3, 3] - 2.0 * T[:3, 3] + after[:3, 3]) / h**2 + [0.0, 0.0, 9.81]
        angles = angles_of(T) + 1e-3 * rng.normal(size=6)
        if k > 60:
            angles[1] = np.nan
        core.take_inertial(round(t * 1e9), T[:3, :3].T @ spin, T[:3, :3].T @ felt)
        answer = core.answer(LegState(round(t * 1e9), angles, None))
        assert answer.refusal is None
    assert set(answer.fused.left_out) == {"leg 2"} and core.faults(answer.fused).startswith("servo_2 (")
    assert np.abs(answer.fused.pose - T).max() < 5e-3


def test_simulated_servos_move_to_a_pose_and_wait_at_the_end_of_their_reach():
    moving = PlatformMotion(PLATFORM, HOME, MotionOptions(0.003, 0.05, 0.5, 0.1))
    for _ in range(30):
        moving.advance(0.02)
        assert not moving.held and moving.lengths == pytest.approx(angles_of(moving.pose), abs=1e-12)
    before, h = moving.lengths, 1e-5
    moving.advance(h)
    assert (moving.lengths - before) / h == pytest.approx(moving.rates, abs=1e-3)
    high = HOME.copy()
    high[2, 3] += 0.05
    with pytest.raises(StewartError):
        PLATFORM.motor_positions(high)
    moving.go_to(high)
    for _ in range(100):
        moving.advance(0.02)
    assert moving.held and np.isfinite(moving.lengths).all()


def test_simulated_servos_follow_set_points():
    options = ActuatorOptions(max_rate=6.0, max_acceleration=200.0, delay=0.002, servo_rate=100.0)
    servos = LegActuators(PLATFORM, HOME, options)
    wanted = angles_of(pose_at(0.1))
    servos.command(wanted, np.zeros(6))
    for _ in range(500):
        servos.advance(0.002)
    assert not servos.held and np.abs(servos.pose - pose_at(0.1)).max() < 1e-6
    servos.command(np.full(6, 2.0), np.zeros(6))
    for _ in range(1000):
        servos.advance(0.002)
    assert servos.held and np.isfinite(servos.pose).all()


def commanding(**values):
    defaults = CommandParameters.defaults()
    own = {"max_rate": 5.0, "max_acceleration": 60.0, "max_force": 0.2, "mass": 0.3, "rest_speed": 0.05}
    return StewartCommandCore(StewartCommandOptions.from_values(PLATFORM, defaults | own | values), SERVOS)


def test_commands_are_angles_within_their_limits():
    core = commanding()
    assert not core.begin(np.full(6, 1.5), None) and core.reason.startswith("servo_1 is at 1.5 rad, limits -1.39626")
    assert not core.begin(angles_of(HOME), np.full(6, 0.1)) and "moves at 0.1 rad/s" in core.reason
    assert core.begin(angles_of(HOME), np.zeros(6)), core.reason
    goal = pose_at(0.15)
    plan = core.ask(PathTarget(goal[None], (False,)), 0.0)
    core.take(plan.make())
    assert core.refusal == ""
    period, rows = 1.0 / core.options.given.rate, [core.step(1.0 / core.options.given.rate)]
    while core.phase == "following":
        rows.append(core.step(period))
    angles, rates = (np.array([getattr(row, name) for row in rows]) for name in ("lengths", "rates"))
    assert np.abs(core.pose - goal).max() < 1e-12
    for k in range(0, len(rows), 7):
        assert angles[k] == pytest.approx(angles_of(rows[k].pose), abs=1e-11)
    assert np.abs(rates).max() <= 5.0 and np.abs(np.diff(rates, axis=0)).max() / period <= 60.0 * (1.0 + 1e-9)
    assert max(np.abs(row.forces).max() for row in rows) <= 0.2
    assert np.abs(np.diff(angles, axis=0) / period).max() > 0.5
    used = [np.abs(rates).max() / 5.0, np.abs(np.diff(rates, axis=0)).max() / period / 60.0]
    assert max(used) > 0.9  # as fast as one of them lets it


@pytest.mark.parametrize(
    ("shift", "turn", "words"),
    [
        ([0.0, 0.0, 0.05], [0.0, 0.0, 0.0], "leg . (does not reach|.* off the axis)|condition number"),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 1.5], "does not reach|condition number|singular pose"),
    ],
)
def test_targets_out_of_reach_are_refused(shift, turn, words):
    core = commanding(max_condition=1e4)
    assert core.begin(angles_of(HOME), None)
    goal = HOME.copy()
    goal[:3, 3] += shift
    goal[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    core.take(core.ask(PathTarget(goal[None], (False,)), 0.0).make())
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(core.refusal)
    assert core.phase == "holding"


def test_the_node(published):
    bench, node, (poses, twists, statuses) = published
    name = node.begin(platform=FILE, legs=SERVOS, state_timeout=0.0)
    t = 0.1
    answer, _, said = bench.ask(
        lambda: bench.make_state(SERVOS, angles_of(pose_at(t)), rates_at(t)), poses, twists, statuses
    )
    assert np.abs(matrix_of(answer.pose.pose) - pose_at(t)).max() < 1e-12
    J = PLATFORM.jacobian(pose_at(t), "aligned")[:, [3, 4, 5, 0, 1, 2]]
    expected = 1e-10 * np.linalg.inv(J) @ np.linalg.inv(J).T
    assert np.abs(answer.pose.covariance.reshape(6, 6) - expected).max() < 1e-7 * np.abs(expected).max()
    assert said.status[0].message == "continued"
    over = angles_of(pose_at(t))
    over[1] = -1.5
    beyond = bench.ask(lambda: bench.make_state(SERVOS, over), statuses)
    assert beyond.status[0].message == "kept at the last good pose: LEG_LIMIT"
    bench.wait_status(name, lambda s, _: "servo_2: angle of leg 2 is -1.5 rad" in s.message, "the angle beyond")


def test_travel_left_as_a_service_and_in_diagnostics(published):
    """Upwards as far as the drawing has angles; names of legs are the node's."""
    bench, node, (poses, *_) = published
    name = node.begin(platform=FILE, legs=SERVOS, state_timeout=0.0)
    assert "nothing is tracked yet" in bench.call(Trigger, f"{name}/travel_left", Trigger.Request()).message
    bench.ask(lambda: bench.make_state(SERVOS, angles_of(HOME)), poses)
    answer = bench.call(Trigger, f"{name}/travel_left", Trigger.Request())
    assert answer.success
    up = float(re.search(r"; z -\S+ \(.*?\) to \+(\S+) \(", answer.message)[1])
    inside, beyond = (HOME[:3, 3] + [0.0, 0.0, far] for far in (0.98 * up, 1.02 * up))
    def angles(place):
        T = HOME.copy()
        T[:3, 3] = place
        return angles_of(T)
    assert np.abs(angles(inside)).max() <= np.radians(80.0)
    with pytest.raises((IndexError, ValueError, AssertionError)):
        assert np.abs(angles(beyond)).max() <= np.radians(80.0)
    bench.wait_status(name, lambda _, values: "travel left about z [rad]" in values, "the travel left")


def test_services(published):
    interfaces = pytest.importorskip("lie_dynamics_interfaces.srv", reason="lie_dynamics_interfaces is not installed")
    FK, IK, MODES = (
        getattr(interfaces, f"Stewart{kind}") for kind in ("ForwardKinematics", "InverseKinematics", "AssemblyModes")
    )
    bench, node, (poses, *_) = published
    name = node.begin(platform=FILE, legs=SERVOS, state_timeout=0.0)
    bench.ask(lambda: bench.make_state(SERVOS, angles_of(HOME)), poses)
    wanted = [pose_at(t) for t in (0.1, 0.2)]
    angles = [angles_of(T) for T in wanted]
    guess = poses[-1].pose.pose
    for method, guesses in ((FK.Request.TRACKED, []), (FK.Request.FROM_HOME, []), (FK.Request.FROM_GUESS, [guess])):
        request = FK.Request(method=method, lengths=np.ravel(angles).tolist(), guess=guesses)
        found = bench.call(FK, f"{name}/forward_kinematics", request)
        assert found.success, found.message
        assert np.abs([matrix_of(pose) - T for pose, T in zip(found.poses, wanted, strict=True)]).max() < 1e-9
        assert max(found.residuals) < 1e-10
    back = bench.call(IK, f"{name}/inverse_kinematics", IK.Request(poses=found.poses))
    assert back.success and np.abs(np.reshape(back.lengths, (2, 6)) - angles).max() < 1e-9
    modes = bench.call(MODES, f"{name}/assembly_modes", MODES.Request(lengths=angles[0].tolist()))
    assert modes.success and modes.certain and max(modes.residuals) < 1e-12
    assert min(np.abs(matrix_of(pose) - wanted[0]).max() for pose in modes.poses) < 1e-12
