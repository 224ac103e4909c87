"""Compares estimated poses with the true ones: their errors must agree with their covariances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import recording
from ..errors import ShortfallError
from .recorder import Recorder

LARGEST = 60.0
"""Largest square of an error in standard deviations: of six numbers, exceeded once in 2e10 times."""
SLACK = 0.25
"""By how much the mean of these squares may miss 6, besides what its own spread allows."""
FEWEST = 20
"""Fewest poses for a check."""


@dataclass
class Verdict(recording.Verdict):
    """Results of the recording.

    Attributes
    ----------
    times : ndarray, shape (n,)
        Time of each compared pose since the first [s].
    truth, estimates : ndarray, shape (n, 4, 4)
        Of the platform in the base frame.
    errors : ndarray, shape (n, 6)
        Displacement, then small rotation, in the axes of the base frame, from the truth to the estimate [m, rad].
    deviations : ndarray, shape (n, 6)
        Standard deviations that the node gave with its poses.
    square : float
        Mean square of the errors in the metric of their covariances; 6 where the covariances are right.
    twist_errors : ndarray, shape (m, 6)
        Of velocity and angular velocity [m/s, rad/s].
    """

    times: np.ndarray
    truth: np.ndarray
    estimates: np.ndarray
    errors: np.ndarray
    deviations: np.ndarray
    square: float
    twist_errors: np.ndarray


def judge(recorder: Recorder) -> Verdict:
    """Compare every estimate with the truth of the same time.

    Raises
    ------
    ShortfallError
        There is next to nothing to compare.
    """
    stamps = recorder.answered()
    if len(stamps) < FEWEST:
        raise ShortfallError(f"received {len(recorder.states)} true poses and {len(stamps)} estimates of them")
    truth = np.array([recorder.states[stamp] for stamp in stamps])
    found = [recorder.answers[stamp] for stamp in stamps]
    estimates, covariances = np.array([e.values for e in found]), np.array([e.covariance for e in found])
    errors = pose_errors(truth, estimates)
    squares = np.einsum("ni,ni->n", errors, np.linalg.solve(covariances, errors[..., None])[..., 0])
    moving = sorted(set(recorder.twists) & set(recorder.true_twists))
    verdict = Verdict(
        times=np.array([(stamp - stamps[0]) * 1e-9 for stamp in stamps]),
        truth=truth,
        estimates=estimates,
        errors=errors,
        deviations=np.sqrt(np.diagonal(covariances, axis1=1, axis2=2)),
        square=float(squares.mean()),
        twist_errors=np.array([recorder.twists[s] - recorder.true_twists[s] for s in moving]).reshape(-1, 6),
        **recording.stream_of(recorder),
    )
    wrong = int((~(squares <= LARGEST)).sum())
    if wrong:
        verdict.shortfalls.append(f"{wrong} of {len(stamps)} poses are further from the truth than noise explains")
    spread = 5.0 * np.sqrt(12.0 / len(stamps)) + SLACK  # a chi-square with 6 freedoms has variance 12
    if not abs(verdict.square - 6.0) <= spread:
        verdict.shortfalls.append(
            f"the errors are not what the covariances say: their mean square is {verdict.square:.2f}, expected 6"
        )
    if not np.isfinite(verdict.twist_errors).all() or not len(moving):
        verdict.shortfalls.append(f"of {len(stamps)} poses {len(moving)} came with a twist")
    return verdict


def pose_errors(truth: np.ndarray, estimates: np.ndarray) -> np.ndarray:
    """Displacement and small rotation, in the axes of the base, from poses (..., 4, 4) to estimates; (..., 6)."""
    turn = estimates[..., :3, :3] @ np.swapaxes(truth[..., :3, :3], -1, -2)
    small = 0.5 * (turn - np.swapaxes(turn, -1, -2))
    rotation = np.stack([small[..., 2, 1], small[..., 0, 2], small[..., 1, 0]], axis=-1)
    return np.concatenate([estimates[..., :3, 3] - truth[..., :3, 3], rotation], axis=-1)
