"""Errors that end the demo early."""

from __future__ import annotations


class ShortfallError(Exception):
    """Something fell short; the message says what."""
