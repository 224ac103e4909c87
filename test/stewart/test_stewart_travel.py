"""Travel left: where legs come to their limits by root finding, and what lies on either side of each end."""

import numpy as np
import pytest
from scipy.optimize import brentq
from stewart_oracle import lengths, rotation

from lie_dynamics_ros.lie_dynamics.errors import InputError
from lie_dynamics_ros.lie_dynamics.stewart import (
    OffsetPlatform,
    StewartError,
    reference_platform,
    semi_regular_rotary_platform,
    travel_left,
)

ANGLES, PLACE = np.array([0.05, -0.1, 0.2]), np.array([0.01, 0.02, 0.5])


def pose_at(angles=ANGLES, place=PLACE):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation(angles), place
    return T


def moved(T, axis, s):
    """Turns about the axes of the base by the formula for each axis."""
    there = T.copy()
    if axis < 3:
        there[axis, 3] += s
    else:
        there[:3, :3] = rotation(s * np.eye(3)[axis - 3]) @ T[:3, :3]
    return there


def test_legs_end_the_way_where_root_finding_says():
    platform = reference_platform(leg_limits=[(0.42 + 0.002 * leg, 0.68) for leg in range(6)])
    T = pose_at()
    found = travel_left(platform, T)
    for axis in range(6):
        ends = (found.backwards[axis], found.forwards[axis])
        for side, far, reason in zip((-1.0, 1.0), ends, found.reasons[axis], strict=True):
            def room(s, axis=axis, side=side):
                there = moved(T, axis, side * s)
                legs = lengths(platform.base_points, platform.platform_points, there[:3, :3], there[:3, 3])
                return np.minimum(legs - platform.leg_limits[:, 0], platform.leg_limits[:, 1] - legs)

            grid = np.linspace(0.0, 1.2, 400)
            first = next((k for k, s in enumerate(grid) if room(s).min() < 0.0), None)
            if first is None:
                assert reason == "singularity"
                continue
            expected = brentq(lambda s: room(s).min(), grid[first - 1], grid[first], xtol=1e-14)
            if reason != "singularity":
                assert far == pytest.approx(expected, abs=1e-9) and reason == f"leg {room(far).argmin() + 1}"
            else:
                assert far < expected
    assert "x -" in str(found) and "leg" in str(found)


def test_the_reference_platform_is_singular_at_yaw_of_90_degrees():
    found = travel_left(reference_platform(), pose_at(np.zeros(3), [0.0, 0.0, 0.5]))
    assert found.reasons[5] == ("singularity", "singularity")
    np.testing.assert_allclose([found.backwards[5], found.forwards[5]], np.pi / 2, rtol=0, atol=1e-8)
    assert found.reasons[2][1] == "" and found.forwards[2] == 1.0  # upwards nothing ends it


def test_rotary_and_offset_legs_end_where_they_leave_limits_or_reach():
    rotary = semi_regular_rotary_platform(0.1, 0.08, 0.25, 0.2, 0.03, 0.15)
    home = rotary.home_pose
    found = travel_left(rotary, home, rotary.motor_positions(home))
    assert {reason for pair in found.reasons for reason in pair} >= {"reach"}
    for axis in range(6):
        ends = (found.backwards[axis], found.forwards[axis])
        for side, far, reason in zip((-1.0, 1.0), ends, found.reasons[axis], strict=True):
            inside, beyond = (moved(home, axis, side * (far + d)) for d in (-1e-6, 1e-6))
            assert (rotary.motor_margins(rotary.motor_positions(inside)) >= 0.0).all()
            if reason == "reach":
                with pytest.raises(StewartError, match="does not reach"):
                    rotary.motor_positions(beyond)
    points = reference_platform(leg_limits=[0.42, 0.68])
    offset = OffsetPlatform.square_at(points, pose_at(), 0.02, 0.02)
    found = travel_left(offset, pose_at())
    end = moved(pose_at(), 2, found.forwards[2])
    assert offset.motor_margins(offset.leg_lengths(end)).min() == pytest.approx(0.0, abs=1e-8)


def test_no_way_where_a_leg_is_beyond_its_limits_already():
    platform = reference_platform(leg_limits=[0.1, 0.2])
    found = travel_left(platform, pose_at())
    assert not found.backwards.any() and not found.forwards.any()
    with pytest.raises(InputError, match="pose"):
        travel_left(platform, np.full((4, 4), np.nan))
