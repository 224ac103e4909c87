"""Second derivatives of joint forces, in full and without what is zero for joints on different branches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ...arrays import Array, ArrayLike, Integers, Mask
from ...engine.width import LANES
from ...errors import InputError
from ...lie._arrays import as_numbers
from ...model import layout
from ...model.model import Model
from ...shown import shown
from ..kernels.derivatives.solved_second_derivatives import BLOCK

_NAMES = ("dq_dq", "dq_dqd", "dqd_dqd", "dq_dqdd")
#: Axes of each part that may be swapped.
_SWAPPED = {"dq_dq": (1, 2), "dq_dqd": None, "dqd_dqd": (1, 2), "dq_dqdd": (0, 2)}


@shown
@dataclass(frozen=True, eq=False)
class SecondDerivatives:
    """Second derivatives of joint forces: of one number, (..., nv, nv), or of all, (..., nv, nv, nv), the force first.

    Derivatives along q are along `Model.integrate`, symmetric: those of ``t -> integrate(q, t)`` at t = 0. Where a
    joint is a ball or free, the derivative along one coordinate after the other differs from it by half the derivative
    along the bracket of the two, and is not symmetric.

    Attributes
    ----------
    dq_dq : ndarray
        Along q_j and q_k; symmetric in the last two axes.
    dq_dqd : ndarray
        Along q_j and qd_k.
    dqd_dqd : ndarray
        Along qd_j and qd_k; symmetric.
    dq_dqdd : ndarray
        Along q_j and qdd_k: the derivative of column k of the mass matrix along q_j.
    """

    dq_dq: Array
    dq_dqd: Array
    dqd_dqd: Array
    dq_dqdd: Array


@dataclass(frozen=True, eq=False)
class Pattern:
    """Which entries are kept: those of a part of the values, and forces and coordinates i, j, k, (3, entries)."""

    nv: int
    parts: dict[str, slice]
    indices: Integers

    @cached_property
    def sums(self) -> dict[str, tuple[Integers, Integers, Integers, Integers]]:
        """Of each part what a contraction adds up: entries, their forces, where sums begin, and their places."""
        found = {}
        for name, part in self.parts.items():
            i, j, k = self.indices[:, part]
            entry, force, place = np.arange(i.size), i, j * self.nv + k
            swapped = _SWAPPED[name]
            if swapped is not None:
                other = self.indices[:, part].copy()
                other[list(swapped)] = other[list(swapped[::-1])]
                own = np.flatnonzero((other != self.indices[:, part]).any(axis=0))
                entry = np.concatenate([entry, entry[own]])
                force = np.concatenate([force, other[0, own]])
                place = np.concatenate([place, (other[1] * self.nv + other[2])[own]])
            order = np.argsort(place, kind="stable")
            places, starts = np.unique(place[order], return_index=True)
            found[name] = entry[order], force[order], starts, places
        return found

    @cached_property
    def solved(self) -> tuple[Integers, ...]:
        """Lists for the kernel `solved_second_derivatives`, by the coordinate k of entries along q_k, or qd_k of two.

        Where those of each k begin, (4, nv + 1), in the last four; vectors of a row of each table; rows of joint forces
        in it; coordinates m along qd_k qd_m; what it holds, an entry, and twice its place, 1 more for half of it; and
        derivatives of the mass matrix, an entry, its row of the table, and the column.
        """
        n = self.nv
        line = LANES * (-(-n // LANES))
        parts = {name: (np.arange(part.start, part.stop), *self.indices[:, part]) for name, part in self.parts.items()}
        e, i, j, m = parts["dq_dqdd"]
        other = i != m
        bent = np.stack([np.concatenate([e, e[other]]), np.concatenate([j, j[other]]), np.concatenate([i, m[other]]),
                         np.concatenate([m, i[other]])])  # fmt: skip
        e, i, m, k = parts["dqd_dqd"]
        pairs = np.zeros((n, n), np.bool_)
        pairs[k, m] = True
        added = [np.stack([e, k, i, 3 * line + (np.cumsum(pairs, axis=1) - 1)[k, m], np.zeros_like(e)])]
        e, i, m, k = parts["dq_dq"]
        added.append(np.stack([e, k, i, m, k == m]))
        e, i, k, m = parts["dq_dqd"]
        added.append(np.stack([e, k, i, line + m, np.zeros_like(e)]))
        sums = np.concatenate(added, axis=1)
        used = np.zeros((n, n), np.bool_)
        used[sums[1], sums[2]] = used[bent[1], bent[2]] = True
        place = np.cumsum(used, axis=1) - 1
        sums = sums[:, np.lexsort((sums[3], sums[2], sums[1]))]
        bent = bent[:, np.lexsort((bent[3], bent[2], bent[1]))]
        counts = [used.sum(axis=1), pairs.sum(axis=1)] + [np.bincount(x[1], minlength=n) for x in (sums, bent)]
        starts = np.concatenate([np.zeros((4, 1), np.int64), np.cumsum(counts, axis=1)], axis=1)
        vectors = 3 * line // LANES + (-(-counts[1] // LANES))
        widths = BLOCK * (-(-vectors // BLOCK))
        held = 2 * (place[sums[1], sums[2]] * widths[sums[1]] * LANES + sums[3]) + sums[4]
        bent[2] = place[bent[1], bent[2]]
        lists = [starts, widths, np.nonzero(used)[1], np.nonzero(pairs)[1]]
        lists += [np.stack([sums[0], held], axis=1), bent[[0, 2, 3]].T]
        return tuple(np.ascontiguousarray(x, np.int64) for x in lists)


@shown
@dataclass(frozen=True, eq=False)
class PackedSecondDerivatives:
    """Second derivatives of all joint forces that the tree leaves: those of coordinates and forces on one branch.

    Attributes
    ----------
    values : ndarray, shape (..., entries)
        Entries of ``dq_dq``, then of ``dq_dqd``, ``dqd_dqd`` and ``dq_dqdd``.
    pattern : Pattern
        What they are, the same object for all results of a model; use `indices` and `part`.
    """

    values: Array
    pattern: Pattern

    @property
    def indices(self) -> Integers:
        """Force i and coordinates j and k of each entry, (3, entries).

        Entries of ``dq_dq`` and ``dqd_dqd`` stand for j and k swapped as well, those of ``dq_dqdd``, derivatives of
        entries (i, k) of the mass matrix along q_j, for i and k swapped.
        """
        return self.pattern.indices

    def part(self, name: str) -> slice:
        """Return where in `values` and `indices` the entries of "dq_dq", "dq_dqd", "dqd_dqd" or "dq_dqdd" are."""
        if name not in self.pattern.parts:
            raise InputError(f"part: one of {', '.join(_NAMES)} is expected, got {name!r}", name="part", value=name)
        return self.pattern.parts[name]

    def dense(self) -> SecondDerivatives:
        """Return all entries, (..., nv, nv, nv) each."""
        n, found = self.pattern.nv, []
        for name, part in self.pattern.parts.items():
            tensor = np.zeros((*self.values.shape[:-1], n, n, n), self.values.dtype)
            index: Any = tuple(self.indices[:, part])
            tensor[(..., *index)] = self.values[..., part]
            swapped = _SWAPPED[name]
            if swapped is not None:
                other = list(index)
                other[swapped[0]], other[swapped[1]] = index[swapped[1]], index[swapped[0]]
                tensor[(..., *other)] = self.values[..., part]
            found.append(tensor)
        return SecondDerivatives(*found)

    def contracted(self, vector: ArrayLike) -> SecondDerivatives:
        """Return the second derivatives of ``vector . tau`` for vectors (..., nv): (..., nv, nv) each."""
        n, y = self.pattern.nv, as_numbers(vector, "vector")
        if y.ndim == 0 or y.shape[-1] != n:
            raise InputError(f"vector: shape (..., {n}) is expected, got {y.shape}", name="vector", value=y.shape)
        found = []
        for name, part in self.pattern.parts.items():
            entry, force, starts, places = self.pattern.sums[name]
            products = self.values[..., part][..., entry] * y[..., force]
            matrix = np.zeros((*products.shape[:-1], n * n), products.dtype)
            if places.size > 0:
                matrix[..., places] = np.add.reduceat(products, starts, axis=-1)
            found.append(matrix.reshape(*products.shape[:-1], n, n))
        return SecondDerivatives(*found)


def gathered(tensors: SecondDerivatives, pattern: Pattern) -> PackedSecondDerivatives:
    """Return what a pattern keeps of all entries."""
    whole = (getattr(tensors, name)[(..., *pattern.indices[:, part])] for name, part in pattern.parts.items())
    return PackedSecondDerivatives(np.concatenate(list(whole), axis=-1), pattern)


def pattern_of(model: Model) -> Pattern:
    """Return the pattern of a model, for a plain one in the order of the kernel."""
    tree = np.ascontiguousarray(model.rows[1:, [layout.PARENT, layout.FIRST, layout.LAST]], dtype=np.int64)
    if model.plain:
        return _plain_pattern(tree.tobytes())
    rates = None if model.coupling is None else (model.coupling.rates != 0.0).tobytes()
    return _any_pattern(tree.tobytes(), model.nv, rates)


def _tree(key: bytes) -> tuple[list[list[int]], Integers, Integers]:
    """Return the rows of each row's branch, from the last of its joint up, and first and last rows of joints."""
    parent, first, last = np.frombuffer(key, np.int64).reshape(-1, 3).T - 1
    branches = []
    for row in range(parent.size):
        branch, j = [], int(last[row])
        while j >= 0:
            branch.append(j)
            j = int(parent[j])
        branches.append(branch)
    return branches, first, last


@lru_cache(maxsize=64)
def _plain_pattern(key: bytes) -> Pattern:
    branches, first, last = _tree(key)
    n = len(branches)
    related = _related(branches)
    found: list[list[Integers]] = [[], [], [], []]
    for k in range(n):
        branch, forces = np.array(branches[k]), np.flatnonzero(related[k])
        above, up_to = branch[last[k] - first[k] + 1 :], branch[last[k] - k :]
        place = {int(r): a for a, r in enumerate(above)}
        rest = [above[place.get(int(r), 0) :] for r in forces]
        one, own = np.full(branch.size, k), np.full(above.size, k)
        pairs = np.stack([up_to, one[: up_to.size]])
        deep = branch[: branch.size - 1 - last[branch[-1]] + branch[-1]]  # beyond the first joint
        both = np.stack([np.concatenate([deep, own]), np.concatenate([one[: deep.size], above])])
        for part, jk in ((0, pairs), (1, both), (2, pairs)):
            found[part].append(np.concatenate([np.repeat(forces, jk.shape[1])[None], np.tile(jk, forces.size)]))
        last_axis = np.concatenate(rest)
        force = np.repeat(forces, [x.size for x in rest])
        found[3].append(np.stack([force, np.full(force.size, k), last_axis]))
    return _pattern(n, [np.concatenate(x, axis=1) if x else np.zeros((3, 0), np.int64) for x in found])


def _related(branches: list[list[int]]) -> Mask:
    """Return which rows are on one branch."""
    related = np.zeros((len(branches), len(branches)), np.bool_)
    for k, branch in enumerate(branches):
        related[k, branch] = related[branch, k] = True
    return related


@lru_cache(maxsize=64)
def _any_pattern(key: bytes, nv: int, rates: bytes | None) -> Pattern:
    """Return the pattern of all forces and coordinates that are on one branch, or coupled to such joints."""
    branches, _, _ = _tree(key)
    n, related = len(branches), _related(branches)
    whole = related[:, :, None] & related[:, None, :] & related
    if rates is not None:
        coupled = np.frombuffer(rates, np.bool_).reshape(n, nv).astype(np.float64)
        whole = np.einsum("ijk,ia,jb,kc->abc", whole.astype(np.float64), coupled, coupled, coupled, optimize=True) > 0.0
    i, j, k = np.argwhere(whole).T
    all_of_them = np.stack([i, j, k])
    half = all_of_them[:, j <= k]
    return _pattern(nv, [half, all_of_them, half, all_of_them[:, i <= k]])


def _pattern(nv: int, indices: list[Integers]) -> Pattern:
    ends = np.cumsum([0] + [x.shape[1] for x in indices])
    whole = np.concatenate(indices, axis=1)
    whole.flags.writeable = False
    parts = {name: slice(int(a), int(b)) for name, a, b in zip(_NAMES, ends[:-1], ends[1:], strict=True)}
    return Pattern(nv, parts, whole)
