"""Fusion of legs, IMU and further sensors: models against finite differences, covariance against chi-square."""

import numpy as np
import pytest
from fusion_truth import DT, GRAVITY, Motion, chi_squares, deviations, errors, follow, recording
from scipy.spatial.transform import Rotation
from scipy.special import chdtri
from support.grids import all_of

from lie_dynamics_ros.lie_dynamics import LieDynamicsError
from lie_dynamics_ros.lie_dynamics.stewart import (
    AngleSensor,
    DisplacementSensor,
    InclinationSensor,
    InertialSensor,
    StewartFusion,
    reference_platform,
)
from lie_dynamics_ros.lie_dynamics.stewart.kernels import readings as mk
from lie_dynamics_ros.lie_dynamics.stewart.kernels.filter import model

PLATFORM = reference_platform()
IMU = InertialSensor()
INCLINOMETER = np.array([0.1, -0.05, 0.02])
LEVEL = PLATFORM.home_pose


def moved(x, error):
    """A state with an error, by the words of `kernels.readings`."""
    x = x.copy()
    x[:9] = (Rotation.from_rotvec(error[:3]).as_matrix() @ x[:9].reshape(3, 3)).ravel()
    x[9:] += error[3:]
    return x


def expected(x, lever):
    """Readings of a state, as physics has them."""
    R, (p, w, v, dw, dv) = x[:9].reshape(3, 3), x[9:24].reshape(5, 3)
    (gyro, accel), (skew, skewed) = x[-24:-18].reshape(2, 3), np.eye(3) + x[-18:].reshape(2, 3, 3)
    readings = []
    for i, d in enumerate(x[24:-24]):
        past = Rotation.from_rotvec(0.5 * d * d * dw - d * w).as_matrix() @ R
        if i == 7:
            wp = w - d * dw
            y = past @ INCLINOMETER
            up = past.T @ (dv + np.cross(dw, y) + np.cross(wp, np.cross(wp, y)) - GRAVITY)
            readings.append(np.arctan2(-np.cross((1, 0, 0), (0, 0, 1)) @ up, up[2]))
            continue
        points = (PLATFORM.base_points[i % 6], PLATFORM.platform_points[i % 6])
        line = past @ points[1] + p - d * v + 0.5 * d * d * dv - points[0]
        readings.append(np.linalg.norm(line) if i < 6 else np.arctan2(line[2], line[1]))
    y = R @ lever
    force = dv + np.cross(dw, y) + np.cross(w, np.cross(w, y)) - GRAVITY
    return np.r_[readings, skew @ R.T @ w + gyro, skewed @ R.T @ force + accel]


def test_readings_and_their_derivatives():
    rng = np.random.default_rng(1)
    lever = np.array([0.03, -0.02, 0.05])
    ends = PLATFORM.base_points[0], PLATFORM.platform_points[0]
    angle = AngleSensor("angle", *ends, 1e-4, axis=(1, 0, 0), zero=(0, 2, 0))
    pose = np.eye(4)
    pose[:3, 3] = lever
    roll = InclinationSensor("roll", platform_point=INCLINOMETER, axis=(2, 0, 0), zero=(3, 0, 1))
    fusion = StewartFusion(PLATFORM, LEVEL, inertial=InertialSensor(pose=pose), sensors=[angle, roll])
    constants, geometry = fusion._model.constants, fusion._model.geometry
    offset = np.r_[rng.normal(0, 0.3, 3), rng.normal(0, 0.05, 3), np.zeros(44)]
    x = moved(np.r_[np.eye(3).ravel(), 0, 0, 0.5, np.zeros(44)], offset)
    x[12:24] = rng.normal(0, 1, 12)
    x[24:32] = rng.uniform(-2e-3, 5e-3, 8)
    x[32:] = np.r_[rng.normal(0, 1, 6), rng.normal(0, 0.1, 18)]
    values, slopes = np.empty(14), np.empty((14, 50))
    model(x, constants, geometry, values, slopes)
    assert np.abs(values - expected(x, lever)).max() < 1e-12
    h = 1e-5
    steps = np.eye(50) * h
    numeric = np.array([(expected(moved(x, s), lever) - expected(moved(x, -s), lever)) / (2 * h) for s in steps]).T
    # A delay moves the point of linearisation of the rotation by less than d |w|, 1 %, where w and w' come in.
    coarse = np.zeros(50, dtype=bool)
    coarse[mk.E_W : mk.E_V] = coarse[mk.E_DW : mk.E_DV] = coarse[mk.E_DELAY : -24] = True
    assert np.abs(numeric - slopes)[:, ~coarse].max() < 1e-8
    assert np.abs(numeric - slopes)[:, coarse].max() < 5e-3 * np.abs(numeric).max()


def wander(rng, n, start, jerk=(10.0, 50.0), parts=5):
    """A motion whose jerk is white noise, in finer steps than the filter's: poses and rates, (n, ...)."""
    R, (p, w, v, dw, dv) = start[:3, :3], np.r_[start[None, :3, 3], np.zeros((4, 3))]
    w, v, dw, dv = rng.normal(0, 0.1, 3), rng.normal(0, 0.05, 3), rng.normal(0, 1, 3), rng.normal(0, 0.3, 3)
    h, rows = DT / parts, []
    for k in range(n * parts):
        if k % parts == 0:
            rows.append((R, p, w, v, dw, dv))
        R = Rotation.from_rotvec(h * w + 0.5 * h * h * dw).as_matrix() @ R
        p, w, v = p + h * v + 0.5 * h * h * dv, w + h * dw, v + h * dv
        dw, dv = dw + rng.normal(0, jerk[1] * np.sqrt(h), 3), dv + rng.normal(0, jerk[0] * np.sqrt(h), 3)
    return rows


def consistency(seed, n):
    """Chi-squares of pose (6), twist (6), biases (6) and delays (6) after n samples of a motion as the model has it."""
    rng = np.random.default_rng(seed)
    unknown = 3e-4
    delays, bias = rng.normal(0, unknown, 6), np.r_[rng.normal(0, 1e-2, 3), rng.normal(0, 0.1, 3)]
    rows = wander(rng, n, LEVEL)
    fusion = StewartFusion(PLATFORM, LEVEL, inertial=IMU, leg_delay_deviations=unknown)
    for R, p, w, v, dw, dv in rows:
        turns = [Rotation.from_rotvec(0.5 * d * d * dw - d * w).as_matrix() for d in delays]
        past = [(turn @ R, p - d * v + 0.5 * d * d * dv) for turn, d in zip(turns, delays, strict=True)]
        legs = [
            np.linalg.norm(Q @ b + q - a)
            for (Q, q), a, b in zip(past, PLATFORM.base_points, PLATFORM.platform_points, strict=True)
        ]
        gyroscope = R.T @ w + bias[:3] + rng.normal(0, IMU.gyroscope_noise, 3)
        accelerometer = R.T @ (dv - GRAVITY) + bias[3:] + rng.normal(0, IMU.accelerometer_noise, 3)
        fused = fusion.update(legs + rng.normal(0, 1e-5, 6), gyroscope, accelerometer, dt=DT)
        assert not fused.left_out and not fused.disturbed
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = R, p
    left = np.r_[errors(pose[None], [fused])[0], np.r_[w, v] - fused.twist, bias - fused.biases, delays - fused.delays]
    part = np.r_[0:12, 24:30, mk.E_DELAY : mk.E_DELAY + 6]
    covariance = fused.error_covariance[np.ix_(part, part)]
    parts = [slice(k, k + 6) for k in (0, 6, 12, 18)]
    return [left[part] @ np.linalg.solve(covariance[part, part], left[part]) for part in parts]


@pytest.mark.parametrize("runs, samples", [(8, 60), pytest.param(400, 300, marks=pytest.mark.slow)])
def test_the_covariance_is_honest(runs, samples):
    """Sums of chi-squares stay within the bounds that all but 1 in 10,000 such studies keep."""
    sums = np.array([consistency(seed, samples) for seed in range(runs)]).sum(axis=0)
    low, high = chdtri(6 * runs, [1 - 5e-5, 5e-5])
    assert (sums < high).all(), sums / runs
    # From below: what first order misses of unknown delays makes it careful while they are unknown.
    assert (sums > 0.5 * low).all(), sums / runs


def test_delays_biases_and_mounting_are_found():
    rng = np.random.default_rng(3)
    delays = rng.normal(0, 1e-3, 6)
    turned, lever = Rotation.from_rotvec([0.5, -1.0, 0.3]).as_matrix(), np.array([0.05, 0.02, -0.03])
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turned, lever
    record = recording(rng, PLATFORM, 2000, delays=delays, lever=lever, turned=turned)
    imu = InertialSensor(pose=pose, alignment=0.0, gyroscope_scale=0.0, accelerometer_scale=0.0)
    fusion = StewartFusion(PLATFORM, record.poses[0], inertial=imu, leg_delay_deviations=1e-3)
    told = follow(fusion, record)
    last = told.found[-1]
    off = (last.delays - delays) / last.delay_deviations
    assert np.abs(off).max() < 5.0 and (last.delay_deviations < 1e-4).all()
    assert not any(one.left_out or one.disturbed for one in told.found) and told.worst < 5.0
    assert np.abs(last.biases - record.bias)[:3].max() < 1e-3


def test_a_filter_without_imu_follows_six_legs():
    rng = np.random.default_rng(4)
    record = recording(rng, PLATFORM, 200)
    fusion = StewartFusion(PLATFORM, record.poses[0])
    found = [fusion.update(lengths, dt=DT) for lengths in record.lengths]
    assert np.abs(deviations(record.poses, found)).max() < 5.0
    exact = PLATFORM.leg_lengths(found[-1].pose) - PLATFORM.leg_lengths(record.poses[-1])
    assert np.abs(exact).max() < 5e-5


def test_angles_and_displacements_add_to_what_is_known():
    record = recording(np.random.default_rng(5), PLATFORM, 60)
    base, point = (0.2, 0.3, 0.0), (0.05, 0.0, 0.02)
    extra = DisplacementSensor("wire", base, point, 1e-6)
    angle = AngleSensor("tilt", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 1e-6, axis=(0, 1, 0), zero=(0, 0, 1))
    both = StewartFusion(PLATFORM, record.poses[0], sensors=[extra, angle])
    legs = StewartFusion(PLATFORM, record.poses[0])
    for lengths, pose in zip(record.lengths, record.poses, strict=True):
        wire = np.linalg.norm(pose[:3, :3] @ point + pose[:3, 3] - base)
        tilt = np.arctan2(pose[0, 3], pose[2, 3])
        more, less = both.update([*lengths, wire, tilt], dt=DT), legs.update(lengths, dt=DT)
        assert not more.left_out and np.abs(deviations(pose[None], [more])).max() < 5.0
    assert (np.diagonal(more.covariance) < np.diagonal(less.covariance)).all()
    assert both.names == (*(f"leg {i}" for i in range(1, 7)), "wire", "tilt")


def test_readings_that_are_absent_are_no_faults():
    record = recording(np.random.default_rng(6), PLATFORM, 60)
    fusion = StewartFusion(PLATFORM, record.poses[0], inertial=IMU)
    for k, pose in enumerate(record.poses):
        present = np.arange(6) != (k % 6) if k else np.ones(6, dtype=bool)
        lengths = np.where(present, record.lengths[k], np.nan)
        imu = (record.gyroscope[k], record.accelerometer[k]) if k % 3 == 0 else (None, None)
        fused = fusion.update(lengths, *imu, dt=DT, present=present)
        assert not fused.left_out and np.abs(deviations(pose[None], [fused])).max() < 5.0


def test_late_readings_count_for_their_time():
    """Three legs come 3 ms later than the others, in an update of their own without time passing."""
    record = recording(np.random.default_rng(15), PLATFORM, 80)
    fusion = StewartFusion(PLATFORM, record.poses[0])
    early = np.arange(6) < 3
    fusion.update(record.lengths[0], dt=DT)
    for k in range(1, 80):
        fusion.update(record.lengths[k], dt=DT, present=early)
        if k > 3:
            fused = fusion.update(record.lengths[k - 3], dt=0.0, present=~early, age=3 * DT)
            assert not fused.left_out and np.abs(deviations(record.poses[k : k + 1], [fused])).max() < 5.0


@pytest.mark.parametrize("inertial", [pytest.param(None, marks=pytest.mark.slow), IMU])
def test_errors_of_old_readings_are_as_large_as_told(inertial):
    """One leg or all are 50 ms old, at 250 Hz; the jerk is that of the motion."""
    squares = []
    for seed, old in enumerate(([2], range(6))):
        ages = np.where(np.isin(np.arange(6), list(old)), 0.05, 0.0)
        record = recording(np.random.default_rng(30 + seed), PLATFORM, 700, delays=ages)
        fusion = StewartFusion(PLATFORM, record.poses[0], inertial=inertial, jerk=(3.0, 15.0))
        found = []
        for k in range(0, 700, 4):
            imu = () if inertial is None else (record.gyroscope[k], record.accelerometer[k])
            found.append(fusion.update(record.lengths[k], *imu, dt=4 * DT, age=ages))
        assert not any(fused.left_out for fused in found)
        squares.append(np.mean(chi_squares(record.poses[200::4], found[50:])) / 6.0)
    assert np.sqrt(np.mean(squares)) < 1.5


HOSTILE = [
    (dict(leg_noise=0.0), "leg 1: noise is"),
    (dict(leg_noise=[1e-5] * 5), "leg"),
    (dict(jerk=(0.0, 1.0)), "jerk"),
    (dict(jerk=(1.0, np.nan)), "jerk"),
    (dict(gravity=(0.0, 9.81)), "gravity"),
    (dict(window=0), "window"),
    (dict(window=2.5), "window"),
    (dict(recovery=0), "recovery"),
    (dict(threshold=-1.0), "threshold"),
    (dict(leg_delay_deviations=-1.0), "delay_deviation"),
    (dict(leg_delays=np.inf), "leg_delays"),
    (dict(leg_resolution=-1.0), "resolution"),
    (dict(inertial=InertialSensor(gyroscope_noise=0.0)), "gyroscope_noise"),
    (dict(inertial=InertialSensor(pose=np.ones((4, 4)))), "pose of the inertial sensor"),
    (dict(sensors=[DisplacementSensor("leg 1", (0, 0, 0), (0, 0, 0), 1e-5)]), "share a name"),
    (dict(sensors=[AngleSensor("a", (0, 0, 0), (0, 0, 0), 1e-5, axis=(0, 0, 1), zero=(0, 0, 2))]), "lies along"),
    (dict(sensors=[DisplacementSensor("a", (0, 0), (0, 0, 0), 1e-5)]), "a: base_point"),
]


@all_of("arguments, words", HOSTILE)
def test_what_cannot_be_used_is_named(arguments, words):
    with pytest.raises(LieDynamicsError, match=words):
        StewartFusion(PLATFORM, LEVEL, **arguments)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (((np.ones(5),), dict(dt=DT)), "readings has shape"),
        (((np.ones(6),), dict(dt=-DT)), "dt is"),
        (((np.ones(6),), dict(dt=np.nan)), "dt is"),
        (((np.ones(6), np.zeros(3)), dict(dt=DT)), "IMU"),
        (((np.ones(6),), dict(dt=DT, present=[True])), "present has shape"),
        (((np.full(6, np.nan),), dict(dt=DT)), "0 readings do not hold"),
        (((np.array([0.1, 3.0] * 3),), dict(dt=DT)), "no pose near the start"),
    ],
)
def test_updates_that_cannot_be_used_are_refused(arguments, words):
    positional, named = arguments
    fusion = StewartFusion(PLATFORM, LEVEL)
    with pytest.raises(LieDynamicsError, match=words):
        fusion.update(*positional, **named)
    assert not fusion.update(PLATFORM.leg_lengths(LEVEL), dt=DT).left_out  # nothing has become of it


def test_a_pose_that_is_none_is_refused():
    for pose in (np.eye(3), np.full((4, 4), np.nan), np.ones((4, 4))):
        with pytest.raises(LieDynamicsError):
            StewartFusion(PLATFORM, pose)
    assert Motion(np.random.default_rng(0)).at(np.zeros(1))[0].shape == (1, 3, 3)
