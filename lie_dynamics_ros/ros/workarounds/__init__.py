"""Workarounds for faults and costs of the middleware, each of which can go once that is mended upstream.

`shutdown`
    Mends: Fast DDS (2.14 to 3.2) can wait for itself for ever where several participants leave at once.
    Upstream: https://github.com/eProsima/Fast-DDS/issues/6193 (open), which sees it in one end of ten.
    Buys: a process that hangs ends after 4.5 s, with the exit code that it would have had.
    Can go: once that is closed, and no end hangs where many nodes leave at once.
`shared_memory`
    Mends: Fast DDS (2.14 to 3.2) waits in silence for a file that a killed process left unfinished.
    Upstream: https://github.com/eProsima/Fast-DDS/issues/2051 (open) is alike.
    Buys: a message with the file's name and the remedy, before DDS is touched.
    Can go: once Fast DDS has a time limit there.
`wire.serialized`, its reading of states and trajectories
    Mends: rclpy makes Python objects of all that a message holds, and keeps the interpreter meanwhile.
    Upstream: none; it is how rclpy converts messages.
    Buys: 1.4 us in place of 38 us for a state of 7 joints; no pause of 0.2 s for a trajectory of 10,000 points.
    Can go: once `rclpy.serialization.deserialize_message` is as fast.

The environment variable ``LIE_DYNAMICS_ROS_WORKAROUNDS=0`` switches all of them off.

What costs nothing stays where it acts: finite spins, for an unlimited one of the EventsExecutor can starve, and the
usual scheduling before the end (`node.spinning`); texts too short for the deserializer of Fast DDS, which fewer bytes
can crash (`node.description_source`, `wire.serialized`).
"""

from __future__ import annotations

import os

SWITCH = "LIE_DYNAMICS_ROS_WORKAROUNDS"
"""Environment variable that switches the workarounds off where it is 0."""


def enabled() -> bool:
    """Return whether the workarounds are in use."""
    return os.environ.get(SWITCH, "1") != "0"
