"""Connectivity of a process: callbacks that do not return, and networks that came up later.

Fast DDS looks for networks once, when a participant is made.
"""

from __future__ import annotations

import faulthandler
import fcntl
import socket
import struct
import time
from collections.abc import Sequence

from rclpy.node import Node

from ...core.setting import Setting

STUCK = 20.0
"""Time after which a callback that does not return, or a network that is left out, counts as a failure [s]."""
INTERVAL = 5.0
"""Between two checks [s]; each takes a third of a millisecond."""

END_WHEN_DEAF = Setting(
    "end_when_deaf",
    False,
    "End with exit code 1, for a supervisor to start the process again, where a callback does not return, or nothing "
    "is heard and DDS leaves a network out; otherwise this is only reported.",
    "at start",
)

_ADDRESS, _FLAGS, _RUNNING = 0x8915, 0x8913, 0x41


class ConnectivityWatchdog:
    """Checks every `INTERVAL` from the loop that spins, and counts checks, so that a frozen process raises no alarm.

    Parameters
    ----------
    nodes : sequence of Node
        Callbacks are watched while all are active: a transition may take long.
    end : bool
        Whether to end the process where a callback does not return for `STUCK`; its stack is printed either way.

    Attributes
    ----------
    left_out : str
        Names the networks that DDS does not use; empty where it uses all.
    """

    def __init__(self, nodes: Sequence[Node], end: bool) -> None:
        self._nodes, self._end = nodes, end
        self._known = networks()
        self._next, self._apart = 0.0, 0
        self.left_out = ""

    def update(self) -> None:
        """Check, where it is time to."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + INTERVAL
        if all_active(self._nodes):
            faulthandler.dump_traceback_later(STUCK, exit=self._end)  # needs no Python to run, which may be stuck
        else:
            self.pause()
        self.left_out = ""
        late = networks() - self._known
        if late:
            names = ", ".join(f"{name} ({address})" for name, address in sorted(late))
            self.left_out = f"DDS does not use {names}, up only since this process was started: start it again"
        hear = all(node.hears() for node in self._nodes if hasattr(node, "hears"))
        self._apart = self._apart + 1 if late and not hear else 0

    def pause(self) -> None:
        """Watch no callback until the next check: this one may take long."""
        faulthandler.cancel_dump_traceback_later()

    @property
    def reason_to_end(self) -> str:
        """Why starting the process again is better than to go on; empty where it is not."""
        return self.left_out if self._apart * INTERVAL >= STUCK else ""


def all_active(nodes: Sequence[Node]) -> bool:
    """Return whether all nodes that have a lifecycle are active."""
    return all(getattr(node, "state", "active") == "active" for node in nodes)


def networks() -> set[tuple[str, str]]:
    """Return names and IPv4 addresses of the networks of this machine that are up."""
    found = set()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            question = struct.pack("256s", name.encode())
            try:
                (flags,) = struct.unpack_from("H", fcntl.ioctl(asked, _FLAGS, question), 16)
                if flags & _RUNNING == _RUNNING:
                    found.add((name, socket.inet_ntoa(fcntl.ioctl(asked, _ADDRESS, question)[20:24])))
            except OSError:  # it has no address, or has just gone
                continue
    return found
