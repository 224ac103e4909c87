"""The paper's formulas and solvers in plain numpy (reference/), against lengths that share no code, and its tables."""

import numpy as np
import pytest
from scipy.linalg import expm
from stewart_oracle import STATES, derivatives, lengths, random_pose, rotation
from support.grids import every_run

from benchmarks.stewart.study import paper
from lie_dynamics_ros.lie_dynamics.lie import se3
from lie_dynamics_ros.lie_dynamics.reference import stewart_solvers
from lie_dynamics_ros.lie_dynamics.stewart import leg_length_second_derivatives, reference_platform

PLATFORM = reference_platform()
A, B = 100.0 * PLATFORM.base_points, 100.0 * PLATFORM.platform_points
L = lengths(A, B, rotation(np.deg2rad([20.0, 0.0, -30.0])), np.array([0.0, 0.0, 50.0]))
STEP = 1e-30


def squares(T):
    """Squared lengths of a pose, complex or not, without the square root."""
    legs = B @ T[:3, :3].T + T[:3, 3] - A
    return (legs * legs).sum(axis=1)


def of_quaternion(q):
    x, y, z, w = q / np.sqrt((q * q).sum())
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def pose_of(x):
    """Pose of the coordinates on R^6 or R^7."""
    T = np.eye(4, dtype=x.dtype)
    T[:3, :3], T[:3, 3] = rotation(x[3:]) if len(x) == 6 else of_quaternion(x[3:]), x[:3]
    return T


def cm(T):
    return np.block([[T[:3, :3], 100.0 * T[:3, 3:]], [T[3:]]])


def test_lie_derivatives_of_the_legs(rng):
    """(22)-(24) against complex steps, (13) against Cauchy's integral along straight twists."""
    for _ in range(3):
        T = cm(random_pose(rng))
        assert np.abs(stewart_solvers.residual(A, B, L, T) - squares(T) + L**2).max() < 1e-10
        small = [np.eye(4) + 1j * STEP * se3.hat(e) for e in np.eye(6)]
        for J, moved in ((stewart_solvers.body_jacobian(A, B, T), [T @ e for e in small]),
                         (stewart_solvers.spatial_jacobian(A, B, T), [e @ T for e in small])):  # fmt: skip
            expected = np.array([squares(x).imag / STEP for x in moved]).T
            assert np.abs(J - expected).max() < 1e-12 * np.abs(expected).max()
        H, J = stewart_solvers.second_derivatives(A, B, T), stewart_solvers.body_jacobian(A, B, T)
        for x in rng.normal(size=(3, 6)):
            _, first, second = derivatives(lambda z, T=T, x=x: squares(T @ expm(z * se3.hat(x))))
            assert np.abs(J @ x - first).max() < 1e-10 * np.abs(first).max()
            a, b = (np.append(points, np.ones((6, 1)), axis=1) for points in (A, B))
            whole, printed = (2.0 * ((b @ T.T - a) * (b @ (X @ se3.hat(x)).T)).sum(axis=1) for X in (T, np.eye(4)))
            assert np.abs(whole - first).max() < 1e-10 * np.abs(first).max()  # (22), first line
            assert np.abs(printed - first).max() > 1e-2 * np.abs(first).max()
            assert np.abs(np.einsum("ijk,j,k->i", H, x, x) - second).max() < 1e-9 * np.abs(second).max()
        turned = np.einsum("ia,jak->ijk", J, se3.ad(np.eye(6)))  # along [E_j, E_k]
        assert np.abs(H - np.swapaxes(H, 1, 2) - turned).max() < 1e-10 * np.abs(H).max()


def test_second_derivatives_of_the_library(rng):
    """L^2 differentiated twice: 2 (J^T J + L H)."""
    pose = random_pose(rng)
    J, measured = PLATFORM.jacobian(pose), PLATFORM.leg_lengths(pose)
    own = leg_length_second_derivatives(PLATFORM, pose)
    expected = 2.0 * (np.einsum("ij,ik->ijk", J, J) + measured[:, None, None] * own)
    found = stewart_solvers.second_derivatives(PLATFORM.base_points, PLATFORM.platform_points, pose)
    found = 0.5 * (found + np.swapaxes(found, 1, 2))
    assert np.abs(found - expected).max() < 1e-13 * np.abs(expected).max()


@pytest.mark.parametrize("size", [6, 7])
def test_jacobian_in_coordinates(size, rng):
    """Complex steps; on R^7 off the unit sphere too."""
    problem = (stewart_solvers.on_r6 if size == 6 else stewart_solvers.on_r7)(A, B, L)
    for _ in range(3):
        x = rng.normal(size=size) * 10.0 ** np.r_[np.ones(3), np.zeros(size - 3)]
        steps = 1j * STEP * np.eye(size)
        r, J = problem.residual(x), problem.jacobian(x)
        expected = np.array([squares(pose_of(x + e)).imag / STEP for e in steps]).T
        assert np.abs(r[:6] - squares(pose_of(x)) + L**2).max() < 1e-10
        assert np.abs(J[:6] - expected).max() < 1e-12 * np.abs(expected).max()
        if size == 7:
            assert r[6] == pytest.approx(x[3:] @ x[3:] - 1.0, abs=1e-14)
            assert np.abs(J[6] - np.r_[np.zeros(3), 2.0 * x[3:]]).max() < 1e-15


def starts(state):
    angles = np.deg2rad(np.array(STATES[state][1], dtype=float))
    return np.r_[np.array(STATES[state][0], dtype=float), angles]


@pytest.mark.parametrize(
    ("state", "percent", "every"),
    every_run([(2, 100, 5)], [(0, 14, 1), (2, 100, 5), (2, 100, 1), (4, 92, 1)]),
)
def test_table_3_on_se3(state, percent, every):
    """Where all arrive, every fifth of them does."""
    assert len(paper.DAMPING_RATIOS) == 50
    problem = stewart_solvers.on_se3(A, B, L, "spatial")
    ends = [
        stewart_solvers.levenberg_marquardt(problem, pose_of(starts(state)), tau)[-1]
        for tau in paper.DAMPING_RATIOS[::every]
    ]
    arrived = [np.abs(T - cm(paper.TRUE_POSE)).max() < 1e-3 for T in ends]
    assert 100 * sum(arrived) == percent * len(arrived)


@pytest.mark.parametrize(
    ("state", "percent", "every"), every_run([(2, 100, 10)], [(0, 10, 1), (2, 100, 10), (2, 100, 1)])
)
def test_table_2_on_r6(state, percent, every):
    """Where all arrive, every tenth of them does."""
    assert len(paper.STEP_FACTORS) == 50
    problem = stewart_solvers.on_r6(A, B, L)
    ends = [stewart_solvers.gauss_newton(problem, starts(state), alpha)[-1] for alpha in paper.STEP_FACTORS[::every]]
    arrived = [np.abs(pose_of(x) - cm(paper.TRUE_POSE)).max() < 1e-3 for x in ends]
    assert 100 * sum(arrived) == percent * len(arrived)
