"""Paths of poses, frames of targets and leg forces, against scipy, finite differences and the closed-loop mechanism."""

import numpy as np
import pytest
from scipy.linalg import expm, logm
from scipy.spatial.transform import Rotation
from stewart_oracle import random_pose
from support.grids import all_of

from lie_dynamics_ros.lie_dynamics import SpatialInertia
from lie_dynamics_ros.lie_dynamics.constraints import (
    consistent_acceleration,
    consistent_velocity,
    constrained_inverse_dynamics,
)
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import gough_stewart
from lie_dynamics_ros.lie_dynamics.errors import LieDynamicsError, SingularityError
from lie_dynamics_ros.lie_dynamics.stewart import StewartError, reference_platform
from lie_dynamics_ros.lie_dynamics.stewart.command import (
    CommandFrames,
    PlatformLoad,
    leg_forces,
    levelled,
    line_path,
    screw_path,
    smooth_path,
    turned_about,
)

PLATFORM = reference_platform()
HOME = PLATFORM.home_pose
TOOL = np.eye(4)
TOOL[:3, :3], TOOL[:3, 3] = Rotation.from_rotvec([0.3, -0.2, 0.5]).as_matrix(), [0.1, -0.05, 0.2]


def poses(rng, count, size=0.3):
    """Poses about the home pose."""
    made = np.tile(HOME, (count, 1, 1))
    made[:, :3, :3] = Rotation.from_rotvec(rng.uniform(-size, size, (count, 3))).as_matrix()
    made[:, :3, 3] += rng.uniform(-0.05, 0.05, (count, 3))
    return made


def unhat(X):
    return np.array([X[2, 1], X[0, 2], X[1, 0], *X[:3, 3]])


PATHS = {
    "line": line_path,
    "screw": screw_path,
    "smooth": smooth_path,
    "timed": lambda x, tool: smooth_path(x, tool, times=[0.0, 0.7, 1.0, 2.5]),
}


@pytest.mark.parametrize("kind", PATHS)
def test_twists_are_derivatives_of_poses(kind, rng):
    path = PATHS[kind](poses(rng, 4) @ TOOL, TOOL)
    h = 1e-5 * path.length
    s = path.knots[0] + path.length * rng.uniform(0.01, 0.99, 20)
    inside = np.abs(s[:, None] - path.knots).min(axis=1) > 2.0 * h
    for x in s[inside]:
        at, ahead, behind = path.at([x]), path.at([x + h]), path.at([x - h])
        slope = unhat(logm(np.linalg.inv(behind.pose[0]) @ ahead.pose[0]).real) / (2.0 * h)
        assert np.abs(slope - at.slope[0]).max() < 1e-7 * np.abs(at.slope).max()
        bend = (ahead.slope[0] - behind.slope[0]) / (2.0 * h)
        assert np.abs(bend - at.bend[0]).max() < 1e-6 * max(np.abs(at.slope).max() / path.length, np.abs(bend).max())


@pytest.mark.parametrize("kind", PATHS)
def test_paths_pass_their_poses(kind, rng):
    points = poses(rng, 4)
    path = PATHS[kind](points @ TOOL, TOOL)
    assert np.abs(path.at(path.knots).pose - points).max() < 1e-12
    assert path.timed == (kind == "timed")
    assert path.corners.tolist() == ([False, True, True, False] if kind in ("line", "screw") else [False] * 4)


def test_a_pivot_stays_where_it_is(rng):
    pivot = np.array([0.07, -0.04, 0.5])
    turned = turned_about(HOME, [0.2, 0.1, -0.3], pivot)
    assert np.abs(turned[:3, :3] - Rotation.from_rotvec([0.2, 0.1, -0.3]).as_matrix() @ HOME[:3, :3]).max() < 1e-15
    on_platform = HOME[:3, :3].T @ (pivot - HOME[:3, 3])
    tool = np.eye(4)
    tool[:3, 3] = on_platform
    path = line_path(np.array([HOME, turned]) @ tool, tool)
    found = path.at(np.linspace(0.0, 1.0, 11)).pose
    assert np.abs(found[:, :3, :3] @ on_platform + found[:, :3, 3] - pivot).max() < 1e-15


def test_lines_are_straight_and_screws_are_exponentials(rng):
    first, last = poses(rng, 2)
    line = line_path([first @ TOOL, last @ TOOL], TOOL).at(np.linspace(0.0, 1.0, 7)).pose @ TOOL
    begin, end = first @ TOOL, last @ TOOL
    weight = np.linspace(0.0, 1.0, 7)[:, None]
    assert np.abs(line[:, :3, 3] - (1.0 - weight) * begin[:3, 3] - weight * end[:3, 3]).max() < 1e-15
    screw = screw_path([first, last]).at(0.3).pose
    assert np.abs(screw - first @ expm(0.3 * logm(np.linalg.inv(first) @ last).real)).max() < 1e-12
    # One screw for all frames on the body.
    assert np.abs(screw_path([begin, end], TOOL).at(0.3).pose - screw).max() < 1e-14


def test_smooth_paths_have_no_corners_and_keep_times_and_twists(rng):
    points, times = poses(rng, 5), np.array([0.0, 0.4, 1.0, 1.3, 2.0])
    twists = np.full((5, 6), np.nan)
    twists[2], twists[4] = rng.uniform(-0.2, 0.2, (2, 6))
    path = smooth_path(points, times=times, twists=twists)
    before, after = path.at(path.knots[1:-1], np.arange(3)), path.at(path.knots[1:-1], np.arange(1, 4))
    assert np.abs(before.pose - after.pose).max() < 1e-12
    assert np.abs(before.slope - after.slope).max() < 1e-12
    assert np.abs(path.knots - times).max() < 1e-15
    assert not path.at(0.0).slope.any()
    for k in (2, 4):
        R = points[k, :3, :3]
        found = path.at([times[k]], np.array([k - 1])).slope[0]
        assert np.abs(np.concatenate([R @ found[:3], R @ found[3:]]) - twists[k]).max() < 1e-12
    rest = smooth_path(points[[0, 1, 1, 2]], times=[0.0, 1.0, 2.0, 3.0])
    assert np.abs(rest.at(np.linspace(1.0, 2.0, 9)).slope).max() < 1e-12


def test_targets_in_all_frames(rng):
    work, current, target = poses(rng, 3)
    frames = CommandFrames(work, TOOL)
    assert np.abs(frames.platform_pose(target, "base") @ TOOL - target).max() < 1e-14
    assert np.abs(frames.platform_pose(target, "work") @ TOOL - work @ target).max() < 1e-14
    assert np.abs(frames.platform_pose(target, "tool", current) @ TOOL - current @ TOOL @ target).max() < 1e-14
    for frame in ("base", "work"):
        assert np.abs(frames.platform_pose(frames.tool_pose(current, frame), frame) - current).max() < 1e-14
    V = rng.normal(size=6)
    R = (current @ TOOL)[:3, :3]
    assert np.abs(frames.tool_twist(V, "tool", current) - np.concatenate([R @ V[:3], R @ V[3:]])).max() < 1e-14
    assert np.array_equal(frames.tool_twist(V, "base", current), V)
    with pytest.raises(StewartError, match="current"):
        frames.platform_pose(target, "tool")
    for bad in ("nowhere", 3, None, []):
        with pytest.raises(StewartError, match="frame"):
            frames.platform_pose(target, bad)


def test_a_level_platform_measures_the_vertical_along_z(rng):
    """The base leans; the platform's accelerometer measures the vertical."""
    for lean in poses(rng, 10):
        pose = random_pose(rng)
        vertical = lean[:3, 2]
        pivot = rng.normal(size=3)
        level = levelled(pose, 9.81 * pose[:3, :3].T @ vertical, pivot)
        assert np.abs(level[:3, :3].T @ vertical - [0.0, 0.0, 1.0]).max() < 1e-12
        assert np.abs(level[:3, :3] @ pivot + level[:3, 3] - pose[:3, :3] @ pivot - pose[:3, 3]).max() < 1e-12
        least = Rotation.from_matrix(pose[:3, :3].T @ level[:3, :3]).magnitude()
        assert abs(least - np.arccos(np.clip(pose[:3, 2] @ vertical, -1.0, 1.0))) < 1e-6
    assert np.array_equal(levelled(HOME, [0.0, 0.0, 2.0]), HOME)
    for up in ([0.0, 0.0, 0.0], [0.0, 0.0, -1.0]):
        with pytest.raises(StewartError):
            levelled(HOME, up)


def test_leg_forces_are_those_of_the_closed_loop(rng):
    plate = SpatialInertia(18.0, [0.02, -0.03, 0.06], np.diag([0.31, 0.24, 0.5]))
    made = gough_stewart(PLATFORM, HOME, plate, cylinder_mass=0.0, piston_mass=0.0)
    model = made.model
    legs = [model.joint(name).v_slice.start for name in made.actuated]
    where = model.joint("platform").v_slice
    for pose in poses(rng, 5):
        V, A = rng.normal(size=(2, 6))
        q = made.configuration(pose)
        wish = np.zeros((2, model.nv))
        wish[:, where] = V, A
        qd = consistent_velocity(model, made.constraints, q, wish[0], held=["platform"])
        qdd = consistent_acceleration(model, made.constraints, q, qd, wish[1], held=["platform"])
        found = constrained_inverse_dynamics(model, made.constraints, q, qd, qdd, actuated=made.actuated)
        expected = found.tau[legs]
        assert np.abs(leg_forces(PLATFORM, pose, V, A, PlatformLoad(plate)) - expected).max() < 1e-9 * 500.0


def test_external_wrenches_and_singular_poses():
    load = PlatformLoad(gravity=[0.0, 0.0, 0.0], wrench=[0.0, 0.0, 0.0, 0.0, 0.0, -60.0])
    forces = leg_forces(PLATFORM, HOME, np.zeros(6), np.zeros(6), load)
    up = PLATFORM.jacobian(HOME, "aligned").T @ forces
    assert np.abs(up - [0.0, 0.0, 0.0, 0.0, 0.0, 60.0]).max() < 1e-12
    flat = np.eye(4)
    with pytest.raises(SingularityError):
        leg_forces(PLATFORM, flat, np.zeros(6), np.zeros(6), load)


BAD_PATHS = [
    ((HOME,), {}, "shape"),
    (([HOME],), {}, "different"),
    (([HOME, HOME],), {}, "different"),
    (([HOME, np.full((4, 4), np.nan)],), {}, "poses"),
    (([HOME, 2.0 * HOME],), {}, "poses"),
    (("abc",), {}, "poses"),
    (([HOME, turned_about(HOME, [0.1, 0.0, 0.0], [0.0, 0.0, 0.0])], np.ones((4, 4))), {}, "tool"),
]
BAD_TIMES = [
    ({"times": [0.0]}, "times"),
    ({"times": [1.0, 1.0]}, "rise"),
    ({"times": [0.0, np.nan]}, "times"),
    ({"times": [0.0, 1e308]}, "apart"),
    ({"times": [0.0, 1e-300]}, "apart"),
    ({"times": [0.0, 1.0], "twists": np.full((2, 6), 1e200)}, "twists"),
    ({"twists": np.zeros((2, 6))}, "without times"),
    ({"times": [0.0, 1.0], "twists": np.zeros((3, 6))}, "twists"),
    ({"times": [0.0, 1.0], "twists": np.full((2, 6), np.inf)}, "twists"),
    ({"times": [0.0, 1.0], "twists": "abc"}, "twists"),
]


@all_of("make", [line_path, screw_path, smooth_path])
@all_of(("args", "kwargs", "word"), BAD_PATHS)
def test_what_is_no_path_is_refused(make, args, kwargs, word):
    with pytest.raises(LieDynamicsError, match=word):
        make(*args, **kwargs)


@pytest.mark.parametrize(("kwargs", "word"), BAD_TIMES)
def test_times_and_twists_that_are_none_are_refused(kwargs, word, rng):
    with pytest.raises(LieDynamicsError, match=word):
        smooth_path(poses(rng, 2), **kwargs)
