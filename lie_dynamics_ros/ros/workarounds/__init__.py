"""Workarounds for faults of the middleware, each of which can go once its fault is mended upstream.

`shutdown`
    Mends: Fast DDS (2.14 to 3.2) can wait for itself for ever where several participants leave at once.
    Buys: a process that hangs ends after 4.5 s, with the exit code that it would have had.
    Can go: once no end hangs where many nodes leave at once. Upstream: eProsima/Fast-DDS.
`shared_memory`
    Mends: Fast DDS (2.14 to 3.2) waits in silence for a file that a killed process left unfinished.
    Buys: a message with the file's name and the remedy.
    Can go: once Fast DDS has a time limit there. Upstream: eProsima/Fast-DDS.

The environment variable ``LIE_DYNAMICS_ROS_WORKAROUNDS=0`` switches all of them off.
"""

from __future__ import annotations

import os

SWITCH = "LIE_DYNAMICS_ROS_WORKAROUNDS"
"""Environment variable that switches the workarounds off where it is 0."""


def enabled() -> bool:
    """Return whether the workarounds are in use."""
    return os.environ.get(SWITCH, "1") != "0"
