"""Platforms on universal joints whose axes do not meet: lengths as distances of circles, poses, files, refusals."""

import numpy as np
import pytest
from scipy.optimize import minimize

from lie_dynamics_ros.lie_dynamics.errors import LieDynamicsError
from lie_dynamics_ros.lie_dynamics.lie import se3
from lie_dynamics_ros.lie_dynamics.stewart import (
    OffsetPlatform,
    StewartError,
    StewartPlatform,
    leg_forces_for_wrench,
    poses_near,
    reference_platform,
)

POINTS = reference_platform(leg_limits=(0.3, 0.9))


def skewed(rng):
    """Axes neither perpendicular to the legs nor parallel in pairs, offsets of all sizes, none at one end of a leg."""
    square = OffsetPlatform.square_at(POINTS, POINTS.home_pose, 0.0, 0.0)
    axes = (x + 0.3 * rng.normal(size=(6, 3)) for x in (square.base_axes, square.platform_axes))
    return OffsetPlatform(POINTS, *axes, rng.uniform(0.0, 0.06, 6), np.append(rng.uniform(0.0, 0.06, 5), 0.0))


def near_home(rng, count):
    return POINTS.home_pose @ np.asarray(se3.exp(rng.normal(size=(count, 6)) * np.repeat((0.2, 0.04), 3)))


def on_circle(point, axis, offset, angle):
    """Where the second axis passes: turned from one direction perpendicular to the first axis by an angle."""
    first = np.linalg.svd(axis[None])[2][1]
    return point + offset * (np.cos(angle) * first + np.sin(angle) * np.cross(axis, first))


def test_lengths_are_least_distances_of_circles(rng):
    platform, T = skewed(rng), near_home(rng, 1)[0]
    lengths = platform.leg_lengths(T)
    s, t = platform.base_axes, platform.platform_axes @ T[:3, :3].T
    B = POINTS.platform_points @ T[:3, :3].T + T[:3, 3]
    for k in range(6):

        def gap(x, k=k):
            C = on_circle(POINTS.base_points[k], s[k], platform.base_offsets[k], x[0])
            return np.linalg.norm(on_circle(B[k], t[k], platform.platform_offsets[k], x[1]) - C)

        least = min(minimize(gap, start, tol=1e-12).fun for start in ([0.0, 0.0], [2.0, 1.0], [1.0, 4.0], [4.0, 3.0]))
        assert lengths[k] == pytest.approx(least, abs=1e-11)


def test_without_offsets_it_is_the_platform_on_point_joints(rng):
    platform, T = OffsetPlatform(POINTS, [1.0, 0.2, 0.1], [0.1, 1.0, 0.0], 0.0, 0.0), near_home(rng, 4)
    assert np.array_equal(platform.leg_lengths(T), POINTS.leg_lengths(T))
    assert np.array_equal(platform.jacobian(T, "spatial"), POINTS.jacobian(T, "spatial"))


def test_rates_and_forces_are_derivatives_of_lengths(rng):
    platform, T, step = skewed(rng), near_home(rng, 3).reshape(3, 1, 4, 4), 1e-6
    for k, twist in enumerate(np.eye(6)):
        ahead, behind = (platform.leg_lengths(T @ np.asarray(se3.exp(sign * step * twist))) for sign in (1.0, -1.0))
        rates = (ahead - behind) / (2.0 * step)
        assert np.abs(platform.jacobian(T)[..., k] - rates).max() < 1e-9
        assert np.abs(platform.leg_rates(T, twist) - rates).max() < 1e-9
    here, wrench = T[0, 0], rng.normal(size=6)
    same = platform.at(here)
    assert np.abs(same.leg_lengths(here) - platform.leg_lengths(here)).max() < 1e-15
    forces = leg_forces_for_wrench(same, here, wrench)
    assert np.abs(platform.jacobian(here).T @ forces - wrench).max() < 1e-12


def test_poses_from_lengths(rng):
    platform, T = skewed(rng), near_home(rng, 20)
    found = poses_near(platform, platform.leg_lengths(T), POINTS.home_pose)
    assert np.abs(found - T).max() < 1e-10
    assert poses_near(platform, platform.leg_lengths(T[0]), T[:2].reshape(2, 1, 4, 4)).shape == (2, 1, 4, 4)
    with pytest.raises(StewartError, match="no pose with the lengths"):
        poses_near(platform, [0.5, 5.0, 0.5, 0.5, 0.5, 0.5], POINTS.home_pose)
    with pytest.raises(StewartError, match="leg 2 has length"):
        poses_near(platform, [0.5, np.nan, 0.5, 0.5, 0.5, 0.5], POINTS.home_pose)
    with pytest.raises(LieDynamicsError):
        poses_near(platform, np.full(6, 0.5), 2.0 * np.eye(4))


def test_files(rng, tmp_path):
    platform, T = skewed(rng), near_home(rng, 3)
    path = tmp_path / "platform.yaml"
    path.write_text(platform.to_yaml())
    again = OffsetPlatform.from_yaml(path)
    assert np.abs(again.leg_lengths(T) - platform.leg_lengths(T)).max() < 1e-15
    assert np.array_equal(again.points.leg_limits, POINTS.leg_limits)
    with pytest.raises(StewartError, match=r"universal_joints .* point joints"):
        StewartPlatform.from_yaml(path)
    with pytest.raises(StewartError, match="no universal_joints"):
        OffsetPlatform.from_yaml(POINTS.to_yaml())
    with pytest.raises(StewartError, match="no platform_offsets"):
        OffsetPlatform.from_yaml(platform.to_yaml().replace("  platform_offsets", "  #"))


@pytest.mark.filterwarnings("error")
def test_what_is_refused(rng):
    axes, good = [1.0, 0.0, 0.0], skewed(rng)
    for arguments, what in (
        ((3, axes, axes, 0.0, 0.0), "a StewartPlatform is expected"),
        ((POINTS, [0.0, 0.0, 0.0], axes, 0.0, 0.0), "base_axes of leg 1 has no direction"),
        ((POINTS, axes, np.full((6, 3), np.nan), 0.0, 0.0), "platform_axes: finite directions"),
        ((POINTS, axes, "x", 0.0, 0.0), "platform_axes: finite directions"),
        ((POINTS, np.eye(3), axes, 0.0, 0.0), "base_axes: finite directions"),
        ((POINTS, axes, axes, -0.01, 0.0), "base_offsets: a distance of 0 or more"),
        ((POINTS, axes, axes, 0.0, [0.1, 0.2]), "platform_offsets: a distance of 0 or more"),
        ((POINTS, axes, axes, np.inf, 0.0), "base_offsets: a distance of 0 or more"),
    ):
        with pytest.raises(StewartError, match=what):
            OffsetPlatform(*arguments)
    units = POINTS.leg_vectors(POINTS.home_pose) / POINTS.leg_lengths(POINTS.home_pose)[:, None]
    along = OffsetPlatform(POINTS, units, axes, 0.01, 0.01)
    with pytest.raises(StewartError, match="leg 1 points along the first axis"):
        along.leg_lengths(POINTS.home_pose)
    with pytest.raises(StewartError, match="too short for its offsets"):
        OffsetPlatform(POINTS, good.base_axes, good.platform_axes, 5.0, 5.0).leg_lengths(POINTS.home_pose)
    with pytest.raises(StewartError, match="or the pose is none"):
        good.leg_lengths(np.full((4, 4), np.nan))
    with pytest.raises(StewartError, match="expected"):
        good.at(near_home(rng, 2))
    assert good.leg_lengths(near_home(rng, 0)).shape == (0, 6)
