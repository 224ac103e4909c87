"""The certificate proves what it says: its bound holds, and no second pose lies where it promises one."""

import numpy as np
import pytest
import stewart_oracle as oracle
from scipy.linalg import expm
from scipy.optimize import least_squares
from support.grids import every_run

from lie_dynamics_ros.lie_dynamics.stewart import StewartPlatform, reference_platform
from lie_dynamics_ros.lie_dynamics.stewart.kernels import newton as nk
from lie_dynamics_ros.lie_dynamics.stewart.kernels.newton import MAX_H
from lie_dynamics_ros.lie_dynamics.stewart.solvers.memory import new_memory


def hat(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def half_squares(base, top, T, x):
    """|d|^2 / 2 of the pose T (exp(w), u), the platform's origin at its centroid."""
    R, p = T[:3, :3], T[:3, 3]
    centroid = top.mean(axis=0)
    legs = (top - centroid) @ expm(hat(x[:3])).T + x[3:] - (base - p - R @ centroid) @ R
    return 0.5 * (legs * legs).sum(axis=1)


def random_platform(rng):
    return rng.normal(scale=0.3, size=(6, 3)), rng.normal(scale=0.2, size=(6, 3)) + rng.normal(size=3)


@pytest.mark.parametrize("seed", every_run((0, 1, 2), range(6)))
def test_inverse_and_bound_hold_at_random_platforms(seed):
    rng = np.random.default_rng(seed)
    base, top = random_platform(rng)
    T = oracle.random_pose(rng, 0.5, 3.0)
    memory = new_memory(StewartPlatform(base, top), T, 10)
    inverse = memory[nk.INVERSE : nk.INVERSE + 36].reshape(6, 6)
    radius, bound = memory[nk.RADIUS], memory[nk.LIPSCHITZ]
    weights = np.array([radius] * 3 + [1.0] * 3)
    h = 1e-5
    jacobian = np.array(
        [(half_squares(base, top, T, h * e) - half_squares(base, top, T, -h * e)) / (2 * h) for e in np.eye(6)]
    ).T
    assert np.abs(inverse @ jacobian - np.eye(6)).max() < 1e-7 * np.linalg.cond(jacobian)
    largest = 0.0
    step = 1e-4 * radius
    for _ in range(300):
        centre = rng.normal(size=6)
        centre *= memory[nk.BALL] * rng.uniform() / np.linalg.norm(centre)
        line = rng.normal(size=6)
        line /= np.linalg.norm(line)
        values = [half_squares(base, top, T, (centre + s * step * line) / weights) for s in (-1, 0, 1)]
        second = (values[0] - 2 * values[1] + values[2]) / step**2
        largest = max(largest, np.linalg.norm(weights * (inverse @ second)))
    assert largest <= bound * (1 + 1e-4)
    assert largest > bound / 100  # a bound that is merely huge would prove nothing


@pytest.mark.parametrize("seed", every_run((0, 1), range(4)))
def test_no_second_pose_in_the_proven_ball(seed):
    """Searches from all over the ball of uniqueness end at the one pose, or outside the ball."""
    rng = np.random.default_rng(seed)
    platform = reference_platform()
    base, top = platform.base_points, platform.platform_points
    T = oracle.random_pose(rng, 0.1, 0.5)
    memory = new_memory(platform, T, 10)
    radius, bound = memory[nk.RADIUS], memory[nk.LIPSCHITZ]
    weights = np.array([radius] * 3 + [1.0] * 3)
    inverse = memory[nk.INVERSE : nk.INVERSE + 36].reshape(6, 6)
    line = rng.normal(size=6)
    line *= MAX_H / bound / np.linalg.norm(weights * (inverse @ line))
    goal = half_squares(base, top, T, np.zeros(6)) + line
    ball = min(1.0 / bound, memory[nk.BALL])
    inside = []
    for _ in range(40):
        start = rng.normal(size=6)
        start *= ball * rng.uniform() / np.linalg.norm(start)
        found = least_squares(
            lambda y: half_squares(base, top, T, y / weights) - goal, start, xtol=1e-15, ftol=1e-15, gtol=1e-15
        )
        if np.abs(found.fun).max() < 1e-12 and np.linalg.norm(found.x) < ball:
            inside.append(found.x)
    assert len(inside) > 20
    assert np.ptp(np.array(inside), axis=0).max() < 1e-9
