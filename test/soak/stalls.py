"""When the machine itself stood still: late wake-ups of threads above all others, one on each processor.

No ROS, no network, no files but its record. What wakes late here could have been answered by nobody: the host did not
run this processor, or its kernel did not schedule it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

from .meanwhile import meanwhile

PRIORITY = 90
"""Above all that a run starts."""
PERIOD = 0.002
LATE = 0.01
"""Later wake-ups are written down [s]."""


def watch(processor: int, file: Path) -> None:
    """Sleep and wake on one processor until killed; append the begin and end [ns] of each sleep that was too long."""
    os.sched_setaffinity(0, {processor})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    parent = os.getppid()
    before = time.time_ns(), time.monotonic_ns()
    while os.getppid() == parent:
        time.sleep(PERIOD)
        now = time.time_ns(), time.monotonic_ns()
        if now[1] - before[1] > (PERIOD + LATE) * 1e9 or abs(now[0] - before[0]) > (PERIOD + LATE) * 1e9:
            with file.open("a", encoding="utf-8") as record:
                record.write(json.dumps([processor, before[0], now[0]]) + "\n")
            now = time.time_ns(), time.monotonic_ns()
        before = now


def watchers(file: Path) -> AbstractContextManager[None]:
    """Watch all processors of this process, each in a process of its own, until the context ends."""
    processors = sorted(os.sched_getaffinity(0))
    return meanwhile([sys.executable, "-m", "soak.stalls", str(number), str(file)] for number in processors)


def main() -> int:
    """Watch the processor that the command line names, into the file that it names."""
    try:
        watch(int(sys.argv[1]), Path(sys.argv[2]))
    except PermissionError as error:
        print(f"without real-time scheduling nobody tells when the machine stood still: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
