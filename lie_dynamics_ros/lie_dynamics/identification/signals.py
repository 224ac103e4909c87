"""Signals of a recording as logs have them: looked through, mended where what is missing is clear, and else refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import InputError
from ..lie._arrays import as_numbers, number_of
from ..model.arguments import require_single_coordinates
from ..model.configuration import checked
from ..model.model import Model
from .problems import Problem, is_angle, left_out_problems

#: Motion of a joint below which its parameters are hardly determined: range of positions [rad, m].
LEAST_MOTION = 0.1
#: Part of the samples at the largest effort, each several times in a row, that counts as clipped: some, and too many.
CLIPPED, TOO_CLIPPED = 0.005, 0.1
#: Largest part of the samples that is mended; and how many of them in a row.
MENDED, IN_A_ROW = 0.03, 5
#: States that are repeated: how many in a row, and the part of all from which on they are mended.
REPEATED, LEAST_REPEATED = 20, 0.03
#: What positions jump by at least [rad, m], and over what nearly all the others do.
JUMP, RATIO = 0.05, 10.0
_TURN = 2.0 * np.pi


@dataclass(frozen=True, eq=False)
class Signals:
    """Inputs of the fit, n samples."""

    q: Array  # positions without turns and spikes [rad, m] (n, nv)
    effort: Array  # [N m, N] (n, nv)
    problems: list[Problem]  # what was wrong, or may be
    left_out: dict[int, str]  # joints whose efforts are unusable, and why


class RecordingOptions(TypedDict, total=False):
    """Keywords of `RecordingUse`."""

    drive_gains: npt.ArrayLike | None
    left_out: Sequence[str]
    cutoff: float | None
    prior_weight: float
    despite_problems: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordingUse:
    """Use of recordings, see `identify_robot`; raises InputError for a weight that is not positive."""

    drive_gains: npt.ArrayLike | None = None
    left_out: Sequence[str] = ()
    cutoff: float | None = None
    prior_weight: float = 1.0
    despite_problems: bool = False

    def __post_init__(self) -> None:
        number_of("prior_weight", self.prior_weight, "a positive number", lambda x: 0.0 < x < np.inf)


def signals_of(
    model: Model,
    q: npt.ArrayLike,
    effort: npt.ArrayLike,
    left_out: Sequence[str] = (),
    drive_gains: npt.ArrayLike | None = None,
) -> Signals:
    """Return positions (n, nv) and efforts in newtons, mended, with all that signals show by themselves.

    Efforts of joints that are left out are not to be used. `drive_gains`, (nv,) or (nv, nv), are newton metres, or
    newtons, for each unit of the efforts; of any sign but zero. A matrix, of full rank, takes efforts of coupled drives
    to those of joints. Raises InputError for bad input, joints that there are not, or no joint that is left.
    """
    require_single_coordinates(model, "identification from a recording")
    names = model.joint_names
    if isinstance(left_out, str) or not all(name in names for name in left_out):
        raise InputError(f"left_out: some of the joints {list(names)} are expected, got {left_out!r}", name="left_out")
    out = {names.index(name): "as requested" for name in left_out}
    found: list[Problem] = []
    efforts = np.array(checked(effort, model.nv, "effort", model))
    if drive_gains is not None:
        gains = _gains(drive_gains, model.nv)
        efforts = efforts @ gains.T
        own = np.count_nonzero(gains, axis=1) == 1
        text = ", ".join(
            name + (f" {gain:.4g}" if alone else " from coupled drives")
            for name, gain, alone in zip(names, np.diag(gains), own, strict=True)
        )
        found.append(Problem("units", f"efforts were converted by the drive gains given: {text}", False))
    positions = np.array(checked(q, model.nq, "q", model))
    if positions.ndim != 2 or efforts.shape != positions.shape:
        shapes = f"got {positions.shape} and {efforts.shape}"
        raise InputError(f"effort: as many rows as of q are expected, {shapes}", name="effort", value=efforts.shape)
    if not _strange(model, positions, wrapped=True):
        found += _mend(model, positions, efforts)
    found += _motion(model, positions)
    strange = _strange(model, positions)
    found += strange
    if not strange:
        found += _jumps(model, positions)
    silent = {}
    for j, name in enumerate(names):
        if np.ptp(efforts[:, j]) == 0.0:
            silent[j] = f"its effort is always {efforts[0, j]:g}"
            continue
        size = np.abs(efforts[:, j]).max()
        held = _clipped(efforts[:, j], size)
        if held > CLIPPED and j not in out:
            text = f"joint {name!r}: effort is clipped at {size:.4g} in {100.0 * held:.1f} % of the samples"
            found.append(Problem("clipping", text + ": slower motion expected", held > TOO_CLIPPED))
    out = {**silent, **out}
    found += left_out_problems(model, silent, "no effort", fatal=2 * len(out) > model.nv)
    if len(out) == model.nv and not silent:
        raise InputError("left_out: at least one joint that is left is expected", name="left_out")
    return Signals(positions, efforts, found, out)


def _gains(given: npt.ArrayLike, nv: int) -> Array:
    """Return the matrix (nv, nv) that takes efforts as given to those of joints."""
    gains = np.asarray(as_numbers(given, "drive_gains"))
    if gains.shape == (nv,) and np.isfinite(gains).all():
        gains = np.diag(gains)
    if gains.shape != (nv, nv) or not np.isfinite(gains).all() or np.linalg.matrix_rank(gains) < nv:
        message = f"drive_gains: {nv} finite numbers other than zero, or a matrix ({nv}, {nv}) of full rank, expected, "
        raise InputError(f"{message}got {given!r}", name="drive_gains", value=given)
    return gains


def _clipped(effort: Array, size: float) -> float:
    """Return which part of the samples is at the largest effort, several in a row."""
    at = np.abs(effort) >= size * (1.0 - 1e-6)
    return float((at[1:-1] & at[:-2] & at[2:]).mean()) if len(at) > 2 else 0.0


def _motion(model: Model, q: Array) -> list[Problem]:
    spans, found = np.ptp(q, axis=0), []
    for span, name in zip(spans, model.joint_names, strict=True):
        if span < LEAST_MOTION:
            text = f"joint {name!r} moves by {span:.3g}, {LEAST_MOTION:g} rad or m expected: too little motion"
            found.append(Problem("motion", text, bool(spans.max() < LEAST_MOTION)))
    return found


def _strange(model: Model, q: Array, wrapped: bool = False) -> list[Problem]:
    """Return joints that are where no such robot is; whole turns are no matter where they may still be wrapped."""
    found, (lower, upper) = [], (model.limits.lower, model.limits.upper)
    for j, name in enumerate(model.joint_names):
        # Most of the time: what is rare is looked at by itself.
        low, high = (float(x) for x in np.quantile(q[:, j], (0.02, 0.98)))
        over = max(high - upper[j], lower[j] - low, 0.0)
        room = upper[j] - lower[j]
        wide = over > 0.5 * room + LEAST_MOTION if np.isfinite(room) else False
        if is_angle(model, j) and (wrapped or not np.isfinite(room)):
            most = 1.5 * room + LEAST_MOTION if np.isfinite(room) else 10.0 * _TURN
            wide = high - low > max(most, 1.1 * _TURN)
        if wide:
            text = f"joint {name!r}: positions from {q[:, j].min():.4g} to {q[:, j].max():.4g}, "
            text += f"limits of the robot are {lower[j]:.4g} and {upper[j]:.4g}: degrees, or another joint?"
            found.append(Problem("positions", text, True))
    return found


def _shift(model: Model, q: Array, j: int) -> float:
    """Return the whole turns [rad] that bring a joint within its limits, 0 where none do."""
    lower, upper = model.limits.lower[j], model.limits.upper[j]
    low, high = (float(x) for x in np.quantile(q[:, j], (0.02, 0.98)))
    if not np.isfinite(upper - lower):
        return 0.0
    shift = -_TURN * round((0.5 * (low + high) - 0.5 * (lower + upper)) / _TURN)
    slack = 1e-3 * (upper - lower)
    outside = low < lower - slack or high > upper + slack
    return shift if outside and low + shift >= lower - slack and high + shift <= upper + slack else 0.0


def _mend(model: Model, q: Array, effort: Array) -> list[Problem]:
    """Take turns and spikes out of positions, and rows of zeros out of efforts, in place, and report each."""
    from scipy.ndimage import median_filter

    found = []
    empty = (effort == 0.0).all(axis=1)
    for what, zeros, arrays in (
        ("rows hold", empty & (q == 0.0).all(axis=1), (q, effort)),
        ("rows of efforts hold", empty & (q != 0.0).any(axis=1) & (model.nv > 1), (effort,)),
    ):
        lone = zeros & (np.convolve(zeros, np.ones(2 * IN_A_ROW + 1), "same") <= IN_A_ROW)
        if lone.any() and lone.mean() < MENDED:
            for x in arrays:
                _interpolate(x, lone)
            text = f"{lone.sum()} {what} zeros alone: states that were lost, put between their neighbours"
            found.append(Problem("spikes", text, False))
    again = _repeated(q)
    if again.mean() > LEAST_REPEATED:
        _interpolate(q, again)
        text = f"{100.0 * again.mean():.0f} % of the positions repeat those before: put between their neighbours"
        found.append(Problem("spikes", text, False))
    for j, name in enumerate(model.joint_names):
        x = q[:, j]
        if is_angle(model, j):
            wrapped = np.abs(np.abs(np.diff(x)) - _TURN) < 0.5
            if wrapped.any():
                x = np.unwrap(x)
        away = np.abs(x - median_filter(x, 2 * IN_A_ROW + 1, mode="nearest"))
        spikes = away > max(JUMP, RATIO * float(np.quantile(away, 0.95)))
        if spikes.any() and spikes.mean() < MENDED:
            x = x[:, None].copy()
            _interpolate(x, spikes)
            x = x[:, 0]
            text = f"joint {name!r}: {spikes.sum()} positions jump by up to {away[spikes].max():.3g} and back (lost or "
            found.append(Problem("spikes", text + "wrong states): put between their neighbours", False))
        turns = int((np.abs(x - q[:, j])[~spikes] > 0.5 * _TURN).sum())
        q[:, j] = x
        shift = _shift(model, q, j) if is_angle(model, j) else 0.0
        q[:, j] += shift
        if turns or shift:
            text = f"joint {name!r}: positions wrap at a turn, or count turns otherwise than its limits: unwound"
            found.append(Problem("wrapped", text, False))
    return found


def _repeated(q: Array) -> npt.NDArray[np.bool_]:
    """Return rows that are those before once more, in motion: most joints are further than a grain afterwards."""
    steps = np.abs(np.diff(q, axis=0))
    again = np.append(False, ~steps.any(axis=1))
    again &= np.convolve(again, np.ones(2 * REPEATED + 1), "same") < 2 * REPEATED
    fresh = np.flatnonzero(~again)
    place = np.searchsorted(fresh, np.arange(len(q)))
    known = place < len(fresh)
    grain = np.where(steps > 0.0, steps, np.inf).min(axis=0)
    moving = np.isfinite(grain)
    after = steps[fresh[np.where(known, place, 0)] - 1] > 1.5 * grain
    return np.asarray(again & known & (2 * after.sum(axis=1) >= moving.sum()))


def _interpolate(x: Array, bad: npt.NDArray[np.bool_]) -> None:
    """Put rows between their neighbours, in place."""
    at = np.arange(len(x))
    for column in x.T:
        column[bad] = np.interp(at[bad], at[~bad], column[~bad])


def _jumps(model: Model, q: Array) -> list[Problem]:
    """Return joints that are elsewhere from one sample to the next, and stay there."""
    from scipy.ndimage import median_filter

    found = []
    for j, name in enumerate(model.joint_names):
        step = np.diff(q[:, j])
        odd = np.abs(step - median_filter(step, 7, mode="nearest"))
        most = max(2.0 * JUMP, 2.0 * RATIO * float(np.quantile(odd, 0.99)))
        if odd.max() > most:
            at = int(np.argmax(odd))
            text = f"joint {name!r}: its position jumps by {step[at]:.3g} between samples {at} and {at + 1}, and "
            text += f"{int((odd > most).sum())} times in all; at most {most:.2g} expected: "
            text += "states lost, or recordings joined?"
            found.append(Problem("jumps", text, True))
    return found
