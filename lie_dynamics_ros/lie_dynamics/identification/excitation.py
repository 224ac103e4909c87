"""Motions that show the parameters of a robot: as much as limits and planes allow, starting and ending at rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.derivatives.inverse_derivatives import torque_regressor
from ..dynamics.inverse_dynamics import inverse_dynamics
from ..dynamics.kinematics import forward_kinematics
from ..errors import InputError
from ..lie._arrays import count_of, number_of, numbers
from ..model.arguments import require_model, require_single_coordinates
from ..model.model import Model
from ..shown import grouped, shown
from .regression import base_parameters


class Capsule(NamedTuple):
    """All points within a radius of a line from start to end (3,), in the axes of a link or frame [m]; or a sphere."""

    frame: str
    start: npt.ArrayLike
    end: npt.ArrayLike
    radius: float


class CapsulePairs:
    """Capsules of links, and all pairs whose links neither are one nor share a joint.

    Raises InputError for invalid capsules, and frames that the robot does not have; names it.
    """

    def __init__(self, model: Model, capsules: Sequence[Any]) -> None:
        self._model = model
        checked = [_capsule(model, given) for given in capsules]
        self.names = [given.frame for given in checked]
        self._bodies = [model.frames[given.frame].body for given in checked]
        ends = [model.frames[c.frame].placement @ [*numbers(x), 1.0] for c in checked for x in (c.start, c.end)]
        self._ends = np.reshape(ends, (len(checked), 2, 4))[..., :3]
        joined = {(model.frames[j.body].body, model.frames[j.parent_body].body) for j in model.joints}
        joined |= {(b, a) for a, b in joined}
        body = self._bodies
        pairs = [(a, b) for a, b in combinations(range(len(body)), 2)
                 if body[a] != body[b] and (body[a], body[b]) not in joined]  # fmt: skip
        self.pairs = np.array(pairs, dtype=np.intp).reshape(-1, 2)
        radius = np.array([c.radius for c in checked])
        self._thick = radius[self.pairs].sum(axis=1)

    def gaps(self, q: Array) -> Array:
        """Return distances (k, pairs) at configurations (k, nq) [m]; negative where capsules overlap."""
        poses = np.asarray(forward_kinematics(self._model, q))
        poses = np.concatenate([poses, np.broadcast_to(np.eye(4), (len(q), 1, 4, 4))], axis=1)[:, self._bodies]
        ends = np.einsum("kcij,cej->kcei", poses[..., :3, :3], self._ends) + poses[..., None, :3, 3]
        one, other = ends[:, self.pairs[:, 0]], ends[:, self.pairs[:, 1]]
        found: Array = _distance(one[..., 0, :], one[..., 1, :], other[..., 0, :], other[..., 1, :]) - self._thick
        return found


def _capsule(model: Model, given: Any) -> Capsule:
    try:
        frame, start, end, radius = given
        one, other, radius = numbers(start), numbers(end), float(radius)
        good = isinstance(frame, str) and one.shape == other.shape == (3,) and 0.0 <= radius < np.inf
        good = good and bool(np.isfinite([one, other]).all())
    except (TypeError, ValueError):
        good = False
    if not good:
        raise InputError(f"capsules: (frame, start, end, radius) is expected, got {given!r}", name="capsules")
    if frame not in model.frames:
        raise InputError(f"capsules: the robot has no link or frame {frame!r}", name="capsules", value=frame)
    return Capsule(frame, one, other, radius)


def _distance(p: Array, p_end: Array, q: Array, q_end: Array) -> Array:
    """Return the distances of line segments (..., 3) from each other; their ends may be one point."""
    d, e, r = p_end - p, q_end - q, p - q
    a, b, c = (d * d).sum(-1), (d * e).sum(-1), (e * e).sum(-1)
    x, y = (d * r).sum(-1), (e * r).sum(-1)

    def part(over: Array, under: Array) -> Array:
        return np.clip(np.divide(over, under, out=np.zeros_like(over), where=under > 1e-12), 0.0, 1.0)

    # The nearest point of the one line to the other, then that of the other to it, and of the one to that again.
    s = part(b * y - c * x, a * c - b * b)
    t = part(b * s + y, c)
    s = part(b * t - x, a)
    return np.asarray(np.linalg.norm(r + s[..., None] * d - t[..., None] * e, axis=-1))


#: Sines of each joint: the slowest has a period of so many seconds, the others its multiples of frequency.
SINES, PERIOD = 5, 10.0
#: Time in which the motion swells and fades [s].
SWELL = 1.0
#: Parts of the limits of positions, rates, accelerations and efforts that are used; inertias may be wrong by a half.
REACH, SPEED, HURRY, WORK = 0.9, 0.6, 0.8, 0.6
#: Limits where the robot has none [rad or m, per second, per second^2].
LARGEST_REACH, LARGEST_SPEED, LARGEST_HURRY = np.pi, 2.0, 10.0
_SAMPLES, _DENSE, _SHRINKS = 120, 2000, 60


class Plane(NamedTuple):
    """A half-space in which the robot stays: normal . x >= offset, in the world frame [m]."""

    normal: Sequence[float]
    offset: float


@shown
@dataclass(frozen=True, eq=False)
class ExcitingMotion:
    """A motion, k points.

    Attributes
    ----------
    joint_names : tuple of str
    time : ndarray, shape (k,)
        [s], from 0.
    q, qd, qdd : ndarray, shape (k, n)
    condition : float
        Of the equations of base parameters and drives that it gives, rows over the limits of efforts, columns of
        length one: small where all are given alike.
    clearance : float
        Least distance from the planes of lines between origins of links, infinite without planes [m].
    gap : float
        Least distance of capsules from each other, infinite without [m].
    """

    joint_names: tuple[str, ...]
    time: Array
    q: Array
    qd: Array
    qdd: Array
    condition: float
    clearance: float
    gap: float

    def to_yaml(self) -> str:
        """Return a trajectory_msgs/JointTrajectory, as `ros2 topic pub` takes it."""
        lines = ["joint_names: [" + ", ".join(f'"{name}"' for name in self.joint_names) + "]", "points:"]
        for t, *rows in zip(self.time, self.q, self.qd, self.qdd, strict=True):
            nanoseconds = round(t * 1e9)
            keys = ("positions", "velocities", "accelerations")
            lists = (", ".join(f"{x:.9g}" for x in row) for row in rows)
            texts = [f"{key}: [{row}]" for key, row in zip(keys, lists, strict=True)]
            stamp = f"{{sec: {nanoseconds // 10**9}, nanosec: {nanoseconds % 10**9}}}"
            lines.append(f"- {{{', '.join(texts)}, time_from_start: {stamp}}}")
        return "\n".join(lines) + "\n"


@dataclass(eq=False)
class ExcitationRequest:
    """Arguments of `exciting_motion`, of which numbers are checked."""

    model: Model
    seconds: float = 30.0
    _: KW_ONLY
    planes: Sequence[Plane | tuple[npt.ArrayLike, float]] = ()
    clearance: float = 0.1
    capsules: Sequence[Capsule | tuple[str, npt.ArrayLike, npt.ArrayLike, float]] = ()
    gap: float = 0.02
    center: npt.ArrayLike | None = None
    rate: float = 50.0
    trials: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        require_model(self.model)
        require_single_coordinates(self.model, "an exciting motion")
        self.seconds = number_of("seconds", self.seconds, "a time from 10 to 600 s", lambda x: 10.0 <= x <= 600.0)
        self.clearance = number_of("clearance", self.clearance, "a distance, not negative", lambda x: 0.0 <= x < np.inf)
        self.gap = number_of("gap", self.gap, "a distance, not negative", lambda x: 0.0 <= x < np.inf)
        self.rate = number_of("rate", self.rate, "a rate from 1 to 1000 Hz", lambda x: 1.0 <= x <= 1000.0)
        self.trials = count_of("trials", self.trials, 1, 10**6)
        self.seed = count_of("seed", self.seed, 0, 2**63 - 1)


@grouped(ExcitationRequest)
def exciting_motion(asked: ExcitationRequest) -> ExcitingMotion:
    """Return a motion that excites the base parameters and drives of a robot best, within limits and planes.

    Every joint moves by sines about a center; their sizes are sought by random steps that make the determinant of the
    information on all parameters larger (D-optimal). Each trial is brought within the limits: joint by joint for
    positions, rates and accelerations, as a whole for efforts, of which half is left for what the model does not know,
    for planes, and for capsules. Collisions of the robot with itself are looked for between these alone.

    Parameters
    ----------
    model : Model
        As it is thought to be, with limits.
    seconds : float
        How long it takes: 10 to 600.
    planes : sequence of Plane
        (normal (3,), offset): half-spaces ``normal . x >= offset`` in which all links stay.
    clearance : float
        Least distance of the origins of all links and frames that move, and so of lines between them, from the planes:
        at least what links are thick [m].
    capsules : sequence of Capsule
        (frame, start (3,), end (3,), radius), about links in their axes, those of the base included [m]. Capsules of
        links that a joint joins may overlap; all others keep their distance.
    gap : float
        That distance, at least [m].
    center : array-like, shape (nq,), optional
        Where it starts, ends, and what it moves about; the middle of the ranges when left out.
    rate : float
        Points of the motion per second [Hz].
    trials : int
        Motions that are tried.
    seed : int

    Raises
    ------
    InputError
        For bad input, and a center that the robot cannot hold, or that is beyond limits or planes, or where capsules
        are too near to each other.
    """
    model, seconds, trials = asked.model, asked.seconds, asked.trials
    room = _Room(asked)
    rng = np.random.default_rng(asked.seed)
    judge = _Judge(model, room.effort)
    time = np.linspace(0.0, min(seconds, PERIOD + 2.0 * SWELL), _SAMPLES)
    basis = _basis(time, float(time[-1]))
    best, value, size = rng.normal(size=(2 * SINES, model.nv)), -np.inf, 1.0
    for k in range(trials):
        trial = rng.normal(size=best.shape) if k < trials // 5 else best + size * rng.normal(size=best.shape)
        trial = room.scaled(trial, basis)
        worth = judge.information(*room.motion(trial, basis))
        if worth > value:
            best, value = trial, worth
            size *= 1.5 if k >= trials // 5 else 1.0
        elif k >= trials // 5:
            size = max(0.93 * size, 1e-3)
    dense = np.linspace(0.0, seconds, max(_DENSE, round(50 * seconds)))
    basis = _basis(dense, seconds)
    best = room.scaled(best, basis)
    motion = room.motion(best, basis)
    points = np.arange(round(seconds * asked.rate) + 1) / asked.rate
    chosen = room.motion(best, _basis(points, points[-1]))
    every = slice(None, None, max(1, len(dense) // 400))
    return ExcitingMotion(
        model.joint_names, points, *chosen, judge.condition(*(x[every] for x in motion)), room.distance(motion[0]),
        room.gap(motion[0]),
    )  # fmt: skip


def _each(given: Any, name: str) -> list[Any]:
    try:
        return list(given)
    except TypeError:
        raise InputError(f"{name}: a sequence is expected, got {given!r}", name=name, value=given) from None


def _plane(given: Any) -> tuple[Array, float]:
    try:
        n, d = numbers(given[0]), float(given[1])
        size = float(np.linalg.norm(n))
        if len(given) == 2 and n.shape == (3,) and 0.0 < size < np.inf and np.isfinite(d):
            return n / size, d / size
    except (TypeError, ValueError, LookupError):
        pass
    raise InputError(f"planes: (normal of three numbers, offset) is expected, got {given!r}", name="planes")


def _basis(time: Array, seconds: float) -> tuple[Array, Array, Array]:
    """Return sines and cosines, swelling and fading, and their two derivatives, each (k, 2 SINES)."""
    x = np.minimum(time, seconds - time) / SWELL
    inside = (x > 0.0) & (x < 1.0)
    x, turn = np.clip(x, 0.0, 1.0), np.where(time < 0.5 * seconds, 1.0, -1.0) / SWELL
    w = x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
    dw = np.where(inside, 30.0 * x**2 * (1.0 - x) ** 2, 0.0) * turn
    ddw = np.where(inside, 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x), 0.0) * turn**2
    rate = 2.0 * np.pi / PERIOD * np.arange(1, SINES + 1)
    angle = rate * time[:, None]
    s = np.concatenate([np.sin(angle), np.cos(angle)], axis=1)
    ds = np.concatenate([rate * np.cos(angle), -rate * np.sin(angle)], axis=1)
    dds = -(np.concatenate([rate, rate]) ** 2) * s
    w, dw, ddw = w[:, None], dw[:, None], ddw[:, None]
    return w * s, dw * s + w * ds, ddw * s + 2.0 * dw * ds + w * dds


class _Room:
    """Room that limits and planes leave."""

    def __init__(self, asked: ExcitationRequest) -> None:
        model, center = asked.model, asked.center
        self._planes = [_plane(p) for p in _each(asked.planes, "planes")]
        self._capsules = CapsulePairs(model, _each(asked.capsules, "capsules"))
        self._model, self._clearance, self._gap = model, asked.clearance, asked.gap
        limits = model.limits
        bounded = np.isfinite(limits.lower) & np.isfinite(limits.upper)
        middle = np.where(bounded, 0.5 * (np.where(bounded, limits.lower + limits.upper, 0.0)), 0.0)
        self.center = middle if center is None else numbers(center)
        if self.center.shape != (model.nv,) or not np.isfinite(self.center).all():
            raise InputError(f"center: {model.nv} finite numbers are expected, got {center!r}", name="center")
        span = np.where(bounded, 0.5 * REACH * np.where(bounded, limits.upper - limits.lower, 0.0), LARGEST_REACH)
        self.reach = np.minimum(span - np.where(bounded, np.abs(self.center - middle), 0.0), LARGEST_REACH)
        for name, reach in zip(model.joint_names, self.reach, strict=True):
            if reach <= 0.0:
                raise InputError(f"center: joint {name!r} is beyond {100 * REACH:.0f} % of its range", name="center")

        def bound(limit: Array, part: float, largest: float) -> Array:
            told = np.isfinite(limit) & (limit > 0.0)
            return np.where(told, part * np.where(told, limit, 0.0), largest)

        self.speed = bound(limits.velocity, SPEED, LARGEST_SPEED)
        hurry = np.minimum(limits.acceleration, limits.deceleration)
        self.hurry = np.minimum(bound(hurry, HURRY, LARGEST_HURRY), LARGEST_HURRY)
        self.effort = bound(limits.effort, WORK, np.inf)
        rest = np.zeros((1, model.nv))
        self._frames = [f for f in model.frames.values() if f.body >= 0]
        rng = np.random.default_rng(0)
        moves = np.ptp(self._places(self.center + rng.uniform(-1.0, 1.0, (20, model.nv))), axis=0).max(axis=-1) > 1e-6
        self._frames = [f for f, yes in zip(self._frames, moves, strict=True) if yes]  # the base is where it is
        if not self.works(self.center[None], rest, rest):
            raise InputError(f"center: holding it takes more than {100 * WORK:.0f} % of an effort limit", name="center")
        if self.distance(self.center[None]) < self._clearance:
            raise InputError(f"center: closer to a plane than {self._clearance:g} m", name="center")
        if self.gap(self.center[None]) < self._gap:
            pair = self._capsules.pairs[self._capsules.gaps(self.center[None])[0].argmin()]
            names = " and ".join(repr(self._capsules.names[k]) for k in pair)
            raise InputError(f"center: capsules of {names} are closer than {self._gap:g} m", name="center")

    def motion(self, sizes: Array, basis: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """Return positions, rates and accelerations."""
        q, qd, qdd = (b @ sizes for b in basis)
        return self.center + q, qd, qdd

    def scaled(self, sizes: Array, basis: tuple[Array, Array, Array]) -> Array:
        """Return sizes as large as all limits allow at all samples of a basis: of each joint, then of all together."""
        tops = (self.reach, self.speed, self.hurry)
        use = np.max([np.abs(b @ sizes).max(axis=0) / top for b, top in zip(basis, tops, strict=True)], axis=0)
        sizes = sizes / np.maximum(use, 1e-12)
        for _ in range(_SHRINKS):
            motion = self.motion(sizes, basis)
            q = motion[0]
            if self.works(*motion) and self.distance(q) >= self._clearance and self.gap(q) >= self._gap:
                break
            sizes = 0.9 * sizes
        return sizes

    def works(self, q: Array, qd: Array, qdd: Array) -> bool:
        """Return whether all efforts are within what is used of their limits."""
        return bool((np.abs(inverse_dynamics(self._model, q, qd, qdd)) <= self.effort).all())

    def distance(self, q: Array) -> float:
        """Return the least distance of all origins of links from the planes; of lines between them it is the same."""
        if not self._planes:
            return np.inf
        places = self._places(q)
        return min(float((places @ n - d).min(initial=np.inf)) for n, d in self._planes)

    def gap(self, q: Array) -> float:
        """Return the least distance of capsules from each other."""
        return float(self._capsules.gaps(q).min(initial=np.inf)) if len(self._capsules.pairs) else np.inf

    def _places(self, q: Array) -> Array:
        """Return the origins (k, frames, 3) of links and frames."""
        poses = forward_kinematics(self._model, q)
        return np.stack([poses[:, f.body] @ f.placement[:, 3] for f in self._frames], axis=1)[..., :3]


class _Judge:
    """Information in a motion: base parameters, viscous and dry friction of all joints."""

    def __init__(self, model: Model, effort: Array) -> None:
        self._model = model
        self._kept = list(base_parameters(model, terms=("damping", "friction")).independent)
        self._scale = np.where(np.isfinite(effort), effort, 1.0)

    def rows(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the equations, rows over the limits of efforts."""
        nv = self._model.nv
        drives = [x[..., None] * np.eye(nv) for x in (qd, np.tanh(qd / 0.02))]
        Y = np.concatenate([torque_regressor(self._model, q, qd, qdd), *drives], axis=-1)[..., self._kept]
        return np.asarray((Y / self._scale[:, None]).reshape(-1, len(self._kept)))

    def information(self, q: Array, qd: Array, qdd: Array) -> float:
        """Return the logarithm of the determinant of the information of a sample."""
        Y = self.rows(q, qd, qdd)
        sign, value = np.linalg.slogdet(Y.T @ Y / len(Y) + 1e-12 * np.eye(Y.shape[1]))
        return float(value) if sign > 0.0 else -np.inf

    def condition(self, q: Array, qd: Array, qdd: Array) -> float:
        """Return the condition number of the equations, columns of length one."""
        Y = self.rows(q, qd, qdd)
        return float(np.linalg.cond(Y / np.maximum(np.linalg.norm(Y, axis=0), 1e-300)))
