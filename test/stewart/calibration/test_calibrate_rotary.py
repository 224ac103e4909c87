"""Calibration of rotary legs: a machine built off its drawing is found from poses and angles; what they do not tell."""

import numpy as np
import pytest
from scipy.optimize import brentq

from lie_dynamics_ros.lie_dynamics.lie import se3, so3
from lie_dynamics_ros.lie_dynamics.stewart import (
    RotaryPlatform,
    StewartError,
    calibrate_measured,
    calibrate_rotary,
    identifiability_report,
    poses_to_measure,
    semi_regular_rotary_platform,
    solve_forward_kinematics,
)

DRAWN = semi_regular_rotary_platform(0.062, 0.05, 0.2269, 0.2, 0.02, 0.11, home_angles=0.1, angle_limits=(-1.4, 1.4))


def built(rng, size=1.0):
    """As a workshop makes it: points and lengths off by tenths of a millimetre, axes by a degree, horns by some."""
    off = lambda *shape: size * rng.normal(size=shape)  # noqa: E731
    turned = DRAWN.frames @ np.asarray(so3.exp(np.array([0.02, 0.02, 0.08]) * off(6, 3)))
    return RotaryPlatform(
        DRAWN.base_points + 5e-4 * off(6, 3), DRAWN.platform_points + 5e-4 * off(6, 3), turned[..., 2],
        DRAWN.horns + 3e-4 * off(6), DRAWN.rods + 1e-3 * off(6), turned[..., 0], 0.1, (-1.4, 1.4),
    )  # fmt: skip


def angle_at(machine, T, leg):
    """Where the horn's ball is a rod away, by brentq."""
    end = T[:3, :3] @ machine.platform_points[leg] + T[:3, 3] - machine.base_points[leg]
    x, y = machine.horns[leg] * machine.frames[leg, :, 0], machine.horns[leg] * machine.frames[leg, :, 1]
    gap = lambda t: np.linalg.norm(end - np.cos(t) * x - np.sin(t) * y) - machine.rods[leg]  # noqa: E731
    grid = np.linspace(-1.5, 1.5, 61)
    values = [gap(t) for t in grid]
    roots = [brentq(gap, a, b, xtol=1e-15) for a, b, u, v in zip(grid, grid[1:], values, values[1:], strict=False)
             if u * v < 0]  # fmt: skip
    return min(roots, key=abs) if roots else np.nan


def measured(machine, rng, count, turn=0.25, shift=0.01):
    poses, angles = [], []
    while len(poses) < count:
        T = machine.home_pose @ np.asarray(se3.exp(rng.uniform(-1, 1, 6) * np.repeat((turn, shift), 3)))
        found = [angle_at(machine, T, leg) for leg in range(6)]
        if np.isfinite(found).all():
            poses.append(T)
            angles.append(found)
    return np.array(poses), np.array(angles)


def test_exact_measurements_find_the_machine(rng):
    machine = built(rng)
    poses, angles = measured(machine, rng, 40)
    found = calibrate_rotary(DRAWN, poses, angles, 1e-8, (1e-8, 1e-9))
    assert np.abs(found.residuals).max() < 1e-9
    for name in ("base_points", "platform_points", "axes", "horns", "rods", "frames"):
        assert np.abs(getattr(found.platform, name) - getattr(machine, name)).max() < 2e-6, name
    assert found.told.min() > 0.99 and "nothing" in str(found)
    fresh, right = measured(machine, rng, 10, 0.15, 0.006)
    assert np.abs(found.platform.motor_positions(fresh) - right).max() < 1e-5
    assert np.nanmax(np.abs(DRAWN.reached_angles(fresh) - right)) > 0.03


def test_noisy_measurements_are_as_far_off_as_their_deviations_say(rng):
    machine = built(rng)
    poses, angles = measured(machine, rng, 60)
    gaps = []
    for _ in range(4):
        noise = rng.normal(size=(60, 6)) * np.repeat((5e-4, 5e-5), 3)
        seen = poses @ np.asarray(se3.exp(noise))
        found = calibrate_rotary(DRAWN, seen, angles + 5e-4 * rng.normal(size=angles.shape), 5e-4, (5e-4, 5e-5))
        errors = np.hstack([
            found.platform.base_points - machine.base_points, found.platform.platform_points - machine.platform_points,
            (found.platform.horns - machine.horns)[:, None], (found.platform.rods - machine.rods)[:, None],
        ])  # fmt: skip
        gaps.append(errors / found.deviations[:, [0, 1, 2, 3, 4, 5, 9, 10]])
    assert 0.6 < np.std(gaps) < 1.5
    fresh, right = measured(machine, rng, 10, 0.15, 0.006)
    better = np.abs(found.platform.motor_positions(fresh) - right).max()
    assert better < 0.2 * np.nanmax(np.abs(DRAWN.reached_angles(fresh) - right))


def test_what_poses_do_not_tell_stays_as_drawn(rng):
    poses, angles = measured(DRAWN, rng, 1)
    found = calibrate_rotary(DRAWN, poses, angles)
    assert np.abs(found.corrections).max() < 1e-9 and found.told.min() < 0.5
    assert "hardly told by these poses: base_x" in str(found)


def test_what_calibrates_sliding_legs_names_the_other(rng):
    poses, angles = measured(DRAWN, rng, 3)
    for call in (
        lambda: identifiability_report(DRAWN, poses),
        lambda: calibrate_measured(DRAWN, poses, angles),
        lambda: poses_to_measure(DRAWN, 10),
    ):
        with pytest.raises(StewartError, match="those of a RotaryPlatform by calibrate_rotary"):
            call()
    with pytest.raises(StewartError, match="a StewartPlatform is expected"):
        poses_to_measure(3, 10)
    found = solve_forward_kinematics(DRAWN, angles[0], DRAWN.home_pose)
    assert found.converged and np.abs(found.pose - poses[0]).max() < 1e-9


def test_bad_arguments(rng):
    poses, angles = measured(DRAWN, rng, 3)
    for arguments, words in (
        ((3, poses, angles), "a RotaryPlatform is expected"),
        ((DRAWN, poses, angles[:2]), r"\(n, 4, 4\) and finite \(n, 6\)"),
        ((DRAWN, poses[0], angles[0]), r"\(n, 4, 4\) and finite"),
        ((DRAWN, poses, angles * np.nan), "finite"),
        ((DRAWN, poses, angles, 0.0), "numbers above zero"),
        ((DRAWN, poses, angles, 1e-3, (1e-3, 1e-4), (1e-3, 1e-3)), "1, 2 and 3 numbers above zero"),
    ):
        with pytest.raises(StewartError, match=words):
            calibrate_rotary(*arguments)
