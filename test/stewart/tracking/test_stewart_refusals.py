"""What the Stewart tracker refuses, and what it keeps then."""

import numpy as np
import pytest
import stewart_oracle as oracle
from support.grids import all_of
from test_stewart_tracker import HOME, Q_C, lengths_of

from lie_dynamics_ros.lie_dynamics import LieDynamicsError
from lie_dynamics_ros.lie_dynamics.stewart import (
    StewartError,
    StewartPlatform,
    StewartTracker,
    TrackingError,
    TrackingStatus,
    reference_platform,
)


def bad_lengths(leg, value):
    lengths = lengths_of(reference_platform(), [HOME])[0]
    lengths[leg] = value
    return lengths


@pytest.mark.parametrize(
    ("leg", "value", "status", "words"),
    [
        (2, np.nan, TrackingStatus.NOT_FINITE, "leg 3 is nan"),
        (0, np.inf, TrackingStatus.NOT_FINITE, "leg 1 is inf"),
        (0, -np.inf, TrackingStatus.NOT_FINITE, "leg 1 is -inf"),
        (4, -0.5, TrackingStatus.NOT_POSITIVE, "leg 5 is -0.5 m"),
        (5, 0.0, TrackingStatus.NOT_POSITIVE, "leg 6 is 0.0 m"),
        (1, 0.81, TrackingStatus.LEG_LIMIT, "leg 2 is 0.81 m, 10 mm above its limits 0.3 to 0.8 m"),
        (3, 0.29, TrackingStatus.LEG_LIMIT, "leg 4 is 0.29 m, 10 mm below its limits"),
    ],
)
def test_bad_lengths_are_refused_and_the_last_pose_kept(leg, value, status, words):
    platform = reference_platform(leg_limits=(0.3, 0.8))
    tracker = StewartTracker(platform, HOME)
    for tracked in (
        tracker.update(bad_lengths(leg, value)),
        tracker.update_many(bad_lengths(leg, value)[None])[0],
        tracker.update(bad_lengths(leg, value), np.ones(6)),
    ):
        assert tracked.status is status and not tracked.valid and not tracked.certified
        assert np.abs(tracked.pose - HOME).max() < 1e-15
        assert words in tracked.message and "last good one" in tracked.message
        assert np.isnan(tracked.covariance).all() and np.isnan(tracked.twist).all()
        with pytest.raises(TrackingError, match="last good one"):
            tracked.require()
    after = tracker.update(lengths_of(platform, [Q_C])[0])
    assert after.require() is after
    assert np.abs(after.pose - Q_C).max() < 1e-12


def test_lengths_that_no_pose_has():
    tracker = StewartTracker(reference_platform(), HOME)
    tracked = tracker.update(bad_lengths(0, 1.5))
    assert tracked.status is TrackingStatus.NO_POSE
    assert "no pose near has these lengths" in tracked.message
    assert np.abs(tracked.pose - HOME).max() < 1e-15
    assert tracker.update(lengths_of(reference_platform(), [HOME])[0]).valid


def test_a_singularity_on_the_way_is_not_jumped():
    """The pose beyond has the lengths, but the line to it meets a singularity."""
    platform = reference_platform()
    tracker = StewartTracker(platform, HOME)
    beyond = lengths_of(platform, [oracle.pose_of((18, -23, 51), (-97, 109, 12))])[0]
    for tracked in (tracker.update(beyond), tracker.update_many(beyond[None])[0]):
        assert tracked.status is TrackingStatus.SINGULAR
        assert "singularity 75.5" in tracked.message
        assert np.abs(tracked.pose - HOME).max() < 1e-15


def test_the_aspect_never_changes():
    """Turned beyond the singularity at a quarter turn, lengths touch a fold: the sign of det J tells the branches."""
    platform = reference_platform()
    turns = [oracle.pose_of((0, 0, 45), (5, 3, yaw)) for yaw in range(60, 171, 2)]
    lengths = lengths_of(platform, turns)
    path = StewartTracker(platform, turns[0]).update_many(lengths)
    signs = [np.sign(np.linalg.det(platform.jacobian(T))) for T in (turns[0], turns[-1])]
    assert signs[0] != signs[1]
    assert all(np.sign(np.linalg.det(platform.jacobian(T))) == signs[0] for T in path.poses)
    assert np.abs(lengths_of(platform, path.poses) - lengths)[path.valid].max() < 1e-12
    assert np.abs(path.poses[:10] - turns[:10]).max() < 1e-10


def test_too_many_steps():
    platform = reference_platform()
    tracker = StewartTracker(platform, HOME, max_steps=3)
    tracked = tracker.update(lengths_of(platform, [oracle.pose_of((10, 5, 65), (10, 0, 20))])[0])
    assert tracked.status is TrackingStatus.TOO_FAR and tracked.steps == 3
    assert "jumped too far" in tracked.message and np.abs(tracked.pose - HOME).max() < 1e-15


def test_singular_start_is_refused():
    tracker = StewartTracker(reference_platform(), HOME)
    with pytest.raises(StewartError, match="singular"):
        StewartTracker(reference_platform(), oracle.pose_of((0, 0, 45), (0, 0, 90)))
    with pytest.raises(StewartError, match="singular"):
        tracker.reset(oracle.pose_of((0, 0, 45), (0, 0, 90)))
    assert np.abs(tracker.pose - HOME).max() < 1e-15
    tracker.reset(Q_C)
    assert np.abs(tracker.pose - Q_C).max() < 1e-15


@all_of(
    ("call", "words"),
    [
        (lambda t: t.update(np.ones(5)), "lengths has shape"),
        (lambda t: t.update(np.ones((1, 6))), "lengths has shape"),
        (lambda t: t.update([1.0, 2.0]), "lengths has shape"),
        (lambda t: t.update(np.ones(6), np.ones(3)), "rates has shape"),
        (lambda t: t.update(np.ones(6), None, np.ones(6)), "without rates"),
        (lambda t: t.update(np.ones(6), np.ones(6), np.ones(2)), "accelerations has shape"),
        (lambda t: t.update_many(np.ones((3, 5))), "lengths has shape"),
        (lambda t: t.update_many(np.ones((3, 6)), np.ones((2, 6))), "rates has shape"),
        (lambda t: t.update_many(np.ones((3, 6)), None, np.ones((3, 6))), "without rates"),
        (lambda t: StewartTracker(t.platform, HOME, leg_noise=-1.0), "leg_noise"),
        (lambda t: StewartTracker(t.platform, HOME, leg_noise=-np.eye(6)), "no covariance"),
        (lambda t: StewartTracker(t.platform, HOME, leg_noise=np.ones(3)), "leg_noise has shape"),
        (lambda t: StewartTracker(t.platform, HOME, max_steps=0), "max_steps is 0"),
        (lambda t: StewartTracker(t.platform, np.eye(3)), "pose"),
        (lambda t: StewartTracker(t.platform, np.stack([HOME, HOME])), r"\(4, 4\)"),
        (lambda t: StewartTracker(t.platform, 2.0 * np.eye(4)), "pose"),
    ],
)
def test_wrong_arguments(call, words):
    tracker = StewartTracker(reference_platform(), HOME)
    with pytest.raises(LieDynamicsError, match=words):
        call(tracker)
    assert tracker.update(lengths_of(reference_platform(), [HOME])[0]).valid


def test_hostile_times_and_bounds():
    platform = reference_platform()
    tracker = StewartTracker(platform, Q_C, max_speed=(1.0, 1.0))
    lengths = platform.leg_lengths(Q_C)
    for dt in (None, np.nan, np.inf, -1e-3, 1j, {}, [], object(), 10**400):
        for call in (lambda dt: tracker.update(lengths, dt=dt), lambda dt: tracker.update_many(lengths[None], dt=dt)):
            with pytest.raises(StewartError, match="dt"):
                call(dt)
    for name in ("max_speed", "length_error", "leg_noise"):
        for value in ("fast", {}, object(), 10**400, 1j, [[1.0], [1.0, 2.0]], [np.nan, 1.0]):
            options = {"max_speed": (1.0, 1.0), name: value}
            with pytest.raises(StewartError, match=name):
                StewartTracker(platform, Q_C, **options)


@pytest.mark.parametrize("end", [0, 1])
def test_a_leg_at_its_end_stop_may_be_read_a_little_beyond(end):
    """By noise of a sensor, 1e-5 of its range; more is outside its limits."""
    usual = reference_platform()
    lengths = usual.leg_lengths(HOME)
    limits = np.tile([lengths.min() - 0.1, lengths.max() + 0.1], (6, 1))
    limits[0, end] = lengths[0]
    platform = StewartPlatform(usual.base_points, usual.platform_points, limits)
    tracker = StewartTracker(platform, HOME)
    beyond = np.eye(6)[0] * (limits[0, 1] - limits[0, 0]) * (2 * end - 1)
    assert tracker.update(lengths + 0.9e-5 * beyond, dt=0.01).valid
    refused = tracker.update(lengths + 1.2e-5 * beyond, dt=0.01)
    assert refused.status is TrackingStatus.LEG_LIMIT and not refused.valid
