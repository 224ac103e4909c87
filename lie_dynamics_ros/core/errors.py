"""Errors of the nodes; the library has its own."""

from __future__ import annotations

import re

from ..lie_dynamics import LieDynamicsError
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
"""Names under which samples of trackers are counted that are not answered, by their status."""

WITHHOLD, PUBLISH = "withhold", "publish"
"""Choices for samples that are AMBIGUOUS."""


class NodeError(ValueError):
    """Base of all errors of nodes and their cores; the message is fit for a user."""


class RobotDescriptionError(NodeError):
    """A robot description cannot be found or read."""


class ParameterError(NodeError):
    """A parameter, or a combination of parameters, makes no sense."""


class ConfigurationError(NodeError):
    """A node cannot be configured, with the reason."""


class RequestError(NodeError):
    """A service cannot answer a request, with the reason."""


class MessageError(NodeError):
    """A message cannot be used.

    Parameters
    ----------
    kind : str
        A short name under which such messages are counted in the diagnostics, such as "missing joints".
    detail : str
        What was wrong, with the names and numbers.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class WaitingError(NodeError):
    """A message was taken in, but gives no answer of its own: others do."""


COMMANDS, TRAJECTORIES = "commands", "trajectories"
"""Kinds of messages, under which those that cannot be used are counted."""

LONGEST = 500
"""Longest message: a list of names may be as long as somebody likes."""


def reason_of(error: Exception) -> str:
    """Return the text of an error for users: its message, shortened, and its kind if it is not one of this package."""
    ours = isinstance(error, (NodeError, LieDynamicsError))
    text = str(error) if ours else f"{type(error).__name__}: {error}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def start_problem(error: Exception) -> str:
    """Return one line on arguments, parameter files or parameters that ROS refuses, without its source lines.

    Most often a number lacks its decimal point, which ROS reports as two types that differ.
    """
    text = " ".join(re.sub(r", at /?\S+:\d+", "", str(error)).split()).removeprefix("failed to initialize rcl: ")
    if "Sequence should be of same type" in text or re.search("'INTEGER.*expecting type 'DOUBLE", text):
        text += " (numbers of this parameter need a decimal point: 0.0, not 0)"
    return text
