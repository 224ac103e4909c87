"""The tracker on rotary legs: poses from angles, proofs, what happens at singular poses, everything derived."""

import copy
import pickle

import numpy as np
import pytest

from lie_dynamics_ros.lie_dynamics.lie import se3
from lie_dynamics_ros.lie_dynamics.stewart import (
    RotaryPlatform,
    StewartError,
    StewartTracker,
    TrackingStatus,
    assembly_modes,
    semi_regular_rotary_platform,
)

DRAWING = (0.062, 0.05, 0.2269, 0.2, 0.02, 0.11)


def drawing(pattern="coplanar"):
    return semi_regular_rotary_platform(*DRAWING, pattern=pattern, home_angles=0.1, angle_limits=(-1.4, 1.4))


def shifted_frames(platform, rng):
    """The same machine, its frames elsewhere, so that no origin is a centroid."""
    base, top = (np.asarray(se3.exp(rng.normal(size=6) * np.repeat((0.7, 0.2), 3))) for _ in range(2))
    place = lambda T, x: x @ T[:3, :3].T + T[:3, 3]  # noqa: E731
    return RotaryPlatform(
        place(base, platform.base_points), place(top, platform.platform_points), platform.axes @ base[:3, :3].T,
        platform.horns, platform.rods, platform.frames[..., 0] @ base[:3, :3].T, platform.home_angles,
        platform.angle_limits, base @ platform.home_pose @ np.linalg.inv(top),
    )  # fmt: skip


def course(platform, seconds):
    """Poses of a closed course from home, fast for such a machine."""
    t = 2.0 * np.pi * np.asarray(seconds, dtype=float)
    wave = [np.sin(t), np.sin(2.0 * t), np.sin(t), np.sin(3.0 * t), np.sin(t), 1.0 - np.cos(t)]
    size = np.array([0.1, 0.08, 0.15, 0.004, 0.004, 0.002])
    centre = np.eye(4)
    centre[:3, 3] = platform.platform_points.mean(axis=0)
    return platform.home_pose @ centre @ np.asarray(se3.exp(np.stack(wave, axis=-1) * size)) @ np.linalg.inv(centre)


@pytest.mark.parametrize("pattern", ["coplanar", "tangential", "radial"])
@pytest.mark.parametrize("every", [1, 20, 100, 333])
def test_poses_are_those_of_the_course(pattern, every, rng):
    platform = shifted_frames(drawing(pattern), rng)
    poses = course(platform, np.arange(0, 1000, every) * 1e-3)
    tracker = StewartTracker(platform, platform.home_pose)
    angles = platform.motor_positions(poses)
    path = tracker.update_many(angles)
    assert path.valid.all() and path.continued.all() and not path.certified.any()
    assert np.abs(path.poses - poses).max() < 1e-12
    assert path.largest_h.max() < 0.5 and (path.steps[1:] > 1).any() == (every > 20 or path.steps.max() > 1)
    assert np.array_equal(path.lengths, angles)
    assert path.condition_numbers == pytest.approx(platform.condition_number(poses), rel=1e-9)


def test_steps_end_where_many_small_ones_do(rng):
    """What is proven in one long step is the pose at the end of the straight line in the angles."""
    platform = drawing()
    low, high = platform.angle_limits.T
    for _ in range(40):
        long, short = (StewartTracker(platform, platform.home_pose) for _ in range(2))
        goal = rng.uniform(0.6 * low, 0.6 * high)
        way = platform.home_angles + np.linspace(0.0, 1.0, 3001)[1:, None] * (goal - platform.home_angles)
        found, path = long.update(goal), short.update_many(way)
        if found.valid:
            assert path.valid.all()
            assert np.abs(found.pose - path.poses[-1]).max() < 1e-11
        else:
            assert found.status in (TrackingStatus.SINGULAR, TrackingStatus.NO_POSE)
            assert np.abs(long.pose - platform.home_pose).max() < 1e-15
            assert path.statuses[-1] != TrackingStatus.TRACKED or path.condition_numbers.max() > 1e3


def test_rates_and_accelerations(rng):
    platform = shifted_frames(drawing(), rng)
    tracker, t, h = StewartTracker(platform, platform.home_pose), 0.3, 1e-4
    angles = platform.motor_positions(course(platform, [t - h, t, t + h]))
    rates, second = (angles[2] - angles[0]) / (2.0 * h), (angles[2] - 2.0 * angles[1] + angles[0]) / h**2
    tracker.update(angles[1])
    tracked = tracker.update(angles[1], rates, second)
    before, _, after = course(platform, [t - h, t, t + h])
    assert tracked.twist == pytest.approx(np.asarray(se3.log(np.linalg.inv(before) @ after)) / (2.0 * h), abs=1e-5)
    assert platform.motor_rates(tracked.pose, tracked.twist) == pytest.approx(rates, abs=1e-11)
    again = platform.motor_accelerations(tracked.pose, tracked.twist, tracked.acceleration)
    assert again == pytest.approx(second, abs=1e-9)
    many = tracker.update_many(angles[1:2], rates[None], second[None])
    assert many.twists[0] == pytest.approx(tracked.twist, abs=1e-12)
    assert many.accelerations[0] == pytest.approx(tracked.acceleration, abs=1e-9)


def test_covariance_is_that_of_noisy_angles(rng):
    platform = drawing()
    pose = course(platform, 0.2)
    tracker = StewartTracker(platform, platform.home_pose, leg_noise=1e-4)
    angles = platform.motor_positions(pose)
    tracked = tracker.update(angles)
    noisy = StewartTracker(platform, platform.home_pose).update_many(angles + 1e-4 * rng.normal(size=(4000, 6)))
    turns = np.asarray(se3.log(np.linalg.inv(pose) @ noisy.poses))[:, :3] @ pose[:3, :3].T
    moves = np.hstack([turns, noisy.poses[:, :3, 3] - pose[:3, 3]])
    sizes = np.sqrt(np.diagonal(tracked.covariance))
    assert moves.std(axis=0) == pytest.approx(sizes, rel=0.06)
    assert np.corrcoef(moves.T) == pytest.approx(tracked.covariance / np.outer(sizes, sizes), abs=0.08)
    out = np.empty((1, 6, 6))
    assert tracked.write_covariance(out, np.arange(6)) and np.array_equal(out[0], tracked.covariance)
    assert tracked.residual < 1e-15
    each = [noisy[k].covariance for k in (0, 17)]
    assert noisy.covariances[[0, 17]] == pytest.approx(np.array(each), rel=1e-9, abs=1e-12 * np.abs(each).max())


def test_certified_is_the_only_pose_in_reach():
    platform = drawing()
    poses = course(platform, np.arange(0, 300) * 1e-3)
    tracker = StewartTracker(platform, platform.home_pose, (0.3, 5.0), length_error=1e-6)
    path = tracker.update_many(platform.motor_positions(poses), dt=1e-3)
    assert path.certified.all()
    far = tracker.update(platform.motor_positions(course(platform, 0.8)), dt=1e-3)
    assert far.status is TrackingStatus.OUT_OF_REACH and not far.valid
    assert np.array_equal(far.pose, path.poses[-1])
    assert "angles" in far.message and tracker.refuted
    back = tracker.update(platform.motor_positions(poses[-1]), dt=1e-3)
    assert back.valid and np.abs(back.pose - poses[-1]).max() < 1e-13
    tracker.reset(platform.home_pose)
    assert tracker.update(platform.home_angles, dt=1e-3).certified


def test_candidates_are_modes_when_time_passed():
    platform = drawing()
    tracker = StewartTracker(platform, platform.home_pose, (0.3, 5.0))
    angles = platform.motor_positions(course(platform, 0.2))
    tracked = tracker.update(angles, dt=100.0)
    modes = assembly_modes(platform, angles).poses
    assert tracked.status is TrackingStatus.AMBIGUOUS and len(tracked.candidates) == len(modes) > 1
    for pose in tracked.candidates:
        assert np.abs(modes - pose).max(axis=(1, 2)).min() < 1e-9


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        (np.nan, TrackingStatus.NOT_FINITE, "angle of leg 3 is nan, expected a number"),
        (np.inf, TrackingStatus.NOT_FINITE, "angle of leg 3 is inf"),
        (1.5, TrackingStatus.LEG_LIMIT, "angle of leg 3 is 1.5 rad, 0.1 rad above its limits -1.4 to 1.4 rad: degrees"),
        (-2.0, TrackingStatus.LEG_LIMIT, "angle of leg 3 is -2 rad, 0.6 rad below"),
    ],
)
def test_what_no_motor_has(change, status, message):
    platform = drawing()
    tracker = StewartTracker(platform, platform.home_pose)
    angles = platform.home_angles.copy()
    angles[2] = change
    tracked = tracker.update(angles)
    assert tracked.status is status and tracked.message.startswith(message)
    assert np.abs(tracked.pose - platform.home_pose).max() < 1e-15
    assert tracker.update(platform.home_angles).valid
    with pytest.raises(StewartError, match="expected"):
        tracker.update(angles[:5])


def test_negative_angles_and_whole_turns():
    platform = drawing()
    wide = RotaryPlatform(
        platform.base_points, platform.platform_points, platform.axes, platform.horns, platform.rods,
        platform.frames[..., 0], platform.home_angles, (-20.0, 20.0),
    )  # fmt: skip
    tracker = StewartTracker(wide, wide.home_pose)
    down = tracker.update(np.full(6, -0.4))
    assert down.valid and down.pose[2, 3] < wide.home_pose[2, 3]
    turned = tracker.update(np.full(6, 2.0 * np.pi + 0.1))
    assert turned.valid and np.abs(turned.pose - wide.home_pose).max() < 1e-12


def test_copies_go_on_by_themselves():
    platform = drawing()
    angles = platform.motor_positions(course(platform, [0.1, 0.15]))
    tracker = StewartTracker(platform, platform.home_pose, (0.3, 5.0))
    assert tracker.update(angles[0], dt=0.1).valid
    for other in (copy.copy(tracker), pickle.loads(pickle.dumps(tracker)), copy.deepcopy(tracker)):
        assert np.abs(other.update(angles[1], dt=0.05).pose - course(platform, 0.15)).max() < 1e-13
    assert np.abs(tracker.pose - course(platform, 0.1)).max() < 1e-13


def test_time_to_the_end_of_the_reach():
    platform = drawing()
    tracker = StewartTracker(platform, platform.home_pose)
    up = np.r_[0.0, 0.0, 0.0, 0.0, 0.0, 0.02]
    angles = platform.home_angles
    tracked = tracker.update(angles, platform.motor_rates(platform.home_pose, up))
    left = tracked.time_to_singularity(5.0)
    reached = [platform.home_pose @ np.asarray(se3.exp(t * up)) for t in (0.9 * left, left + 5.0 / 32)]
    assert np.isfinite(platform.reached_angles(reached[0])).all()
    assert np.isnan(platform.reached_angles(reached[1])).any()
    assert tracked.time_to_singularity(0.01) == np.inf
    assert np.isnan(tracker.update(angles).time_to_singularity())
