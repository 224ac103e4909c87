"""Joint positions and efforts of a rosbag2, evenly sampled, without a ROS installation."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..lie_dynamics import Model
from ..lie_dynamics.arrays import Array
from ..lie_dynamics.texts import listed
from .bag_messages import BagError, messages

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
    """Content of a bag for a robot.

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
