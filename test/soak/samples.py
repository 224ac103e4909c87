"""Memory, processor time and faults of the processes of a run, once a second whatever else goes on."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from types import TracebackType

from .processes import Processes

PERIOD = 1.0
"""Between two samples [s]."""
Sample = tuple[int, int, float, float, int]
"""Time [ns], process id, resident memory [MB], processor time [s], page faults that read from disk; since its start."""


class Sampler:
    """A thread that samples; a context manager that ends it.

    Parameters
    ----------
    processes : Processes
    found : dict
        Where the samples go, by the name of the process.
    """

    def __init__(self, processes: Processes, found: dict[str, list[Sample]]) -> None:
        self._processes, self._found = processes, found
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._end.wait(PERIOD):
            for name, samples in self._found.items():
                try:
                    samples.append(sample(self._processes.process_id(name)))
                except (FileNotFoundError, ProcessLookupError):
                    continue  # it has just ended

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()


def sample(process: int) -> Sample:
    """Take one."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    ticks = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return time.time_ns(), process, int(fields[21]) * os.sysconf("SC_PAGE_SIZE") * 1e-6, ticks, int(fields[9])
