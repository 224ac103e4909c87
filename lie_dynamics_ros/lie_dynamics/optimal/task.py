"""The problem of a motion: its model, start, conditions, limits and cost, loops and obstacles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.inverse_dynamics import inverse_dynamics
from ..errors import InputError
from ..lie._arrays import real_numbers
from ..model.configuration import coordinate_name, require_result
from ..model.model import Model
from ..model.structure import JointLimits
from .loops import ClosedLoops, LoopMotion
from .modes import ChartedMotion, Conditions, charted_motion

#: Half the width, in units of its scale, that a limit gets whose lower and upper value are the same: a passive joint.
_NARROW = 2e-4


@dataclass(frozen=True, eq=False)
class Bound:
    """lower <= value <= upper for one kind of value of all coordinates, each (nv,), seen in units of `scale`."""

    lower: Array
    upper: Array
    scale: Array

    def excess(self, value: Array) -> Array:
        """Return how far values (k, nv) are above and below (2, k, nv), negative within the limits."""
        return np.stack([value - self.upper, self.lower - value]) / self.scale

    def opened(self) -> Bound:
        """Return the same, with an inside where lower and upper are one."""
        narrow = np.where(self.upper - self.lower < 2.0 * _NARROW * self.scale, _NARROW * self.scale, 0.0)
        return Bound(self.lower - narrow, self.upper + narrow, self.scale)


#: Bounds by kind: "position", "velocity", "acceleration", "jerk", "effort", "effort_rate", "obstacle", "duration".
Bounds = Mapping[str, Bound]


@dataclass(frozen=True, eq=False)
class MotionCost:
    """Cost of a motion: the integral over time of a sum over coordinates; weights are one number each, or (nv,).

    Attributes
    ----------
    torque : array-like
        Weights of tau^2. With resistances over squares of torque constants: the heat of electrical motors.
    power : array-like
        Weights of (tau qd)^2, the square of mechanical power.
    energy : array-like
        Weights of tau qd, mechanical work, which flows back where a joint brakes. With `torque` the electrical energy.
    acceleration, jerk : array-like
        Weights of qdd^2 and of its rate squared; the jerk of ball and free joints is that of the path's coordinates.
    time : float
        Weight of the duration, for those that are free.
    """

    torque: npt.ArrayLike = 0.0
    power: npt.ArrayLike = 0.0
    energy: npt.ArrayLike = 0.0
    acceleration: npt.ArrayLike = 0.0
    jerk: npt.ArrayLike = 0.0
    time: float = 0.0

    def weights(self, model: Model) -> dict[str, Array]:
        """Return all weights as arrays (nv,), `time` (1,); an InputError names one that is wrong."""
        found = {}
        for field in fields(self):
            value, size = getattr(self, field.name), 1 if field.name == "time" else model.nv
            name = f"cost.{field.name}"
            try:
                array = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (size,)))
            except (TypeError, ValueError):
                raise InputError(f"{name}: one number or {size} are expected, got {value!r}", name=name) from None
            if not (np.isfinite(array) & (array >= 0.0)).all():
                raise InputError(f"{name}: numbers of 0 and more are expected, got {value!r}", name=name, value=value)
            found[field.name] = array
        if not any(w.any() for w in found.values()):
            raise InputError("cost: a weight that is not 0 is expected", name="cost")
        return found


def integrand(weights: Mapping[str, Array], qd: Array, qdd: Array, jerk: Array, tau: Array) -> tuple[Array, Array]:
    """Return what is integrated (k,), and the sum of the sizes of its parts (k,), by which the cost is measured."""
    work = (tau * qd) @ weights["energy"]
    squares = (
        tau**2 @ weights["torque"] + (tau * qd) ** 2 @ weights["power"] + qdd**2 @ weights["acceleration"]
        + jerk**2 @ weights["jerk"] + weights["time"]
    )  # fmt: skip
    return squares + work, squares + np.abs(tau * qd) @ weights["energy"]


def make_bounds(model: Model, limits: JointLimits | None, effort: Array) -> dict[str, Bound]:
    """Return those of the limits that are finite; `effort` (nv,) is what joint forces are usual."""
    if limits is None:
        return {}
    if not isinstance(limits, JointLimits):
        raise InputError(f"limits: JointLimits are expected, got {limits!r}", name="limits", value=limits)
    sizes = dict.fromkeys(("velocity", "effort", "acceleration", "deceleration", "jerk"), model.nv)
    for name, size in {"lower": model.nq, "upper": model.nq, **sizes}.items():
        value = getattr(limits, name)
        if value.shape != (size,) or np.isnan(value).any():
            raise InputError(f"limits.{name}: {size} numbers are expected, got {value!r}", name=f"limits.{name}")
    lower, upper = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
    lower[model.vector_v], upper[model.vector_v] = limits.lower[model.vector_q], limits.upper[model.vector_q]
    width = upper - lower
    most = np.minimum(limits.acceleration, limits.deceleration)
    found = {
        "position": Bound(lower, upper, np.where(np.isfinite(width) & (width > 0.0), width, 1.0)),
        "velocity": Bound(-limits.velocity, limits.velocity, _finite_or_one(limits.velocity)),
        "acceleration": Bound(-most, most, _finite_or_one(most)),
        "jerk": Bound(-limits.jerk, limits.jerk, _finite_or_one(limits.jerk)),
        "effort": Bound(-limits.effort, limits.effort, effort),
    }
    for kind, bound in found.items():
        if (bound.lower > bound.upper).any():
            k = int(np.argmax(bound.lower > bound.upper))
            raise InputError(
                f"limits: joint {coordinate_name(model, k, False)!r} has a lower {kind} limit of {bound.lower[k]} and "
                f"an upper one of {bound.upper[k]}"
            )
    return {k: b for k, b in found.items() if np.isfinite(b.lower).any() or np.isfinite(b.upper).any()}


def rate_bound(model: Model, effort_rate: npt.ArrayLike) -> Bound:
    """Return limits of how fast joint forces change (nv,)."""
    most = real_numbers(effort_rate, "effort_rate")
    most = np.full(model.nv, most) if most.ndim == 0 else most
    if most.shape != (model.nv,) or not (most > 0.0).all():
        message = f"effort_rate: {model.nv} positive numbers are expected, got {effort_rate!r}"
        raise InputError(message, name="effort_rate", value=effort_rate)
    return Bound(-most, most, _finite_or_one(most))


def _finite_or_one(x: Array) -> Array:
    return np.where(np.isfinite(x) & (x > 0.0), x, 1.0)


def require_within(model: Model, bounds: Bounds, what: str, values: Mapping[str, Array]) -> None:
    """Raise an InputError that names the joint where an end of the motion is outside the limits."""
    for kind in set(bounds) & set(values):
        bound, value = bounds[kind], values[kind]
        over = bound.excess(value[None])[:, 0].max(axis=0)
        if (over > 1e-9).any():
            k = int(over.argmax())
            name, allowed = coordinate_name(model, k, False), f"{bound.lower[k]} to {bound.upper[k]}"
            raise InputError(
                f"{what}: {kind} {value[k]} of joint {name!r} is outside its limits {allowed}",
                name=name, value=value[k], expected="an end within the limits",
            )  # fmt: skip


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
