"""Motions of joints as 4x4 series in time, written from exponentials alone.

A series is (T, dT/dt, d2T/dt2). Everything takes complex numbers, so that a complex step differentiates it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.linalg import expm
from scipy.spatial.transform import Rotation


def hat3(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def hat(x):
    """4x4 matrix of a twist (w, v)."""
    out = np.zeros((4, 4), np.result_type(x, float))
    out[:3, :3] = hat3(x[:3])
    out[:3, 3] = x[3:]
    return out


def vee(x):
    return np.array([x[2, 1], x[0, 2], x[1, 0], x[0, 3], x[1, 3], x[2, 3]])


def inverse(T):
    out = np.eye(4, dtype=T.dtype)
    out[:3, :3] = T[:3, :3].T
    out[:3, 3] = -T[:3, :3].T @ T[:3, 3]
    return out


def product(a, b):
    """Series of the product of two series."""
    return a[0] @ b[0], a[1] @ b[0] + a[0] @ b[1], a[2] @ b[0] + 2 * a[1] @ b[1] + a[0] @ b[2]


def screw(x, q):
    """exp(hat(x) q) for a twist x whose angular part has length one or zero."""
    (a, b, c, *v), sine, cosine = x.tolist(), np.sin(q), np.cos(q)
    rest = 1 - cosine
    if not (a or b or c):
        turn, along = np.eye(3), q * x[3:]
    else:
        turn = np.array([
            [a * a * rest + cosine, a * b * rest - c * sine, a * c * rest + b * sine],
            [a * b * rest + c * sine, b * b * rest + cosine, b * c * rest - a * sine],
            [a * c * rest - b * sine, b * c * rest + a * sine, c * c * rest + cosine],
        ])
        k = hat3((a, b, c))
        bent = k @ v
        along = q * x[3:] + rest * bent + (q - sine) * (k @ bent)
    out = np.zeros((4, 4), np.result_type(q, float))
    out[:3, :3], out[:3, 3], out[3, 3] = turn, along, 1.0
    return out


@lru_cache(20000, typed=True)  # a complex number may be equal to a real one
def screw_and_slopes(twist, q):
    """exp(hat(x) q) and its two derivatives along q, for a twist given as bytes: each is asked for again and again."""
    x = np.frombuffer(twist)
    T, X = screw(x, q), hat(x)
    found = T, T @ X, T @ X @ X
    for matrix in found:
        matrix.flags.writeable = False
    return found


class Screws:
    """Coordinates one after the other, each a screw of its own."""

    def __init__(self, *twists):
        self.twists = np.array(twists, dtype=float).reshape(-1, 6)
        self.numbers = [x.tobytes() for x in self.twists]
        self.nq = self.nv = len(self.twists)

    def series(self, q, v, a, step):
        total = None
        for x, qi, vi, ai, si in zip(self.numbers, q, v, a, step, strict=True):
            T, T1, T2 = screw_and_slopes(x, qi + si)
            part = T, T1 * vi, T1 * ai + T2 * vi**2
            total = part if total is None else product(total, part)
        return total or (np.eye(4), np.zeros((4, 4)), np.zeros((4, 4)))

    def random(self, rng):
        return rng.uniform(-3, 3, self.nq)


class Ball:
    """q is a unit quaternion (x, y, z, w), v the angular velocity in the child's frame."""

    nq, nv = 4, 3

    def pose(self, q):
        T = np.eye(4)
        T[:3, :3] = Rotation.from_quat(q[:4]).as_matrix()
        T[:3, 3] = q[4:] if len(q) > 4 else 0.0
        return T

    def series(self, q, v, a, step):
        wide = [np.concatenate([x, np.zeros(6 - len(x))]) for x in (v, a, step)]
        V, A, D = (hat(x) for x in wide)
        T = self.pose(q) @ expm(D) if D.any() else self.pose(q)
        return T, T @ V, T @ (V @ V + A)

    def random(self, rng):
        q = rng.normal(size=4)
        return np.concatenate([q / np.linalg.norm(q), rng.normal(size=self.nq - 4)])


class Floating(Ball):
    """q is a quaternion and a position, v the body twist."""

    nq, nv = 7, 6


class Curve:
    """One coordinate along any curve in SE(3), given by T(q) and its first two derivatives."""

    nq = nv = 1

    def __init__(self, derivatives):
        self.derivatives = derivatives

    def series(self, q, v, a, step):
        T, T1, T2 = self.derivatives(q[0] + step[0])
        return T, T1 * v[0], T2 * v[0] ** 2 + T1 * a[0]

    def random(self, rng):
        return rng.uniform(-2, 2, 1)
