"""A stop: the motion by which a robot comes to rest, and what changes it under way."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.robot_state import RobotState
from ...lie_dynamics import LieDynamicsError
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control import SoftLimits, StopPlan, limited_damping
from ...lie_dynamics.control.kernels.oscillation import (
    BEYOND,
    EXERTED,
    GAINED,
    MOVED,
    OFF,
    PLACE,
    bear,
    smooth_state,
)
from ...lie_dynamics.control.kernels.signals import within
from ...lie_dynamics.control.reversed_efforts import Reversal
from ...lie_dynamics.control.robots import Robot
from ...lie_dynamics.control.velocity_filter import PositionSteps, velocity_pole
from ...lie_dynamics.engine.compile import raise_if_rejected
from .gains import STOP_FILTER, STOP_RATE, STOP_SPRING, StopGains
from .sensor_noise import PEAK_TO_PEAK, CoarsePositions, SensorNoise
from .untold_inertia import HEAVIEST_UNTOLD, INERTIA_GROWTH, NO_ERROR, FeltInertia, UntoldInertia

AT_REST = 1e-3  # below this speed of its plan a stop has ended [rad/s, m/s]
RESTING = 0.05  # and below this measured speed, over the velocity limit, or [rad/s, m/s] where there is none
REMEMBERED = 0.1  # over which time the efforts of feedback before a stop count, that it goes on with [s]
LARGEST_OFFSET = 0.8  # the largest of them, over the effort limit
QUIET = 0.012  # largest swing of the damper's efforts by noise of sensors, over the effort limit
OFF_RATE = 40.0  # rate of the low-pass of errors, behind which dynamics are compensated in a stop and plans begin [1/s]
OUTDATED = 2.0  # period, over the time of that low-pass, from which on states are taken unfiltered
ROUGH = 0.06  # about the noise of velocities by steps of positions that they are to have in a stop [rad/s, m/s]
LEAST_TIME = 0.1  # least time of the filter that finds them, over the period
HIT = 0.05  # velocity, over its mean before a stop, below which a joint was stopped by a hit
#: Rate at which errors of velocities fade at least where inertia is known, over that of slow damping.
SLOWEST_FADING = 0.3
#: Speed up to which joints creep on after the way to rest [rad/s, m/s], and rate of the low-pass that shows it [1/s].
#: Efforts that stay drive them against friction, which bears far more feedback than the joint's inertia does.
CREEPING, CREEP_FILTER = 0.04, 20.0
EDGE_GROWTH = 1.0  # logarithm of the factor by which inertia grows at most from edge to edge of coarse positions
DRIVEN = 0.4  # slow error of a velocity from which on what feedback bore seems to drive a joint [rad/s, m/s]
DRIVEN_FADES = 5.0  # rate at which it fades then, once something oscillated [1/s]
GIVING_WAY = 0.3  # time for which a stop gives way to a contact before it holds the robot where it is then [s]


@dataclass
class StopState:
    """State of a stop; arrays (n,)."""

    passed: Array  # errors of velocities behind the first low-pass [rad/s, m/s]
    slow: Array  # the same behind both
    offset: Array  # what feedback exerted before the stop, and the spring since; stays where gains change [N m, N]
    mass: Array  # mass matrix (n, n) at the last state that has one [kg m^2, kg]
    crept: Array  # errors of velocities behind a slower low-pass [rad/s, m/s]
    gained: Array | None = None  # acceleration by feedback before, still a part of `offset` [rad/s^2, m/s^2]
    errors: tuple[Array, Array] | None = None  # plan less joints, as it was, and behind low-passes [rad, m]
    found: tuple[Array, Array] | None = None  # of a quicker filter, where velocities are not measured
    plan: StopPlan | None = None  # the way to rest; None where the next state begins one
    begun: int = 0  # when it began [ns]
    late: bool = False  # whether the next plan is to brake at once, as efforts have reached their limits
    give_way: float = 0.0  # how long the stop is to go on without a spring [s]
    gave_way: bool = False  # whether it did so already


class StopMotion(NamedTuple):
    """Output of a stop at a state; arrays (n,)."""

    motion: tuple[Array, Array, Array]  # position, velocity, acceleration [rad, m, and per s, s^2]
    rate: Array  # error of the velocity [rad/s, m/s]
    slow: Array  # the same behind the low-passes
    position: Array  # at which the dynamics are compensated: without what oscillates [rad, m]
    offset: Array  # to be exerted besides [N m, N]
    heavier: Array  # inertia that joints are taken to have besides what is known [kg m^2, kg]
    gives_way: bool  # whether it is damped alone
    let_go: NDArray[np.bool_] | None  # joints to get no effort, as efforts drive them the other way
    reversed: list[int]  # those that were found to do so
    gains: StopGains  # as far as the noise of sensors lets them be used


class Stop:
    """Finds the motion of a stop, state by state; arrays (n,).

    Limits of efforts and velocities (`limit`, `fastest`) are the largest float for none [N m, N; rad/s, m/s]; `scale`
    is what is much for a joint, such as its effort limit, `speed` its velocity limit, 1 for none. Where it is
    `watched`, joints are looked at for efforts that act the other way round. `late` is by which efforts act later than
    states [s], `shaken` how far noise of sensors makes efforts swing [N m, N].
    """

    def __init__(
        self, soft: SoftLimits, limit: Array, scale: Array, fastest: Array, speed: Array, watched: bool
    ) -> None:
        self._zero = np.zeros(len(limit))
        self._borne = np.zeros((3, len(limit)))  # as `bear` says
        self._states = 0  # of which there are, in the mean errors; and positions and velocities without these:
        self._smooth, self._part = np.zeros((4, len(limit))), np.zeros(1)
        self._largest, self._most, self._quiet = LARGEST_OFFSET * limit, limit, QUIET * scale
        self._heaviest = HEAVIEST_UNTOLD * scale
        self._light = np.diag(1e-3 * scale)
        self.inertia, self.feeling = UntoldInertia(len(scale)), FeltInertia(scale)
        self.reversal = Reversal(limit, fastest)
        self._soft, self._fastest, self._watched = soft, fastest, watched
        self.steps, self.late, self.shaken = PositionSteps(len(limit)), 0.0, self._zero
        self.noise, self.coarse = SensorNoise(self.steps), CoarsePositions(len(limit))
        self.begin(False)
        self._rest = np.full(len(limit), AT_REST)
        self._resting = RESTING * speed
        self._moving = 2.0 * self._resting

    def move(self, position: Array, velocity: Array, q: Array, qd: Array, period: float) -> None:
        """Take note of a desired position and velocity and those at a state (n,), ``period`` [s] after the last."""
        self._states += 1
        part = max(-math.expm1(-OFF_RATE * period), 2.0 / (1.0 + self._states))
        part = 1.0 if OFF_RATE * period > OUTDATED else part
        self._part[0] = part
        _run(smooth_state, self._smooth, self._part, position, velocity, q, qd)

    def note(self, feedback: Array, velocity: Array, desired: Array, period: float) -> None:
        """Take note of what feedback exerted (n,) before a stop, ``period`` [s] after the last, and of velocities."""
        self._part[0] = min(1.0, period / REMEMBERED)
        _run(bear, self._borne, self._part, feedback, velocity, desired)

    def forget(self) -> None:
        """Forget what feedback exerted, and how the robot moved."""
        self._borne[:] = self._smooth[:] = 0.0
        self._states = 0

    def begin(self, gives_way: bool, goes_on: bool = False) -> None:
        """Begin a stop from where the robot is in the next state; or give way to what touches first.

        Where it ``goes_on``, what feedback bore in the mean, such as a payload, is borne on: what it exerted, but for
        what changed velocities.
        """
        zero = self._zero
        self.inertia.reset()
        self.feeling.reset()
        self.coarse.reset()
        offset, gained = zero, None
        if goes_on and not gives_way:
            offset, gained = self._borne[EXERTED].copy(), (self._borne[BEYOND] - self._borne[GAINED]) / REMEMBERED
        giving = GIVING_WAY if gives_way else 0.0
        self.noise.reset(self._smooth[MOVED].copy())
        off = self._smooth[OFF].copy()
        self.state = StopState(off, off, offset, self._light, zero, gained, give_way=giving, gave_way=gives_way)

    def give_way(self) -> None:
        """Give way to what touches, once in a stop."""
        if not self.state.gave_way:
            self.state.give_way, self.state.gave_way, self.state.offset = GIVING_WAY, True, self._zero

    def replan(self, late: bool = False) -> None:
        """Begin the way to rest anew, from where the robot is in the next state; braking at once where it is late."""
        self.state.plan, self.state.late = None, late

    def update(
        self,
        state: RobotState,
        period: float,
        gains: StopGains,
        dynamics: Robot,
        inertia: Callable[[Array], Array],
        far: Array,
        rotors: Array,
        free: bool,
    ) -> StopMotion:
        """Return what is wanted at a state, ``period`` [s] after the one before.

        The way to rest begins anew where the robot is farther from it than ``far`` (n,). ``inertia`` returns the mass
        matrix that counts at a position. Joints have learned ``rotors`` (n,) besides what the dynamics know
        [kg m^2, kg]; ``free``: whether the last efforts were as wanted.
        """
        self.steps.note(state.position)
        if state.filter_time and period > 0.0:
            late = gains.time - 2.0 * state.filter_time
            settled, eased = self.coarse.update(state.position, self.steps.found, period, late)
            quick = self._sharpen(replace(state, position=settled), period)
            gains = gains.sooner(2.0 * (state.filter_time - quick.filter_time))
            state = replace(quick, position=eased)
        state, swing, step = self.noise.mend(state, period)
        self.late = gains.time
        s, stamp, q, qd = self.state, state.stamp, state.position, state.velocity
        reversal = self.reversal
        too_fast = self._watched and within(qd, self._fastest) != 1
        if reversal.look(dynamics, stamp, q, qd, too_fast, 3.0 * state.filter_time):
            self.replan()  # joints that are held again are stopped from where they are then
        gives_way = s.give_way > 0.0
        if gives_way:  # damped alone: nothing presses where a plan would lead, and what pushes the robot moves it
            s.plan, s.give_way = None, s.give_way - period
            motion = q, self._zero, self._zero
        else:
            lost = s.plan is not None and within(s.plan.at((stamp - s.begun) * 1e-9)[0] - q, far) != 1
            if s.plan is None or lost:
                soft = self._soft
                # One that begins anew under way brakes at once: begun at each state, it would never come to braking.
                hurry = gains.fastest if s.late else STOP_RATE
                place, moved = self._smooth[PLACE], self._smooth[MOVED]
                old = not self._states or OFF_RATE * period > OUTDATED  # the state before shows nothing
                if old or within(place - q, far) != 1:
                    x, v = q, qd
                else:  # a joint that moved and hardly does now, as after a hit, is planned for as it is
                    slower = np.clip(qd, np.minimum(moved, 0.0), np.maximum(moved, 0.0))
                    hit = (np.abs(moved) > self._moving) & (np.abs(slower) < HIT * np.abs(moved))
                    x, v = np.where(hit | lost, q, place), np.where(hit, slower, moved)
                braking = None if s.plan is None and not s.late else -hurry * v
                s.passed, s.slow = s.passed - self._smooth[OFF], s.slow - self._smooth[OFF]
                self._smooth[: OFF + 1] = 0.0  # which are in the plan now
                s.errors = None
                s.plan = StopPlan(x, v, STOP_RATE, gains.fastest, soft.lower, soft.upper, braking)
                s.begun, s.late = stamp, False
            motion = s.plan.at((stamp - s.begun) * 1e-9)
        let_go = reversal.let_go if reversal.let_go.any() else None
        if let_go is not None:  # feedback by the other joints alone, else what they do for these may drive them
            x, v, a = motion
            motion = np.where(let_go, q, x), np.where(let_go, qd, v), np.where(let_go, self._zero, a)
        found, reversal.news = reversal.news, []
        self.move(*motion[:2], q, qd, period)
        slowest, gains = gains.slow, gains.quiet(self.noise.bearable(qd, period, swing, step))
        part = np.minimum(1.0, self._quiet / np.maximum(gains.direct * swing, 1e-3 * self._quiet))
        with suppress(LieDynamicsError):  # else it is what it was
            s.mass = inertia(q)
        rate, mass, filter = motion[1] - qd, s.mass + np.diag(rotors), STOP_FILTER
        if s.gained is not None:
            least, most_borne = np.minimum(s.offset, 0.0), np.maximum(s.offset, 0.0)  # a swing is not to make it more
            s.offset = np.clip(np.clip(s.offset - mass @ s.gained, least, most_borne), -self._largest, self._largest)
            s.gained = None
        known = np.diagonal(mass)
        calm = 0.5 * filter * step + np.sqrt(0.125 * filter * period) * swing * (not state.filter_time)
        error, share = motion[0] - q, -math.expm1(-filter * period)
        before, behind = (error, error) if s.errors is None else s.errors
        closer = -math.expm1(-gains.spring_filter * period) * (error - behind)
        s.errors = error, behind + closer
        most = np.maximum(self._heaviest - rotors - dynamics.limits.armature, 0.0)
        behind_plan = free & (s.passed * (s.passed + STOP_SPRING * error) > 0.0)
        late, moving = gains.time, within(motion[1], self._rest) != 1
        lags = behind_plan & (np.abs(s.passed) > NO_ERROR + calm)
        noise = calm, swing / PEAK_TO_PEAK
        unknown = np.where(dynamics.limits.armature > 0.0, 0.0, most)  # rotors that are given are known
        heavier = self.feeling.update(qd, lags, mass, unknown, period, late, noise, moving)
        s.crept = s.crept - math.expm1(-CREEP_FILTER * period) * (rate - s.crept)
        if not moving:
            noise = swing * (not state.filter_time)
            calm = 0.5 * CREEP_FILTER * step + np.sqrt(0.125 * CREEP_FILTER * period) * noise
            crept, growth, lag = s.crept, INERTIA_GROWTH * period, late + 1.0 / CREEP_FILTER
            fading = SLOWEST_FADING * min(slowest, gains.slow + gains.cap + gains.slow_cap)
            if state.filter_time and self.coarse.begun:
                (creep, lasted), seen = self.coarse.creep(step), 0.5 * CREEP_FILTER * step > NO_ERROR
                crept, calm, lag = np.where(seen, -creep, crept), np.where(seen, 0.0, calm), np.where(seen, late, lag)
                growth = np.where(seen, np.clip(INERTIA_GROWTH * lasted, -EDGE_GROWTH, EDGE_GROWTH), growth)
            grows = free & (np.abs(crept) < CREEPING) | behind_plan
            growth = np.where(grows, growth, np.minimum(growth, 0.0))
            heavier = np.maximum(heavier, self.inertia.update(crept, growth, known, most, period, lag, calm, fading))
        s.passed = s.passed + share * (rate - s.passed)
        s.slow = s.slow + share * (s.passed - s.slow)
        if free and not gives_way:
            coarse = 2.0 * self.noise.calm_speed / np.maximum(step, 1e-9)
            pull = np.minimum(gains.spring(known + heavier), coarse) * closer
            felt = mass + np.diag(heavier)
            more = gains.force(felt, pull, pull) + limited_damping(felt, gains.hold, gains.hold_cap, error - before)
            if gains.lowered_at_all:  # what a shaken robot seemed to bear drives it now
                drives = (s.offset * s.slow < 0.0) & (np.abs(s.slow) > DRIVEN)
                s.offset = np.where(drives, math.exp(-DRIVEN_FADES * period), 1.0) * s.offset
            s.offset = np.clip(s.offset + more, -self._most, self._most)
            if let_go is not None:
                s.offset = np.where(let_go, 0.0, s.offset)
        slow = (gains.slow * (known + heavier) + gains.loose) * step
        swings = part * gains.direct * swing + filter * slow
        direct = part * rate
        if state.filter_time and self.coarse.begun:
            direct = np.where(self.coarse.toggle, 0.0, direct)
            swings = np.where(self.coarse.swings(gains.time), 0.0, swings)
        self.shaken = swings
        return StopMotion(
            motion, direct, s.slow, self._smooth[PLACE].copy(), s.offset, heavier, gives_way, let_go, found, gains
        )

    def _sharpen(self, state: RobotState, period: float) -> RobotState:
        """Return a state with velocities of a filter as quick as steps of positions let it be."""
        s, q = self.state, state.position
        step = float(self.steps.found.max())
        time = min(max((step * math.sqrt(period) / ROUGH) ** (2.0 / 3.0), LEAST_TIME * period), state.filter_time)
        pole = velocity_pole(time, period)
        place, rate = (q - period * state.velocity, state.velocity) if s.found is None else s.found
        expected = place + period * rate
        miss = q - expected
        s.found = expected + (1.0 - pole**2) * miss, rate + (1.0 - pole) ** 2 / period * miss
        return replace(state, velocity=s.found[1], filter_time=time)

    def swings(self, velocity: Array, thrown: Array) -> bool:
        """Return whether joints that are faster than ``thrown`` (n,) go to and fro."""
        fast = np.abs(velocity) > thrown
        return self._states > 0 and not (fast & (np.abs(self._smooth[MOVED]) > 0.5 * np.abs(velocity))).any()

    def rests(self, wanted: StopMotion, velocity: Array) -> bool:
        """Return whether the way to rest has ended, and the robot rests."""
        return not wanted.gives_way and within(wanted.motion[1], self._rest) == within(velocity, self._resting) == 1

    def moves(self, velocity: Array) -> bool:
        """Return whether a robot that had come to rest moves again."""
        return within(velocity, self._moving) != 1


def _run(kernel: Callable[..., int], table: Array, part: Array, *given: Array) -> None:
    """Run a kernel; once more with copies where arrays are of another layout."""
    if kernel(table, part, *given) != 0:
        raise_if_rejected(kernel(table, part, *(np.ascontiguousarray(a, np.float64) for a in given)))
