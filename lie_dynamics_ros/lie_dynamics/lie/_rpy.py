"""Fixed-axis roll, pitch, yaw as URDF defines them: R = Rz(yaw) Ry(pitch) Rx(roll)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ._arrays import Array, as_array, as_real, matrix_of


def from_rpy(rpy: npt.ArrayLike) -> Array:
    """Return the rotation matrices (..., 3, 3) of (roll, pitch, yaw), shape (..., 3) [rad]."""
    rpy = as_array(rpy, (3,), "rpy")
    cr, cp, cy = (np.cos(rpy[..., i]) for i in range(3))
    sr, sp, sy = (np.sin(rpy[..., i]) for i in range(3))
    first = [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr]
    second = [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr]
    return matrix_of([*first, *second, -sp, cp * sr, cp * cr], 3)


def to_rpy(R: npt.ArrayLike) -> Array:
    """Return (roll, pitch, yaw), shape (..., 3) [rad], of rotation matrices (..., 3, 3), pitch in [-pi/2, pi/2].

    At pitch = +-pi/2 only the sum or difference of roll and yaw is determined: yaw = 0 is chosen there. Roll is read
    after yaw has been taken off, so the three angles give R back to round-off at and near that singularity too.
    """
    R = as_real(R, (3, 3), "R")
    yaw = np.arctan2(R[..., 1, 0], R[..., 0, 0])
    pitch = np.arctan2(-R[..., 2, 0], np.hypot(R[..., 0, 0], R[..., 1, 0]))
    sy, cy = np.sin(yaw), np.cos(yaw)
    roll = np.arctan2(sy * R[..., 0, 2] - cy * R[..., 1, 2], cy * R[..., 1, 1] - sy * R[..., 0, 1])
    return np.stack([roll, pitch, yaw], axis=-1)
