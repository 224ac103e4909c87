"""The gains that a controller uses: those asked for, as far as the sampled loop can carry them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...core.arrays import Array
from ...lie_dynamics.control import (
    largest_damping,
    largest_period,
    limited_damping_matrix,
    sampled_loop,
    spectral_radius,
    velocity_pole,
)
from ...lie_dynamics.control.robots import Robot, mass_matrix
from .tool.tool_gains import ToolGains, make_tool_gains
from .tool.tool_options import ToolOptions

USUAL_PERIOD = 0.004
"""Taken for the period until it is measured, where none is declared [s]."""
LOOP_FILTER_TIME = 0.003
"""Of velocities found in positions, by default [s]: at 1 kHz loops carry a third of the damping as without."""
STOP_RATE = 15.0
"""Of a stop: velocities die away, and errors vanish, at this rate [1/s]."""
STOP_DAMPING = 25.0
"""Of a stop: damping over the mass matrix [1/s]."""
STOP_SHARE = 10.0
"""Of a stop: what part of a joint's effort limit would damp it besides, at its velocity limit beside the plan's.

So much that light joints are damped as far as the sampled loop can carry it: what they may carry is not known. But no
more than the rotor can carry that the model gives, else a small one, as above the resonance of a gear it is all that
feedback moves.
"""
ROTOR = 1e-3
"""Reflected inertia of a rotor that is assumed where the model gives none, over the effort limit [kg m^2 / (N m)]."""
STOP_HASTE = 4.0
"""Of a stop: by what factor velocities die away faster where a limit is near."""
SLOWING = 100.0
"""Largest rate at which joints are slowed down to a speed [1/s]."""
SPARE = 1.25
"""Room for damping that is not in proportion to the mass matrix, as a factor of that which is."""
CAP_SHARE = 0.9
"""What part of the damping that the loop can carry is used but in stops: learning and soft limits take some, too."""


@dataclass(frozen=True)
class Gains:
    """Gains in force, all of shape (n,) where not numbers.

    Attributes
    ----------
    period, delay : float
        Of the loop they suit [s, periods].
    usual : float
        The usual period, below the former where long ones are among the periods [s].
    pole : float or None
        Of the filter that velocities come from; None where they are measured.
    kp, kd, ki : ndarray
        Of mode computed_torque.
    factor : float
        By which the bandwidth of mode computed_torque is below what was asked for; 1 where it is not.
    converge, slide, extra, cap : ndarray, float, ndarray, float
        Of modes passivity_based and adaptive: Lambda; Kd = slide M + extra, the latter slower than cap.
    slide_factor : float
        As `factor`, for these modes.
    extra_rates : ndarray
        Damping besides `slide`, over the inertia that each joint feels [1/s].
    guide_cap : float
        What the damping of mode gravity_compensation is slower than [1/s].
    stop, stop_plan, stop_slide, stop_cap : float
        Of stops: Lambda, and the rate of the plan; Kd = stop_slide M + extra slower than stop_cap.
    tool : ToolGains
        Of modes operational_space and impedance, in which joints also brake at the rates `slide` and `slow`.
    """

    period: float
    delay: float
    pole: float | None
    usual: float
    kp: Array
    kd: Array
    ki: Array
    factor: float
    converge: Array
    slide: float
    extra: Array
    extra_rates: Array
    cap: float
    slide_factor: float
    guide: Array
    guide_cap: float
    stop: float
    stop_plan: float
    stop_slide: float
    stop_extra: Array
    stop_cap: float
    tool: ToolGains

    @property
    def slow(self) -> float:
        """Rate at which joints come down to a speed that they may have [1/s]."""
        return min(SLOWING, self.guide_cap)

    @property
    def stop_fastest(self) -> float:
        """Largest rate at which velocities die away in a stop [1/s]."""
        return max(self.stop_plan, min(STOP_HASTE * self.stop_plan, self.guide_cap))


def lowered(gains: Gains, factor: float) -> Gains:
    """Return gains with all rates of feedback multiplied by a factor, as where it feeds an oscillation.

    Damping besides the mass matrix, which rotors on elastic gears feel first, falls with its square. Rates of motions,
    as those of a stop's plan, stay.
    """
    if factor == 1.0:
        return gains
    g, f, tool = gains, factor, gains.tool
    return replace(
        g,
        kp=f**2 * g.kp, kd=f * g.kd, ki=f**3 * g.ki, factor=f * g.factor,
        converge=f * g.converge, slide=f * g.slide, extra=f**2 * g.extra, extra_rates=f * g.extra_rates,
        cap=f * g.cap, slide_factor=f * g.slide_factor, guide=f * g.guide, guide_cap=f * g.guide_cap,
        stop=f * g.stop, stop_slide=f * g.stop_slide, stop_extra=f**2 * g.stop_extra, stop_cap=f * g.stop_cap,
        tool=replace(
            tool, kp=f**2 * tool.kp, kd=f * tool.kd, factor=f * tool.factor, fastest=f * tool.fastest,
            posture_kp=f**2 * tool.posture_kp, posture_kd=f * tool.posture_kd,
        ),
    )  # fmt: skip


def filter_pole(time: float, period: float) -> float | None:
    """Return about the pole of a velocity filter, one of few, so that what was found for them can be kept."""
    return velocity_pole(2.0 ** (round(16.0 * math.log2(time / period)) / 16.0), 1.0) if time else None


def make_gains(
    wanted: dict[str, Array],
    tool: ToolOptions,
    stop_extra: Array,
    rotors: Array,
    period: float,
    delay: float,
    pole: float | None = None,
    usual: float = 0.0,
) -> Gains:
    """Return the gains for a loop.

    Parameters
    ----------
    wanted : dict of ndarray, shape (n,)
        The numbers that the parameters of the node give.
    tool : ToolOptions
    stop_extra : ndarray, shape (n,)
        Damping of stops besides the mass matrix [N m s/rad, N s/m].
    rotors : ndarray, shape (n,)
        Least inertia that this damping meets on joints with elastic gears [kg m^2, kg].
    period, delay : float
        [s, periods].
    pole : float or None
        Of the filter that velocities come from.
    usual : float
        The usual period [s]; 0 for `period`.
    """
    loop = period, delay, pole
    kp, kd, ki = wanted["kp"], wanted["kd"], wanted["ki"]
    factor = min(_factor(*g, *loop) for g in set(zip(kp.tolist(), kd.tolist(), ki.tolist(), strict=True)))
    rates, converge = wanted["sliding_rate"], wanted["convergence_rate"]
    slide, fastest = float(rates.min()), float(converge.max())
    slide_factor = _pair_factor(slide, fastest, *loop)
    stop_factor = _pair_factor(STOP_DAMPING, STOP_RATE, *loop)
    stop, stop_slide = stop_factor * STOP_RATE, stop_factor * STOP_DAMPING
    slide *= slide_factor
    stop_cap = largest_damping(stop, *loop) - stop_slide
    return Gains(
        *loop,
        usual=usual or period,
        kp=factor**2 * kp,
        kd=factor * kd,
        ki=factor**3 * ki,
        factor=factor,
        converge=slide_factor * converge,
        slide=slide,
        extra=wanted["sliding_damping"],
        extra_rates=slide_factor * rates - slide,
        cap=CAP_SHARE * largest_damping(slide_factor * fastest, *loop) - slide,
        slide_factor=slide_factor,
        guide=wanted["guiding_damping"],
        guide_cap=CAP_SHARE * largest_damping(0.0, *loop),
        stop=stop,
        stop_plan=stop,
        stop_slide=stop_slide,
        stop_extra=np.minimum(stop_extra, stop_cap * rotors),
        stop_cap=stop_cap,
        tool=make_tool_gains(tool, *loop),
    )


def _factor(kp: float, kd: float, ki: float, period: float, delay: float, pole: float | None) -> float:
    return min(1.0, largest_period(kp, kd, ki, delay, pole) / period)


def _pair_factor(damping: float, rate: float, period: float, delay: float, pole: float | None) -> float:
    """Return by what factor both rates must come down, with room for damping besides."""
    damping *= SPARE
    return _factor(damping * rate, damping + rate, 0.0, period, delay, pole)


@dataclass(frozen=True)
class LoopReport:
    """What the sampled loop is at a pose; each figure is found when it is asked for.

    Attributes
    ----------
    allowed : float
        What `rate` may be at this period and delay [1/s].
    """

    gains: Gains
    Kp: Array
    Kd: Array
    Ki: Array
    M: Array
    allowed: float

    @cached_property
    def radius(self) -> float:
        """Spectral radius of its exact matrix; stable below 1 (at 1 where nothing pulls the position back)."""
        g = self.gains
        return spectral_radius(sampled_loop(g.period, g.delay, self.Kp, self.Kd, self.Ki, self.M, g.pole))

    @cached_property
    def rate(self) -> float:
        """Its largest rate of damping, the largest eigenvalue of M^-1 Kd [1/s]."""
        return float(np.abs(np.linalg.eigvals(np.linalg.solve(self.M, self.Kd))).max())


def examine(
    model: Robot, position: Array, gains: Gains, mode: str, stopping: bool, tool: tuple[Array, Array] | None = None
) -> LoopReport:
    """Find what the loop is at a pose, from its exact matrix; too slow for the loop itself.

    `tool` holds Kp and Kd of a mode that controls a tool's pose.
    """
    g, M = gains, mass_matrix(model, position)
    if stopping:
        Kd = g.stop_slide * M + limited_damping_matrix(M, g.stop_extra, g.stop_cap)
        Kp, Kd, Ki = g.stop * Kd, Kd + g.stop * M, np.zeros_like(M)
        allowed = g.stop + g.stop_slide + g.stop_cap
    elif tool is not None:
        Kp, Kd, Ki = *tool, np.zeros_like(M)
        allowed = largest_damping(0.0, g.period, g.delay, g.pole)
    elif mode == "computed_torque":
        Kp, Kd, Ki = M * g.kp, M * g.kd, M * g.ki
        allowed = float(g.kd.max()) if g.factor < 1.0 else largest_damping(0.0, g.period, g.delay, g.pole)
    elif mode == "gravity_compensation":
        Kd = limited_damping_matrix(M, g.guide, g.guide_cap)
        Kp, Ki, allowed = np.zeros_like(M), np.zeros_like(M), g.guide_cap
    else:
        extra = g.extra + g.extra_rates * np.diagonal(M)
        Kd = g.slide * M + limited_damping_matrix(M, extra, g.cap)
        Kp, Kd, Ki = Kd * g.converge, Kd + M * g.converge, np.zeros_like(M)
        allowed = float(g.converge.max()) + g.slide + g.cap
    return LoopReport(g, Kp, Kd, Ki, M, allowed)
