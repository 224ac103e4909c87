"""From a bag of a platform that stands and is measured to a platform file: the command `calibrate_stewart`."""

import re
from itertools import pairwise

import numpy as np
import pytest
import yaml
from stewart_oracle import built, lengths, random_pose, turned
from support.bag_files import Bag
from support.grids import every_run

from lie_dynamics_ros.identify.bag import BagError
from lie_dynamics_ros.identify.calibrate_command import main
from lie_dynamics_ros.identify.stations import Sources, read_stations
from lie_dynamics_ros.lie_dynamics.lie import se3, so3
from lie_dynamics_ros.lie_dynamics.stewart import (
    PlatformSensors,
    RotaryPlatform,
    StewartPlatform,
    reference_platform,
    semi_regular_rotary_platform,
    solve_forward_kinematics,
)

HOME = np.eye(4)
HOME[2, 3] = 0.5
POINTS = reference_platform()
DRAWN = StewartPlatform(POINTS.base_points, POINTS.platform_points, (0.3, 0.8), home_pose=HOME)
LEGS = [f"leg_{k}" for k in range(1, 7)]
RATE, STAND, MOVE = 20, 26, 6  # states a second, of a stand and of a motion


def measurements(seed, count=24):
    """Base and platform points as built, offsets, poses, what a tracker sees, and encoders' readings."""
    rng = np.random.default_rng(seed)
    base, top, offsets, poses, readings = built(rng, DRAWN, count)
    tracker, target = random_pose(rng, 2.0, 1.2), random_pose(rng, 0.1, 1.0, 0.1)
    seen = turned(tracker @ poses @ np.linalg.inv(target), rng.normal(size=(count, 6)) * np.repeat((5e-5, 2e-5), 3))
    return base, top, offsets, poses, seen, readings + rng.normal(scale=1e-5, size=readings.shape)


def record(path, readings, seen, kind="PoseStamped", storage="mcap", names=LEGS):
    """Record stands, motions between them, and what is seen all the time, later and wrong while it moves."""
    with Bag(path, storage) as bag:
        time = 0.0
        for k, (reading, pose) in enumerate(zip(readings, seen, strict=True)):
            after = readings[min(k + 1, len(readings) - 1)]
            for step in range(STAND + MOVE):
                part = max(step - STAND, 0) / MOVE
                bag.state("/joint_states", time, names, reading + part * (after - reading))
                if step % 6 == 3:
                    bag.pose("/tracker", time, kind, pose if 6 < step < STAND - 1 else np.eye(4))
                time += 1.0 / RATE


@pytest.fixture
def drawing(tmp_path):
    path = tmp_path / "in.yaml"
    wire = "sensors: [{name: wire, base_point: [0, 0, 0], platform_point: [0, 0, 0.1], noise: 1e-5}]"
    path.write_text(DRAWN.to_yaml() + wire)
    return str(path)


def shape(base, top):
    """Distances between joints of a side, which no choice of frame changes."""
    return np.concatenate([np.linalg.norm(x[:, None] - x[None], axis=2)[np.triu_indices(6, 1)] for x in (base, top)])


def test_one_command(drawing, tmp_path, capsys):
    base, top, offsets, _, seen, readings = measurements(1)
    seen[7, 0, 3] += 2e-3  # somebody bumped into the tracker
    record(tmp_path / "bag", readings, seen)
    out = tmp_path / "new"
    assert main([str(tmp_path / "bag"), "--platform", drawing, "--out", str(out), "--next", "5"]) == 0
    said = capsys.readouterr().out
    assert "24 stands, 24 of them measured" in said and "measurements [7] contradict" in said
    for what in ("distance", "angle"):
        before, after = map(float, re.search(rf"{what}: ([\d.]+) \w+, ([\d.]+)", said).groups())
        assert 10.0 * after < before
    platform = StewartPlatform.from_yaml(out / "platform.yaml")
    np.testing.assert_array_equal(platform.leg_limits, DRAWN.leg_limits)
    np.testing.assert_array_equal(platform.home_pose, HOME)
    told = yaml.safe_load((out / "stewart_pose.yaml").read_text())["/**"]["stewart_pose"]["ros__parameters"]
    assert told["legs"] == LEGS and StewartPlatform.from_yaml(told["platform"]).to_yaml() == platform.to_yaml()
    # Deviations are about 0.2 mm; the machine is 2 mm off its drawing, its offsets 1 mm.
    worst = float(re.search(r"offset: ([\d.]+) mm", said).group(1)) * 1e-3
    assert worst < 5e-4
    sensors = PlatformSensors.from_yaml(out / "platform.yaml", platform)
    assert "length_offsets" not in told and [sensor.name for sensor in sensors.sensors] == ["wire"]
    assert np.abs(np.array(sensors.readings["length_offsets"]) - offsets).max() < 4.0 * worst
    true = shape(base, top)
    assert np.abs(shape(platform.base_points, platform.platform_points) - true).max() < 6.0 * worst
    assert np.abs(shape(DRAWN.base_points, DRAWN.platform_points) - true).max() > 4e-3
    plan = yaml.safe_load((out / "next_poses.yaml").read_text())["poses"]
    assert len(plan) == 5
    for pose in plan:
        np.testing.assert_allclose(
            lengths(platform.base_points, platform.platform_points, np.array(pose["rotation"]), pose["position"]),
            pose["leg_lengths"], atol=2e-6,
        )  # fmt: skip
        assert min(pose["leg_lengths"]) > 0.3 and max(pose["leg_lengths"]) < 0.8
    page = (out / "report.html").read_text()
    assert page.count("data:image/png;base64,iVBORw0KGgo") == 4
    for words in ("What to measure next", "Joint centres and offsets", "contradict the others"):
        assert words in page


KINDS = [("TransformStamped", "pose"), ("PointStamped", "position"), ("Imu", "orientation")]


@pytest.mark.parametrize(("kind", "measured"), KINDS)
def test_stations(tmp_path, kind, measured):
    _, _, _, _, seen, readings = measurements(2, 5)
    record(tmp_path / "bag", readings, seen, kind, "sqlite3")
    found = read_stations(tmp_path / "bag", LEGS)
    assert found.measured == measured
    np.testing.assert_allclose(found.readings, readings, atol=1e-12)
    np.testing.assert_allclose(found.time, np.arange(5) * (STAND + MOVE) / RATE, atol=0.06)
    expected = seen.copy()
    if measured == "position":
        expected[:, :3, :3] = np.eye(3)
    if measured == "orientation":
        expected[:, :3, 3] = 0.0
    np.testing.assert_allclose(found.poses, expected, atol=1e-9)


def test_slow_motions_gaps_and_single_legs_are_no_stands(tmp_path):
    """Legs on topics of their own; a stand is where all of them rest, and where none is silent."""
    _, _, _, _, seen, readings = measurements(3, 2)
    with Bag(tmp_path / "bag") as bag:
        for k in range(160):
            time = k / RATE
            for leg, name in enumerate(LEGS):
                if 60 <= k < 80 and leg == 2:
                    continue  # silent
                creep = 2e-5 * max(k - 110, 0) if leg == 4 else 0.0
                bag.state(f"/legs/{leg}", time + 1e-3 * leg, [name], [np.nan if k == 3 else readings[0, leg] + creep])
            if k % 5 == 0:
                bag.pose("/tracker", time, "PoseStamped", seen[0])
    found = read_stations(tmp_path / "bag", LEGS)
    np.testing.assert_allclose(found.time, [0.0, 4.0], atol=0.15)
    np.testing.assert_allclose(found.readings, readings[[0, 0]], atol=1e-5)


def test_refused(drawing, tmp_path, capsys):
    _, _, _, _, seen, readings = measurements(4, 9)
    small = seen.copy()
    small[:, :3, 3] *= 1e3
    swapped = readings[:, [5, 1, 2, 3, 4, 0]] + 0.2 * np.arange(6)
    for name, rows, poses, why in (
        ("few", readings[:5], seen[:5], "5 poses were measured, at least 8 are expected"),
        ("units", 1e3 * readings, seen, "other units"),
        ("none", readings, np.full((9, 4, 4), np.nan), "no poses"),
        ("inverse", readings, np.linalg.inv(seen), "seem to be inverted"),
        ("millimetres", readings, small, "seem to be in millimetres"),
        ("legs", swapped, seen, "leg lengths that the drawing has no pose for"),
        ("level", readings[[0] * 9], seen[[0] * 9], "turn too little"),
    ):
        bad = np.isnan(poses).any()
        with Bag(tmp_path / name) as bag:
            for k, (row, pose) in enumerate(zip(rows, poses, strict=True)):
                for step in range(25):
                    noise = 0.0 if step else 1.0  # a step between stands
                    bag.state("/joint_states", 1.25 * k + step / RATE, LEGS, row + noise)
                    if step == 15 and not bad:
                        bag.pose("/tracker", 1.25 * k + step / RATE, "PoseStamped", pose)
        still = "0.05" if name == "units" else "1e-4"
        given = [str(tmp_path / name), "--platform", drawing, "--out", str(tmp_path / "new"), "--still", still]
        assert main(given) == 1
        said = capsys.readouterr().err
        assert why in said, said
        assert not (tmp_path / "new").exists()


def test_refused_bags_and_options(drawing, tmp_path, capsys):
    _, _, _, _, seen, readings = measurements(5, 2)
    record(tmp_path / "bag", readings, seen)
    with pytest.raises(BagError, match=r"no readings of 'a'.*legs there are 'leg_2'.*--legs"):
        read_stations(tmp_path / "bag", ["a", *LEGS[1:]])
    with pytest.raises(BagError, match="none with a pose"):
        read_stations(tmp_path / "bag", LEGS, rest=5.0)
    with pytest.raises(BagError, match="no poses; topics are: /joint_states"):
        read_stations(tmp_path / "bag", LEGS, Sources(poses="/other"))
    with Bag(tmp_path / "two") as bag:
        for k in range(30):
            bag.state("/joint_states", k / RATE, LEGS, readings[0])
            bag.pose(f"/tracker_{k % 2}", k / RATE, "PoseStamped", seen[0])
    with pytest.raises(BagError, match="'/tracker_0', '/tracker_1' publish poses: --poses"):
        read_stations(tmp_path / "two", LEGS)
    given = ["nowhere", "--platform", drawing, "--out", str(tmp_path / "new")]
    for more, why in (
        ([], "no such file"),
        (["--still", "nan"], "--still: a positive number"),
        (["--scale", "0"], "--scale: numbers other than zero"),
        (["--offset", "1", "2"], "--offset: one finite number or six"),
    ):
        assert main([*given, *more]) == 1
        assert why in capsys.readouterr().err


def test_a_plan_before_anything_is_measured(drawing, tmp_path, capsys):
    given = ["--plan", "--platform", drawing, "--out", str(tmp_path / "new"), "--next", "12"]
    assert main(given) == 0
    before, after = map(float, re.search(r"from ([\d.]+) to ([\d.]+) mm", capsys.readouterr().out).groups())
    assert after < 0.2 * before
    assert len(yaml.safe_load((tmp_path / "new" / "next_poses.yaml").read_text())["poses"]) == 12


#: Errors of angles that are left [rad].
LEFT = {"PoseStamped": 5e-4, "PointStamped": 1.5e-3}


@pytest.mark.parametrize("kind", every_run(["PoseStamped"], LEFT))
def test_servo_hexapods(kind, tmp_path, capsys):
    """Angles and a tracker's poses, or a probe's positions, of a machine beside its drawing, frames unknown."""
    rng = np.random.default_rng(7)
    shape, limits = (0.062, 0.05, 0.2269, 0.2, 0.02, 0.11), (-1.4, 1.4)
    drawn = semi_regular_rotary_platform(*shape, home_angles=0.1, angle_limits=limits)
    balls = drawn.platform_points + rng.normal(scale=5e-4, size=(6, 3))
    base = drawn.base_points + rng.normal(scale=5e-4, size=(6, 3))
    machine = RotaryPlatform(base, balls, drawn.axes, 0.0202, 0.1095, drawn.frames[..., 0], 0.1, limits)
    poses = machine.home_pose @ se3.exp(rng.uniform(-1.0, 1.0, (60, 6)) * np.repeat((0.2, 0.008), 3))
    angles = machine.reached_angles(poses)
    there = np.flatnonzero(np.isfinite(angles).all(axis=1))[:24]
    tracker, target = random_pose(rng, 2.0, 1.2), random_pose(rng, 0.03, 1.0, 0.03)
    record(tmp_path / "bag", angles[there] + 1e-4 * rng.normal(size=(24, 6)), tracker @ poses[there] @ target, kind)
    (tmp_path / "in.yaml").write_text(drawn.to_yaml())
    out = tmp_path / "new"
    given = [str(tmp_path / "bag"), "--platform", str(tmp_path / "in.yaml"), "--out", str(out)]
    given += ["--length-sigma", "1e-4"]
    assert main(given) == 0
    said = capsys.readouterr().out
    assert "24 of them measured" in said and "rod: up to" in said and "platform.yaml" in said
    page = (out / "report.html").read_text()
    assert all(word in page for word in ("rod [mm]", "zero [mrad]", "combinations of 78", "base_x", LEGS[5]))
    assert ("angle [mrad]" in page) == (kind == "PoseStamped") and page.count("<img") == 2
    found = RotaryPlatform.from_yaml(out / "platform.yaml")
    more = np.flatnonzero(np.isfinite(angles).all(axis=1))[24:34]
    poses, right = poses[more], angles[more]
    # Frames are a matter of choice; by which angle the platform turns from pose to pose is not.
    turned = [np.linalg.norm(so3.log(a[:3, :3].T @ b[:3, :3])) for a, b in pairwise(poses)]
    for platform, least, most in ((found, 0.0, LEFT[kind]), (drawn, 3e-3, 1.0)):
        told = [solve_forward_kinematics(platform, t, T).pose for t, T in zip(right, poses, strict=True)]
        seen = [np.linalg.norm(so3.log(a[:3, :3].T @ b[:3, :3])) for a, b in pairwise(told)]
        worst = np.abs(np.subtract(seen, turned)).max()
        assert least <= worst < most, worst
    told = yaml.safe_load((out / "stewart_pose.yaml").read_text())["/**"]["stewart_pose"]["ros__parameters"]
    assert told["legs"] == LEGS
    plan = yaml.safe_load((out / "next_poses.yaml").read_text())["poses"]
    assert len(plan) == 10
    for pose in plan:
        T = se3.from_parts(np.array(pose["rotation"]), pose["position"])
        np.testing.assert_allclose(found.motor_positions(T), pose["angles"], atol=5e-4)  # digits of the file
    for more, why in (
        (["--measured", "orientation"], "'--measured': rotary_legs"),
        (["--gains"], "'--gains': rotary_legs"),
        (["--scale", "57.3", "--still", "0.2"], "degrees?"),
    ):
        assert main([*given, *more]) == 1
        assert why in capsys.readouterr().err
