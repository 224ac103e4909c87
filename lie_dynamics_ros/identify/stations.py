"""Stations of a platform in a rosbag2, where it stood still: readings of its legs, and a device's pose."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..lie_dynamics.arrays import Array
from ..lie_dynamics.lie import quaternion, se3, so3
from ..lie_dynamics.texts import listed
from .bag import MOST_STATES, STATES, BagError, messages

NUMBER = "std_msgs/msg/Float64"
#: Steps between which readings are looked at [s], at least.
STEP = 0.02
#: What of a stand is left out at its beginning: this part, at most so long [s].
SETTLING, LONGEST_SETTLING = 0.2, 0.5


@dataclass(frozen=True, eq=False)
class Stations:
    """Stands of a platform during which it was measured."""

    time: Array  # their beginnings, since that of the recording, shape (k,) [s]
    readings: Array  # medians, in the units of the messages, of `legs`, shape (k, n)
    poses: Array  # medians, shape (k, 4, 4); identity for what the messages do not determine
    measured: str  # "pose", "position" or "orientation"; "lengths" where no poses were requested
    remarks: tuple[str, ...]  # which topics were taken, and what was odd
    legs: tuple[str, ...]  # those that were requested, and further ones that the bag has


def _point(p: Any) -> tuple[float, ...]:
    return p.x, p.y, p.z


def _turn(q: Any) -> tuple[float, ...]:
    return q.x, q.y, q.z, q.w


_LEVEL, _ORIGIN = (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
_NONE = (np.nan,) * 4
#: What a message of each type measures, and its position and quaternion.
POSES: dict[str, tuple[str, Callable[[Any], tuple[float, ...]]]] = {
    "geometry_msgs/msg/PoseStamped": ("pose", lambda m: (*_point(m.pose.position), *_turn(m.pose.orientation))),
    "geometry_msgs/msg/PoseWithCovarianceStamped": (
        "pose", lambda m: (*_point(m.pose.pose.position), *_turn(m.pose.pose.orientation))
    ),
    "geometry_msgs/msg/TransformStamped": (
        "pose", lambda m: (*_point(m.transform.translation), *_turn(m.transform.rotation))
    ),
    "nav_msgs/msg/Odometry": ("pose", lambda m: (*_point(m.pose.pose.position), *_turn(m.pose.pose.orientation))),
    "geometry_msgs/msg/PointStamped": ("position", lambda m: (*_point(m.point), *_LEVEL)),
    "sensor_msgs/msg/Imu": (
        "orientation", lambda m: (*_ORIGIN, *(_NONE if m.orientation_covariance[0] == -1.0 else _turn(m.orientation)))
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Sources:
    """Topics of a bag that are read."""

    lengths: str = ""  # topic to take, where there are several
    poses: str = ""  # the same
    device: bool = True  # whether poses are read that a device measured
    numbers: Mapping[str, str] = field(default_factory=dict)  # legs by topics of plain numbers


def read_stations(
    path: str | Path,
    legs: Sequence[str],
    sources: Sources | None = None,
    still: float | Sequence[float] = 1e-4,
    rest: float = 1.0,
    further: Sequence[str] = (),
) -> Stations:
    """Read stands of a platform from a rosbag2 (sqlite3 or mcap).

    It stands where no leg's reading changes by more than `still` for `rest` seconds. Times are those of receipt: the
    clock of a device need not be that of the robot, and in a stand it does not matter.

    Parameters
    ----------
    path : str or path
        Folder of the bag, or an mcap file.
    legs : sequence of str
        Names of the legs in JointState messages, of any number of topics.
    sources : Sources, optional
    still : float or sequence of float
        In the units of the messages; one for all, or one for each leg and further one.
    rest : float
        [s].
    further : sequence of str
        Names of legs that are taken where the bag has readings of them.

    Raises
    ------
    BagError
        For what is no bag, legs without readings, no topic of poses or several, and no stands; names what is there.
    """
    readings: dict[tuple[str, str], tuple[array[float], array[float]]] = {}
    seen: dict[str, tuple[array[float], list[tuple[float, ...]]]] = {}
    kinds: dict[str, str] = {}
    remarks: list[str] = []
    first = bad = 0
    sources = sources or Sources()
    device, plain, known = sources.device, sources.numbers, (*legs, *further)
    types = (STATES, *([NUMBER] if plain else ()), *(POSES if device else ()))
    for count, (topic, kind, stamp, message) in enumerate(messages(path, types, kinds)):
        first = first or stamp
        if count >= MOST_STATES:
            remarks.append(f"only the first {MOST_STATES} messages are taken")
            break
        time = 1e-9 * (stamp - first)
        if kind in (STATES, NUMBER):
            told: Iterable[tuple[str, float]] = ()
            if kind == NUMBER:
                told = ((plain[topic], message.data),) if topic in plain else ()
            elif sources.lengths in ("", topic):
                told = zip(message.name, message.position, strict=False)
            for name, value in told:
                if name in known and np.isfinite(value):
                    times, values = readings.setdefault((topic, name), (array("d"), array("d")))
                    times.append(time)
                    values.append(float(value))
        elif sources.poses in ("", topic):
            numbers = POSES[kind][1](message)
            good = np.isfinite(numbers).all() and abs(np.linalg.norm(numbers[3:]) - 1.0) < 1e-2
            bad += not good
            if good:
                at, found = seen.setdefault(topic, (array("d"), []))
                at.append(time)
                found.append(numbers)
    there = "; ".join(f"{topic} ({kind})" for topic, kind in kinds.items()) or "none"
    if bad:
        remarks.append(f"{bad} messages hold no pose (not finite, or a quaternion that is not of length 1)")
    if device and len(seen) != 1:
        which = f"{listed(seen)} publish poses: --poses takes one of them" if seen else f"no poses; topics are: {there}"
        raise BagError(f"bag: {which}")
    heard = [name for name in further if any(n == name and len(v) > 2 for (_, n), (_, v) in readings.items())]
    if further:
        silent = [name for name in further if name not in heard]
        remarks += [f"further legs: {listed(heard) or 'none'}; not in the bag: {listed(silent) or 'none'}"]
    names = (*legs, *heard)
    grid, rows, taken = _even(readings, names, there)
    within = np.broadcast_to(np.asarray(still, dtype=np.float64), len(known))[[known.index(name) for name in names]]
    stands = _stands(grid, rows, within, rest)
    if device:
        topic, (at, numbers_of_all) = next(iter(seen.items()))
        measured, source = POSES[kinds[topic]][0], f" from '{topic}' ({kinds[topic]})"
        whole, when = _as_poses(np.array(numbers_of_all)), np.array(at)
    else:
        measured, source, whole, when = "lengths", " of all legs alone", np.eye(4)[None], np.empty(0)
    remarks.insert(0, f"readings from {taken}, {measured}{source}")
    kept: list[tuple[float, Array, Array]] = []
    for begin, end in stands:
        start = grid[begin] + min(SETTLING * (grid[end] - grid[begin]), LONGEST_SETTLING)
        inside = whole[(when >= start) & (when <= grid[end])] if device else whole
        if len(inside):
            own = rows[(grid >= start) & (np.arange(len(grid)) <= end)]
            kept.append((grid[begin], np.median(own, axis=0), _median(inside)))
    remarks.append(f"{len(stands)} stands" + (f", {len(kept)} of them measured" if device else ""))
    if not kept:
        raise BagError(
            f"bag: {len(stands)} stands of {rest:g} s within {within.max():g}"
            + (f", none with a pose; {len(when)} poses" if device else "; readings")
            + f" in {grid[-1] - grid[0]:.1f} s. Let the platform stand where it is measured, or see --still and --rest"
        )
    columns = list(zip(*kept, strict=True))
    return Stations(np.array(columns[0]), np.array(columns[1]), np.array(columns[2]), measured, tuple(remarks), names)


def _even(
    readings: dict[tuple[str, str], tuple[array[float], array[float]]], legs: Sequence[str], there: str
) -> tuple[Array, Array, str]:
    """Return times (n,), readings (n, m), NaN in gaps, and topics; of each leg the topic with most readings."""
    own: list[tuple[str, Array, Array]] = []
    missing = []
    for leg in legs:
        topics = {topic: len(values) for (topic, name), (_, values) in readings.items() if name == leg}
        best = max(topics, key=lambda topic: topics[topic], default="")
        if topics.get(best, 0) < 3:
            missing.append(leg)
            continue
        times, at = np.unique(np.array(readings[best, leg][0]), return_index=True)
        own.append((best, times, np.array(readings[best, leg][1])[at]))
    if missing:
        names = sorted({name for _, name in readings})
        told = f"; legs there are {listed(names)}" if names else ""
        raise BagError(f"bag: no readings of {listed(missing)}{told}; topics there are: {there}; --legs names the legs")
    start, end = max(t[0] for _, t, _ in own), min(t[-1] for _, t, _ in own)
    step = max(STEP, *(float(np.median(np.diff(t))) if len(t) > 1 else STEP for _, t, _ in own))
    if end - start < step:
        raise BagError("bag: the legs' readings are never there at the same time")
    grid = np.arange(start, end, step)
    rows = np.array([np.interp(grid, t, values) for _, t, values in own]).T
    for column, (_, times, _) in enumerate(own):
        after = np.clip(np.searchsorted(times, grid), 1, len(times) - 1)
        rows[times[after] - times[after - 1] > max(0.5, 5.0 * step), column] = np.nan
    return grid, rows, listed(dict.fromkeys(topic for topic, _, _ in own))


def _stands(grid: Array, rows: Array, still: Array, rest: float) -> list[tuple[int, int]]:
    """Return first and last index of each stretch that stays within `still`, for at least `rest`."""
    found = []
    low = high = rows[0]
    begin = 0
    for k in range(len(grid) + 1):
        if k < len(grid):
            lower, upper = np.minimum(low, rows[k]), np.maximum(high, rows[k])
            if (upper - lower <= still).all():  # not for NaN
                low, high = lower, upper
                continue
        if k > begin and grid[k - 1] - grid[begin] >= rest:
            found.append((begin, k - 1))
            begin = k
        else:
            # Start anew as late as the readings before still agree with this one: a slow end of a motion is no stand.
            back = k if k == len(grid) else _first_near(rows, begin + 1, k, still)
            begin = back
        if k < len(grid):
            part = rows[begin : k + 1]
            low, high = part.min(axis=0), part.max(axis=0)
    return found


def _first_near(rows: Array, begin: int, end: int, still: Array) -> int:
    """Return the first index from `begin` on from which readings stay within `still` up to `end`."""
    tail = rows[begin : end + 1][::-1]
    near = (np.maximum.accumulate(tail) - np.minimum.accumulate(tail) <= still).all(axis=1)
    return end if not near[0] else end - int(np.argmin(near) if not near.all() else len(near)) + 1


def _as_poses(numbers: Array) -> Array:
    return se3.from_parts(quaternion.to_matrix(quaternion.normalize(numbers[:, 3:])), numbers[:, :3])


def _median(poses: Array) -> Array:
    """Return the pose in the middle: medians of positions and of rotations from the first."""
    turns = so3.log(poses[0, :3, :3].T @ poses[:, :3, :3])
    return se3.from_parts(poses[0, :3, :3] @ so3.exp(np.median(turns, axis=0)), np.median(poses[:, :3, 3], axis=0))
