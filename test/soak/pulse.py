"""When nothing passed the link: small datagrams sent across it steadily, without ROS, and noted where they cease."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

from .link import DRIVER, NODES, SIDES, Link
from .meanwhile import meanwhile

PORT = 7213
PERIOD = 0.002
LATE = 0.02
"""Longer silences are written down [s]."""
PRIORITY = 80


def send() -> None:
    """Send from the driver's side until killed."""
    target = SIDES[NODES].partition("/")[0], PORT
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        while True:
            with contextlib.suppress(OSError):  # the cable is out
                way.sendto(b"pulse", target)
            time.sleep(PERIOD)


def listen(file: Path) -> None:
    """Append the begin and end [ns] of each silence, heard on the nodes' side, until killed."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        way.bind(("", PORT))
        before = 0
        while True:
            way.recv(16)
            now = time.time_ns()
            if before and now - before > LATE * 1e9:
                with file.open("a", encoding="utf-8") as record:
                    record.write(json.dumps([before, now]) + "\n")
            before = now


def pulse(link: Link, file: Path) -> AbstractContextManager[None]:
    """Send and listen in processes of their own until the context ends. Nothing where there is no link."""
    sides = () if link.reason else ((NODES, [str(file)]), (DRIVER, []))
    return meanwhile([*link.prefix(side), sys.executable, "-m", "soak.pulse", *words] for side, words in sides)


if __name__ == "__main__":
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    listen(Path(sys.argv[1])) if sys.argv[1:] else send()
