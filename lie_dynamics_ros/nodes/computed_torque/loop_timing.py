"""The timing of the loop that the node computed_torque closes: periods and delay as measured, gains that suit them."""

from __future__ import annotations

from collections.abc import Mapping

from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control import SampleTimes
from ...lie_dynamics.control.effort_delay import EffortDelay, LateErrors
from ...lie_dynamics.control.kernels.laws import LAG
from ...lie_dynamics.control.sample_times import FINENESS
from .gains import USUAL_PERIOD, Gains, SampledFeedback, filter_pole, make_gains
from .options import ComputedTorqueOptions

#: Longest time between states that counts, where no `state_timeout` ends it [s]: what rises and fades has done so.
LONGEST_ELAPSED = 1.0
OTHER_RANGE = 0.1  # change of the possible delay of efforts from which on it is another [periods]


class LoopTiming:
    """Measures periods and delays of a loop, and finds the `gains` that it can carry.

    `lead` is from a state until its effort acts in the mean, as far as is known [ns], of jumps and errors of motions;
    `filter_time` that of the filter that velocities come from, 0 where they are measured [s].
    """

    gains: Gains

    def __init__(self, speed: Array) -> None:
        self.times = SampleTimes()
        self.effort_delay, self.late_errors = EffortDelay(len(speed)), LateErrors(len(speed))
        self.lead, self._range = 0, (0.0, 0.0)  # least and longest delay of efforts [s]
        self._seen = self._later = 0.0  # delay as jumps show it, and what errors of motions add [s]
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
        loop = SampledFeedback(period, delay, filter_pole(self.filter_time, period))
        self.gains = make_gains(numbers, options, armature, scale, floor, loop, usual)
        return self.gains

    def find_lead(self, options: ComputedTorqueOptions, gains: Gains) -> int:
        """Find for when to command: half a period, as efforts are held, after they begin to act; return the change."""
        before, least = self.lead, self._least_delay(options, gains)
        bounds = gains.usual * least, gains.usual * gains.delay
        if any(abs(x - y) > OTHER_RANGE * gains.usual for x, y in zip(bounds, self._range, strict=True)):
            self._range, self._later = bounds, 0.0  # what was found is beside another middle
            self.late_errors.forget()
        seen = gains.usual * self.effort_delay.between(least, gains.delay)
        self._later -= self.late_errors.sure * (seen - self._seen)
        self._seen = seen
        acts = min(max(seen + self._later, bounds[0]), bounds[1] + LAG)
        self.lead = round(1e9 * (0.5 * gains.usual + acts))
        return self.lead - before

    def forget_delay(self, options: ComputedTorqueOptions, gains: Gains) -> None:
        """Forget when efforts act: states that come after a gap may be those of another driver."""
        self.effort_delay.forget()
        self.late_errors.forget()
        self._later = 0.0
        self.find_lead(options, gains)

    def take_delay(self, before: LoopTiming) -> None:
        """Take over what is known of when efforts act."""
        self.effort_delay, self.late_errors = before.effort_delay, before.late_errors
        self._range, self._seen, self._later = before._range, before._seen, before._later
        self.late_errors.pause()

    def suit_lead(self, options: ComputedTorqueOptions, gains: Gains, most: float) -> tuple[float, float]:
        """Command for when errors of motions show that efforts act, changed by no more than some time [s].

        Return how much later that is than in the middle of what is possible, and the most that it can be [s].
        """
        late, (least, longest) = self.late_errors, self._range
        middle = 0.5 * (least + longest)
        wanted = late.sure * (middle + late.found - self._seen)
        self._later += min(max(wanted - self._later, -most), most)
        self.find_lead(options, gains)
        return 1e-9 * self.lead - 0.5 * gains.usual - middle, middle - least

    def _least_delay(self, options: ComputedTorqueOptions, gains: Gains) -> float:
        """Return the delay of the efforts as far as it is known without the robot [periods]."""
        return max(options.least_delay, gains.delay - FINENESS if gains.delay > options.delay else 0.0)

    def soonest(self, gains: Gains) -> int:
        """Return the time from the last state until an effort that is still to come acts, at the latest [ns]."""
        return round(1e9 * gains.usual * (1.0 + gains.delay))
