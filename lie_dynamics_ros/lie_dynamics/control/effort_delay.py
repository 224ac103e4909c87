"""What was exerted and when, and by how much it acts later: found from jumps of the acceleration and from errors."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..engine.compile import raise_if_rejected
from .kernels import laws as k
from .kernels.signals import within

#: Changes of an acceleration between two states that count, by their squares over the noise [rad/s^2, m/s^2].
LITTLE = 0.1
#: Weight of the prior delay, the middle of the possible range, before noise is known: 12 times the variance of the
#: acceleration error [rad^2/s^4, m^2/s^4], as delays are spread over a period.
DOUBT = 25.0
PRIOR = 0.25  # weight of the noise that is assumed before any is known [states]
MEMORY = 30.0  # most states over which noise is averaged
FADING = 0.9  # factor by which earlier jumps lose weight with each further one
BEYOND = 0.5  # largest delay of a jump beyond the period in which it lies; a longer one was a blow [periods]


@dataclass(slots=True)
class DelayEvidence:
    """Evidence on the delay from jumps of the commanded acceleration."""

    seen: float = 0.0  # sum of z.y [rad^2/s^4, m^2/s^4]
    sure: float = 0.0  # sum of z.x [rad^2/s^4, m^2/s^4]
    doubt: float = DOUBT  # 12 times the variance of the acceleration error [rad^2/s^4, m^2/s^4]
    count: float = PRIOR  # from how many states


class EffortDelay:
    """Delay of the efforts, by least squares over jumps of the acceleration commanded; see doc/control.md.

    Between two states the effort of the one before acts for a part D of the time, then that of the first. So the
    acceleration commanded at the first exceeds the measured one by D x, x by how much it exceeds that of the one
    before. Of both the mean of the intervals beside is taken off, by which what errors of the model and feedback add
    slowly vanishes, and both are multiplied by the jump z, free of noise: D = sum z.y / sum z.x. The residual of the
    former gives the noise, and so how much that is beside what was known before. Where the model is off by a part of
    the acceleration, the result is as much nearer to the middle.
    """

    def __init__(self, n: int) -> None:
        self._states: deque[tuple[int, Array, Array]] = deque(maxlen=5)
        self._little, self._evidence = np.full(n, LITTLE), DelayEvidence()

    def forget(self) -> None:
        """Forget all: states that come after a gap may be those of another driver."""
        self._states.clear()
        self._evidence = DelayEvidence()

    def note(self, stamp: int, qd: Array, commanded: Array) -> bool:
        """Take in a time [ns], the velocity (n,), and the acceleration commanded (n,); return whether that says more.

        Not where efforts are other than commanded, as at their limits.
        """
        states, known = self._states, self._evidence
        states.append((stamp, qd.copy(), commanded.copy()))
        if len(states) < 5 or within(states[2][2] - states[1][2], self._little) == 1:
            return False
        times, velocity, wanted = (np.array(x) for x in zip(*states, strict=True))
        change = np.diff(wanted[:4], axis=0)
        with np.errstate(all="ignore"):
            lack = wanted[1:4] - np.diff(velocity[1:], axis=0) / (1e-9 * np.diff(times[1:]))[:, None]
            lacking, slope = (x[1] - 0.5 * (x[0] + x[2]) for x in (lack, change))
            seen, sure = float(change[1] @ lacking), float(change[1] @ slope)
            if sure < 0.0:  # as where a jump follows a larger one
                seen, sure = -seen, -sure
            own = min(max(seen / sure, 0.0), 1.0) if sure else 0.0
            noise = float(np.square(lacking - own * slope).sum())
        if not (math.isfinite(sure) and math.isfinite(noise)):
            return False
        if len(lacking) > 1:  # of which one was spent on a delay of its own
            known.doubt += (12.0 * noise / (len(lacking) - 1) - known.doubt) / (known.count + 1.0)
            known.count = min(known.count + 1.0, MEMORY)
        if not -BEYOND * sure <= seen <= (1.0 + BEYOND) * sure:
            return False
        fading = 1.0 - (1.0 - FADING) * min(1.0, sure / DOUBT)
        known.seen, known.sure = fading * known.seen + seen, fading * known.sure + sure
        return True

    def between(self, least: float, most: float) -> float:
        """Return the delay, from `least` to `most` [periods], with which it agrees best; their middle until it is seen.

        So it stays where the delay may be longer than a period.
        """
        middle, known = 0.5 * (least + most), self._evidence
        if most > 1.0 or not known.sure > 0.0:
            return middle
        return min(max((known.seen + known.doubt * middle) / (known.sure + known.doubt), least), most)


LONGEST_STEP = 0.05  # time between states over which errors are not followed [s]


class LateErrors:
    """Errors of a robot like its model whose efforts act by l seconds later than they are commanded for.

    Feedback M (kp e + kd de/dt) lets them come to e'' + kd e' + kp e = l M^-1 dtau/dt, tau being what the desired
    motion takes. So errors e of a motion say what l is, by least squares; where they are not like that, as of another
    model, they say nothing.
    """

    def __init__(self, size: int) -> None:
        self._table, self._numbers, self._begun = np.zeros((k.ROWS, size)), np.zeros(k.NUMBERS), False

    @property
    def found(self) -> float:
        """By what efforts act later than in the middle of what is possible [s]."""
        return float(self._numbers[k.FOUND])

    @property
    def sure(self) -> float:
        """How sure that is, from 0 to 1."""
        return float(self._numbers[k.SURE])

    def forget(self) -> None:
        """Forget what was found."""
        self.pause()
        self._numbers[:] = 0.0

    def pause(self) -> None:
        """Forget the motion alone: another begins without errors."""
        self._table[:], self._begun = 0.0, False

    def put_back(self, by: float, velocity: Array, acceleration: Array) -> None:
        """Take note that a motion of a velocity and an acceleration (n,) was put back in time [s]."""
        self._table[k.LED] += by * velocity
        self._table[k.LED_RATE] += by * acceleration

    def note(
        self, mass: Array, effort: Array, gains: tuple[Array, Array], error: Array,
        lead: tuple[float, float], period: float, learn: bool,
    ) -> Array:  # fmt: skip
        """Return how large errors may be as efforts are late (n,) [rad, m], after a state.

        Known are its mass matrix (n, n), the effort that the motion takes and the error (n,), and that feedback has the
        ``gains`` kp [1/s^2] and kd [1/s] (n,). Efforts are commanded for a ``lead`` later than in the middle, of which
        it can be off by the second of the two [s]. The last state was a ``period`` [s] before. What is found stays
        where it is not to ``learn``.
        """
        table, numbers = self._table, self._numbers
        if not self._begun or not 0.0 < period <= LONGEST_STEP or period * gains[1].max() > 1.0:
            table[:], table[k.LAST], self._begun = 0.0, effort, True
            return np.zeros(len(effort))
        numbers[k.PERIOD], (numbers[k.AHEAD], numbers[k.MOST]), numbers[k.LEARN] = period, lead, learn
        given = (np.ascontiguousarray(x, float) for x in (effort, *gains, error))
        if raise_if_rejected(k.note(table, numbers, np.array(mass, float), *given)):
            self.pause()
        bound: Array = table[k.BOUND].copy()
        return bound


LONGEST = 32  # efforts that are kept


class EffortHistory:
    """The last efforts, by the time of the states that they answer."""

    def __init__(self) -> None:
        self._efforts: deque[tuple[int, Array]] = deque(maxlen=LONGEST)

    def add(self, stamp: int, effort: Array) -> None:
        """Keep the effort that answers the state of a time [ns]; not copied."""
        self._efforts.append((stamp, effort))

    def forget(self) -> None:
        """Forget all."""
        self._efforts.clear()

    def mean(self, begin: int, end: int, delay: float) -> Array | None:
        """Return the mean effort (n,) between two times [ns], each acting `delay` [ns] after its state.

        None where the history does not reach back so far, or the time is none.
        """
        if end <= begin:
            return None
        total: Array | None = None
        until = float(end)
        for stamp, effort in reversed(self._efforts):
            since = stamp + delay
            if since < until:
                part = (until - max(since, begin)) / (end - begin)
                total = part * effort if total is None else total + part * effort
                if since <= begin:
                    return total
                until = since
        return None
