"""stewart_pose and simulated_stewart with legs on offset universal joints, against distances of circles."""

from __future__ import annotations

import numpy as np
import pytest
from node_harness import stamp_of
from node_platforms import BASE, HOME, LEGS, TEXT, TOP, as_numbers, matrix_of, motion, pose_at
from scipy.optimize import brentq

from lie_dynamics_ros.core.errors import ParameterError
from lie_dynamics_ros.core.platform import LegState
from lie_dynamics_ros.lie_dynamics.stewart import OffsetPlatform, StewartError, TrackingStatus
from lie_dynamics_ros.nodes.simulated_stewart.core import MotionOptions, PlatformMotion
from lie_dynamics_ros.nodes.stewart_pose.core import StewartPoseCore, StewartPoseOptions
from lie_dynamics_ros.nodes.stewart_pose.node import SETTINGS

RNG = np.random.default_rng(7)
WAYS = TOP @ HOME[:3, :3].T + HOME[:3, 3] - BASE
BASE_AXES, TOP_AXES = (np.cross(WAYS, RNG.normal(size=(6, 3))) + 0.1 * RNG.normal(size=(6, 3)) for _ in range(2))
BASE_OFFSETS, TOP_OFFSETS = RNG.uniform(0.0, 0.06, 6), np.append(RNG.uniform(0.0, 0.06, 5), 0.0)
LIMITS = "leg_limits: [0.3, 0.9]\n"
UNIVERSAL = f"""
universal_joints:
  base_axes: {BASE_AXES.tolist()}
  platform_axes: {TOP_AXES.tolist()}
  base_offsets: {BASE_OFFSETS.tolist()}
  platform_offsets: {TOP_OFFSETS.tolist()}
"""
FILE = TEXT + LIMITS + UNIVERSAL


def nearest(centres, axes, radii, points):
    """Return the points of circles that are nearest to points."""
    axes = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    way = points - centres
    way = way - axes * (axes * way).sum(axis=1, keepdims=True)
    return centres + radii[:, None] * way / np.linalg.norm(way, axis=1, keepdims=True)


def lengths(T):
    """Return the distances of the circles of the second axes: ends that are nearest to each other, by turns."""
    centres, axes = TOP @ T[:3, :3].T + T[:3, 3], TOP_AXES @ T[:3, :3].T
    D = centres
    for _ in range(15):  # each round gains two digits at least
        C = nearest(BASE, BASE_AXES, BASE_OFFSETS, D)
        D = nearest(centres, axes, TOP_OFFSETS, C)
    return np.linalg.norm(D - C, axis=1)


def rates(t, h=1e-5):
    return (lengths(motion(t + h)) - lengths(motion(t - h))) / (2.0 * h)


def jacobian(T, h=1e-6):
    """Differences of the lengths by (displacement along, small rotation about the axes of the base), ROS's order."""
    columns = []
    for i in range(6):
        ends = []
        for sign in (h, -h):
            moved, way = T.copy(), sign * np.eye(6)[i]
            moved[:3, 3] += way[:3]
            moved[:3, :3] = pose_at([0, 0, 0], way[3:])[:3, :3] @ T[:3, :3]
            ends.append(lengths(moved))
        columns.append((ends[0] - ends[1]) / (2.0 * h))
    return np.array(columns).T


def velocity(t, h=1e-5):
    """Velocity of the origin and angular velocity, in the axes of the base."""
    before, now, after = motion(t - h), motion(t), motion(t + h)
    spin = (after[:3, :3] - before[:3, :3]) @ now[:3, :3].T / (2.0 * h)
    return np.append((after - before)[:3, 3] / (2.0 * h), [spin[2, 1], spin[0, 2], spin[1, 0]])


def core_of(text=FILE, **values):
    options = StewartPoseOptions.from_values({s.name: s.default for s in SETTINGS} | values)
    return StewartPoseCore(OffsetPlatform.from_yaml(text), LEGS, options)


def state(T, rates=None, t=0.0):
    return LegState(round(t * 1e9), lengths(T), rates)


def test_in_lock_step_with_circles():
    noise = (1e-5, 2e-5, 1e-5, 3e-5, 1e-5, 1e-5)
    core, out = core_of(leg_noise=noise), np.empty((1, 6, 6))
    for k, t in enumerate(np.arange(0.0, 2.0, 0.02)):
        T = motion(t)
        tracked = core.answer(state(T, rates(t), t)).tracked
        assert tracked.valid and tracked.status is TrackingStatus.TRACKED and not tracked.certified
        assert np.abs(tracked.pose - T).max() < 1e-12
        place, expected = np.concatenate(tracked.position_quaternion()), np.array(as_numbers(T))
        expected[3:] *= np.sign(place[6] * expected[6])
        assert np.abs(place - expected).max() < 1e-12
        assert tracked.residual < 1e-12
        R = T[:3, :3]
        found = np.append(R @ tracked.twist[3:], R @ tracked.twist[:3])
        assert np.abs(found - velocity(t)).max() < 1e-8  # both sides are differences
        if k % 25 == 0:
            inverse = np.linalg.inv(jacobian(T))
            expected = inverse @ np.diag(np.square(noise)) @ inverse.T
            assert tracked.write_covariance(out, np.array([3, 4, 5, 0, 1, 2]))
            assert np.abs(out[0] - expected).max() < 1e-7 * np.abs(expected).max()
            scale = np.repeat((1.0, np.sqrt(((TOP - TOP.mean(axis=0)) ** 2).sum(axis=1).mean())), 3)
            assert tracked.condition_number == pytest.approx(np.linalg.cond(jacobian(T) / scale), rel=1e-7)


def test_legs_that_are_screws():
    """Lengths with the leads' part, which `test_stewart_offset_joints` judges; rates and covariance by differences."""
    core = core_of(FILE.replace("universal_joints:", "universal_joints:\n  screw_leads: 0.01"))
    platform, h = core.platform, 1e-6
    assert platform.has_screws
    for t in np.arange(0.0, 0.6, 0.02):
        told, ahead, behind = (platform.leg_lengths(motion(x)) for x in (t, t + h, t - h))
        tracked = core.answer(LegState(round(t * 1e9), told, (ahead - behind) / (2.0 * h))).tracked
        assert tracked.valid and np.abs(tracked.pose - motion(t)).max() < 1e-12
    assert np.abs(told - lengths(motion(t))).max() > 1e-5
    R = tracked.pose[:3, :3]
    assert np.abs(np.append(R @ tracked.twist[3:], R @ tracked.twist[:3]) - velocity(t)).max() < 1e-8
    assert np.isfinite(tracked.covariance).all() and tracked.time_to_singularity(0.01) == np.inf


def test_bad_readings_leave_the_last_good_pose():
    core = core_of()
    good = core.answer(state(motion(0.1))).tracked.pose
    L = lengths(motion(0.1))
    for row, status, words in (
        ([np.nan, *L[1:]], TrackingStatus.NOT_FINITE, "leg_1: length of leg 1 is nan, expected a number"),
        ([*L[:5], -np.inf], TrackingStatus.NOT_FINITE, "leg_6: length of leg 6 is -inf"),
        ([*L[:2], 0.0, *L[3:]], TrackingStatus.NOT_POSITIVE, "leg_3: length of leg 3 is 0.0 m, expected a positive"),
        ([*L[:2], 1e300, *L[3:]], TrackingStatus.LEG_LIMIT, r"leg_3: .* beyond its limits 0\.3 to 0\.9"),
        ([0.31, 0.89] * 3, TrackingStatus.SINGULAR, "would pass a singularity, .* the pose is the last good one"),
    ):
        answer = core.answer(LegState(10**9, np.array(row), np.zeros(6)))
        assert answer.tracked.status is status and not answer.tracked.valid
        with pytest.raises(type(answer.refusal), match=words):
            raise answer.refusal
        assert np.array_equal(answer.tracked.pose, good) and np.array_equal(core.tracked.pose, good)
        assert np.isnan(answer.tracked.twist).all() and np.isnan(answer.tracked.covariance).all()
        assert np.isnan(answer.tracked.time_to_singularity())
    few = core.with_options(StewartPoseOptions.from_values({s.name: s.default for s in SETTINGS} | {"max_steps": 2}))
    assert few.answer(state(motion(0.5))).tracked.status is TrackingStatus.TOO_FAR
    # The first core goes on, unchanged by the second.
    assert np.abs(core.answer(state(motion(0.12))).tracked.pose - motion(0.12)).max() < 1e-12
    core.forget()
    assert core.tracked is None and np.abs(core.answer(state(motion(0.02))).tracked.pose - motion(0.02)).max() < 1e-12


def test_a_singular_pose_ahead_is_announced():
    """On the way of a turn about z: where the determinant of differences of lengths changes its sign."""

    def volume(angle):
        return np.linalg.det(jacobian(pose_at([0.0, 0.0, 0.5], [0.0, 0.0, angle])))

    core, spin = core_of(TEXT + UNIVERSAL), 2.0
    turning = jacobian(HOME)[:, 5] * spin
    angle = brentq(volume, 0.0, 2.5)
    tracked = core.answer(LegState(0, lengths(HOME), turning)).tracked
    # Between places 1/16 rad apart the determinant is taken to be straight.
    assert tracked.time_to_singularity(1.0) == pytest.approx(angle / spin, abs=2e-3)
    assert tracked.time_to_singularity(0.5 * angle / spin) == np.inf
    assert np.isnan(core.answer(LegState(1, lengths(HOME), None)).tracked.time_to_singularity())


def test_what_is_refused():
    with pytest.raises(ParameterError, match=r"max_speed: .* expected \[0\.0\], or the node closed_loop"):
        core_of(max_speed=[1.0, 2.0])
    lines = [line for line in FILE.splitlines() if not line.startswith("home_pose")]
    with pytest.raises(ParameterError, match=r"start_pose: .* or home_pose in the platform's file"):
        core_of("\n".join(lines))
    core = core_of("\n".join(lines), start_pose=as_numbers(HOME))
    assert np.abs(core.answer(state(motion(0.1))).tracked.pose - motion(0.1)).max() < 1e-12
    with pytest.raises(ParameterError, match=r"start_pose: .* or home_pose"):
        core.with_options(StewartPoseOptions.from_values({s.name: s.default for s in SETTINGS}))


def test_simulated_legs_are_those_of_circles_and_wait_where_they_have_no_length():
    platform = OffsetPlatform.from_yaml(FILE)
    moving = PlatformMotion(platform, HOME, MotionOptions(0.05, 0.2, 0.5, 0.1))
    for _ in range(30):
        before = moving.lengths
        moving.advance(0.02)
        assert np.abs(moving.lengths - lengths(moving.pose)).max() < 1e-12
        assert not moving.held
    before, h = moving.lengths, 1e-5
    moving.advance(h)
    # Differences are good to the acceleration times h.
    assert np.abs((moving.lengths - before) / h - moving.rates).max() < 2e-3
    # Down into the base, where legs come to lie along the axes: it waits before, and stays where it is.
    wide = OffsetPlatform.from_yaml(TEXT + UNIVERSAL)
    moving = PlatformMotion(wide, HOME, MotionOptions(0.05, 0.2, 0.5, 0.1))
    with pytest.raises(StewartError):
        wide.leg_lengths(pose_at([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]))
    moving.go_to(pose_at([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]))
    for _ in range(100):
        moving.advance(0.02)
    assert moving.held and np.isfinite(moving.lengths).all() and moving.pose[2, 3] > 0.0


def test_the_node(published):
    bench, node, (poses, twists, statuses) = published
    name = node.begin(platform=FILE, state_timeout=0.0)
    t = 0.1
    answer, moving, said = bench.ask(
        lambda: bench.make_state(LEGS, lengths(motion(t)), rates(t)), poses, twists, statuses
    )
    assert np.abs(matrix_of(answer.pose.pose) - motion(t)).max() < 1e-12
    inverse = np.linalg.inv(jacobian(motion(t)))
    expected = 1e-10 * inverse @ inverse.T
    assert np.abs(answer.pose.covariance.reshape(6, 6) - expected).max() < 1e-7 * np.abs(expected).max()
    twist = moving.twist
    found = [getattr(part, axis) for part in (twist.linear, twist.angular) for axis in "xyz"]
    assert np.abs(found - velocity(t)).max() < 1e-8
    values = {v.key: v.value for v in said.status[0].values}
    assert said.status[0].message == "continued" and values["certified"] == "false"
    L = lengths(motion(t))
    L[3] = 0.95
    beyond = bench.ask(lambda: bench.make_state(LEGS, L), statuses)
    assert beyond.status[0].message == "kept at the last good pose: LEG_LIMIT"

    def told(status, values):
        return "leg_4: length of leg 4 is 0.95 m" in status.message and "step h" not in values

    bench.wait_status(name, told, "the leg beyond its limits")
    assert stamp_of(beyond) not in {stamp_of(pose) for pose in poses}


def test_services(published):
    interfaces = pytest.importorskip("lie_dynamics_interfaces.srv", reason="lie_dynamics_interfaces is not installed")
    FK, IK = (getattr(interfaces, f"Stewart{kind}") for kind in ("ForwardKinematics", "InverseKinematics"))
    bench, node, (poses, *_) = published
    name = node.begin(platform=FILE, state_timeout=0.0)
    bench.ask(lambda: bench.make_state(LEGS, lengths(HOME)), poses)
    wanted = [motion(t) for t in (0.1, 0.2)]
    guess = poses[-1].pose.pose
    for method, guesses in ((FK.Request.TRACKED, []), (FK.Request.FROM_HOME, []), (FK.Request.FROM_GUESS, [guess])):
        request = FK.Request(method=method, lengths=np.ravel([lengths(T) for T in wanted]).tolist(), guess=guesses)
        found = bench.call(FK, f"{name}/forward_kinematics", request)
        assert found.success, found.message
        assert np.abs([matrix_of(pose) - T for pose, T in zip(found.poses, wanted, strict=True)]).max() < 1e-10
        assert max(found.residuals) < 1e-10
    back = bench.call(IK, f"{name}/inverse_kinematics", IK.Request(poses=found.poses))
    assert back.success and np.abs(np.reshape(back.lengths, (2, 6)) - [lengths(T) for T in wanted]).max() < 1e-10


@pytest.mark.slow
def test_assembly_modes(published):
    """Seconds for one answer; the service itself is asked for legs without offsets in each run."""
    interfaces = pytest.importorskip("lie_dynamics_interfaces.srv", reason="lie_dynamics_interfaces is not installed")
    modes_of = interfaces.StewartAssemblyModes
    bench, node, (poses, *_) = published
    name, wanted = node.begin(platform=FILE, state_timeout=0.0), motion(0.1)
    bench.ask(lambda: bench.make_state(LEGS, lengths(HOME)), poses)
    modes = bench.call(modes_of, f"{name}/assembly_modes", modes_of.Request(lengths=lengths(wanted).tolist()))
    assert not modes.success and not modes.certain and "others may be missing" in modes.message
    assert min(np.abs(matrix_of(pose) - wanted).max() for pose in modes.poses) < 1e-8
    assert not any(modes.proven) and max(modes.residuals) < 1e-9
