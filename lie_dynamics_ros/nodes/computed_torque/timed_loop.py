"""The loop that the node computed_torque closes: its period and delay as measured, and the gains that suit them."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.robot_core import RobotCore
from ...lie_dynamics import JointFriction
from ...lie_dynamics.control import AdaptiveController, SampleTimes
from ...lie_dynamics.control.effort_delay import EffortDelay
from ...lie_dynamics.control.robots import Robot
from ...lie_dynamics.control.sampling.sample_times import FINENESS
from .gains import FLOOR, USUAL_PERIOD, Gains, filter_pole, lowered, make_gains
from .laws import Laws
from .learning import UNLIMITED, least_weight
from .options import ComputedTorqueOptions
from .oscillation_watch import OscillationWatch
from .trajectories.clock_shift import ClockShift
from .trajectories.path_clock import PathClock
from .trajectories.trajectory_piece import Desired


class TimedLoop(RobotCore):
    """The part of `ComputedTorqueCore` that measures periods and delays, and finds the gains for them.

    Attributes
    ----------
    fastest : ndarray, shape (n,)
        Velocity limits, infinite for none [rad/s, m/s].
    lead : int
        From a state until its effort acts in the mean, as far as is known [ns].
    """

    options: ComputedTorqueOptions
    dynamics: Robot
    _laws: Laws
    _numbers: dict[str, Array]
    _learning_cap: float  # least damping besides the mass matrix for which learning was found slow enough

    def __init__(self, robot: Robot, friction: JointFriction | None) -> None:
        super().__init__(robot, friction)
        limits = robot.limits
        self.fastest = np.where(limits.velocity > 0.0, limits.velocity, np.inf)  # exporters write 0 for "not given"
        self._scale = np.where(self.limit < np.finfo(float).max, self.limit, UNLIMITED)  # what is much for a joint
        self._speed = np.where(np.isfinite(self.fastest), self.fastest, 1.0)
        self._watch = OscillationWatch(self._scale)
        self._times = SampleTimes()
        self._effort_delay = EffortDelay(len(self.fastest))
        self.lead = 0
        self._shift = ClockShift(self._speed)
        self._filter_time = 0.0  # of the last state [s]

    @property
    def gains(self) -> Gains:
        """Gains in force."""
        return self._laws.gains

    @property
    def soonest(self) -> int:
        """From the last state until an effort that is still to come acts, at the latest [ns]."""
        return round(1e9 * self._laws.gains.usual * (1.0 + self._laws.gains.delay))

    @property
    def learner(self) -> AdaptiveController | None:
        """The adaptive controller, whether in use or not; none of a closed robot."""
        return self._laws.learner

    def _watch_times(self) -> None:
        g, times = self._laws.gains, self._times
        delay = times.delay(self.options.delay)
        usual, suited = times.period / g.usual, times.suited / g.period
        if not (0.95 < usual < 1.05 and 0.95 < suited < 1.05) or delay != g.delay:
            self._suit_gains()

    def _suit_gains(self) -> None:
        """Find the gains that the loop can carry at its present periods and delay."""
        options = self.options
        usual = self._times.period or (1.0 / options.rate if options.rate else USUAL_PERIOD)
        period = self._times.suited or usual
        delay = self._times.delay(options.delay)
        pole = filter_pole(self._filter_time, period)
        told = self.dynamics.limits.armature  # 0 for "not given"
        drives = self._laws.drives
        self._floored = np.zeros(self.model.nv, dtype=bool) if drives is None else drives.state.found.copy()
        floor = FLOOR * np.where(self._floored, self._scale, 0.0)
        gains = make_gains(self._numbers, options, told, self._scale, floor, period, delay, pole, usual)
        self._unlowered = gains
        self._laws.set_gains(lowered(gains, self._watch.factor))
        self._find_lead()
        if options.mode == "adaptive" and not gains.cap >= self._learning_cap:
            self._learning_cap = gains.cap
            self.learner.gamma = max(options.adaptation_weight, least_weight(self.learner, gains, self._speed))

    def _forget_delay(self) -> None:
        self._effort_delay.forget()
        self._find_lead()

    def _find_lead(self) -> None:
        """Find for when to command: half a period, as efforts are held, after they begin to act."""
        g, before = self._laws.gains, self.lead
        self.lead = round(1e9 * g.usual * (0.5 + self._effort_delay.between(self._least_delay, g.delay, g.usual)))
        self._shift.due += self.lead - before

    @property
    def _least_delay(self) -> float:
        """Delay of the efforts as far as it is known without the robot [periods]."""
        options, delay = self.options, self._laws.gains.delay
        return max(options.least_delay, delay - FINENESS if delay > options.delay else 0.0)

    def _shift_clock(self, clock: PathClock, desired: Desired, q: Array, qd: Array) -> None:
        """Desire the motion under way later where efforts turn out to act later, once that is known well."""
        if not self._effort_delay.known(self._laws.gains.usual):
            return
        g, most = self._laws.gains, self._laws.gains.usual * (self._laws.gains.delay - self._least_delay)
        if self.mode == "computed_torque":
            self._shift.make(clock, desired, q, qd, g.kp, g.kd, most)
        else:
            self._shift.make(clock, desired, q, qd, g.slide * g.converge, g.slide + g.converge, most)
