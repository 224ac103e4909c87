"""Fusion of servos' angles and an IMU, against a motion that is known; angles by circles and spheres alone."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from lie_dynamics_ros.lie_dynamics.stewart import (
    InertialSensor,
    StewartError,
    StewartFusion,
    StewartTracker,
    semi_regular_rotary_platform,
)

PLATFORM = semi_regular_rotary_platform(0.062, 0.05, 0.2269, 0.2, horns=0.02, rods=0.11)
STEP, NOISE = 0.01, 1e-3


def pose_at(t):
    T = PLATFORM.home_pose.copy()
    T[:3, :3] = Rotation.from_rotvec([0.1 * np.sin(3 * t), 0.08 * np.cos(2 * t), 0.1 * np.sin(t)]).as_matrix()
    T[:3, 3] += 0.004 * np.sin(2 * t), 0.003 * np.cos(3 * t), 0.004 * np.sin(t)
    return T


def angles_at(t):
    """Where the horn's ball is a rod away from its ball on the platform, near to the horizontal."""
    T, found = pose_at(t), []
    for k in range(6):
        end = T[:3, :3] @ PLATFORM.platform_points[k] + T[:3, 3] - PLATFORM.base_points[k]
        x, y = 0.02 * PLATFORM.frames[k, :, 0], 0.02 * PLATFORM.frames[k, :, 1]
        found.append(brentq(lambda a: np.linalg.norm(end - np.cos(a) * x - np.sin(a) * y) - 0.11, -1.2, 1.2))  # noqa: B023
    return np.array(found)


def inertial_at(t, h=1e-4):
    before, now, after = (pose_at(t + s) for s in (-h, 0.0, h))
    spin = Rotation.from_matrix(after[:3, :3] @ before[:3, :3].T).as_rotvec() / (2 * h)
    felt = (before[:3, 3] - 2 * now[:3, 3] + after[:3, 3]) / h**2 + [0.0, 0.0, 9.81]
    return now[:3, :3].T @ spin, now[:3, :3].T @ felt


def error_of(found, t):
    T = pose_at(t)
    turn = Rotation.from_matrix(found.pose[:3, :3] @ T[:3, :3].T).as_rotvec()
    return np.r_[turn, found.pose[:3, 3] - T[:3, 3]]


@pytest.mark.slow  # in every run those of sliding legs, in test_stewart_fusion
def test_errors_are_as_large_as_the_covariance_says(rng):
    fusion = StewartFusion(PLATFORM, pose_at(0.0), leg_noise=NOISE, jerk=(1.0, 5.0))
    tracker = StewartTracker(PLATFORM, pose_at(0.0))
    squares, raw, fused = [], [], []
    for k in range(300):
        angles = angles_at(STEP * k) + NOISE * rng.normal(size=6)
        found = fusion.update(angles, dt=STEP)
        error = error_of(found, STEP * k)
        squares.append(error @ np.linalg.solve(found.covariance, error))
        fused.append(error)
        raw.append(error_of(tracker.update(angles), STEP * k))
    assert not found.left_out
    assert 4.0 < np.mean(squares[50:]) < 7.5  # six on average; neighbours are alike
    assert np.square(fused[50:]).mean() < 0.8 * np.square(raw[50:]).mean()


def test_a_servo_that_slips_or_falls_silent_is_left_out(rng):
    imu = InertialSensor()
    fusion = StewartFusion(PLATFORM, pose_at(0.0), leg_noise=NOISE, jerk=(1.0, 5.0), inertial=imu)
    for k in range(260):
        t = STEP * k
        angles = angles_at(t) + NOISE * rng.normal(size=6)
        if k >= 100:
            angles[2] += 0.15
        present = np.ones(6, dtype=bool)
        present[4] = k < 200
        gyroscope, accelerometer = inertial_at(t)
        found = fusion.update(
            angles,
            gyroscope + imu.gyroscope_noise * rng.normal(size=3),
            accelerometer + imu.accelerometer_noise * rng.normal(size=3),
            dt=STEP, present=present,
        )  # fmt: skip
        if k == 99:
            assert not found.left_out
        if k == 190:
            assert set(found.left_out) == {"leg 3"}
            assert np.abs(error_of(found, t)[3:]).max() < 1e-3
    error = error_of(found, t)
    assert error @ np.linalg.solve(found.covariance, error) < 40.0
    assert np.abs(error[3:]).max() < 5e-3


def test_horns_that_do_not_reach_are_no_start():
    away = pose_at(0.0)
    away[2, 3] += 0.2
    fusion = StewartFusion(PLATFORM, away, leg_noise=NOISE)
    with pytest.raises(StewartError):
        fusion.update(np.full(6, 3.0), dt=0.0)
