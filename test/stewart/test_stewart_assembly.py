"""All assembly modes: known platforms, every class, singular lengths, self-motions, bad input."""

import sys
from pathlib import Path

import numpy as np
import pytest
import stewart_oracle as oracle
from scipy.optimize import brentq, least_squares

from lie_dynamics_ros.lie_dynamics.stewart import (
    StewartError,
    StewartPlatform,
    assembly_modes,
    dietmaier_platform,
    griffis_duffy_platform,
    reference_platform,
    semi_regular_platform,
)
from lie_dynamics_ros.lie_dynamics.stewart.assembly import modes as assembly
from lie_dynamics_ros.lie_dynamics.stewart.assembly.paths import Placement, start_systems
from lie_dynamics_ros.lie_dynamics.stewart.kernels.paths import equations

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "stewart"))
from stewart_platforms import FAMILIES, random_case

Q_C = oracle.pose_of((0, 0, 50), (20, 0, -30))
# The paper's lengths, the sixth corrected.
PAPER_LENGTHS = np.array([55.85583542, 62.53130024, 52.74363698, 55.14569326, 44.79721341, 51.99103155]) / 100


def length_errors(platform, poses, lengths):
    base, top = platform.base_points, platform.platform_points
    return np.array([oracle.lengths(base, top, T[:3, :3], T[:3, 3]) - lengths for T in poses])


def gaps(poses, pose):
    return np.abs(poses - pose).reshape(-1, 16).max(axis=1)


def test_dietmaier_has_forty_real_poses():
    platform, lengths = dietmaier_platform()
    found = assembly_modes(platform, lengths)
    assert len(found) == 40 and found.complex_count == 40 and found.certain and found.proven.all()
    assert np.abs(length_errors(platform, found.poses, lengths)).max() < 1e-12
    assert found.residuals.max() < 1e-12
    apart = [gaps(found.poses[i + 1 :], T).min() for i, T in enumerate(found.poses[:-1])]
    assert min(apart) > 1e-3
    rotations = found.poses[:, :3, :3]
    assert np.abs(rotations @ np.swapaxes(rotations, 1, 2) - np.eye(3)).max() < 1e-14
    assert np.abs(np.linalg.det(rotations) - 1).max() < 1e-14


def test_the_paper_has_four_real_poses_of_twenty_eight():
    found = assembly_modes(reference_platform(), PAPER_LENGTHS)
    assert len(found) == 4 and found.complex_count == 28 and found.certain
    assert found.platform_class == "semi-regular, flat"
    # The paper's true pose is highest, then its branch pose T_s, then the mirror images of both in the base plane.
    # The lengths have ten digits, so the poses have some eight.
    assert gaps(found.poses[:1], Q_C)[0] < 1e-8
    branch = np.eye(4)
    branch[:3, :3] = [[-0.29750, 0.73745, -0.60635], [-0.23240, 0.56007, 0.79518], [0.92601, 0.37748, 0.00476]]
    branch[:3, 3] = (0.1757582, 0.1033935, 0.3671191)
    assert gaps(found.poses[1:2], branch)[0] < 1e-5
    mirror = np.diag([1.0, 1.0, -1.0, 1.0])
    for above, below in ((0, 3), (1, 2)):
        assert gaps(mirror @ found.poses[above : above + 1] @ mirror, found.poses[below])[0] < 1e-12


def test_real_counts_of_the_reference_platform():
    """Over random poses of it the real count is 4, 8, 12 or 16, half of them above the base."""
    platform, rng = reference_platform(), np.random.default_rng(5)
    for _ in range(20):
        T = oracle.random_pose(rng, 0.2, 1.0)
        found = assembly_modes(platform, oracle.lengths(*sides(platform), T[:3, :3], T[:3, 3]))
        assert found.complex_count == 28 and found.certain
        assert len(found) in (4, 8, 12, 16)
        assert gaps(found.poses, T).min() < 1e-9


def sides(platform):
    return platform.base_points, platform.platform_points


@pytest.mark.parametrize("name", FAMILIES)
def test_random_members_of_each_class(name, rng):
    """The true pose is among the poses, the count is that of the class, and the poses have the lengths."""
    for _ in range(3):
        case = random_case(name, rng)
        platform = StewartPlatform(case.base, case.platform, allow_singular=True)
        found = assembly_modes(platform, case.lengths)
        assert found.complex_count == FAMILIES[name].count == found.class_count
        assert found.certain and not found.self_motion and not found.complex_family and found.at_infinity == 0
        # Badly conditioned members lose digits: no pose can be known better than lengths to rounding error.
        nearest = gaps(found.poses, case.pose)
        assert nearest.min() < 1e-12 * max(100.0, found.condition_numbers[nearest.argmin()])
        assert np.abs(length_errors(platform, found.poses, case.lengths)).max() < 1e-12
        assert found.proven.all()
        if name == "similar hexagons":
            assert len(found) == 8


@pytest.mark.parametrize(("name", "count"), [("mirror-symmetric, flat", 36), ("semi-regular", 28)])
def test_class_and_general_start_systems_agree(name, count, rng, monkeypatch):
    """From the 40 poses of a general platform, all but the class's own number go to infinity."""
    for _ in range(2):
        case = random_case(name, rng)
        platform = StewartPlatform(case.base, case.platform, allow_singular=True)
        special = assembly_modes(platform, case.lengths)
        with monkeypatch.context() as patch:
            turns = np.eye(3), np.eye(3)
            (start,) = (s for s in start_systems() if s.count == 40 and not s.flat)
            general = Placement(start, np.arange(6), False, *turns)
            patch.setattr(assembly, "placement_of", lambda base, top, general=general: general)
            plain = assembly_modes(platform, case.lengths)
        assert plain.platform_class == "general" and plain.complex_count == special.complex_count == count
        assert plain.at_infinity == 40 - count and plain.certain
        assert np.abs(plain.poses - special.poses).max() < 1e-8


def test_every_start_system_is_a_solution():
    for system in start_systems():
        f, jacobian = np.empty(6, dtype=complex), np.empty((6, 6), dtype=complex)
        images = 2 if system.flat else 1
        assert images * len(system.points) == system.count
        for x in system.points:
            equations(system.platform, 0, x, f, jacobian)
            assert np.abs(f).max() < 1e-11 * max(1.0, np.abs(x).max()) ** 4
            assert np.linalg.matrix_rank(jacobian) == 6


@pytest.mark.slow  # in every run a search among complex poses, too, in test_stewart_assembly_certainty
def test_real_poses_by_blind_search(rng):
    """Every pose to which a local solver gets from random guesses is in the list, and it gets to each of them."""
    case = random_case("general", rng)
    platform = StewartPlatform(case.base, case.platform)
    found = assembly_modes(platform, case.lengths)
    reached = set()
    for tried in range(150):
        if tried >= 30 and len(reached) == len(found):
            break
        guess = np.r_[rng.uniform(-np.pi, np.pi, 3), 2.0 * rng.normal(size=3) + case.pose[:3, 3]]
        result = least_squares(
            lambda x: oracle.lengths(case.base, case.platform, oracle.rotation(x[:3]), x[3:]) - case.lengths,
            guess,
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
            max_nfev=60,
        )
        if np.abs(result.fun).max() < 1e-11:
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = oracle.rotation(result.x[:3]), result.x[3:]
            distances = gaps(found.poses, T)
            assert distances.min() < 1e-6
            reached.add(int(distances.argmin()))
    assert reached == set(range(len(found)))


def test_frames_and_units_do_not_matter(rng):
    case = random_case("mirror-symmetric, flat", rng)
    first = assembly_modes(StewartPlatform(case.base, case.platform), case.lengths)
    shift, factor = rng.normal(size=3), 0.01
    moved = StewartPlatform(factor * (case.base + shift), factor * case.platform)
    second = assembly_modes(moved, factor * case.lengths)
    assert len(second) == len(first) and second.complex_count == first.complex_count
    for T in second.poses:
        T = T.copy()
        T[:3, 3] = T[:3, 3] / factor - shift
        assert gaps(first.poses, T).min() < 1e-9


def test_swapping_base_and_platform_inverts_the_poses(rng):
    for name in ("6-3", "6-4, a triple point", "5-5"):
        case = random_case(name, rng)
        forward = assembly_modes(StewartPlatform(case.base, case.platform), case.lengths)
        backward = assembly_modes(StewartPlatform(case.platform, case.base), case.lengths)
        assert len(forward) == len(backward) and forward.platform_class == backward.platform_class
        for T in backward.poses:
            assert gaps(forward.poses, np.linalg.inv(T)).min() < 1e-9


def test_half_turns_are_found():
    """Rotations by 180 degrees are at infinity of the solver's own coordinates."""
    rng = np.random.default_rng(2)
    base, top = rng.normal(size=(2, 6, 3))
    for axis in (*np.eye(3), np.array([0.6, 0.0, 0.8]), np.ones(3) / np.sqrt(3.0)):
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = 2.0 * np.outer(axis, axis) - np.eye(3), rng.normal(size=3)
        found = assembly_modes(StewartPlatform(base, top), oracle.lengths(base, top, T[:3, :3], T[:3, 3]))
        assert found.complex_count == 40 and gaps(found.poses, T).min() < 1e-10


def test_griffis_duffy_moves():
    platform, lengths = griffis_duffy_platform()
    found = assembly_modes(platform, lengths)
    assert found.self_motion and found.complex_family and len(found) == 0
    assert "can move though all legs are locked" in found.message
    # The published lengths have six decimals.
    assert np.abs(length_errors(platform, [found.self_motion_pose], lengths)).max() < 1e-5
    values = np.linalg.svd(platform.jacobian(found.self_motion_pose), compute_uv=False)
    assert values[5] < 1e-5 * values[0] < values[4]


@pytest.mark.slow  # in every run similar hexagons of one size do, in test_stewart_assembly_certainty
def test_parallel_translation_of_a_congruent_platform():
    """Congruent sides and equal lengths: the platform swings without turning, on a sphere."""
    points = np.random.default_rng(4).normal(size=(6, 3))
    found = assembly_modes(StewartPlatform(points, points), np.full(6, 1.7))
    assert found.self_motion
    T = found.self_motion_pose
    assert np.abs(length_errors(StewartPlatform(points, points), [T], 1.7)).max() < 1e-6
    still = [P for P in found.poses if np.abs(P[:3, :3] - np.eye(3)).max() < 1e-3]
    assert not still


def test_an_ordinary_platform_does_not_move():
    platform, lengths = dietmaier_platform()
    found = assembly_modes(platform, lengths)
    assert not found.self_motion and found.self_motion_pose is None and not found.complex_family


def test_singular_lengths_give_a_double_pose():
    platform = reference_platform()

    def turned(yaw):
        return oracle.pose_of((5, 3, 45), (10, -8, yaw))

    yaw = brentq(lambda y: np.linalg.det(platform.jacobian(turned(y))), 80.0, 95.0, xtol=1e-14)
    T = turned(yaw)
    found = assembly_modes(platform, oracle.lengths(*sides(platform), T[:3, :3], T[:3, 3]))
    assert found.complex_count == 28 and found.certain
    nearest = int(gaps(found.poses, T).argmin())
    # A double pose is known to the square root of the rounding error, here amplified by the condition number.
    assert gaps(found.poses, T)[nearest] < 1e-5
    assert not found.proven[nearest] and found.condition_numbers[nearest] > 1e5
    assert sum(gaps(found.poses, T) < 1e-3) == 1


def test_no_real_pose():
    lengths = PAPER_LENGTHS.copy()
    lengths[0] = 3.0
    found = assembly_modes(reference_platform(), lengths)
    assert len(found) == 0 and found.poses.shape == (0, 4, 4) and found.complex_count == 28 and found.certain


def test_poses_are_sorted_from_the_top():
    platform = semi_regular_platform(0.3, 0.2, 0.2, 0.3)
    T = oracle.pose_of((3, -2, 40), (10, 5, 30))
    lengths = oracle.lengths(*sides(platform), T[:3, :3], T[:3, 3])
    heights = assembly_modes(platform, lengths).poses[:, 2, 3]
    assert (np.diff(heights) <= 1e-9).all() and heights[0] > 0 > heights[-1]


def test_same_answer_every_time():
    platform, lengths = dietmaier_platform()
    assert np.array_equal(assembly_modes(platform, lengths).poses, assembly_modes(platform, lengths).poses)


@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        (np.ones(5), "lengths has shape"),
        (np.ones((2, 6)), r"expected \(6,\)"),
        ([1, 1, np.nan, 1, 1, 1], "leg 3 has length nan"),
        ([1, 1, 1, 1, 1, -2], "leg 6 has length -2.0 m"),
        ([0, 1, 1, 1, 1, 1], "leg 1 has length 0.0 m"),
        ([1, np.inf, 1, 1, 1, 1], "leg 2 has length inf"),
    ],
)
def test_bad_lengths(lengths, words):
    with pytest.raises(StewartError, match=words):
        assembly_modes(reference_platform(), lengths)
