"""Messages of a rosbag2 of unknown origin: read in a process of its own, with limits of memory, time and size."""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from ..lie_dynamics import InputError
from ..lie_dynamics.texts import quoted
from ..lie_dynamics.yaml_sections import load_yaml

#: Size of what a compressed file of a bag unpacks to, over its own: the most that is read.
MAX_RATIO = 1000
#: Largest metadata of a bag, and largest message of the types that are wanted [bytes].
MAX_METADATA, MAX_MESSAGE = 2**20, 2**20
#: Memory beyond that at the start [bytes]; processor time at least [s], and by the size of the bag [s/byte].
BAG_MEMORY, BAG_TIME, TIME_PER_BYTE = 2**28, 1.5, 5e-6

#: What Python and SQLite raise where memory ends.
_NO_MEMORY = ("MemoryError", "NoMemError")
#: A message: its topic, type, time of receipt [ns] and content as it is sent.
_Raw = tuple[str, str, int, bytes]


class BagError(InputError):
    """A bag that cannot be read, or that does not hold what is needed."""


def messages(path: str | Path, types: Sequence[str], kinds: dict[str, str]) -> Iterator[tuple[str, str, int, Any]]:
    """Yield topic, type, time of receipt [ns] and content of messages of some types; `kinds` gets all topics.

    Where the system can fork, a process of its own reads the files: it may need `BAG_MEMORY`, and time in proportion
    to what they hold.

    Raises
    ------
    BagError
        For what is no bag, is damaged, or needs more than the limits.
    """
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise BagError(f"{error}: bags are read by rosbags (pip install rosbags, the extra 'bags')") from error
    place = Path(path)
    if not place.exists():
        raise BagError(f"bag {str(path)!r}: there is no such file or folder")
    size = _size(place)
    first = place.suffix == ".bag"  # of ROS 1
    store = get_typestore(Stores.ROS1_NOETIC if first else Stores.LATEST)
    load = store.deserialize_ros1 if first else store.deserialize_cdr
    with tempfile.TemporaryDirectory(prefix="lie_dynamics_bag_") as unpacked:
        read = _read(lambda file: AnyReader([file], default_typestore=store), place, types, kinds, Path(unpacked))
        for topic, kind, stamp, raw in _apart(read, place, kinds, size) if hasattr(os, "fork") else read:
            try:
                message = load(raw, kind)
            except Exception as error:  # whatever damaged content does to a reader
                raise _unreadable(place, error) from error
            yield topic, kind, stamp, message


def _size(place: Path) -> int:
    """Return what the files of a bag take [bytes]; refuse devices, FIFOs and sockets, which block or never end."""
    total = 0
    for file in [*place.iterdir()] if place.is_dir() else [place]:
        if file.is_file():
            about = file.stat()
            total += min(about.st_size, 512 * getattr(about, "st_blocks", about.st_size) + 4096)  # holes hold nothing
        elif not file.is_dir():
            raise BagError(f"bag {str(place)!r}: {file.name!r} is a device, FIFO or socket; a regular file is expected")
    return total


def _unreadable(place: Path, error: Exception) -> BagError:
    return BagError(
        f"bag {str(place)!r} cannot be read: {type(error).__name__}: {str(error)[:500]}; "
        "where a recording was cut off, `ros2 bag reindex` may mend it"
    )


def _read(
    opened: Callable[[Path], Any], place: Path, types: Sequence[str], kinds: dict[str, str], unpacked: Path
) -> Iterator[_Raw]:
    """Yield messages, file after file; raises BagError for whatever a damaged file does to a reader."""
    try:
        files, mode = _files(place)
        for file in files:
            whole = _unpacked(file, place, unpacked) if mode == "file" else file
            with opened(whole) as reader:
                kinds |= {c.topic: c.msgtype for c in reader.connections}
                wanted = [c for c in reader.connections if c.msgtype in types]
                for connection, stamp, raw in reader.messages(connections=wanted) if wanted else ():
                    content = _message(raw) if mode == "message" else raw
                    if len(content) > MAX_MESSAGE:
                        raise BagError(
                            f"bag {str(place)!r}: a message of {quoted(connection.topic)} has more than {MAX_MESSAGE} "
                            f"bytes, which no {connection.msgtype} has"
                        )
                    yield connection.topic, connection.msgtype, stamp, bytes(content)
    except (BagError, GeneratorExit):
        raise
    except Exception as error:
        if any(type(one).__name__ in _NO_MEMORY for one in (error, error.__cause__, error.__context__)):
            raise BagError(_beyond(place)) from error
        raise _unreadable(place, error) from error


def _beyond(place: Path) -> str:
    return (
        f"bag {str(place)!r}: it needs more than {BAG_MEMORY >> 20} MB of memory, or far more time than its size lets "
        "expect; recordings in pieces of ordinary size are expected"
    )


def _files(place: Path) -> tuple[list[Path], str]:
    """Return the recordings of a bag, in order, and what is compressed in it: "file", "message" or nothing."""
    if not place.is_dir():
        return [place], ""
    where = f"bag {str(place)!r}: metadata.yaml"
    content, _ = load_yaml(place / "metadata.yaml", lambda text: BagError(f"bag: {text}"), MAX_METADATA)
    told = content.get("rosbag2_bagfile_information") if isinstance(content, dict) else None
    names = told.get("relative_file_paths") if isinstance(told, dict) else None
    if not isinstance(told, dict) or not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BagError(f"{where} does not name the files: 'rosbag2_bagfile_information' with 'relative_file_paths'")
    mode, format = (str(told.get(f"compression_{what}") or "").lower() for what in ("mode", "format"))
    mode = "" if mode == "none" else mode
    if mode not in ("", "file", "message") or (mode and format != "zstd"):
        raise BagError(f"{where}: compression {quoted(mode)} by {quoted(format)}; files or messages by zstd expected")
    files = [place / Path(name).name for name in names]  # recorders put them there, whatever they call them
    for file in files:
        if not file.is_file():
            raise BagError(f"{where} names {quoted(file.name)}, which is not there")
    return files, mode


def _zstd() -> Any:
    """Return what rosbags unpacks with, before and from Python 3.14."""
    try:
        return import_module("compression.zstd")
    except ImportError:
        return import_module("backports.zstd")


def _message(raw: bytes) -> bytes:
    """Return what a packed message holds, of a message that is too long one byte more than may be."""
    return bytes(_zstd().ZstdDecompressor().decompress(raw, MAX_MESSAGE + 1))


def _unpacked(file: Path, place: Path, folder: Path) -> Path:
    """Return the path of what a packed file holds; refuse what is far larger than a recording can be."""
    whole, left = folder / file.stem, MAX_RATIO * file.stat().st_size
    with _zstd().open(file, "rb") as packed, whole.open("xb") as out:
        while piece := packed.read(1 << 20):
            left -= len(piece)
            if left < 0:
                raise BagError(
                    f"bag {str(place)!r}: {file.name!r} unpacks to more than {MAX_RATIO} times its size, which no "
                    "recording does"
                )
            out.write(piece)
    return whole


def _apart(read: Iterator[_Raw], place: Path, kinds: dict[str, str], size: int) -> Iterator[_Raw]:
    """Yield what an iterator yields in a process of its own, with limits, and give its topics to `kinds`."""
    near, far = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of other threads: the new process calls none of theirs
        child = os.fork()
    if child == 0:
        try:
            os.close(near)
            with open(far, "wb", 1 << 16) as out:
                _tell(out, read, kinds, size)
        finally:
            os._exit(0)
    os.close(far)
    try:
        with open(near, "rb", 1 << 16) as told:
            while (answer := _next(told)) is not True:
                if isinstance(answer, tuple):
                    yield answer
                elif isinstance(answer, dict):
                    kinds |= answer
                else:
                    raise BagError(answer or _beyond(place))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _tell(out: BinaryIO, read: Iterator[_Raw], kinds: dict[str, str], size: int) -> None:
    """Write topics before their messages, and at the end True or what is wrong, within the limits."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, max(BAG_TIME, TIME_PER_BYTE * size))  # of the processor; it ends the process
    _limit("RLIMIT_CORE", 0)
    statm = Path("/proc/self/statm")
    if statm.exists():  # else memory has no limit
        _limit("RLIMIT_AS", int(statm.read_bytes().split()[0]) * os.sysconf("SC_PAGE_SIZE") + BAG_MEMORY)
    known = 0
    try:
        for one in read:
            if len(kinds) > known:
                known = len(kinds)
                pickle.dump(kinds, out)
            pickle.dump(one, out)
        pickle.dump(kinds, out)
        pickle.dump(True, out)
    except BagError as error:
        pickle.dump(str(error), out)


def _limit(name: str, most: int) -> None:
    """Limit what this process may use, further than it is."""
    import resource

    what = getattr(resource, name)
    given = [one for one in resource.getrlimit(what) if one != resource.RLIM_INFINITY]
    resource.setrlimit(what, (min(most, *given), min(most, *given)) if given else (most, most))


def _next(told: BinaryIO) -> Any:
    """Return what comes next from a process, None where it ended."""
    try:
        return pickle.load(told)
    except (EOFError, pickle.UnpicklingError):
        return None
