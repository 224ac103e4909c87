"""Times of motions against the shortest, by an oracle that shares no code: bang-bang on a dense grid.

Lengths, velocities and accelerations along a path are differences of its poses, forces the equilibrium of these; the
largest square of s' from which the end can be reached is the least of all pairs of bounds, point by point backward, and
the motion goes forward as fast as these allow.
"""

from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_stewart_command_motions import LOAD, check_path, lengths, random_case, random_platform

from lie_dynamics_ros.lie_dynamics import SpatialInertia
from lie_dynamics_ros.lie_dynamics.stewart import StewartError, semi_regular_rotary_platform
from lie_dynamics_ros.lie_dynamics.stewart.command import (
    CommandLimits,
    PlatformLoad,
    line_path,
    screw_path,
    smooth_path,
)

POINTS = 1200


ABOUT = np.diag([0.3, 0.3, 0.5])
"""Of `LOAD`, about its centre."""


def sliding(poses, platform):
    """Positions of motors in poses, the ends of the legs on the base, and what a force of a leg is over its motor's."""
    return lengths(poses, platform), platform.base_points, 1.0


def turning(poses, platform):
    """The same for horns: angles by Newton's method on the lengths of rods, each from the one before."""
    c, (x, y) = platform.base_points, (platform.frames[..., k] for k in (0, 1))
    balls = np.einsum("kij,lj->kli", poses[:, :3, :3], platform.platform_points) + poses[:, None, :3, 3]
    arm = lambda t: platform.horns[:, None] * (np.cos(t)[:, None] * x + np.sin(t)[:, None] * y)  # noqa: E731
    along = lambda t: platform.horns[:, None] * (np.cos(t)[:, None] * y - np.sin(t)[:, None] * x)  # noqa: E731
    t, found, levers = platform.motor_positions(poses[0]), [], []  # says which way legs are bent
    for ball in balls:
        for _ in range(8):
            rod = ball - c - arm(t)
            size = np.linalg.norm(rod, axis=1)
            lever = (rod * along(t)).sum(axis=1) / size
            t = t + (size - platform.rods) / lever
        assert np.abs(size - platform.rods).max() < 1e-13
        found.append(t)
        levers.append(lever)
    return np.array(found), c + np.array([arm(t) for t in found]), np.array(levers)


def rows(path, limits, s, h, seen=sliding, load=LOAD, about=ABOUT):
    """Rows a s'' + b s'^2 <= c at points, and the largest s'^2 by rates and speeds."""
    platform = limits.platform
    poses = [path.at(np.clip(s + k * h, path.knots[0], path.knots[-1])).pose for k in (-1, 0, 1)]
    (behind, *_), (here, base, levers), (ahead, *_) = (seen(pose, platform) for pose in poses)
    first, second = (ahead - behind) / (2 * h), (ahead - 2 * here + behind) / h**2
    turns = [Rotation.from_matrix(pose[:, :3, :3]) for pose in poses]
    ahead, behind = (turns[2] * turns[1].inv()).as_rotvec() / h, (turns[1] * turns[0].inv()).as_rotvec() / h
    w, w_slope = 0.5 * (ahead + behind), (ahead - behind) / h  # in axes of the base
    R, inertia = poses[1][:, :3, :3], load.inertia
    center = [pose[:, :3, :3] @ inertia.com + pose[:, :3, 3] for pose in poses]
    c1, c2 = (center[2] - center[0]) / (2 * h), (center[2] - 2 * center[1] + center[0]) / h**2
    balls = getattr(platform, "points", platform).platform_points
    tip = np.einsum("kij,lj->kli", R, balls) + poses[1][:, None, :3, 3]
    leg = tip - base
    leg = leg / np.linalg.norm(leg, axis=-1, keepdims=True)
    balance = np.concatenate([np.cross(tip - center[1][:, None], leg), leg], axis=-1).transpose(0, 2, 1)
    about = R @ about @ R.transpose(0, 2, 1)
    times = lambda M, x: np.einsum("kij,kj->ki", M, x)  # noqa: E731
    needed = [
        np.concatenate([times(about, w), inertia.mass * c1], axis=1),
        np.concatenate([times(about, w_slope) + np.cross(w, times(about, w)), inertia.mass * c2], axis=1),
        np.tile(np.concatenate([np.zeros(3), [0.0, 0.0, 9.81 * inertia.mass]]), (len(s), 1)),
    ]
    force = [levers * np.linalg.solve(balance, x[..., None])[..., 0] for x in needed]
    a = np.concatenate([first / limits.acceleration, force[0] / limits.force], axis=1)
    b = np.concatenate([second / limits.acceleration, force[1] / limits.force], axis=1)
    rest = np.concatenate([np.zeros_like(first), force[2] / limits.force], axis=1)
    tool = [(pose @ path.tool)[:, :3, 3] for pose in poses]
    used = [np.abs(first / limits.rate).max(axis=1), np.linalg.norm(tool[2] - tool[0], axis=1) / (2 * h) / limits.speed,
            np.linalg.norm(w, axis=1) / limits.angular_speed]  # fmt: skip
    most = np.max([*used, np.full(len(s), 1.0 if path.timed else 1e-9)], axis=0) ** -2.0
    return np.hstack([a, -a]), np.hstack([b, -b]), np.hstack([1.0 - rest, 1.0 + rest]), most


def bounds(a, b, c):
    """Bounds of s'' by rows (k, r), constants and slopes of lines in x = s'^2: least, then largest."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value, slope = c / a, -b / a
    sides = (a < 0.0, -np.inf), (a > 0.0, np.inf)
    return [(np.where(side, value, none), np.where(side, slope, 0.0)) for side, none in sides]


def largest_where(value, slope):
    """Largest x >= 0 with slope x <= value for all of (..., r); values are not negative, but for round-off."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(slope > 0.0, np.maximum(value, 0.0) / slope, np.inf).min(axis=-1)


def shortest(path, limits, begin, end, *judge):
    """Time of the fastest motion between two rests."""
    span = end - begin
    s = begin + span * (np.arange(POINTS) + 0.5) / POINTS  # the middle of each step has its rows
    a, b, c, most = rows(path, limits, s, 1e-4 * span, *judge)
    (low, low_slope), (high, high_slope) = bounds(a, b, c)
    for k in range(a.shape[1]):  # each lower bound below all upper ones
        most = np.minimum(most, largest_where(high - low[:, k : k + 1], low_slope[:, k : k + 1] - high_slope))
    most = np.minimum(most, np.append(np.inf, most[:-1]))
    step, reach = span / POINTS, np.zeros(POINTS + 1)
    for k in range(POINTS - 1, 0, -1):  # from x the slowest next square, x + 2 step s'', has to be within reach
        ahead = largest_where(reach[k + 1] / (2.0 * step) - low[k], low_slope[k] + 1.0 / (2.0 * step))
        reach[k] = min(ahead, most[k])
    x = np.zeros(POINTS + 1)
    for k in range(POINTS):
        largest = (high[k] + high_slope[k] * x[k]).min()
        x[k + 1] = max(0.0, min(reach[k + 1], x[k] + 2.0 * step * largest))
    rate = np.sqrt(x)
    return float((2.0 * step / (rate[1:] + rate[:-1])).sum())


def compare(rng, count):
    """Ratios of times to the shortest on random paths that can be followed."""
    ratios = []
    while len(ratios) < count:
        path, limits = random_case(rng, random_platform(rng))
        report = check_path(path, limits, LOAD)
        if not report.feasible:
            continue
        cuts = [path.knots[0], *path.knots[path.corners], path.knots[-1]]
        least = sum(shortest(path, limits, begin, end) for begin, end in pairwise(cuts))
        ratios.append(report.motion.duration / least)
    return np.array(ratios)


@pytest.mark.slow
def test_times_are_within_five_percent_of_the_shortest_on_random_paths(rng):
    ratios = compare(rng, 1000)
    assert ratios.min() > 0.98
    assert ratios.max() < 1.05


SERVO_LOAD = PlatformLoad(SpatialInertia(0.3, [0.003, 0.0, 0.01], np.diag([2e-4, 2e-4, 3e-4])))
SERVO_JUDGE = turning, SERVO_LOAD, np.diag([2e-4, 2e-4, 3e-4])


def random_servos(rng):
    """A servo hexapod of any of the usual drawings, a path near its home and limits of any size."""
    pattern = ("coplanar", "tangential", "radial")[rng.integers(3)]
    while True:
        horn, radius = rng.uniform(0.015, 0.03), rng.uniform(0.05, 0.08)
        sizes = radius, rng.uniform(0.6, 1.0) * radius, *rng.uniform(0.1, 0.35, 2), horn, rng.uniform(4.0, 7.0) * horn
        with suppress(StewartError):
            platform = semi_regular_rotary_platform(
                *sizes, pattern=pattern, home_angles=rng.uniform(-0.2, 0.3), angle_limits=(-1.3, 1.3)
            )
            if platform.condition_number(platform.home_pose) < 20.0:
                break
    home, points = platform.home_pose, []
    for _ in range(rng.integers(2, 6)):
        points.append(home.copy())
        points[-1][:3, :3] = home[:3, :3] @ Rotation.from_rotvec(rng.uniform(-0.12, 0.12, 3)).as_matrix()
        points[-1][:3, 3] += 0.3 * horn * rng.uniform(-1.0, 1.0, 3)
    path = (line_path, screw_path, smooth_path)[rng.integers(3)](np.array(points))
    limits = CommandLimits(
        platform, rate=10.0 ** rng.uniform(-0.5, 1.0, 6), acceleration=10.0 ** rng.uniform(0.5, 2.5, 6),
        force=10.0 ** rng.uniform(-1.3, 0.0), condition=40.0, speed=10.0 ** rng.uniform(-2.0, 0.5),
        angular_speed=10.0 ** rng.uniform(-0.5, 1.0),
    )  # fmt: skip
    return path, limits


def compare_servos(rng, count, timed):
    """Ratios of the first times to the shortest; largest parts of limits that are used at any time, by the judge."""
    ratios, used = [], []
    while len(used) < count:
        path, limits = random_servos(rng)
        report = check_path(path, limits, SERVO_LOAD)
        if not report.feasible:
            continue
        motion = report.motion
        s, rate, slope = motion.progress(motion.duration * (np.arange(400) + 0.5) / 400)
        h = 1e-5 * (path.knots[-1] - path.knots[0])
        inside = np.abs(s[:, None] - path.knots).min(axis=1) > 2.0 * h
        s, rate, slope = (x[inside] for x in (s, rate, slope))
        a, b, c, most = rows(path, limits, s, h, *SERVO_JUDGE)
        over = a * slope[:, None] + b * (rate**2)[:, None] - c
        angles = turning(path.at(s).pose, limits.platform)[0]
        used.append([1.0 + over.max(), np.sqrt(rate**2 / most).max(), np.abs(angles).max() / 1.3])
        if len(ratios) == timed:
            continue
        cuts = [path.knots[0], *path.knots[path.corners], path.knots[-1]]
        ratios.append(motion.duration / sum(shortest(path, limits, *ends, *SERVO_JUDGE) for ends in pairwise(cuts)))
    return np.array(ratios), np.array(used)


def test_servos_keep_limits_and_are_within_five_percent_of_the_shortest(rng):
    ratios, used = compare_servos(rng, 1, 1)
    assert ratios.min() > 0.98 and ratios.max() < 1.05
    assert used.max() < 1.0 + 1e-4  # of differences


@pytest.mark.slow
def test_servos_on_many_random_paths(rng):
    ratios, used = compare_servos(rng, 10_000, 300)
    assert ratios.min() > 0.98 and ratios.max() < 1.05
    assert used.max() < 1.0 + 1e-4
