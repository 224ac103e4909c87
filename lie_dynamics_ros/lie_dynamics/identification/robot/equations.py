"""Efforts of drives, linear in inertial parameters and in coefficients of each joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...dynamics.derivatives.inverse_derivatives import torque_regressor
from ...model.model import Model
from .samples import Samples

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
    """Terms of the drives.

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

    Parameters
    ----------
    rows : ndarray, shape (n, p)
        Columns, weighed: the first has a coefficient of either sign, the last is what the others explain.
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
