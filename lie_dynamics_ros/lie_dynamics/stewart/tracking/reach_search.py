"""Poses with given leg lengths that a platform can have reached from where it was, at its largest speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...lie import so3
from ..solvers.kernels import newton as nk
from .kernels.reach import ROUNDING, SMALLEST
from .kernels.reach_search import MOST, search

#: Boxes that one search may look at, about 0.7 us each.
BUDGET = 5000
#: Reach that is larger than this, in radii, is not searched: it would take more boxes than the budget has.
_LARGEST = 0.5
#: Smallest pivot of a box's Jacobian that is not regularised: a share of the anchor's second smallest singular value.
_FLOOR = 0.3


@dataclass(frozen=True)
class Anchor:
    """A possible past of the platform: a pose (4, 4), how long ago [s], and within which radius, in the norm [m]."""

    pose: Array
    age: float
    blur: float


@dataclass(frozen=True)
class TwistBall:
    """What can be reached from an anchor: a pose (4, 4), how far from its origin [m], by which angle [rad]."""

    pose: Array
    reach: float
    angle: float

    @classmethod
    def around(cls, anchor: Anchor, memory: Array) -> TwistBall:
        """Return what was in reach of an anchor, a little more than less."""
        radius = float(memory[nk.RADIUS])
        speed, turn_rate = memory[nk.MAX_SPEED : nk.MAX_SPEED + 2]
        reach = speed * anchor.age * (1.0 + ROUNDING) + SMALLEST * radius
        angle = turn_rate * anchor.age * (1.0 + ROUNDING) + SMALLEST + anchor.blur / radius
        return cls(anchor.pose, float(reach + anchor.blur * (1.0 + memory[nk.SHIFT_SIZE] / radius)), float(angle))

    def holds(self, pose: Array, slack: float = 0.0, turn_slack: float = 0.0) -> bool:
        """Return whether a pose (4, 4) was in reach."""
        turn = self.pose[:3, :3].T @ pose[:3, :3]
        gone = np.linalg.norm(pose[:3, 3] - self.pose[:3, 3])
        half = 0.5 * np.linalg.norm(turn - np.eye(3)) / np.sqrt(2.0)  # sine of half the angle
        turned = 2.0 * np.arcsin(min(half, 1.0))
        return bool(gone <= self.reach + slack and turned <= self.angle + turn_slack)


@dataclass(frozen=True)
class InReach:
    """Poses found in reach, as anchors of age 0; whether these are all of them."""

    found: list[Anchor]
    complete: bool
    boxes: int


def poses_in_reach(memory: Array, lengths: Array, anchor: Anchor, budget: int = BUDGET) -> InReach:
    """Return every pose with the lengths (6,) [m], each as wrong as the memory allows, in reach of an anchor."""
    radius, shift = float(memory[nk.RADIUS]), memory[nk.SHIFT : nk.SHIFT + 3]
    away = float(memory[nk.SHIFT_SIZE])
    ball = TwistBall.around(anchor, memory)
    if not np.hypot(radius * ball.angle, ball.reach) < _LARGEST * radius:
        return InReach([], False, 0)
    R0 = anchor.pose[:3, :3]
    centroid = anchor.pose[:3, 3] + R0 @ shift
    joints = np.empty((6, 7))
    joints[:, :3] = (memory[nk.BASE : nk.BASE + 18].reshape(6, 3) - centroid) @ R0
    joints[:, 3:6] = memory[nk.PLATFORM : nk.PLATFORM + 18].reshape(6, 3)
    joints[:, 6] = 0.5 * lengths * lengths
    error = float(memory[nk.LENGTH_ERROR]) + nk.LENGTH_ROUNDING * lengths
    errors = error * (lengths + 0.5 * error)
    U, values, Vt = np.linalg.svd(jacobian_at_anchor(joints, radius))
    centroid_reach = ball.reach + 2.0 * away * np.sin(0.5 * ball.angle)
    limits = np.array([2.0 * np.tan(0.5 * ball.angle), centroid_reach, radius, _FLOOR * values[4], budget])
    found, report = np.empty((MOST, 7)), np.zeros(2, dtype=np.int64)
    done = search(joints, errors, limits, U, np.ascontiguousarray(Vt.T), found, report)
    anchors = []
    for row in found[: report[0]]:
        w, blur = row[:3] / radius, float(row[6])
        size = float(np.linalg.norm(w))
        turn = so3.exp(w * (2.0 * np.arctan(0.5 * size) / size if size > 0.0 else 1.0))
        pose = np.eye(4)
        pose[:3, :3] = R0 @ turn
        pose[:3, 3] = centroid + R0 @ row[3:6] - pose[:3, :3] @ shift
        if ball.holds(pose, blur * (1.0 + away / radius), blur / radius):
            anchors.append(Anchor(pose, 0.0, blur))
    return InReach(anchors, bool(done), int(report[1]))


def jacobian_at_anchor(joints: Array, radius: float) -> Array:
    """Jacobian (6, 6) of half the squared lengths by the coordinates of the search, at the anchor."""
    base, arms = joints[:, :3], joints[:, 3:6]
    return np.hstack([np.cross(base, arms) / radius, arms - base])
