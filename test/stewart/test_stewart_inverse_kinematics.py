"""Leg lengths, rates, accelerations and Jacobians against Cauchy's integral along random motions."""

import numpy as np
import pytest
from stewart_oracle import pose_of, random_path, random_pose

from lie_dynamics_ros.lie_dynamics.stewart import (
    StewartError,
    StewartPlatform,
    dietmaier_platform,
    reference_platform,
)

FRAMES = ("body", "spatial", "aligned")
PLATFORMS = {"reference": reference_platform(), "dietmaier": dietmaier_platform()[0]}


@pytest.fixture(params=PLATFORMS)
def platform(request):
    return PLATFORMS[request.param]


@pytest.fixture(params=range(4))
def path(request, platform):
    return random_path(np.random.default_rng(request.param), platform.base_points, platform.platform_points)


def test_lengths_of_the_published_pose():
    """Exact lengths of q_C; the sixth is 51.99 cm, not 55.99 as printed in (29)."""
    expected = [55.85583542, 62.53130024, 52.74363698, 55.14569326, 44.79721341, 51.99103155]
    found = reference_platform().leg_lengths(pose_of((0, 0, 50), (20, 0, -30)))
    np.testing.assert_allclose(100.0 * found, expected, rtol=0.0, atol=5e-9)


def test_branch_pose_has_the_same_lengths():
    """T_s of (30), given to five digits: the lengths agree to that."""
    branch = np.eye(4)
    branch[:3, :3] = [[-0.29750, 0.73745, -0.60635], [-0.23240, 0.56007, 0.79518], [0.92601, 0.37748, 0.00476]]
    branch[:3, 3] = [0.1757582, 0.1033935, 0.3671191]
    platform = reference_platform()
    truth = platform.leg_lengths(pose_of((0, 0, 50), (20, 0, -30)))
    np.testing.assert_allclose(platform.leg_lengths(branch), truth, rtol=0.0, atol=4e-6)


def test_pure_translation_of_a_platform_equal_to_its_base():
    points = np.random.default_rng(3).normal(size=(6, 3))
    platform = StewartPlatform(points, points, allow_singular=True)
    pose = np.eye(4)
    pose[:3, 3] = [3.0, 4.0, 12.0]
    np.testing.assert_allclose(platform.leg_lengths(pose), np.full(6, 13.0), rtol=1e-15)


def test_lengths(platform, path):
    np.testing.assert_allclose(platform.leg_lengths(path.pose), path.lengths, rtol=1e-12)


@pytest.mark.parametrize("frame", FRAMES)
def test_rates(platform, path, frame):
    found = platform.leg_rates(path.pose, path.twists[frame], frame)
    np.testing.assert_allclose(found, path.rates, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("frame", FRAMES)
def test_accelerations(platform, path, frame):
    found = platform.leg_accelerations(path.pose, path.twists[frame], path.twist_rates[frame], frame)
    # Cauchy's integral divides rounding by radius^2 = 1/400, hence 1e-9 instead of 1e-10.
    np.testing.assert_allclose(found, path.accelerations, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("frame", FRAMES)
def test_jacobian_rate_is_linear_in_the_twist_and_batches(platform, frame):
    rng = np.random.default_rng(5)
    poses = np.stack([[random_pose(rng) for _ in range(3)] for _ in range(2)])
    twists = rng.normal(size=(2, 3, 6))
    rates = platform.jacobian_rate(poses, twists, frame)
    assert rates.shape == (2, 3, 6, 6)
    np.testing.assert_allclose(
        platform.jacobian_rate(poses, -2.0 * twists, frame), -2.0 * rates, rtol=1e-12, atol=1e-13
    )
    for i in np.ndindex(2, 3):
        np.testing.assert_allclose(platform.jacobian_rate(poses[i], twists[i], frame), rates[i], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(
            platform.leg_rates(poses, twists, frame)[i], platform.jacobian(poses[i], frame) @ twists[i], rtol=1e-12
        )


def test_condition_number_at_a_pose_with_known_jacobian():
    """Three vertical and three horizontal legs, all lever arms 1 m and the characteristic length given as 1 m."""
    base = [[1, 0, -1], [0, 1, -1], [-1, 0, -1], [2, 1, 0], [-1, 2, 0], [0, -2, 0]]
    top = [[1, 0, 0], [0, 1, 0], [-1, 0, 0], [1, 1, 0], [-1, 1, 0], [0, -1, 0]]
    platform = StewartPlatform(base, top)
    units = np.array([[0, 0, 1]] * 3 + [[-1, 0, 0], [0, -1, 0], [0, 1, 0]], dtype=float)
    expected = np.hstack([np.cross(np.array(top, dtype=float), units), units])
    values = np.linalg.svd(expected, compute_uv=False)
    np.testing.assert_allclose(platform.jacobian(np.eye(4)), expected, atol=1e-15)
    assert platform.condition_number(np.eye(4), 1.0) == pytest.approx(values[0] / values[-1], rel=1e-12)
    doubled = StewartPlatform(2.0 * np.array(base), 2.0 * np.array(top))
    assert doubled.condition_number(np.eye(4)) == pytest.approx(platform.condition_number(np.eye(4)), rel=1e-12)


def test_condition_number_at_a_singular_pose():
    """A semi-regular platform turned by 90 degrees about the vertical: Fichter's singularity."""
    pose = np.eye(4)
    pose[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    pose[2, 3] = 0.4
    assert reference_platform().condition_number(pose) > 1e5


def test_margins_and_limits():
    platform = reference_platform(leg_limits=(0.4, 0.6))
    lengths = np.array([0.45, 0.5, 0.59, 0.4, 0.6, 0.7])
    np.testing.assert_allclose(platform.leg_margins(lengths), [0.05, 0.1, 0.01, 0.0, 0.0, -0.1], atol=1e-15)
    with pytest.raises(StewartError, match=r"leg 6 has length 0\.7 m, expected 0\.4 to 0\.6 m"):
        platform.check_leg_limits(lengths)
    with pytest.raises(StewartError, match="leg 2 has length nan"):
        platform.check_leg_limits([0.5, np.nan, 0.5, 0.5, 0.5, 0.5])
    platform.check_leg_limits(np.full(6, 0.5))


def test_bad_calls_name_what_is_wrong(platform):
    with pytest.raises(StewartError, match=r"pose has shape \(3, 3\), expected \(\.\.\., 4, 4\)"):
        platform.leg_lengths(np.eye(3))
    with pytest.raises(StewartError, match=r"twist has shape \(5,\), expected \(\.\.\., 6\)"):
        platform.leg_rates(random_pose(np.random.default_rng(0)), np.zeros(5))
    with pytest.raises(StewartError, match="frame is 'world', expected one of 'body', 'spatial', 'aligned'"):
        platform.jacobian(random_pose(np.random.default_rng(0)), "world")
    with pytest.raises(StewartError, match="characteristic_length is 0"):
        platform.condition_number(random_pose(np.random.default_rng(0)), 0.0)


def test_leg_of_length_zero_has_no_jacobian():
    platform = dietmaier_platform()[0]
    with pytest.raises(StewartError, match="leg 1 has length zero"):
        platform.jacobian(np.eye(4))
