"""Files that nobody else can have written, opened so that a switch between the look and the use is of no use.

What is compiled is kept on disk and executed by the next process. So it is read from a folder only that belongs to the
user of the process, where neither group nor others may write, and that is reached by no symbolic link; likewise the
folders in it, and each file. Everything is opened relative to the folder that was checked before it, never by a path
looked up again, and checked by what was opened.
"""

from __future__ import annotations

import contextlib
import os
import stat
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NoReturn

_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_told: set[str] = set()


class CacheWarning(UserWarning):
    """Compiled code on disk that is not used, since somebody else may have written it."""


class UntrustedError(OSError):
    """A folder or file that somebody else may have written."""


def supported() -> bool:
    """Tell whether this system can open files as the module says."""
    return os.open in os.supports_dir_fd and hasattr(os, "geteuid") and hasattr(os, "O_NOFOLLOW")


@contextlib.contextmanager
def opened_folder(root: Path, *names: str) -> Iterator[int]:
    """Yield a descriptor of the folder `names` below the root, each on the way to it checked.

    Raises
    ------
    UntrustedError
        If the root or a folder is a symbolic link, belongs to somebody else, or others may write to it; reported once.
    OSError
        If one of them does not exist or cannot be opened.
    """
    with contextlib.ExitStack() as stack:
        path = root
        here = _opened(str(root), path, None, "folder")
        stack.callback(os.close, here)
        for name in names:
            path /= name
            here = _opened(name, path, here, "folder")
            stack.callback(os.close, here)
        yield here


def read(root: Path, folder: str, name: str) -> bytes:
    """Return what a file holds; raises as `opened_folder`, for the file too."""
    with opened_folder(root, folder) as here:
        descriptor = _opened(name, root / folder / name, here, "regular file")
        with open(descriptor, "rb") as file:
            return file.read()


@contextlib.contextmanager
def written(root: Path, folder: str, name: str) -> Iterator[BinaryIO]:
    """Yield a new file of the user alone, which takes the place of the file of that name when it is complete."""
    with opened_folder(root, folder) as here:
        temporary = f"{name}.{uuid.uuid4().hex}.tmp"
        try:
            with open(os.open(temporary, _WRITE, 0o600, dir_fd=here), "wb") as file:
                yield file
            os.replace(temporary, name, src_dir_fd=here, dst_dir_fd=here)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=here)
            raise


def make_folder(root: Path, name: str) -> bool:
    """Make a folder of the user alone below the root; return whether it is new."""
    with opened_folder(root) as here:
        try:
            os.mkdir(name, 0o700, dir_fd=here)
        except FileExistsError:
            return False
        return True


def folders(root: Path) -> dict[str, float]:
    """Return the names of what lies in the root, and when each was changed [s since 1970]."""
    found = {}
    with opened_folder(root) as here:
        for name in os.listdir(here):
            with contextlib.suppress(OSError):  # another process was faster
                found[name] = os.stat(name, dir_fd=here, follow_symlinks=False).st_mtime
    return found


def remove_folder(root: Path, name: str) -> None:
    """Remove a folder of files below the root, as far as that can be done; what others may have written stays."""
    with contextlib.suppress(OSError), opened_folder(root) as here:
        inside = _opened(name, root / name, here, "folder")
        try:
            for file in os.listdir(inside):
                os.unlink(file, dir_fd=inside)
        finally:
            os.close(inside)
        os.rmdir(name, dir_fd=here)


def tell_once(message: str) -> None:
    """Warn of something, in each process once."""
    if message not in _told:
        _told.add(message)
        warnings.warn(message, CacheWarning, stacklevel=2)


def _opened(name: str, path: Path, folder: int | None, kind: str) -> int:
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except OSError:
        if _is_link(name, folder):
            _refuse(path, "it is a symbolic link", f"remove it: rm '{path}'")
        raise
    try:
        _judge(os.fstat(descriptor), path, kind)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _is_link(name: str, folder: int | None) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _judge(status: os.stat_result, path: Path, kind: str) -> None:
    right = stat.S_ISDIR if kind == "folder" else stat.S_ISREG
    if not right(status.st_mode):
        _refuse(path, f"it is no {kind}", f"remove it: rm -r '{path}'")
    if status.st_uid != os.geteuid():
        owners = f"user {status.st_uid}, and this process runs as user {os.geteuid()}"
        _refuse(path, f"it belongs to {owners}", "remove it, or name a folder of your own")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = stat.S_IMODE(status.st_mode)
        _refuse(path, f"its group or others may write to it (mode {mode:o})", f"take that back: chmod go-w '{path}'")


def _refuse(path: Path, problem: str, remedy: str) -> NoReturn:
    message = (
        f"compiled kernels in {path} are not used, since somebody else may have made them: {problem}; {remedy} (or "
        "choose another folder by LIE_DYNAMICS_CACHE_DIR). Until then they are compiled anew"
    )
    tell_once(message)
    raise UntrustedError(message)
