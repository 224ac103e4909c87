"""Tracking: accuracy, proofs, outputs, and what happens when it cannot go on."""

import numpy as np
import pytest
import stewart_oracle as oracle

from lie_dynamics_ros.lie_dynamics.stewart import (
    StewartPlatform,
    StewartTracker,
    reference_platform,
)

HOME = oracle.pose_of((0, 0, 50), (0, 0, 0))
Q_C = oracle.pose_of((0, 0, 50), (20, 0, -30))


def motion(n, dt=1e-3):
    """Poses of a motion of all six freedoms, +-8 cm and +-17 degrees at 1 Hz."""
    phases = 2 * np.pi * dt * np.arange(n)[:, None] + np.arange(6)
    q = np.sin(phases) * ([0.08] * 3 + [np.deg2rad(17)] * 3)
    poses = np.tile(np.eye(4), (n, 1, 1))
    for T, row in zip(poses, q, strict=True):
        T[:3, :3] = oracle.rotation(row[3:])
        T[:3, 3] = row[:3] + np.array([0.0, 0.0, 0.5])
    return poses


def lengths_of(platform, poses):
    base, top = platform.base_points, platform.platform_points
    return np.array([oracle.lengths(base, top, T[:3, :3], T[:3, 3]) for T in poses])


def offset_platform(rng):
    """A lopsided platform whose {B} is far from its points, so that every shift of origin shows."""
    base = reference_platform().base_points + rng.normal(scale=0.03, size=(6, 3))
    return base, reference_platform().platform_points + rng.normal(scale=0.03, size=(6, 3)) + (0.3, -0.2, 0.1)


def test_millisecond_steps_take_three_corrections_and_keep_twelve_digits():
    platform = reference_platform()
    poses = motion(3000)
    path = StewartTracker(platform, poses[0]).update_many(lengths_of(platform, poses))
    assert path.valid.all() and path.continued.all() and (path.steps == 1).all()
    assert path.iterations.max() <= 3
    assert np.abs(path.poses - poses).max() < 1e-14
    assert path.largest_h.max() < 0.1


def test_plain_numbers_are_those_of_the_pose():
    platform = reference_platform()
    poses = motion(130)
    lengths = lengths_of(platform, poses)
    tracker = StewartTracker(platform, poses[0])
    singles, path = [tracker.update(row) for row in lengths], StewartTracker(platform, poses[0]).update_many(lengths)
    for tracked in (*singles, *path):
        position, quaternion = tracked.position_quaternion()
        assert tracked.valid
        assert position == tracked.pose[:3, 3].tolist()
        assert quaternion == tracked.quaternion.tolist()
    refused = tracker.update(np.full(6, np.nan))
    assert not refused.valid
    assert refused.position_quaternion() == singles[-1].position_quaternion()


def test_rotation_stays_orthonormal_over_many_steps():
    platform = reference_platform()
    lengths = lengths_of(platform, motion(1000))
    tracker = StewartTracker(platform, motion(1)[0])
    for _ in range(30):
        path = tracker.update_many(lengths)
    R = path.poses[-1, :3, :3]
    assert np.abs(R.T @ R - np.eye(3)).max() < 1e-14


@pytest.mark.parametrize("seed", range(5))
def test_twist_and_acceleration_of_a_path(seed):
    rng = np.random.default_rng(seed)
    base, top = offset_platform(rng)
    path = oracle.random_path(rng, base, top)
    tracker = StewartTracker(StewartPlatform(base, top), path.pose)
    tracked = tracker.update(path.lengths, path.rates, path.accelerations)
    scale = np.linalg.cond(tracker.platform.jacobian(path.pose)) * 1e-14
    assert np.abs(tracked.twist - path.twists["body"]).max() < 10 * scale
    assert np.abs(tracked.acceleration - path.twist_rates["body"]).max() < 100 * scale
    again = tracker.update_many(path.lengths[None], path.rates[None], path.accelerations[None])[0]
    assert np.abs(again.twist - tracked.twist).max() < 10 * scale
    assert np.abs(again.acceleration - tracked.acceleration).max() < 100 * scale


def test_twist_while_moving_fast():
    """The twist belongs to the new pose, not to the one whose Jacobian the step used."""
    rng = np.random.default_rng(3)
    base, top = offset_platform(rng)
    platform = StewartPlatform(base, top)
    poses = motion(200, dt=5e-3)
    rates = rng.normal(size=(200, 6))
    path = StewartTracker(platform, poses[0]).update_many(lengths_of(platform, poses), rates)
    for T, rate, twist in zip(poses, rates, path.twists, strict=True):
        legs = top @ T[:3, :3].T + T[:3, 3] - base
        w = T[:3, :3] @ twist[:3]
        speeds = T[:3, :3] @ twist[3:] + np.cross(w, top @ T[:3, :3].T)
        found = (legs * speeds).sum(axis=1) / np.linalg.norm(legs, axis=1)
        assert np.abs(found - rate).max() < 1e-12
    assert np.isnan(path.accelerations).all()


def test_without_rates_the_twist_is_unknown():
    tracked = StewartTracker(reference_platform(), HOME).update(lengths_of(reference_platform(), [HOME])[0])
    assert np.isnan(tracked.twist).all() and np.isnan(tracked.acceleration).all()


def test_covariance_at_the_true_pose_of_the_paper():
    tracker = StewartTracker(reference_platform(), Q_C, leg_noise=1e-5)
    tracked = tracker.update(lengths_of(reference_platform(), [Q_C])[0])
    deviations = 1e6 * np.sqrt(np.diag(tracked.covariance))
    assert deviations == pytest.approx([43.9, 39.4, 88.3, 22.8, 19.2, 5.92], rel=2e-3)


def test_covariance_agrees_with_monte_carlo():
    platform = reference_platform()
    noise = np.diag([1.0, 2.0, 0.5, 1.0, 1.5, 1.0]) + 0.2
    noise *= 1e-10
    rng = np.random.default_rng(8)
    exact = lengths_of(platform, [Q_C])[0]
    samples = rng.multivariate_normal(exact, noise, size=40000, method="cholesky")
    tracker = StewartTracker(platform, Q_C, leg_noise=noise)
    path = tracker.update_many(samples)
    assert path.valid.all()
    turn = path.poses[:, :3, :3] @ Q_C[:3, :3].T
    small = np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], axis=1)
    measured = np.cov(np.hstack([small, path.poses[:, :3, 3] - Q_C[:3, 3]]).T)
    predicted = tracker.update(exact).covariance
    scale = np.sqrt(np.diag(predicted))
    assert np.abs((measured - predicted) / np.outer(scale, scale)).max() < 0.02
    assert np.abs(np.sqrt(np.diag(measured)) / scale - 1).max() < 0.02


def test_covariance_is_that_of_the_linearised_legs(rng):
    base, top = offset_platform(rng)
    platform = StewartPlatform(base, top)
    poses = motion(20, dt=0.05)
    root = rng.normal(size=(6, 6))
    noise = 1e-10 * (root @ root.T + np.eye(6))
    path = StewartTracker(platform, poses[0], leg_noise=noise).update_many(lengths_of(platform, poses))
    assert path.valid.all()
    for i, T in enumerate(poses):
        jacobian = np.empty((6, 6))  # by central differences of the lengths
        for c in range(6):
            ends = []
            for sign in (1.0, -1.0):
                x = np.zeros(6)
                x[c] = sign * 1e-6
                moved = T.copy()
                moved[:3, :3] = oracle.rotation(x[:3]) @ T[:3, :3]
                moved[:3, 3] += x[3:]
                ends.append(lengths_of(platform, [moved])[0])
            jacobian[:, c] = (ends[0] - ends[1]) / 2e-6
        expected = np.linalg.solve(jacobian, np.linalg.solve(jacobian, noise).T)
        # 1e-7: the differences are good to 1e-9, and the condition of the Jacobian is up to 30.
        np.testing.assert_allclose(path[i].covariance, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
        np.testing.assert_array_equal(path.covariances[i], path[i].covariance)


def test_quaternions_are_continuous_and_turn_as_the_pose_does():
    platform = reference_platform()
    poses = motion(500)
    path = StewartTracker(platform, poses[0]).update_many(lengths_of(platform, poses))
    for i in range(0, 500, 7):
        x, y, z, w = path[i].quaternion
        vector, eye = np.array([x, y, z]), np.eye(3)
        cross = np.cross(eye, vector)
        R = (w * w - vector @ vector) * eye + 2.0 * np.outer(vector, vector) + 2.0 * w * cross
        np.testing.assert_allclose(R, poses[i, :3, :3], rtol=0, atol=1e-13)
    assert np.abs(np.diff(path.quaternions, axis=0)).max() < 0.01


def test_condition_number_uses_the_characteristic_length():
    platform = reference_platform()
    tracked = StewartTracker(platform, Q_C).update(lengths_of(platform, [Q_C])[0])
    top = platform.platform_points
    radius = np.sqrt(((top - top.mean(axis=0)) ** 2).sum(axis=1).mean())
    legs = (top @ Q_C[:3, :3].T + Q_C[:3, 3] - platform.base_points) @ Q_C[:3, :3]
    u = legs / np.linalg.norm(legs, axis=1)[:, None]
    values = np.linalg.svd(np.hstack([np.cross(top, u) / radius, u]), compute_uv=False)
    assert tracked.condition_number == pytest.approx(values[0] / values[-1], rel=1e-12)


def test_results_keep_their_values():
    platform = reference_platform()
    poses = motion(200)
    tracker = StewartTracker(platform, poses[0])
    results = [tracker.update(L) for L in lengths_of(platform, poses)]
    assert np.abs(np.array([r.pose for r in results]) - poses).max() < 1e-14
    with pytest.raises(ValueError, match="read-only"):
        results[0].pose[0, 0] = 2.0


def test_single_updates_and_batch_agree():
    platform = reference_platform()
    poses = motion(100, dt=1e-2)
    lengths = lengths_of(platform, poses)
    tracker = StewartTracker(platform, poses[0])
    single = np.array([tracker.update(list(L)).pose for L in lengths])
    batch = StewartTracker(platform, poses[0]).update_many(lengths).poses
    assert np.array_equal(single, batch)


@pytest.mark.parametrize("seed", range(3))
def test_jumps_across_the_workspace_are_split_and_stay_on_the_branch(seed):
    rng = np.random.default_rng(seed)
    platform = reference_platform()
    poses = np.array([oracle.random_pose(rng, 0.15, np.deg2rad(30)) for _ in range(300)])
    path = StewartTracker(platform, HOME).update_many(lengths_of(platform, poses))
    assert path.valid.all()
    assert path.steps.mean() > 10 and path.largest_h.max() < 0.5
    assert np.abs(path.poses - poses).max() < 1e-12
