"""What joints are told, in model order: commands, way points of trajectories, and phases of nodes that command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..lie_dynamics.arrays import Array, Mask
from ..lie_dynamics.control.trajectory import hermite

OFF, HOLDING, FOLLOWING, STOPPING, STOPPED = "off", "holding", "following", "stopping", "stopped"
YIELDING = "yielding"
PHASES = (OFF, HOLDING, FOLLOWING, STOPPING, STOPPED, YIELDING)
UNTIL_HOLD = (STOPPING, STOPPED, YIELDING)
"""In which nothing is followed until ~/hold is called."""


HOLD, EFFORT, ACCELERATION, POSITION = range(4)
"""Kinds of commands to a joint of a simulated robot."""


class HybridCommand(NamedTuple):
    """The input that a command has for joints; arrays of shape (n,) in model order."""

    named: Mask  # joints that it names
    prescribed: Mask  # of these, those whose acceleration it prescribes
    input: Array  # that acceleration, and the effort of the others [rad/s^2, m/s^2 or N m, N]; else zero


class JointCommand(NamedTuple):
    """Commands of a simulated robot; arrays of shape (n,) in model order."""

    named: Mask  # joints that it names
    told: NDArray[np.int_]  # what each is given: EFFORT, ACCELERATION or POSITION
    value: Array  # that [N m, N, rad/s^2, m/s^2, rad, m]
    rate: Array  # the velocity that goes with a position [rad/s, m/s]


@dataclass(frozen=True)
class JointPoints:
    """Way points of some joints.

    Attributes
    ----------
    joints : ndarray of int, shape (m,)
        Their places in model order.
    times : ndarray, shape (k,)
        Times from the start [s], rising, none negative.
    position : ndarray, shape (k, m)
        [rad or m].
    velocity, acceleration, effort : ndarray, shape (k, m), or None
        Where the points carry them; efforts are added to those of the controller.
    segments : ndarray, shape (k - 1, 6, m), or None
        What `joined` made of the points already: it takes milliseconds of thousands, which a loop does not have.
    """

    joints: NDArray[np.intp]
    times: Array
    position: Array
    velocity: Array | None = None
    acceleration: Array | None = None
    effort: Array | None = None
    segments: Array | None = None

    def joined(self) -> Array:
        """Return polynomials (k - 1, 6, m) between points: coefficients of rising powers of time, without constants.

        Lines, cubic or quintic, as the points carry velocities and accelerations too; each from its first point on.
        """
        if self.segments is not None:
            return self.segments
        found = np.zeros((len(self.times) - 1, 6, len(self.joints)))
        with np.errstate(over="ignore", invalid="ignore"):
            fields = (field for field in (self.velocity, self.acceleration) if field is not None)
            ends = (x for field in fields for x in (field[:-1], field[1:]))
            spans, ways = np.diff(self.times)[:, None], np.diff(self.position, axis=0)
            found[:] = np.moveaxis(hermite(spans, ways, *ends), 0, 1)
        return found

    def after(self, time: float) -> JointPoints:
        """Return the points later than some time [s], which counts from there on; none may be left."""
        first = int(np.searchsorted(self.times, time, "right"))
        cut = (None if x is None else x[first:] for x in (self.velocity, self.acceleration, self.effort, self.segments))
        return JointPoints(self.joints, self.times[first:] - time, self.position[first:], *cut)
