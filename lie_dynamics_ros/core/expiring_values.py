"""Received values that expire: one value, and the wrenches on the frames of a robot."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np

from ..lie_dynamics import InputError, Model, external_wrench
from ..lie_dynamics.arrays import Array, all_finite
from ..lie_dynamics.texts import quoted
from .errors import MessageError


class ExternalWrenches:
    """The latest wrench at each frame of a robot."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._neutral = model.neutral()
        self._latest: dict[str, tuple[int, Array]] = {}
        if model.n_bodies:  # whatever needs compiling is compiled now, not when a wrench comes
            external_wrench(model, self._neutral, model.body_names[0], np.zeros(6), "body")

    def put(self, frame: str, wrench: Array, now: int) -> None:
        """Keep a wrench, in place of the one before at the same frame.

        Parameters
        ----------
        frame : str
            Link or frame of the robot, at whose origin and in whose axes the wrench is given; a slash before it counts
            as none.
        wrench : ndarray, shape (6,)
            (moment, force) on the robot [N m, N].
        now : int
            Time [ns].

        Raises
        ------
        MessageError
            The robot has no such moving frame, or the wrench is not finite.
        """
        frame = frame.removeprefix("/")
        if not all_finite(wrench):
            raise MessageError("external wrenches", f"the wrench at {quoted(frame)} is not finite")
        if frame not in self._model.frames:
            raise MessageError("external wrenches", f"the robot has no link or frame {quoted(frame)}")
        try:
            on_bodies = external_wrench(self._model, self._neutral, frame, wrench, "body")
        except InputError as error:
            raise MessageError("external wrenches", str(error)) from error
        self._latest[frame] = now, on_bodies

    def clear(self) -> None:
        """Forget all wrenches."""
        self._latest.clear()

    def on_bodies(self, now: int, timeout: int) -> Array | None:
        """Sum of the wrenches on each body in its own frame, shape (n_bodies, 6); None where there are none.

        Wrenches older than ``timeout`` [ns] are forgotten; 0 keeps them.
        """
        if not self._latest:
            return None
        if timeout:
            self._latest = {frame: (t, w) for frame, (t, w) in self._latest.items() if 0 <= now - t <= timeout}
        return sum(wrenches for _, wrenches in self._latest.values()) if self._latest else None

    @property
    def frames(self) -> tuple[str, ...]:
        """Frames at which a wrench acts."""
        return tuple(self._latest)


Value = TypeVar("Value")


class ExpiringValue(Generic[Value]):
    """Keeps one value, such as a command, and when it was received."""

    def __init__(self) -> None:
        self._kept: tuple[int, Value] | None = None

    def put(self, value: Value, now: int) -> None:
        """Keep a value that was received at a time [ns], in place of the one before."""
        self._kept = now, value

    def clear(self) -> None:
        """Forget the value."""
        self._kept = None

    def at(self, now: int, timeout: float) -> Value | None:
        """Return the value where it is not older than ``timeout`` [s] at the time ``now`` [ns]; 0 for no limit."""
        if self._kept is None:
            return None
        received, value = self._kept
        return value if not timeout or 0 <= now - received <= 1e9 * timeout else None

    def is_stale(self, now: int, timeout: float) -> bool:
        """Return whether there is a value that is too old."""
        return self._kept is not None and self.at(now, timeout) is None
