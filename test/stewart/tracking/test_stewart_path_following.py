"""Cold start: the right branch without a guess, and honesty where the path ends."""

import numpy as np
import pytest
import stewart_oracle as oracle

from lie_dynamics_ros.lie_dynamics.stewart import (
    StewartError,
    StewartPlatform,
    StopReason,
    level_home,
    reference_platform,
    solve_from_home,
)


def lengths_of(platform, T):
    return oracle.lengths(platform.base_points, platform.platform_points, T[:3, :3], T[:3, 3])


@pytest.mark.parametrize("given", [True, False])
def test_workspace_targets_from_home(given):
    """Within 15 cm and 30 degrees of the home pose, from it or from a level pose guessed from the lengths."""
    platform = reference_platform()
    if not given:
        platform = StewartPlatform(platform.base_points, platform.platform_points)
    rng = np.random.default_rng(11)
    for _ in range(300):
        T = oracle.random_pose(rng, 0.15, np.deg2rad(30))
        found = solve_from_home(platform, lengths_of(platform, T))
        assert found.converged and found.reason is StopReason.ARRIVED and found.fraction == 1.0
        assert np.abs(found.require().pose - T).max() < 1e-12
        assert np.array_equal(found.candidates, found.pose[None])


def test_level_home_has_the_mean_squared_length():
    platform = reference_platform()
    shifted = StewartPlatform(np.add(platform.base_points, (1, 2, 3)), np.add(platform.platform_points, (0.1, 0, -0.3)))
    lengths = np.array([0.5, 0.55, 0.6, 0.52, 0.58, 0.61])
    home = level_home(shifted, lengths)
    assert np.mean(lengths_of(shifted, home) ** 2) == pytest.approx(np.mean(lengths**2), rel=1e-14)
    assert np.array_equal(home[:3, :3], np.eye(3)) and home[2, 3] > 3
    with pytest.raises(StewartError, match="too short"):
        level_home(shifted, np.full(6, 0.01))


def test_it_stops_at_a_singularity_with_the_candidates():
    platform = reference_platform()
    T = oracle.pose_of((18, -23, 51), (-97, 109, 12))
    lengths = lengths_of(platform, T)
    found = solve_from_home(platform, lengths)
    assert found.reason is StopReason.SINGULARITY and not found.converged
    assert found.fraction == pytest.approx(0.755, abs=0.01)
    # Where it stopped is a pose of its branch: for lengths that far along the line, and nearly singular.
    squares = (1 - found.fraction) * lengths_of(platform, platform.home_pose) ** 2 + found.fraction * lengths**2
    assert np.abs(lengths_of(platform, found.pose) - np.sqrt(squares)).max() < 1e-12
    assert platform.condition_number(found.pose) > 1e4
    candidates = found.candidates
    assert min(np.abs(P - T).max() for P in candidates) < 1e-9
    assert max(np.abs(lengths_of(platform, P) - lengths).max() for P in candidates) < 1e-12
    points = np.c_[platform.platform_points, np.ones(6)]
    distances = [np.linalg.norm(points @ P.T - points @ found.pose.T) for P in candidates]
    assert (np.diff(distances) >= 0).all() and len(distances) == 4
    assert "singularity" in found.message and "4 poses" in found.message
    with pytest.raises(StewartError, match="singularity"):
        found.require()


def test_a_nearer_home_pose_reaches_what_the_far_one_does_not():
    platform = reference_platform()
    T = oracle.pose_of((18, -23, 51), (-97, 109, 12))
    near = oracle.pose_of((17, -22, 50), (-95, 107, 14))
    found = solve_from_home(platform, lengths_of(platform, T), near)
    assert found.converged and np.abs(found.pose - T).max() < 1e-10


def test_lengths_that_no_pose_has():
    lengths = lengths_of(reference_platform(), reference_platform().home_pose)
    lengths[0] = 1.5
    found = solve_from_home(reference_platform(), lengths)
    assert found.reason is StopReason.NO_POSE and len(found.candidates) == 0
    assert "no pose has these lengths" in found.message


def test_step_limit():
    platform = reference_platform()
    lengths = lengths_of(platform, oracle.pose_of((10, 5, 60), (20, 0, 20)))
    found = solve_from_home(platform, lengths, max_steps=2)
    assert found.reason is StopReason.STEP_LIMIT and found.steps == 2 and not found.converged
    assert "2 proven steps" in found.message and 0.0 < found.fraction < 1.0


@pytest.mark.parametrize(
    ("lengths", "home", "words"),
    [
        ([0.5, 0.5, np.nan, 0.5, 0.5, 0.5], None, "leg 3 has length nan"),
        ([0.5, 0.5, 0.5, 0.5, 0.5, -0.5], None, "leg 6 has length -0.5 m"),
        ([0.5, 0.5, 0.5, 0.5, 0.5, 0.9], None, "leg 6"),
        (np.full(5, 0.5), None, "lengths has shape"),
        (np.full((1, 6), 0.5), None, r"expected \(6,\)"),
        (np.full(6, 0.5), oracle.pose_of((0, 0, 45), (0, 0, 90)), "singular"),
        (np.full(6, 0.5), np.ones((4, 4)), "home_pose"),
    ],
)
def test_bad_input(lengths, home, words):
    with pytest.raises(ValueError, match=words):
        solve_from_home(reference_platform(leg_limits=(0.3, 0.8)), lengths, home)
