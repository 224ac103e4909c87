"""Checks of a motion against the limits of a robot: positions, velocities, accelerations, jerk, and efforts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array
from ...constraints.tracking.motor_dynamics import MotorDynamics
from ...dynamics.joint_friction import JointFriction
from ...errors import InputError
from ...files import new_figure
from ...lie._arrays import count_of
from ..robots import Robot, inverse_dynamics, require_robot_coordinates
from ..trajectory import Trajectory
from .joint_path import JointPath, Motion, first_beyond, largest_against

SLACK = 1e-6  # by what part a limit may be exceeded: round-off of times in whole nanoseconds
LARGEST = 1e9  # numbers that no joint has, whatever its limits
LEAST = 101  # fewest samples of a path that moves
KINDS = ("velocity", "acceleration", "jerk", "effort")


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits of a robot's joints, all (n,), infinite where there is none.

    Attributes
    ----------
    names : sequence of str
    lower, upper : ndarray
        Of positions [rad, m].
    velocity, acceleration, deceleration, jerk, effort : ndarray
        Largest absolute values; accelerations count as decelerations where the joint slows down.
    """

    names: Sequence[str]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    deceleration: Array
    jerk: Array
    effort: Array

    @classmethod
    def of(cls, model: Robot) -> MotionLimits:
        """Return those of a robot whose joints have one coordinate each; a limit of 0 counts as none.

        Exporters write 0 for "not given", and a joint that may neither move nor push needs no check.
        """
        require_robot_coordinates(model, "a motion's limits")
        limits = model.limits
        found = (getattr(limits, name) for name in ("velocity", "acceleration", "deceleration", "jerk", "effort"))
        given = (np.where(x > 0.0, x, np.inf) for x in found)
        return cls(model.joint_names, limits.lower, limits.upper, *given)


@dataclass(frozen=True)
class Excess:
    """The first limit that a motion exceeds.

    Attributes
    ----------
    kind : str
        "position", "velocity", "acceleration", "deceleration", "jerk", "effort", "feed-forward", "finite", "loops".
    joint : str
    value, limit : float
        With the sign of the value; a position's limit is the bound it passed.
    time : float
        Of the segment of the path, or the sample, where it is [s].
    """

    kind: str
    joint: str
    value: float
    limit: float
    time: float

    def __str__(self) -> str:
        if self.kind == "finite":
            return "whose polynomials are not finite"
        if self.kind == "loops":
            return f"beyond a singular configuration, or where the loops cannot close, after {self.time:.3g} s"
        if self.kind == "effort":
            return (
                f"that takes {self.value:.3g} N m or N of joint {self.joint} after {self.time:.3g} s; "
                f"its effort limit is {self.limit:g}"
            )
        what = "effort" if self.kind == "feed-forward" else self.kind
        article = "an" if what[0] in "ae" else "a"
        return f"with {article} {what} of {self.value:.4g} beyond the limits of {self.joint} ({self.limit:.4g})"


def first_excess(path: JointPath, limits: MotionLimits, led: bool = False) -> Excess | None:
    """Return the first limit of positions, their rates and feed-forward that a path exceeds anywhere, or None.

    With ``led`` its first point is where the robot is: beyond a position limit it may come back.
    """
    at, spans = path.joints, np.diff(path.times)
    lower, upper = limits.lower[at], limits.upper[at]
    if path.effort is not None:
        over = np.abs(path.effort) > loose(np.minimum(limits.effort[at], LARGEST))
        if over.any():
            k, j = np.argwhere(over)[0]
            value = float(path.effort[k, j])
            return _excess(path, limits, "feed-forward", value, np.copysign(limits.effort[at][j], value), k, j)
    if led:
        lower, upper = np.minimum(lower, path.position[0]), np.maximum(upper, path.position[0])
    for sign, bound in ((1.0, upper), (-1.0, -lower)):
        over = ~(sign * path.position <= loose(bound))
        if over.any():
            k, j = np.argwhere(over)[0]
            return _excess(path, limits, "position", float(path.position[k, j]), sign * bound[j], k, j)
    if not len(path.segments):
        return None
    if not np.isfinite(path.segments).all():
        return Excess("finite", "", np.inf, LARGEST, 0.0)
    place = path.segments.copy()
    place[:, 0] += path.position[:-1]
    rates = [place]
    for _ in range(3):
        rates.append(rates[-1][:, 1:] * np.arange(1.0, rates[-1].shape[1])[:, None])
    hardest = np.maximum(limits.acceleration, limits.deceleration)[at]
    for kind, c, top, bottom in (
        ("position", place, upper, -lower),
        ("velocity", rates[1], *2 * (np.minimum(limits.velocity[at], LARGEST),)),
        ("acceleration", rates[2], *2 * (np.minimum(hardest, LARGEST),)),
        ("jerk", rates[3], *2 * (limits.jerk[at],)),
    ):
        for sign, bound in ((1.0, top), (-1.0, bottom)):
            found = first_beyond(sign * c, spans, loose(bound)) if np.isfinite(bound).any() else None
            if found is not None:
                return _excess(path, limits, kind, sign * found[0], sign * bound[found[2]], *found[1:])
    return _first_turn(path, limits, rates, spans)


def _first_turn(path: JointPath, limits: MotionLimits, rates: list[Array], spans: Array) -> Excess | None:
    """Return the first acceleration or deceleration beyond its own limit, where these differ."""
    at = path.joints
    for j in np.flatnonzero(limits.acceleration[at] != limits.deceleration[at]):
        for k in _may_turn(rates, spans, int(j), limits.acceleration[at[j]], limits.deceleration[at[j]]):
            span = spans[k]
            v, a = (rates[i][k, :, j] * span ** np.arange(rates[i].shape[1]) for i in (1, 2))
            for sign in (1.0, -1.0):
                for kind, rate, limit in (
                    ("acceleration", -sign * v, limits.acceleration[at[j]]),
                    ("deceleration", sign * v, limits.deceleration[at[j]]),
                ):
                    found = largest_against(sign * a, rate)
                    if found > float(loose(np.array(limit))):
                        return _excess(path, limits, kind, sign * found, sign * limit, k, int(j))
    return None


def _may_turn(rates: list[Array], spans: Array, j: int, faster: float, slower: float) -> list[int]:
    """Return the segments whose coefficients alone do not say that a joint keeps both limits: few, of most paths."""
    v, a = (rates[i][:, :, j] * spans[:, None] ** np.arange(rates[i].shape[1]) for i in (1, 2))
    doubtful = ~(np.isfinite(v).all(axis=1) & np.isfinite(a).all(axis=1))
    for sign in (1.0, -1.0):
        most = sign * a[:, 0] + np.maximum(sign * a[:, 1:], 0.0).sum(axis=1)
        for rate, limit in ((-sign * v, faster), (sign * v, slower)):
            least = rate[:, 0] + np.minimum(rate[:, 1:], 0.0).sum(axis=1)
            never = (rate >= 0.0).all(axis=1) | (least > SLACK * np.abs(rate).sum(axis=1))
            doubtful |= ~(most <= limit) & ~never
    return [int(k) for k in np.flatnonzero(doubtful)]


def _excess(path: JointPath, limits: MotionLimits, kind: str, value: float, limit: float, k: int, j: int) -> Excess:
    return Excess(kind, limits.names[int(path.joints[j])], float(value), float(limit), float(path.times[k]))


def efforts_of(model: Robot, motion: Motion, friction: JointFriction | None = None) -> Array:
    """Return efforts (k, n) along a motion [N m, N]: what the model includes, friction of drives, and feed-forward."""
    tau = np.asarray(inverse_dynamics(model, motion.q, motion.qd, motion.qdd))
    return np.asarray((tau if friction is None else tau + friction.force(motion.qd, tau)) + motion.ahead)


def first_effort(
    model: Robot,
    path: JointPath,
    limits: MotionLimits,
    samples: int = 1000,
    slack: float = SLACK,
    friction: JointFriction | None = None,
) -> Excess | None:
    """Return the first effort of the path's joints beyond its limit, at as many times at most, or None."""
    times = sample_times(path, samples)
    tau = efforts_of(model, path.at(times), friction)[:, path.joints]
    over = ~(np.abs(tau) <= loose(limits.effort[path.joints], slack))
    if not over.any():
        return None
    k, j = np.argwhere(over)[0]
    name = limits.names[int(path.joints[j])]
    return Excess("effort", name, float(tau[k, j]), float(limits.effort[path.joints[j]]), float(times[k]))


def first_opening(robot: MotorDynamics, path: JointPath, samples: int = 1000) -> Excess | None:
    """Return where a closed mechanism cannot follow a path of its motors, or another joint is beyond its limits.

    All along the straight lines between as many samples at most the way is proven to be regular. Joints that are beyond
    their limits at the beginning may come back.
    """
    times = sample_times(path, samples)
    motion = robot.along(path.at(times).q)
    if not motion.valid.all():
        return Excess("loops", "", np.inf, LARGEST, float(times[int(np.argmin(motion.valid))]))
    tree, q = robot.tree, motion.q
    lower, upper = np.minimum(tree.limits.lower, q[0]), np.maximum(tree.limits.upper, q[0])
    for joint in tree.joints:
        at = joint.q_slice.start
        if joint.type.nq == 1 and joint.name not in robot.joint_names:
            over = ~((q[:, at] <= loose(upper[at])) & (-q[:, at] <= loose(-lower[at])))
            if over.any():
                k = int(np.argmax(over))
                bound = float(upper[at] if q[k, at] > upper[at] else lower[at])
                return Excess("position", joint.name, float(q[k, at]), bound, float(times[k]))
    return None


def sample_times(path: JointPath, samples: int) -> Array:
    """Return times at equal distances, at least four to a segment and `LEAST` if the number allows that.

    The last, when the path has come to rest, is left out.
    """
    count = min(samples, max(LEAST, 4 * len(path.segments) + 1)) if len(path.segments) else 1
    return np.linspace(path.times[0], path.times[-1], count)[: -1 if count > 1 else None]


def loose(bound: Array, slack: float = SLACK) -> Array:
    """Return a bound with the slack that numbers need."""
    return np.asarray(bound + slack * np.maximum(np.abs(np.nan_to_num(bound, posinf=0.0, neginf=0.0)), 1e-3))


@dataclass(frozen=True, eq=False)
class Feasibility:
    """Demands of a trajectory on a robot, at samples, and the first limit that it exceeds.

    Attributes
    ----------
    excess : Excess or None
        None where it keeps all limits; those of positions and their rates all along, efforts at the samples.
    times : ndarray, shape (k,)
        Of the samples [s].
    values : dict
        By `KINDS`, each (k, n): velocity, acceleration, jerk, effort [SI].
    limits : MotionLimits
    """

    excess: Excess | None
    times: Array
    values: dict[str, Array]
    limits: MotionLimits

    @property
    def feasible(self) -> bool:
        """Whether it keeps all limits."""
        return self.excess is None

    def use(self, kind: str) -> Array:
        """Return the largest absolute value of one of `KINDS` over its limit (n,), 0 where there is no limit."""
        return np.asarray(np.abs(self.values[kind]).max(axis=0, initial=0.0) / getattr(self.limits, kind))


def feasibility(
    model: Robot,
    trajectory: Trajectory | JointPath,
    limits: MotionLimits | None = None,
    samples: int = 1000,
    friction: JointFriction | None = None,
) -> Feasibility:
    """Check a trajectory against all limits of a robot.

    Parameters
    ----------
    model : Model or MotorDynamics
        With all that its dynamics include: payload, losses by `with_joint_terms`. One coordinate a joint.
    trajectory : Trajectory or JointPath
    limits : MotionLimits, optional
        Those of the model when left out.
    samples : int
        Most times at which efforts are checked.
    friction : JointFriction, optional
        Of the drives.

    Raises
    ------
    InputError, DescriptionError
        For what is no model or trajectory, other limits, and joints of several coordinates.
    """
    path, limits = read_path(model, trajectory, limits)
    samples = count_of("samples", samples, 2, 10**6)
    excess = first_excess(path, limits)
    if isinstance(model, MotorDynamics) and (excess is None or excess.kind != "finite"):
        opening = first_opening(model, path, samples)
        excess = opening if opening is not None and opening.kind == "loops" else excess or opening
    if excess is not None and excess.kind in ("finite", "loops"):
        return Feasibility(excess, np.zeros(0), {kind: np.zeros((0, model.nv)) for kind in KINDS}, limits)
    times = sample_times(path, samples)
    motion = path.at(times)
    values = dict(zip(KINDS, (motion.qd, motion.qdd, motion.jerk, efforts_of(model, motion, friction)), strict=True))
    return Feasibility(excess or first_effort(model, path, limits, samples, friction=friction), times, values, limits)


def read_path(
    model: Robot, trajectory: Trajectory | JointPath, limits: MotionLimits | None
) -> tuple[JointPath, MotionLimits]:
    """Return a path and limits that suit a model, or raise an InputError."""
    require_robot_coordinates(model, "feasibility")
    path = trajectory if isinstance(trajectory, JointPath) else JointPath.of(trajectory)
    if limits is None:
        limits = MotionLimits.of(model)
    if not isinstance(limits, MotionLimits) or len(limits.names) != model.nv or path.rest.size != model.nv:
        raise InputError(f"limits and trajectory of a robot with {model.nv} joints are expected", name="limits")
    return path, limits


if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 5.0  # largest value over its limit that is drawn


def plot_feasibility(*found: Feasibility, titles: tuple[str, ...] = ()) -> Figure:
    """Draw velocity, acceleration, jerk and effort over their limits, a column for each trajectory.

    Kinds without any limit are left out; what is beyond the grey band exceeds a limit.
    """
    kinds = [k for k in KINDS if any(np.isfinite(getattr(f.limits, k)).any() for f in found)] or list(KINDS[:1])
    figure = new_figure((4.5 * len(found), 2.2 * len(kinds)))
    axes = figure.subplots(len(kinds), len(found), squeeze=False, sharex="col", sharey="row")
    for row, kind in enumerate(kinds):
        shares = [judged.values[kind] / getattr(judged.limits, kind) for judged in found]
        top = max(np.abs(share).max(initial=0.0) for share in shares)
        axes[row, 0].set(ylabel=f"{kind} / limit", ylim=np.array([-1.1, 1.1]) * np.clip(top, 1.1, MOST))
        for ax, judged, share in zip(axes[row], found, shares, strict=True):
            ax.axhspan(-1.0, 1.0, color="0.92")
            for joint, name in enumerate(judged.limits.names):
                ax.plot(judged.times, share[:, joint], lw=1.0, label=name)
    for column in range(len(found)):
        if column < len(titles):
            axes[0, column].set_title(titles[column], fontsize=10)
        axes[-1, column].set_xlabel("time [s]")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", fontsize=7, ncols=7)
    return figure
