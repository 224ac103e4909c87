"""A payload from two motions, without and with it: what is recorded, and what is found. No messages in here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...core.arrays import Array
from ...core.errors import RequestError
from ...core.robot_options import Payload
from ...lie_dynamics import Model
from ...lie_dynamics.identification import PayloadEstimate, identify_payload

if TYPE_CHECKING:
    from .options import ContactOptions

MOST_SECONDS = 120.0
"""Of a recording [s]; what comes later is left out."""
SHORTEST = 2.0
"""Below which a recording is none [s]."""
HOLE = 0.1
"""Longest time between two states of a recording [s]."""

Motion = tuple[Array, Array, Array]


class MotionRecording:
    """States of a motion as they came."""

    def __init__(self) -> None:
        self._stamps: list[int] = []
        self._rows: list[tuple[Array, Array]] = []

    @property
    def seconds(self) -> float:
        """Length [s]."""
        return (self._stamps[-1] - self._stamps[0]) * 1e-9 if self._stamps else 0.0

    def add(self, stamp: int, position: Array, effort: Array) -> None:
        """Take in a state with its efforts, at a time [ns]."""
        if self.seconds < MOST_SECONDS and not (self._stamps and stamp <= self._stamps[-1]):
            self._stamps.append(stamp)
            self._rows.append((position.copy(), effort.copy()))

    def even(self) -> Motion:
        """Return times, positions and efforts at equal periods, by straight lines; raises RequestError for too few."""
        if self.seconds < SHORTEST:
            raise RequestError(f"a recording of {self.seconds:.1f} s; expected {SHORTEST:g} s or more")
        time = (np.array(self._stamps) - self._stamps[0]) * 1e-9
        steps = np.diff(time)
        if steps.max() > HOLE:
            raise RequestError(f"a recording with {steps.max():.2f} s without states; expected {HOLE:g} s at most")
        at = np.linspace(0.0, time[-1], len(time))  # however the stamps lie: states of two drivers come in pairs
        both = (np.array(rows) for rows in zip(*self._rows, strict=True))
        q, effort = (np.column_stack([np.interp(at, time, x) for x in rows.T]) for rows in both)
        return at, q, effort


class PayloadRecorder:
    """Two recordings of a robot, one at a time.

    Attributes
    ----------
    running : str
        Which is being made, "unloaded" or "loaded"; empty for none.
    """

    def __init__(self) -> None:
        self.running = ""
        self._made: dict[str, MotionRecording] = {}

    def add(self, stamp: int, position: Array, effort: Array) -> None:
        """Take in a state, where one is being made."""
        if self.running:
            self._made[self.running].add(stamp, position, effort)

    def begin(self, which: str) -> str:
        """Begin a recording, in place of the one before; returns a message."""
        self.running, self._made[which] = which, MotionRecording()
        return f"recording the {which} robot, {MOST_SECONDS:g} s at most"

    def end(self, which: str) -> str:
        """End a recording; returns how long it is, or raises RequestError."""
        if self.running != which:
            raise RequestError(f"no recording of the {which} robot is being made")
        self.running = ""
        return f"{self._made[which].seconds:.1f} s of the {which} robot are recorded"

    def motions(self) -> tuple[Motion, Motion]:
        """Return both recordings, without and with the payload; raises RequestError where one is missing."""
        if self.running:
            raise RequestError(f"the {self.running} robot is still being recorded")
        missing = [which for which in ("unloaded", "loaded") if which not in self._made]
        if missing:
            raise RequestError(f"there is no recording of the robot {' and '.join(missing)}")
        return self._made["unloaded"].even(), self._made["loaded"].even()


def find_payload(model: Model, options: ContactOptions, motions: tuple[Motion, Motion], frame: str) -> PayloadEstimate:
    """Return the payload at a frame from two recordings; takes seconds, any thread may do that.

    Raises
    ------
    LieDynamicsError
        Where they do not determine a payload.
    """
    empty = replace(options, payload=Payload("", 0.0, (0.0, 0.0, 0.0), (0.0,) * 6))
    return identify_payload(empty.apply(model), *motions, frame)
