"""Compares recorded torques with the library called in this process."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...lie_dynamics import Model, inverse_dynamics
from ..errors import ShortfallError
from .recorder import Recorder

TOLERANCE = 1e-12
"""Largest difference from the library, relative to the largest torque of the same state."""
MIN_ANSWERED = 0.5
"""Least share of states that must be answered; a loaded machine loses some."""
BEFORE, AFTER = 60, 20
"""How many desired accelerations around an answer may be the one it used: messages on two topics can overtake."""


@dataclass
class Verdict:
    """What the recording shows.

    Attributes
    ----------
    times : ndarray, shape (n,)
        Time of each checked answer since the first [s].
    efforts, gravity : ndarray, shape (n, joints)
        Torques of the node, and the part of the library's that gravity alone would take [N m or N].
    error : float
        Largest difference from the library, relative to the largest torque of the same state.
    states, answered : int
        States sent while the node was answering, and those answered.
    latency : tuple of float
        Percentiles 50, 95, 99 of the time from a state's stamp until its torques arrived here [s].
    shortfalls : list of str
        What fell short; empty where all is well.
    """

    times: np.ndarray
    efforts: np.ndarray
    gravity: np.ndarray
    error: float
    states: int
    answered: int
    latency: tuple[float, ...]
    shortfalls: list[str]


def judge(recorder: Recorder, model: Model) -> Verdict:
    """Check every recorded answer.

    Raises
    ------
    ShortfallError
        There is next to nothing to check.
    """
    stamps = sorted(stamp for stamp in recorder.answers if stamp in recorder.states)
    if len(stamps) < 2:
        raise ShortfallError(f"heard {len(recorder.states)} joint states and {len(stamps)} answers to them")
    # The last few answers may still have been on their way when the recording ended.
    sent = [stamp for stamp in recorder.states if stamps[0] <= stamp <= stamps[-1]]
    q, qd = (np.array([_in_model_order(recorder, stamp, model, field) for stamp in stamps]) for field in (1, 2))
    efforts = np.array([_named(recorder.names, recorder.answers[stamp].efforts, model) for stamp in stamps])
    limit = np.where(model.limits.effort > 0.0, model.limits.effort, np.inf)
    error = _errors(recorder, stamps, model, q, qd, efforts, limit)
    zero = np.zeros_like(qd)
    latency = np.array([recorder.answers[stamp].latency for stamp in stamps])
    verdict = Verdict(
        times=np.array([(stamp - stamps[0]) * 1e-9 for stamp in stamps]),
        efforts=efforts,
        gravity=inverse_dynamics(model, q, zero, zero),
        error=float(error.max()),
        states=len(sent),
        answered=len(stamps),
        latency=tuple(float(p) for p in np.percentile(latency, (50, 95, 99))),
        shortfalls=[],
    )
    wrong = int((~(error <= TOLERANCE)).sum())
    if wrong:
        verdict.shortfalls.append(
            f"{wrong} of {len(stamps)} torque messages differ from the library by more than {TOLERANCE:g} "
            f"(relative); the worst by {verdict.error:.2e}"
        )
    if verdict.answered < MIN_ANSWERED * verdict.states:
        verdict.shortfalls.append(
            f"only {verdict.answered} of {verdict.states} joint states were answered; {MIN_ANSWERED:.0%} are expected"
        )
    return verdict


def _named(names: list[str], values: np.ndarray, model: Model) -> np.ndarray:
    by_name = dict(zip(names, values, strict=True))
    return np.array([by_name[name] for name in model.joint_names])


def _in_model_order(recorder: Recorder, stamp: int, model: Model, field: int) -> np.ndarray:
    state = recorder.states[stamp]
    return _named(state[0], state[field], model)


def _errors(
    recorder: Recorder,
    stamps: list[int],
    model: Model,
    q: np.ndarray,
    qd: np.ndarray,
    efforts: np.ndarray,
    limit: np.ndarray,
) -> np.ndarray:
    """Relative error of each answer, for that acceleration around it which fits best."""
    accelerations = recorder.accelerations or [np.zeros(model.nv)]
    count = np.array([recorder.answers[stamp].accelerations for stamp in stamps])
    best = np.full(len(stamps), np.inf)
    for shift in sorted(range(-BEFORE, AFTER + 1), key=abs):
        left = np.flatnonzero(~(best <= TOLERANCE))
        if not len(left):
            break
        index = np.clip(count[left] + shift, 0, len(accelerations) - 1)
        qdd = np.array([accelerations[i] for i in index])
        expected = np.clip(inverse_dynamics(model, q[left], qd[left], qdd), -limit, limit)
        best[left] = np.fmin(best[left], _difference(efforts[left], expected))
    return best


def _difference(efforts: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Largest difference of each row, relative to its largest value."""
    scale = np.maximum(np.abs(expected).max(axis=-1), np.finfo(float).tiny)
    return np.abs(efforts - expected).max(axis=-1) / scale
