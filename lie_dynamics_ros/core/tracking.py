"""Answers of nodes to statuses of samples from trackers of any kind."""

from __future__ import annotations

from ..lie_dynamics.tracking import TrackingStatus

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
"""Choices for answers that are AMBIGUOUS."""
