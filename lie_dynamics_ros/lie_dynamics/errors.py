"""Errors of the library: every message names the offender, the value found and what was expected."""

from __future__ import annotations

from typing import Any


class LieDynamicsError(ValueError):
    """Base of every error that the library raises on purpose.

    Attributes
    ----------
    name : str or None
        The joint, link, leg or argument that the error is about.
    value : object
        The value that was found, where there is one.
    expected : str or None
        What was expected in its place.
    """

    def __init__(
        self, message: str, *, name: str | None = None, value: Any = None, expected: str | None = None
    ) -> None:
        super().__init__(message)
        self.name = name
        self.value = value
        self.expected = expected


class InputError(LieDynamicsError):
    """An array of the wrong shape or type, or one that holds NaN or infinity."""


class GroupError(LieDynamicsError):
    """A value that is not a member of its group: not a rotation, not a rigid transform, not a unit quaternion."""


class InertiaError(LieDynamicsError):
    """An inertia that no distribution of mass can have."""


class DescriptionError(LieDynamicsError):
    """A robot description that cannot be read or does not make sense; names the link or joint."""


class SingularityError(LieDynamicsError):
    """A result that does not exist or is not unique at the given configuration."""


class SimulationError(LieDynamicsError):
    """A simulated motion that cannot go on: it leaves all bounds, or its step has no solution."""


class DescriptionWarning(UserWarning):
    """Something in a robot description that was accepted only at the caller's request."""


class StewartError(LieDynamicsError):
    """Geometry or input of a Gough-Stewart platform that cannot be used; the message names the leg and the value."""


class ArchitecturalSingularityError(StewartError):
    """A design whose legs fail to hold the platform in every pose, whatever the leg lengths."""


class TrackingError(StewartError):
    """Lengths that a tracker could not follow, raised by `TrackedPose.require` only."""


class StewartWarning(UserWarning):
    """A platform that can be used, but that behaves in a way its designer may not have meant."""
