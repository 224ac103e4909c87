"""Joint positions and efforts of a rosbag2, evenly sampled, without a ROS installation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..lie_dynamics import InputError, Model
from ..lie_dynamics.texts import listed

Array = npt.NDArray[np.float64]

STATES = "sensor_msgs/msg/JointState"
COMMANDS = "std_msgs/msg/Float64MultiArray"
#: Periods without a state that end a stretch of the recording.
GAP = 20
#: Jitter of stamps over their period that is told.
JITTER = 0.2


class BagError(InputError):
    """A bag that cannot be read, or that does not hold what is needed."""


@dataclass(frozen=True, eq=False)
class BagRecording:
    """What a bag tells of a robot.

    Attributes
    ----------
    time : ndarray, shape (n,)
        Evenly spaced [s].
    q, effort : ndarray, shape (n, nv)
        In the order of the model.
    remarks : tuple of str
        Which topics were taken, their rates, and what was odd.
    """

    time: Array
    q: Array
    effort: Array
    remarks: tuple[str, ...]


@dataclass
class _Series:
    """Values of one joint over time, as they come."""

    time: list[float]
    value: list[float]

    def arrays(self) -> tuple[Array, Array]:
        """Return rising times and their values; of equal times the first."""
        times, at = np.unique(np.array(self.time), return_index=True)
        return times, np.array(self.value)[at]


def read_bag(
    path: str | Path, model: Model, states: str = "", efforts: str = "", joint_prefix: str = ""
) -> BagRecording:
    """Read positions and efforts of a model's joints from a rosbag2 (sqlite3 or mcap).

    Positions come from all JointState topics together that have joints of the model, each joint from the topic that
    tells it most often; efforts from the same messages where they are told, else from the commands: a JointState with
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

    Raises
    ------
    BagError
        For what is no bag, and joints without positions or efforts; names them, and the topics there are.
    """
    positions: dict[tuple[str, str], _Series] = {}
    pushes: dict[tuple[str, str], _Series] = {}
    names = [joint_prefix + name for name in model.joint_names]
    kinds: dict[str, str] = {}
    received = stamped = False
    receipt = begin = 0  # the times of receipt and of the stamp that count as zero
    for topic, kind, stamp, message in _messages(path, kinds):
        if kind == COMMANDS:
            # Where stamps are those of a simulation, receipts are put on its clock by the first message that has both.
            receipt = receipt or stamp
            if len(message.data) == len(names) and (not efforts or topic == efforts):
                for name, value in zip(names, message.data, strict=True):
                    _add(pushes, (topic, name), 1e-9 * (stamp - receipt), float(value))
            continue
        told = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        received |= told == 0
        receipt = receipt or stamp
        if told and not stamped:
            stamped, begin = True, told - (stamp - receipt)
        time = 1e-9 * (told - begin if told else stamp - receipt)
        for k, name in enumerate(message.name):
            if name not in names:
                continue
            if k < len(message.position) and (not states or topic == states):
                _add(positions, (topic, name), time, float(message.position[k]))
            if k < len(message.effort) and (not efforts or topic == efforts):
                _add(pushes, (topic, name), time, float(message.effort[k]))
    there = "; ".join(f"{topic} ({kind})" for topic, kind in kinds.items()) or "none"
    q = _chosen(positions, names, "positions", there, prefer="")
    tau = _chosen(pushes, names, "efforts", there, prefer=_topics(q)[0])
    return _even(names, q, tau, received)


def _add(series: dict[tuple[str, str], _Series], key: tuple[str, str], time: float, value: float) -> None:
    if np.isfinite(value):
        found = series.setdefault(key, _Series([], []))
        found.time.append(time)
        found.value.append(value)


def _messages(path: str | Path, kinds: dict[str, str]) -> Iterator[tuple[str, str, int, Any]]:
    """Yield topic, type, time of receipt [ns] and content of the messages that may matter."""
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise BagError(f"{error}: bags are read by rosbags (pip install rosbags, the extra 'bags')") from error
    if not Path(path).exists():
        raise BagError(f"bag {str(path)!r}: there is no such file or folder")
    try:
        with AnyReader([Path(path)], default_typestore=get_typestore(Stores.LATEST)) as reader:
            kinds |= {c.topic: c.msgtype for c in reader.connections}
            wanted = [c for c in reader.connections if c.msgtype in (STATES, COMMANDS)]
            for connection, stamp, raw in reader.messages(connections=wanted) if wanted else ():
                yield connection.topic, connection.msgtype, stamp, reader.deserialize(raw, connection.msgtype)
    except BagError:
        raise
    except Exception as error:  # whatever a damaged file does to a reader
        raise BagError(f"bag {str(path)!r} cannot be read: {type(error).__name__}: {error}") from error


def _chosen(
    series: dict[tuple[str, str], _Series], names: Sequence[str], what: str, there: str, prefer: str
) -> dict[str, tuple[str, Array, Array]]:
    """Return topic, times and values for each joint: of the topic preferred, else of that which tells most."""
    found: dict[str, tuple[str, Array, Array]] = {}
    for name in names:
        own = {topic: s for (topic, joint), s in series.items() if joint == name and np.ptp(s.value) + abs(s.value[0])}
        if not own:
            continue
        topic = prefer if prefer in own else max(own, key=lambda t: len(own[t].time))
        times, values = own[topic].arrays()
        if len(times) > 2:
            found[name] = (topic, times, values)
    missing = [name for name in names if name not in found]
    if missing:
        raise BagError(f"bag: no {what} of {listed(missing)}; topics there are: {there}")
    return found


def _topics(found: dict[str, tuple[str, Array, Array]]) -> list[str]:
    return list(dict.fromkeys(topic for topic, _, _ in found.values()))


def _even(
    names: Sequence[str],
    q: dict[str, tuple[str, Array, Array]],
    tau: dict[str, tuple[str, Array, Array]],
    received: bool,
) -> BagRecording:
    """Return signals on common, even times: the longest stretch without gaps."""
    remarks = [f"positions from {_topics(q)}, efforts from {_topics(tau)}"]
    if received:
        remarks.append("states without stamps: times of receipt taken")
    periods = {name: float(np.median(np.diff(times))) for name, (_, times, _) in q.items()}
    step = min(periods.values())
    base = q[min(periods, key=lambda name: periods[name])][1]
    steps = np.diff(base)
    jitter = float(np.quantile(np.abs(steps - step), 0.95)) / step
    remarks.append(f"{1.0 / step:.4g} states a second, jitter of stamps {100.0 * jitter:.0f} % of the period")
    if jitter > JITTER:
        remarks.append("stamps are uneven: positions are interpolated, and noisier for it")
    start = max(times[0] for _, times, _ in (*q.values(), *tau.values()))
    end = min(times[-1] for _, times, _ in (*q.values(), *tau.values()))
    breaks = [t for _, times, _ in q.values() for t in times[1:][np.diff(times) > GAP * step]]
    begins = [
        t - g for _, times, _ in q.values() for t, g in zip(times[1:], np.diff(times), strict=True) if g > GAP * step
    ]
    edges = [(start, end)]
    for a, b in zip(begins, breaks, strict=True):
        edges = [part for s, e in edges for part in ((s, min(e, a)), (max(s, b), e)) if part[1] > part[0]]
    if not edges:
        raise BagError("bag: states and efforts are never there at the same time")
    first, last = max(edges, key=lambda part: part[1] - part[0])
    if len(edges) > 1 or last - first < 0.9 * (end - start):
        remarks.append(f"states are missing in between: {last - first:.1f} s of {end - start:.1f} s are taken")
    count = max(round((last - first) / step), 1)
    time = np.linspace(first, last, count + 1)
    rows = [np.interp(time, *q[name][1:]) for name in names]
    same = _topics(tau) == _topics(q)
    pushes = [np.interp(time, *tau[name][1:]) if same else _held(time, *tau[name][1:]) for name in names]
    return BagRecording(time - time[0], np.array(rows).T, np.array(pushes).T, tuple(remarks))


def _held(time: Array, times: Array, values: Array) -> Array:
    """Return commands, each of which holds until the next."""
    return np.asarray(values[np.clip(np.searchsorted(times, time + 1e-6, "right") - 1, 0, len(times) - 1)])
