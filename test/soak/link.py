"""A network link that can be cut: two namespaces of the run's own, with a cable between them."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType

MARK = "soak"
DRIVER, NODES = "driver", "nodes"
SIDES = {DRIVER: "10.213.7.1/24", NODES: "10.213.7.2/24"}
PATIENCE = 10.0
"""Longest wait for the link to carry [s]."""


class Link:
    """Two network namespaces with a veth pair; a context manager that removes them.

    Attributes
    ----------
    reason : str
        Why there is none, where the system does not allow it.
    """

    def __init__(self) -> None:
        self.reason = ""
        self._made: list[str] = []
        urgent = ["chrt", "--fifo", "60"]
        granted = shutil.which("chrt") and subprocess.run([*urgent, "true"], capture_output=True, check=False)
        self._urgent = urgent if granted and not granted.returncode else []

    def __enter__(self) -> Link:
        try:
            _remove_orphans()
            self._make()
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", "") or str(error)
            self.reason = said.strip().splitlines()[-1]
            self._remove()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def prefix(self, side: str) -> list[str]:
        """Return what to put before a command that is to run on this side."""
        return ["ip", "netns", "exec", _name(side)] if self._made else []

    def set(self, up: bool) -> None:
        """Plug the cable in, or pull it out, on the driver's side, however busy the machine is."""
        change = ["ip", "-n", _name(DRIVER), "link", "set", DRIVER, "up" if up else "down"]
        subprocess.run([*self._urgent, *change], capture_output=True, text=True, check=True)

    def _make(self) -> None:
        for side in SIDES:
            _ip("netns", "add", _name(side))
            self._made.append(_name(side))
        a, b = SIDES
        _ip("link", "add", a, "netns", _name(a), "type", "veth", "peer", "name", b, "netns", _name(b))
        for side, address in SIDES.items():
            _ip("-n", _name(side), "addr", "add", address, "dev", side)
            for device in ("lo", side):
                _ip("-n", _name(side), "link", "set", device, "up")
            # A lost question for the other side's hardware address is asked again after 1 s otherwise.
            _ip("-n", _name(side), "ntable", "change", "name", "arp_cache", "dev", side, "retrans", "10")
        for side in SIDES:
            _wait_up(side)

    def _remove(self) -> None:
        while self._made:
            subprocess.run(["ip", "netns", "del", self._made.pop()], capture_output=True, check=False)


def _name(side: str) -> str:
    return f"{MARK}-{os.getpid()}-{side}"


def _wait_up(side: str) -> None:
    """Wait until the system takes a side's end of the link for usable: DDS passes over those that are not yet."""
    end = time.monotonic() + PATIENCE
    while " state UP " not in _ip("-n", _name(side), "-oneline", "link", "show", "dev", side):
        if time.monotonic() > end:
            raise OSError(f"the link has not come up on the {side}'s side after {PATIENCE:g} s")
        time.sleep(0.01)


def _ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=True).stdout


def _remove_orphans() -> None:
    """Remove what runs left behind that were killed: namespaces of processes that are no more."""
    folder = Path("/run/netns")
    for path in folder.glob(f"{MARK}-*-*") if folder.is_dir() else ():
        process = path.name.split("-")[1]
        if process.isdigit() and not Path("/proc", process).exists():
            subprocess.run(["ip", "netns", "del", path.name], capture_output=True, check=False)
