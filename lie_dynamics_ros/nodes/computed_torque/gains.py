"""The gains that a controller uses: those requested, as far as the sampled loop can carry them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control import (
    is_robust,
    largest_damping,
    largest_period,
    limited_damping,
    limited_damping_matrix,
    sampled_loop,
    spectral_radius,
    velocity_pole,
)
from ...lie_dynamics.control.robots import Robot, mass_matrix
from .tool_options import ToolGains, ToolOptions, make_tool_gains

USUAL_PERIOD = 0.004  # taken for the period until it is measured, where none is declared [s]
#: Default filter time of velocities from positions [s]: at 1 kHz loops carry a third of the damping with it.
LOOP_FILTER_TIME = 0.003
STOP_RATE = 15.0  # rate at which velocities die away in the plan of a stop [1/s]
#: Reflected inertia of a rotor that is assumed where the model gives none, over the effort limit [kg m^2 / (N m)].
#: Above the resonance of a gear it is all that feedback moves.
ROTOR = 1e-3
#: Rotors for which the quick damping of a stop is chosen where the model gives none, over the effort limit.
LEAST_ROTOR = 2e-3
DRIVE_LAG = 0.003  # lag of drives for which the damping of stops leaves room [s]
STOP_SHARE = 0.28  # damping of a stop, over that which stops a lone inertia within the delay of efforts
#: Damping of slow motions in a stop, over the inertia [1/s]; two low-passes in a row keep it from fast ones.
STOP_SLOW = 13.0
#: The same besides, over the effort limit, for what is not known; and where rotors are given [s/rad].
STOP_LOOSE, STOP_LOOSE_GIVEN = 0.1, 0.02
STOP_FILTER = 50.0  # rate of both low-passes [1/s]
STOP_SPRING, SPRING_PART = 6.0, 0.9  # largest stiffness of a stop over its damping [1/s]; and over all damping
#: Stiffness besides, over the effort limit, as gravity of a load takes some [1/rad]; over all damping squared.
STOP_HOLD, HOLD_PART = 0.3, 0.07
GUIDE_BRAKE = 40.0  # largest rate at which joints that are guided by hand are slowed down before their limits [1/s]
STOP_HASTE = 4.0  # factor by which velocities of a stop die away faster near a limit
SLOWING = 100.0  # largest rate at which joints are slowed down to a speed [1/s]
SPARE = 1.25  # room for damping that is not in proportion to the mass matrix, as a factor of that which is
#: Damping of mode computed_torque besides the mass matrix, over the effort limit [s/rad]: 4.5 limits a radian.
FLOOR = 0.3
#: Where feedback of mode computed_torque is lowered: rate of two low-passes [1/s], and factors of its gains. Damping
#: behind these takes the place of that which rotors on elastic gears feel; it still follows.
LATE_FILTER, LATE_DAMPING, LEAST_STIFFNESS = 35.0, 0.65, 0.6
#: What the damping besides is slower than then, and the stiffness that goes with it, over it [1/s].
LATE_FLOOR, LATE_SPRING = 10.0, 5.0
#: Used share of the damping that the loop can carry, except in stops: learning and soft limits take some, too.
CAP_SHARE = 0.9


@dataclass(frozen=True)
class StopGains:
    """Gains of stops: a damper D, and S = slow M + loose behind two low-passes, both limited by M."""

    fastest: float  # largest rate that a plan may have [1/s]
    time: float  # by which efforts act later than states [s]
    direct: Array  # D (n,) before it is limited [N m s/rad, N s/m]
    cap: float  # rate that D is slower than [1/s]
    slow: float  # [1/s]
    loose: Array  # what S has besides M (n,) [N m s/rad, N s/m]
    slow_cap: float  # rate that this part is slower than [1/s]
    hold: Array  # stiffness (n,) besides that which goes with D and S [N m/rad, N/m]
    spring_filter: float = 1e9  # rate of the low-pass of the spring, which there is once something oscillated [1/s]

    def lowered(self, quick: Array, slow: float) -> StopGains:
        """Return gains with dampers times factors (n,), and what acts behind low-passes times another."""
        least = float(quick.min())
        part = min(1.0, least)
        return replace(
            self, fastest=max(STOP_RATE, part * self.fastest), direct=quick * self.direct, cap=part * self.cap,
            slow=slow * self.slow, loose=slow * self.loose, slow_cap=slow * self.slow_cap, hold=slow**2 * self.hold,
            spring_filter=self.spring_filter if least >= 1.0 <= slow else STOP_FILTER,
        )  # fmt: skip

    @property
    def lowered_at_all(self) -> bool:
        """Whether they were lowered, as something oscillated."""
        return self.spring_filter <= STOP_FILTER

    def sooner(self, time: float) -> StopGains:
        """Return gains for efforts that act sooner by some time [s]."""
        part = self.time / (self.time - time)
        return replace(
            self, time=self.time - time, direct=part * self.direct, cap=part * self.cap, slow_cap=part * self.slow_cap
        )

    def quiet(self, rate: float) -> StopGains:
        """Return gains that take no more than about ``rate`` of a velocity per time [1/s]."""
        cap, slow_cap, slow = min(self.cap, 0.4 * rate), min(self.slow_cap, 0.6 * rate), min(self.slow, 0.6 * rate)
        return replace(self, cap=cap, slow_cap=slow_cap, slow=slow)

    def total(self, inertia: Array) -> Array:
        """Return the rate of all damping of each joint (n,) of such an inertia (n,) [1/s]."""
        direct, loose = self.direct / inertia, self.loose / inertia
        return direct * self.cap / (direct + self.cap) + self.slow + loose * self.slow_cap / (loose + self.slow_cap)

    def spring(self, inertia: Array) -> Array:
        """Return the stiffness over the damping (n,) of joints of such an inertia (n,) [1/s]."""
        return np.minimum(STOP_SPRING, SPRING_PART * self.total(inertia))

    @property
    def hold_cap(self) -> float:
        """What the stiffness besides is less than, over the inertia [1/s^2]."""
        return HOLD_PART * (self.slow + self.cap + self.slow_cap) ** 2

    def slow_matrix(self, mass: Array) -> Array:
        """Return S (n, n)."""
        return self.slow * mass + limited_damping_matrix(mass, self.loose, self.slow_cap)

    def force(self, mass: Array, rate: Array, slow: Array) -> Array:
        """Return D rate + S slow (n,), for errors of velocities, as they are and behind the low-passes."""
        force = self.slow * (mass @ slow) + limited_damping(mass, self.loose, self.slow_cap, slow)
        return limited_damping(mass, self.direct, self.cap, rate) + force


@dataclass(frozen=True)
class Gains:
    """Gains in force, all of shape (n,) where not numbers."""

    period: float  # of the loop they suit [s]
    delay: float  # of the loop they suit [periods]
    pole: float | None  # of the filter that velocities come from; None where they are measured
    usual: float  # the usual period, below the former where long ones are among the periods [s]
    kp: Array  # of mode computed_torque, as the next five
    kd: Array
    ki: Array
    factor: float  # bandwidth over what was requested
    floor: Array  # damping besides, at most
    floor_rotors: Array  # inertia of rotors, which carry it
    floor_cap: Array | float  # it is slower than that [1/s]
    spring: Array  # stiffness that goes with it, over it [1/s]
    converge: Array  # Lambda of modes passivity_based and adaptive
    slide: float  # their Kd is slide M + extra
    extra: Array
    extra_rates: Array  # damping besides, over the inertia that each joint feels [1/s]
    cap: float  # `extra` is slower than that
    slide_factor: float  # as `factor`, for these modes
    guide: Array  # damping of mode gravity_compensation
    guide_cap: float  # it is slower than that [1/s]
    stop: StopGains
    tool: ToolGains  # of modes of the tool, in which joints also brake at the rates `slide` and `slow`
    haste: Array | None = None  # what grows by errors grows slower by it where feedback is lowered
    quick: Array | float = 1.0  # part of a velocity that damping of mode computed_torque acts on
    late: Array | float = 0.0  # the same behind two low-passes of `LATE_FILTER`, where feedback is lowered

    @property
    def slow(self) -> float:
        """Rate at which joints come down to a speed that they may have [1/s]."""
        return min(SLOWING, self.guide_cap)

    @property
    def guide_brake(self) -> float:
        """Rate at which joints that are guided by hand are slowed down before their limits [1/s]."""
        return min(GUIDE_BRAKE, 0.25 * self.guide_cap)


def lowered(gains: Gains, factor: Array, others: Array) -> Gains:
    """Return gains with rates of feedback multiplied by factors (n,), as where it feeds an oscillation.

    Damping besides the mass matrix, which rotors on elastic gears feel first, falls with its square. Rates of motions,
    as those of a stop's plan, stay.
    """
    if (factor == 1.0).all():
        return gains
    g, p, f, tool = gains, factor**2, float(others.min()), gains.tool
    g = replace(
        g, kp=np.maximum(p, LEAST_STIFFNESS) * g.kp, ki=factor**3 * g.ki, quick=p, late=LATE_DAMPING * (1.0 - p),
        factor=float(factor.min()) * g.factor,
    )  # fmt: skip
    if f == 1.0:
        return g
    return replace(
        g,
        floor_cap=np.minimum(g.floor_cap, p * g.floor_cap + (1.0 - p) * LATE_FLOOR),
        spring=p * g.spring + (1.0 - p) * np.minimum(g.spring, LATE_SPRING), haste=p,
        converge=f * g.converge, slide=f * g.slide, extra=f**2 * g.extra, extra_rates=f * g.extra_rates,
        cap=f * g.cap, slide_factor=f * g.slide_factor, guide=f * g.guide, guide_cap=f * g.guide_cap,
        tool=replace(
            tool, kp=f**2 * tool.kp, kd=f * tool.kd, factor=f * tool.factor, fastest=f * tool.fastest,
            posture_kp=f**2 * tool.posture_kp, posture_kd=f * tool.posture_kd,
        ),
    )  # fmt: skip


def filter_pole(time: float, period: float) -> float | None:
    """Return about the pole of a velocity filter, one of few, so that what was found for them can be kept."""
    return velocity_pole(2.0 ** (round(16.0 * math.log2(time / period)) / 16.0), 1.0) if time else None


class SampledFeedback(NamedTuple):
    """Period [s] and delay [periods] of a loop, and the pole of the filter that velocities come from, if any."""

    period: float
    delay: float
    pole: float | None


def make_gains(
    wanted: dict[str, Array],
    tool: ToolOptions,
    told: Array,
    limit: Array,
    floor: Array,
    loop: SampledFeedback,
    usual: float = 0.0,
) -> Gains:
    """Return the gains for a loop whose `usual` period may be shorter [s]; all arrays (n,).

    `wanted` are the numbers that parameters of the node give, `told` rotors that the model gives, 0 where it does not
    [kg m^2, kg], `limit` what is much for a joint, such as its effort limit [N m, N], `floor` damping of mode
    computed_torque besides the mass matrix [N m s/rad, N s/m].
    """
    kp, kd, ki = wanted["kp"], wanted["kd"], wanted["ki"]
    factor = min(_factor(*g, *loop) for g in set(zip(kp.tolist(), kd.tolist(), ki.tolist(), strict=True)))
    rates, converge = wanted["sliding_rate"], wanted["convergence_rate"]
    slide, fastest = float(rates.min()), float(converge.max())
    slide_factor = _pair_factor(slide, fastest, *loop)
    slide *= slide_factor
    guide_cap = CAP_SHARE * largest_damping(0.0, *loop)
    return Gains(
        *loop,
        usual=usual or loop.period,
        kp=factor**2 * kp,
        kd=factor * kd,
        ki=factor**3 * ki,
        factor=factor,
        floor=floor,
        floor_rotors=np.where(told > 0.0, told, ROTOR * limit),
        floor_cap=CAP_SHARE * _largest_floor(factor**2 * float(kp.max()), factor * float(kd.max()), fastest, *loop),
        spring=slide_factor * converge,
        converge=slide_factor * converge,
        slide=slide,
        extra=wanted["sliding_damping"],
        extra_rates=slide_factor * rates - slide,
        cap=CAP_SHARE * largest_damping(slide_factor * fastest, *loop) - slide,
        slide_factor=slide_factor,
        guide=wanted["guiding_damping"],
        guide_cap=guide_cap,
        stop=make_stop_gains(told, limit, *loop, guide_cap),
        tool=make_tool_gains(tool, *loop),
    )


def _factor(kp: float, kd: float, ki: float, period: float, delay: float, pole: float | None) -> float:
    return min(1.0, largest_period(kp, kd, ki, delay, pole) / period)


def _pair_factor(damping: float, rate: float, period: float, delay: float, pole: float | None) -> float:
    """Return by what factor both rates must come down, with room for damping besides."""
    damping *= SPARE
    return _factor(damping * rate, damping + rate, 0.0, period, delay, pole)


def make_stop_gains(
    told: Array, limit: Array, period: float, delay: float, pole: float | None, fastest: float
) -> StopGains:
    """Return the gains of stops; ``fastest`` is the largest rate at which velocities may die away [1/s].

    Efforts act later than states by T = h (max(1, delay) + 1/2), the lag of the drives and of the velocity filter, two
    of its time constants.
    """
    time = period * (max(1.0, delay) + 0.5) + DRIVE_LAG - (0.0 if pole is None else 2.0 * period / math.log(pole))
    known = told > 0.0
    return StopGains(
        fastest=max(STOP_RATE, min(STOP_HASTE * STOP_RATE, fastest)),
        time=time,
        direct=STOP_SHARE * np.where(known, told, LEAST_ROTOR * limit) / time,
        cap=0.9 / time,
        slow=STOP_SLOW,
        loose=np.where(known, STOP_LOOSE_GIVEN, STOP_LOOSE) * limit,
        slow_cap=0.8 / time,
        hold=STOP_HOLD * limit,
    )


@lru_cache(maxsize=256)
def _largest_floor(kp: float, kd: float, rate: float, period: float, delay: float, pole: float | None) -> float:
    """Return the largest a [1/s] for which kp + a rate, kd + a are robust."""
    low, high = 0.0, 2.0 / period
    for _ in range(12):
        middle = 0.5 * (low + high)
        good = is_robust(period, delay, kp + middle * rate, kd + middle, 0.0, pole)
        low, high = (middle, high) if good else (low, middle)
    return low


@dataclass(frozen=True)
class LoopReport:
    """Figures of the sampled loop at a pose; each is computed when it is requested."""

    gains: Gains
    Kp: Array
    Kd: Array
    Ki: Array
    M: Array
    allowed: float  # what `rate` may be at this period and delay [1/s]
    lagging: tuple[Array, Array] | None = None  # damping behind a low-pass besides, see `sampled_loop`

    @cached_property
    def radius(self) -> float:
        """Spectral radius of its exact matrix; stable below 1 (at 1 where nothing pulls the position back)."""
        g = self.gains
        lagging = self.lagging
        return spectral_radius(sampled_loop(g.period, g.delay, self.Kp, self.Kd, self.Ki, self.M, g.pole, lagging))

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
    lagging = None
    if stopping:
        Kd, slow = limited_damping_matrix(M, g.stop.direct, g.stop.cap), g.stop.slow_matrix(M)
        Kp = (Kd + slow) * g.stop.spring(np.diagonal(M)) + limited_damping_matrix(M, g.stop.hold, g.stop.hold_cap)
        Ki, allowed = np.zeros_like(M), g.stop.cap
        lagging = slow, np.full(len(M), -math.expm1(-STOP_FILTER * g.period))
    elif tool is not None:
        Kp, Kd, Ki = *tool, np.zeros_like(M)
        allowed = largest_damping(0.0, g.period, g.delay, g.pole)
    elif mode == "computed_torque":
        more = limited_damping_matrix(M, np.minimum(g.floor, g.floor_cap * g.floor_rotors), g.floor_cap)
        Kd = M * g.kd + more
        Kp, Ki = M * g.kp + more * g.spring, M * g.ki
        if np.any(g.late):
            lagging = g.late * Kd, np.full(len(M), -math.expm1(-LATE_FILTER * g.period))
        Kd = g.quick * Kd
        most = largest_damping(0.0, g.period, g.delay, g.pole)
        allowed = float((g.kd + g.floor_cap).max()) if g.factor < 1.0 else most
    elif mode == "gravity_compensation":
        Kd = limited_damping_matrix(M, g.guide, g.guide_cap)
        Kp, Ki, allowed = np.zeros_like(M), np.zeros_like(M), g.guide_cap
    else:
        extra = g.extra + g.extra_rates * np.diagonal(M)
        Kd = g.slide * M + limited_damping_matrix(M, extra, g.cap)
        Kp, Kd, Ki = Kd * g.converge, Kd + M * g.converge, np.zeros_like(M)
        allowed = float(g.converge.max()) + g.slide + g.cap
    return LoopReport(g, Kp, Kd, Ki, M, allowed, lagging)
