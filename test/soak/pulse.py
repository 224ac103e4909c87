"""When nothing passed the link: small datagrams sent across it steadily, without ROS, and noted where they cease."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

from .link import DRIVER, NODES, SIDES, Link

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


class Pulse:
    """Sends and listens in processes of its own; a context manager that ends them. Nothing where there is no link."""

    def __init__(self, link: Link, file: Path) -> None:
        self._link, self._file = link, file
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Pulse:
        if not self._link.reason:
            for side, words in ((NODES, [str(self._file)]), (DRIVER, [])):
                command = [*self._link.prefix(side), sys.executable, "-m", "soak.pulse", *words]
                self._processes.append(subprocess.Popen(command, start_new_session=True))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    listen(Path(sys.argv[1])) if sys.argv[1:] else send()
