"""The timing of the loop that the node computed_torque closes: periods and delay as measured, gains that suit them."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.arrays import Array
from ...core.robot_state import RobotState
from ...lie_dynamics.control import SampleTimes
from ...lie_dynamics.control.effort_delay import EffortDelay
from ...lie_dynamics.control.sampling.sample_times import FINENESS
from .gains import USUAL_PERIOD, Gains, filter_pole, make_gains
from .options import ComputedTorqueOptions
from .trajectories.path_clock import PathClock
from .trajectories.trajectory_piece import Desired


class DelayCompensation:
    """Puts the clock back where efforts act later than was expected; see doc/control.md.

    Efforts that act later than expected move the robot as desired, but later: it has no other error than that of time,
    until feedback changes it. So the clock is put back by as much as makes errors to come least, and no more than by
    which efforts act later; or put on, where they act sooner.

    Parameters
    ----------
    speed : ndarray, shape (n,)
        Speeds by which joints are compared [rad/s, m/s].

    Attributes
    ----------
    pending : int
        By how much later efforts turned out to act since the clock was put right last [ns].
    """

    def __init__(self, speed: Array) -> None:
        self._weights = 1.0 / speed**2
        self.pending = 0
        self._made = 0  # since the robot was at rest [ns]

    def reset(self) -> None:
        """Take note that nothing moves: there is no error of time."""
        self.pending = self._made = 0

    def apply(
        self, clock: PathClock, desired: Desired, q: Array, qd: Array, stiffness: Array, damping: Array, most: float
    ) -> None:
        """Put the clock right for a state, and what was desired at its time.

        Parameters
        ----------
        stiffness, damping : ndarray, shape (n,)
            By which errors go, e'' = - damping e' - stiffness e [1/s^2, 1/s].
        most : float
            By how much the clock is put back or on in a motion, at most [s].
        """
        due, self.pending = self.pending, 0
        # The integral of e^2 to come is a quadratic form of e and e': x P x with A' P + P A = -diag(1, 0).
        if not (stiffness.all() and damping.all()):
            return
        both = self._weights / (2.0 * stiffness)
        own, rates = both * (damping + stiffness / damping), both / damping

        def product(e: Array, r: Array, v: Array, a: Array) -> float:
            return float((own * e + both * r) @ v + (both * e + rates * r) @ a)

        by_time = desired.velocity, desired.acceleration
        square = product(*by_time, *by_time)
        if not square > 0.0:
            return
        behind = 1e9 * product(desired.position - q, desired.velocity - qd, *by_time) / square
        largest = round(1e9 * most)
        back = round(min(max(behind, min(due, 0)), max(due, 0)))
        back = min(max(back, -largest - self._made), largest - self._made)
        self._made += back
        clock.put_back(back)


class LoopTiming:
    """Measures periods and delays of a loop, and finds the gains that it can carry.

    Parameters
    ----------
    speed : ndarray, shape (n,)
        Velocity limits, 1 for none [rad/s, m/s].

    Attributes
    ----------
    times : SampleTimes
    effort_delay : EffortDelay
    compensation : DelayCompensation
    lead : int
        From a state until its effort acts in the mean, as far as is known [ns].
    filter_time : float
        Time constant of the filter that velocities come from; 0 where they are measured [s].
    gains : Gains
        That suit the loop, before an oscillation lowers them.
    """

    gains: Gains

    def __init__(self, speed: Array) -> None:
        self.times = SampleTimes()
        self.effort_delay = EffortDelay(len(speed))
        self.compensation = DelayCompensation(speed)
        self.lead = 0
        self.filter_time = 0.0

    def update(self, period: float, age: float, gains: Gains, delay: float) -> bool:
        """Take in the time since the state before and the age of this one [s]; return whether gains suit no more.

        `delay` [periods] was declared.
        """
        times = self.times
        if not times.add(period, age):
            return False
        usual, suited = times.period / gains.usual, times.suited / gains.period
        return not (0.95 < usual < 1.05 and 0.95 < suited < 1.05) or times.delay(delay) != gains.delay

    def suit(
        self, options: ComputedTorqueOptions, numbers: Mapping[str, Array], armature: Array, scale: Array, floor: Array
    ) -> Gains:
        """Find the gains that the loop can carry at its present periods and delay; see `make_gains`."""
        usual = self.times.period or (1.0 / options.rate if options.rate else USUAL_PERIOD)
        period, delay = self.times.suited or usual, self.times.delay(options.delay)
        pole = filter_pole(self.filter_time, period)
        self.gains = make_gains(numbers, options, armature, scale, floor, period, delay, pole, usual)
        return self.gains

    def find_lead(self, options: ComputedTorqueOptions, gains: Gains) -> None:
        """Find for when to command: half a period, as efforts are held, after they begin to act."""
        before, least = self.lead, self._least_delay(options, gains)
        self.lead = round(1e9 * gains.usual * (0.5 + self.effort_delay.between(least, gains.delay, gains.usual)))
        self.compensation.pending += self.lead - before

    def _least_delay(self, options: ComputedTorqueOptions, gains: Gains) -> float:
        """Return the delay of the efforts as far as it is known without the robot [periods]."""
        return max(options.least_delay, gains.delay - FINENESS if gains.delay > options.delay else 0.0)

    def shift_clock(
        self,
        mode: str,
        options: ComputedTorqueOptions,
        gains: Gains,
        clock: PathClock,
        desired: Desired,
        state: RobotState,
    ) -> None:
        """Desire the motion under way later where efforts turn out to act later, once that is known well."""
        g = gains
        if not self.effort_delay.known(g.usual):
            return
        most = g.usual * (g.delay - self._least_delay(options, g))
        pull, damping = g.slide * g.converge, g.slide + g.converge
        if mode == "computed_torque":
            pull, damping = g.kp, g.kd
        self.compensation.apply(clock, desired, state.position, state.velocity, pull, damping, most)

    def soonest(self, gains: Gains) -> int:
        """Return the time from the last state until an effort that is still to come acts, at the latest [ns]."""
        return round(1e9 * gains.usual * (1.0 + gains.delay))
