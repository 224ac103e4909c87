"""Calibration: exact recovery, noise against Monte Carlo, and what is identifiable against geometry."""

import numpy as np
import pytest
from stewart_oracle import built, random_pose, rotation, turned

from lie_dynamics_ros.lie_dynamics.errors import LieDynamicsError
from lie_dynamics_ros.lie_dynamics.stewart import (
    StewartError,
    StewartPlatform,
    calibrate,
    identifiability_report,
    reference_platform,
)
from lie_dynamics_ros.lie_dynamics.stewart.calibration.model import Measurements, Parameters, cost_of, linearise

NOMINAL = reference_platform(leg_limits=(0.2, 0.9))


def machine(seed, count=40, reach=0.12, angle=0.5):
    """A platform a few millimetres off its drawing, poses of it, and the readings of its six encoders."""
    rng = np.random.default_rng(seed)
    return rng, *built(rng, NOMINAL, count, reach, angle)


@pytest.mark.parametrize("seed", range(3))
def test_exact_data_give_the_machine_back(seed):
    _, base, top, offsets, poses, readings = machine(seed)
    found = calibrate(NOMINAL, poses, readings)
    assert found.converged and found.report.rank == 42
    np.testing.assert_allclose(found.platform.base_points, base, atol=1e-12)
    np.testing.assert_allclose(found.platform.platform_points, top, atol=1e-12)
    np.testing.assert_allclose(found.offsets, offsets, atol=1e-12)
    np.testing.assert_allclose(found.length_residuals, 0.0, atol=1e-13)
    np.testing.assert_allclose(found.poses, poses, atol=1e-15)
    np.testing.assert_array_equal(found.platform.leg_limits, NOMINAL.leg_limits)


def test_exact_data_with_weights_on_the_poses_and_a_bad_start_too():
    _, base, top, offsets, poses, readings = machine(5)
    far = StewartPlatform(base + 0.03, top - 0.02)
    found = calibrate(far, poses, readings, pose_sigma=1e-4)
    assert found.converged
    np.testing.assert_allclose(found.platform.base_points, base, atol=1e-10)
    np.testing.assert_allclose(found.offsets, offsets, atol=1e-10)
    np.testing.assert_allclose(found.poses, poses, atol=1e-10)


@pytest.mark.parametrize("runs", [30, pytest.param(120, marks=pytest.mark.slow)])
def test_noise_comes_out_as_the_covariance_says(runs):
    """Monte Carlo over readings and poses: spread of the estimates, and chi square against its degrees of freedom."""
    rng, base, top, offsets, poses, readings = machine(7, count=30)
    pose_sigma = np.array([3e-5, 3e-5, 3e-5, 1e-5, 2e-5, 1e-5])
    chi, errors = [], []
    truth = Parameters().join(base, top, offsets)
    for _ in range(runs):
        noisy = readings + rng.normal(scale=2e-5, size=readings.shape)
        measured = turned(poses, rng.normal(size=(len(poses), 6)) * pose_sigma)
        found = calibrate(NOMINAL, measured, noisy, length_sigma=2e-5, pose_sigma=pose_sigma)
        chi.append(found.chi_square)
        estimate = Parameters().join(found.platform.base_points, found.platform.platform_points, found.offsets)
        errors.append((estimate - truth) / found.report.standard_deviations)
    # 120 runs estimate a standard deviation to 6.5 %; the worst of 42 within 4 sigma.
    spread, wider = np.sqrt(np.mean(np.square(errors), axis=0)), np.sqrt(120 / runs)
    assert np.all(np.abs(spread - 1.0) < 0.26 * wider)
    assert np.mean(spread) == pytest.approx(1.0, abs=0.05 * wider)
    freedom = 30 * 12 - 30 * 6 - 42
    assert found.degrees_of_freedom == freedom
    assert np.mean(chi) == pytest.approx(freedom, abs=4.0 * np.sqrt(2.0 * freedom / runs))


def test_reduced_jacobian_is_the_derivative_of_the_profiled_residual():
    """Gradient of the cost over the parameters, poses at their best, against central differences."""
    rng, base, top, offsets, poses, readings = machine(3, count=8)
    data = Measurements.check(turned(poses, rng.normal(scale=1e-3, size=(8, 6))), readings, 1e-3, 2e-3)
    theta, estimate = Parameters().join(base, top, offsets) + rng.normal(scale=1e-3, size=42), data.poses

    def moved(screws):
        out = estimate.copy()
        for T, s in zip(out, screws, strict=True):
            T[:3, 3] += T[:3, :3] @ s[3:]
            T[:3, :3] = T[:3, :3] @ rotation(s[:3])
        return out

    problem = linearise(theta, estimate, data)
    # The derivative along any change of the parameters, the poses following as the reduced problem has them follow.
    for _ in range(5):
        step = rng.normal(size=42)
        screws = problem.pose_steps(step) - problem.pose_steps(np.zeros(42))
        h = 1e-6
        ahead = cost_of(theta + h * step, moved(h * screws), data)
        slope = (ahead - cost_of(theta - h * step, moved(-h * screws), data)) / (2 * h)
        expected = problem.reduced_residual @ problem.reduced_jacobian @ step
        assert slope == pytest.approx(expected, rel=1e-6)


def test_poses_that_never_turn_tell_only_differences():
    """Without rotation, base and platform joint of a leg can move together: 18 combinations are lost, by geometry."""
    poses = np.tile(np.eye(4), (40, 1, 1))
    poses[:, :3, 3] = np.random.default_rng(1).uniform((-0.1, -0.1, 0.4), (0.1, 0.1, 0.6), (40, 3))
    report = identifiability_report(NOMINAL, poses)
    assert report.rank == 24 and report.null_space.shape == (42, 18) and report.gauge == 3
    assert set(report.unidentifiable) == set(Parameters().names[:36])
    assert np.isinf(report.standard_deviations[:36]).all() and np.isfinite(report.standard_deviations[36:]).all()
    for line in report.combinations:
        first, second = line.split(", ")
        name = first.split(" by ")[0].split(" ", 1)[1]
        assert first.endswith("by +1.000") and second.endswith("by +1.000") and name in second
    assert "18 not identifiable, 3 of them choices of frame (gauge)" in str(report)


@pytest.mark.parametrize(
    ("pose_sigma", "lost"),
    [
        ([np.inf, np.inf, np.inf, 1e-5, 1e-5, 1e-5], 3),  # orientation not measured: the platform frame may be turned
        ([1e-5, 1e-5, 1e-5, np.inf, np.inf, np.inf], 6),  # position not measured: both frames may be shifted
    ],
)
def test_what_is_not_measured_is_gauge(pose_sigma, lost):
    poses = machine(0)[4]
    report = identifiability_report(NOMINAL, poses, pose_sigma=pose_sigma)
    assert report.rank == 42 - lost and report.gauge == lost
    _, _, _, _, poses, readings = machine(0)
    found = calibrate(NOMINAL, poses, readings, pose_sigma=pose_sigma)
    assert found.converged and found.chi_square < 1e-12
    assert found.degrees_of_freedom == 40 * 9 - 40 * 6 - (42 - lost)
    # Gauge directions stay where the drawing has them; distances between joints, which are no gauge, come out right.
    _, base, top, offsets, _, _ = machine(0)
    for points, truth in ((found.platform.base_points, base), (found.platform.platform_points, top)):
        gaps = np.linalg.norm(points[:, None] - points[None], axis=2)
        np.testing.assert_allclose(gaps, np.linalg.norm(truth[:, None] - truth[None], axis=2), atol=1e-10)
    np.testing.assert_allclose(found.offsets, offsets, atol=1e-10)


def test_few_poses_leave_directions_open():
    report = identifiability_report(NOMINAL, machine(0)[4][:5])
    assert report.rank == 30 and report.gauge == 0
    full = identifiability_report(NOMINAL, machine(0)[4])
    assert full.rank == 42 and full.unidentifiable == () and full.combinations == ()
    assert "least certain" in str(full) and full.condition_number > 1.0


def test_poses_in_the_frames_of_a_tracker():
    rng, base, _, offsets, poses, readings = machine(9)
    tracker, target = random_pose(rng, 2.0, 1.2), random_pose(rng, 0.1, 1.0, 0.1)
    seen = tracker @ poses @ np.linalg.inv(target)
    rough = turned(np.stack([tracker, target]), rng.normal(scale=0.05, size=(2, 6)))
    found = calibrate(NOMINAL, seen, readings, base_frame=rough[0], platform_frame=rough[1])
    assert found.converged
    np.testing.assert_allclose(found.offsets, offsets, atol=1e-11)
    np.testing.assert_allclose(found.platform.base_points, base @ tracker[:3, :3].T + tracker[:3, 3], atol=1e-11)
    design = found.in_design_frames()
    # Gauge removed: no rigid motion brings the sides closer to the drawing, so shifts and moments of the gaps vanish.
    for points, nominal in (
        (design.platform.base_points, NOMINAL.base_points),
        (design.platform.platform_points, NOMINAL.platform_points),
    ):
        np.testing.assert_allclose((points - nominal).sum(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(np.cross(points, nominal).sum(axis=0), 0.0, atol=1e-12)
        assert np.abs(points - nominal).max() < 8e-3
    pose = np.linalg.inv(design.base_frame) @ seen[0] @ design.platform_frame
    np.testing.assert_allclose(design.platform.leg_lengths(pose), readings[0] + offsets, atol=1e-11)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"readings": np.zeros((39, 6))}, r"expected \(k, 4, 4\) and \(k, 6\)"),
        ({"readings": np.full((40, 6), np.nan)}, "reading of leg 1 in measurement 0 is nan"),
        ({"length_sigma": 0.0}, "length_sigma is .* expected positive"),
        ({"length_sigma": np.inf}, "length_sigma"),
        ({"pose_sigma": [1.0, 2.0]}, r"pose_sigma has shape \(2,\)"),
        ({"poses": np.zeros((40, 4, 4))}, "poses"),
        ({"base_frame": np.zeros((4, 4))}, "base_frame"),
    ],
)
def test_bad_measurements(change, message):
    _, _, _, _, poses, readings = machine(0)
    arguments = {"poses": poses, "readings": readings} | change
    with pytest.raises(LieDynamicsError, match=message):
        calibrate(NOMINAL, **arguments)


def test_errors_are_of_the_room():
    with pytest.raises(StewartError):
        calibrate(NOMINAL, np.tile(np.eye(4), (3, 1, 1)), np.zeros((2, 6)))
