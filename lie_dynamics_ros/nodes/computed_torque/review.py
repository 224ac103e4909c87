"""What is learned from an answer of the node computed_torque once it is out, or at the latest before the next one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from ...core.commands import FOLLOWING, STOPPED, STOPPING, UNTIL_HOLD
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control import EffortHistory
from ...lie_dynamics.control.kernels.signals import within
from ...lie_dynamics.control.robots import inverse_dynamics
from ...lie_dynamics.control.velocity_filter import velocity_noise
from .laws import LEARNING_MODES, UNSETTLED, ControllerAnswer
from .loop_timing import LONGEST_ELAPSED
from .oscillation_watch import LEAST_FACTOR
from .parts import ControllerParts

OTHER_DELAY = 0.1  # change of the delay of efforts from which on it is another one [periods]
LEAD_CHANGE = 1e-2  # of the time for which a motion is commanded, in a second of it [s/s]: else it steps
NOISE_SWING = 2.0  # swing of efforts by steps of positions, over a step times the gain from it to efforts


@dataclass
class ReviewState:
    """Efforts that acted, and when something was done with them."""

    efforts: EffortHistory = field(default_factory=EffortHistory)  # known wrenches included, known friction not
    taught: int | None = None  # time of the last state that mode adaptive learned from [ns]
    watched: int | None = None  # that of the last that was looked at [ns]


class AnswerReview:
    """Learns from answers: the delay of efforts, drives, loads, what feedback bears; and watches for oscillation.

    It goes on where the review ``before``, that under other options, is.
    """

    def __init__(self, parts: ControllerParts, before: AnswerReview | None = None) -> None:
        self._parts = parts
        self.state = ReviewState() if before is None else replace(before.state)

    def forget(self) -> None:
        """Forget efforts: what the robot did until the next state is not known."""
        self.state.efforts.forget()
        self.state.taught = None

    def update(self) -> None:
        """Learn from the last answer."""
        p = self._parts
        answer, p.state.answer = p.state.answer, None
        if answer is None:
            return
        stamp, q, qd = answer.stamp, answer.position, answer.velocity
        total, friction, timing, phase = answer.total, answer.law.friction, p.timing, answer.phase
        p.stop.reversal.note(stamp, q, qd, total)
        acting = total + answer.wrench
        self._watch_feedback(answer, acting)
        self.state.efforts.add(stamp, acting if friction is None else acting - friction)
        if not timing.filter_time:  # positions do not show so fast how momentum changes
            if answer.mode == "adaptive":
                self._learn_load(answer)
            if phase not in UNTIL_HOLD and timing.effort_delay.note(stamp, qd, answer.ahead.acceleration):
                change = timing.find_lead(p.options, p.laws.gains)
                if abs(change) > OTHER_DELAY * 1e9 * p.laws.gains.usual:
                    p.laws.unsettled = UNSETTLED
                if phase == FOLLOWING:
                    by = _late(answer, p.robot.speed, change)
                    p.clock.put_back(by)
                    timing.late_errors.put_back(1e-9 * by, answer.desired.velocity, answer.desired.acceleration)

    def _learn_load(self, answer: ControllerAnswer) -> None:
        """Let mode adaptive learn from how the robot came to a state, after that was answered.

        The `delay` of the gains is the longest that efforts can take; that they took up to a period less is left open.
        """
        s, laws, soft = self.state, self._parts.laws, self._parts.robot.soft
        gains, learner = laws.gains, laws.learner
        assert learner is not None
        begin, s.taught, stamp, q = s.taught, answer.stamp, answer.stamp, answer.position
        acted, shift, period = None, None, 0.0
        inside = ((q >= soft.lower) & (q <= soft.upper)).all()  # else a stop may carry part of the robot
        if begin is not None and inside:
            step, last, mean = 1e9 * gains.usual, max(1, math.ceil(gains.delay)), s.efforts.mean
            later, earlier = (mean(begin, stamp, x * step) for x in (last, last - 1))
            if later is not None and earlier is not None:
                shift, period = earlier - later, (stamp - begin) * 1e-9
                acted = mean(begin, stamp, gains.delay * step)
        learner.observe(q, answer.velocity, acted, period, shift)

    def _learn_drives(self, answer: ControllerAnswer, before: int, period: float) -> None:
        """Find what the model lacks of the drives, in modes that follow paths."""
        p, laws = self._parts, self._parts.laws
        if answer.mode not in LEARNING_MODES or answer.phase in UNTIL_HOLD:
            p.drives.forget()
            return
        acted = self.state.efforts.mean(before, answer.stamp, p.timing.lead - 5e8 * laws.gains.usual)
        known, q, qd = laws.known(answer.mode), answer.position, answer.velocity
        step = float(p.stop.steps.found.max()) if p.timing.filter_time else 0.0
        p.drives.update(known, q, qd, answer.desired.velocity, acted, period, step)
        if (p.drives.state.found != p.floored).any():
            p.suit_gains()

    def _time_errors(self, answer: ControllerAnswer, moving: Array, period: float) -> None:
        """Find how late efforts act from the errors that this leaves; ``moving`` (n,) is what the motion takes.

        Where some drive was found not to be like its model, or feedback is lowered, errors are others.
        """
        p, laws, late, g = self._parts, self._parts.laws, self._parts.timing.late_errors, self._parts.laws.gains
        like_model = laws.drives is None or laws.drives.idle
        if answer.phase in UNTIL_HOLD or answer.mode not in LEARNING_MODES or not like_model:
            self._forget_errors()
            return
        moves = answer.phase == FOLLOWING
        lead = p.timing.suit_lead(p.options, g, LEAD_CHANGE * period if moves else 1.0)
        gains = (g.slide * g.converge, g.slide + g.converge) if answer.mode != "computed_torque" else (g.kp, g.kd)
        like_gains = answer.scale == 1.0 and p.efforts.free and not answer.blend.any() and not np.any(g.late)
        mass = laws.inertia(answer.position)
        laws.timed = late.note(mass, moving, gains, answer.error, lead, period, moves and like_gains)

    def _forget_errors(self) -> None:
        self._parts.laws.timed = 0.0
        self._parts.timing.late_errors.pause()

    def _watch_feedback(self, answer: ControllerAnswer, acting: Array) -> None:
        """Lower gains where feedback feeds an oscillation, and report it; raise them again after a calm time."""
        p, s, laws, stop, phase = self._parts, self.state, self._parts.laws, self._parts.stop, self._parts.state.phase
        before, s.watched = s.watched, answer.stamp
        if before is None:
            p.drives.forget()
            self._forget_errors()
            return
        period = min((answer.stamp - before) * 1e-9, LONGEST_ELAPSED)
        if laws.drives is not None:
            self._learn_drives(answer, before, period)
        if within(answer.velocity, p.robot.thrown) != 1 and not stop.swings(answer.velocity, p.robot.thrown):
            self._forget_errors()
            return  # efforts from limit to limit bring it back
        rises = phase not in (STOPPING, STOPPED)
        at = answer if rises else answer.ahead  # a stop compensates nothing that swings
        moving = inverse_dynamics(p.dynamics, at.position, at.velocity, answer.ahead.acceleration)
        feedback = acting - moving
        self._time_errors(answer, moving, period)
        if phase not in UNTIL_HOLD:
            friction, stays = answer.law.friction, feedback
            if laws.drives is not None and not p.drives.idle:  # what the motion takes ends with it
                stays = stays - p.drives.moving(answer.ahead.velocity, answer.ahead.acceleration)
            stop.move(*answer.desired[:2], answer.position, answer.velocity, period)
            stays = stays if friction is None else stays - friction
            stop.note(stays, answer.velocity, answer.ahead.velocity, period)
        noise = None if rises else stop.shaken
        if rises and p.timing.filter_time and answer.mode == "computed_torque" and period > 0.0:
            rough = p.stop.steps.steps * velocity_noise(p.timing.filter_time, laws.gains.usual)
            noise = NOISE_SWING * rough * laws.damping(answer.position)
        factor = p.watch.factor
        if p.watch.update(feedback - answer.blend, period, 0.0 if rises else stop.late, noise):
            stop.feeling.ease(p.watch.state.fed)
            if factor < LEAST_FACTOR <= p.watch.factor:
                stop.replan(late=True)  # it takes hold again
            p.lower_gains()


def _late(answer: ControllerAnswer, speed: Array, change: int) -> int:
    """Return by how much a robot is late on its motion, from nothing to the change of a delay that was found [ns].

    Joints count by their speed limits; a robot that is not late, as feedback mended that, keeps its time.
    """
    moves = answer.desired.velocity / speed**2
    square = float(moves @ answer.desired.velocity)
    late = 1e9 * float(moves @ answer.error) / square if square > 0.0 else 0.0
    return round(min(max(late, min(change, 0)), max(change, 0))) if math.isfinite(late) else 0
