"""Shared parts of all trackers: statuses of samples, and the protocol of results.

A tracker goes from one sample of sensors to the next along a straight line, in steps that are proven to stay regular.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol

import numpy as np

from .arrays import Array

# Codes that kernels write.
TRACKED, NOT_FINITE, NOT_POSITIVE, LEG_LIMIT, SINGULAR, NO_POSE, TOO_FAR, AMBIGUOUS, OUT_OF_REACH = range(9)

#: Of these, what no sample within its errors can be: certificates rest on something that is wrong.
CONTRADICTIONS = (NOT_POSITIVE, LEG_LIMIT, NO_POSE, OUT_OF_REACH)


class TrackingStatus(IntEnum):
    """Certainty of a pose, or the reason why it is the last good one and not that of the given lengths."""

    TRACKED = TRACKED
    """The pose belongs to the lengths; with a bound of the speed it is certified."""
    NOT_FINITE = NOT_FINITE
    """A length is NaN or infinite."""
    NOT_POSITIVE = NOT_POSITIVE
    """A length is zero or negative."""
    LEG_LIMIT = LEG_LIMIT
    """A length lies outside the limits of its leg."""
    SINGULAR = SINGULAR
    """The way to the lengths meets a singularity: the branch ends there or meets others, and cannot be followed."""
    NO_POSE = NO_POSE
    """The branch ends before the lengths are reached, and no pose near has these lengths."""
    TOO_FAR = TOO_FAR
    """The lengths are so far away that more proven steps are needed than ``max_steps`` allows."""
    AMBIGUOUS = AMBIGUOUS
    """Other poses with these lengths were within reach, or cannot be excluded: see the candidates."""
    OUT_OF_REACH = OUT_OF_REACH
    """No pose with these lengths was within reach: a length, the time or the bound of the speed is wrong."""


#: To look it up costs a fifth of what the enumeration takes.
STATUS_OF_CODE = {float(status): status for status in TrackingStatus}


def uncertify(rows: Array, status: int, certified: int, refuted: bool) -> bool:
    """Certify nothing in rows of results from the first that contradicts on, or where that was before; return whether.

    `status` and `certified` are columns.
    """
    against = np.isin(rows[:, status], CONTRADICTIONS)
    if refuted or against.any():
        rows[0 if refuted else int(against.argmax()) :, certified] = 0.0
        return True
    return False


class Tracked(Protocol):
    """Result of a tracker for a sample."""

    @property
    def valid(self) -> bool:
        """Whether what is tracked belongs to the sample."""

    @property
    def status(self) -> TrackingStatus:
        """Outcome of the sample."""

    @property
    def continued(self) -> bool:
        """Whether it is the end of the regular straight line from the last good sample."""

    @property
    def certified(self) -> bool:
        """Whether nothing else was within reach."""

    @property
    def message(self) -> str:
        """The outcome, in a sentence."""
