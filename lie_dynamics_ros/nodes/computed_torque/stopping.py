"""A stop: the motion by which a robot comes to rest, and what changes it under way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.robot_state import RobotState
from ...lie_dynamics.control import SoftLimits, StopPlan
from ...lie_dynamics.control.kernels.signals import within
from ...lie_dynamics.control.robots import Robot
from ...lie_dynamics.control.sampling.reversed_efforts import Reversal
from .gains import Gains

AT_REST = 1e-3
"""Below this speed of its plan a stop has ended [rad/s, m/s]."""
RESTING = 0.05
"""And below this measured speed, over the velocity limit, or [rad/s, m/s] where there is none."""
GIVING_WAY = 0.3
"""How long a stop gives way to what touches, before it holds the robot where it is then [s]."""


@dataclass
class StopState:
    """What a stop remembers.

    Attributes
    ----------
    plan : StopPlan or None
        The way to rest; None where the next state begins one.
    begun : int
        When it began [ns].
    give_way : float
        How long the stop is to go on without a spring [s].
    gave_way : bool
        Whether it did so already.
    """

    plan: StopPlan | None = None
    begun: int = 0
    give_way: float = 0.0
    gave_way: bool = False


class StopMotion(NamedTuple):
    """What a stop wants at a state.

    Attributes
    ----------
    motion : tuple of ndarray
        Position, velocity, acceleration (n,) [rad, m, and per s, s^2].
    gives_way : bool
        Whether it is damped alone.
    let_go : ndarray of bool, shape (n,), or None
        Joints that are to get no effort, as efforts drive them the other way.
    reversed : ndarray of int
        Those that were found to do so at this state.
    """

    motion: tuple[Array, Array, Array]
    gives_way: bool
    let_go: NDArray[np.bool_] | None
    reversed: NDArray[np.intp]


class Stop:
    """Finds the motion of a stop, state by state.

    Parameters
    ----------
    soft : SoftLimits
    limit, fastest : ndarray, shape (n,)
        Limits of efforts and velocities [N m, N; rad/s, m/s]; the largest float for none.
    speed : ndarray, shape (n,)
        Velocity limits, 1 for none.
    watched : bool
        Whether joints are looked at for efforts that act the other way round.
    """

    def __init__(self, soft: SoftLimits, limit: Array, fastest: Array, speed: Array, watched: bool) -> None:
        self.state = StopState()
        self.reversal = Reversal(limit, fastest)
        self._soft, self._fastest, self._watched = soft, fastest, watched
        self._zero = np.zeros(len(limit))
        self._rest = np.full(len(limit), AT_REST)
        self._resting = RESTING * speed
        self._moving = 2.0 * self._resting

    def begin(self, gives_way: bool) -> None:
        """Begin a stop from where the robot is in the next state; or give way to what touches first."""
        self.state = StopState(give_way=GIVING_WAY if gives_way else 0.0, gave_way=gives_way)

    def give_way(self) -> None:
        """Give way to what touches, once in a stop."""
        if not self.state.gave_way:
            self.state.give_way, self.state.gave_way = GIVING_WAY, True

    def replan(self) -> None:
        """Begin the way to rest anew, from where the robot is in the next state."""
        self.state.plan = None

    def update(self, state: RobotState, period: float, gains: Gains, dynamics: Robot, far: Array) -> StopMotion:
        """Return what is wanted at a state, ``period`` [s] after the one before.

        The way to rest begins anew where the robot is farther from it than ``far`` (n,).
        """
        s, stamp, q, qd = self.state, state.stamp, state.position, state.velocity
        reversal, found = self.reversal, self.reversal.found.copy()
        too_fast = self._watched and within(qd, self._fastest) != 1
        if reversal.look(dynamics, stamp, q, qd, too_fast, 3.0 * state.filter_time):
            self.replan()  # joints that are held again are stopped from where they are then
        gives_way = s.give_way > 0.0
        if gives_way:  # damped alone: nothing presses where a plan would lead, and what pushes the robot moves it
            s.plan, s.give_way = None, s.give_way - period
            motion = q, self._zero, self._zero
        else:
            if s.plan is None or within(s.plan.at((stamp - s.begun) * 1e-9)[0] - q, far) != 1:
                soft = self._soft
                s.plan, s.begun = StopPlan(q, qd, gains.stop_plan, gains.stop_fastest, soft.lower, soft.upper), stamp
            motion = s.plan.at((stamp - s.begun) * 1e-9)
        let_go = reversal.let_go if reversal.let_go.any() else None
        if let_go is not None:  # feedback by the other joints alone, else what they do for these may drive them
            x, v, a = motion
            motion = np.where(let_go, q, x), np.where(let_go, qd, v), np.where(let_go, self._zero, a)
        return StopMotion(motion, gives_way, let_go, np.flatnonzero(reversal.found & ~found))

    def rests(self, wanted: StopMotion, velocity: Array) -> bool:
        """Tell whether the way to rest has ended, and the robot rests."""
        return not wanted.gives_way and within(wanted.motion[1], self._rest) == within(velocity, self._resting) == 1

    def moves(self, velocity: Array) -> bool:
        """Tell whether a robot that had come to rest moves again."""
        return within(velocity, self._moving) != 1
