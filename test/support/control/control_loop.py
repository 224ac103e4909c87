"""A controller's core and an arm in MuJoCo, in lock step: the result does not depend on the machine's load."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from lie_dynamics_ros.core.robot_state import RobotState
from lie_dynamics_ros.lie_dynamics.control import VelocityFilter
from lie_dynamics_ros.nodes.computed_torque.gains import LOOP_FILTER_TIME

from ..mujoco_arm import MujocoArm

PASSED = 20.0  # time constants after which a filter has forgotten how it began


@dataclass(frozen=True)
class Record:
    """What happened, a row for each state that was answered.

    Attributes
    ----------
    t : ndarray, shape (k,)
        Time of the state [s].
    q, qd : ndarray, shape (k, n)
        State [rad, m and rates].
    effort : ndarray, shape (k, n)
        Answer [N m, N].
    error : ndarray, shape (k, n)
        Desired minus actual position [rad, m].
    desired, desired_rate, desired_acceleration : ndarray, shape (k, n)
        Motion desired at the time of the state.
    phase : ndarray of str, shape (k,)
        Of the controller's state machine.
    lead : ndarray, shape (k,)
        How long after the state the effort is meant to act, in the mean [s].
    """

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    effort: np.ndarray
    error: np.ndarray
    desired: np.ndarray
    desired_rate: np.ndarray
    desired_acceleration: np.ndarray
    phase: np.ndarray
    lead: np.ndarray

    def since(self, t: float) -> Record:
        """Return the part from some time on."""
        keep = self.t >= t - 1e-9
        return Record(*(getattr(self, name)[keep] for name in Record.__dataclass_fields__))

    @property
    def speed(self) -> np.ndarray:
        """Largest speed of a joint, shape (k,)."""
        return np.abs(self.qd).max(axis=1)

    def rest_time(self, speed: float) -> float:
        """Time from the first row until no joint moves faster any more [s]; infinite where they do to the end."""
        fast = np.flatnonzero(self.speed >= speed)
        if not fast.size:
            return 0.0
        return float(self.t[fast[-1] + 1] - self.t[0]) if fast[-1] + 1 < len(self.t) else np.inf

    def ripple(self) -> float:
        """Largest peak to peak of a joint's effort [N m]."""
        return float(np.ptp(self.effort, axis=0).max())


class Encoders:
    """Positions in steps, and no velocities: these are found as the nodes do, with the parameters' defaults.

    Parameters
    ----------
    size : int
    resolution : float
        Of positions [rad, m].
    time : float
        Constant of the filter [s].
    exact : bool
        Send velocities as they are all the same.
    """

    def __init__(
        self, size: int, resolution: float = 1e-4, time: float = LOOP_FILTER_TIME, exact: bool = False
    ) -> None:
        self._resolution, self._filter, self._exact = resolution, VelocityFilter(size, time), exact

    def state(self, stamp: int, q: np.ndarray, qd: np.ndarray, acceleration: np.ndarray) -> RobotState:
        """Return the state at a time [ns] as a node sees it."""
        seen, velocity = self._resolution * np.round(q / self._resolution), np.full(len(q), np.nan)
        if self._exact:
            return RobotState(stamp, seen, qd)
        self._filter.fill(stamp, seen, velocity, acceleration)
        return RobotState(stamp, seen, velocity, filter_time=self._filter.time)

    def come(self, stamp: int, period: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Have seen joints come to a state at its velocity: nothing moves at once, and the filter begins at rest."""
        for k in range(round(PASSED * self._filter.time / period) + 2, 0, -1):
            self.state(stamp - round(k * period * 1e9), q - k * period * qd, qd, np.zeros_like(q))


class ControlLoop:
    """States to the controller, its efforts to the arm, late by a delay.

    Parameters
    ----------
    arm : MujocoArm
        In the state to begin with.
    core : ComputedTorqueCore
        Or whatever has its `answer` and `phase`.
    rate : float
        States per second [Hz].
    delay : float
        From a state to its effort [periods], a multiple of one half; until the first arrives, gravity is compensated.
    encoders : Encoders, optional
        What is seen of the arm; else all of it.
    """

    def __init__(self, arm: MujocoArm, core, rate: float, delay: float = 0.0, encoders: Encoders | None = None) -> None:
        self._encoders = encoders
        self.arm, self.core, self.period = arm, core, 1.0 / rate
        self._half = round(0.5 * self.period / arm.model.opt.timestep)
        assert np.isclose(2 * self._half * arm.model.opt.timestep, self.period, rtol=1e-12), "half periods are steps"
        late = round(2 * delay)
        assert late == 2 * delay, "whole and half periods"
        self._late, self._buffer, self._now = late, deque(), arm.gravity(arm.q)
        self._ticks = 0
        self._origin = 10**9  # time stamps start here: 0 would mean "none" [ns]
        self._rows: list[tuple] = []
        self.push = None  # efforts that the environment adds, shape (n,)

    @property
    def stamp(self) -> int:
        """Time of the next state [ns]."""
        return self._origin + round(self._ticks * self.period * 1e9)

    @property
    def time(self) -> float:
        """Time of the next state [s]."""
        return self._ticks * self.period

    def come(self) -> None:
        """Let encoders have seen the arm come to where it is at its velocity, before the first state."""
        if self._encoders is not None:
            self._encoders.come(self.stamp, self.period, self.arm.q, self.arm.qd)

    def step(self) -> None:
        """One state, its answer, and what the arm does until the next."""
        arm = self.arm
        q, qd = arm.q, arm.qd
        state = RobotState(self.stamp, q, qd)
        if self._encoders is not None:
            state = self._encoders.state(self.stamp, q, qd, self.core.acceleration)
        answer = self.core.answer(state)
        effort = np.array(answer.effort)
        assert np.isfinite(effort).all()
        wanted = answer.desired
        motion = (np.array(x) for x in (wanted.position, wanted.velocity, wanted.acceleration))
        lead = 1e-9 * getattr(self.core, "lead", 0)
        error, phase = np.array(wanted.position) - q, str(self.core.phase)
        self._rows.append((self.time, q, qd, effort, error, *motion, phase, lead))
        self._buffer.append((2 * self._ticks + self._late, effort))
        halves = (0, 1) if self._late % 2 else (0,)  # in whose middle no effort arrives is one step
        for half in halves:
            while self._buffer and self._buffer[0][0] <= 2 * self._ticks + half:
                self._now = self._buffer.popleft()[1]
            steps = 2 * self._half // len(halves)
            arm.advance(self._now if self.push is None else self._now + self.push, steps)
        self._ticks += 1

    def run(self, seconds: float) -> Record:
        """Go on for some time; return what happened in it."""
        first = len(self._rows)
        for _ in range(round(seconds / self.period)):
            self.step()
        return self.record(first)

    def record(self, first: int = 0) -> Record:
        """Return what happened from a row on."""
        return Record(*(np.array(column) for column in zip(*self._rows[first:], strict=True)))
