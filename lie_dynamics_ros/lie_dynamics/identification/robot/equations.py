"""Efforts of drives, linear in inertial parameters and in coefficients of each joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...dynamics.derivatives.regressor import torque_regressor
from ...model.model import Model
from .samples import Samples

Array = npt.NDArray[np.float64]

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
    """Which terms the drives have.

    Attributes
    ----------
    bend : ndarray of int, shape (nv,)
        Which of the Stribeck speeds; -1 for none.
    load : ndarray of bool, shape (nv,)
        Whether dry friction grows with the load.
    gains : bool
        Whether the drives' gains are estimated.
    """

    bend: npt.NDArray[np.intp]
    load: npt.NDArray[np.bool_]
    gains: bool

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

    Attributes
    ----------
    Y : ndarray, shape (n, nv, 10 k)
        Columns of the bodies that are identified.
    known : ndarray, shape (n, nv)
        Joint forces of all other bodies.
    """

    def __init__(self, model: Model, samples: Samples, bodies: list[int]) -> None:
        Y = torque_regressor(model, samples.q, samples.qd, samples.qdd)
        wanted = (10 * np.array(bodies, dtype=np.intp)[:, None] + np.arange(10)).ravel()
        own = np.array([model.inertia(b).parameters() for b in range(model.n_bodies)]).reshape(-1, 10)
        own[bodies] = 0.0
        self.samples = samples
        self.Y, self.known = np.asarray(Y[..., wanted]), np.asarray(Y @ own.ravel())

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

    Parameters
    ----------
    rest : ndarray, shape (n, nv)
        Efforts less those of the bodies.
    drives : ndarray, shape (n, nv, 7)
        `Equations.drive_columns`.
    samples : Samples
    weight : ndarray, shape (n, nv)
        Of the equations.
    before : Structure
    """
    bend, load = before.bend.copy(), before.load.copy()
    for j in range(rest.shape[1]):
        y = rest[:, j] * weight[:, j]
        columns = drives[:, j] * weight[:, j, None]
        plain = columns[:, [0, 1, 4, 5]]
        errors = [_unseen_error(plain, y)[0]]
        for b in samples.bends:
            error, found = _unseen_error(np.column_stack([plain, b[:, j] * weight[:, j]]), y)
            errors.append(error if found[4] <= MOST_STATIC * found[1] else np.inf)
        best = int(np.argmin(errors))
        bend[j] = best - 1 if errors[best] < (1.0 - WORTH) * errors[0] else -1
        if bend[j] >= 0:
            plain = np.column_stack([plain, samples.bends[bend[j], :, j] * weight[:, j]])
        # Where bodies get next to nothing, any growth with it explains the same.
        told = MOST_LOAD * columns[:, 3].std() > LEAST_LOAD * samples.source.effort[samples.at, j].std()
        more = np.column_stack([plain, columns[:, 3]])
        load[j] = bool(told) and _unseen_error(more, y)[0] < (1.0 - WORTH) * _unseen_error(plain, y)[0]
    return Structure(bend, load, before.gains)


def _unseen_error(columns: Array, y: Array) -> tuple[float, Array]:
    """Return the root mean square of y that coefficients, found without it, leave, and those found with all of it.

    Parts of the time take turns. Coefficients are not negative but for the fourth, the offset.
    """
    from scipy.optimize import nnls

    both = np.column_stack([columns, -columns[:, 3]])
    size = np.linalg.norm(both, axis=0)
    both = both / np.where(size > 0.0, size, 1.0)
    total = 0.0
    squares, mixed = [], []
    parts = np.array_split(np.arange(len(y)), FOLDS)
    for part in parts:
        squares.append(both[part].T @ both[part])
        mixed.append(both[part].T @ y[part])
    H, g = np.sum(squares, axis=0), np.sum(mixed, axis=0)

    def solved(square: Array, mix: Array) -> Array:
        root = np.linalg.cholesky(square + 1e-9 * np.eye(len(square)))
        return np.asarray(nnls(root.T, np.linalg.solve(root, mix))[0])

    for part, square, mix in zip(parts, squares, mixed, strict=True):
        total += float(((y[part] - both[part] @ solved(H - square, g - mix)) ** 2).sum())
    all_of_it = solved(H, g) / np.where(size > 0.0, size, 1.0)
    return float(np.sqrt(total / max(len(y), 1))), all_of_it[: columns.shape[1]]
