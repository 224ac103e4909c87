"""The shortest time along a path within all limits: set points of the legs, why a path cannot be followed, stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Array, ArrayLike, Mask
from ...errors import StewartError
from ...lie._arrays import as_real, number_of
from ...motion import LARGEST, TimeLaw
from ..geometry.platform import StewartPlatform
from ..kernels import leg_samples
from .path import PosePath
from .samples import CommandLimits, PathSamples, PlatformLoad

BETWEEN = np.arange(leg_samples.PARTS + 1) / leg_samples.PARTS
"""Where in each step of the grid a motion is checked."""


class LegSetpoints(NamedTuple):
    """Desired motion of the platform and its legs at times.

    Attributes
    ----------
    pose : ndarray, shape (..., 4, 4)
        Of the platform in the base frame.
    twist, acceleration : ndarray, shape (..., 6)
        Body twist (w, v) and its derivative in time.
    lengths, rates, accelerations : ndarray, shape (..., 6)
        Of the legs [m, m/s, m/s^2].
    forces : ndarray, shape (..., 6)
        Of the legs, positive where they push [N]; zero without a load.
    """

    pose: Array
    twist: Array
    acceleration: Array
    lengths: Array
    rates: Array
    accelerations: Array
    forces: Array


@dataclass(frozen=True, eq=False)
class PlannedMotion:
    """A path with a time law: s'' is constant between points of a grid; the motion ends at rest or as its path does.

    Attributes
    ----------
    path : PosePath
    limits : CommandLimits
    load : PlatformLoad or None
    s, times, squares : ndarray, shape (k + 1,)
        Parameters at the points, when they are reached [s], and squares of s' there.
    slopes : ndarray, shape (k,)
        s'' between them.
    """

    path: PosePath
    limits: CommandLimits
    load: PlatformLoad | None
    s: Array
    times: Array
    squares: Array
    slopes: Array

    @classmethod
    def of(
        cls, path: PosePath, limits: CommandLimits, load: PlatformLoad | None, s: Array, squares: Array, slopes: Array
    ) -> PlannedMotion:
        """Return the motion of a time law, with the times that follow."""
        rates = np.sqrt(squares)
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(np.diff(s) > 0.0, 2.0 * np.diff(s) / (rates[:-1] + rates[1:]), 0.0)
        return cls(path, limits, load, s, np.concatenate([[0.0], np.cumsum(steps)]), squares, slopes)

    @property
    def duration(self) -> float:
        """From the first point to the last [s]."""
        return float(self.times[-1])

    def progress(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return s, s', s'' at times (...) from the beginning [s]; from the end on the last point, at rest."""
        t = np.clip(as_real(t, (), "t"), 0.0, self.duration)
        last = len(self.slopes) - 1
        k = np.clip(np.searchsorted(self.times, t, "right") - 1, 0, last)
        span, slope = t - self.times[k], self.slopes[k]
        rate = np.maximum(np.sqrt(self.squares[k]) + slope * span, 0.0)
        s = np.minimum(self.s[k] + span * 0.5 * (np.sqrt(self.squares[k]) + rate), self.s[k + 1])
        over = t >= self.duration
        return np.where(over, self.s[-1], s), np.where(over, 0.0, rate), np.where(over, 0.0, slope)

    def at(self, t: ArrayLike) -> LegSetpoints:
        """Return set points at times (...) from the beginning [s]; from the end on those of rest in the last point."""
        s, rate, slope = self.progress(t)
        shape = s.shape
        s, rate, slope = (np.atleast_1d(x.ravel()) for x in (s, rate, slope))
        found = PathSamples.of(self.limits, self.load, self.path, s)
        points = found.points
        terms = np.stack([slope, rate**2, np.ones_like(s)], axis=-1)
        r, u = rate[:, None], slope[:, None]
        made = (
            points.pose,
            points.slope * r,
            points.slope * u + points.bend * r**2,
            found.lengths,
            found.slope * r,
            found.slope * u + found.bend * r**2,
            (found.forces @ terms[..., None])[..., 0],
        )
        return LegSetpoints(*(x.reshape(*shape, *x.shape[1:]) for x in made))

    def worst(self) -> float:
        """Return the largest rate, acceleration, force or speed over its limit, see `used`."""
        return float(self.used().max(initial=0.0))

    def used(self) -> Array:
        """Return the same for each step (k,), looked at five times.

        Between neighbours values bend by an eighth of their second differences, which is added.
        """
        spans = np.diff(self.s)
        s = (self.s[:-1, None] + spans[:, None] * BETWEEN).ravel()
        inner = np.searchsorted(self.path.knots, self.s[:-1] + 0.5 * spans, "right") - 1
        segment = np.repeat(np.clip(inner, 0, len(self.path.starts) - 1), len(BETWEEN))
        found = PathSamples.of(self.limits, self.load, self.path, s, segment)
        limits, out, work = self.limits, np.empty(len(spans)), np.empty((20, len(BETWEEN)))
        rates = np.append(limits.rate, [limits.speed, limits.angular_speed])
        most = np.append(limits.acceleration, limits.force)
        leg_samples.limit_usage(found.table, spans, self.squares, self.slopes, rates, most, work, out)
        return out


SLACK = 1e-9
"""Part of a limit, and length [m], by which round-off may exceed it."""


@dataclass(frozen=True)
class PathFault:
    """The first limit on a path that no slower motion keeps.

    Attributes
    ----------
    kind : str
        "stroke", "base joint", "platform joint", "condition" (also beyond a singular pose), "force" (which the legs
        need at rest), or "speed at the start".
    leg : int
        1 to 6; 0 where it is not about a single one.
    value, limit : float
        [m, rad, N, N m or 1].
    fraction : float
        Of the path, 0 to 1.
    parameter : float
        Of the path there; a time for a path with times [s].
    """

    kind: str
    leg: int
    value: float
    limit: float
    fraction: float
    parameter: float
    timed: bool
    units: tuple[str, str] = ("m", "N")

    def __str__(self) -> str:
        where = f"at {100.0 * self.fraction:.3g} % of the path"
        if self.timed:
            where += f", {self.parameter:.4g} s after its beginning"
        if self.kind == "condition":
            if np.isinf(self.value):
                return f"{where} a singular pose is passed"
            return f"{where} the condition number of the leg Jacobian is {self.value:.4g}, limit {self.limit:.4g}"
        if self.kind == "speed at the start":
            return f"the motion at the start is {self.value:.3g} times as fast as limits allow on this path"
        if np.isnan(self.value):
            what = "points along an axis of its joints" if self.units[0] == "m" else "does not reach its platform point"
            return f"{where} leg {self.leg} {what}"
        unit = {"stroke": self.units[0], "force": self.units[1]}.get(self.kind, "rad")
        said = {
            "stroke": "is {0:.6g} m long, limit {1:.6g} m" if unit == "m" else "is at {0:.6g} rad, limit {1:.6g} rad",
            "force": "needs {0:.4g} {2} at rest, limit {1:.4g} {2}",
        }.get(self.kind, f"is {{0:.4g}} {{2}} off the axis of its {self.kind}, limit {{1:.4g}} {{2}}")
        return f"{where} leg {self.leg} " + said.format(self.value, self.limit, unit)


def first_fault(found: PathSamples, path: PosePath) -> PathFault | None:
    """Return the first place where samples exceed a limit that no time scaling keeps, or None.

    Where lengths between neighbours bend beyond both, that counts at the second one.
    """
    limits, begin = found.limits, float(path.knots[0])
    stroke, low, high = limits.stroke, *_extremes(found)
    base, platform = limits.joint_angles(found.points.pose)
    held = found.forces[..., 2]
    crossed = np.concatenate([[False], np.sign(found.determinant[1:]) != np.sign(found.determinant[:-1])])
    condition = np.where(crossed, np.inf, found.condition)
    tables: list[tuple[str, Array, Array, Array | float]] = [
        ("stroke", found.lengths, stroke[:, 0], -1.0),
        ("stroke", found.lengths, stroke[:, 1], 1.0),
        ("stroke", low, stroke[:, 0], -1.0),
        ("stroke", high, stroke[:, 1], 1.0),
        ("base joint", base, limits.base_cone, 1.0),
        ("platform joint", platform, limits.platform_cone, 1.0),
        ("force", held, np.copysign(limits.force, held), np.where(np.signbit(held), -1.0, 1.0)),
        ("condition", condition[:, None], np.array([limits.condition]), 1.0),
    ]
    first: PathFault | None = None
    for kind, value, limit, sign in tables:
        with np.errstate(invalid="ignore"):
            excess = sign * (value - limit) - SLACK * np.maximum(1.0, np.abs(np.nan_to_num(limit, posinf=1.0)))
        if excess.max(initial=-np.inf) <= 0.0:
            continue
        over = ~(excess <= 0.0)
        k, leg = (int(x) for x in np.argwhere(over)[0])
        if first is None or found.s[k] - begin < first.parameter:
            way, number = float(found.s[k]) - begin, 0 if kind == "condition" else leg + 1
            numbers = float(value[k, leg]), float(np.broadcast_to(limit, value.shape)[k, leg]), way / path.length, way
            first = PathFault(kind, number, *numbers, path.timed, limits.platform.motor_units)
    return first


def _extremes(found: PathSamples) -> tuple[Array, Array]:
    """Bounds (k, 6) of lengths in the step before each sample: a chord and a parabola of the second derivative.

    With e an eighth of that times the square of the step, a parabola of height e on a chord that rises by d exceeds its
    upper end by e (1 - d / 4e)^2, and only where d < 4e.
    """
    lengths, second = found.lengths, np.abs(found.bend)
    low, high = lengths.copy(), lengths.copy()
    rise = np.abs(np.diff(lengths, axis=0))
    bent = 0.125 * np.maximum(second[1:], second[:-1]) * np.diff(found.s)[:, None] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.where(rise < 4.0 * bent, bent * (1.0 - rise / (4.0 * bent)) ** 2, 0.0)
    low[1:] = np.minimum(lengths[1:], lengths[:-1]) - beyond
    high[1:] = np.maximum(lengths[1:], lengths[:-1]) + beyond
    return low, high


Indices = npt.NDArray[np.intp]

STEPS, LEAST_OF_SEGMENT = 300, 8
"""Steps of the grid along a path, and fewest of a segment."""
FINER = (1, 4, 16)
"""Factors of the number of steps, tried in turn where limits are exceeded between steps."""
SPARE, KEPT, LEAST_SPARE = 3e-3, 1e-3, 1e-4
"""Part of each limit left for what happens between the steps, what must be left of it there, and the least to leave."""
ROUNDS, LOCAL_ROUNDS = 14, 6
"""Most rounds until limits are kept between the steps, and those in which more is spared only where they are not."""
STILL = 1e-9
"""Rates of legs, over the largest on the path, below which the platform counts as at rest for every s'."""


class PathError(StewartError):
    """A path that cannot be followed; `report` gives the reason."""

    def __init__(self, report: PathReport) -> None:
        super().__init__(str(report))
        self.report = report


@dataclass(frozen=True, eq=False)
class PathReport:
    """Feasibility of a path within all limits, and its motion.

    Attributes
    ----------
    fault : PathFault or None
        The first limit that no slower motion keeps.
    time : float or None
        When the fault would be reached by the fastest motion that keeps the other limits [s]; None where there is none.
    motion : PlannedMotion or None
        The motion, where there is no fault.
    stretch : float
        For a path with times: how many times as long it takes as was requested. Otherwise 1.
    """

    fault: PathFault | None
    time: float | None
    motion: PlannedMotion | None
    stretch: float = 1.0

    @property
    def feasible(self) -> bool:
        """Whether there is a motion."""
        return self.motion is not None

    def __str__(self) -> str:
        if self.motion is not None:
            longer = f", {self.stretch:.3g} times as long as requested" if self.stretch > 1.0 + 1e-6 else ""
            return f"the path takes {self.motion.duration:.4g} s{longer}"
        when = "" if self.time is None else f" (after {self.time:.4g} s)"
        return f"{self.fault}{when}"


def check_path(
    path: PosePath, limits: CommandLimits, load: PlatformLoad | None = None, start_rate: float = 0.0, steps: int = STEPS
) -> PathReport:
    """Return the fastest motion along a path within all limits, or where and why there is none.

    Rates, accelerations and forces of legs and speeds are kept by slowing the whole motion down; strokes, angles of
    joints, singular poses and forces at rest are checked along the path. A path with times is nowhere faster than
    requested.

    Parameters
    ----------
    path : PosePath
    limits : CommandLimits
    load : PlatformLoad, optional
        Needed for limits of force.
    start_rate : float
        s' at the beginning, for a path that leaves a motion [1/s]; 0 at rest.
    steps : int
        Of the grid along the path.

    Raises
    ------
    StewartError, InputError
        For what is no path or no limits, and for limits of force without a load.
    """
    return time_path(path, limits, load, start_rate, steps, path_fault(path, limits, load, steps))


def time_path(
    path: PosePath, limits: CommandLimits, load: PlatformLoad | None, start_rate: float, steps: int,
    fault: PathFault | None,
) -> PathReport:  # fmt: skip
    """Return what `check_path` does where its first fault is known; arguments as there."""
    _check_arguments(path, limits, load, steps)
    start_rate = number_of("start_rate", start_rate, "a number of at least 0", lambda x: 0.0 <= x < 1e9)
    begin, span = float(path.knots[0]), path.length
    found: PlannedMotion | float | None = None
    # Where a leg ends to reach, rates are without bound: of such paths no times are given.
    hopeless = fault is not None and (fault.kind == "force" or not isinstance(limits.platform, StewartPlatform))
    for finer in () if hopeless else FINER:
        found = _Limited.of(path, limits, load, *_grid(path, finer * steps)).fastest(start_rate**2)
        if found is not None:
            break
    if isinstance(found, float):
        fault = fault or PathFault("speed at the start", 0, found, 1.0, 0.0, 0.0, path.timed)
        found = None
    if fault is not None:
        when = None if found is None else float(np.interp(fault.parameter + begin, found.s, found.times))
        return PathReport(fault, when, None)
    if found is None:
        most = FINER[-1] * steps
        raise StewartError(f"no time law keeps the limits between {most} points, a smoother path is expected")
    return PathReport(None, None, found, found.duration / span if path.timed else 1.0)


def path_fault(
    path: PosePath, limits: CommandLimits, load: PlatformLoad | None = None, steps: int = STEPS
) -> PathFault | None:
    """Return the first limit on a path that no slower motion keeps, or None; arguments as in `check_path`."""
    _check_arguments(path, limits, load, steps)
    return first_fault(PathSamples.of(limits, load, path, _between(_grid(path, steps)[0])), path)


def plan_motion(
    path: PosePath, limits: CommandLimits, load: PlatformLoad | None = None, start_rate: float = 0.0, steps: int = STEPS
) -> PlannedMotion:
    """Return the fastest motion along a path within all limits; arguments as in `check_path`.

    Raises
    ------
    PathError
        There is none; its message names leg, value and place.
    """
    report = check_path(path, limits, load, start_rate, steps)
    if report.motion is None:
        raise PathError(report)
    return report.motion


def stopped(motion: PlannedMotion, t: float) -> PlannedMotion:
    """Return the motion that slows down from a time on, on the same path, as fast as limits allow, and rests there.

    Scaled down as a whole, a motion keeps its limits where rest does; so the slowest next step never finds itself
    without one, and is never faster than what was planned.
    """
    s, rate, _ = (float(x) for x in motion.progress(number_of("t", t, "a time of at least 0", lambda x: x >= 0.0)))
    begin = int(np.searchsorted(motion.s, s, "right"))
    grid = np.concatenate([[s], motion.s[begin:]])
    if rate <= 0.0 or len(grid) < 2:
        still = np.array([s, s])
        return PlannedMotion.of(motion.path, motion.limits, motion.load, still, np.zeros(2), np.zeros(1))
    segment = np.clip(np.searchsorted(motion.path.knots, 0.5 * (grid[1:] + grid[:-1]), "right") - 1, 0, None)
    segment = np.minimum(segment, len(motion.path.starts) - 1)
    law = _Limited.of(motion.path, motion.limits, motion.load, grid, segment)
    planned = np.concatenate([[rate**2], motion.squares[begin:]])
    for share in (1.0 - SPARE, 1.0 - KEPT, 1.0):
        slowed = law.slowest(rate**2, planned, share)
        if slowed is not None and slowed.worst() <= 1.0:
            return slowed
    slopes = np.concatenate([motion.slopes[begin - 1 : begin], motion.slopes[begin:]])
    return PlannedMotion.of(motion.path, motion.limits, motion.load, grid, planned, slopes)


@dataclass(frozen=True, eq=False)
class _Limited:
    """A path at both ends of each step of a grid, and its limits."""

    path: PosePath
    limits: CommandLimits
    load: PlatformLoad | None
    grid: Array
    begin: PathSamples
    end: PathSamples
    rest: Mask

    @classmethod
    def of(
        cls, path: PosePath, limits: CommandLimits, load: PlatformLoad | None, grid: Array, segment: Indices
    ) -> _Limited:
        """Look at a path at both ends of each step of a grid (k + 1,), which lies in a segment (k,)."""
        begin = PathSamples.of(limits, load, path, grid[:-1], segment)
        end = PathSamples.of(limits, load, path, grid[1:], segment)
        corner = np.isin(grid, path.knots[path.corners])
        return cls(path, limits, load, grid, begin, end, corner)

    def _law(self, share: Array | float) -> TimeLaw:
        """Return the law of a share of limits, one for all steps or one a step (k,)."""
        steps = np.diff(self.grid)
        share = np.broadcast_to(share, steps.shape)
        begin, end = (
            (a, b, np.maximum(c - (1.0 - share[:, None]), 0.0)) for a, b, c in (self.begin.rows(), self.end.rows())
        )
        before, after = self.begin.largest_square() * share**2, self.end.largest_square() * share**2
        law = TimeLaw.of_steps(begin, end, steps, before, after, 1.0 if self.path.timed else 1e12)
        law.limits[LARGEST, self.rest] = 0.0
        return law

    def fastest(self, start: float) -> PlannedMotion | float | None:
        """Return the fastest motion, how many times too fast the start is, or None where steps are too coarse."""
        moving = np.abs(self.begin.slope).max(axis=1)
        size = STILL * moving.max()
        share = np.full(len(self.grid) - 1, 1.0 - SPARE)
        for round_ in range(ROUNDS):
            law = self._law(share)
            if np.abs(self.end.slope[-1]).max() > size:
                law.limits[LARGEST, -1] = 0.0
            reach = law.reachable()
            if reach is None:
                raise AssertionError("limits that rest keeps let a path be followed")
            most = float(reach[LARGEST, 0])
            first = most if start == 0.0 and moving[0] <= size else start
            if first > most:
                if start > 0.0 and share.max() < 1.0 - LEAST_SPARE:
                    share = 1.0 - 0.5 * (1.0 - share)  # the motion that is left may have used what is spared here
                    continue
                return float(np.sqrt(first / most)) if most > 0.0 else np.inf
            found, slopes = law.fastest(first, reach)
            if not (found[:-1] + found[1:] > 0.0).all():
                return None
            made = PlannedMotion.of(self.path, self.limits, self.load, self.grid, found, slopes)
            over = made.used()
            if over.max() <= (1.0 - KEPT if start == 0.0 else 1.0):
                return made
            share = share * (1.0 - _more_to_spare(over, round_ < LOCAL_ROUNDS))
        return None

    def slowest(self, start: float, planned: Array, share: float) -> PlannedMotion | None:
        """Return the motion that rests soonest from a square of s' at the start; None where limits do not let it."""
        squares, slopes, taken = self._law(share).slowest(start, planned)
        if not (squares[:taken] > 0.0).all():
            return None
        s, last = self.grid[: taken + 1].copy(), taken - 1
        if squares[taken] == 0.0 and slopes[last] < 0.0:  # at rest before the end of the last step
            s[taken] = min(s[taken], s[last] - 0.5 * squares[last] / slopes[last])
        made = squares[: taken + 1], slopes[:taken]
        return PlannedMotion.of(self.path, self.limits, self.load, s, *made)


def _more_to_spare(over: Array, local: bool) -> Array:
    """Return what more of limits steps and their neighbours are to leave, or all, by what steps (k,) used of them."""
    if not local:
        return np.full(len(over), min(float(over.max()) - 1.0 + 2.0 * KEPT, 0.05))
    wide = over.copy()
    wide[1:] = np.maximum(wide[1:], over[:-1])
    wide[:-1] = np.maximum(wide[:-1], over[1:])
    return np.clip(np.where(wide > 1.0 - KEPT, wide - 1.0 + 2.0 * KEPT, 0.0), 0.0, 0.2)


def _grid(path: PosePath, steps: int) -> tuple[Array, Indices]:
    """Return parameters that hold all points of the path and more between them, and the segment of each step."""
    begins, spans = path.knots[:-1], np.diff(path.knots)
    counts = np.maximum(LEAST_OF_SEGMENT, np.rint(steps * spans / path.length).astype(np.intp))
    segment = np.repeat(np.arange(len(counts)), counts)
    lasts = np.cumsum(counts)
    step = np.arange(1, lasts[-1] + 1) - (lasts - counts)[segment]
    grid = begins[segment] + spans[segment] * step / counts[segment]
    grid[lasts - 1] = path.knots[1:]
    return np.concatenate([path.knots[:1], grid]), segment


def _between(grid: Array) -> Array:
    """Return the points of a grid with three more in each step."""
    inner = grid[:-1, None] + np.diff(grid)[:, None] * np.array([0.0, 0.25, 0.5, 0.75])
    return np.append(inner.ravel(), grid[-1])


def _check_arguments(path: PosePath, limits: CommandLimits, load: PlatformLoad | None, steps: int) -> None:
    for name, value, kind in (("path", path, PosePath), ("limits", limits, CommandLimits)):
        if not isinstance(value, kind):
            raise StewartError(f"{name} is {value!r}, expected a {kind.__name__}")
    if load is not None and not isinstance(load, PlatformLoad):
        raise StewartError(f"load is {load!r}, expected a PlatformLoad")
    if load is None and np.isfinite(limits.force).any():
        raise StewartError("leg forces are limited, but no load is given: expected a PlatformLoad")
    number_of("steps", steps, "a whole number from 8 to 100000", lambda x: 8 <= x <= 100_000 and x == int(x))
