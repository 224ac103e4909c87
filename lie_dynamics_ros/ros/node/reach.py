"""Whether a process can still be reached: stuck callbacks, DDS that is stuck, and networks that came later are told.

Fast DDS looks for networks once, when a participant is made; and it can lock up for good where others leave while it
announces itself: then it goes on with those it knows until they take it for gone, and hears of nobody else.
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
from .newcomers import Newcomers

DEAF = 20.0
"""A process that has not announced itself for so long [s] is taken for gone by the others (default of Fast DDS)."""
LOOK = 5.0
"""Between two looks [s]; each takes a third of a millisecond."""

END_WHEN_DEAF = Setting(
    "end_when_deaf",
    False,
    "End with exit code 1, for a supervisor to start the process again, where DDS no longer announces it, nothing is "
    "heard and DDS leaves a network out, or a callback does not return; otherwise this is only told.",
    "at start",
)

_ADDRESS, _FLAGS, _RUNNING = 0x8915, 0x8913, 0x41


class Reach:
    """Looks every `LOOK` from the loop that spins, and counts looks, so that a process that was frozen raises no alarm.

    Parameters
    ----------
    newcomers : Newcomers
        Hears what DDS announces.
    nodes : sequence of Node
        Callbacks are watched while all are active: a transition may take long.
    end : bool
        Whether to end the process where a callback does not return for `DEAF`; its stack is printed either way.

    Attributes
    ----------
    deaf : str
        Why nobody hears this process any more; empty where that is not so.
    left_out : str
        Names the networks that DDS does not use; empty where it uses all.
    """

    def __init__(self, newcomers: Newcomers, nodes: Sequence[Node], end: bool) -> None:
        self._newcomers, self._nodes, self._end = newcomers, nodes, end
        self._known = networks()
        self._next, self._silent, self._apart = 0.0, 0, 0
        self.deaf = self.left_out = ""

    def look(self) -> None:
        """Look, where it is time to."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + LOOK
        if all_active(self._nodes):
            faulthandler.dump_traceback_later(DEAF, exit=self._end)  # needs no Python to run, which may be stuck
        else:
            self.rest()
        heard = self._newcomers.take_heard()
        self._silent = 0 if heard is None or heard else self._silent + 1
        self.deaf = self.left_out = ""
        if self._silent * LOOK >= DEAF:
            self.deaf = (
                f"DDS has not announced this process for {self._silent * LOOK:.0f} s: it is stuck, or without network. "
                "Others take it for gone"
            )
        late = networks() - self._known
        if late:
            names = ", ".join(f"{name} ({address})" for name, address in sorted(late))
            self.left_out = f"DDS does not use {names}, up only since this process was started: start it again"
        hear = all(node.hears() for node in self._nodes if hasattr(node, "hears"))
        self._apart = self._apart + 1 if late and not hear else 0

    def rest(self) -> None:
        """Watch no callback until the next look: this one may take long."""
        faulthandler.cancel_dump_traceback_later()

    @property
    def reason_to_end(self) -> str:
        """Why starting the process again is better than to go on; empty where it is not."""
        return self.deaf or (self.left_out if self._apart * LOOK >= DEAF else "")


def all_active(nodes: Sequence[Node]) -> bool:
    """Tell whether all nodes that have a lifecycle are active."""
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
