"""Statuses of leg lengths in a `StewartTracker`."""

from __future__ import annotations

from enum import IntEnum

from ..errors import StewartError
from .kernels import tracker as tk


class TrackingStatus(IntEnum):
    """Certainty of a pose, or the reason why it is the last good one and not that of the given lengths."""

    TRACKED = tk.TRACKED
    """The pose belongs to the lengths; with a bound of the speed it is certified."""
    NOT_FINITE = tk.NOT_FINITE
    """A length is NaN or infinite."""
    NOT_POSITIVE = tk.NOT_POSITIVE
    """A length is zero or negative."""
    LEG_LIMIT = tk.LEG_LIMIT
    """A length lies outside the limits of its leg."""
    SINGULAR = tk.SINGULAR
    """The way to the lengths meets a singularity: the branch ends there or meets others, and cannot be followed."""
    NO_POSE = tk.NO_POSE
    """The branch ends before the lengths are reached, and no pose near has these lengths."""
    TOO_FAR = tk.TOO_FAR
    """The lengths are so far away that more proven steps are needed than ``max_steps`` allows."""
    AMBIGUOUS = tk.AMBIGUOUS
    """Other poses with these lengths were within reach, or cannot be excluded: see the candidates."""
    OUT_OF_REACH = tk.OUT_OF_REACH
    """No pose with these lengths was within reach: a length, the time or the bound of the speed is wrong."""


#: To look it up costs a fifth of what the enumeration takes.
STATUS_OF_CODE = {float(status): status for status in TrackingStatus}
BLAME_A_LEG = frozenset(
    (TrackingStatus.NOT_FINITE, TrackingStatus.NOT_POSITIVE, TrackingStatus.LEG_LIMIT, TrackingStatus.NO_POSE)
)


class TrackingError(StewartError):
    """Lengths that a tracker could not follow, raised by `TrackedPose.require` only."""
