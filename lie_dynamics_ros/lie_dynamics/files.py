"""Files that users name: regular ones only, of limited size, and nothing that can block."""

from __future__ import annotations

import errno
import os
import stat


def read_file(path: str | os.PathLike[str], max_size: int) -> bytes:
    """Return what a regular file holds.

    Devices, FIFOs, sockets and folders are refused before they are opened and, in case of a switch, after. Links are
    followed: installed packages consist of them.

    Raises
    ------
    OSError
        If there is no such regular file, it cannot be read, or it holds more than `max_size` bytes; `strerror` says
        which, without quoting what the file holds.
    """
    try:
        _refuse_special(os.stat(path))
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except ValueError as error:  # a null character in the path
        raise OSError(errno.EINVAL, str(error)) from None
    try:
        _refuse_special(os.fstat(descriptor))
        parts: list[bytes] = []
        missing = max_size + 1
        while missing > 0 and (part := os.read(descriptor, min(missing, 1 << 20))):
            parts.append(part)
            missing -= len(part)
    finally:
        os.close(descriptor)
    if missing <= 0:
        raise OSError(errno.EFBIG, f"it holds more than {max_size} bytes, the most that is read")
    return b"".join(parts)


def _refuse_special(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is a device, FIFO or socket, and a regular file is expected")
