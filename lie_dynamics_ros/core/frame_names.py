"""Names of links in messages, where several robots of one description have a prefix each."""

from __future__ import annotations

from ..lie_dynamics.texts import quoted
from .errors import MessageError, ParameterError

FRAMES = "frames"
"""Kind of message, under which those that name a frame of another robot are counted."""


def link_of(frame: str, prefix: str) -> str:
    """Return the link that a frame of a message stands for; empty for none.

    A slash before it, as older nodes send, counts as none.

    Raises
    ------
    MessageError
        It does not begin with the prefix of this robot's frames.
    """
    frame = frame.removeprefix("/")
    if frame and not frame.startswith(prefix):
        raise MessageError(FRAMES, f"the frame {quoted(frame)}; expected one that begins with {quoted(prefix)}")
    return frame.removeprefix(prefix)


def check_prefix(prefix: str) -> None:
    """Raise ParameterError for a ``frame_prefix`` that no frame may begin with."""
    if prefix.startswith("/"):
        raise ParameterError(f"frame_prefix is {quoted(prefix)}; expected none with a leading slash")
