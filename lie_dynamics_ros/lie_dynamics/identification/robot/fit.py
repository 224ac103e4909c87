"""The fit: bodies that can exist, friction, rotors, gains and the delay of efforts, robust against outliers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...model.model import Model
from ..consistency import references
from ..consistent_fit import consistent_fit
from .equations import TERMS, Equations, Structure, chosen_structure
from .samples import KEPT, OWN, Samples

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


@dataclass(frozen=True, eq=False)
class Fit:
    """Result, with the equations it was found from.

    Attributes
    ----------
    parameters : ndarray, shape (k, 10)
        Of the bodies that were identified.
    coefficients : dict of str to ndarray (nv,)
        By `TERMS`; friction, damping, armature and offset as efforts are measured.
    structure : Structure
    delay : float
        By which efforts were recorded late [s].
    deviation : ndarray, shape (nv,)
        Of an effort, for noise without memory from sample to sample [as measured].
    R : ndarray
        Triangular factor of the equations, weighed, of active parameters.
    scatter : ndarray
        Covariance of A^T residual, weighed, for noise that has memory: see `_scatter`.
    active : ndarray of bool
        Which of 10 k + 7 nv parameters.
    rest : ndarray, shape (n, nv)
        Efforts less what the fit predicts.
    """

    parameters: Array
    coefficients: dict[str, Array]
    structure: Structure
    delay: float
    deviation: Array
    R: Array
    scatter: Array
    active: npt.NDArray[np.bool_]
    rest: Array

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
        inner = self.scatter * np.outer(typical, typical) + np.eye(len(typical))
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


def fit_robot(
    model: Model,
    samples: Samples,
    bodies: list[int],
    gains: bool = False,
    prior_weight: float = 1.0,
    delay: float | None = None,
    tell: Callable[[float], None] = lambda part: None,
    rounds: int = ROUNDS,
    start: float = 0.0,
    most_delay: float = MOST_DELAY,
) -> Fit:
    """Return the fit to samples; see `identify_robot` for what it minimises.

    The delay is looked for from ``start`` on and within ``most_delay`` [s] where it is not given. Joints that nowhere
    move, as those that are left out, have no coefficients but a gain of one.
    """
    equations, nv = Equations(model, samples, bodies), model.nv
    size = equations.Y.shape[-1]
    J0 = references(model, bodies)
    pi = np.array([model.inertia(b).parameters() for b in bodies]).ravel()
    structure, gain = Structure.plain(nv, gains), np.ones(nv)
    seek, late = delay is None, start if delay is None else delay
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
            late = float(np.clip(late, -most_delay, most_delay))
        rigid = equations.rigid(pi)
        drives = equations.drive_columns(structure, rigid)
        if k < rounds - 2:
            structure = chosen_structure(samples.effort(late) - gain * rigid, drives, samples, weight, structure)
    own = x[size:].reshape(len(TERMS), nv)
    typical = np.concatenate([_typical(model, bodies), guess])[active]
    R = R[:-1, :-1]
    scatter = _scatter(A, rest, weight / deviation, R * typical, typical)
    coefficients = dict(zip(TERMS, own, strict=True))
    if not gains:
        coefficients["gain"] = gain
    used = samples.moving.any(axis=0)
    coefficients = {term: np.where(used, c, 1.0 if term == "gain" else 0.0) for term, c in coefficients.items()}
    return Fit(pi.reshape(-1, 10), coefficients, structure, late, deviation, R, scatter, active, rest)


def triangle(A: Array, aim: Array, weight: Array) -> Array:
    """Return the triangular factor (p + 1, p + 1) of equations A x = aim, weighed: all that there is to least squares.

    Each joint separately first, without the columns that are no part of it: most are not, and small factors leave
    little for the threads of a BLAS, which wait for each other at every column.

    Parameters
    ----------
    A : ndarray, shape (n, nv, p)
    aim, weight : ndarray, shape (n, nv)
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
    for b in bodies:
        own = model.inertia(b).parameters()
        mass, size = max(float(own[0]), 1e-9), max(0.5 * float(own[4] + own[7] + own[9]), 1e-12)
        found.append(np.concatenate([[mass], np.full(3, np.sqrt(mass * size)), np.full(6, size)]))
    return np.concatenate(found)


def _scatter(A: Array, rest: Array, weight: Array, R: Array, typical: Array) -> Array:
    """Return the covariance (p, p) of A^T noise, noise of each joint as the residuals are, with memory of any kind.

    Spectra of residuals, averaged over neighbouring frequencies, weigh those of A. What the fit takes out of the noise
    is put back by frequency: most of it is where the motion is, as noise that lasts is.

    Parameters
    ----------
    A : ndarray, shape (n, nv, p)
        Equations.
    rest : ndarray, shape (n, nv)
        Residuals.
    weight : ndarray, shape (n, nv)
        Of both; zero where equations do not count.
    R : ndarray, shape (p, p)
        Triangular factor of A, weighed, for parameters in units of ``typical`` (p,).
    """
    from scipy.fft import next_fast_len, rfft

    n, nv, p = A.shape
    _, s, V = np.linalg.svd(R, full_matrices=False)
    # References hold what the recording tells less than they do: that takes nothing of the noise.
    taker = typical[:, None] * V.T / np.sqrt(s**2 + 1.0)
    length = next_fast_len(2 * n, real=True)
    total = np.zeros((p, p))
    for j in range(nv):
        kept = float((weight[:, j] > 0.0).sum())
        if not kept:
            continue
        used = np.flatnonzero(A[:, j].any(axis=0))
        waves = rfft(A[:, j, used] * weight[:, j, None], length, axis=0)
        power = np.abs(rfft(rest[:, j] * weight[:, j], length)) ** 2
        left = np.maximum(1.0 - (np.abs(waves @ taker[used]) ** 2).sum(axis=1) / kept, 0.0)
        spectrum = _averaged(power / kept) / np.maximum(_averaged(left), LEAST_LEFT)
        count = np.full(len(spectrum), 2.0)
        count[0] = 1.0
        count[-1] -= float(length % 2 == 0)
        weighed = waves * np.sqrt(count * spectrum / length)[:, None]
        total[np.ix_(used, used)] += weighed.real.T @ weighed.real + weighed.imag.T @ weighed.imag
    return total


def _averaged(spectrum: Array) -> Array:
    """Return means over neighbouring frequencies of a spectrum of twice as many as are independent."""
    from scipy.ndimage import convolve1d

    window = np.hanning(2 * NEIGHBOURS + 3)[1:-1]
    return np.asarray(convolve1d(spectrum, window / window.sum(), mode="mirror"))
