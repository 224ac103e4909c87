"""Files that users name: read where regular and of limited size, written whole or not at all, without blocking."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def read_file(path: str | os.PathLike[str], max_size: int) -> bytes:
    """Return what a regular file holds.

    Devices, FIFOs, sockets and folders are refused before they are opened and, in case of a switch, after. Links are
    followed: installed packages consist of them. Raises OSError if there is no such regular file, it cannot be read, or
    it holds more than `max_size` bytes; `strerror` says which, without quoting what the file holds.
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


def _refuse_special(status: os.stat_result, path: str | None = None) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is a device, FIFO or socket, and a regular file is expected", path)


def write_file(path: str | os.PathLike[str], text: str | bytes) -> None:
    """Write a regular file at once: whoever opens it sees what was there before, or all of the new.

    Folders that are missing are made. A link is replaced and not followed, so that nothing outside the folder changes;
    devices, FIFOs, sockets and folders are left as they are. Raises OSError if something that is no regular file stands
    there, or the folder cannot be written; nothing is changed then.
    """
    folder, name = os.path.split(os.path.abspath(path))
    try:
        os.makedirs(folder, exist_ok=True)
    except FileExistsError:
        raise OSError(errno.ENOTDIR, "it is a file, or a link to nothing, and a folder is expected", folder) from None
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        mode = None
    else:
        if not stat.S_ISLNK(status.st_mode):
            _refuse_special(status, os.fspath(path))
        mode = stat.S_IMODE(status.st_mode) if stat.S_ISREG(status.st_mode) else None
    temporary = os.path.join(folder, f".{name[:200]}.{secrets.token_hex(8)}")
    data = text.encode("utf-8") if isinstance(text, str) else text
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def new_figure(size: tuple[float, float], layout: str | None = "constrained") -> Figure:
    """Return an empty figure of a size [inch] that is tied to no display, and that notebooks show without pyplot."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install matplotlib") from error
    figure = Figure(figsize=size, layout=layout)  # type: ignore[arg-type]
    FigureCanvasAgg(figure)
    figure._repr_png_ = lambda: png(figure, 100)  # type: ignore[attr-defined]
    return figure


def png(figure: Figure, dpi: int, tight: bool = False) -> bytes:
    """Return a figure as PNG."""
    content = BytesIO()
    box = "tight" if tight else None
    figure.savefig(content, format="png", dpi=dpi, bbox_inches=box, metadata={"Software": None})
    return content.getvalue()


def write_figure(path: str | os.PathLike[str], figure: Figure, dpi: int, tight: bool = False) -> Path:
    """Write a figure as PNG, see `write_file`, and return the path."""
    write_file(path, png(figure, dpi, tight))
    return Path(path)
