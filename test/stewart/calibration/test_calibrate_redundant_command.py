"""The command `calibrate_stewart` with more than six legs, gains of encoders, and no device at all."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from stewart_oracle import random_pose, turned
from support.bag_files import Bag
from support.page.left_out import leave_out_pictures
from test_calibrate_stewart_command import DRAWN, HOME, LEGS, record
from test_redundant_legs import FURTHER, drawn_points, gaps

from lie_dynamics_ros.identify.calibrate_command import _numbers, main
from lie_dynamics_ros.identify.stations import Sources, read_stations
from lie_dynamics_ros.lie_dynamics.stewart import LegReadings, PlatformSensors, StewartPlatform
from lie_dynamics_ros.lie_dynamics.stewart.calibration.model import at_points

NAMES = [leg.name for leg in FURTHER]
LEG_SCALE, WIRE_SCALE, WIRE_OFFSET = 0.5, 1e-3, -0.2


@pytest.fixture
def drawing(tmp_path):
    path = tmp_path / "in.yaml"
    sensors = "".join(
        f"  - {{name: {leg.name}, base_point: {list(leg.base_point)}, platform_point: {list(leg.platform_point)}, "
        f"noise: {leg.noise}, scale: {WIRE_SCALE}, offset: {WIRE_OFFSET}}}\n"
        for leg in FURTHER
    )
    angle = "  - {name: hinge, kind: angle, leg: 3, axis: [0, 1, 0], zero: [0, 0, 1], noise: 1e-4}\n"
    path.write_text(f"{DRAWN.to_yaml()}readings: {{length_scales: {LEG_SCALE}}}\nsensors:\n{sensors}{angle}")
    return str(path)


def machine(seed, count, noise=1e-5):
    """As built: points, offsets, gains, poses, and what the encoders read, in their own units."""
    rng = np.random.default_rng(seed)
    base, top = (x + rng.normal(scale=2e-3, size=x.shape) for x in drawn_points(FURTHER))
    offsets, gains = rng.normal(scale=1e-3, size=8), 1.0 + rng.normal(scale=3e-3, size=8)
    poses = np.stack([random_pose(rng, 0.12, 0.5) for _ in range(count)])
    long = np.stack([np.linalg.norm(top @ T[:3, :3].T + T[:3, 3] - base, axis=1) for T in poses])
    read = (long - offsets) / gains + noise * rng.normal(size=long.shape)
    raw = np.hstack((read[:, :6] / LEG_SCALE, (read[:, 6:] - WIRE_OFFSET) / WIRE_SCALE))
    return rng, base, top, long, poses, raw


def lengths_of(sensors, raw):
    """Lengths (k, 8) that a file makes of what encoders read."""
    readings = LegReadings.from_values(sensors.values())
    found = raw.copy()
    for row in found:
        readings.apply(row[:6], None, np.full(6, np.nan))
    return np.hstack((found[:, :6], sensors.scales[:2] * raw[:, 6:] + sensors.offsets[:2]))


def run(drawing, tmp_path, capsys, *more):
    out = tmp_path / "new"
    status = main([str(tmp_path / "bag"), "--platform", drawing, "--out", str(out), "--next", "3", *more])
    said = capsys.readouterr()
    return status, said.out + said.err, out


def test_gains_and_further_legs_from_a_tracker(drawing, tmp_path, capsys, monkeypatch):
    leave_out_pictures(monkeypatch)
    rng, base, top, long, poses, raw = machine(1, 24)
    tracker, target = random_pose(rng, 2.0, 1.2), random_pose(rng, 0.1, 1.0, 0.1)
    seen = turned(tracker @ poses @ np.linalg.inv(target), rng.normal(size=(24, 6)) * np.repeat((5e-5, 2e-5), 3))
    record(tmp_path / "bag", raw, seen, names=[*LEGS, *NAMES])
    status, said, out = run(drawing, tmp_path, capsys, "--gains")
    assert status == 0 and "further legs: 'wire', 'rod'; not in the bag: none" in said
    assert "gains are" in said and "ppm" in said and "overall scale" not in said
    platform = StewartPlatform.from_yaml(out / "platform.yaml")
    sensors = PlatformSensors.from_yaml(out / "platform.yaml", platform)
    assert [sensor.name for sensor in sensors.sensors] == [*NAMES, "hinge"]
    np.testing.assert_array_equal(sensors.sensors[2].base_point, platform.base_points[2])
    worst = float(re.search(r"offset: ([\d.]+) mm", said).group(1)) * 1e-3
    assert worst < 1e-3
    # The new file makes lengths of readings: as they are, but for what encoders and 24 poses leave.
    old = PlatformSensors.from_yaml(drawing, DRAWN)
    off, before = (np.abs(lengths_of(one, raw) - long).max() for one in (sensors, old))
    assert off < 4.0 * worst and 3.0 * off < before
    further = at_points(FURTHER, *found_points_of(platform, sensors))
    assert further == sensors.sensors[:2]
    off = gaps(found_points_of(platform, sensors)) - gaps((base, top))
    assert np.abs(off).max() < 6.0 * worst
    page = (out / "report.html").read_text()
    assert page.count("data:image/png;base64,iVBORw0KGgo") == 4 and "gain (deviation [ppm])" in page
    assert "base wire" in page and "platform rod" in page
    assert all(len(pose["leg_lengths"]) == 6 for pose in yaml.safe_load((out / "next_poses.yaml").read_text())["poses"])


def found_points_of(platform, sensors):
    return [
        np.vstack((getattr(platform, f"{key}s"), *(getattr(leg, key) for leg in sensors.sensors[:2])))
        for key in ("base_point", "platform_point")
    ]


@pytest.mark.slow
def test_eight_legs_without_a_device(drawing, tmp_path, capsys):
    """Gains by lengths alone and one measured distance: readings good to 0.1 um give everything to some micrometres."""
    _, base, top, long, _, raw = machine(2, 40, 1e-7)
    record(tmp_path / "bag", raw, np.tile(HOME, (40, 1, 1)), names=[*LEGS, *NAMES])
    Path(drawing).write_text(Path(drawing).read_text().replace("noise: 1e-05", "noise: 1e-07"))
    distance = ("--distance", "base", LEGS[0], LEGS[3], repr(float(np.linalg.norm(base[0] - base[3]))))
    more = ("--gains", "--measured", "lengths", "--length-sigma", "1e-7", "--distance-sigma", "1e-7")
    status, said, out = run(drawing, tmp_path, capsys, *distance, *more, "--further", *NAMES)
    assert status == 0 and "40 stands" in said and "lengths of all legs alone" in said and "warning" not in said
    platform = StewartPlatform.from_yaml(out / "platform.yaml")
    sensors = PlatformSensors.from_yaml(out / "platform.yaml", platform)
    worst = float(re.search(r"offset: ([\d.]+) mm", said).group(1)) * 1e-3
    assert worst < 5e-5
    assert np.abs(gaps(found_points_of(platform, sensors)) - gaps((base, top))).max() < 6.0 * worst
    assert np.abs(lengths_of(sensors, raw) - long).max() < 6.0 * worst
    assert "Poses from leg lengths" not in (out / "report.html").read_text()


def test_legs_on_topics_of_their_own(tmp_path):
    """Plain numbers, but for one leg, which comes by joint states; a topic that nobody named is not heard."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(0.4, 0.6, (3, 7))
    names = (*LEGS, "wire")
    with Bag(tmp_path / "bag") as bag:
        for k in range(90):
            row, time = rows[k // 30], k / 20.0
            for leg in range(7):
                if leg == 3:
                    bag.state("/joint_states", time, [names[3]], [row[3]])
                else:
                    bag.number(f"/legs/{names[leg]}", time, row[leg])
            bag.number("/legs/leg_9", time, 0.1 * k)
            bag.number("/other/leg_4", time, 0.1 * k)
    topics = _numbers([f"{'/' * (k % 2)}legs/{name}" if k != 3 else "" for k, name in enumerate(names)], names)
    found = read_stations(tmp_path / "bag", LEGS, Sources(device=False, numbers=topics), further=("wire", "rod"))
    assert found.legs == names and found.measured == "lengths"
    np.testing.assert_allclose(found.readings, rows, atol=1e-12)


def test_refused(drawing, tmp_path, capsys):
    _, _, _, _, poses, raw = machine(3, 9)
    record(tmp_path / "bag", raw[:, :7], poses, names=[*LEGS, "wire"])
    six = tmp_path / "six.yaml"
    six.write_text(DRAWN.to_yaml())
    for platform, more, why in (
        (drawing, ("--further", "hinge"), "--further: 'hinge' are no sensors of kind length in the file; it has 'wi"),
        (drawing, ("--further", "rod"), "no readings of 'rod'; legs there are 'leg_1'"),
        (str(six), ("--measured", "lengths"), "--measured lengths: sensors of kind length"),
        (str(six), ("--measured", "lengths", "--plan"), "--measured lengths: sensors of kind length"),
        (drawing, ("--measured", "lengths"), "9 poses were measured, at least 38 are expected (lengths)"),
        (drawing, ("--distance", "base", "leg_1", "leg_2", "far"), "--distance: a distance in metres"),
        (drawing, ("--distance", "top", "leg_1", "leg_2", "0.3"), "distance 0 is"),
        (drawing, ("--distance", "base", "leg_1", "leg_9", "0.3"), "distance 0 is of legs '1', 'leg_9'"),
        (drawing, ("--distance-sigma", "0"), "distance_sigma"),
        (drawing, ("--leg-topics", "a", "b"), "--leg-topics: 2 topics, expected one for each of 'leg_1'"),
        (drawing, ("--leg-topics", *"abcde", "/c"), "--leg-topics: 'leg_3', 'leg_6' both have the topic /c"),
    ):
        status, said, out = run(platform, tmp_path, capsys, *more)
        assert status == 1 and why in said, said
        assert not out.exists()


def test_a_plan_without_a_device(drawing, tmp_path, capsys):
    given = ["--plan", "--platform", drawing, "--out", str(tmp_path / "new"), "--measured", "lengths", "--gains"]
    assert main([*given, "--next", "8"]) == 0
    poses = yaml.safe_load((tmp_path / "new" / "next_poses.yaml").read_text())["poses"]
    assert len(poses) == 8
