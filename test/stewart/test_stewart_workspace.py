"""Workspace slices against their definition, pose by pose."""

import numpy as np
import pytest
from stewart_oracle import lengths, rotation

from lie_dynamics_ros.lie_dynamics.stewart import StewartError, StewartPlatform, reference_platform, workspace_slice

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
