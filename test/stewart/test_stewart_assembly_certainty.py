"""Assembly modes are certain only when they are: counts and poses against blind search and high precision."""

from itertools import product

import numpy as np
import pytest
import study_oracle
from special_platforms import (
    SPECIAL,
    case_of,
    lengths_of,
    near_griffis_duffy,
    random_pose,
    similar_hexagons_on_circles,
)
from support.grids import every_run

from lie_dynamics_ros.lie_dynamics.stewart import (
    StewartError,
    StewartPlatform,
    assembly_modes,
    griffis_duffy_platform,
    semi_regular_platform,
)
from lie_dynamics_ros.lie_dynamics.stewart.assembly.paths import clashes

ALPHA = 0.1577


def modes_of(case):
    return assembly_modes(StewartPlatform(case.base, case.platform, allow_singular=True), case.lengths)


def gaps(poses, pose):
    return np.abs(poses - pose).reshape(-1, 16).max(axis=1)


def real_poses(zeros):
    """Poses (k, 4, 4) of real Study points."""
    found = []
    for z in zeros[np.abs(zeros.imag).max(axis=1, initial=0.0) < 1e-8].real:
        w, x, y, v = z[:4]
        left = np.array([[w, -x, -y, -v], [x, w, -v, y], [y, v, w, -x], [v, -y, x, w]])
        right = np.array([[w, x, y, v], [-x, w, -v, y], [-y, v, w, -x], [-v, -y, x, w]])
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = (left @ right)[1:, 1:], 2.0 * (right @ z[4:])[1:]
        found.append(T)
    return found


KEPT = ("four collinear on both sides, flat",)
"""In every run with a blind search; counts of all are in `test_stewart_assembly_invariance`."""


@pytest.mark.parametrize("name", every_run(KEPT, SPECIAL))
def test_designs_of_no_class_have_their_count(name, rng):
    """No blind search finds a pose that is missing, it finds most complex ones, and each real one is proven.

    With other lengths, too, the count is that of the design.
    """
    count, draw = SPECIAL[name]
    case = case_of(draw, rng)
    found = modes_of(case)
    assert found.certain and found.complex_count == count and not found.self_motion
    assert found.at_infinity == 40 - count
    zeros = study_oracle.zeros_by_blind_newton(case.base, case.platform, case.lengths, rng, 700, 2.0)
    assert 0.4 * count < len(zeros) <= count
    for T in real_poses(zeros):
        assert gaps(found.poses, T).min() < 1e-6
    for T in found.poses[:2]:
        moved, alpha = study_oracle.alpha_of_refined(case.base, case.platform, case.lengths, T)
        assert moved < 1e-9 and alpha < ALPHA
    platform = StewartPlatform(case.base, case.platform, allow_singular=True)
    for _ in range(2):
        T = random_pose(rng)
        found = assembly_modes(platform, lengths_of(case.base, case.platform, T))
        assert found.certain and found.complex_count == count
        assert gaps(found.poses, T).min() < 1e-8 * max(1.0, found.condition_numbers.max())


def test_conjugates_pair_off_one_to_one(rng):
    """A complex pose twice and its conjugate once are no poses of a real platform, though each has a conjugate."""
    z = rng.normal(size=(3, 7)) + 1j * rng.normal(size=(3, 7))
    real = rng.normal(size=(2, 7)) + 0j
    good = np.concatenate([z, z.conj(), real])
    repeated, unpaired = clashes(good[:, :4], good[:, 4:], False)
    assert not repeated.any() and not unpaired.any()
    bad = np.concatenate([good, good[:1] * (1.0 + 1e-9)])
    repeated, unpaired = clashes(bad[:, :4], bad[:, 4:], False)
    assert np.flatnonzero(repeated).tolist() == [0, 8] and np.flatnonzero(unpaired).tolist() == [0, 3, 8]
    repeated, unpaired = clashes(good[1:, :4], good[1:, 4:], False)
    assert not repeated.any() and np.flatnonzero(unpaired).tolist() == [2]


@pytest.mark.parametrize(
    ("design", "distance"),
    every_run(
        [("Griffis-Duffy", 1e-6)],
        product(("Griffis-Duffy", "similar hexagons"), (1e-4, 1e-5, 1e-6)),
    ),
)
def test_isolated_poses_near_a_singular_design_are_not_lost(design, distance, rng):
    """High precision proves the pose isolated: it is in the list, and certainly so when `certain`."""
    draw = near_griffis_duffy(distance) if design == "Griffis-Duffy" else similar_hexagons_on_circles(0.6, distance)
    case = case_of(draw, rng)
    moved, alpha = study_oracle.alpha_of_refined(case.base, case.platform, case.lengths, case.pose)
    assert moved < 1e-6 and alpha < ALPHA
    found = modes_of(case)
    assert gaps(found.poses, case.pose).min() < 1e-5


@pytest.mark.parametrize("distance", [1e-8, pytest.param(1e-10, marks=pytest.mark.slow)])
def test_nothing_is_certain_where_rounding_hides_poses(distance, rng):
    """So near to a singular design double precision cannot tell isolated poses from a continuous family."""
    case = case_of(near_griffis_duffy(distance), rng)
    found = modes_of(case)
    assert found.self_motion
    assert not found.certain or (len(found) and gaps(found.poses, case.pose).min() < 1e-5)


@pytest.mark.parametrize("ratio", every_run([1.0, 1e-3], (1.0, 0.6, 1e-3)))
def test_a_singular_design_moves_whatever_its_size(ratio, rng):
    case = case_of(similar_hexagons_on_circles(ratio), rng)
    for base, top in ((case.base, case.platform), (case.platform, case.base)):
        platform = StewartPlatform(base, top, allow_singular=True)
        found = assembly_modes(platform, case.lengths)
        assert found.self_motion and found.certain and len(found) == 0
        T = found.self_motion_pose
        assert np.abs(lengths_of(base, top, T) - case.lengths).max() < 1e-5 * ratio


def test_griffis_duffy_moves_exactly_and_with_six_digits():
    platform, lengths = griffis_duffy_platform()
    rounded = assembly_modes(platform, lengths)
    T = rounded.self_motion_pose
    exact = assembly_modes(platform, lengths_of(platform.base_points, platform.platform_points, T))
    for found in (rounded, exact):
        assert found.self_motion and found.complex_family and found.certain and len(found) == 0


def test_a_shaky_pose_is_no_self_motion():
    """Where the Jacobian is singular the platform shakes, but lengths change on any longer walk."""
    rng = np.random.default_rng(3)
    base, top = rng.normal(size=(2, 6, 3))
    platform = StewartPlatform(base, top)
    start, goal = random_pose(rng), random_pose(rng)

    def between(s):
        T = start.copy()
        T[:3, 3] += s * (goal[:3, 3] - start[:3, 3])
        return T

    determinants = [np.linalg.det(platform.jacobian(between(s))) for s in np.linspace(-4, 4, 400)]
    k = int(np.flatnonzero(np.diff(np.sign(determinants)))[0])
    low, high = np.linspace(-4, 4, 400)[k : k + 2]
    for _ in range(60):
        middle = 0.5 * (low + high)
        same = np.sign(np.linalg.det(platform.jacobian(between(middle)))) == np.sign(determinants[k])
        low, high = (middle, high) if same else (low, middle)
    found = assembly_modes(platform, lengths_of(base, top, between(low)))
    assert not found.self_motion and found.complex_count == 40 and found.certain
    assert gaps(found.poses, between(low)).min() < 1e-5


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid", "ignore:divide")
@pytest.mark.parametrize("length", [1e308, 1e160, 1e100, 1e12])
def test_legs_of_any_length_are_refused_or_answered(length):
    """Beyond what is metres they are refused; below, no pose has one leg a hundred times as long as the others."""
    platform = semi_regular_platform(0.3, 0.2, 0.2, 0.7)
    with pytest.raises(StewartError, match=r"leg 1 has length .*millimetres"):
        assembly_modes(platform, [length, *[0.5] * 5])
    assert not len(assembly_modes(platform, [59.0, *[0.5] * 5]).poses)
