"""Limits of wanted efforts: smooth after a change, within the limits, not too fast."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...lie_dynamics.control import limit_effort
from ...lie_dynamics.control.kernels.signals import within
from .options import ComputedTorqueOptions

LEAST_BRAKING = 0.1
"""Part of the wanted braking below which it is scaled about gravity compensation."""


class Limited(NamedTuple):
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


class EffortStage:
    """The last stage of a controller; keeps the last efforts.

    Parameters
    ----------
    limit : ndarray, shape (n,)
        Effort limits [N m, N]; the largest float for none.

    Attributes
    ----------
    saturated : ndarray of bool, shape (n,)
        Joints whose efforts were limited; the user clears it.
    free : bool
        Whether the last efforts were exerted as they were wanted.
    """

    def __init__(self, limit: Array) -> None:
        self._limit, self._zero = limit, np.zeros(len(limit))
        self.saturated: NDArray[np.bool_] = np.zeros(len(limit), dtype=bool)
        self._saturate, self._policy = True, "scale"
        self._rates: Array | None = None
        self.forget()

    def set_options(self, options: ComputedTorqueOptions, rates: Array) -> None:
        """Apply options; `rates` (n,) limit changes [N m/s], zero for no limit."""
        self._saturate, self._policy = options.saturate, options.effort_policy
        self._rates = np.where(rates > 0.0, rates, np.inf) if rates.any() else None

    def forget(self) -> None:
        """Forget the last efforts: the next ones are exerted as they are."""
        self._last: Array | None = None
        self.at_once()
        self.free = True

    def take_over_from(self, other: EffortStage) -> None:
        """Take over the last efforts of another stage."""
        self._last = other._last

    def change(self, time: float) -> None:
        """Let the next efforts pass over from the last ones within some time [s]; 0: at once."""
        self._pending = time

    def ease(self, stamp: int, difference: Array, time: float) -> None:
        """Let a difference (n,) come on top of wanted efforts, from a time [ns] on, that fades within some time [s]."""
        if time and self._last is not None:
            left = self._zero if self._over is None else self._over.part(stamp) * self._over.difference
            self._pending, self._over = None, _Passing(stamp, time, difference + left)

    def turn(self, stamp: int, gravity: Array, step: Array, time: float, held: Callable[[Array], Array]) -> None:
        """Let the step (3,) by which gravity came to be what it is come in within some time [s] from a time [ns] on.

        All else in the efforts goes on as it is wanted, so that gravity may step with every state. Steps add up as
        gravity, for what they do changes with the pose; `held` returns the efforts (n,) that hold the robot under one.
        """
        if time and self._last is not None and self._pending is None:
            lag = -step if self._lag is None else self._lag.part(stamp) * self._lag.difference - step
            self._lag = _Passing(stamp, time, lag)
            self._lack = _Passing(stamp, time, held(gravity + lag) - held(gravity))

    def apply(self, stamp: int, wanted: Array, base: Callable[[], Array], period: float) -> Limited:
        """Return what to exert at a time [ns], ``period`` [s] after the last; `base` comes first when scaling."""
        if within(wanted, self._limit) == 1 and not self._passes and self._rates is None:
            self._last, self.free = wanted, True
            return Limited(wanted, self._zero, 1.0)
        total, scale = self._within(wanted, base)
        blend = self._blend(stamp, total)
        if blend is not self._zero:
            total, _ = self._within(total + blend, base)
        return self._keep(total, blend, scale, period)

    def _blend(self, stamp: int, total: Array) -> Array:
        """Return what is left of the last efforts that others pass over to, at a time [ns]."""
        if self._pending is not None:
            time = self._pending
            self.at_once()
            if time and self._last is not None:
                self._over = _Passing(stamp, time, self._last - total)
        blend = self._zero
        for passing in (self._over, self._lack):
            if passing is not None and (part := passing.part(stamp)):
                blend = blend + part * passing.difference
        if blend is self._zero:
            self.at_once()
        return blend

    @property
    def _passes(self) -> bool:
        return not (self._pending is None and self._over is None and self._lag is None)

    def at_once(self) -> None:
        """Let nothing be left of former efforts, as a stop begins."""
        self._pending: float | None = None
        self._over: _Passing | None = None
        self._lag: _Passing | None = None  # of gravity
        self._lack: _Passing | None = None  # of efforts by it

    def brake(self, stamp: int, wanted: Array, bias: Array, gravity: Array, period: float) -> Limited:
        """Return what to exert in a stop: what exceeds `bias`, the efforts without acceleration, by one factor.

        So the deceleration keeps its direction. Where the limits hardly leave room beside the bias, as at high speed,
        the same is done about gravity compensation, from which the wanted damping takes energy out of the robot.
        """
        total, scale = self._braked(wanted, bias, gravity)
        blend = self._blend(stamp, total)
        if blend is not self._zero:
            total, _ = self._within(total + blend, lambda: gravity)
        return self._keep(total, blend, scale, period)

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

    def _within(self, efforts: Array, base: Callable[[], Array]) -> tuple[Array, float]:
        if not self._saturate or within(efforts, self._limit) == 1:
            return efforts, 1.0
        self.saturated |= np.abs(efforts) > self._limit
        limited = limit_effort(efforts, self._limit, self._policy, base())  # type: ignore[arg-type]
        return limited.effort, limited.scale if self._policy == "scale" else 0.0

    def _keep(self, total: Array, blend: Array, scale: float, period: float) -> Limited:
        free = scale == 1.0
        if self._rates is not None and self._last is not None:
            # Limits bind at once, also where the last efforts were exerted without them.
            last = np.clip(self._last, -self._limit, self._limit) if self._saturate else self._last
            step = total - last
            part = float(np.min(self._rates * period / np.maximum(np.abs(step), 1e-300), initial=1.0))
            if part < 1.0:
                total, free = last + part * step, False
        self._last, self.free = total, free
        return Limited(total, blend, scale)
