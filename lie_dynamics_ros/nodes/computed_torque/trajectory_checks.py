"""Whether a trajectory keeps the robot's limits all along its polynomials, not at its points alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from ...core.arrays import Array
from ...core.errors import TRAJECTORIES, MessageError
from ...lie_dynamics import Model, inverse_dynamics
from .trajectory_piece import Desired, Piece

SLACK = 1e-6
"""By what part a limit may be exceeded: round-off of times in whole nanoseconds."""
SAMPLES = 1000
"""Most states at which the dynamics are held against the effort limits."""
LARGEST_COEFFICIENT = 1e9
"""Numbers that no joint has, whatever its limits."""

_BERNSTEIN = {
    degree: np.array(
        [[comb(j, i) / comb(degree, i) if i <= j else 0.0 for i in range(degree + 1)] for j in range(degree + 1)]
    )
    for degree in (3, 4, 5)
}


@dataclass(frozen=True)
class MotionLimits:
    """Limits of a robot's joints, all (n,), infinite where there is none.

    Attributes
    ----------
    names : sequence of str
    lower, upper : ndarray
        Of positions [rad, m].
    velocity, acceleration, effort : ndarray
        Largest absolute values.
    """

    names: Sequence[str]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array


def check_motion(piece: Piece, limits: MotionLimits) -> None:
    """Refuse a trajectory whose motion or feed-forward exceeds a limit anywhere; raises MessageError."""
    at = piece.joints
    if piece.effort is not None:
        most = np.minimum(limits.effort[at], LARGEST_COEFFICIENT)
        _refuse(np.abs(piece.effort), _loose(most), "an effort of", piece, limits)
    lower, upper = limits.lower[at], limits.upper[at]
    if piece.led:  # where the robot starts beyond a limit it may come back
        lower, upper = np.minimum(lower, piece.position[0]), np.maximum(upper, piece.position[0])
    _refuse(piece.position, _loose(upper), "a position of", piece, limits)
    _refuse(-piece.position, _loose(-lower), "a position of", piece, limits, sign=-1.0)
    if not len(piece.segments):
        return
    if not np.isfinite(piece.segments).all():
        raise MessageError(TRAJECTORIES, "a trajectory whose polynomials are not finite")
    spans = np.diff(piece.times)
    c, power = piece.segments, np.arange(1.0, 6.0)
    rate = c[:, 1:] * power[:, None]
    bend = rate[:, 1:] * power[:4, None]
    start = piece.position[:-1]
    fastest = _loose(np.minimum(limits.velocity[at], LARGEST_COEFFICIENT))
    hardest = _loose(np.minimum(limits.acceleration[at], LARGEST_COEFFICIENT))
    place = c.copy()
    place[:, 0] += start
    _check_polynomials(place, spans, _loose(upper), "a position of", piece, limits)
    _check_polynomials(-place, spans, _loose(-lower), "a position of", piece, limits, sign=-1.0)
    for sign in (1.0, -1.0):
        _check_polynomials(sign * rate, spans, fastest, "a velocity of", piece, limits, sign)
        _check_polynomials(sign * bend, spans, hardest, "an acceleration of", piece, limits, sign)


def check_dynamics(
    piece: Piece, desired: Desired, limits: MotionLimits, model: Model, drive_effort: Callable[[Array, Array], Array]
) -> None:
    """Refuse a trajectory whose efforts, friction of the drives included, exceed the limits; raises MessageError.

    It is held against them at `SAMPLES` times at most, with the other joints at rest where they are desired now.
    """
    count = min(SAMPLES, 4 * len(piece.segments) + 1)
    times = np.linspace(piece.times[0], piece.times[-1], count)[: -1 if count > 1 else None]
    q = np.tile(desired.position, (len(times), 1))
    qd, qdd, ahead = np.zeros_like(q), np.zeros_like(q), np.zeros_like(q)
    for k, t in enumerate(times):
        piece.write(piece.start + round(t * 1e9), Desired(q[k], qd[k], qdd[k], ahead[k]))
    tau = drive_effort(qd, inverse_dynamics(model, q, qd, qdd)) + ahead
    over = np.abs(tau) > _loose(limits.effort)
    over[:, np.setdiff1d(np.arange(q.shape[1]), piece.joints)] = False  # others are not the trajectory's doing
    if over.any():
        k, joint = np.argwhere(over)[0]
        raise MessageError(
            TRAJECTORIES,
            f"a trajectory that takes {tau[k, joint]:.3g} N m or N of joint {limits.names[joint]} after "
            f"{times[k]:.3g} s; its effort limit is {limits.effort[joint]:g} (see check_dynamics)",
        )


def _loose(bound: Array) -> Array:
    return np.asarray(bound + SLACK * np.maximum(np.abs(np.nan_to_num(bound, posinf=0.0, neginf=0.0)), 1e-3))


def _check_polynomials(
    c: Array, spans: Array, bound: Array, what: str, piece: Piece, limits: MotionLimits, sign: float = 1.0
) -> None:
    """Refuse polynomials with coefficients c (k, degree + 1, m) that exceed their bound (m,) within their spans (k,).

    Their Bernstein coefficients bound them; where these are beyond the limit, the extrema are looked for.
    """
    degree = c.shape[1] - 1
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = c * (spans[:, None] ** np.arange(degree + 1))[:, :, None]  # of t / span
        hull = np.einsum("ji,kim->kjm", _BERNSTEIN[degree], scaled)
    for k, joint in np.argwhere(~(hull <= bound).all(axis=1)):
        largest = _largest(scaled[k, :, joint])
        if not largest <= bound[joint]:
            _raise(what, sign * largest, sign * float(bound[joint]), int(piece.joints[joint]), limits)


def _largest(c: Array) -> float:
    """Return the largest value between 0 and 1 of a polynomial with coefficients c (degree + 1,)."""
    size = float(np.abs(c).max()) or 1.0
    if not np.isfinite(size):
        return np.inf
    c = c / size
    c[np.abs(c) < 1e-17] = 0.0  # below round-off; as leading coefficients they would overflow in the roots
    p = np.polynomial.Polynomial(c)
    roots = p.deriv().roots()
    real = roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > 0.0) & (roots.real < 1.0)]
    return size * float(np.max(p(np.concatenate([[0.0, 1.0], real]))))


def _refuse(values: Array, bound: Array, what: str, piece: Piece, limits: MotionLimits, sign: float = 1.0) -> None:
    over = ~(values <= bound)
    if over.any():
        k, joint = np.argwhere(over)[0]
        _raise(what, sign * values[k, joint], sign * bound[joint], int(piece.joints[joint]), limits)


def _raise(what: str, value: float, bound: float, joint: int, limits: MotionLimits) -> None:
    raise MessageError(
        TRAJECTORIES, f"a trajectory with {what} {value:.4g} beyond the limits of {limits.names[joint]} ({bound:.4g})"
    )
