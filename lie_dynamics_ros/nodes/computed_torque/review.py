"""What is learned from an answer of the node computed_torque once it is out, or at the latest before the next one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from ...core.arrays import Array
from ...core.commands import FOLLOWING, STOPPED, STOPPING, UNTIL_HOLD
from ...lie_dynamics.control import AdaptiveController, EffortHistory, SoftLimits
from ...lie_dynamics.control.kernels.signals import within
from ...lie_dynamics.control.robots import inverse_dynamics
from ...lie_dynamics.control.velocity_filter import velocity_noise
from .answer import ControllerAnswer
from .gains import Gains
from .laws import LEARNING_MODES
from .oscillation_watch import LEAST_FACTOR
from .parts import ControllerParts

NOISE_SWING = 2.0
"""Swing of efforts by steps of positions, over a step times the gain from it to efforts."""


@dataclass
class AdaptationBuffer:
    """The efforts of the last answers, and which of them acted when, for mode adaptive to learn from.

    Attributes
    ----------
    history : EffortHistory
    wrench : ndarray, shape (n,), or None
        Effort by which known wrenches push [N m, N].
    taught : int or None
        Time of the last state that was learned from [ns].
    """

    history: EffortHistory = field(default_factory=EffortHistory)
    wrench: Array | None = None
    taught: int | None = None

    def record(self, stamp: int, effort: Array, wrench: Array) -> None:
        """Take note of the answer to the state of a time [ns], without known friction, and of known wrenches."""
        self.history.add(stamp, effort)
        self.wrench = wrench

    def update(self, learner: AdaptiveController, answer: ControllerAnswer, soft: SoftLimits, gains: Gains) -> None:
        """Let a controller learn from how the robot came to a state, after that was answered.

        The `delay` of the gains is the longest that efforts can take; that they took up to a period less is left open.
        """
        begin, self.taught = self.taught, answer.stamp
        stamp, q, qd = answer.stamp, answer.position, answer.velocity
        inside = ((q >= soft.lower) & (q <= soft.upper)).all()  # else a stop may carry part of the robot
        if begin is None or self.wrench is None or not inside:
            learner.observe(q, qd, None, 0.0)
            return
        step, last, mean = 1e9 * gains.usual, max(1, math.ceil(gains.delay)), self.history.mean
        acted = mean(begin, stamp, gains.delay * step)
        later, earlier = (mean(begin, stamp, x * step) for x in (last, last - 1))
        if acted is None or later is None or earlier is None:
            learner.observe(q, qd, None, 0.0)
        else:
            learner.observe(q, qd, acted + self.wrench, (stamp - begin) * 1e-9, earlier - later)


@dataclass
class ReviewState:
    """Efforts that mode adaptive and drives are learned from, and when oscillation was last looked for [ns]."""

    adaptation: AdaptationBuffer = field(default_factory=AdaptationBuffer)
    drives: EffortHistory = field(default_factory=EffortHistory)
    watched: int | None = None


class AnswerReview:
    """Learns from answers: the delay of efforts, drives, loads, what feedback bears; and watches for oscillation.

    Parameters
    ----------
    parts : ControllerParts
    before : AnswerReview, optional
        That under the options before, where it goes on.
    """

    def __init__(self, parts: ControllerParts, before: AnswerReview | None = None) -> None:
        self._parts = parts
        self.state = ReviewState() if before is None else replace(before.state)

    def forget(self) -> None:
        """Forget efforts: what the robot did until the next state is not known."""
        self.state.adaptation = AdaptationBuffer()

    def update(self) -> None:
        """Learn from the last answer."""
        p, buffer = self._parts, self.state.adaptation
        answer, p.state.answer = p.state.answer, None
        if answer is None:
            return
        stamp, q, qd = answer.stamp, answer.position, answer.velocity
        total, friction, timing, phase = answer.total, answer.law.friction, p.timing, answer.phase
        p.stop.reversal.note(stamp, q, qd, total)
        self._watch_feedback(answer)
        buffer.record(stamp, total if friction is None else total - friction, answer.wrench)
        if not timing.filter_time:  # positions do not show so fast how momentum changes
            if answer.mode == "adaptive":
                buffer.update(p.laws.learner, answer, p.robot.soft, p.laws.gains)
            if timing.effort_delay.note(p.dynamics, stamp, q, qd, total, answer.ahead.acceleration):
                change = timing.find_lead(p.options, p.laws.gains)
                if phase == FOLLOWING:
                    p.clock.put_back(change)

    def _learn_drives(self, answer: ControllerAnswer, acting: Array, before: int, period: float) -> None:
        """Find what the model lacks of the drives, in modes that follow paths."""
        p, history, laws, friction = self._parts, self.state.drives, self._parts.laws, answer.law.friction
        if answer.mode not in LEARNING_MODES or answer.phase in UNTIL_HOLD:
            history.forget()
            p.drives.forget()
            return
        acted = history.mean(before, answer.stamp, p.timing.lead - 5e8 * laws.gains.usual)
        history.add(answer.stamp, acting if friction is None else acting - friction)
        known, q, qd = laws.known(answer.mode), answer.position, answer.velocity
        p.drives.update(known, q, qd, answer.desired.velocity, acted, period)
        if (p.drives.state.found != p.floored).any():
            p.suit_gains()

    def _watch_feedback(self, answer: ControllerAnswer) -> None:
        """Lower gains where feedback feeds an oscillation, and report it; raise them again after a calm time."""
        p, s, laws, stop, phase = self._parts, self.state, self._parts.laws, self._parts.stop, self._parts.state.phase
        before, s.watched = s.watched, answer.stamp
        if before is None:
            s.drives.forget()
            p.drives.forget()
            return
        period, acting = (answer.stamp - before) * 1e-9, answer.total + answer.wrench
        if laws.drives is not None:
            self._learn_drives(answer, acting, before, period)
        if within(answer.velocity, p.robot.thrown) != 1 and not stop.swings(answer.velocity, p.robot.thrown):
            return  # efforts from limit to limit bring it back
        moving = inverse_dynamics(p.dynamics, answer.position, answer.velocity, answer.ahead.acceleration)
        feedback = acting - moving
        if phase not in UNTIL_HOLD:
            friction, stays = answer.law.friction, feedback
            if laws.drives is not None and not p.drives.idle:  # what the motion takes ends with it
                stays = stays - p.drives.moving(answer.ahead.velocity, answer.ahead.acceleration)
            stop.move(*answer.desired[:2], answer.position, answer.velocity, period)
            stop.note(stays if friction is None else stays - friction, period)
        rises = phase not in (STOPPING, STOPPED)
        noise = None if rises else p.state.stop_noise
        if rises and p.timing.filter_time and answer.mode == "computed_torque" and period > 0.0:
            rough = p.steps.steps * velocity_noise(p.timing.filter_time, laws.gains.usual)
            noise = NOISE_SWING * rough * laws.damping(answer.position)
        factor = p.watch.factor
        if p.watch.update(feedback - answer.blend, period, rises, noise):
            if factor < LEAST_FACTOR <= p.watch.factor:
                stop.replan(late=True)  # it takes hold again
            p.lower_gains()
