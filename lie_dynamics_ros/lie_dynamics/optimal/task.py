"""The problem of a motion as a caller asks for it, checked: model, ends, limits and cost, loops and obstacles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..constraints.constraint_set import ConstraintSet
from ..constraints.quantities import constraint_error, constraint_quantities
from ..dynamics.inverse_dynamics import inverse_dynamics
from ..errors import DescriptionError, InputError
from ..lie._arrays import as_real, number_of, real_numbers
from ..model.configuration import checked, coordinate_name, require_result
from ..model.model import Model
from ..model.structure import JointLimits
from .loops import ClosedLoops, LoopMotion
from .modes import ChartedMotion, Conditions, Terms, charted_motion, to_chart

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
    """Problem: a motion in the chart around `start` that meets conditions, of least cost."""

    model: Model
    start: Array
    conditions: Conditions
    duration: tuple[float, float]  # shortest and longest time of the motion [s], the same where it is given
    weights: Mapping[str, Array]  # those of `MotionCost`
    obstacles: Obstacles | None = None
    loops: ClosedLoops | None = None  # what closes the tree; the path is then one of its independent coordinates

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


@dataclass(frozen=True, eq=False)
class PlainRequest:
    """Arguments that motions of all costs share, as they are given."""

    model: Model
    start: npt.ArrayLike
    goal: npt.ArrayLike
    duration: float | tuple[float, float]
    _: KW_ONLY
    start_velocity: npt.ArrayLike | None = None
    goal_velocity: npt.ArrayLike | None = None
    limits: JointLimits | None = None
    guess: npt.ArrayLike | None = None
    max_modes: int | None = None


@dataclass(frozen=True, eq=False)
class TorqueRequest(PlainRequest):
    """Arguments of `torque_optimal_motion`, as they are given."""

    _: KW_ONLY
    weights: npt.ArrayLike | None = None
    tolerance: float = 1e-10


@dataclass(frozen=True, eq=False)
class MotionRequest(PlainRequest):
    """Arguments of `optimal_motion`, as they are given."""

    _: KW_ONLY
    cost: MotionCost | None = None
    waypoints: tuple[npt.ArrayLike, npt.ArrayLike] | None = None
    periodic: bool = False
    smooth_ends: bool = False
    effort_rate: npt.ArrayLike | None = None
    obstacles: Obstacles | None = None
    constraints: ConstraintSet | None = None
    actuated: npt.ArrayLike | None = None
    independent: Sequence[str] | None = None
    tolerance: float = 1e-4


def make_task(asked: MotionRequest) -> Task:
    """Return the task of a request; raises the errors of `optimal_motion`."""
    model, waypoints, periodic, smooth_ends = asked.model, asked.waypoints, asked.periodic, asked.smooth_ends
    _require_smooth(model)
    cost = MotionCost(torque=1.0) if asked.cost is None else asked.cost
    if not isinstance(cost, MotionCost):
        raise InputError(f"cost: a MotionCost is expected, got {cost!r}", name="cost", value=cost)
    n = model.nv
    a, b = (single_vector(model, getattr(asked, name), name, model.nq) for name in ("start", "goal"))
    v0, v1 = (
        np.zeros(n) if v is None else single_vector(model, v, name, n)
        for v, name in ((asked.start_velocity, "start_velocity"), (asked.goal_velocity, "goal_velocity"))
    )
    loops = None
    if asked.constraints is None:
        if asked.actuated is not None or asked.independent is not None:
            raise InputError("actuated, independent: constraints are expected with them", name="constraints")
        x = model.difference(a, b)
    else:
        loops = ClosedLoops(model, asked.constraints, a, asked.actuated, asked.independent)
        if cost.jerk is not None and np.any(cost.jerk):
            raise InputError("cost.jerk: no jerk of closed loops is known", name="cost.jerk", value=cost.jerk)
        _require_closed(loops, b, v0, v1)
        x, v0, v1, n = b[loops.places] - a[loops.places], v0[loops.columns], v1[loops.columns], len(loops.columns)
    none = np.zeros(n)
    if periodic:
        if asked.start_velocity is not None or asked.goal_velocity is not None:
            raise InputError("periodic: a motion without given velocities is expected", name="periodic")
        balls = [j for j in model.joints if j.kind in ("spherical", "free")] if loops is None else []
        turned = [j.name for j in balls if x[j.v_slice].any()]
        if turned:
            raise InputError(f"goal: that of a periodic motion must be the start at joint {turned[0]!r}", name="goal")
        terms: Terms = tuple(((d, 0.0, -1.0), (d, 1.0, 1.0)) for d in range(3))
        fixed, timed = [x, none, none], [none, none, none]
    else:
        terms = tuple(((d, s, 1.0),) for s in (0.0, 1.0) for d in (0, 1))
        fixed, timed = [none, none, x, none], [none, v0, none, v1 if loops else to_chart(model, x, v1)]
    if smooth_ends:
        if loops is None and v1.any() and any(j.kind in ("spherical", "free") for j in model.joints):
            raise InputError("smooth_ends: rest at the goal is expected of ball and free joints", name="smooth_ends")
        terms += tuple(((2, s, 1.0),) for s in (0.0, 1.0))
        fixed, timed = [*fixed, none, none], [*timed, none, none]
    if waypoints is not None:
        parts, through = _waypoints(model, waypoints, periodic)
        terms += tuple(((0, float(s), 1.0),) for s in parts)
        fixed += list(model.difference(a, through) if loops is None else (through - a)[:, loops.places])
        timed += [none] * len(parts)
    shortest, longest = _durations(asked.duration)
    return Task(
        model, a, Conditions(terms, np.array(fixed).reshape(len(terms), n), np.array(timed).reshape(len(terms), n)),
        (shortest, longest), cost.weights(model), asked.obstacles, loops,
    )  # fmt: skip


def _require_closed(loops: ClosedLoops, goal: Array, start_velocity: Array, goal_velocity: Array) -> None:
    """Raise an error where the goal is open, not on the way of the start, or where rates do not fit the loops."""
    at = loops.known[1][0]
    y, rest = np.stack([at, goal])[:, loops.places], np.zeros((2, len(loops.columns)))
    for name, q, qd in (("start", at, start_velocity), ("goal", goal, goal_velocity)):
        if np.abs(constraint_error(loops.model, loops.constraints, q)).max(initial=0.0) > 1e-6:
            raise InputError(f"{name}: closed loops are expected", name=name, value=q)
        found = constraint_quantities(loops.model, loops.constraints, q, qd)
        if np.abs(found.rate).max(initial=0.0) > 1e-6 * (1.0 + np.abs(qd).max(initial=0.0)):
            raise InputError(f"{name}_velocity: rates that keep the loops closed are expected", name=f"{name}_velocity")
    reached = loops.motion(y, rest, rest).q[1]
    if np.abs(loops.model.difference(reached, goal)).max(initial=0.0) > 1e-6:
        raise InputError(
            "goal: a configuration that the independent coordinates lead to from the start is expected; this one is "
            "assembled in another way, or counts other turns",
            name="goal", value=goal,
        )  # fmt: skip


def _durations(duration: float | tuple[float, float]) -> tuple[float, float]:
    pair = duration if isinstance(duration, (tuple, list)) else (duration, duration)
    if len(pair) != 2:
        raise InputError(f"duration: one number or two are expected, got {duration!r}", name="duration", value=duration)
    low, high = (number_of("duration", x, "a positive number", lambda x: 0.0 < x < np.inf) for x in pair)
    if low > high:
        raise InputError(f"duration: the shortest before the longest is expected, got {duration!r}", name="duration")
    return low, high


def _waypoints(model: Model, waypoints: tuple[npt.ArrayLike, npt.ArrayLike], periodic: bool) -> tuple[Array, Array]:
    if not isinstance(waypoints, (tuple, list)) or len(waypoints) != 2:
        raise InputError("waypoints: parts of the duration and configurations are expected", name="waypoints")
    parts, through = as_real(waypoints[0], (), "waypoints"), checked(waypoints[1], model.nq, "waypoints", model)
    if parts.ndim != 1 or through.shape != (len(parts), model.nq) or np.iscomplexobj(through):
        raise InputError(
            f"waypoints: shapes (m,) and (m, {model.nq}) are expected, got {parts.shape} and {through.shape}",
            name="waypoints",
        )
    low = -1e-300 if periodic else 0.0  # the beginning of a periodic motion may be given
    if parts.size and not ((parts > low).all() and (parts < 1.0).all() and (np.diff(parts) > 0.0).all()):
        message = f"waypoints: rising parts between 0 and 1 are expected, got {waypoints[0]!r}"
        raise InputError(message, name="waypoints", value=waypoints[0])
    return parts, through


def _require_smooth(model: Model) -> None:
    if model.actuation_terms is not None and model.actuation_terms[1].any():
        name = coordinate_name(model, int(np.argmax(model.actuation_terms[1] != 0.0)), False)
        raise DescriptionError(
            f"joint {name!r}: dry friction has no derivative where the joint turns back; a model without it is "
            "expected, with_joint_terms(friction=False)",
            name=name,
        )


def single_vector(model: Model, value: npt.ArrayLike, name: str, size: int) -> Array:
    """Return one real vector of that size, or raise an InputError."""
    array = checked(value, size, name, model)
    if array.ndim != 1 or np.iscomplexobj(array):
        raise InputError(f"{name}: {size} real numbers are expected, got {value!r}", name=name, value=value)
    return array
