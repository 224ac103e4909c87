"""Phases of nodes that command, in one set of words."""

from __future__ import annotations

OFF, HOLDING, FOLLOWING, STOPPING, STOPPED = "off", "holding", "following", "stopping", "stopped"
YIELDING = "yielding"
PHASES = (OFF, HOLDING, FOLLOWING, STOPPING, STOPPED, YIELDING)
UNTIL_HOLD = (STOPPING, STOPPED, YIELDING)
"""In which nothing is followed until ~/hold is called."""
