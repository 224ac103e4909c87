"""What legs do along a path, and what a motion uses of its limits, against textbook forms in plain numpy."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_stewart_command_motions import HOME, LOAD, PLATFORM, moved, random_case

from lie_dynamics_ros.lie_dynamics.lie import se3
from lie_dynamics_ros.lie_dynamics.stewart import StewartError, StewartPlatform
from lie_dynamics_ros.lie_dynamics.stewart.command import CommandLimits, check_path, line_path, smooth_path
from lie_dynamics_ros.lie_dynamics.stewart.command.samples import PathSamples
from lie_dynamics_ros.lie_dynamics.stewart.geometry.statics import weight_wrench


def samples(path, limits, load, rng, count=20):
    return PathSamples.of(limits, load, path, rng.uniform(path.knots[0], path.knots[-1], count))


def test_samples_are_those_of_the_jacobian_and_of_newton_and_euler(rng):
    for _ in range(8):
        path, limits = random_case(rng)
        found = samples(path, limits, LOAD, rng)
        pose, slope, bend = path.at(found.s)
        J = PLATFORM.jacobian(pose)
        times = lambda M, x: (M @ x[..., None])[..., 0]  # noqa: E731
        np.testing.assert_allclose(found.lengths, PLATFORM.leg_lengths(pose), rtol=1e-14)
        np.testing.assert_allclose(found.slope, times(J, slope), rtol=0, atol=1e-13)
        bent = PLATFORM.leg_accelerations(pose, slope, bend)
        np.testing.assert_allclose(found.bend, bent, rtol=0, atol=1e-12 * max(1.0, np.abs(bent).max()))
        np.testing.assert_allclose(found.determinant, np.linalg.det(J), rtol=1e-10)
        G, inertia = LOAD.inertia.matrix(), LOAD.inertia
        momentum = slope @ G
        given = weight_wrench(pose, inertia.mass, inertia.com, LOAD.gravity)
        square = bend @ G - times(se3.ad_dual(slope), momentum)
        forces = np.linalg.solve(np.swapaxes(J, -1, -2), np.stack([momentum, square, -given], axis=-1))
        np.testing.assert_allclose(found.forces, forces, rtol=0, atol=1e-10 * np.abs(forces).max())
        tool = se3.transform_twist(se3.inverse(path.tool), slope)
        speeds = np.linalg.norm(tool[:, 3:], axis=1), np.linalg.norm(tool[:, :3], axis=1)
        np.testing.assert_allclose(found.speeds, np.stack(speeds, axis=1), rtol=1e-12)
        condition = PLATFORM.condition_number(pose)
        near = condition > limits.condition
        np.testing.assert_array_equal(found.condition[near], condition[near])
        assert (found.condition >= condition * (1.0 - 1e-12)).all()
        assert ((found.condition <= limits.condition) == (condition <= limits.condition)).all()


def test_half_turns_are_those_of_the_exponential(rng):
    turn = np.array([1.0, -2.0, 2.0])  # 3 rad: the closed forms, and at the beginning the series
    for make, atol in ((line_path, 1e-14), (smooth_path, 1e-14)):
        path = make(np.stack([HOME, moved((0.01, 0.0, 0.0), turn)]))
        s = np.array([0.0, 0.2, 2.0 / 3.0 - 1e-9, 2.0 / 3.0 + 1e-9, 1.0])  # angle 2 is where they change
        wanted = HOME[:3, :3] @ Rotation.from_rotvec(s[:, None] * turn).as_matrix()
        np.testing.assert_allclose(path.at(s).pose[:, :3, :3], wanted, rtol=0, atol=atol)


def test_forces_at_singular_poses_are_not_looked_at_and_legs_need_a_length(rng):
    flat = StewartPlatform(PLATFORM.base_points, PLATFORM.platform_points, home_pose=HOME)
    ahead = np.eye(4)
    ahead[2, 3] = 0.1  # in the plane of the base all legs are at height zero
    path = line_path(np.stack([np.eye(4), ahead]))
    found = PathSamples.of(CommandLimits(flat), LOAD, path, np.array([0.0, 1.0]))
    assert not found.forces[0].any() and found.forces[1].any()
    assert found.condition[0] > 1e12
    touching = PLATFORM.platform_points.copy()
    touching[2] = PLATFORM.base_points[2]
    with pytest.raises(StewartError, match="leg 3 has length zero"):
        PathSamples.of(CommandLimits(StewartPlatform(PLATFORM.base_points, touching)), None, path, np.array([0.0]))


def test_what_motions_use_of_limits(rng):
    judged = 0
    while judged < 6:
        path, limits = random_case(rng)
        motion = check_path(path, limits, LOAD, steps=60).motion
        if motion is None:
            continue
        judged += 1
        k, part = rng.integers(len(motion.slopes), size=300), rng.integers(5, size=300) / 4.0
        span = np.diff(motion.s)[k]
        square = np.maximum(motion.squares[k] + 2.0 * motion.slopes[k] * span * part, 0.0)
        inner = np.searchsorted(path.knots, motion.s[:-1] + 0.5 * np.diff(motion.s), "right") - 1
        found = PathSamples.of(limits, LOAD, path, motion.s[k] + span * part, inner[k])
        u, x = motion.slopes[k][:, None], square[:, None]
        used = [
            np.abs(found.slope * u + found.bend * x) / limits.acceleration,
            np.abs(found.forces[..., 0] * u + found.forces[..., 1] * x + found.forces[..., 2]) / limits.force,
            np.abs(found.slope) * np.sqrt(x) / limits.rate,
            found.speeds * np.sqrt(x) / (limits.speed, limits.angular_speed),
        ]
        most = max(part.max() for part in used)
        assert most <= motion.worst() + 1e-12
        assert motion.worst() <= 1.0
        assert motion.worst() > 0.9  # and a limit is what the time is due to
