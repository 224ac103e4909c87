"""Motions that keep a declared bound of the speed and try to make a tracker certify a wrong pose."""

from __future__ import annotations

import numpy as np
import stewart_oracle as oracle

from lie_dynamics_ros.lie_dynamics.stewart import StewartPlatform, assembly_modes, reference_platform


def hat(w):
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def displaced(T, turn, move):
    """The pose turned by a rotation vector about its own axes and moved along those of {N}."""
    angle = np.linalg.norm(turn)
    W = hat(turn)
    new = T.copy()
    # sinc(x) is sin(pi x) / (pi x); the step of Newton's method at the end keeps the rotation orthonormal.
    R = T[:3, :3] @ (np.eye(3) + np.sinc(angle / np.pi) * W + 0.5 * np.sinc(0.5 * angle / np.pi) ** 2 * (W @ W))
    new[:3, :3] = R @ (1.5 * np.eye(3) - 0.5 * R.T @ R)
    new[:3, 3] += move
    return new


def separation(T, other):
    """Rotation vector in the axes of T and displacement in {N} from T to another pose."""
    R = T[:3, :3].T @ other[:3, :3]
    half = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = np.linalg.norm(half), 0.5 * (np.trace(R) - 1.0)
    if cosine < -0.999999:
        axis = np.linalg.eigh(R + R.T)[1][:, -1]
        return np.pi * axis, other[:3, 3] - T[:3, 3]
    angle = np.arctan2(sine, cosine)
    return (half * (angle / sine) if sine > 0.0 else half), other[:3, 3] - T[:3, 3]


def limited(turn, move, reach, angle, share=1.0):
    """The displacement, shortened to keep the bound."""
    size = max(np.linalg.norm(turn) / angle, np.linalg.norm(move) / reach, 1e-300)
    return (turn * min(1.0, share / size), move * min(1.0, share / size)) if size > share else (turn, move)


def weakest(platform, T):
    """The direction that the legs feel least, as (turn, move) of unit size in radii, and its singular value."""
    radius = platform.characteristic_length
    jacobian = platform.jacobian(T)
    _, values, Vt = np.linalg.svd(np.hstack([jacobian[:, :3] / radius, jacobian[:, 3:]]))
    return Vt[5, :3] / radius, T[:3, :3] @ Vt[5, 3:], values[5]


class Adversary:
    """Chooses a next true pose within reach: wanders, seeks singularities, crosses and grazes them, jumps to twins."""

    def __init__(self, platform, pose, speeds, rng):
        self.platform, self.pose, self.speeds, self.rng = platform, pose, speeds, rng
        self.turn, self.move = rng.normal(size=3), rng.normal(size=3)
        self.mode = "wander"
        self.left = 0
        self.twin = None

    def step(self, dt):
        """Move and return the new true pose."""
        rng, T = self.rng, self.pose
        reach, angle = self.speeds[0] * dt, self.speeds[1] * dt
        if self.left == 0:
            self.mode = rng.choice(["wander", "seek", "seek", "cross", "stay", "twin", "jump"])
            self.left = int(rng.integers(1, 60))
            self.turn, self.move = rng.normal(size=3), rng.normal(size=3)
            self.twin = None
        self.left -= 1
        share = 1.0 if rng.random() < 0.5 else rng.uniform()
        if self.mode == "seek":  # down the smallest singular value, so that it hovers about and grazes singularities
            turn, move, value = weakest(self.platform, T)
            ahead = weakest(self.platform, displaced(T, 1e-5 * turn, 1e-5 * move))[2]
            sign = -1.0 if ahead > value else 1.0
            turn, move = sign * turn, sign * move
        elif self.mode == "cross":
            turn, move, _ = weakest(self.platform, T)
            if turn @ self.turn + move @ self.move < 0.0:
                turn, move = -turn, -move
            self.turn, self.move = turn, move
        elif self.mode == "twin":  # towards, and onto, another pose with the same lengths
            if self.twin is None:
                self.twin = self._nearest_twin()
            turn, move = separation(T, self.twin)
            self.pose = displaced(T, *limited(turn, move, reach, angle))
            return self._kept(T)
        elif self.mode == "stay":
            turn, move = 1e-3 * rng.normal(size=3), 1e-3 * rng.normal(size=3)
            share *= rng.uniform() ** 4
        elif self.mode == "jump":
            turn, move = rng.normal(size=3), rng.normal(size=3)
        else:
            turn, move = self.turn, self.move
        turn, move = np.asarray(turn) * 1e6, np.asarray(move) * 1e6
        self.pose = displaced(T, *limited(turn, move, reach, angle, share))
        return self._kept(T)

    def _nearest_twin(self):
        poses = assembly_modes(self.platform, self.platform.leg_lengths(self.pose)).poses
        sizes = [np.linalg.norm(t) * 0.2 + np.linalg.norm(m) for t, m in (separation(self.pose, T) for T in poses)]
        others = [T for T, size in zip(poses, sizes, strict=True) if size > 1e-6]
        return min(others, key=lambda T: np.abs(T - self.pose).max(), default=self.pose)

    def _kept(self, before):
        """Turn back where the platform leaves the room in which its legs make sense."""
        low = 0.05 * self.platform.characteristic_length
        away = np.linalg.norm(self.pose[:3, 3] - np.array([0.0, 0.0, 0.5])) > 0.6
        if away or (self.platform.leg_lengths(self.pose) < low).any():
            self.pose, self.left = before, 0
        return self.pose


def platforms(rng):
    """The reference platform, and lopsided ones whose {B} is away from the joints."""
    yield reference_platform()
    while True:
        base = reference_platform().base_points + rng.normal(scale=0.05, size=(6, 3))
        shift = rng.normal(scale=0.1, size=3)
        yield StewartPlatform(base, reference_platform().platform_points + rng.normal(scale=0.05, size=(6, 3)) + shift)


def wrong(T, pose, allowed):
    """Whether a pose is not the true one."""
    turn, move = separation(T, pose)
    return np.hypot(np.linalg.norm(turn) * 0.2, np.linalg.norm(move)) > allowed


def attack(make_tracker, samples, seed, length_error=0.0):
    """Track adversarial motions; return how many samples were certified, certified and wrong, and excluded falsely.

    `make_tracker(platform, pose, speeds)`. Excluded falsely: the truth is not among candidates said to be complete, or
    the status is OUT_OF_REACH.
    """
    rng = np.random.default_rng(seed)
    source = platforms(rng)
    platform = next(source)
    counts = dict.fromkeys(("samples", "certified", "wrong", "ambiguous", "excluded", "not tracked"), 0)
    done = 0
    while done < samples:
        if rng.random() < 0.5:
            platform = next(source) if rng.random() < 0.5 else reference_platform()
        pose = oracle.random_pose(rng, 0.15, 0.6 if rng.random() < 0.5 else 1.6)
        speeds = (10.0 ** rng.uniform(-1, 0.5), 10.0 ** rng.uniform(-1, 1.0))
        if weakest(platform, pose)[2] < 1e-3:
            continue
        tracker = make_tracker(platform, pose, speeds)
        adversary = Adversary(platform, pose, speeds, rng)
        dt = 10.0 ** rng.uniform(-4, -1)
        patience = int(rng.geometric(0.1))
        for _ in range(int(rng.integers(20, 300))):
            step = dt if rng.random() < 0.9 else 10.0 ** rng.uniform(-4, -1)
            T = adversary.step(step)
            noise = rng.uniform(-1, 1, 6) * length_error * (rng.random() < 0.8)
            tracked = tracker.update(platform.leg_lengths(T) + noise, dt=step)
            counts["samples"] += 1
            done += 1
            # Rounding errors grow near singular poses; a wrong pose is away by far more.
            allowed = 1e-6 if length_error == 0.0 else 0.2 * np.sqrt(length_error) + 200.0 * length_error
            if tracked.certified:
                counts["certified"] += 1
                counts["wrong"] += bool(wrong(T, tracked.pose, allowed))
            elif tracked.status.name == "OUT_OF_REACH" or (
                tracked.candidates_complete and all(wrong(T, c, allowed) for c in tracked.candidates)
            ):
                counts["excluded"] += 1
            counts["ambiguous"] += tracked.status.name == "AMBIGUOUS"
            counts["not tracked"] += not tracked.valid
            patience -= not tracked.certified
            if patience <= 0 or done >= samples:
                break
    return counts
