"""The integral of squared joint forces over paths made of a given number of modes, and its derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.derivatives.inverse_derivatives import inverse_dynamics_derivatives
from ..dynamics.inverse_dynamics import inverse_dynamics
from ..model.configuration import require_result
from ..model.model import Model
from .bounds import Bounds
from .chart import ChartedMotion, charted_motion
from .modes import Modes, modes_at, quadrature

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked for: a motion in the chart around `start`, from state to state, in a given time.

    Attributes
    ----------
    ends : ndarray, shape (4, nv)
        x(0), T xd(0), x(T), T xd(T): rates are those along s = t / T.
    weights : ndarray, shape (nv,)
        Factors of the squared joint forces.
    """

    model: Model
    start: Array
    ends: Array
    duration: float
    weights: Array

    def motion(self, table: Modes, coefficients: Array) -> ChartedMotion:
        """Return the states where the table was made."""
        with np.errstate(over="ignore", invalid="ignore"):
            x, first, second = table.path(self.ends, coefficients)
            T = self.duration
            rates = x, first / T, second / T / T
            require_result(self.model, *rates)
            return charted_motion(self.model, self.start, *rates)

    def values(self, motion: ChartedMotion) -> dict[str, Array]:
        """Return all that is limited or counted, each (k, nv); positions of ball and free joints are left 0."""
        position = np.zeros_like(motion.qd)
        position[:, self.model._vector_v] = motion.q[:, self.model._vector_q]
        tau = np.asarray(inverse_dynamics(self.model, motion.q, motion.qd, motion.qdd))
        return {"position": position, "velocity": motion.qd, "effort": tau}


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Of each bound, upper and lower, at the points of a quadrature: values (2, k, nv); and the stiffness for all."""

    values: Mapping[str, Array]
    stiffness: float


class Problem:
    """An augmented Lagrangian of the coefficients (count, nv), in units of `unit` [that of the cost]."""

    def __init__(self, task: Task, bounds: Bounds, count: int, unit: float) -> None:
        self.task, self.bounds, self.count, self.unit = task, bounds, count, unit
        self.s, self.w = quadrature(2 * count + 16)
        self.table = modes_at(self.s, count)

    def cost(self, values: Mapping[str, Array]) -> float:
        """Return the integral of the weighted squares of joint forces."""
        return self.task.duration * float(self.w @ (values["effort"] ** 2 @ self.task.weights))

    def unloaded(self) -> Multipliers:
        """Return multipliers of zero."""
        shape = (2, self.s.size, self.task.model.nv)
        return Multipliers({kind: np.zeros(shape) for kind in self.bounds}, 10.0)

    def gradient(self, coefficients: Array, given: Multipliers) -> tuple[float, Array]:
        """Return the Lagrangian and its gradient (count, nv)."""
        task = self.task
        motion = task.motion(self.table, coefficients)
        values = task.values(motion)
        slopes = {"effort": 2.0 * task.duration / self.unit * task.weights * values["effort"]}
        value = self.cost(values) / self.unit
        for kind, over in self._pushed(values, given).items():
            squares = over**2 - (given.values[kind] / given.stiffness) ** 2
            value += 0.5 * given.stiffness * float(self.w @ squares.sum(axis=(0, 2)))
            slopes[kind] = slopes.get(kind, 0.0) + given.stiffness * (over[0] - over[1]) / self.bounds[kind].scale
        d = inverse_dynamics_derivatives(task.model, motion.q, motion.qd, motion.qdd)
        rows = [slopes["effort"][:, None] @ x for x in d]
        for kind, row in (("position", rows[0]), ("velocity", rows[1])):
            if kind in slopes:
                row += slopes[kind][:, None]
        return value, self._along_modes([x[:, 0] for x in motion.pull_back(rows[0], rows[1], rows[2])])

    def hessian(self, coefficients: Array, given: Multipliers) -> Array:
        """Return Gauss's and Newton's approximation of the Hessian (count nv, count nv): no second derivatives."""
        task, n = self.task, self.task.model.nv
        motion = task.motion(self.table, coefficients)
        values = task.values(motion)
        pushed = self._pushed(values, given)
        weights = {"effort": np.full_like(values["effort"], 2.0 * task.duration / self.unit) * task.weights}
        for kind, over in pushed.items():
            stiff = given.stiffness * (over > 0.0).sum(axis=0) / self.bounds[kind].scale ** 2
            weights[kind] = weights.get(kind, 0.0) + stiff
        d: Any = inverse_dynamics_derivatives(task.model, motion.q, motion.qd, motion.qdd)
        one, none = np.broadcast_to(np.eye(n), d.dq.shape), np.zeros(d.dq.shape)
        rows = {"effort": (d.dq, d.dqd, d.dqdd), "position": (one, none, none), "velocity": (none, one, none)}
        result = np.zeros((self.count * n, self.count * n))
        for kind, weight in weights.items():
            T, phi = task.duration, self.table.modes
            x, xd, xdd = motion.pull_back(*rows[kind])
            steps = [phi[0], phi[1] / T, phi[2] / T / T]
            root = np.sqrt(self.w[:, None] * weight)[..., None, None]
            jacobian = sum(a[:, :, None] * b[:, None, :, None] for a, b in zip((x, xd, xdd), steps, strict=True))
            flat = (root * jacobian).reshape(-1, self.count * n)
            result += flat.T @ flat
        return result

    def raised(self, values: Mapping[str, Array], given: Multipliers) -> Multipliers:
        """Return the multipliers that the Lagrangian's minimum tells."""
        pushed = self._pushed(values, given)
        return Multipliers({kind: given.stiffness * over for kind, over in pushed.items()}, given.stiffness)

    def unsettled(self, values: Mapping[str, Array], given: Multipliers) -> float:
        """Return how far limits and complementarity are from being kept at the points, 0 where they are."""
        worst = 0.0
        for kind, over in self._pushed(values, given).items():
            worst = float(np.abs(over - given.values[kind] / given.stiffness).max(initial=worst))
        return worst

    def moved(self, given: Multipliers, s: Array) -> Multipliers:
        """Return multipliers of the points s, read between those of this quadrature."""
        values = {}
        for kind, value in given.values.items():
            columns = value.transpose(0, 2, 1).reshape(-1, self.s.size)
            read = np.array([np.interp(s, self.s, column) for column in columns])
            values[kind] = read.reshape(2, -1, s.size).transpose(0, 2, 1)
        return Multipliers(values, given.stiffness)

    def _pushed(self, values: Mapping[str, Array], given: Multipliers) -> dict[str, Array]:
        return {
            kind: np.maximum(bound.excess(values[kind]) + given.values[kind] / given.stiffness, 0.0)
            for kind, bound in self.bounds.items()
        }

    def _along_modes(self, slopes: list[Array]) -> Array:
        """Return derivatives along the coefficients for those along x, xd and xdd at the points (k, nv)."""
        T, phi = self.task.duration, self.table.modes
        parts = zip(slopes, (phi[0], phi[1] / T, phi[2] / T / T), strict=True)
        return np.asarray(sum(step.T @ (self.w[:, None] * slope) for slope, step in parts))
