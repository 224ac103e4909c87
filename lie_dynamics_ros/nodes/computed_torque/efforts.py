"""Limits of wanted efforts: smooth after a change, within the limits, not too fast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control import LimitedEffort, limit_effort
from ...lie_dynamics.control.kernels.signals import within

OVERPOWERED = 0.95  # part of its limit from which on what comes first leaves a joint nothing to be scaled
LEAST_BRAKING = 0.1  # part of the wanted braking below which it is scaled about gravity compensation


class ExertedEffort(NamedTuple):
    """Efforts to exert, gravity included: wanted + blend within the limits, and what part of that it is."""

    total: Array
    blend: Array
    scale: float


class _Passing(NamedTuple):
    """A difference that passes away: since when [ns], within which time [s], and what it was."""

    begun: int
    time: float
    difference: Array

    def part(self, stamp: int) -> float:
        """Return what part of it is left at a time [ns]; 0 from its end on."""
        passed = min((stamp - self.begun) * 1e-9 / self.time, 1.0)
        return 1.0 - passed * passed * (3.0 - 2.0 * passed)


@dataclass(slots=True)
class BlendState:
    """State of an `EffortBlend`."""

    last: Array | None = None  # efforts exerted last (n,) [N m, N]
    pending: float | None = None  # in which the next efforts pass over from them [s]; None: nothing changed
    over: _Passing | None = None  # what is left of former efforts
    lag: _Passing | None = None  # what is left of former gravity
    lack: _Passing | None = None  # what that makes of efforts


class EffortBlend:
    """Fading rest of the efforts before a change, so that efforts do not step."""

    def __init__(self, size: int) -> None:
        self._zero, self.state = np.zeros(size), BlendState()

    def change(self, time: float) -> None:
        """Let the next efforts pass over from the last ones within some time [s]; 0: at once."""
        self.state.pending = time

    def at_once(self) -> None:
        """Let nothing be left of former efforts, as a stop begins."""
        self.state = BlendState(self.state.last)

    def ease(self, stamp: int, difference: Array, time: float) -> None:
        """Let a difference (n,) come on top of wanted efforts, from a time [ns] on, that fades within some time [s]."""
        s = self.state
        if time and s.last is not None:
            left = self._zero if s.over is None else s.over.part(stamp) * s.over.difference
            s.pending, s.over = None, _Passing(stamp, time, difference + left)

    def turn(self, stamp: int, gravity: Array, step: Array, time: float, held: Callable[[Array], Array]) -> None:
        """Let the step (3,) by which gravity came to be what it is come in within some time [s] from a time [ns] on.

        All else in the efforts goes on as it is wanted, so that gravity may step with every state. Steps add up as
        gravity, for what they do changes with the pose; `held` returns the efforts (n,) that hold the robot under one.
        """
        s = self.state
        if time and s.last is not None and s.pending is None:
            lag = -step if s.lag is None else s.lag.part(stamp) * s.lag.difference - step
            s.lag = _Passing(stamp, time, lag)
            s.lack = _Passing(stamp, time, held(gravity + lag) - held(gravity))

    def update(self, stamp: int, total: Array) -> Array | None:
        """Return what is left of former efforts beside those of a time [ns], None for nothing."""
        s = self.state
        if s.pending is not None:
            time = s.pending
            s = self.state = BlendState(s.last)
            if time and s.last is not None:
                s.over = _Passing(stamp, time, s.last - total)
        blend = None
        for passing in (s.over, s.lack):
            if passing is not None and (part := passing.part(stamp)):
                blend = (self._zero if blend is None else blend) + part * passing.difference
        if blend is None and not (s.over is s.lag is s.lack is None):
            self.at_once()
        return blend


class EffortLimiter:
    """The last stage of a controller: blends efforts, and holds them within limits.

    Effort limits (n,) are the largest float for none [N m, N], rates of change 0 for none [N m/s, N/s]. `saturated`
    (n,) are joints whose efforts were limited, until somebody clears it; `free`: whether the last efforts were as
    wanted.
    """

    def __init__(self, limit: Array, saturate: bool = True, policy: str = "scale", rates: Array | None = None) -> None:
        self._limit, self._zero, self.blend = limit, np.zeros(len(limit)), EffortBlend(len(limit))
        self.saturated: NDArray[np.bool_] = np.zeros(len(limit), dtype=bool)
        self._saturate, self._policy, self.free = saturate, policy, True
        self._rates = np.where(rates > 0.0, rates, np.inf) if rates is not None and rates.any() else None

    def with_options(self, saturate: bool, policy: str, rates: Array) -> EffortLimiter:
        """Return one that goes on where this one is, with other options."""
        other = EffortLimiter(self._limit, saturate, policy, rates)
        other.blend.state, other.saturated, other.free = replace(self.blend.state), self.saturated, self.free
        return other

    def forget(self) -> None:
        """Forget the last efforts: the next ones are exerted as they are."""
        self.blend.state, self.free = BlendState(), True

    def update(
        self, stamp: int, wanted: Array, base: Callable[[], Array], mass: Callable[[], Array], period: float
    ) -> ExertedEffort:
        """Return what to exert at a time [ns], ``period`` [s] after the last; `base` comes first when scaling.

        `mass` returns the mass matrix, which is asked for where that leaves joints nothing else.
        """
        s = self.blend.state
        if (
            s.pending is s.over is s.lag is self._rates is None  # nothing passes
            and within(wanted, self._limit) == 1
        ):
            s.last, self.free = wanted, True
            return ExertedEffort(wanted, self._zero, 1.0)
        total, scale = self._within(wanted, base, mass)
        return self._blended(stamp, total, scale, lambda efforts: self._within(efforts, base, mass), period)

    def brake(self, stamp: int, wanted: Array, bias: Array, gravity: Array, period: float) -> ExertedEffort:
        """Return what to exert in a stop: what exceeds `bias`, the efforts without acceleration, by one factor.

        So the deceleration keeps its direction. Where the limits hardly leave room beside the bias, as at high speed,
        the same is done about gravity compensation, from which the wanted damping takes energy out of the robot.
        """
        total, scale = self._braked(wanted, bias, gravity)
        return self._blended(stamp, total, scale, lambda efforts: self._within(efforts, lambda: gravity), period)

    def _braked(self, wanted: Array, bias: Array, gravity: Array) -> tuple[Array, float]:
        if not self._saturate or within(wanted, self._limit) == 1:
            return wanted, 1.0
        self.saturated |= np.abs(wanted) > self._limit
        if within(bias, self._limit) == 1:
            found = limit_effort(wanted, self._limit, "scale", bias)
            if found.scale >= LEAST_BRAKING:
                return found.effort, found.scale
        found = limit_effort(gravity + (wanted - bias), self._limit, "scale", gravity)
        return found.effort, min(found.scale, 1.0 - 1e-9)

    def _scaled(self, efforts: Array, base: Array, mass: Callable[[], Array]) -> LimitedEffort:
        """Return efforts scaled about a base.

        Joints that it overpowers get what there is, and lower no others: these accelerate as they are to, which takes
        something else of them as those do not. Not in a stop: efforts that oscillate swing from limit to limit then.
        """
        overpowered = (np.abs(base) > OVERPOWERED * self._limit) & (np.abs(efforts) > self._limit)
        if overpowered.any():
            clipped, k = np.clip(efforts, -self._limit, self._limit), np.flatnonzero(overpowered)
            M = mass()
            taken = np.linalg.lstsq(M[np.ix_(k, k)], (clipped - efforts)[k], rcond=1e-10)[0]  # of their accelerations
            efforts = np.where(overpowered, clipped, efforts + M[:, k] @ taken)
        return limit_effort(efforts, self._limit, "scale", base)

    def _within(
        self, efforts: Array, base: Callable[[], Array], mass: Callable[[], Array] | None = None
    ) -> tuple[Array, float]:
        if not self._saturate or within(efforts, self._limit) == 1:
            return efforts, 1.0
        self.saturated |= np.abs(efforts) > self._limit
        if self._policy == "clip":
            return np.clip(efforts, -self._limit, self._limit), 0.0
        limited = self._scaled(efforts, base(), mass) if mass else limit_effort(efforts, self._limit, "scale", base())
        return limited.effort, min(limited.scale, 1.0 - 1e-9)

    def _blended(
        self, stamp: int, total: Array, scale: float, limited: Callable[[Array], tuple[Array, float]], period: float
    ) -> ExertedEffort:
        """Return efforts within limits with what is left of former ones, and no faster than they may change."""
        blend, free = self.blend.update(stamp, total), scale == 1.0
        if blend is not None:
            total, _ = limited(total + blend)
        state = self.blend.state
        if self._rates is not None and state.last is not None:
            # Limits bind at once, also where the last efforts were exerted without them.
            last = np.clip(state.last, -self._limit, self._limit) if self._saturate else state.last
            step = total - last
            part = float(np.min(self._rates * period / np.maximum(np.abs(step), 1e-300), initial=1.0))
            if part < 1.0:
                total, free = last + part * step, False
        state.last, self.free = total, free
        return ExertedEffort(total, self._zero if blend is None else blend, scale)
