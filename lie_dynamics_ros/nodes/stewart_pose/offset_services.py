"""Services of the node stewart_pose for legs on offset universal joints. No ROS in here."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...lie_dynamics.constraints.mechanisms.six_legs import offset_legs
from ...lie_dynamics.stewart import OffsetPlatform
from ...lie_dynamics.stewart.solvers.offset_legs import CLOSED, newton
from .offset_tracker import OffsetTracker

Answers = tuple[Array, list[bool], list[str]]
"""Poses (n, 4, 4), whether they are right, and how they were found or why not."""


def followed(platform: OffsetPlatform, start: Array, lengths: Array, max_steps: int, each: bool = False) -> Answers:
    """Return the poses to which lengths (n, 6) lead from a pose, one after the other, or `each` from there."""
    first = OffsetTracker(platform, start, max_steps=max_steps)
    found = []
    for row in lengths:
        tracker = first.with_options(leg_noise=0.0, max_steps=max_steps) if each else first
        found.append(tracker.update(row))
    poses = np.array([tracked.pose for tracked in found])
    return poses, [tracked.valid for tracked in found], [tracked.message for tracked in found]


def iterated(platform: OffsetPlatform, lengths: Array, guesses: Array) -> Answers:
    """Return the poses to which Newton's method leads from guesses (n, 4, 4), these where there is none."""
    poses, errors = newton(platform, lengths, np.array(guesses))
    valid = errors <= CLOSED * lengths.max(axis=1)
    reasons = ["converged" if good else "no pose with these lengths was found from the guess" for good in valid]
    return np.where(valid[:, None, None], poses, guesses), valid.tolist(), reasons


def modes_of_offset_joints(platform: OffsetPlatform, home: Array | None, lengths: Array) -> tuple[Array, Array, str]:
    """Return poses (k, 4, 4) that have lengths (6,), the highest first, their residuals, and how they were searched."""
    mechanism = offset_legs(platform, home)
    found = mechanism.assembly_modes(lengths)
    poses = mechanism.pose(found.q)
    order = np.argsort(-poses[:, 2, 3])
    return poses[order], found.residuals[order], found.message
