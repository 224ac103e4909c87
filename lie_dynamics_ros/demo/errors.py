"""Errors that end the demo early."""

from __future__ import annotations


class ShortfallError(Exception):
    """A figure fell short, named in the message."""
