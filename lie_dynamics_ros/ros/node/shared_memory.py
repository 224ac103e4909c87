"""What killed processes leave of the shared memory of Fast DDS, on which others would wait for ever."""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
OF_A_PORT = re.compile(r"fast(dds|rtps)_port\d+")
"""Files that processes of all domains share; a number is taken by whoever comes first."""
SEGMENT_MADE = 2
"""What a file begins with once it is made; less before."""
LONGEST_MAKING = 5.0
"""For which one is being made [s]; it takes a millisecond."""


def remove_unfinished(place: Path = SHARED_MEMORY) -> list[str]:
    """Remove what was begun and never finished, because whoever made it was killed; returns the names.

    Fast DDS (2.14 and 3.2) waits in `rclpy.init` or while a node is made, without a word, until such a file is
    finished. Those of other users are left alone.
    """
    found = []
    try:
        files = [file for file in os.scandir(place) if OF_A_PORT.fullmatch(file.name)]
    except OSError:  # no such place: no shared memory
        return []
    for file in files:
        try:
            if _is_unfinished(file):
                os.unlink(file.path)
                found.append(file.name)
        except OSError:
            continue  # it has gone, or is another user's
    return sorted(found)


def _is_unfinished(file: os.DirEntry[str]) -> bool:
    status = file.stat(follow_symlinks=False)
    ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()
    if not ours or time.time() - status.st_mtime < LONGEST_MAKING:
        return False
    with open(file.path, "rb") as content:
        return int.from_bytes(content.read(4), sys.byteorder) < SEGMENT_MADE
