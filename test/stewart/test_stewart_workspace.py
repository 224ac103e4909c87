"""Workspace slices against their definition, pose by pose."""

import numpy as np
import pytest
from stewart_oracle import lengths, rotation

from lie_dynamics_ros.lie_dynamics.stewart import (
    StewartError,
    StewartPlatform,
    reference_platform,
    semi_regular_rotary_platform,
    workspace_slice,
)

PLATFORM = reference_platform(leg_limits=[(0.42 + 0.01 * leg, 0.6) for leg in range(6)])
NAMES = ("x", "y", "z", "roll", "pitch", "yaw")


@pytest.mark.parametrize(("first", "second"), [("x", "z"), ("yaw", "pitch"), ("y", "roll")])
def test_slice_agrees_with_poses_taken_one_by_one(first, second):
    rng = np.random.default_rng(0)
    centre = np.eye(4)
    angles = np.array([0.1, -0.2, 0.3])
    centre[:3, :3], centre[:3, 3] = rotation(angles), [0.01, 0.02, 0.5]
    x_values, y_values = np.sort(rng.uniform(-0.4, 0.6, 5)), np.sort(rng.uniform(-0.4, 0.6, 4))
    found = workspace_slice(PLATFORM, (first, x_values), (second, y_values), centre)
    assert found.lengths.shape == (5, 4, 6) and found.x_label.startswith(first) and found.y_label.startswith(second)
    for i, j in np.ndindex(5, 4):
        q = np.r_[centre[:3, 3], angles]
        q[NAMES.index(first)], q[NAMES.index(second)] = x_values[i], y_values[j]
        expected = lengths(PLATFORM.base_points, PLATFORM.platform_points, rotation(q[3:]), q[:3])
        np.testing.assert_allclose(found.lengths[i, j], expected, rtol=1e-12)
        gaps = np.minimum(expected - PLATFORM.leg_limits[:, 0], PLATFORM.leg_limits[:, 1] - expected)
        assert found.margins[i, j] == pytest.approx(gaps.min(), abs=1e-12)
        assert found.limiting_leg[i, j] == np.argmin(gaps) + 1
        assert found.within_limits[i, j] == (gaps.min() >= 0.0)


def test_singularities_divide_the_slice():
    """The reference platform is singular at yaw of +-90 degrees (Fichter); there its determinant changes sign."""
    yaw = np.deg2rad([-120.0, -91.0, -89.0, 0.0, 89.0, 91.0, 120.0])
    found = workspace_slice(reference_platform(), ("yaw", yaw), ("z", [0.4, 0.5]))
    np.testing.assert_array_equal(
        found.same_side, np.array([0, 0, 1, 1, 1, 0, 0], dtype=bool)[:, None].repeat(2, axis=1)
    )
    assert found.within_limits.all()
    np.testing.assert_array_equal(found.reachable, found.same_side)
    assert (found.condition_number[[1, 2, 4, 5]] > 10.0 * found.condition_number[3]).all()


def test_bad_slices():
    with pytest.raises(StewartError, match="x axis of the slice is 'w', expected one of x, y, z, roll, pitch, yaw"):
        workspace_slice(PLATFORM, ("w", [0.0]), ("y", [0.0]))
    with pytest.raises(StewartError, match="both axes"):
        workspace_slice(PLATFORM, ("y", [0.0]), ("y", [0.0]))
    with pytest.raises(StewartError, match="values of y"):
        workspace_slice(PLATFORM, ("x", [0.0]), ("y", [np.nan]))
    homeless = StewartPlatform(PLATFORM.base_points, PLATFORM.platform_points)
    with pytest.raises(StewartError, match="no home_pose"):
        workspace_slice(homeless, ("x", [0.0]), ("y", [0.0]))


def test_rotary_legs_with_places_out_of_reach():
    """Angles by the cosine rule in the plane of the horn; where no angle has a rod's length, out of reach."""
    platform = semi_regular_rotary_platform(0.062, 0.05, 0.2269, 0.2, horns=0.02, rods=0.11, angle_limits=(-1.2, 1.2))
    home = platform.home_pose
    x, z = np.linspace(-0.03, 0.03, 7), home[2, 3] + np.linspace(-0.03, 0.03, 5)
    found = workspace_slice(platform, ("x", x), ("z", z))
    some = {True: 0, False: 0}
    for i, j in np.ndindex(7, 5):
        T = home.copy()
        T[0, 3], T[2, 3] = x[i], z[j]
        ends = platform.platform_points @ T[:3, :3].T + T[:3, 3] - platform.base_points
        turns = np.linspace(-np.pi, np.pi, 3601)
        across = np.cross(platform.axes, platform.frames[..., 0])
        horns = 0.02 * (np.cos(turns)[:, None, None] * platform.frames[..., 0] + np.sin(turns)[:, None, None] * across)
        off = np.linalg.norm(ends - horns, axis=-1) - 0.11
        reached = (off.min(axis=0) < 0.0) & (off.max(axis=0) > 0.0)
        np.testing.assert_array_equal(reached, np.isfinite(found.lengths[i, j]))
        some[bool(reached.all())] += 1
        if not reached.all():
            assert found.margins[i, j] == -np.inf and not found.reachable[i, j]
            assert np.isinf(found.condition_number[i, j])
            continue
        tips = 0.02 * (np.cos(found.lengths[i, j])[:, None] * platform.frames[..., 0])
        tips += 0.02 * np.sin(found.lengths[i, j])[:, None] * across
        np.testing.assert_allclose(np.linalg.norm(ends - tips, axis=1), 0.11, atol=1e-14)
        assert found.margins[i, j] == pytest.approx(1.2 - np.abs(found.lengths[i, j]).max(), abs=1e-12)
    assert min(some.values()) > 5 and found.reachable[3, 2]
