"""The platform of the Stewart nodes' tests, and its kinematics without the library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import yaml

import lie_dynamics_ros

FILE = Path(lie_dynamics_ros.__file__).parent / "platforms" / "reference_platform.yaml"
TEXT = FILE.read_text()
BASE, TOP = (np.array(yaml.safe_load(TEXT)[side]) for side in ("base_points", "platform_points"))
LEGS = tuple(f"leg_{i}" for i in range(1, 7))


def rotation(angles) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll)."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(angles), np.sin(angles)
    rx = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    rz = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return rz @ ry @ rx


def pose_at(position, angles) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation(np.asarray(angles, dtype=float)), position
    return T


def lengths(T) -> np.ndarray:
    return np.linalg.norm(TOP @ T[:3, :3].T + T[:3, 3] - BASE, axis=1)


HOME = pose_at([0, 0, 0.5], [0, 0, 0])
TRUE = pose_at([0, 0, 0.5], np.deg2rad([20, 0, -30]))
"""The true pose of the paper."""
BRANCH = np.eye(4)
"""Another pose with the same lengths, rounded to 1e-5."""
BRANCH[:3] = [
    [-0.29750, 0.73745, -0.60635, 0.1757582],
    [-0.23240, 0.56007, 0.79518, 0.1033935],
    [0.92601, 0.37748, 0.00476, 0.3671191],
]


def motion(t: float) -> np.ndarray:
    """Pose on a smooth motion of all six freedoms that passes the home pose at t = 0 [s]."""
    swing = np.sin(2.0 * np.pi * 0.5 * t * np.array([1.0, 1.1, 0.9, 1.2, 0.8, 1.05]))
    return pose_at([0, 0, 0.5] + 0.05 * swing[:3], 0.2 * swing[3:])


def jacobian(T, h: float = 1e-6) -> np.ndarray:
    """Derivative of the lengths by (displacement along, small rotation about the axes of the base), ROS's order."""
    columns = []
    for i in range(6):
        ends = []
        for sign in (1.0, -1.0):
            x = np.zeros(6)
            x[i] = sign * h
            moved = T.copy()
            moved[:3, :3] = rotation(x[3:]) @ T[:3, :3]
            moved[:3, 3] += x[:3]
            ends.append(lengths(moved))
        columns.append((ends[0] - ends[1]) / (2.0 * h))
    return np.array(columns).T


def matrix_of(pose) -> np.ndarray:
    """Homogeneous matrix of a ROS pose."""
    p, q = pose.position, pose.orientation
    v, w, eye = np.array([q.x, q.y, q.z]), q.w, np.eye(3)
    T = np.eye(4)
    T[:3, :3] = (w * w - v @ v) * eye + 2.0 * np.outer(v, v) + 2.0 * w * np.cross(eye, v)
    T[:3, 3] = p.x, p.y, p.z
    return T


def as_numbers(T) -> list[float]:
    """Position x, y, z and quaternion x, y, z, w of a pose whose rotation is less than half a turn."""
    R = T[:3, :3]
    w = 0.5 * np.sqrt(max(0.0, 1.0 + np.trace(R)))
    v = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4.0 * w)
    q = np.array([*v, w])
    return [*T[:3, 3].tolist(), *(q / np.linalg.norm(q)).tolist()]
