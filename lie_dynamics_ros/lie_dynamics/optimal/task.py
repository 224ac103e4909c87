"""The problem of a motion: its model, start, conditions and cost, loops and obstacles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.inverse_dynamics import inverse_dynamics
from ..errors import InputError
from ..model.configuration import require_result
from ..model.model import Model
from .chart import ChartedMotion, charted_motion
from .loops import ClosedLoops, LoopMotion
from .modes import Conditions

#: From configurations (k, nq) to room (k, m), negative inside an obstacle, and its derivatives (k, m, nv).
Obstacles = Callable[[Array], tuple[npt.ArrayLike, npt.ArrayLike]]


@dataclass(frozen=True, eq=False)
class Task:
    """Problem: a motion in the chart around `start` that meets conditions, of least cost.

    Attributes
    ----------
    duration : tuple of float
        Shortest and longest time of the motion [s], the same where it is given.
    weights : mapping
        Those of `MotionCost`.
    obstacles : callable, optional
        Distances to obstacles, a user's function.
    loops : ClosedLoops, optional
        What closes the tree; the path is then one of its independent coordinates.
    """

    model: Model
    start: Array
    conditions: Conditions
    duration: tuple[float, float]
    weights: Mapping[str, Array]
    obstacles: Obstacles | None = None
    loops: ClosedLoops | None = None

    @property
    def width(self) -> int:
        """Number of coordinates of the path."""
        return self.model.nv if self.loops is None else len(self.loops.columns)

    @property
    def free(self) -> bool:
        """Whether the duration is found, too."""
        return self.duration[0] < self.duration[1]

    @property
    def fixed_ends(self) -> bool:
        """Whether configurations and rates at both ends are given, not periodic."""
        return len(self.conditions.terms[0]) == 1

    def motion(self, table: Array, coefficients: Array, duration: float) -> tuple[Array, ChartedMotion | LoopMotion]:
        """Return the path and its rates (4, k, width) where the table was made, and the states there."""
        with np.errstate(over="ignore", invalid="ignore"):
            path = table @ coefficients / duration ** np.arange(4.0)[:, None, None]
            require_result(self.model, *path[:3])
            if self.loops is not None:
                return path, self.loops.motion(self.start[self.loops.places] + path[0], path[1], path[2])
            return path, charted_motion(self.model, self.start, *path[:3])

    def values(self, path: Array, motion: ChartedMotion | LoopMotion) -> dict[str, Array]:
        """Return all that is limited or counted, each (k, nv); positions of ball and free joints are left 0."""
        position = np.zeros_like(motion.qd)
        position[:, self.model.vector_v] = motion.q[:, self.model.vector_q]
        if isinstance(motion, LoopMotion):
            tau, jerk = motion.forces(), np.zeros_like(motion.qd)
        else:
            tau, jerk = np.asarray(inverse_dynamics(self.model, motion.q, motion.qd, motion.qdd)), path[3]
        return {
            "position": position, "velocity": motion.qd, "acceleration": motion.qdd, "jerk": jerk, "effort": tau,
        }  # fmt: skip

    def room_to_obstacles(self, q: Array) -> tuple[Array, Array]:
        """Return the value of the user's function, checked."""
        assert self.obstacles is not None
        value, slope = (np.asarray(x, dtype=np.float64) for x in self.obstacles(q))
        k, n = len(q), self.model.nv
        if value.ndim != 2 or len(value) != k or slope.shape != (*value.shape, n):
            raise InputError(
                f"obstacles: room (k, m) and derivatives (k, m, {n}) are expected for k = {k} configurations, got "
                f"{value.shape} and {slope.shape}",
                name="obstacles",
            )
        if not (np.isfinite(value).all() and np.isfinite(slope).all()):
            raise InputError("obstacles: finite numbers are expected, got NaN or infinity", name="obstacles")
        return value, slope
