"""Judges the play: how closely the robot followed in each act, and what payload was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from .. import recording
from ..errors import ShortfallError
from .play import LEAD, RATE, Act, Play
from .recorder import Recorder

EXACT_LIMIT = 0.01
"""Largest rms tracking error with the exact model [rad, m]; more where the rehearsal had more."""
GROWTH = 3.0
"""By what factor the payload must enlarge it at least."""
ADAPTED_SHARE = 0.1
"""Share of the error under the payload that may be left in the last part of the adaptive act."""
LAST_PART = 0.3
"""That part of the act's motion."""
MASS_TOLERANCE = 0.02
"""Largest relative error of the estimated payload."""
SAME = 1e-6
"""How far the controller's own tracking error may be from that seen from outside [rad, m]."""
LATE = 0.5 / RATE
"""Largest shift of the controller's desired motion against the given one, as it measures when efforts act [s]."""
FEWEST = 100
"""States without which an act cannot be checked."""


@dataclass
class Verdict(recording.Verdict):
    """Results of the recording; remarks say what would fall short, were the limits on learning meant for this robot.

    Attributes
    ----------
    times, errors : list of ndarray, shapes (k,) and (k, n)
        Of each act: time since the first act [s], desired minus actual position [rad, m], from joint states.
    rms, largest : list of float
        Of each act, of the joint that is farthest off; of the adaptive act in its last part.
    effort_times, efforts : ndarray, shapes (m,) and (m, n)
    mass_times, masses : ndarray, shape (l,)
        Estimated payload [kg].
    payload : float
        The last estimate, mean over the last part of the adaptive act [kg].
    reported : float
        Largest difference between the tracking error that the controller reports and the one seen from outside, of the
        motion as told or up to `LATE` sooner or later.
    """

    times: list[np.ndarray]
    errors: list[np.ndarray]
    rms: list[float]
    largest: list[float]
    effort_times: np.ndarray
    efforts: np.ndarray
    mass_times: np.ndarray
    masses: np.ndarray
    payload: float
    reported: float


def judge(recorder: Recorder, play: Play, starts: Sequence[int], limit: float = EXACT_LIMIT) -> Verdict:
    """Judge all acts, whose trajectories started at these time stamps [ns]; limit of the error with the exact model.

    Raises
    ------
    ShortfallError
        An act is missing, or there is next to nothing to check.
    """
    if len(starts) < len(play.acts):
        raise ShortfallError(f"only {len(starts)} of {len(play.acts)} acts were played")
    stamps = np.array(sorted(recorder.states))
    times, errors, rms, largest, reported = [], [], [], [], 0.0
    for act, start in zip(play.acts, starts, strict=True):
        begin = start + round(LEAD * 1e9)
        inside = stamps[(stamps >= begin) & (stamps <= begin + act.duration * 1e9)]
        if len(inside) < FEWEST:
            raise ShortfallError(f"received {len(inside)} joint states in act {act.name}")
        t = (inside - begin) * 1e-9
        positions = np.array([recorder.states[s] for s in inside.tolist()])
        error = play.motion.at(t, act.duration)[0] - positions
        both = [k for k, s in enumerate(inside.tolist()) if s in recorder.errors]
        if both:
            told = np.array([recorder.errors[int(inside[k])] for k in both])
            reported = max(reported, _difference(play, act, t[both], positions[both], told))
        counted = np.abs(error).max(axis=1)
        if act.name == "adaptive":
            counted = counted[t >= (1.0 - LAST_PART) * act.duration]
        times.append((inside - starts[0]) * 1e-9)
        errors.append(error)
        rms.append(float(np.sqrt((counted**2).mean())))
        largest.append(float(counted.max()))
    last = starts[-1] + round((LEAD + (1.0 - LAST_PART) * play.acts[-1].duration) * 1e9)
    mass_stamps = np.array(sorted(recorder.masses), dtype=np.int64)
    masses = np.array([recorder.masses[s] for s in mass_stamps.tolist()]) - play.payload.own_mass
    late = masses[mass_stamps >= last]
    answered = recorder.answered()
    if not answered:
        raise ShortfallError(f"received {len(recorder.states)} joint states and no efforts for them")
    verdict = Verdict(
        times=times,
        errors=errors,
        rms=rms,
        largest=largest,
        effort_times=(np.array(answered) - starts[0]) * 1e-9,
        efforts=np.array([recorder.answers[s].values for s in answered]),
        mass_times=(mass_stamps - starts[0]) * 1e-9,
        masses=masses,
        payload=float(late.mean()) if len(late) else float("nan"),
        reported=reported,
        **recording.stream_of(recorder),
    )
    verdict.shortfalls += _shortfalls(verdict, limit)
    (verdict.shortfalls if play.known else verdict.remarks).extend(_lessons(verdict, play))
    return verdict


def _difference(play: Play, act: Act, t: Array, positions: Array, told: Array) -> float:
    """Return by how much errors reported at positions (k, n) differ from those on the motion, as late as fits best."""
    late = np.zeros(len(t))
    for _ in range(3):  # Newton's steps
        desired, rate, _ = play.motion.at(t - late, act.duration)
        off, square = told - (desired - positions), np.square(rate).sum(axis=1)
        late -= np.divide((off * rate).sum(axis=1), square, out=np.zeros(len(t)), where=square > 0.0)
        late = np.clip(late, -LATE, LATE)
    return float(np.abs(told - (play.motion.at(t - late, act.duration)[0] - positions)).max())


def _shortfalls(verdict: Verdict, limit: float) -> list[str]:
    exact = verdict.rms[0]
    found = []
    if not exact <= limit:
        found.append(f"with the exact model the tracking error is {exact:.2g}; at most {limit:.2g} is expected")
    if not verdict.reported <= SAME:
        found.append(f"the controller's own tracking error is off by {verdict.reported:.2g}")
    return found


def _lessons(verdict: Verdict, play: Play) -> list[str]:
    exact, loaded, adapted = verdict.rms
    found = []
    if not loaded >= GROWTH * exact:
        found.append(f"the payload changes the tracking error from {exact:.2g} to {loaded:.2g} only")
    if not adapted <= ADAPTED_SHARE * loaded:
        found.append(
            f"the adaptive controller leaves a tracking error of {adapted:.2g}; expected at most "
            f"{ADAPTED_SHARE:.0%} of the {loaded:.2g} without it"
        )
    if not abs(verdict.payload - play.payload.mass) <= MASS_TOLERANCE * play.payload.mass:
        found.append(f"the payload was estimated as {verdict.payload:.4g} kg; it is {play.payload.mass:.4g} kg")
    return found
