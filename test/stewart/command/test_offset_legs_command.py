"""Commands of legs on offset universal joints, with screws: limits and shortest times by an oracle of its own.

Its feet are found in turns: each stands on its circle in the direction of the other one; twists are angles by
Kahan's formula.
"""

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_stewart_command_motions import LOAD
from test_stewart_command_shortest import ABOUT, rows, shortest

from lie_dynamics_ros.lie_dynamics.lie import se3
from lie_dynamics_ros.lie_dynamics.stewart import OffsetPlatform, reference_platform, workspace_slice
from lie_dynamics_ros.lie_dynamics.stewart.command import (
    CommandLimits,
    PathError,
    check_path,
    line_path,
    plan_motion,
    smooth_path,
)

POINTS = reference_platform(leg_limits=(0.3, 0.9))
HOME = POINTS.home_pose


def machine(rng):
    square = OffsetPlatform.square_at(POINTS, HOME, 0.0, 0.0)
    axes = (x + 0.2 * rng.normal(size=(6, 3)) for x in (square.base_axes, square.platform_axes))
    return OffsetPlatform(POINTS, *axes, 0.03, rng.uniform(0.0, 0.04, 6), [0.02, -0.02, 0.01, 0.0, -0.01, 0.02])


def across(axis, way):
    found = way - axis * (way * axis).sum(axis=-1, keepdims=True)
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


def hanging(poses, platform):
    """What motors measure, the ends of the legs on the base, and 1: screws turn by less than half a turn."""
    def legs(T):
        R = T[:, :3, :3].transpose(0, 2, 1)
        A, B = POINTS.base_points, POINTS.platform_points @ R + T[:, None, :3, 3]
        s, t = platform.base_axes, platform.platform_axes @ R
        a, b = platform.base_offsets[:, None], platform.platform_offsets[:, None]
        D = B
        for _ in range(20):
            C = A + a * across(s, D - A)
            D = B + b * across(t, C - B)
        u = (D - C) / np.linalg.norm(D - C, axis=-1, keepdims=True)
        e, f = np.cross(s, across(s, D - A)), np.cross(t, across(t, C - B))
        angle = 2.0 * np.arctan2(np.linalg.norm(e - f, axis=-1), np.linalg.norm(e + f, axis=-1))
        return np.linalg.norm(D - C, axis=-1), angle * np.sign((np.cross(e, f) * u).sum(axis=-1)), C

    lengths, twists, C = legs(poses)
    turned = np.angle(np.exp(1j * (twists - legs(HOME[None])[1])))
    return lengths - platform.screw_leads * turned / (2.0 * np.pi), C, 1.0


def case(rng, platform):
    points = np.tile(HOME, (3, 1, 1))
    points[:, :3, :3] = Rotation.from_rotvec(rng.uniform(-0.3, 0.3, (3, 3))).as_matrix()
    points[:, :3, 3] += rng.uniform(-0.06, 0.06, (3, 3))
    limits = CommandLimits(
        platform, rate=10.0 ** rng.uniform(-1.0, 0.3, 6), acceleration=10.0 ** rng.uniform(-0.5, 1.5, 6), condition=60.0
    )
    return (line_path, smooth_path)[rng.integers(2)](points), limits


def test_limits_are_kept_in_nearly_the_shortest_time(rng):
    platform, ratios, used = machine(rng), [], []
    while len(ratios) < 2:
        path, limits = case(rng, platform)
        report = check_path(path, limits)
        if not report.feasible:
            continue
        motion = report.motion
        s, rate, slope = motion.progress(motion.duration * (np.arange(300) + 0.5) / 300)
        h = 1e-5 * (path.knots[-1] - path.knots[0])
        inside = np.abs(s[:, None] - path.knots).min(axis=1) > 2.0 * h
        s, rate, slope = (x[inside] for x in (s, rate, slope))
        a, b, c, most = rows(path, limits, s, h, hanging, LOAD, ABOUT)
        over = a * slope[:, None] + b * (rate**2)[:, None] - c
        used += [1.0 + over.max(), np.sqrt(rate**2 / most).max()]
        wanted = motion.at(motion.duration * np.linspace(0.0, 1.0, 7))
        assert np.abs(wanted.lengths - hanging(wanted.pose, platform)[0]).max() < 1e-12
        cuts = [path.knots[0], *path.knots[path.corners], path.knots[-1]]
        least = sum(shortest(path, limits, *ends, hanging, LOAD, ABOUT) for ends in pairwise(cuts))
        ratios.append(motion.duration / least)
    assert min(ratios) > 0.98 and max(ratios) < 1.05
    assert 0.95 < max(used) < 1.0 + 1e-4


def test_what_ends_a_path_is_named(rng):
    platform = machine(rng)
    up = HOME @ np.asarray(se3.exp([0.0, 0.0, 0.0, 0.0, 0.0, 0.3]))
    stroke = hanging(HOME[None], platform)[0].max() + 0.1
    with pytest.raises(PathError, match=rf"leg \d is {stroke:.6g}[0-9]* m long|leg \d is .* limit {stroke:.6g} m"):
        plan_motion(line_path([HOME, up]), CommandLimits(platform, stroke=(0.1, stroke)))
    limits = CommandLimits(platform, stroke=(0.1, stroke), base_cone=0.1)
    ways = hanging(up[None], platform)
    assert limits.kept(HOME) and not limits.kept(np.stack([up, HOME]))[0]
    assert ways[0].max() > stroke
    with pytest.raises(PathError, match="off the axis of its base joint"):
        side = HOME @ np.asarray(se3.exp([0.0, 0.0, 0.0, 0.12, 0.0, 0.0]))
        plan_motion(line_path([HOME, side]), limits)
    units = POINTS.leg_vectors(HOME) / POINTS.leg_lengths(HOME)[:, None]
    shift = np.asarray(se3.exp([0.0, 0.0, 0.0, 0.1, 0.0, 0.0]))
    along = OffsetPlatform(POINTS, units, [1.0, 0.0, 0.0], 0.01, 0.01)  # at home legs point along their axes
    with pytest.raises(PathError, match="leg 1 points along an axis"):
        plan_motion(line_path([HOME @ shift, HOME]), CommandLimits(along, base_axes=units, platform_axes=units))


def test_slices_are_those_of_the_motors(rng):
    platform, grid = machine(rng), np.linspace(-0.05, 0.05, 3)
    found = workspace_slice(platform, ("x", grid), ("yaw", grid))
    assert np.abs(found.lengths[2] - hanging(found.poses[2], platform)[0]).max() < 1e-12
    assert found.same_side.all() and found.condition_number.max() < 100.0
