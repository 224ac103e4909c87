"""How each kind of disturbance is done, and from when on answers are due again."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass

from .link import Link
from .processes import Processes
from .schedule import NODES, Disturbance

LIMITS = {"driver killed": 0.3, "link cut": 0.1}
"""Longest time to the first answer that is allowed [s]."""


@dataclass
class Event:
    """What was done.

    Attributes
    ----------
    what : Disturbance
        As drawn.
    begin, due, end : int
        When it began, from when on answers were due again, and when all was as before [ns].
    nodes : tuple of str
        Whom it concerned.
    """

    what: Disturbance
    begin: int
    due: int
    end: int
    nodes: tuple[str, ...]


def disturb(what: Disturbance, processes: Processes, link: Link) -> Event | None:
    """Do it; None where it cannot be done."""
    if what.kind == "link cut" and link.reason:
        return None
    begin, nodes = time.time_ns(), NODES
    if what.kind in ("node frozen", "node restarted"):
        nodes = (what.node,)
    due = _KINDS[what.kind](what, processes, link)
    return Event(what, begin, due or begin, time.time_ns(), nodes)


def _cut(what: Disturbance, _: Processes, link: Link) -> int:
    link.set(up=False)
    try:
        time.sleep(what.lasts)
    finally:
        due = time.time_ns()
        link.set(up=True)
    return due


def _kill(what: Disturbance, processes: Processes, _: Link) -> int:
    processes.finish("driver", signal.SIGKILL)
    time.sleep(what.lasts)
    processes.start("driver")
    return processes.first_state()


def _freeze(name: str, lasts: float, processes: Processes) -> int:
    processes.signal(name, signal.SIGSTOP)
    try:
        time.sleep(lasts)
    finally:
        due = time.time_ns()
        processes.signal(name, signal.SIGCONT)
    return due


def _restart(what: Disturbance, processes: Processes, _: Link) -> int:
    processes.finish(what.node, signal.SIGINT)
    due = time.time_ns()
    processes.start(what.node)
    processes.active(what.node)  # what is disturbed next is to find it at work, and DDS the link that it starts with
    return due


def _jump(what: Disturbance, processes: Processes, _: Link) -> int:
    processes.tell_driver("offset", what.shift)
    time.sleep(what.lasts)
    due = time.time_ns()
    processes.tell_driver("offset", 0.0)
    return due


def _another(what: Disturbance, processes: Processes, _: Link) -> int:
    processes.tell_driver("describe", "other")
    time.sleep(what.lasts)
    processes.tell_driver("describe", "own")
    return 0


_KINDS = {
    "link cut": _cut,
    "driver killed": _kill,
    "node frozen": lambda what, processes, _: _freeze(what.node, what.lasts, processes),
    "driver frozen": lambda what, processes, _: _freeze("driver", what.lasts, processes),
    "node restarted": _restart,
    "driver's clock jumps": _jump,
    "second publisher": lambda what, processes, _: processes.intrude(what),
    "described again": lambda _, processes, __: processes.tell_driver("describe", "own"),
    "another robot": _another,
}
