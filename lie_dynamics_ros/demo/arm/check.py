"""Compares recorded torques with the library called in this process, for the states that the node answered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...lie_dynamics import Model, gravity_force, inverse_dynamics
from .. import recording
from ..errors import ShortfallError
from .recorder import Recorder

TOLERANCE = 1e-12
"""Largest difference from the library, relative to the largest torque of the same state."""


@dataclass
class Verdict(recording.Verdict):
    """Results of the recording.

    Attributes
    ----------
    times : ndarray, shape (n,)
        Time of each answer since the first [s].
    efforts, gravity : ndarray, shape (n, joints)
        Torques of the node, and the part of the library's that gravity alone would take [N m or N].
    error : float
        Largest difference from the library, relative to the largest torque of the same state; NaN where not checked.
    judged : int
        Answers held against the library.
    """

    times: np.ndarray
    efforts: np.ndarray
    gravity: np.ndarray
    judged: int = 0
    error: float = float("nan")


def judge(recorder: Recorder, model: Model) -> Verdict:
    """Check every recorded answer.

    Raises
    ------
    ShortfallError
        There is next to nothing to check.
    """
    stamps = recorder.answered()
    if len(stamps) < 2:
        raise ShortfallError(f"received {len(recorder.states)} joint states and {len(stamps)} answers to them")
    q = np.array([_named(recorder.states[stamp][0], recorder.states[stamp][1], model) for stamp in stamps])
    verdict = Verdict(
        times=np.array([(stamp - stamps[0]) * 1e-9 for stamp in stamps]),
        efforts=np.array([_named(recorder.names, recorder.answers[stamp].values, model) for stamp in stamps]),
        gravity=gravity_force(model, q),
        **recording.stream_of(recorder),
    )
    if not recorder.accountable:
        verdict.remarks.append("torques against the library: lie_dynamics_interfaces is not installed")
        return verdict
    told = [stamp for stamp in stamps if stamp in recorder.accounts]
    # They come after the torques, on a topic of their own: the first and the last may be missing.
    expected = [stamp for stamp in stamps if told and told[0] <= stamp <= told[-1]]
    if len(told) < len(expected) or len(told) < 2:
        verdict.shortfalls.append(f"{len(told)} of {len(stamps)} answers came with what they were computed from")
    if told:
        _compare(recorder, model, told, verdict)
    return verdict


def _compare(recorder: Recorder, model: Model, stamps: list[int], verdict: Verdict) -> None:
    """Compare answers with the node's reports of them, and these with the library and what was sent."""
    states, accounts = ([kept[stamp] for stamp in stamps] for kept in (recorder.states, recorder.accounts))
    q, qd, input_, wrench, told = (
        np.array([_named(account.names, getattr(account, name), model) for account in accounts])
        for name in ("position", "velocity", "input", "wrench_effort", "effort")
    )
    published = np.array([_named(recorder.names, recorder.answers[stamp].values, model) for stamp in stamps])
    sent = [np.array([_named(state[0], state[k], model) for state in states]) for k in (1, 2)]
    limit = np.where(model.limits.effort > 0.0, model.limits.effort, np.inf)
    expected = np.clip(inverse_dynamics(model, q, qd, input_) - wrench, -limit, limit)
    error = _difference(published, expected)
    verdict.judged, verdict.error = len(stamps), float(error.max())
    unknown = [bool(row.any()) and row.tobytes() not in recorder.accelerations for row in input_]
    for wrong, what in (
        (~(error <= TOLERANCE), f"differ from the library by more than {TOLERANCE:g} (relative)"),
        ((told != published).any(axis=1), "are not those of ~/dynamics_state"),
        ((sent[0] != q).any(axis=1) | (sent[1] != qd).any(axis=1), "answer another state than their stamp says"),
        (np.array(unknown), "follow from accelerations that nobody sent"),
    ):
        if wrong.any():
            worst = f"; the worst by {verdict.error:.2e}" if "library" in what else ""
            verdict.shortfalls.append(f"{int(wrong.sum())} of {len(stamps)} torque messages {what}{worst}")


def _named(names: list[str], values: np.ndarray, model: Model) -> np.ndarray:
    by_name = dict(zip(names, values, strict=True))
    return np.array([by_name[name] for name in model.joint_names])


def _difference(efforts: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Largest difference of each row, relative to its largest value."""
    scale = np.maximum(np.abs(expected).max(axis=-1), np.finfo(float).tiny)
    return np.abs(efforts - expected).max(axis=-1) / scale
