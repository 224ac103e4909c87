"""Calibration of poses in frames that are not known, whole or in part; the poses to measure, against chance."""

import numpy as np
import pytest
from stewart_oracle import built, lengths, random_pose, turned
from support.grids import all_of, every_run

from lie_dynamics_ros.lie_dynamics.errors import LieDynamicsError
from lie_dynamics_ros.lie_dynamics.stewart import (
    StewartError,
    StewartPlatform,
    calibrate_measured,
    identifiability_report,
    poses_to_measure,
    reference_platform,
    semi_regular_platform,
)

HOME = np.eye(4)
HOME[2, 3] = 0.5
POINTS = reference_platform()


def drawn(limits, home):
    """The platform of the paper."""
    return StewartPlatform(POINTS.base_points, POINTS.platform_points, limits, home_pose=home)


DRAWN = drawn((0.3, 0.8), HOME)
SIGMA = np.repeat((5e-5, 2e-5), 3)


def measured_machine(rng, measured, noise=1.0, count=30):
    """Points and offsets as built, poses seen in some frame, readings; garbage where nothing is measured."""
    base, top, offsets, poses, readings = built(rng, DRAWN, count)
    seen = random_pose(rng, 2.0, 1.2) @ poses @ np.linalg.inv(random_pose(rng, 0.1, 1.0, 0.1))
    seen = turned(seen, noise * SIGMA * rng.normal(size=(count, 6)))
    if measured == "position":
        seen[:, :3, :3] = np.stack([random_pose(rng, 0.1, 1.0)[:3, :3] for _ in range(count)])
    if measured == "orientation":
        seen[:, :3, 3] = rng.normal(size=(count, 3))
    return base, top, offsets, seen, readings + noise * 1e-5 * rng.normal(size=readings.shape)


def in_drawing(points, target):
    """Points (6, 3) moved onto the drawing by the best rigid motion: singular values by hand."""
    a, b = points - points.mean(axis=0), target - target.mean(axis=0)
    u, _, v = np.linalg.svd(a.T @ b)
    flip = np.diag((1.0, 1.0, np.linalg.det(u @ v)))
    return a @ u @ flip @ v + target.mean(axis=0)


def errors(found, base, top, offsets):
    """Errors (42,) of what was found, frames apart."""
    sides = ((found.platform.base_points, base, DRAWN.base_points),
             (found.platform.platform_points, top, DRAWN.platform_points))  # fmt: skip
    return np.concatenate([*((got - in_drawing(true, side)).ravel() for got, true, side in sides),
                           found.offsets - offsets])  # fmt: skip


MEASURED = ("pose", "position", "orientation")


@pytest.mark.parametrize("measured", MEASURED)
def test_whatever_is_measured_in_whatever_frames(measured):
    """Exact data give the machine back."""
    *truth, seen, readings = measured_machine(np.random.default_rng(1), measured, 0.0)
    found = calibrate_measured(DRAWN, seen, readings, measured=measured)
    np.testing.assert_allclose(errors(found, *truth), 0.0, atol=1e-9)
    assert found.used.all() and not found.problems
    before, after = found.pose_errors()
    assert (after <= 1e-9).all() and (before > 1e-3).any()


@pytest.mark.parametrize("measured", every_run(["position"], MEASURED))
def test_errors_are_those_that_the_deviations_say(measured):
    *truth, seen, readings = measured_machine(np.random.default_rng(0), measured)
    found = calibrate_measured(DRAWN, seen, readings, measured=measured)
    assert found.noise_ratio == pytest.approx(1.0, abs=0.35)
    assert 0.4 < np.mean((errors(found, *truth) / found.deviations) ** 2) < 2.0


@pytest.mark.slow  # in every run a faulty pose is named in the next test, and by the command
def test_faulty_poses_are_named_and_too_many_refused():
    rng = np.random.default_rng(2)
    *truth, seen, readings = measured_machine(rng, "pose")
    clean = calibrate_measured(DRAWN, seen, readings)
    seen[[3, 17], 0, 3] += 1e-3
    readings[8, 2] += 5e-4
    found = calibrate_measured(DRAWN, seen, readings)
    assert np.flatnonzero(~found.used).tolist() == [3, 8, 17] and "[3, 8, 17]" in found.problems[0]
    assert np.abs(errors(found, *truth)).max() < 2.0 * np.abs(errors(clean, *truth)).max()
    seen[::3, 1, 3] += 0.02 * rng.normal(size=10)
    try:
        wild = calibrate_measured(DRAWN, seen, readings)
    except StewartError as error:
        assert "contradict" in str(error)
    else:
        assert any("times the standard deviations" in problem for problem in wild.problems)


def test_lengths_that_the_drawing_cannot_have_are_left_out_and_too_many_refused():
    *truth, seen, readings = measured_machine(np.random.default_rng(1), "pose")
    readings[[4, 11], 2] += 3.0
    found = calibrate_measured(DRAWN, seen, readings)
    assert np.flatnonzero(~found.used).tolist() == [4, 11] and len(found.poses) == len(found.errors_after) == 28
    (problem,) = found.problems
    assert problem.startswith("measurements [4, 11] have leg lengths that the drawing has no pose for")
    clean = calibrate_measured(DRAWN, np.delete(seen, [4, 11], axis=0), np.delete(readings, [4, 11], axis=0))
    np.testing.assert_array_equal(errors(found, *truth), errors(clean, *truth))
    seen[20, 0, 3] += 1e-2  # numbers are those of all measurements
    found = calibrate_measured(DRAWN, seen, readings)
    assert "measurements [20] contradict" in found.problems[1]
    assert np.flatnonzero(~found.used).tolist() == [4, 11, 20]
    readings[:7, 2] += 3.0
    with pytest.raises(StewartError, match="and 7 others of 30 have leg lengths that the drawing has no pose for"):
        calibrate_measured(DRAWN, seen, readings)


def test_another_machine_and_positions_on_a_line_are_refused():
    *_, seen, readings = measured_machine(np.random.default_rng(3), "pose")
    with pytest.raises(StewartError, match="are legs swapped"):
        calibrate_measured(DRAWN, seen, readings[:, [1, 0, 2, 3, 4, 5]])
    with pytest.raises(StewartError, match="on a line"):
        calibrate_measured(DRAWN, seen[[0, 1] * 15], readings[[0, 1] * 15], measured="position")


def test_of_several_poses_with_the_same_lengths_that_of_the_machine_is_taken():
    """From the home pose of this one, forward kinematics ends in another pose for some of the lengths."""
    tall = HOME.copy()
    tall[2, 3] = 1.6
    wide = semi_regular_platform(1.5, 0.8, 0.2, 0.8)
    wide = StewartPlatform(wide.base_points, wide.platform_points, home_pose=tall)
    plan = poses_to_measure(wide, 20, pose_sigma=SIGMA)
    found = calibrate_measured(wide, plan.poses, wide.leg_lengths(plan.poses) - 0.002)
    np.testing.assert_allclose(found.offsets, 0.002, atol=1e-9)
    assert (found.errors_before < 0.01).all() and (found.errors_after < 1e-9).all()


def test_what_little_tilt_cannot_tell_stays_as_drawn():
    rng = np.random.default_rng(4)
    base, top, offsets, _, _ = measured_machine(rng, "pose")
    poses = np.stack([random_pose(rng, 0.12, 0.05) for _ in range(30)])
    readings = np.stack([lengths(base, top, T[:3, :3], T[:3, 3]) for T in poses]) - offsets
    noisy = turned(poses, SIGMA * rng.normal(size=(30, 6)))
    found = calibrate_measured(DRAWN, noisy, readings, drawing_sigma=1e-3)
    assert any("stay as drawn" in problem for problem in found.problems) and np.isinf(found.deviations).any()
    assert np.abs(found.platform.base_points - DRAWN.base_points).max() < 0.02


def test_planned_poses_tell_more_than_others_and_are_within_limits():
    narrow = drawn((0.46, 0.6), HOME)
    plan = poses_to_measure(narrow, 15, pose_sigma=SIGMA, candidates=300)
    assert plan.lengths.min() > 0.46 and plan.lengths.max() < 0.6
    for pose, row in zip(plan.poses, plan.lengths, strict=True):
        np.testing.assert_allclose(lengths(narrow.base_points, narrow.platform_points, pose[:3, :3], pose[:3, 3]), row)
    planned = identifiability_report(narrow, plan.poses, pose_sigma=SIGMA)
    rng = np.random.default_rng(5)
    others = poses_to_measure(narrow, 60, pose_sigma=SIGMA, candidates=300, seed=1).poses
    for _ in range(5):
        chance = identifiability_report(narrow, others[rng.permutation(60)[:15]], pose_sigma=SIGMA)
        assert np.log(planned.singular_values).sum() > np.log(chance.singular_values).sum()
    more = poses_to_measure(narrow, 15, measured_poses=plan.poses, pose_sigma=SIGMA, candidates=300)
    assert more.deviation_after < more.deviation_before == pytest.approx(plan.deviation_after, rel=1e-9)


@all_of(
    ("change", "message"),
    [
        ({"nominal": None}, "nominal: a StewartPlatform"),
        ({"poses": np.zeros((30, 4, 4))}, "poses"),
        ({"poses": "text"}, "poses"),
        ({"readings": [["1"] * 6] * 30}, "readings"),
        ({"readings": np.full((30, 6), np.inf)}, "reading of leg 1"),
        ({"readings": np.zeros((30, 5))}, "expected"),
        ({"readings": np.full((30, 6), 500.0)}, "other units"),
        ({"readings": np.zeros((0, 6)), "poses": np.zeros((0, 4, 4))}, "0 poses were measured"),
        ({"measured": "everything"}, "expected one of pose, position, orientation"),
        ({"measured": []}, "expected one of"),
        ({"length_sigma": 1e-300}, "length_sigma"),
        ({"rotation_sigma": 1e300}, "pose_sigma"),
        ({"length_sigma": "small"}, "length_sigma"),
        ({"rotation_sigma": 0.0}, "rotation_sigma: a positive"),
        ({"position_sigma": np.nan}, "position_sigma: a positive"),
        ({"drawing_sigma": -1.0}, "drawing_sigma: a positive"),
    ],
)
def test_bad_arguments(change, message):
    *_, seen, readings = measured_machine(np.random.default_rng(0), "pose")
    with pytest.raises(LieDynamicsError, match=message):
        calibrate_measured(**{"nominal": DRAWN, "poses": seen, "readings": readings} | change)


@all_of(
    ("change", "message"),
    [
        ({"platform": None}, "platform: a StewartPlatform"),
        ({"platform": drawn(None, None)}, "home_pose"),
        ({"platform": drawn((0.1, 0.2), HOME)}, "no pose"),
        ({"count": 0}, "count"),
        ({"count": 2.5}, "count"),
        ({"reach": np.inf}, "reach"),
        ({"tilt": 4.0}, "tilt"),
        ({"drawing_sigma": 0.0}, "drawing_sigma"),
        ({"candidates": "many"}, "candidates"),
        ({"seed": -1}, "seed"),
        ({"measured_poses": np.zeros((3, 4, 4))}, "poses"),
        ({"pose_sigma": [1.0]}, "pose_sigma"),
    ],
)
def test_bad_plans(change, message):
    with pytest.raises(LieDynamicsError, match=message):
        poses_to_measure(**{"platform": DRAWN, "count": 3} | change)
