"""Leg forces and wrenches against sums over the legs and against virtual work."""

import numpy as np
import pytest
from stewart_oracle import random_path, random_pose

from lie_dynamics_ros.lie_dynamics.errors import SingularityError
from lie_dynamics_ros.lie_dynamics.stewart import (
    StewartError,
    StewartPlatform,
    holding_forces,
    leg_forces_for_wrench,
    reference_platform,
    weight_wrench,
    wrench_of_leg_forces,
)
from lie_dynamics_ros.lie_dynamics.stewart.kernels.covariance import eliminate

PLATFORM = reference_platform()
FRAMES = ("body", "spatial", "aligned")


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("seed", range(5))
def test_virtual_work(frame, seed):
    """Power of the wrench is power of the leg forces, rates differentiated independently."""
    rng = np.random.default_rng(seed)
    path = random_path(rng, PLATFORM.base_points, PLATFORM.platform_points)
    forces = rng.normal(size=6)
    wrench = wrench_of_leg_forces(PLATFORM, path.pose, forces, frame)
    assert wrench @ path.twists[frame] == pytest.approx(forces @ path.rates, rel=1e-10, abs=1e-12)
    np.testing.assert_allclose(
        leg_forces_for_wrench(PLATFORM, path.pose, wrench, frame), forces, rtol=1e-10, atol=1e-12
    )


def test_wrench_is_the_sum_of_the_pushes():
    rng = np.random.default_rng(1)
    pose, forces = random_pose(rng), rng.normal(size=6)
    moment, force = np.zeros(3), np.zeros(3)
    for a, b, push in zip(PLATFORM.base_points, PLATFORM.platform_points, forces, strict=True):
        joint = pose[:3, :3] @ b + pose[:3, 3]
        pull = push * (joint - a) / np.linalg.norm(joint - a)
        moment, force = moment + np.cross(joint, pull), force + pull
    np.testing.assert_allclose(
        wrench_of_leg_forces(PLATFORM, pose, forces, "spatial"), np.r_[moment, force], rtol=1e-12
    )


def test_a_weight_on_a_level_platform_compresses_all_legs_alike():
    pose = PLATFORM.home_pose
    load = weight_wrench(pose, 30.0, (0.0, 0.0, 0.1))
    forces = holding_forces(PLATFORM, pose, load)
    legs = PLATFORM.leg_vectors(pose)
    expected = 30.0 * 9.81 / 6.0 * np.linalg.norm(legs, axis=1) / legs[:, 2]
    # Table 1 is rounded to a micrometre, so the design is symmetric only to 1e-5.
    np.testing.assert_allclose(forces, expected, rtol=1e-5)
    assert (forces > 0.0).all()


def test_weight_of_a_tilted_platform_about_its_origin():
    rng = np.random.default_rng(4)
    pose, center = random_pose(rng), rng.normal(size=3)
    wrench = weight_wrench(pose, 2.0, center, (0.3, -0.2, -9.0))
    pull = 2.0 * np.array([0.3, -0.2, -9.0])
    np.testing.assert_allclose(pose[:3, :3] @ wrench[3:], pull, rtol=1e-12)
    np.testing.assert_allclose(pose[:3, :3] @ wrench[:3], np.cross(pose[:3, :3] @ center, pull), rtol=1e-12)


def test_batches():
    rng = np.random.default_rng(2)
    poses = np.stack([random_pose(rng) for _ in range(4)])
    wrenches = rng.normal(size=(3, 1, 6))
    forces = leg_forces_for_wrench(PLATFORM, poses, wrenches)
    assert forces.shape == (3, 4, 6)
    np.testing.assert_allclose(forces[2, 1], leg_forces_for_wrench(PLATFORM, poses[1], wrenches[2, 0]), rtol=1e-12)
    np.testing.assert_allclose(
        wrench_of_leg_forces(PLATFORM, poses, forces), np.broadcast_to(wrenches, (3, 4, 6)), rtol=1e-10, atol=1e-12
    )
    assert weight_wrench(poses, 1.0, np.zeros(3)).shape == (4, 6)


def test_singular_pose_and_bad_input():
    points = np.random.default_rng(3).normal(size=(6, 3))
    # Equal sides, moved without turning: all legs are parallel.
    parallel = StewartPlatform(points, points, allow_singular=True)
    pose = np.eye(4)
    pose[2, 3] = 1.0
    with pytest.raises(SingularityError, match="singular"):
        leg_forces_for_wrench(parallel, pose, np.ones(6))
    with pytest.raises(StewartError, match=r"wrench has shape \(3,\)"):
        leg_forces_for_wrench(PLATFORM, PLATFORM.home_pose, np.ones(3))
    with pytest.raises(StewartError, match="mass is -1"):
        weight_wrench(PLATFORM.home_pose, -1.0, np.zeros(3))


@pytest.mark.parametrize("digits", [0, 4, 8, 11])
def test_what_is_eliminated_fits_near_singular_matrices_too(digits, rng):
    """Leg forces balance the load to round-off: residuals do not grow with the condition."""
    for _ in range(50):
        left, right = (np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(2))
        A, B = left @ np.diag(np.logspace(0, -digits, 6)) @ right, rng.normal(size=(6, 3))
        B = A @ B  # loads whose forces stay small
        work = np.concatenate([A, B], axis=1)
        determinant = getattr(eliminate, "py_func", eliminate)(work, 9)
        assert determinant == pytest.approx(np.linalg.det(A), rel=1e-14 * 10**digits)
        assert np.abs(A @ work[:, 6:] - B).max() < 3e-15 * np.abs(A).max() * max(np.abs(work[:, 6:]).max(), 1.0)
