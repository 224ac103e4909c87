"""The fit: bodies that can exist, friction, rotors, gains and the delay of efforts, robust against outliers.

Efforts of drives are linear in inertial parameters and in coefficients of each joint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.derivatives.inverse_derivatives import torque_regressor
from ..model.model import Model
from .estimation import columns_of, consistent_fit, parameters_of, references
from .recordings import KEPT, OWN, Samples

#: Coefficients of each joint, in this order; `static` is what dry friction at rest is larger than in motion.
TERMS = ("damping", "friction", "static", "load", "armature", "offset", "gain")
#: Part by which a further term must lower the error on data not used, to be taken.
WORTH = 0.01
FOLDS = 5
#: Friction at rest beyond that in motion, over it, that is the most to be expected: compensating more is dangerous.
MOST_STATIC = 1.5
#: Growth of dry friction with the load that is the most to be expected, and the part of the effort that it must make.
MOST_LOAD, LEAST_LOAD = 0.2, 0.05


@dataclass(frozen=True, eq=False)
class Structure:
    """Terms of the drives."""

    bend: npt.NDArray[np.intp]  # which of the Stribeck speeds; -1 for none (nv,)
    load: npt.NDArray[np.bool_]  # whether dry friction grows with the load (nv,)
    gains: bool  # whether the drives' gains are estimated

    @classmethod
    def plain(cls, count: int, gains: bool) -> Structure:
        """Return drives with viscous and dry friction only."""
        return cls(np.full(count, -1), np.zeros(count, dtype=bool), gains)

    def active(self) -> npt.NDArray[np.bool_]:
        """Return which coefficients there are (7 nv,)."""
        yes = np.ones(len(self.bend), dtype=bool)
        return np.concatenate([yes, yes, self.bend >= 0, self.load, yes, yes, yes & self.gains])


class Equations:
    """Efforts = A x + known, for samples of a recording.

    `Y` (n, nv, 10 k) are columns of the bodies that are identified, `known` (n, nv) the joint forces of all other
    bodies.
    """

    def __init__(self, model: Model, samples: Samples, bodies: list[int]) -> None:
        Y = torque_regressor(model, samples.q, samples.qd, samples.qdd)
        own = parameters_of(model, range(model.n_bodies))
        own[bodies] = 0.0
        self.samples = samples
        self.Y, self.known = np.asarray(Y[..., columns_of(bodies)]), np.asarray(Y @ own.ravel())

    def drive_columns(self, structure: Structure, rigid: Array) -> Array:
        """Return the columns (n, nv, 7) of each joint's own coefficients, where bodies get the forces `rigid`."""
        s = self.samples
        joints = np.arange(s.q.shape[1])
        bend = s.bends[structure.bend, :, joints].T
        columns = (s.qd, s.side, bend, s.side * np.abs(rigid), s.qdd, np.ones_like(rigid), rigid)
        return np.stack(columns, axis=-1)

    def matrix(self, structure: Structure, pi: Array, gain: Array) -> Array:
        """Return A (n, nv, 10 k + 7 nv) about parameters pi (10 k,) and gains (nv,)."""
        rigid = self.rigid(pi)
        drives = self.drive_columns(structure, rigid)
        n, nv, size = len(rigid), rigid.shape[1], self.Y.shape[-1]
        A = np.zeros((n, nv, size + len(TERMS) * nv))
        A[..., :size] = gain[:, None] * self.Y
        for term in range(len(TERMS)):
            A[:, np.arange(nv), size + term * nv + np.arange(nv)] = drives[..., term]
        return A

    def rigid(self, pi: Array) -> Array:
        """Return what the bodies get (n, nv)."""
        return np.asarray(self.Y @ pi + self.known)


def chosen_structure(rest: Array, drives: Array, samples: Samples, weight: Array, before: Structure) -> Structure:
    """Return the terms that make the error smaller on data that was not used.

    `rest` (n, nv) are efforts less those of the bodies, `drives` (n, nv, 7) `Equations.drive_columns`, and `weight` (n,
    nv) is that of the equations.
    """
    bend, load = before.bend.copy(), before.load.copy()
    for j in range(rest.shape[1]):
        offset, own, growth = drives[:, j, [5]], drives[:, j, [0, 1, 4]], drives[:, j, [3]]
        told = _Told(np.column_stack([offset, own, samples.bends[:, :, j].T, growth, rest[:, j]]) * weight[:, j, None])
        chosen = [1, 2, 3]
        least, _ = told.unseen_error(chosen)
        errors = []
        for k in range(4, 4 + len(samples.bends)):
            error, found = told.unseen_error([*chosen, k])
            errors.append(error if found[3] <= MOST_STATIC * found[1] else np.inf)
        best = int(np.argmin(errors))
        bend[j] = -1
        if errors[best] < (1.0 - WORTH) * least:
            bend[j], least = best, errors[best]
            chosen.append(4 + best)
        # Where bodies get next to nothing, any growth with it explains the same.
        much = MOST_LOAD * (growth[:, 0] * weight[:, j]).std() > LEAST_LOAD * samples.source.effort[samples.at, j].std()
        load[j] = bool(much) and told.unseen_error([*chosen, 4 + len(errors)])[0] < (1.0 - WORTH) * least
    return Structure(bend, load, before.gains)


class _Told:
    """Equations of one joint for chosen columns: parts of the time, and all but these, as triangular factors.

    Of the weighed rows (n, p), the first column has a coefficient of either sign, the last is what the others explain.
    """

    def __init__(self, rows: Array) -> None:
        self._count = max(len(rows), 1)
        size = np.linalg.norm(rows, axis=0)
        self._size = np.where(size > 0.0, size, 1.0)
        parts = [np.asarray(np.linalg.qr(part, mode="r")) for part in np.array_split(rows / self._size, FOLDS)]
        others = [np.concatenate(parts[:k] + parts[k + 1 :]) for k in range(FOLDS)]
        self._rest = [
            (part, np.asarray(np.linalg.qr(other, mode="r"))) for part, other in zip(parts, others, strict=True)
        ]
        self._all = np.asarray(np.linalg.qr(np.concatenate(parts), mode="r"))

    def unseen_error(self, columns: list[int]) -> tuple[float, Array]:
        """Return the root mean square that columns leave, of coefficients found without it, and those of all of it.

        Parts of the time take turns. Coefficients are not negative but for that of column 0, which is always there.
        """
        total = 0.0
        for part, other in self._rest:
            x = _not_negative(other, columns)
            total += float(((part[:, [0, *columns]] @ x - part[:, -1]) ** 2).sum())
        found = _not_negative(self._all, columns)[1:] / self._size[columns]
        return self._size[-1] * float(np.sqrt(total / self._count)), found * self._size[-1]


def _not_negative(R: Array, columns: list[int]) -> Array:
    """Return what makes the last column of column 0, times any number, and others; from a triangular factor."""
    from scipy.optimize import nnls

    x = nnls(R[1:, columns], R[1:, -1])[0] if len(R) > 1 else np.zeros(len(columns))
    free = (R[0, -1] - R[0, columns] @ x) / R[0, 0] if R[0, 0] != 0.0 else 0.0
    return np.append(free, x)


ROUNDS = 6
#: Residuals beyond so many standard deviations count less and less (Huber).
HUBER = 2.0
#: So many are no noise: such equations are left out, once the fit is close to its end; and what is always near enough,
#: over the deviation of the efforts.
FAR, NEAR = 6.0, 0.02
#: Largest delay of efforts that is accepted [s].
MOST_DELAY = 0.05
#: Frequencies on each side that a spectrum of residuals is averaged over, of a recording twice as long; and the least
#: part of the noise that a fit leaves.
NEIGHBOURS, LEAST_LEFT = 8, 0.1
#: Effort of a joint below which noise may be all of it, over that of the joint that works hardest.
FLOOR = 5e-3
#: Singular values, over the largest, that are round-off.
_CUT = 1e-7


@dataclass(frozen=True, eq=False)
class Fit:
    """Result, with the equations it was found from."""

    parameters: Array  # of the bodies that were identified (k, 10)
    coefficients: dict[str, Array]  # by `TERMS`; friction, damping, armature and offset as efforts are measured (nv,)
    structure: Structure
    delay: float  # by which efforts were recorded late [s]
    deviation: Array  # of an effort, for noise without memory from sample to sample [as measured] (nv,)
    R: Array  # triangular factor of the equations, weighed, of active parameters
    # covariance of A^T residual, weighed, for noise of each joint that has memory: see `_scatter` (nv, p, p)
    scatter: Array
    freedom: Array  # degrees of freedom of what is known of that noise (nv,)
    active: npt.NDArray[np.bool_]  # which of 10 k + 7 nv parameters
    rest: Array  # efforts less what the fit predicts (n, nv)

    def unexplained(self, samples: Samples) -> Array:
        """Return the part (nv,) of the deviation of efforts that is left where joints move, of most of the time."""
        return np.asarray(robust_deviation(self.rest, samples) / self.sizes(samples.effort(self.delay)))

    def gain_deviations(self, model: Model, bodies: list[int]) -> Array:
        """Return standard deviations (nv, nv) of log(gain_i / gain_j), which are about 1 where nothing shows it.

        Given parameters count as known to their own size, as in `consistent_fit`.
        """
        nv, size = model.nv, 10 * len(bodies)
        places = np.flatnonzero(self.active) - size - TERMS.index("gain") * nv
        typical = np.concatenate([_typical(model, bodies), np.ones(len(TERMS) * nv)])[self.active]
        known = self.R * typical
        spread = np.linalg.inv(known.T @ known + np.eye(len(typical)))
        inner = self.scatter.sum(axis=0) * np.outer(typical, typical) + np.eye(len(typical))
        slopes = np.zeros((nv, len(typical)))
        for column in np.flatnonzero(places >= 0):
            slopes[places[column], column] = 1.0 / max(float(self.coefficients["gain"][places[column]]), 1e-12)
        cover = slopes @ spread @ inner @ spread @ slopes.T
        own = np.diag(cover)
        return np.asarray(np.sqrt(np.maximum(own[:, None] + own - 2.0 * cover, 0.0)))

    @staticmethod
    def sizes(effort: Array) -> Array:
        """Return the deviation of efforts (nv,), which is more than noise where a joint bears next to nothing."""
        size = effort.std(axis=0)
        return np.asarray(np.maximum(size, max(FLOOR * float(size.max(initial=0.0)), 1e-12)))

    def outliers(self, samples: Samples) -> Array:
        """Return the part (nv,) of the time at which efforts are far from all that fits."""
        least = np.maximum(FAR * self.deviation, NEAR * self.sizes(samples.effort(self.delay)))
        return np.asarray(((np.abs(self.rest) > least) & samples.moving).mean(axis=0))


class DelaySearch(NamedTuple):
    """The delay of efforts [s] where it is `known`; else it is looked for from `start` on, and within `most`."""

    known: float | None = None
    start: float = 0.0
    most: float = MOST_DELAY


ANY_DELAY = DelaySearch()


def fit_robot(
    model: Model,
    samples: Samples,
    bodies: list[int],
    gains: bool = False,
    prior_weight: float = 1.0,
    delay: DelaySearch = ANY_DELAY,
    tell: Callable[[float], None] = lambda part: None,
    rounds: int = ROUNDS,
) -> Fit:
    """Return the fit to samples; see `identify_robot` for what it minimises.

    Joints that nowhere move, as those that are left out, have no coefficients but a gain of one.
    """
    equations, nv = Equations(model, samples, bodies), model.nv
    size = equations.Y.shape[-1]
    J0 = references(model, bodies)
    pi = parameters_of(model, bodies).ravel()
    structure, gain = Structure.plain(nv, gains), np.ones(nv)
    seek, late = delay.known is None, delay.start if delay.known is None else delay.known
    weight = samples.moving.astype(np.float64)
    scale = np.maximum(samples.effort(0.0).std(axis=0), 1e-9)
    deviation, x = 0.1 * scale, np.zeros(0)
    for k in range(rounds):
        tell(k / rounds)
        A = equations.matrix(structure, pi, gain)
        rigid = equations.rigid(pi)
        effort = samples.effort(late)
        # About these gains and bodies, gains times bodies is linear in both.
        known = gain * equations.known if not gains else gain * (equations.known - rigid)
        active = np.concatenate([np.ones(size, dtype=bool), structure.active()])
        A, aim = A[..., active], effort - known
        R = triangle(A, aim, weight / deviation)
        guess = _guesses(equations.drive_columns(structure, rigid), scale, weight)
        free = np.repeat(np.array([term == "offset" for term in TERMS]), nv)
        wanted = structure.active()
        before = np.append(x[:size], np.where(free | (x[size:] > 0.0), x[size:], guess))[active] if k else None
        x = np.zeros(size + len(TERMS) * nv)
        x[active] = consistent_fit(R[:, :-1], R[:, -1], J0, guess[wanted], free[wanted], prior_weight, before)[0]
        rest = aim - A @ x[active]
        pi = x[:size]
        last = k == rounds - 1
        if gains:
            gain = x[size + 6 * nv :]
        if last:
            break
        deviation = _deviation(rest, samples, 1e-6 * scale)
        far = np.abs(rest) / np.maximum(deviation, 1e-300)
        weight = samples.moving * np.sqrt(np.minimum(1.0, HUBER / np.maximum(far, 1e-300)))
        if k >= rounds // 2:
            weight = weight * (far < FAR)
        if seek and k >= 1:
            late += _delay_step(samples, A, aim, weight / deviation, late)
            late = float(np.clip(late, -delay.most, delay.most))
        rigid = equations.rigid(pi)
        drives = equations.drive_columns(structure, rigid)
        if k < rounds - 2:
            structure = chosen_structure(samples.effort(late) - gain * rigid, drives, samples, weight, structure)
    own = x[size:].reshape(len(TERMS), nv)
    typical = np.concatenate([_typical(model, bodies), guess])[active]
    R = R[:-1, :-1]
    scatter, freedom = _scatter(A, rest, weight / deviation, R * typical, typical)
    coefficients = dict(zip(TERMS, own, strict=True))
    if not gains:
        coefficients["gain"] = gain
    used = samples.moving.any(axis=0)
    coefficients = {term: np.where(used, c, 1.0 if term == "gain" else 0.0) for term, c in coefficients.items()}
    return Fit(pi.reshape(-1, 10), coefficients, structure, late, deviation, R, scatter, freedom, active, rest)


def triangle(A: Array, aim: Array, weight: Array) -> Array:
    """Return the triangular factor (p + 1, p + 1) of equations A x = aim, weighed: all that there is to least squares.

    A is (n, nv, p), `aim` and `weight` are (n, nv). Each joint separately first, without the columns that are no part
    of it: most are not, and small factors leave little for the threads of a BLAS, which wait for each other at every
    column.
    """
    size = A.shape[-1] + 1
    parts = [np.zeros((size, size))]
    for j in range(A.shape[1]):
        rows = np.column_stack([A[:, j], aim[:, j]]) * weight[:, j, None]
        used = np.flatnonzero(rows.any(axis=0))
        R = np.linalg.qr(rows[:, used], mode="r")
        part = np.zeros((len(R), size))
        part[:, used] = R
        parts.append(part)
    return np.asarray(np.linalg.qr(np.concatenate(parts), mode="r"))


def least_squares(R: Array) -> Array:
    """Return the parameters (p,) that solve equations best, from their `triangle`; of least norm, scaled."""
    size = np.linalg.norm(R[:, :-1], axis=0)
    size = np.where(size > 0.0, size, 1.0)
    return np.asarray(np.linalg.lstsq(R[:, :-1] / size, R[:, -1], rcond=1e-9)[0] / size)


def robust_deviation(rest: Array, samples: Samples) -> Array:
    """Return the standard deviation (nv,) of what is left (n, nv) where joints move, but for what is rare."""
    found = np.array(
        [np.median(np.abs(r[m])) if m.any() else 0.0 for r, m in zip(rest.T, samples.moving.T, strict=True)]
    )
    return np.asarray(1.4826 * found)


def _deviation(rest: Array, samples: Samples, least: Array) -> Array:
    """Return a robust deviation of each joint's effort; neighbours share their noise, and count as fewer samples."""
    return np.asarray(np.maximum(robust_deviation(rest, samples) * np.sqrt(KEPT / OWN), least))


def _guesses(drives: Array, scale: Array, weight: Array) -> Array:
    """Return a size (7 nv,) of each coefficient: what makes a tenth of the effort; a gain of one."""
    size = np.sqrt(((drives * (weight > 0.0)[..., None]) ** 2).mean(axis=0))  # (nv, 7)
    guess = np.where(size > 0.0, 0.1 * scale[:, None] / np.maximum(size, 1e-9 * (1.0 + size)), 1.0).T
    guess[TERMS.index("gain")] = 1.0
    return np.asarray(guess.ravel())


def _delay_step(samples: Samples, A: Array, aim: Array, weight: Array, late: float) -> float:
    """Return by how much later efforts were recorded than was thought, from where joints keep their direction."""
    slope = (samples.effort(late + 1e-3) - samples.effort(late - 1e-3)) / 2e-3
    R = triangle(np.concatenate([A, -slope[..., None]], axis=-1), aim, weight * samples.steady)
    return float(least_squares(R)[-1])


def _typical(model: Model, bodies: list[int]) -> Array:
    """Return what parameters (10 k,) of bodies are like in size: m, sqrt(m I), I."""
    found = []
    for own in parameters_of(model, bodies):
        mass, size = max(float(own[0]), 1e-9), max(0.5 * float(own[4] + own[7] + own[9]), 1e-12)
        found.append(np.concatenate([[mass], np.full(3, np.sqrt(mass * size)), np.full(6, size)]))
    return np.concatenate(found)


def _scatter(A: Array, rest: Array, weight: Array, R: Array, typical: Array) -> tuple[Array, Array]:
    """Return the covariance (nv, p, p) of A^T noise, of each joint's as the residuals are, with memory of any kind.

    Spectra of residuals `rest` (n, nv), averaged over neighbouring frequencies, weigh those of A (n, nv, p); `weight`
    (n, nv) is of both, zero where equations do not count. R (p, p) is the triangular factor of A, weighed, for
    parameters in units of `typical` (p,). What the fit takes out of the noise is put back by frequency: most of it is
    where the motion is, as noise that lasts is. Of short recordings little is left there; how well what is returned is
    known, in degrees of freedom (nv,), is returned too (Satterthwaite, 1946).
    """
    from scipy.fft import next_fast_len, rfft

    n, nv, p = A.shape
    _, s, V = np.linalg.svd(R, full_matrices=False)
    # References hold what the recording determines less than they do: that takes nothing of the noise.
    taker = typical[:, None] * V.T / np.sqrt(s**2 + 1.0)
    length = next_fast_len(2 * n, real=True)
    total, freedom = np.zeros((nv, p, p)), np.ones(nv)
    for j in range(nv):
        kept = float((weight[:, j] > 0.0).sum())
        if not kept:
            continue
        used = np.flatnonzero(A[:, j].any(axis=0))
        waves = rfft(A[:, j, used] * weight[:, j, None], length, axis=0)
        power = np.abs(rfft(rest[:, j] * weight[:, j], length)) ** 2
        taken = (np.abs(waves @ taker[used]) ** 2).sum(axis=1) / kept
        left = np.maximum(1.0 - taken, 0.0)
        counted = np.maximum(_averaged(left), LEAST_LEFT)
        spectrum = _averaged(power / kept) / counted
        count = np.full(len(spectrum), 2.0)
        count[0] = 1.0
        count[-1] -= float(length % 2 == 0)
        weighed = waves * np.sqrt(count * spectrum / length)[:, None]
        total[j][np.ix_(used, used)] = weighed.real.T @ weighed.real + weighed.imag.T @ weighed.imag
        # Each power has two degrees of freedom, as far as it is left; half of the frequencies are independent.
        spread = (_averaged(taken / counted) ** 2 * spectrum**2 * left).sum()
        freedom[j] = max((taken * spectrum).sum() ** 2 / max(spread, 1e-300), 1.0)
    return total, freedom


def _averaged(spectrum: Array) -> Array:
    """Return means over neighbouring frequencies of a spectrum of twice as many as are independent."""
    from scipy.ndimage import convolve1d

    window = np.hanning(2 * NEIGHBOURS + 3)[1:-1]
    return np.asarray(convolve1d(spectrum, window / window.sum(), mode="mirror"))


def any_drive(run: Samples, j: int, delay: float = 0.0) -> Array:
    """Return columns (n, 13) of a joint's damping, dry friction by all Stribeck curves, rotor, offset, and of a delay.

    An effort that is recorded later by a delay is, to first order, less its rate times that.
    """
    rate = run.source.later(np.gradient(run.source.effort[:, [j]], run.source.step, axis=0), run.at, delay)
    friction = run.side[:, j], *run.bends[:, :, j]
    return np.column_stack([run.qd[:, j], *friction, run.qdd[:, j], np.ones(len(run.at)), rate])


def seconds_of(run: Samples) -> npt.NDArray[np.intp]:
    """Return in which second of a recording samples (n,) are: errors may hang together as long."""
    return np.asarray(run.source.time[run.at] - run.source.time[0]).astype(np.intp)


def orthogonal(columns: Array) -> Array:
    """Return orthonormal columns that reach as far as columns (n, p) do, but for round-off."""
    size = np.linalg.norm(columns, axis=0)
    U, s, _ = np.linalg.svd(columns / np.where(size > 0.0, size, 1.0), full_matrices=False)
    return np.asarray(U[:, s > _CUT * s.max(initial=0.0)])


def coefficient(others: Array, force: Array, aim: Array, block: npt.NDArray[np.intp]) -> tuple[float, Array, float]:
    """Return the coefficient of a force (n,) beside other columns, errors of it by blocks (k,), and what it explains.

    What other columns, orthonormal, explain of the force is taken out of it (Frisch, Waugh and Lovell); where nothing
    is left, errors are infinite. Errors are as each block of rows is without having been fitted (jackknife): short
    recordings look better than they are else. Explained is the part of the square of what the other columns leave.
    """
    own, rest = force - others @ (others.T @ force), aim - others @ (others.T @ aim)
    square, left = float(own @ own), float(rest @ rest)
    numbers = np.unique(block)
    if not square > (_CUT * np.linalg.norm(force)) ** 2:
        return 0.0, np.full(len(numbers), np.inf), 0.0
    found = float(own @ rest) / square
    rest = rest - own * found
    D = np.column_stack([others, own / np.sqrt(square)])
    scores = np.zeros(len(numbers))
    for k, number in enumerate(numbers):
        part = D[block == number]
        kept = np.eye(D.shape[1]) - part.T @ part
        scores[k] = np.linalg.lstsq(kept, part.T @ rest[block == number], rcond=_CUT)[0][-1]
    return found, scores / np.sqrt(square), found**2 * square / max(left, 1e-300)
