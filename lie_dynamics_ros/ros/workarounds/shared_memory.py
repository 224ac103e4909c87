"""Unfinished files of Fast DDS in shared memory, for which every later process waits without a word."""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
PORT_FILE = re.compile(r"fast(dds|rtps)_port\d+")
"""Files that processes of all domains share; a number is taken by whoever comes first."""
FINISHED = 2
"""The first word of a finished file; smaller before."""
LONGEST_CREATION = 5.0
"""Age from which an unfinished file counts as abandoned [s]; to create one takes a millisecond."""


def unfinished_files(place: Path = SHARED_MEMORY) -> list[str]:
    """Return the paths of abandoned files, of all users, sorted.

    Fast DDS (2.14 and 3.2) waits in `rclpy.init`, or while a node is created, until such a file is finished.
    """
    try:
        files = [file for file in os.scandir(place) if PORT_FILE.fullmatch(file.name)]
    except OSError:  # no such place: no shared memory
        return []
    return sorted(file.path for file in files if _is_unfinished(file))


def warning(place: Path = SHARED_MEMORY) -> str:
    """Return a message that names the abandoned files, their owners and the remedy; empty where there are none."""
    files = unfinished_files(place)
    if not files:
        return ""
    owners = ", ".join(f"{file} (user {os.stat(file).st_uid})" for file in files if os.path.exists(file))
    return (
        f"a killed process left unfinished files in shared memory: {owners}. Fast DDS may wait for them without end; "
        "run 'fastdds shm clean' as their owner, or remove them"
    )


def _is_unfinished(file: os.DirEntry[str]) -> bool:
    try:
        status = file.stat(follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode) or time.time() - status.st_mtime < LONGEST_CREATION:
            return False
        with open(file.path, "rb") as content:
            return int.from_bytes(content.read(4), sys.byteorder) < FINISHED
    except OSError:  # it has gone, or only its owner may read it
        return False
