"""Second derivatives of leg lengths along body twists."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...lie import so3
from .inverse_kinematics import as_pose, leg_units, leg_vectors
from .platform import StewartPlatform, require_platform


def leg_length_second_derivatives(platform: StewartPlatform, pose: npt.ArrayLike) -> Array:
    """Return H (..., 6, 6, 6), leg first: L_i(T exp(x)) = L_i(T) + J_i x + x^T H_i x / 2 + ... for body twists x.

    Of second order in the Taylor series that Stewart (10)-(14) breaks off after the first. The leg changes by R A x,
    A = (-[b], 1), and bends by R (w x (w x b) + w x v): with n = R^T u the leg's direction seen from the platform,

        H = A^T (1 - n n^T) A / L + [[(n b^T + b n^T) / 2 - (n . b) 1, -[n] / 2], [[n] / 2, 0]].

    Parameters
    ----------
    platform : StewartPlatform
        The platform.
    pose : array-like, shape (..., 4, 4)
        Poses of {B} in {N} [m].

    Raises
    ------
    StewartError
        For a wrong shape, or a leg of no length.
    """
    require_platform(platform)
    T = as_pose(pose)
    b = platform.platform_points
    lengths, units = leg_units(leg_vectors(platform.base_points, b, T))
    n = units @ T[..., :3, :3]
    unit = np.eye(3)
    motion = np.concatenate([-so3.hat(b), np.broadcast_to(unit, (6, 3, 3))], axis=-1)
    across = unit - n[..., :, None] * n[..., None, :]
    H = np.swapaxes(motion, -1, -2) @ across @ motion / lengths[..., None, None]
    mixed = n[..., :, None] * b[:, None, :]
    H[..., :3, :3] += 0.5 * (mixed + np.swapaxes(mixed, -1, -2)) - (n * b).sum(axis=-1)[..., None, None] * unit
    half = 0.5 * so3.hat(n)
    H[..., :3, 3:] -= half
    H[..., 3:, :3] += half
    return np.asarray(0.5 * (H + np.swapaxes(H, -1, -2)))  # to the last bit
