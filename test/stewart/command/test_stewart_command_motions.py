"""Motions along paths: limits are kept, times are near the shortest, stops stay on the path, faults are named.

Lengths, rates and accelerations are judged by differences of the distances between joint centres, forces by Newton and
Euler in finite differences, the shortest time by toppra on splines of these lengths.
"""

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.grids import all_of

from lie_dynamics_ros.lie_dynamics import SpatialInertia
from lie_dynamics_ros.lie_dynamics.errors import LieDynamicsError
from lie_dynamics_ros.lie_dynamics.stewart import (
    StewartError,
    StewartPlatform,
    reference_platform,
    semi_regular_platform,
)
from lie_dynamics_ros.lie_dynamics.stewart.command import (
    CommandLimits,
    PathError,
    PlatformLoad,
    check_path,
    leaving_path,
    leg_forces,
    line_path,
    plan_motion,
    screw_path,
    smooth_path,
    stopped,
    turned_about,
)

PLATFORM = reference_platform()
HOME = PLATFORM.home_pose
LOAD = PlatformLoad(SpatialInertia(20.0, [0.02, 0.0, 0.05], np.diag([0.3, 0.3, 0.5])))


def lengths(pose, platform=PLATFORM):
    R, p = pose[..., :3, :3], pose[..., None, :3, 3]
    return np.linalg.norm(np.einsum("...ij,kj->...ki", R, platform.platform_points) + p - platform.base_points, axis=-1)


def random_platform(rng):
    """The reference platform, a lopsided one, or a usual motion platform of any proportions."""
    kind = rng.integers(4)
    if kind == 2:
        uneven = (points + rng.normal(0.0, 0.03, (6, 3)) for points in (PLATFORM.base_points, PLATFORM.platform_points))
        return StewartPlatform(*uneven, home_pose=HOME)
    if kind == 3:
        half = rng.uniform(0.02, 0.4, 2)
        return semi_regular_platform(rng.uniform(0.25, 0.45), rng.uniform(0.15, 0.25), *half, height=HOME[2, 3])
    return PLATFORM


def moved(shift=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0)):
    pose = HOME.copy()
    pose[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    pose[:3, 3] += shift
    return pose


def random_case(rng, platform=PLATFORM):
    """A path of any kind with limits of any size."""
    home = lengths(HOME, platform)
    count = rng.integers(2, 6)
    points = [moved(rng.uniform(-0.07, 0.07, 3), rng.uniform(-0.35, 0.35, 3)) for _ in range(count)]
    tool = np.eye(4)
    tool[:3, 3] = rng.uniform(-0.3, 0.3, 3)
    kind = rng.integers(4)
    times = np.cumsum(rng.uniform(0.05, 1.0, count))
    path = (line_path, screw_path, smooth_path, lambda *x: smooth_path(*x, times=times))[kind](points @ tool, tool)
    limits = CommandLimits(
        platform,
        rate=10.0 ** rng.uniform(-1.5, 0.5, 6),
        acceleration=10.0 ** rng.uniform(-1.0, 1.5, 6),
        force=10.0 ** rng.uniform(2.3, 3.5),
        stroke=(0.75 * home.min(), 1.3 * home.max()),
        condition=30.0,
        base_cone=0.5,
        platform_cone=0.8,
        speed=10.0 ** rng.uniform(-1.0, 0.5),
        angular_speed=10.0 ** rng.uniform(-0.5, 0.7),
    )
    return path, limits


def check_motion(motion, limits, rng, samples=30):
    """Judge set points at random times by the lengths of the poses around them."""
    platform, size = limits.platform, len(motion.slopes)
    t = rng.uniform(0.0, motion.duration, samples)
    h = 1e-4 * motion.duration / size
    behind, points, ahead = (motion.at(np.clip(t + x, 0.0, motion.duration)) for x in (-h, 0.0, h))
    assert np.abs(lengths(points.pose, platform) - points.lengths).max() < 1e-12
    inside = (np.abs(t[:, None] - motion.times).min(axis=1) > 2.0 * h) & (t > h) & (t < motion.duration - h)
    rates = (lengths(ahead.pose, platform) - lengths(behind.pose, platform))[inside] / (2.0 * h)
    assert np.abs(rates - points.rates[inside]).max(initial=0.0) < 1e-4 * np.max(limits.rate)
    accelerations = (ahead.rates - behind.rates)[inside] / (2.0 * h)
    assert np.abs(accelerations - points.accelerations[inside]).max(initial=0.0) < 1e-3 * np.max(limits.acceleration)
    forces = leg_forces(platform, points.pose, points.twist, points.acceleration, LOAD)
    assert np.abs(forces - points.forces).max() < 1e-8 * max(1.0, np.abs(forces).max())
    assert (np.abs(points.rates) <= limits.rate).all()
    assert (np.abs(points.accelerations) <= limits.acceleration).all()
    assert (np.abs(points.forces) <= limits.force).all()
    assert (points.lengths >= limits.stroke[:, 0]).all()
    assert (points.lengths <= limits.stroke[:, 1]).all()
    base, top = limits.joint_angles(points.pose)
    assert (base <= limits.base_cone).all()
    assert (top <= limits.platform_cone).all()
    assert (platform.condition_number(points.pose) <= limits.condition).all()
    twist = points.twist @ np.asarray(adjoint(np.linalg.inv(motion.path.tool))).T
    assert (np.linalg.norm(twist[:, 3:], axis=1) <= limits.speed).all()
    assert (np.linalg.norm(twist[:, :3], axis=1) <= limits.angular_speed).all()


def adjoint(T):
    R, p = T[:3, :3], T[:3, 3]
    skew = np.cross(np.eye(3), p)
    return np.block([[R, np.zeros((3, 3))], [skew @ R, R]])


def random_motions(rng, count, platform=lambda rng: PLATFORM):
    """Judge motions on random paths, and their stops; return how many there were."""
    found = 0
    for _ in range(count):
        path, limits = random_case(rng, platform(rng))
        report = check_path(path, limits, LOAD, steps=60)
        if not report.feasible:
            assert report.fault is not None
            assert 0.0 <= report.fault.fraction <= 1.0
            continue
        found += 1
        motion = report.motion
        check_motion(motion, limits, rng)
        assert not motion.at(motion.duration).rates.any()
        t = rng.uniform(0.0, motion.duration)
        stop = stopped(motion, t)
        check_motion(stop, limits, rng, 10) if stop.duration > 0.0 else None
        assert np.abs(stop.at(0.0).pose - motion.at(t).pose).max() < 1e-9
        if stop.duration > 0.0:
            assert np.abs(stop.at(0.0).rates - motion.at(t).rates).max() <= 1e-9
        assert stop.s[-1] <= motion.s[-1]
        assert not stop.at(stop.duration).rates.any()
    return found


def test_no_limit_is_exceeded_on_random_paths(rng):
    assert random_motions(rng, 40, random_platform) > 10


@pytest.mark.slow
def test_no_limit_is_exceeded_on_ten_thousand_random_paths(rng):
    assert random_motions(rng, 10_000, random_platform) > 2_500


@pytest.mark.parametrize("make", [line_path, screw_path, smooth_path])
def test_times_are_near_the_shortest(make, rng):
    """Toppra's fastest motion between the corners, along splines of the legs' lengths, from rest to rest."""
    toppra = pytest.importorskip("toppra")
    limits = CommandLimits(PLATFORM, rate=0.25, acceleration=1.5)
    path = make([HOME] + [moved(rng.uniform(-0.06, 0.06, 3), rng.uniform(-0.3, 0.3, 3)) for _ in range(2)])
    shortest = 0.0
    cuts = np.array([0.0, *path.knots[path.corners], path.length])
    for begin, end in pairwise(cuts):
        s = np.linspace(begin, end, 501)
        inside = np.clip(s, begin + 1e-12, end - 1e-12)
        curve = toppra.SplineInterpolator(s, lengths(path.at(inside).pose))
        constraints = [
            toppra.constraint.JointVelocityConstraint(np.tile([-0.25, 0.25], (6, 1))),
            toppra.constraint.JointAccelerationConstraint(np.tile([-1.5, 1.5], (6, 1))),
        ]
        law = toppra.algorithm.TOPPRA(constraints, curve, gridpoints=np.linspace(begin, end, 301))
        shortest += law.compute_trajectory(0.0, 0.0).duration
    found = plan_motion(path, limits)
    assert 0.99 * shortest < found.duration < 1.02 * shortest


def test_a_leg_by_itself_takes_the_time_of_the_closed_form():
    """Straight up, the legs of a level platform are one: L(z) is a hypotenuse."""
    path = line_path([HOME, moved([0.0, 0.0, 0.1])])
    across = np.linalg.norm(PLATFORM.platform_points - PLATFORM.base_points, axis=1)
    assert np.ptp(across) < 1e-5
    motion = plan_motion(path, CommandLimits(PLATFORM, rate=0.2, acceleration=1.0))
    way = np.hypot(across[0], 0.6) - np.hypot(across[0], 0.5)
    assert 1.0 <= motion.duration / (way / 0.2 + 0.2 / 1.0) < 1.01
    speed = plan_motion(path, CommandLimits(PLATFORM, acceleration=1e4, speed=0.05))
    assert 1.0 <= speed.duration / (0.1 / 0.05) < 1.01


def test_times_that_are_asked_for_are_kept_where_limits_allow():
    points = [HOME, moved([0.0, 0.02, 0.01]), moved([0.01, 0.03, 0.0])]
    path = smooth_path(points, times=[0.0, 1.0, 2.0])
    easy = check_path(path, CommandLimits(PLATFORM, rate=1.0, acceleration=10.0))
    assert easy.stretch == pytest.approx(1.0, abs=0.01)
    assert np.abs(easy.motion.at(1.0 * easy.stretch).pose - points[1]).max() < 1e-3
    hard = check_path(path, CommandLimits(PLATFORM, rate=0.005, acceleration=0.1))
    assert hard.stretch > 2.0
    assert "times as long as requested" in str(hard)


def test_a_motion_is_left_with_its_twist(rng):
    """A path that begins with a twist, such as that of a motion that gets another goal."""
    limits = CommandLimits(PLATFORM, rate=0.3, acceleration=3.0)
    first = plan_motion(line_path([HOME, moved([0.08, 0.0, 0.02])]), limits)
    now = first.at(0.5 * first.duration)
    R = now.pose[:3, :3]
    path = leaving_path(now.pose, np.concatenate([R @ now.twist[:3], R @ now.twist[3:]]), moved([0.0, 0.06, 0.0]), 0.5)
    found = plan_motion(path, limits, LOAD, start_rate=1.0)
    assert np.abs(found.at(0.0).rates - now.rates).max() < 1e-9
    assert np.abs(found.at(found.duration).pose - moved([0.0, 0.06, 0.0])).max() < 1e-12
    check_motion(found, CommandLimits(PLATFORM, rate=0.3, acceleration=3.0, stroke=(0.1, 1.0)), rng)
    report = check_path(path, CommandLimits(PLATFORM, rate=0.01, acceleration=3.0), start_rate=1.0)
    assert report.fault.kind == "speed at the start"
    assert report.fault.value > 5.0


def bounded(**kinds):
    return CommandLimits(PLATFORM, **{"rate": 0.2, "acceleration": 1.0, **kinds})


def test_strokes_that_are_left_are_named():
    path = line_path([HOME, moved([0.0, 0.0, 0.1])])
    start = PLATFORM.leg_lengths(HOME)
    limit = np.tile([0.3, 0.9], (6, 1))
    limit[3, 1] = 0.5 * (start[3] + PLATFORM.leg_lengths(moved([0.0, 0.0, 0.1]))[3])
    report = check_path(path, bounded(stroke=limit))
    fault = report.fault
    assert (fault.kind, fault.leg) == ("stroke", 4)
    assert fault.value == pytest.approx(limit[3, 1], abs=1e-3)
    assert PLATFORM.leg_lengths(moved([0.0, 0.0, 0.1 * fault.fraction]))[3] == pytest.approx(limit[3, 1], abs=1e-3)
    assert 0.0 < report.time < plan_motion(path, bounded()).duration
    assert "leg 4 is" in str(report)
    with pytest.raises(PathError, match="leg 4"):
        plan_motion(path, bounded(stroke=limit))
    low = np.tile([0.3, 0.9], (6, 1))
    low[1, 0] = start[1] - 0.01
    assert check_path(line_path([HOME, moved([0.0, 0.0, -0.1])]), bounded(stroke=low)).fault.leg == 2


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("make", [line_path, screw_path, smooth_path, lambda x: smooth_path(x, times=[0.0, 1.0])])
def test_a_platform_at_the_end_of_its_stroke_leaves_it(side, make):
    parked = moved([0.0, 0.0, (-0.1, 0.1)[side]])
    stroke = np.tile([0.2, 0.9], (6, 1))
    stroke[:, side] = PLATFORM.leg_lengths(parked)
    limits = bounded(stroke=stroke, condition=1e4)
    motion = plan_motion(make([parked, HOME]), limits)
    found = motion.at(np.linspace(0.0, motion.duration, 200)).lengths
    assert (found >= stroke[:, 0] - 1e-9).all() and (found <= stroke[:, 1] + 1e-9).all()
    beyond = check_path(make([parked, moved([0.0, 0.0, (-0.101, 0.101)[side]])]), limits)
    assert beyond.fault.kind == "stroke"


def test_far_ends_are_refused_with_a_length_of_the_leg_on_the_path():
    path = line_path([HOME, moved([9e5, 9e5, -9e5])])
    fault = check_path(path, bounded(stroke=(0.3, 0.8))).fault
    pose = path.at(np.array([fault.parameter])).pose[0]
    assert (fault.kind, fault.limit) == ("stroke", 0.8)
    assert fault.value == pytest.approx(PLATFORM.leg_lengths(pose)[fault.leg - 1])


def test_cones_singular_poses_and_forces_are_named():
    turn = line_path([HOME, turned_about(HOME, [0.0, 0.0, 2.5], HOME[:3, 3])])
    passed = check_path(turn, bounded(condition=np.inf))
    assert passed.fault.kind == "condition"
    yaw = passed.fault.fraction * 2.5
    before, after = (turned_about(HOME, [0.0, 0.0, yaw + x], HOME[:3, 3]) for x in (-0.01, 0.01))
    assert np.linalg.det(PLATFORM.jacobian(before)) * np.linalg.det(PLATFORM.jacobian(after)) < 0.0
    assert "singular pose" in str(passed)
    close = check_path(turn, bounded(condition=20.0)).fault
    assert (close.kind, close.leg) == ("condition", 0)
    assert 20.0 < close.value < 22.0
    assert close.fraction < passed.fault.fraction
    for side, index in (("base", 0), ("platform", 1)):
        limits = bounded(**{f"{side}_cone": 0.2})
        assert limits.kept(PLATFORM.home_pose)  # a read-only array
        fault = check_path(turn, limits).fault
        pose = turned_about(HOME, [0.0, 0.0, 2.5 * fault.fraction], HOME[:3, 3])
        assert fault.kind == f"{side} joint"
        angle = limits.joint_angles(pose)[index]
        assert angle[fault.leg - 1] == pytest.approx(fault.value, abs=1e-9)
        assert fault.value == pytest.approx(0.2, abs=5e-3)
    low, rest = moved([0.0, 0.0, -0.2]), np.zeros(6)
    held = [np.abs(leg_forces(PLATFORM, pose, rest, rest, LOAD)).max() for pose in (HOME, low)]
    limit = 0.5 * sum(held)
    weak = check_path(line_path([HOME, low]), bounded(force=limit), LOAD)
    assert weak.fault.kind == "force"
    assert abs(weak.fault.value) == pytest.approx(limit, rel=0.01)
    timed = check_path(smooth_path([HOME, moved([0.0, 0.0, 0.4])], times=[3.0, 5.0]), bounded(stroke=(0.3, 0.7)))
    assert timed.fault.parameter == pytest.approx(2.0 * timed.fault.fraction)
    assert "s after its beginning" in str(timed)


def test_a_stop_at_rest_and_at_the_end_is_where_it_is():
    motion = plan_motion(line_path([HOME, moved([0.0, 0.0, 0.1])]), bounded())
    for t in (0.0, motion.duration, 10.0):
        still = stopped(motion, t)
        assert still.duration == 0.0
        assert np.array_equal(still.at(1.0).pose, motion.at(t).pose)
        assert not still.at(0.0).rates.any()


PATH = line_path([HOME, moved([0.0, 0.0, 0.1])])
BAD = [
    lambda: check_path(None, bounded()),
    lambda: check_path(PATH, None),
    lambda: check_path(PATH, bounded(), load=3),
    lambda: check_path(PATH, bounded(force=10.0)),
    lambda: check_path(PATH, bounded(), start_rate=-1.0),
    lambda: check_path(PATH, bounded(), start_rate=np.nan),
    lambda: check_path(PATH, bounded(), steps=0),
    lambda: check_path(PATH, bounded(), steps="many"),
    lambda: stopped(plan_motion(PATH, bounded()), np.nan),
    lambda: CommandLimits(None),
    *(
        lambda name=name, value=value: bounded(**{name: value})
        for name in ("rate", "acceleration", "force", "condition", "speed", "base_cone")
        for value in (0.0, -1.0, np.nan, None, "1", [1.0, 2.0], {}, True)
    ),
    lambda: bounded(stroke=(0.5, 0.4)),
    lambda: bounded(base_axes=np.zeros((6, 3))),
    lambda: bounded(base_axes=np.ones((5, 3))),
    lambda: CommandLimits(StewartPlatform(PLATFORM.base_points, PLATFORM.platform_points), base_cone=0.2),
    lambda: PlatformLoad(3),
    lambda: PlatformLoad(gravity=[0.0, np.nan, 0.0]),
    lambda: PlatformLoad(SpatialInertia(-1.0, np.zeros(3), np.eye(3))),
]


@all_of("call", BAD)
def test_what_makes_no_sense_is_refused(call):
    with pytest.raises(LieDynamicsError):
        call()


def test_a_path_beyond_all_bounds_raises_errors_of_the_library():
    for far in (1e3, 1e12, 1e200):
        try:
            report = check_path(line_path([HOME, moved([far, 0.0, 0.0])]), bounded(stroke=(0.3, 0.8)))
        except StewartError:
            continue
        assert not report.feasible
