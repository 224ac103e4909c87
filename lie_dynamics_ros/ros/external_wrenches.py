"""Wrenches that the environment exerts on a robot, kept per frame until they are too old."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..lie_dynamics import InputError, Model
from ..lie_dynamics.lie import se3
from .errors import MessageError
from .messages import Array, all_finite


@dataclass(frozen=True)
class _Wrench:
    body: int
    wrench: Array
    time: int


class ExternalWrenches:
    """The latest wrench at each frame of a robot.

    Parameters
    ----------
    model : Model
        Whose frames they act at.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._latest: dict[str, _Wrench] = {}

    def put(self, frame: str, wrench: Array, now: int) -> None:
        """Keep a wrench, in place of the one before at the same frame.

        Parameters
        ----------
        frame : str
            Link or frame of the robot, at whose origin and in whose axes the wrench is given.
        wrench : ndarray, shape (6,)
            (moment, force) on the robot [N m, N].
        now : int
            Time [ns].

        Raises
        ------
        MessageError
            The robot has no such frame, or the wrench is not finite.
        """
        if not all_finite(wrench):
            raise MessageError("external wrenches", f"the wrench at {frame!r} is not finite")
        try:
            place = self._model.frame(frame.removeprefix("/"))
        except InputError as error:
            raise MessageError("external wrenches", str(error)) from error
        if place.body < 0:
            raise MessageError("external wrenches", f"frame {frame!r} does not move; a wrench there has no effect")
        on_body = se3.Ad_dual(se3.inverse(place.placement)) @ wrench
        self._latest[frame] = _Wrench(place.body, on_body, now)

    def on_bodies(self, now: int, timeout: int) -> Array | None:
        """Sum of the wrenches on each body in its own frame, shape (n_bodies, 6); None where there are none.

        Wrenches older than ``timeout`` [ns] are forgotten; 0 keeps them.
        """
        if not self._latest:
            return None
        if timeout:
            self._latest = {f: w for f, w in self._latest.items() if 0 <= now - w.time <= timeout}
            if not self._latest:
                return None
        total = np.zeros((self._model.n_bodies, 6))
        for wrench in self._latest.values():
            total[wrench.body] += wrench.wrench
        return total

    @property
    def frames(self) -> tuple[str, ...]:
        """Frames at which a wrench acts."""
        return tuple(self._latest)
