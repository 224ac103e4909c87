"""Assembly modes do not depend on how a platform is written down: order of legs, sides, unit, frames."""

import numpy as np
import pytest
from special_platforms import ALL, CHANGES, case_of, lengths_of, random_pose, similar_hexagons_on_circles
from support.grids import every_run

from lie_dynamics_ros.lie_dynamics.stewart import StewartPlatform, assembly_modes, griffis_duffy_platform


def modes_of(case):
    return assembly_modes(StewartPlatform(case.base, case.platform, allow_singular=True), case.lengths)


def verdict(found):
    return {
        "real": len(found),
        "complex": found.complex_count,
        "at infinity": found.at_infinity,
        "class": found.platform_class,
        "certain": found.certain,
        "self-motion": found.self_motion,
        "family": found.complex_family,
        "proven": int(found.proven.sum()),
    }


def turns(case, poses):
    """Rotations (k, 3, 3) from the true pose to poses."""
    return poses[:, :3, :3] @ case.pose[:3, :3].T


def same_after(change, case, rng, first):
    """Compare what was found before and after a change."""
    other = CHANGES[change](case, rng)
    second = modes_of(other)
    assert verdict(first) == verdict(second), change
    # The angles by which the poses are turned from the true one are the same, whatever the frames.
    angles = [np.sort(np.trace(turns(c, f.poses), axis1=1, axis2=2)) for c, f in ((case, first), (other, second))]
    slack = 1e-9 * max(1.0, first.condition_numbers.max(initial=0.0), second.condition_numbers.max(initial=0.0))
    assert np.abs(angles[0] - angles[1]).max(initial=0.0) < slack, change


@pytest.mark.parametrize("name", every_run([*ALL][::2], ALL))
def test_nothing_changes(name, rng):
    """One change of each class, in turn; members of the others are found in test_stewart_assembly."""
    count, draw = ALL[name]
    case = case_of(draw, rng)
    found = modes_of(case)
    same_after([*CHANGES][[*ALL].index(name) % len(CHANGES)], case, rng, found)
    assert found.certain and found.complex_count == count and not found.self_motion
    assert np.abs(found.poses - case.pose).reshape(-1, 16).max(axis=1).min() < 1e-7


@pytest.mark.parametrize("seed", [56, 238, 59091530])
def test_ends_reached_within_rounding_errors_are_regular(seed):
    """The smaller side is so small that the first correction at the end of a path is no more than rounding errors."""
    name = "6-3, one side 1000 times smaller"
    count, draw = ALL[name]
    rng = np.random.default_rng(seed)
    case = case_of(draw, rng)
    found = modes_of(case)
    for change in CHANGES:
        same_after(change, case, rng, found)
    assert found.certain and found.complex_count == count and found.at_infinity == 0
    assert np.abs(found.poses - case.pose).reshape(-1, 16).max(axis=1).min() < 1e-7


def griffis_duffy(_):
    platform, _ = griffis_duffy_platform()
    return platform.base_points, platform.platform_points


@pytest.mark.parametrize(
    ("draw", "changes"),
    [
        (griffis_duffy, ("turned", "scaled")),
        pytest.param(griffis_duffy, ("permuted",), marks=pytest.mark.slow),
        pytest.param(similar_hexagons_on_circles(1e-3), ("swapped", "scaled"), marks=pytest.mark.slow),
        pytest.param(griffis_duffy, ("swapped", "scaled"), marks=pytest.mark.slow),
        pytest.param(similar_hexagons_on_circles(1e-3), ("permuted", "turned"), marks=pytest.mark.slow),
    ],
)
def test_self_motions_do_not_change(draw, changes, rng):
    case = case_of(draw, rng)
    found = modes_of(case)
    assert found.self_motion and found.certain
    for change in changes:
        same_after(change, case, rng, found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_nothing_changes_over_many(name, rng):
    """All classes, 18 platforms each: 540."""
    count, draw = ALL[name]
    for _ in range(18):
        case = case_of(draw, rng)
        found = modes_of(case)
        for change in CHANGES:
            same_after(change, case, rng, found)
        # Complex poses a million sizes away, as one platform of these has, may count as at infinity.
        assert found.certain and count - found.complex_count in (0, 2) and not found.self_motion
        assert np.abs(found.poses - case.pose).reshape(-1, 16).max(axis=1).min() < 1e-7


def test_frames_far_away(rng):
    """Frames whose origins are a million sizes away lose digits of the given coordinates, and nothing else."""
    case = case_of(ALL["general"][1], rng)
    far = np.array([1e6, -2e6, 5e5])
    T = random_pose(rng)
    base, platform = np.round(case.base, 6) + far, np.round(case.platform, 6) - far
    near = assembly_modes(StewartPlatform(base - far, platform + far), lengths_of(base - far, platform + far, T))
    found = assembly_modes(StewartPlatform(base, platform), near.lengths)
    assert verdict(found) == verdict(near)
