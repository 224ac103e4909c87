"""Leg lengths along a smooth path, differentiated by Cauchy's integral: shares no code with the library."""

from types import SimpleNamespace

import numpy as np

STATES = (
    ((0, 20, 20), (10, 100, 5)),
    ((0, 20, 40), (0, -50, -70)),
    ((20, -15, 70), (20, -20, 50)),
    ((-20, 10, 70), (50, -20, 70)),
    ((20, -10, 40), (60, 70, 50)),
)


def rotation(angles):
    """Rz(yaw) Ry(pitch) Rx(roll) of complex or real angles."""
    (cr, sr), (cp, sp), (cy, sy) = ((np.cos(a), np.sin(a)) for a in angles)
    rx = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    rz = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return rz @ ry @ rx


def pose_of(position_cm, angles_deg):
    T = np.eye(4)
    T[:3, :3] = rotation(np.deg2rad(np.array(angles_deg, dtype=float)))
    T[:3, 3] = np.array(position_cm, dtype=float) / 100.0
    return T


def random_pose(rng, reach=0.15, angle=0.6, height=0.5):
    T = np.eye(4)
    T[:3, :3] = rotation(rng.uniform(-angle, angle, 3))
    T[:3, 3] = rng.uniform(-reach, reach, 3) + np.array([0.0, 0.0, height])
    return T


def built(rng, drawn, count, reach=0.12, angle=0.5):
    """A platform a few millimetres off its drawing: points, offsets, poses of it, and readings of its six encoders."""
    base, top = (x + rng.normal(scale=2e-3, size=(6, 3)) for x in (drawn.base_points, drawn.platform_points))
    offsets = rng.normal(scale=1e-3, size=6)
    poses = np.stack([random_pose(rng, reach, angle) for _ in range(count)])
    return base, top, offsets, poses, np.stack([lengths(base, top, T[:3, :3], T[:3, 3]) for T in poses]) - offsets


def turned(poses, noise):
    """Poses with small rotations about the platform's axes and shifts along the base's."""
    moved = poses.copy()
    for T, n in zip(moved, noise, strict=True):
        T[:3, :3] = T[:3, :3] @ rotation(n[:3])
        T[:3, 3] += n[3:]
    return moved


def lengths(base, platform, R, p):
    legs = platform @ R.T + p - base
    return np.sqrt((legs * legs).sum(axis=1))


def derivatives(function, radius=0.05, count=24):
    """Value, first and second derivative at 0 of an analytic function of a complex variable."""
    turns = np.exp(2j * np.pi * np.arange(count) / count)
    values = np.array([function(radius * z) for z in turns])
    return [
        factorial * np.real(np.tensordot(turns**-k, values, axes=(0, 0)) / count) / radius**k
        for k, factorial in ((0, 1.0), (1, 1.0), (2, 2.0))
    ]


def vee(W):
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2.0


def random_path(rng, base, platform):
    """A motion through a random pose: the pose, its twists and their rates in three frames, lengths and their rates."""
    angles, position = rng.uniform(-0.8, 0.8, (3, 3)), rng.uniform(-0.2, 0.2, (3, 3))
    position[0, 2] += 0.5
    powers = lambda t: np.array([1.0, t, t * t])  # noqa: E731
    R0, R1, R2 = derivatives(lambda t: rotation(powers(t) @ angles))
    p0, p1, p2 = position[0], position[1], 2.0 * position[2]
    L0, L1, L2 = derivatives(lambda t: lengths(base, platform, rotation(powers(t) @ angles), powers(t) @ position))
    w, dw = vee(R1 @ R0.T), vee(R2 @ R0.T + R1 @ R1.T)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = R0, p0
    twists = {
        "body": np.r_[vee(R0.T @ R1), R0.T @ p1],
        "spatial": np.r_[w, p1 - np.cross(w, p0)],
        "aligned": np.r_[w, p1],
    }
    rates = {
        "body": np.r_[vee(R1.T @ R1 + R0.T @ R2), R1.T @ p1 + R0.T @ p2],
        "spatial": np.r_[dw, p2 - np.cross(dw, p0) - np.cross(w, p1)],
        "aligned": np.r_[dw, p2],
    }
    return SimpleNamespace(pose=pose, twists=twists, twist_rates=rates, lengths=L0, rates=L1, accelerations=L2)
