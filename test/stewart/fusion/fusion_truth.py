"""Motions of a platform and what its sensors read, made from angles and positions: shares no code with the library."""

from types import SimpleNamespace

import numpy as np
from scipy.spatial.transform import Rotation

GRAVITY = np.array([0.0, 0.0, -9.81])
DT = 1e-3
LEG_NOISE, GYRO_NOISE, ACCEL_NOISE, GYRO_BIAS, ACCEL_BIAS = 1e-5, 2e-3, 3e-2, 1e-2, 1e-1
KINDS = ("stuck", "drift", "jump", "nan")


class Motion:
    """Sums of sines in roll, pitch, yaw and position, up to 1.2 Hz."""

    def __init__(self, rng, size=1.0):
        span = np.r_[np.full(3, 0.15), np.full(3, 0.04)] * size
        self.amplitude = rng.uniform(-1, 1, (2, 6)) * span / np.sqrt(2)
        self.rate = 2 * np.pi * rng.uniform(0.3, 1.2, (2, 6))
        self.phase = rng.uniform(0, 2 * np.pi, (2, 6))

    def coordinates(self, t):
        angles = self.rate * t[:, None, None] + self.phase
        return (self.amplitude * np.sin(angles)).sum(1) + np.r_[0, 0, 0, 0, 0, 0.5]

    def rotation(self, t):
        return Rotation.from_euler("xyz", self.coordinates(t)[:, :3])

    def angular_velocity(self, t, h=1e-4):
        return (self.rotation(t + h) * self.rotation(t - h).inv()).as_rotvec() / (2 * h)

    def at(self, t, h=1e-4):
        """Rotations (n, 3, 3), positions, angular velocities and accelerations, accelerations of the origin, (n, 3)."""
        waves = self.amplitude * np.sin(self.rate * t[:, None, None] + self.phase)
        w_rate = (self.angular_velocity(t + h) - self.angular_velocity(t - h)) / (2 * h)
        linear = (-(self.rate**2) * waves).sum(1)[:, 3:]
        return self.rotation(t).as_matrix(), self.coordinates(t)[:, 3:], self.angular_velocity(t), w_rate, linear


def lengths(platform, R, p):
    legs = np.einsum("nij,kj->nki", R, platform.platform_points) + p[:, None] - platform.base_points
    return np.sqrt((legs**2).sum(axis=2))


def recording(rng, platform, n, delays=(0.0,) * 6, lever=(0.0, 0.0, 0.0), turned=None, size=1.0, late=0.0):
    """Readings of n samples, of which those of the IMU are `late`, and what was true."""
    motion, t = Motion(rng, size), np.arange(n) * DT + rng.uniform(0, 10)
    R, p, w, dw, a = motion.at(t)
    legs = np.column_stack(
        [
            lengths(platform, motion.rotation(t - d).as_matrix(), motion.coordinates(t - d)[:, 3:])[:, i]
            for i, d in enumerate(delays)
        ]
    )
    poses = np.tile(np.eye(4), (n, 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = R, p
    if late:
        R, _, w, dw, a = motion.at(t - late)
    y = R @ np.asarray(lever)
    force = a + np.cross(dw, y) + np.cross(w, np.cross(w, y)) - GRAVITY
    axes = np.eye(3) if turned is None else turned
    bias = np.r_[rng.normal(0, GYRO_BIAS, 3), rng.normal(0, ACCEL_BIAS, 3)]
    body = np.swapaxes(R, 1, 2)
    gyroscope = (body @ w[..., None])[..., 0] + bias[:3] + rng.normal(0, GYRO_NOISE, (n, 3))
    accelerometer = (body @ force[..., None])[..., 0] + bias[3:] + rng.normal(0, ACCEL_NOISE, (n, 3))
    return SimpleNamespace(
        lengths=legs + rng.normal(0, LEG_NOISE, (n, 6)),
        gyroscope=gyroscope @ axes,
        accelerometer=accelerometer @ axes,
        poses=poses,
        bias=bias,
        past=lambda delay: (motion.rotation(t - delay).as_matrix(), motion.coordinates(t - delay)[:, 3:]),
        force=lambda delay: motion.at(t - delay)[4] - GRAVITY,
    )


def spoil(rng, kind, readings, start, end):
    """Let one sensor (n,) fail from `start` to `end`."""
    if kind == "stuck":
        readings[start:end] = readings[start - 1]
    elif kind == "drift":
        readings[start:end] += rng.choice([-1, 1]) * rng.uniform(3, 30) * LEG_NOISE * np.arange(1, end - start + 1)
    elif kind == "jump":
        readings[start:end] += rng.choice([-1, 1]) * LEG_NOISE * 10 ** rng.uniform(1.2, 3.5)
    else:
        readings[start:end] = np.nan


def errors(poses, found):
    """Rotations about the axes of {N} and displacements from estimates to the truth, (n, 6)."""
    told = np.array([fused.pose for fused in found])
    turns = Rotation.from_matrix(poses[:, :3, :3] @ np.swapaxes(told[:, :3, :3], 1, 2)).as_rotvec()
    return np.column_stack([turns, poses[:, :3, 3] - told[:, :3, 3]])


def deviations(poses, found):
    """Errors in standard deviations told, (n, 6)."""
    return errors(poses, found) / np.sqrt([np.diagonal(fused.covariance) for fused in found])


def chi_squares(poses, found):
    """Errors in the metric of the covariances told, (n,): 6 on average where these are honest."""
    left = errors(poses, found)[..., None]
    told = np.linalg.solve([fused.covariance for fused in found], left)
    return (left * told).sum(axis=(1, 2))


def follow(fusion, record, more=None):
    """Estimates, none of them lost, which sensors were named and returned when, and the largest of the deviations."""
    readings = record.lengths if more is None else np.column_stack([record.lengths, more])
    samples = zip(readings, record.gyroscope, record.accelerometer, strict=True)
    found = [fusion.update(*sample, dt=DT) for sample in samples]
    assert not any(fused.lost for fused in found)
    assert np.isfinite([fused.covariance for fused in found]).all()
    return SimpleNamespace(
        found=found,
        named=[(k, name) for k, fused in enumerate(found) for name in fused.named],
        returned=[(k, name) for k, fused in enumerate(found) for name in fused.returned],
        worst=np.abs(deviations(record.poses, found)).max(),
    )
