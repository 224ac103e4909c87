"""Processes that run while something else does."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def meanwhile(commands: Iterable[Sequence[str]]) -> Iterator[None]:
    """Run each command in a process of its own, and kill them all at the end."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            processes.append(subprocess.Popen(command, start_new_session=True))
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
