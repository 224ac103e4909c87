"""Angles between legs and the axes of their joints."""

from __future__ import annotations

import math

from ....arrays import Array
from ....engine.compile import inline, kernel
from ...solvers.kernels.newton import Vec, combine, cross, dot
from .path_points import added, vector


@inline
def angle(a: Vec, b: Vec) -> float:
    """Return the angle between vectors [rad]."""
    across = cross(a, b)
    return math.atan2(math.sqrt(dot(across, across)), dot(a, b))


@kernel("(float64[:,::1], float64[:,::1], float64[:,::1], float64[:,:,::1])")
def joint_angles(points: Array, axes: Array, poses: Array, out: Array) -> int:
    """Write angles (2, k, 6) on base and platform.

    Joints and axes (12, 3) on the base, then on the platform, in its frame; poses (k, 16).
    """
    for i in range(poses.shape[0]):
        pose = poses[i]
        r0, r1, r2 = vector(pose, 0), vector(pose, 4), vector(pose, 8)
        p = pose[3], pose[7], pose[11]
        for k in range(6):
            arm = vector(points[6 + k], 0)
            leg = added(added(p, vector(points[k], 0), -1.0), (dot(r0, arm), dot(r1, arm), dot(r2, arm)), 1.0)
            out[0, i, k] = angle(leg, vector(axes[k], 0))
            out[1, i, k] = angle(combine(leg, r0, r1, r2), vector(axes[6 + k], 0))
    return 0
