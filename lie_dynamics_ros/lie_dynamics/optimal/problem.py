"""A motion made of a given number of modes as a nonlinear programme: cost, room left to limits, exact derivatives.

Variables are the coefficients of the modes, (free, nv) row by row, and the duration behind them where it is free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.derivatives.inverse_derivatives import inverse_dynamics_derivatives
from ..dynamics.derivatives.second_derivatives import inverse_dynamics_second_derivatives
from .loops import LoopMotion
from .modes import ChartedMotion, quadrature, shapes_at
from .task import Bound, Bounds, Task, integrand

#: Where limits are looked at between two points of the quadrature: at so many equal steps.
_BETWEEN = 8
_ORDERS = {"position": 0, "velocity": 1, "acceleration": 2, "jerk": 3}
#: Limits of what is linear in the variables are kept at so many points for each of the quadrature, under other names.
_DENSE = 4


@dataclass(eq=False)
class Point:
    """The motion of one set of variables at the points of the quadrature."""

    problem: MotionProblem
    variables: Array
    duration: float
    path: Array
    motion: ChartedMotion | LoopMotion
    values: dict[str, Array]
    cost: float
    magnitude: float
    penalty: float = 0.0
    obstacle_slope: Array | None = None

    @cached_property
    def dynamics(self) -> Array:
        """Derivatives of the joint forces along u, qd and qdd: (k, nv, 3 nv)."""
        if isinstance(self.motion, LoopMotion):
            return self.motion.dynamics()
        d: Any = inverse_dynamics_derivatives(self.problem.task.model, self.motion.q, self.motion.qd, self.motion.qdd)
        return np.concatenate([d.dq, d.dqd, d.dqdd], axis=-1)

    @cached_property
    def chart(self) -> Array | None:
        """Derivatives of (u, qd, qdd) along (x, xd, xdd)."""
        return self.motion.jacobian()

    @cached_property
    def room(self) -> Array:
        """Room left to all limits, in their units, one after the other."""
        return self.problem.room_of(self.values)

    @property
    def slopes(self) -> PointSlopes:
        """First derivatives along the variables."""
        return PointSlopes(self)

    @property
    def bends(self) -> PointBends:
        """Second derivatives along the variables."""
        return PointBends(self)


def _split(task: Task, bounds: Bounds) -> dict[str, Bound]:
    """Return bounds with those of what is linear in the variables under names of their own, "velocity along" etc."""
    model = task.model
    plain = np.zeros(model.nv, dtype=bool)
    plain[model.vector_v] = task.loops is None
    found = {}
    for kind, bound in bounds.items():
        if kind == "effort":  # those that are given are no limits
            open_ = bound.lower < bound.upper
            bound = Bound(np.where(open_, bound.lower, -np.inf), np.where(open_, bound.upper, np.inf), bound.scale)
        linear = plain if kind in ("position", "velocity", "acceleration") else np.full(model.nv, kind == "jerk")
        for name, kept in ((f"{kind} along", linear), (kind, ~linear)) if kind in _ORDERS else ((kind, None),):
            lower, upper = (
                (bound.lower, bound.upper)
                if kept is None
                else (np.where(kept, bound.lower, -np.inf), np.where(kept, bound.upper, np.inf))
            )
            if np.isfinite(lower).any() or np.isfinite(upper).any():
                found[name] = Bound(lower, upper, bound.scale)
    return found


def _widening(given: Bound, opened: Bound) -> Array:
    """Return by how much a bound was opened, in units of its scale."""
    kept = np.isfinite(given.upper)
    return np.where(kept, np.where(kept, opened.upper, 0.0) - np.where(kept, given.upper, 0.0), 0.0) / given.scale


class MotionProblem:
    """Cost in units of `unit`, and room to limits, of motions made of `count` modes."""

    def __init__(self, task: Task, bounds: Mapping[str, Bound], count: int, unit: float) -> None:
        self.task, self.count, self.unit = task, count, unit
        self.bounds_given = bounds
        self.bounds = {kind: bound.opened() for kind, bound in _split(task, bounds).items()}
        self.s, self.w = quadrature(2 * count + 16)
        # joint forces that are given, of passive joints, are met by an augmented Lagrangian: multipliers and stiffness
        effort = bounds.get("effort")
        self.passive = np.zeros(task.model.nv, dtype=bool) if effort is None else effort.lower == effort.upper
        self.target = np.where(self.passive, 0.0 if effort is None else effort.upper, 0.0)
        self.target_scale = np.ones(task.model.nv) if effort is None else effort.scale
        self.multipliers, self.stiffness = np.zeros((len(self.s), task.model.nv)), 10.0
        self.table = shapes_at(self.s, count)
        self.base, self.rate, self.columns = task.conditions.solved(count)
        self.reduced = self.table @ self.columns
        self.free = self.columns.shape[1]
        self.size = self.free * task.width + task.free
        middle = 0.5 * (self.s[1:] + self.s[:-1])
        cells = np.concatenate([[0.0], middle, [1.0]])
        steps = (np.arange(_DENSE) + 0.5) / _DENSE
        self.dense_s = (cells[:-1, None] + np.diff(cells)[:, None] * steps).ravel()
        self.dense_table = shapes_at(self.dense_s, count)
        self.dense = self.dense_table @ self.columns
        self.dense_rate = self.dense_table @ self.rate
        weights = {"effort_rate": np.diff(self.s), "duration": np.ones(1)}
        weights |= {f"{kind} along": np.repeat(np.diff(cells) / _DENSE, _DENSE) for kind in _ORDERS}
        parts, self.rows = [], dict[str, int]()
        for kind, bound in self.bounds.items():
            kept = np.isfinite(np.stack([bound.upper, bound.lower]))
            self.rows[kind] = len(weights.get(kind, self.w))
            parts.append((weights.get(kind, self.w)[:, None] * kept[:, None]).ravel())
        self.weight = np.concatenate(parts) if parts else np.zeros(0)
        steps = np.linspace(0.0, 1.0, _BETWEEN + 1)
        self.between = cells[:-1, None] + np.diff(cells)[:, None] * steps  # (k, _BETWEEN + 1)
        self.between_table = shapes_at(self.between.ravel(), count)

    def coefficients(self, variables: Array) -> tuple[Array, float]:
        """Return coefficients (4 + count, nv) of all polynomials, and the duration."""
        n, (shortest, _) = self.task.width, self.task.duration
        T = float(variables[-1]) if self.task.free else shortest
        y = variables[: self.free * n].reshape(self.free, n)
        return self.base + T * self.rate + self.columns @ y, T

    def variables(self, coefficients: Array, duration: float) -> Array:
        """Return the variables nearest to coefficients, of this many modes or fewer."""
        padded = np.zeros_like(self.base)
        padded[: len(coefficients)] = coefficients[: len(padded)]
        y = self.columns.T @ (padded - self.base - duration * self.rate)
        return np.concatenate([y.ravel(), [duration] if self.task.free else []])

    def at(self, variables: Array) -> Point:
        """Return the motion of these variables."""
        task = self.task
        coefficients, T = self.coefficients(variables)
        path, motion = task.motion(self.table, coefficients, T)
        values = task.values(path, motion)
        if any(f"{kind} along" in self.bounds for kind in _ORDERS):
            dense = self.dense_table @ coefficients / T ** np.arange(4.0)[:, None, None]
            dense[0][:, task.model.vector_v] += task.start[task.model.vector_q]
            values |= {f"{kind} along": dense[order] for kind, order in _ORDERS.items()}
        point = Point(self, variables, T, path, motion, values, 0.0, 0.0)
        if "effort_rate" in self.bounds:
            values["effort_rate"] = np.diff(values["effort"], axis=0) / (T * np.diff(self.s)[:, None])
        if "obstacle" in self.bounds:
            values["obstacle"], point.obstacle_slope = task.room_to_obstacles(motion.q)
        values["duration"] = np.array([[T]])
        sums = integrand(self.task.weights, motion.qd, motion.qdd, values["jerk"], values["effort"])
        point.cost, point.magnitude = (T * float(self.w @ part) / self.unit for part in sums)
        if self.passive.any():
            miss = self.missing_force(values)
            point.penalty = float(self.w @ (self.multipliers * miss + 0.5 * self.stiffness * miss**2).sum(axis=1))
        return point

    def missing_force(self, values: Mapping[str, Array]) -> Array:
        """Return how far joint forces are from those that are given (k, nv), 0 elsewhere, in units of the limits."""
        return np.where(self.passive, (values["effort"] - self.target) / self.target_scale, 0.0)

    def room_of(self, values: Mapping[str, Array]) -> Array:
        """Return the room that values leave, 1 where there is no limit."""
        parts = []
        for kind, bound in self.bounds.items():
            room = -bound.excess(values[kind])
            parts.append(np.where(np.isfinite(room), room, 1.0).ravel())
        return np.concatenate(parts) if parts else np.zeros(0)

    def loss_between(self, point: Point, spread: bool = False) -> Array:
        """Return by how much the room at the points is more than the least around each of them.

        Around is half way to the neighbours. Spread, it is the largest of three points: no neighbour gets it back.
        """
        if not self.bounds:
            return np.zeros(0)
        coefficients, T = self.coefficients(point.variables)
        path, motion = self.task.motion(self.between_table, coefficients, T)
        values, k = self.task.values(path, motion), len(self.s)
        if "obstacle" in self.bounds:
            values["obstacle"] = self.task.room_to_obstacles(motion.q)[0]
        parts = []
        for kind, bound in self.bounds.items():
            here = -bound.excess(point.values[kind])
            if kind == "duration":
                parts.append(np.zeros(here.size))
                continue
            name = kind.removesuffix(" along")
            if kind == "effort_rate":
                value = values["effort"].reshape(k, _BETWEEN + 1, -1)
                step = T * np.diff(self.between, axis=1)[..., None]
                cell = (-bound.excess(np.diff(value, axis=1) / step)).min(axis=2)
                around = np.minimum(cell[:, 1:], cell[:, :-1])  # each rate lies between two points
            else:
                room = (-bound.excess(values[name])).reshape(2, k, _BETWEEN + 1, -1)
                pieces = 1 if kind == name else _DENSE
                wide = _BETWEEN // pieces
                least = [room[:, :, j * wide : (j + 1) * wide + 1].min(axis=2) for j in range(pieces)]
                around = np.stack(least, axis=2).reshape(here.shape)
            with np.errstate(invalid="ignore"):
                loss = here - around
            loss = np.where(np.isfinite(loss), np.maximum(loss, 0.0), 0.0)
            ends: tuple[tuple[int, npt.NDArray[np.bool_]], ...] = ()
            if name in ("position", "velocity") and self.task.fixed_ends:  # at an end on a limit no room is left
                ends = tuple(
                    (at, (around[:, at] >= 0.0) & (end < here[:, at]))
                    for at, end in ((0, room[:, 0, 0]), (-1, room[:, -1, -1]))
                )
            for at, kept in ends:
                loss[:, at] = np.where(kept, 0.0, loss[:, at])
            wide_loss = loss.copy()
            if spread:
                wide_loss[:, 1:] = np.maximum(wide_loss[:, 1:], loss[:, :-1])
                wide_loss[:, :-1] = np.maximum(wide_loss[:, :-1], loss[:, 1:])
            for at, kept in ends:
                wide_loss[:, at] = np.where(kept, 0.0, wide_loss[:, at])
            parts.append(wide_loss.ravel())
        return np.concatenate(parts)

    def excess(self, point: Point) -> float:
        """Return how far limits, as they were given, are exceeded at the points and between them, at least 0."""
        miss = float(np.abs(self.missing_force(point.values)).max(initial=0.0))
        given = _split(self.task, self.bounds_given)
        opened = np.concatenate(
            [np.zeros(0)]
            + [
                np.broadcast_to(_widening(given[kind], b), (2, *point.values[kind].shape)).ravel()
                for kind, b in self.bounds.items()
            ]
        )
        lack = self.loss_between(point) - point.room + opened
        return float(lack.max(initial=miss))

    def along_kinds(self) -> list[tuple[str, int]]:
        """Return the kinds of limits of what is linear in the variables, and their orders."""
        return [(f"{kind} along", order) for kind, order in _ORDERS.items() if f"{kind} along" in self.bounds]

    def by_kind(self, rows: Array) -> dict[str, Array]:
        """Return rows of limits (2, k, j) of each kind."""
        found, begin = {}, 0
        for kind, bound in self.bounds.items():
            end = begin + 2 * self.rows[kind] * len(bound.scale)
            found[kind] = rows[begin:end].reshape(2, self.rows[kind], -1)
            begin = end
        return found


class PointSlopes:
    """First derivatives at a point along the variables, of its cost and of the room left to limits."""

    def __init__(self, point: Point) -> None:
        self.problem, self.point = point.problem, point

    def gradient(self) -> Array:
        """Return the derivative of the cost along the variables."""
        problem, point = self.problem, self.point
        weight = point.duration * problem.w[:, None] / problem.unit
        slopes = {kind: weight * slope for kind, slope in self.cost_slopes().items()}
        slopes["effort"] = slopes["effort"] + self.pull()
        result = self.along(slopes)
        if problem.task.free:
            result[-1] += point.cost / point.duration
        return result

    def transposed(self, vector: Array) -> Array:
        """Return the derivative of vector . room along the variables."""
        return self.along(self.room_slopes(vector))

    def forward(self, step: Array) -> Array:
        """Return how the room changes along a step of the variables."""
        problem, point = self.problem, self.point
        n, T, slopes = problem.task.model.nv, point.duration, {}
        y = step[: problem.free * problem.task.width].reshape(problem.free, problem.task.width)
        path = problem.reduced @ y / T ** np.arange(4.0)[:, None, None]
        if problem.task.free:
            path += step[-1] * self.along_time()
        z = path[:3].transpose(1, 0, 2).reshape(len(problem.s), -1)
        if point.chart is not None:
            z = (point.chart @ z[..., None])[..., 0]
        slopes["position"], slopes["velocity"], slopes["acceleration"] = z.reshape(-1, 3, n).transpose(1, 0, 2)
        slopes["jerk"] = path[3]
        if "effort" in problem.bounds or "effort_rate" in problem.bounds:
            slopes["effort"] = (point.dynamics @ z[..., None])[..., 0]
        if "effort_rate" in problem.bounds:
            slopes["effort_rate"] = np.diff(slopes["effort"], axis=0) / (T * np.diff(problem.s)[:, None])
            if problem.task.free:
                slopes["effort_rate"] -= step[-1] / T * point.values["effort_rate"]
        if point.obstacle_slope is not None:
            slopes["obstacle"] = (point.obstacle_slope @ z[:, :n, None])[..., 0]
        slopes["duration"] = step[-1:, None]
        for kind, order in problem.along_kinds():
            slopes[kind] = problem.dense[order] @ y / T**order
            if problem.task.free:
                slopes[kind] += step[-1] * self.dense_along_time(kind, order)
        parts = []
        for kind, bound in problem.bounds.items():
            change = slopes[kind] / bound.scale
            parts.append(np.stack([-change, change]).ravel())
        return np.where(problem.weight > 0.0, np.concatenate(parts), 0.0) if parts else np.zeros(0)

    def dense_along_time(self, kind: str, order: int) -> Array:
        """Return how the values of such a kind change with the duration."""
        problem, point = self.problem, self.point
        if order == 0:
            return np.asarray(problem.dense_rate[0])
        rate = problem.dense_rate[order] / point.duration**order - order * point.values[kind] / point.duration
        return np.asarray(rate)

    def room_slopes(self, vector: Array) -> dict[str, Array]:
        """Return the derivatives of vector . room along the values of each kind."""
        kinds, bounds = self.problem.by_kind(vector), self.problem.bounds
        return {kind: np.asarray((rows[1] - rows[0]) / bounds[kind].scale) for kind, rows in kinds.items()}

    def pull(self) -> Array:
        """Return the derivative of the penalty along joint forces."""
        problem, point = self.problem, self.point
        if not problem.passive.any():
            return np.zeros_like(point.motion.qd)
        slope = problem.multipliers + problem.stiffness * problem.missing_force(point.values)
        return np.where(problem.passive, problem.w[:, None] * slope / problem.target_scale, 0.0)

    def cost_slopes(self) -> dict[str, Array]:
        """Return the derivatives of the integrand along joint forces, rates, accelerations and jerk, each (k, nv)."""
        problem, point = self.problem, self.point
        w, tau, qd = problem.task.weights, point.values["effort"], point.motion.qd
        found = {
            "effort": 2.0 * w["torque"] * tau + 2.0 * w["power"] * tau * qd**2 + w["energy"] * qd,
            "velocity": 2.0 * w["power"] * tau**2 * qd + w["energy"] * tau,
            "acceleration": 2.0 * w["acceleration"] * point.motion.qdd,
        }
        if w["jerk"].any():
            found["jerk"] = 2.0 * w["jerk"] * point.path[3]
        return found

    def states(self, slopes: Mapping[str, Array]) -> Array:
        """Return derivatives along (u, qd, qdd), (k, 3 nv), for those along each kind."""
        problem, point = self.problem, self.point
        n = problem.task.model.nv
        rows = np.zeros((len(problem.s), 3, n))
        for kind in ("position", "velocity", "acceleration"):
            if kind in slopes:
                rows[:, _ORDERS[kind]] += slopes[kind]
        if "obstacle" in slopes:
            assert point.obstacle_slope is not None
            rows[:, 0] += (slopes["obstacle"][:, None] @ point.obstacle_slope)[:, 0]
        tau = self.forces(slopes)
        result = rows.reshape(-1, 3 * n)
        return result if tau is None else result + (tau[:, None] @ point.dynamics)[:, 0]

    def forces(self, slopes: Mapping[str, Array]) -> Array | None:
        """Return derivatives along joint forces, those of their rates included."""
        problem, point = self.problem, self.point
        tau = slopes.get("effort")
        if "effort_rate" in slopes:
            tau = np.zeros_like(point.motion.qd) if tau is None else tau.copy()
            part = slopes["effort_rate"] / (point.duration * np.diff(problem.s)[:, None])
            tau[1:] += part
            tau[:-1] -= part
        return tau

    def along(self, slopes: Mapping[str, Array]) -> Array:
        """Return derivatives along the variables for those along the values of each kind."""
        problem, point = self.problem, self.point
        z, T, n = self.states(slopes), point.duration, problem.task.width
        if point.chart is not None:
            z = (z[:, None] @ point.chart)[:, 0]
        path = np.zeros((4, len(problem.s), n))
        path[:3] = z.reshape(-1, 3, n).transpose(1, 0, 2)
        if "jerk" in slopes:
            path[3] = slopes["jerk"]
        result = np.zeros(problem.size)
        parts = problem.reduced.transpose(0, 2, 1) @ path / T ** np.arange(4.0)[:, None, None]
        whole = parts.sum(axis=0)
        dense = [(kind, order) for kind, order in problem.along_kinds() if kind in slopes]
        for kind, order in dense:
            whole += problem.dense[order].T @ slopes[kind] / T**order
        result[: problem.free * n] = whole.ravel()
        if problem.task.free:
            result[-1] = float((path * self.along_time()).sum())
            if "effort_rate" in slopes:
                result[-1] -= float((slopes["effort_rate"] * point.values["effort_rate"]).sum()) / T
            if "duration" in slopes:
                result[-1] += slopes["duration"][0, 0]
            for kind, order in dense:
                result[-1] += float((slopes[kind] * self.dense_along_time(kind, order)).sum())
        return result

    def along_time(self) -> Array:
        """Return how the path and its rates (4, k, nv) change with the duration."""
        problem, point = self.problem, self.point
        order = np.arange(4.0)[:, None, None]
        return (problem.table @ problem.rate) / point.duration**order - order * point.path / point.duration


class PointBends:
    """Second derivatives at a point along the variables."""

    def __init__(self, point: Point) -> None:
        self.problem, self.point, self.first = point.problem, point, point.slopes

    def hessian(self, multipliers: Array, stiffness: Array) -> tuple[Array, Callable[[], Array]]:
        """Return the Hessian of cost - multipliers . room + stiffness . (room's change)^2 / 2, and a function.

        That returns the part without second derivatives, which is never negative (Gauss, Newton).
        """
        problem, point = self.problem, self.point
        task, n, k = problem.task, problem.task.model.nv, len(problem.s)
        w, tau, qd = task.weights, point.values["effort"], point.motion.qd
        weight = point.duration * problem.w[:, None] / problem.unit
        stiff_rows = problem.by_kind(stiffness)
        given = {kind: rows.sum(axis=0) / problem.bounds[kind].scale ** 2 for kind, rows in stiff_rows.items()}
        slopes = {kind: -slope for kind, slope in self.first.room_slopes(multipliers).items()}
        for kind, slope in self.first.cost_slopes().items():
            slopes[kind] = slopes.get(kind, 0.0) + weight * slope
        slopes["effort"] = slopes["effort"] + self.first.pull()
        D = point.dynamics
        given_force = np.where(problem.passive, problem.stiffness * problem.w[:, None] / problem.target_scale**2, 0.0)
        stiff = given_force + weight * (2.0 * w["torque"] + 2.0 * w["power"] * qd**2) + given.get("effort", 0.0)
        M = (D.transpose(0, 2, 1) * stiff[:, None]) @ D
        diagonal = np.zeros((k, 3, n))
        diagonal[:, 1] = weight * 2.0 * w["power"] * tau**2
        diagonal[:, 2] = weight * 2.0 * w["acceleration"]
        for kind in ("position", "velocity", "acceleration"):
            if kind in given:
                diagonal[:, _ORDERS[kind]] += given[kind]
        M[:, np.arange(3 * n), np.arange(3 * n)] += diagonal.reshape(k, -1)
        if "obstacle" in given:
            bend = point.obstacle_slope
            assert bend is not None
            M[:, :n, :n] += (bend.transpose(0, 2, 1) * given["obstacle"][:, None]) @ bend
        jerk = None
        if task.loops is None:
            jerk = np.broadcast_to(weight * 2.0 * w["jerk"] + given.get("jerk", 0.0), (k, n))
        forces = self.first.forces(slopes)
        N = self._twice(forces if forces is not None else np.zeros((k, n)))
        if w["power"].any() or w["energy"].any():  # tau qd: a product of two
            cross = np.zeros((k, 3 * n, 3 * n))
            cross[:, n : 2 * n] = (2.0 * weight * w["power"] * tau * qd)[..., None] * D
            M += cross + cross.transpose(0, 2, 1)
            cross[:, n : 2 * n] += (weight * w["energy"])[..., None] * D
            N += cross + cross.transpose(0, 2, 1)
        states = self.first.states(slopes)
        if point.chart is not None:
            P = point.chart
            M, N = (P.transpose(0, 2, 1) @ X @ P for X in (M, N))
            if isinstance(point.motion, LoopMotion):
                pulled = np.zeros((k, n)) if forces is None else forces
                alone = states - (pulled[:, None] @ D)[:, 0]
                N = N + point.motion.twice(alone, pulled)
            else:
                N = N + point.motion.curvature(states.reshape(k, 3, n))
            states = (states[:, None] @ P)[:, 0]
        limits = np.zeros((problem.size, problem.size))
        if "effort_rate" in given:
            limits += self._of_rates(given["effort_rate"])
        self._add_dense(limits, given)
        if task.free and "duration" in given:
            limits[-1, -1] += given["duration"][0, 0]
        whole = self._assembled(M + N, jerk) + limits
        if task.free:
            self._add_time(whole, states, slopes)
        return whole, lambda: self._assembled(M, jerk) + limits

    def _twice(self, vector: Array) -> Array:
        """Return second derivatives of vector . tau along (u, qd, qdd), (k, 3 nv, 3 nv)."""
        problem, point = self.problem, self.point
        n, k = problem.task.model.nv, len(problem.s)
        motion = point.motion
        if isinstance(motion, LoopMotion):  # all at once, see `hessian`
            return np.zeros((k, 3 * n, 3 * n))
        d = inverse_dynamics_second_derivatives(problem.task.model, motion.q, motion.qd, motion.qdd, vector)
        N = np.zeros((k, 3 * n, 3 * n))
        a, b, c = slice(0, n), slice(n, 2 * n), slice(2 * n, 3 * n)
        N[:, a, a], N[:, b, b], N[:, a, b], N[:, a, c] = d.dq_dq, d.dqd_dqd, d.dq_dqd, d.dq_dqdd
        N[:, b, a], N[:, c, a] = d.dq_dqd.transpose(0, 2, 1), d.dq_dqdd.transpose(0, 2, 1)
        return N

    def _assembled(self, M: Array, jerk: Array | None) -> Array:
        """Return the Hessian along the variables for that along (x, xd, xdd) at each point, and of jerk."""
        problem, point = self.problem, self.point
        n, k, A, T = problem.task.width, len(problem.s), problem.free, point.duration
        M = M.reshape(k, 3, n, 3, n)
        steps = [problem.reduced[d] / T**d for d in range(4)]
        H, along = np.zeros((A, n * n * A)), np.stack(steps[:3], axis=1)
        for d in range(3):
            rows = M[:, d].transpose(0, 1, 3, 2).reshape(k, n * n, 3) @ along
            H += steps[d].T @ rows.reshape(k, n * n * A)
        H = np.ascontiguousarray(H.reshape(A, n, n, A).transpose(0, 1, 3, 2))
        if jerk is not None and jerk.any():
            part = np.einsum("ka,ki,kb->iab", steps[3], jerk, steps[3])
            H[:, np.arange(n), :, np.arange(n)] += part
        result = np.zeros((problem.size, problem.size))
        m = A * n
        result[:m, :m] = H.reshape(m, m)
        if problem.task.free:
            rate = self.first.along_time()
            z = rate[:3].transpose(1, 0, 2).reshape(k, 3 * n)
            back = (M.reshape(k, 3 * n, 3 * n) @ z[..., None])[..., 0]
            rows = back.reshape(k, 3, n).transpose(1, 0, 2)
            column = sum(steps[d].T @ rows[d] for d in range(3))
            corner = float((z * back).sum())
            if jerk is not None:
                column = column + steps[3].T @ (jerk * rate[3])
                corner += float((jerk * rate[3] ** 2).sum())
            result[:m, -1] = result[-1, :m] = np.asarray(column).ravel()
            result[-1, -1] = corner
        return result

    def _of_rates(self, stiffness: Array) -> Array:
        """Return the part of the Hessian that limits of effort rates give, without second derivatives."""
        problem, point = self.problem, self.point
        k, T = len(problem.s), point.duration
        D = point.dynamics if point.chart is None else point.dynamics @ point.chart
        steps = np.stack([problem.reduced[d] / T**d for d in range(3)])  # (3, k, A)
        rows = np.einsum("kidj,dka->kiaj", D.reshape(k, D.shape[1], 3, -1), steps).reshape(k, D.shape[1], -1)
        if problem.task.free:
            z = self.first.along_time()[:3].transpose(1, 0, 2).reshape(k, -1, 1)
            rows = np.concatenate([rows, D @ z], axis=-1)
        rows = np.diff(rows, axis=0) / (T * np.diff(problem.s)[:, None, None])
        if problem.task.free:
            rows[..., -1] -= point.values["effort_rate"] / T
        flat = (np.sqrt(stiffness)[..., None] * rows).reshape(-1, problem.size)
        return np.asarray(flat.T @ flat)

    def _add_dense(self, H: Array, stiffness: Mapping[str, Array]) -> None:
        """Add the part of the Hessian that limits of what is linear in the variables give, coordinate by coordinate."""
        problem, point = self.problem, self.point
        n, T, m = problem.task.width, point.duration, problem.free * problem.task.width
        for kind, order in problem.along_kinds():
            steps, stiff = problem.dense[order] / T**order, stiffness[kind]
            if problem.task.free:
                rate = self.first.dense_along_time(kind, order)
                column = (steps.T @ (stiff * rate)).ravel()
                H[:m, -1] += column
                H[-1, :m] += column
                H[-1, -1] += float((stiff * rate**2).sum())
            for i in np.flatnonzero(stiff.any(axis=0)):
                H[i:m:n, i:m:n] += (steps.T * stiff[:, i]) @ steps

    def _add_time(self, H: Array, states: Array, slopes: Mapping[str, Array]) -> None:
        """Add what the duration bends: rates are quotients by its powers, and the cost is an integral over it."""
        problem, point = self.problem, self.point
        n, k, T, m = problem.task.width, len(problem.s), point.duration, problem.free * problem.task.width
        path = np.zeros((4, k, n))
        path[:3] = states.reshape(k, 3, n).transpose(1, 0, 2)
        path[3] = slopes.get("jerk", 0.0)
        order = np.arange(4.0)[:, None, None]
        per = path / T**order
        column = -(problem.reduced.transpose(0, 2, 1) @ (order * per)).sum(axis=0).ravel() / T
        rate = problem.table @ problem.rate
        bend = order * (order + 1.0) * point.path / T**2 - 2.0 * order * rate / T ** (order + 1.0)
        corner = float((path * bend).sum())
        for kind, d in problem.along_kinds():
            if d == 0:
                continue
            per_order = slopes[kind] / T**d
            column -= d / T * (problem.dense[d].T @ per_order).ravel()
            corner += float(
                (slopes[kind] * (d * (d + 1.0) * point.values[kind] / T**2)).sum()
                - (2.0 * d / T * per_order * problem.dense_rate[d]).sum()
            )
        per_time = problem.w[:, None] / problem.unit
        cost = self.first.along({kind: per_time * x for kind, x in self.first.cost_slopes().items()})
        column += cost[:m]
        corner += 2.0 * float(cost[-1])
        if "effort_rate" in slopes:  # their quotient by the duration, to first order in each factor
            corner += 2.0 * float((slopes["effort_rate"] * point.values["effort_rate"]).sum()) / T**2
            spread = {"effort_rate": -slopes["effort_rate"] / T}
            mixed = self.first.along(spread)
            mixed[-1] -= float((spread["effort_rate"] * point.values["effort_rate"]).sum()) / -T
            column += mixed[:m]
            corner += 2.0 * mixed[-1]
        H[:m, -1] += column
        H[-1, :m] += column
        H[-1, -1] += corner
