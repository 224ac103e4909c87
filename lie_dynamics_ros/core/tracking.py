"""Statuses of samples from trackers of any kind, and the nodes' answers to them."""

from __future__ import annotations

from typing import Protocol

from ..lie_dynamics.stewart import TrackingStatus

KINDS = {
    TrackingStatus.NOT_FINITE: "not finite",
    TrackingStatus.NOT_POSITIVE: "not positive",
    TrackingStatus.LEG_LIMIT: "outside leg limits",
    TrackingStatus.SINGULAR: "singularity",
    TrackingStatus.NO_POSE: "no such pose",
    TrackingStatus.TOO_FAR: "too far",
    TrackingStatus.AMBIGUOUS: "ambiguous",
    TrackingStatus.OUT_OF_REACH: "out of reach",
}
"""Names under which what is not answered is counted."""

WITHHOLD, PUBLISH = "withhold", "publish"
"""What may become of what is AMBIGUOUS."""


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
