"""Calibration with further legs and gains of encoders, against synthetic machines, differences and Monte Carlo."""

from itertools import product

import numpy as np
import pytest
from stewart_oracle import lengths, random_pose, rotation, turned
from support.grids import all_of, every_run

from lie_dynamics_ros.lie_dynamics.errors import LieDynamicsError
from lie_dynamics_ros.lie_dynamics.stewart import (
    AngleSensor,
    DisplacementSensor,
    StewartPlatform,
    calibrate,
    calibrate_measured,
    identifiability_report,
    poses_to_measure,
    reference_platform,
)
from lie_dynamics_ros.lie_dynamics.stewart.calibration.model import Measurements, cost_of, linearise, residuals

HOME = np.eye(4)
HOME[2, 3] = 0.5
POINTS = reference_platform()
DRAWN = StewartPlatform(POINTS.base_points, POINTS.platform_points, (0.2, 0.9), home_pose=HOME)
FURTHER = (
    DisplacementSensor("wire", (0.05, 0.1, 0.03), (-0.06, 0.04, 0.02), 1e-5),
    DisplacementSensor("rod", (-0.3, -0.2, -0.04), (0.1, -0.12, 0.05), 1e-5),
)


def drawn_points(further):
    return [np.vstack((six, *(getattr(leg, key) for leg in further)))
            for six, key in ((DRAWN.base_points, "base_point"), (DRAWN.platform_points, "platform_point"))]  # fmt: skip


def machine(seed, further=FURTHER, gains=True, count=60):
    """Points as built, millimetres off the drawing, offsets, gains, poses, and readings of all encoders."""
    rng = np.random.default_rng(seed)
    base, top = (x + rng.normal(scale=2e-3, size=x.shape) for x in drawn_points(further))
    n = len(base)
    offsets, scales = rng.normal(scale=1e-3, size=n), 1.0 + rng.normal(scale=3e-3, size=n) * gains
    poses = np.stack([random_pose(rng, 0.12, 0.5) for _ in range(count)])
    long = np.stack([np.linalg.norm(top @ T[:3, :3].T + T[:3, 3] - base, axis=1) for T in poses])
    return rng, (base, top, offsets, scales), poses, (long - offsets) / scales


def found_points(result):
    further = result.further
    return [np.vstack((six, *(getattr(leg, key) for leg in further)))
            for six, key in ((result.platform.base_points, "base_point"),
                             (result.platform.platform_points, "platform_point"))]  # fmt: skip


def gaps(points):
    """Distances of joints of each side, which no choice of frame changes."""
    return np.concatenate([np.linalg.norm(x[:, None] - x[None], axis=2)[np.triu_indices(len(x), 1)] for x in points])


def test_the_oracle_has_the_library_s_legs():
    base, top = drawn_points(())
    T = random_pose(np.random.default_rng(0), 0.1, 0.4)
    np.testing.assert_allclose(np.linalg.norm(top @ T[:3, :3].T + T[:3, 3] - base, axis=1),
                               lengths(base, top, T[:3, :3], T[:3, 3]), rtol=1e-15)  # fmt: skip


@pytest.mark.parametrize("further", [(), FURTHER[:1], FURTHER], ids=len)
@pytest.mark.parametrize("gains", [False, True])
@pytest.mark.parametrize("pose_sigma", [None, 1e-4])
def test_exact_data_give_the_machine_back(further, gains, pose_sigma):
    """Whole poses: geometry, offsets and gains to round-off times the condition of the problem, below 1e5."""
    _, (base, top, offsets, scales), poses, readings = machine(1, further, gains)
    found = calibrate(DRAWN, poses, readings, pose_sigma=pose_sigma, further=further, gains=gains)
    n = 6 + len(further)
    assert found.converged and found.report.rank == found.report.parameters.count == n * (7 + gains)
    assert not found.report.scale_lost and found.chi_square < 1e-12
    for got, true in zip((*found_points(found), found.offsets, found.gains), (base, top, offsets, scales), strict=True):
        np.testing.assert_allclose(got, true, atol=2e-11)
    np.testing.assert_allclose(found.length_residuals, 0.0, atol=1e-13)
    assert [leg.name for leg in found.further] == [leg.name for leg in further]


@pytest.mark.parametrize("further", [FURTHER[:1], FURTHER], ids=len)
def test_seven_legs_and_more_calibrate_themselves(further):
    """Without any device, gains known: shapes of both sides, offsets and leg lengths come out; frames do not."""
    _, (base, top, offsets, _), poses, readings = machine(2, further, False, 120)
    found = calibrate(DRAWN, turned(poses, np.full((120, 6), 1e-3)), readings, pose_sigma=np.inf, further=further)
    n = 6 + len(further)
    assert found.converged and found.report.rank == 7 * n - 12 and found.report.gauge == 12
    assert found.degrees_of_freedom == 120 * (n - 6) - (7 * n - 12)
    np.testing.assert_allclose(gaps(found_points(found)), gaps((base, top)), atol=1e-9)
    np.testing.assert_allclose(found.offsets, offsets, atol=1e-9)


def test_with_gains_the_size_is_lost_and_a_distance_tells_it():
    """Lengths alone: all that a machine of another size would read as well is told, and no more; a distance adds it."""
    _, (base, top, offsets, scales), poses, readings = machine(3, FURTHER, True, 150)
    options = {"pose_sigma": np.inf, "further": FURTHER, "gains": True}
    found = calibrate(DRAWN, poses, readings, **options)
    assert found.converged and found.report.scale_lost and found.report.gauge == 12
    assert found.report.rank == 8 * 8 - 13 and "one the overall scale" in str(found.report)
    ratio = gaps(found_points(found)) / gaps((base, top))
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-8)
    assert abs(ratio[0] - 1.0) > 1e-5  # as large as the drawing, not as the machine
    np.testing.assert_allclose(found.offsets, ratio[0] * offsets, atol=1e-8)
    np.testing.assert_allclose(found.gains, ratio[0] * scales, atol=1e-8)
    drawn = drawn_points(FURTHER)
    size = [np.linalg.norm(x - x.mean(axis=0)) for x in drawn]
    near = [np.linalg.norm(x - x.mean(axis=0)) for x in found_points(found)]
    assert np.hypot(*near) == pytest.approx(np.hypot(*size), rel=1e-4)  # but for the sides' shapes

    distances = [("base", 1, 4, float(np.linalg.norm(base[0] - base[3])))]
    known = calibrate(DRAWN, poses, readings, distances=distances, **options)
    assert known.converged and not known.report.scale_lost and known.report.rank == 8 * 8 - 12
    np.testing.assert_allclose(gaps(found_points(known)), gaps((base, top)), atol=1e-8)
    np.testing.assert_allclose(known.gains, scales, atol=1e-8)
    np.testing.assert_allclose(known.offsets, offsets, atol=1e-8)


@pytest.mark.parametrize(("pose_sigma", "lost"), [(None, False), (1e-4, False), (np.inf, True),
                                                  ([np.inf] * 3 + [1e-4] * 3, False),
                                                  ([1e-4] * 3 + [np.inf] * 3, True)])  # fmt: skip
def test_what_tells_the_size(pose_sigma, lost):
    _, _, poses, _ = machine(4, FURTHER, True, 150)
    report = identifiability_report(DRAWN, poses, pose_sigma=pose_sigma, further=FURTHER, gains=True)
    assert report.scale_lost == lost
    assert report.null_space.shape[1] == report.gauge + lost
    told = identifiability_report(
        DRAWN, poses, pose_sigma=pose_sigma, further=FURTHER, gains=True, distances=[("platform", "wire", 2, 0.2)]
    )
    assert not told.scale_lost and told.null_space.shape[1] == told.gauge == report.gauge
    without = identifiability_report(DRAWN, poses, pose_sigma=pose_sigma, further=FURTHER)
    assert not without.scale_lost and without.null_space.shape[1] == without.gauge == report.gauge


@pytest.mark.parametrize("pose_sigma", [None, 2e-3, np.inf])
def test_jacobian_is_the_derivative_of_the_residuals(pose_sigma):
    """Of the cost with the poses following, and, where they are exact, of each residual; central differences."""
    rng, (base, top, offsets, scales), poses, readings = machine(5, count=8)
    distances = [("base", 1, "rod", 0.4), ("platform", "wire", 5, 0.2)]
    noise = 0.0 if pose_sigma is None else 1e-3
    seen = turned(poses, rng.normal(scale=noise, size=(8, 6)))
    more = {"further": FURTHER, "gains": True, "distances": distances, "distance_sigma": 1e-3}
    data = Measurements.check(seen, readings, 1e-3, pose_sigma, **more)
    theta = data.parameters.join(base, top, offsets, scales) + rng.normal(scale=1e-3, size=64)
    assert len(data.parameters.names) == len(theta) == data.parameters.count

    def moved(screws):
        out = data.poses.copy()
        for T, s in zip(out, screws, strict=True):
            T[:3, 3] += T[:3, :3] @ s[3:]
            T[:3, :3] = T[:3, :3] @ rotation(s[:3])
        return out

    problem = linearise(theta, data.poses, data)
    h = 1e-6
    for _ in range(5):
        step = rng.normal(size=64)
        if pose_sigma is None:
            ends = [np.append(residuals(x, data.poses, data)[0].ravel(), data.distances.residuals(x))
                    for x in (theta + h * step, theta - h * step)]  # fmt: skip
            slopes = problem.reduced_jacobian @ step
            np.testing.assert_allclose((ends[0] - ends[1]) / (2 * h), slopes, atol=1e-6 * np.abs(slopes).max())
            continue
        screws = problem.pose_steps(step) - problem.pose_steps(np.zeros(64))
        ahead = cost_of(theta + h * step, moved(h * screws), data)
        slope = (ahead - cost_of(theta - h * step, moved(-h * screws), data)) / (2 * h)
        expected = problem.reduced_residual @ problem.reduced_jacobian @ step
        assert slope == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow  # in every run that of six legs is, in test_stewart_calibration
@pytest.mark.parametrize("measured", ["pose", "orientation"])
def test_noise_comes_out_as_the_covariance_says(measured):
    """Monte Carlo: chi square against degrees of freedom, and errors in the metric of the covariance against rank."""
    rng, truth, poses, readings = machine(6, FURTHER[:1], True, 40)
    pose_sigma = np.repeat((3e-5, 1e-5), 3)
    if measured == "orientation":
        pose_sigma[3:] = np.inf
    gap = float(np.linalg.norm(truth[0][0] - truth[0][3]))
    chi, distance, runs = [], [], 16
    for _ in range(runs):
        noisy = readings + rng.normal(scale=2e-5, size=readings.shape)
        drawn = np.where(np.isfinite(pose_sigma), pose_sigma, 0.0)
        seen = turned(poses, rng.normal(size=(len(poses), 6)) * drawn)
        found = calibrate(
            DRAWN, seen, noisy, length_sigma=[2e-5] * 7, pose_sigma=pose_sigma, further=FURTHER[:1], gains=True,
            distances=[("base", 1, 4, gap + rng.normal(scale=1e-4))],
        )  # fmt: skip
        chi.append(found.chi_square)
        parameters = found.report.parameters
        off = parameters.join(*found_points(found), found.offsets, found.gains) - parameters.join(*truth)
        # In the identifiable part alone, whose inverse covariance is that of the singular values kept.
        values, vectors = np.linalg.eigh(found.report.covariance)
        kept = values > 1e-12 * values[-1]
        assert kept.sum() == found.report.rank
        distance.append(np.sum((vectors[:, kept].T @ off) ** 2 / values[kept]))
    freedom, rank = found.degrees_of_freedom, found.report.rank
    assert freedom == 40 * (7 + (6 if measured == "pose" else 3) - 6) + 1 - rank
    for squares, expected in ((chi, freedom), (distance, rank)):
        assert np.mean(squares) == pytest.approx(expected, abs=4.0 * np.sqrt(2.0 * expected / runs))


def test_distances_of_joints_that_coincide_in_the_drawing(rng):
    """As where legs share a joint: the first step has no direction there, and no NaN."""
    base, top = DRAWN.base_points.copy(), DRAWN.platform_points.copy()
    base[1] = base[0]
    drawn = StewartPlatform(base, top, (0.2, 0.9), home_pose=HOME)
    poses = np.stack([random_pose(rng, 0.12, 0.5) for _ in range(30)])
    readings = drawn.leg_lengths(poses) + 1e-4 * rng.normal(size=(30, 6))
    found = calibrate(drawn, poses, readings, length_sigma=1e-4, distances=[("base", 1, 2, 1e-3)])
    assert found.converged and np.isfinite(found.platform.base_points).all() and np.isfinite(found.chi_square)


@pytest.mark.parametrize(
    ("measured", "gains"),
    every_run(
        [("position", True), ("lengths", True)],
        [("pose", True), ("position", True), *product(("orientation", "lengths"), (False, True))],
    ),
)
def test_in_frames_that_are_not_known(measured, gains):
    """Through `calibrate_measured`: errors are those that its deviations say, and what is not told is said."""
    rng, (base, top, offsets, scales), poses, readings = machine(0, FURTHER, gains, 45)
    seen = random_pose(rng, 2.0, 1.2) @ poses @ np.linalg.inv(random_pose(rng, 0.1, 1.0, 0.1))
    seen = turned(seen, rng.normal(size=(45, 6)) * np.repeat((5e-5, 2e-5), 3))
    noisy = readings + 1e-5 * rng.normal(size=readings.shape)
    device = None if measured == "lengths" else seen
    found = calibrate_measured(DRAWN, device, noisy, measured=measured, further=FURTHER, gains=gains)
    lost = gains and measured in ("orientation", "lengths")
    assert found.fit.report.scale_lost == lost == any("overall scale" in problem for problem in found.problems)
    assert found.used.all() and found.noise_ratio == pytest.approx(1.0, abs=0.35)
    drawn = drawn_points(FURTHER)
    true = [in_drawing(x, side) for x, side in zip((base, top), drawn, strict=True)]
    by = 1.0
    if lost:  # the machine as large as the drawing
        middles = [x - x.mean(axis=0) for x in true]
        by = sum(np.sum((d - d.mean(axis=0)) * m) for d, m in zip(drawn, middles, strict=True))
        by /= sum(np.sum(m**2) for m in middles)
        true = [by * m + x.mean(axis=0) for m, x in zip(middles, true, strict=True)]
    got = (*found_points(found), found.offsets, *([found.gains] if gains else []))
    true = (*true, by * offsets, *([by * scales] if gains else []))
    off = np.concatenate([(a - b).ravel() for a, b in zip(got, true, strict=True)])
    assert len(off) == len(found.deviations) == 8 * (7 + gains) and np.isfinite(found.deviations).all()
    assert 0.3 < np.mean((off / found.deviations) ** 2) < 2.2  # 1.0 over many machines; errors of one hang together


def in_drawing(points, target):
    """Points moved onto the drawing by the best rigid motion."""
    a, b = points - points.mean(axis=0), target - target.mean(axis=0)
    u, _, v = np.linalg.svd(a.T @ b)
    return a @ u @ np.diag((1.0, 1.0, np.linalg.det(u @ v))) @ v + target.mean(axis=0)


def test_poses_to_measure_count_further_legs_and_gains():
    one, both = (
        poses_to_measure(DRAWN, 8, pose_sigma=np.repeat((5e-5, 2e-5), 3), candidates=100, further=FURTHER, gains=gains)
        for gains in (False, True)
    )
    assert 0.0 < one.deviation_after < both.deviation_after < both.deviation_before


@all_of(
    ("change", "message"),
    [
        ({"further": "wire"}, "further is 'wire', expected up to 30 displacement sensors"),
        ({"further": [None]}, "further 0 is None, expected a DisplacementSensor"),
        ({"further": [AngleSensor("a", (0, 0, 0), (0, 0, 0.1), 1e-4)]}, "further 0 is AngleSensor"),
        ({"further": [FURTHER[0]] * 2}, "two legs are named 'wire'"),
        ({"further": [DisplacementSensor("3", (0, 0, 0), (0, 0, 0), 1e-5)]}, "two legs are named '3'"),
        ({"further": [DisplacementSensor("w", (0, 0, np.nan), (0, 0, 0), 1e-5)]}, "w: base_point is"),
        ({"further": [DisplacementSensor("w", (0, 0, 0), (0, 0, 0), 0.0)]}, "w: noise is 0.0"),
        ({"further": FURTHER}, r"expected \(k, 4, 4\) and \(k, 8\)"),
        ({"further": [DisplacementSensor("w", (1e7, 0, 0), (0, 0, 0), 1e-5)]}, "w: base_point is .*, expected up to"),
        ({"further": [DisplacementSensor(None, (0, 0, 0), (0, 0, 0), 1e-5)]}, "further 0 is named None"),
        ({"readings": np.full((30, 7), 1e40)}, "reading of leg 1 in measurement 0 is 1e.40, expected metres"),
        ({"readings": np.zeros((0, 7)), "poses": np.zeros((0, 4, 4))}, "0 poses were measured"),
        ({"gains": "all"}, "gains is 'all'"),
        ({"gains": -1.0}, "gains is -1.0"),
        ({"gains": np.nan}, "gains is nan"),
        ({"distances": "base"}, "distances is 'base'"),
        ({"distances": [("base", 1, 2)]}, "distance 0 is .*, expected base or platform, leg, leg, metres"),
        ({"distances": [("top", 1, 2, 0.1)]}, "distance 0 is"),
        ({"distances": [("base", 1, 2, 0.1), ("base", 1, 1, 0.1)]}, "distance 1 is of legs '1', '1', expected two of"),
        ({"distances": [("base", 1, "rod", 0.1)]}, "distance 0 is of legs '1', 'rod'"),
        ({"distances": [("base", 1, 2, -0.1)]}, "distance 0: a positive length"),
        ({"distances": [("base", 1, 2, "far")]}, "distance 0: a positive length"),
        ({"distance_sigma": 0.0}, "distance_sigma: a positive length"),
    ],
)
def test_bad_arguments(change, message):
    _, _, poses, readings = machine(0, FURTHER[:1], count=30)
    arguments = {"nominal": DRAWN, "poses": poses, "readings": readings, "further": FURTHER[:1], "gains": True}
    for function in (calibrate, calibrate_measured):
        with pytest.raises(LieDynamicsError, match=message):
            function(**arguments | change)


def test_what_lengths_alone_cannot_be_is_said():
    _, _, _, readings = machine(0, FURTHER[:1], count=30)
    with pytest.raises(LieDynamicsError, match="those of six legs fit any geometry"):
        calibrate_measured(DRAWN, None, readings[:, :6], measured="lengths")
    with pytest.raises(LieDynamicsError, match=r"30 poses were measured, at least 38 are expected \(lengths\)"):
        calibrate_measured(DRAWN, None, readings, measured="lengths", further=FURTHER[:1])
    with pytest.raises(LieDynamicsError, match="poses"):
        calibrate_measured(DRAWN, None, readings, further=FURTHER[:1])
