"""Second derivatives of leg lengths against lengths themselves, computed here, along straight twists."""

import numpy as np
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from lie_dynamics_ros.lie_dynamics.stewart import reference_platform
from lie_dynamics_ros.lie_dynamics.stewart.geometry.platform import leg_length_second_derivatives


def lengths(platform, T):
    return np.linalg.norm(platform.platform_points @ T[:3, :3].T + T[:3, 3] - platform.base_points, axis=1)


def along(twist):
    w, v = twist[:3], twist[3:]
    X = np.zeros((4, 4))
    X[:3, :3] = [[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]
    X[:3, 3] = v
    return expm(X)


def test_second_derivatives_of_leg_lengths(rng):
    platform, h = reference_platform(), 2e-3
    poses = []
    for _ in range(3):
        T = np.eye(4)
        T[:3, :3] = Rotation.from_rotvec(rng.normal(size=3) * 0.2).as_matrix()
        T[:3, 3] = rng.normal(size=3) * 0.02 + [0.0, 0.0, 0.45]
        poses.append(T)
    found = leg_length_second_derivatives(platform, poses)
    assert found.shape == (3, 6, 6, 6)
    assert np.array_equal(found, np.swapaxes(found, -1, -2))
    for T, H in zip(poses, found, strict=True):
        assert np.abs(leg_length_second_derivatives(platform, T) - H).max() < 1e-14
        for x in rng.normal(size=(6, 6)):
            # Central differences of eighth order.
            weights = {0: -205 / 72, 1: 8 / 5, 2: -1 / 5, 3: 8 / 315, 4: -1 / 560}
            values = {k: lengths(platform, T @ along(k * h * x)) for k in range(-4, 5)}
            second = sum(weights[abs(k)] * value for k, value in values.items()) / h**2
            assert np.abs(np.einsum("kij,i,j->k", H, x, x) - second).max() < 1e-8 * max(1.0, np.abs(second).max())
