"""Errors and warnings of the Stewart room."""

from __future__ import annotations

from ..errors import LieDynamicsError


class StewartError(LieDynamicsError):
    """Geometry or input of a Gough-Stewart platform that cannot be used; the message names the leg and the value."""


class ArchitecturalSingularityError(StewartError):
    """A design whose legs fail to hold the platform in every pose, whatever the leg lengths."""


class TrackingError(StewartError):
    """Lengths that a tracker could not follow, raised by `TrackedPose.require` only."""


class StewartWarning(UserWarning):
    """A platform that can be used, but that behaves in a way its designer may not have meant."""
