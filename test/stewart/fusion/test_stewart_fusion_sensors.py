"""Further sensors in the fusion: inclinometers, angles, a seventh leg; delays of all of them; their faults."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from fusion_truth import DT, KINDS, chi_squares, deviations, follow, recording, spoil
from support.grids import every_run

from lie_dynamics_ros.lie_dynamics.stewart import (
    AngleSensor,
    DisplacementSensor,
    InclinationSensor,
    InertialSensor,
    StewartError,
    StewartFusion,
    reference_platform,
)

PLATFORM = reference_platform()
WIRE = DisplacementSensor("wire", (0.2, 0.3, 0.0), (0.05, 0.0, 0.02), 1e-5)
HINGE = AngleSensor("hinge", (0.1, 0.0, 0.0), (0.0, 0.1, 0.0), 1e-5, axis=(0, 1, 0), zero=(-1, 0, -0.1))
ROLL = InclinationSensor("roll", platform_point=(0.1, 0.0, 0.0), noise=1e-4, axis=(1, 0, 0), zero=(0, 0, 1))
PITCH = InclinationSensor("pitch", platform_point=(0.1, 0.0, 0.0), noise=1e-4, axis=(0, 1, 0), zero=(0, 0, 1))


def readings_of(rng, record, sensors, delays):
    """What sensors read in a recording, (n, k): by geometry, and the specific force of the origin turned into {B}."""
    columns = []
    for sensor, delay in zip(sensors, delays, strict=True):
        R, p = record.past(delay)
        line = R @ np.asarray(sensor.platform_point) + p - sensor.base_point
        if isinstance(sensor, InclinationSensor):
            up = np.einsum("nji,nj->ni", R, record.force(delay))
            columns.append(np.arctan2(up[:, 1], up[:, 2]) if sensor.name == "roll" else np.arctan2(-up[:, 0], up[:, 2]))
        elif isinstance(sensor, AngleSensor):
            columns.append(np.arctan2(line[:, 0], line[:, 2]) - np.arctan2(-1.0, -0.1))
        else:
            columns.append(np.linalg.norm(line, axis=1))
    noise = [sensor.noise for sensor in sensors]
    return np.column_stack(columns) + rng.normal(0, noise, (len(columns[0]), len(sensors)))


@pytest.mark.slow
def test_delays_of_legs_are_found():
    rng = np.random.default_rng(20)
    delays = rng.uniform(0.0, 3e-3, 6)
    record = recording(rng, PLATFORM, 2000, delays=delays)
    fusion = StewartFusion(PLATFORM, record.poses[0], inertial=InertialSensor(), leg_delay_deviations=3e-3)
    told = follow(fusion, record)
    last = told.found[-1]
    assert np.abs(last.delays - delays).max() < 5e-4 and not told.named and told.worst < 5.0
    assert (np.abs(last.delays - delays) < 5.0 * last.delay_deviations).all()
    assert last.inertial_delay == (0.0, 0.0)


@pytest.mark.parametrize("late", [pytest.param(3e-3, marks=pytest.mark.slow), 0.05])
def test_the_covariance_is_honest_while_delays_scales_and_alignment_are_unknown(late):
    """At 250 Hz, all legs or one as late as may be expected: the whole motion, before they are known and after."""
    squares = []
    for seed in range(2):
        rng = np.random.default_rng(50 + seed)
        delays = np.full(6, late) if seed % 2 else np.where(np.arange(6) == 2, late, 0.0)
        record = recording(rng, PLATFORM, 700, delays=delays)
        fusion = StewartFusion(PLATFORM, record.poses[0], inertial=InertialSensor(), leg_delay_deviations=late)
        samples = zip(record.lengths[::4], record.gyroscope[::4], record.accelerometer[::4], strict=True)
        found = [fusion.update(*sample, dt=4 * DT) for sample in samples]
        assert not any(fused.left_out for fused in found)
        squares.append(np.mean(chi_squares(record.poses[::4], found)) / 6.0)
    assert np.sqrt(np.mean(squares)) < 1.5, np.sqrt(squares)


@pytest.mark.parametrize(
    "late, expected", every_run([(3e-3, 0.0)], [(3e-3, 0.0), (-2e-3, 0.0), (3e-3, 2.9e-3)])
)
def test_the_delay_of_an_imu_is_found(late, expected):
    """Poses are those of the legs' time, not of when the IMU read; so with legs that are late themselves."""
    rng = np.random.default_rng(21)
    leg = 1e-3 if expected else 0.0
    record = recording(rng, PLATFORM, 700, delays=[leg] * 6, late=late)
    exact = dict(alignment=0.0, gyroscope_scale=0.0, accelerometer_scale=0.0)  # else a delay takes 2 s to be found
    imu = InertialSensor(delay=expected, delay_deviation=3e-3 if not expected else 2e-4, **exact)
    fusion = StewartFusion(PLATFORM, record.poses[0], inertial=imu, leg_delays=leg)
    told = follow(fusion, record)
    last = told.found[-1]
    delay, deviation = last.inertial_delay
    assert abs(delay - late) < min(5e-4, 5.0 * deviation) and not told.named and told.worst < 5.0
    assert np.abs(last.delays - leg).max() < 1e-4 and last.delays.shape == (6,)
    assert 0.0 < deviation < 1e-4 and (last.delay_deviations < 2e-4).all()


@pytest.mark.parametrize("late", [pytest.param(3e-3, marks=pytest.mark.slow), -3e-3])
def test_the_delay_of_an_imu_is_not_told_before_its_scales_and_alignment_are_known(late):
    record = recording(np.random.default_rng(23), PLATFORM, 2000, late=late)
    fusion = StewartFusion(PLATFORM, record.poses[0], inertial=InertialSensor(delay_deviation=3e-3))
    told = []
    for three in zip(record.lengths, record.gyroscope, record.accelerometer, strict=True):
        told.append(fusion.update(*three, dt=DT).inertial_delay)
    delays, deviations = np.array(told).T
    assert np.isinf(deviations[:500]).all() and np.isfinite(deviations[-1]) and deviations[-1] < 3e-4
    known = np.isfinite(deviations)
    assert (np.abs(delays - late) < 3.0 * deviations)[known].all()


def test_delays_of_further_sensors_are_found():
    rng = np.random.default_rng(22)
    sensors = [replace(sensor, delay_deviation=3e-3) for sensor in (WIRE, HINGE)]
    delays = (3e-3, 1e-3)
    record = recording(rng, PLATFORM, 600)
    fusion = StewartFusion(PLATFORM, record.poses[0], inertial=InertialSensor(), sensors=sensors)
    told = follow(fusion, record, readings_of(rng, record, sensors, delays))
    assert np.abs(told.found[-1].delays[6:] - delays).max() < 5e-4 and not told.named and told.worst < 5.0


def test_inclinometers_take_the_place_of_an_imu_where_legs_fail():
    """Without them the freedom that five legs leave is bridged for some 10 ms; in slow motion gravity tells it."""
    rng = np.random.default_rng(23)
    record = recording(rng, PLATFORM, 900, size=0.02)
    sensors = [ROLL, PITCH]
    more = readings_of(rng, record, [replace(one, platform_point=(0.0, 0.0, 0.0)) for one in sensors], (0.0, 0.0))
    record.lengths[300:, 1] = np.nan
    ends = []
    for given in (sensors, []):
        given = [replace(one, platform_point=(0.0, 0.0, 0.0)) for one in given]
        fusion = StewartFusion(PLATFORM, record.poses[0], jerk=(0.05, 0.3), sensors=given)
        readings = np.column_stack([record.lengths, more[:, : len(given)]])
        found = [fusion.update(row, dt=DT) for row in readings]
        lost = np.array([fused.lost for fused in found])
        assert (np.abs(deviations(record.poses, found)).max(axis=1) < 5.0)[~lost].all()
        ends.append(np.sqrt(found[-1].covariance.diagonal()[:3].max()))
        assert list(found[-1].left_out) == ["leg 2"] or lost[-1]
    assert 20.0 * ends[0] < ends[1]


@pytest.mark.parametrize(
    ("sensor", "kind", "seed"),  # in every run each sensor once; each kind of fault in test_stewart_fusion_faults
    every_run(
        [((WIRE, HINGE)[k % 2], kind, 0) for k, kind in enumerate(KINDS[1:3])], product((WIRE, HINGE), KINDS, range(3))
    ),
)
def test_faults_of_further_sensors_are_their_own(sensor, kind, seed):
    """Named within five samples, left out, and taken in again, as legs are; so is a leg beside them."""
    rng = np.random.default_rng(seed)
    record, one = recording(rng, PLATFORM, 140), replace(sensor, resolution=0.0)
    more = readings_of(rng, record, [one], [0.0])
    spoil(rng, kind, more[:, 0], 60, 80)
    record.lengths[110:, 4] += 1e-3
    fusion = StewartFusion(PLATFORM, record.poses[0], inertial=InertialSensor(), leg_resolution=0.0, sensors=[one])
    told = follow(fusion, record, more)
    assert [name for _, name in told.named] == [sensor.name, "leg 5"] and 60 <= told.named[0][0] < 65
    assert told.named[1][0] == 110 and [name for _, name in told.returned] == [sensor.name]
    assert told.returned[0][0] < 110 and told.worst < 5.0


def test_a_faulty_inclinometer_is_named():
    """By readings beyond what accelerations explain: the jerk says how far these may change."""
    rng = np.random.default_rng(24)
    record = recording(rng, PLATFORM, 120)
    one = replace(ROLL, platform_point=(0.0, 0.0, 0.0))
    more = readings_of(rng, record, [one], [0.0])
    more[60:80] += 1.0
    fusion = StewartFusion(PLATFORM, record.poses[0], inertial=InertialSensor(delay_error=0.0), sensors=[one])
    told = follow(fusion, record, more)
    assert [name for _, name in told.named] == ["roll"] and 60 <= told.named[0][0] < 65 and told.worst < 5.0
    assert [name for _, name in told.returned] == ["roll"]


def test_an_axis_along_what_is_seen_is_refused():
    for sensor in (
        InclinationSensor("yaw", axis=(0, 0, 1), zero=(1, 0, 0)),
        AngleSensor("up", (0, 0, 0), (0, 0, 0), 1e-4, axis=(0, 0, 1), zero=(1, 0, 0)),
    ):
        fusion = StewartFusion(PLATFORM, PLATFORM.home_pose, sensors=[sensor])
        with pytest.raises(StewartError, match=f"{sensor.name}: what it sees lies along its axis"):
            fusion.update([*PLATFORM.leg_lengths(PLATFORM.home_pose), np.nan], dt=DT)


@pytest.mark.parametrize("values", [dict(delay=np.nan), dict(delay_deviation=-1.0), dict(delay_deviation=np.inf)])
def test_delays_of_an_imu_that_are_none_are_named(values):
    with pytest.raises(StewartError, match="inertial: delay"):
        StewartFusion(PLATFORM, PLATFORM.home_pose, inertial=InertialSensor(**values))
