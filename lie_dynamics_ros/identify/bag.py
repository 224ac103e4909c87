"""Joint positions and efforts of a rosbag2, evenly sampled, without a ROS installation."""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
import warnings
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..lie_dynamics import InputError, Model
from ..lie_dynamics.arrays import Array
from ..lie_dynamics.texts import listed, quoted
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


STATES = "sensor_msgs/msg/JointState"
COMMANDS = "std_msgs/msg/Float64MultiArray"
#: Periods without a state that end a stretch of the recording.
GAP = 20
#: States of a topic that are read: half an hour at 1 kHz, which bounds the memory.
MOST_STATES = 2_000_000
#: What stamps go back by where a clock was set or a recording started anew [ns], and the pause that is put there.
BACK, PAUSE = 10**9, 10**10
#: Jitter of stamps over their period that is reported.
JITTER = 0.2
#: From where it is locked that a joint may be without a remark [rad, m].
AWAY = 0.01


@dataclass(frozen=True, eq=False)
class BagRecording:
    """Content of a bag for a robot."""

    time: Array  # evenly spaced, shape (n,) [s]
    q: Array  # in the order of the model, shape (n, nv)
    effort: Array  # the same
    remarks: tuple[str, ...]  # topics that were taken, their rates, and what was odd


@dataclass
class _Series:
    """Values of one joint over time, as they come."""

    time: array[float] = field(default_factory=lambda: array("d"))
    value: array[float] = field(default_factory=lambda: array("d"))

    def arrays(self) -> tuple[Array, Array]:
        """Return rising times and their values; of equal times the first."""
        times, at = np.unique(np.array(self.time), return_index=True)
        return times, np.array(self.value)[at]


def read_bag(
    path: str | Path,
    model: Model,
    states: str = "",
    efforts: str = "",
    joint_prefix: str = "",
    locked: Mapping[str, float] | None = None,
) -> BagRecording:
    """Read positions and efforts of a model's joints from a rosbag2 (sqlite3 or mcap).

    Positions come from all JointState topics together that have joints of the model, each joint from the topic that
    has it most often; efforts from the same messages where they are given, else from the commands: a JointState with
    efforts, or a Float64MultiArray with as many numbers as there are joints, which holds until the next.

    Parameters
    ----------
    path : str or path
        Folder of the bag, or an mcap file.
    model : Model
    states, efforts : str
        Topics to take, where there are several; chosen when empty.
    joint_prefix : str
        Before the names of joints in the bag.
    locked : mapping of str to float, optional
        Joints that the model has locked, and where: a remark names those that are elsewhere.

    Raises
    ------
    BagError
        For what is no bag, and joints without positions or efforts; names them, and the topics there are.
    """
    positions: dict[tuple[str, str], _Series] = {}
    pushes: dict[tuple[str, str], _Series] = {}
    names = [joint_prefix + name for name in model.joint_names]
    welds = {joint_prefix + name: place for name, place in (locked or {}).items()}
    told_of = {*names, *welds}
    remarks: list[str] = []
    last: dict[tuple[str, ...], int] = {}
    count: dict[str, int] = {}
    kinds: dict[str, str] = {}
    received = stamped = False
    receipt = begin = pause = 0  # the times of receipt and of the stamp that count as zero
    for topic, kind, stamp, message in messages(path, (STATES, COMMANDS), kinds):
        if kind == COMMANDS:
            # Where stamps are those of a simulation, receipts are put on its clock by the first message that has both.
            receipt = receipt or stamp
            if len(message.data) == len(names) and (not efforts or topic == efforts):
                for name, value in zip(names, message.data, strict=True):
                    _add(pushes, (topic, name), 1e-9 * (stamp - receipt + pause), float(value))
            continue
        if told_of.isdisjoint(message.name):
            continue
        count[topic] = count.get(topic, 0) + 1
        if count[topic] > MOST_STATES:
            remarks.append(f"only the first {MOST_STATES} states are taken")
            break
        told = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        received |= told == 0
        receipt = receipt or stamp
        source = (topic, *message.name[:1])
        back = bool(told) and told < last.get(source, told) - BACK
        pause += PAUSE if back else 0  # so that no stretch holds the states before and after
        if told and (back or not stamped):
            stamped, begin = True, told - (stamp - receipt)
        last[source] = told or last.get(source, 0)
        time = 1e-9 * ((told - begin if told else stamp - receipt) + pause)
        for k, name in enumerate(message.name):
            if name not in told_of:
                continue
            if k < len(message.position) and (not states or topic == states):
                _add(positions, (topic, name), time, float(message.position[k]))
            if k < len(message.effort) and (not efforts or topic == efforts):
                _add(pushes, (topic, name), time, float(message.effort[k]))
    there = "; ".join(f"{topic} ({kind})" for topic, kind in kinds.items()) or "none"
    q = _chosen(positions, names, "positions", there, {})
    tau = _chosen(pushes, names, "efforts", there, q)
    others = sorted({topic for topic, name in positions if name in q} - set(_topics(q)))
    if others:
        remarks.append(f"joints of the robot are published by {listed(others)}, too: --states takes another topic")
    for (_, name), own in positions.items():
        low, high = min(own.value), max(own.value)
        if name in welds and max(high - welds[name], welds[name] - low) > AWAY:
            remarks.append(f"joint {name!r} is locked at {welds[name]:g}, in the bag from {low:.3g} to {high:.3g}")
    if pause:
        remarks.append(f"stamps go back {pause // PAUSE} times: what comes after is a recording of its own")
    if received:
        remarks.append("states without stamps: times of receipt taken")
    return _even(names, q, tau, remarks)


def _add(series: dict[tuple[str, str], _Series], key: tuple[str, str], time: float, value: float) -> None:
    if np.isfinite(value):
        found = series.setdefault(key, _Series())
        found.time.append(time)
        found.value.append(value)


def _chosen(
    series: dict[tuple[str, str], _Series],
    names: Sequence[str],
    what: str,
    there: str,
    prefer: Mapping[str, tuple[str, Array, Array]],
) -> dict[str, tuple[str, Array, Array]]:
    """Return topic, times and values for each joint: of the topic preferred, else of that with most of it.

    What joints lack that have others preferred is zero, if not all do.
    """
    found: dict[str, tuple[str, Array, Array]] = {}
    for name in names:
        own = {topic: s for (topic, joint), s in series.items() if joint == name}
        alive = {topic: s for topic, s in own.items() if np.ptp(s.value) + abs(s.value[0])}
        own = alive or ({} if prefer else own)  # efforts of zero are none; a joint may stand at zero
        if not own:
            continue
        best = prefer[name][0] if prefer else ""
        topic = best if best in own else max(own, key=lambda t: len(own[t].time))
        times, values = own[topic].arrays()
        if len(times) > 2:
            found[name] = (topic, times, values)
    missing = [name for name in names if name not in found]
    if prefer and found:
        found |= {name: (*prefer[name][:2], np.zeros_like(prefer[name][2])) for name in missing}
    elif missing:
        raise BagError(f"bag: no {what} of {listed(missing)}; topics there are: {there}; --lock leaves out joints")
    return found


def _topics(found: dict[str, tuple[str, Array, Array]]) -> list[str]:
    return list(dict.fromkeys(topic for topic, _, _ in found.values()))


def _period(times: Array) -> float:
    """Return the typical time between states, several together: some come in pairs, or in bursts."""
    several = min(GAP, len(times) - 1)
    return float(np.median(times[several:] - times[:-several])) / several


def _even(
    names: Sequence[str],
    q: dict[str, tuple[str, Array, Array]],
    tau: dict[str, tuple[str, Array, Array]],
    odd: Sequence[str],
) -> BagRecording:
    """Return signals on common, even times: the longest stretch without gaps."""
    remarks = [f"positions from {_topics(q)}, efforts from {_topics(tau)}", *odd]
    periods = {name: _period(times) for name, (_, times, _) in q.items()}
    step = min(periods.values())
    steps = np.diff(q[min(periods, key=lambda name: periods[name])][1])
    jitter = float(np.quantile(np.abs(steps - step), 0.95)) / step
    remarks.append(f"{1.0 / step:.4g} states a second, jitter of stamps {100.0 * jitter:.0f} % of the period")
    if jitter > JITTER:
        remarks.append("stamps are uneven: positions are interpolated, and noisier for it")
    start = max(times[0] for _, times, _ in (*q.values(), *tau.values()))
    end = min(times[-1] for _, times, _ in (*q.values(), *tau.values()))
    measured = [name for name in names if tau[name][0] == q[name][0]]  # other efforts are commands, which hold
    gaps: set[tuple[float, float]] = set()
    for times in (*(q[name][1] for name in names), *(tau[name][1] for name in measured)):
        at = np.flatnonzero(np.diff(times) > GAP * step)
        gaps |= set(zip(times[at].tolist(), times[at + 1].tolist(), strict=True))
    edges, at_least = [], start
    for a, b in sorted(gaps | {(end, end)}):
        edges.append((at_least, min(a, end)))
        at_least = max(at_least, b)
    first, last = max(edges, key=lambda part: part[1] - part[0])
    if last <= first:
        raise BagError("bag: states and efforts are never there at the same time")
    if last - first < 0.9 * (end - start) or len(gaps) > 0:
        remarks.append(f"states are missing in between: {last - first:.1f} s of {end - start:.1f} s are taken")
    count = max(round((last - first) / step), 1)
    time = np.linspace(first, last, count + 1)
    rows = [np.interp(time, *q[name][1:]) for name in names]
    pushes = [np.interp(time, *tau[n][1:]) if n in measured else _held(time, *tau[n][1:]) for n in names]
    return BagRecording(time - time[0], np.array(rows).T, np.array(pushes).T, tuple(remarks))


def _held(time: Array, times: Array, values: Array) -> Array:
    """Return commands, each of which holds until the next."""
    return np.asarray(values[np.clip(np.searchsorted(times, time + 1e-6, "right") - 1, 0, len(times) - 1)])
