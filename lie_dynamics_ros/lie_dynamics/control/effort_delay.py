"""What was exerted and when, and by how much it acts later: found from jumps of the commanded acceleration."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
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
