"""Results of second derivatives, in full and without what is zero for the tree or stands there twice."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar, cast

import numpy as np

from ...arrays import Array, ArrayLike, Integers, Mask
from ...engine.width import LANES
from ...errors import InputError
from ...lie._arrays import as_numbers
from ...model import layout
from ...model.model import Model
from ...shown import shown

#: Axes of each part that may be swapped.
_SWAPPED = {"dq_dq": (1, 2), "dq_dqd": None, "dqd_dqd": (1, 2), "dq_dqdd": (0, 2), "dq_dtau": (0, 2)}

Whole = TypeVar("Whole")


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


@shown
@dataclass(frozen=True, eq=False)
class ForwardSecondDerivatives:
    """Second derivatives of accelerations: of one number, (..., nv, nv), or of all, (..., nv, nv, nv).

    The acceleration comes first. Derivatives along q are along `Model.integrate`, symmetric, as in `SecondDerivatives`.

    Attributes
    ----------
    dq_dq, dq_dqd, dqd_dqd : ndarray
        As those of `SecondDerivatives`.
    dq_dtau : ndarray
        Along q_j and tau_k: the derivative of column k of the inverse mass matrix along q_j.
    """

    dq_dq: Array
    dq_dqd: Array
    dqd_dqd: Array
    dq_dtau: Array


@shown
@dataclass(frozen=True, eq=False)
class HybridSecondDerivatives:
    """Second derivatives of what hybrid dynamics finds: (..., nv, nv) of one number, (..., nv, nv, nv) of all.

    Entry i of the first axis is the joint force where the acceleration is prescribed, else the acceleration. Along q
    they are along `Model.integrate`, symmetric, as in `SecondDerivatives`.

    Attributes
    ----------
    dq_dq, dq_dqd, dqd_dqd : ndarray
        As those of `SecondDerivatives`.
    dq_dgiven : ndarray
        Along q_j and what is given at coordinate k: qdd_k where it is prescribed, else tau_k.
    """

    dq_dq: Array
    dq_dqd: Array
    dqd_dqd: Array
    dq_dgiven: Array


@dataclass(frozen=True, eq=False)
class Pattern:
    """Which entries are kept: those of a part of the values, numbers i, j, k, (3, entries), and of which class."""

    nv: int
    parts: dict[str, slice]
    indices: Integers
    kind: type[Any]

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


@shown
@dataclass(frozen=True, eq=False)
class PackedSecondDerivatives(Generic[Whole]):
    """Second derivatives of all joint forces, or accelerations, that the tree leaves, those that are equal once.

    Attributes
    ----------
    values : ndarray, shape (..., entries)
        Entries of ``dq_dq``, then of ``dq_dqd``, ``dqd_dqd`` and ``dq_dqdd``, or ``dq_dtau``.
    pattern : Pattern
        What they are, the same object for all results of a model; use `indices` and `part`.
    """

    values: Array
    pattern: Pattern

    @property
    def indices(self) -> Integers:
        """Force or acceleration i and coordinates j and k of each entry, (3, entries).

        Entries of ``dq_dq`` and ``dqd_dqd`` stand for j and k swapped as well, those of ``dq_dqdd`` and ``dq_dtau``,
        derivatives of entries (i, k) of the mass matrix or its inverse along q_j, for i and k swapped.
        """
        return self.pattern.indices

    def part(self, name: str) -> slice:
        """Return where in `values` and `indices` the entries of "dq_dq", "dq_dqd" and so on are."""
        if name not in self.pattern.parts:
            known = ", ".join(self.pattern.parts)
            raise InputError(f"part: one of {known} is expected, got {name!r}", name="part", value=name)
        return self.pattern.parts[name]

    def dense(self) -> Whole:
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
        return cast(Whole, self.pattern.kind(*found))

    def contracted(self, vector: ArrayLike) -> Whole:
        """Return those of the product with vectors (..., nv): (..., nv, nv) each."""
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
        return cast(Whole, self.pattern.kind(*found))


def gathered(tensors: Whole, pattern: Pattern) -> PackedSecondDerivatives[Whole]:
    """Return what a pattern keeps of all entries."""
    whole = (getattr(tensors, name)[(..., *pattern.indices[:, part])] for name, part in pattern.parts.items())
    return PackedSecondDerivatives(np.concatenate(list(whole), axis=-1), pattern)


def _key(model: Model) -> bytes:
    tree = np.ascontiguousarray(model.rows[1:, [layout.PARENT, layout.FIRST, layout.LAST]], dtype=np.int64)
    return tree.tobytes()


def is_tree(model: Model) -> bool:
    """Return whether the coordinates are those of the rows, and their screws those of the library."""
    return model.coupling is None and not model.custom_joints


def pattern_of(model: Model) -> Pattern:
    """Return the pattern of joint forces, of a tree in the order of the kernel."""
    if is_tree(model):
        return _tree_pattern(_key(model))
    rates = None if model.coupling is None else (model.coupling.rates != 0.0).tobytes()
    return _any_pattern(_key(model), model.nv, rates)


def _tree(key: bytes) -> tuple[list[list[int]], Integers, Integers, Integers]:
    """Return the rows of each row's branch, from its joint's last up, and first and last rows and bases of joints."""
    parent, first, last = np.frombuffer(key, np.int64).reshape(-1, 3).T - 1
    branches = []
    for row in range(parent.size):
        branch, j = [], int(last[row])
        while j >= 0:
            branch.append(j)
            j = int(parent[j])
        branches.append(branch)
    return branches, first, last, parent[first]


def _blocks(key: bytes) -> list[list[tuple[Integers, Integers]]]:
    """Return, for q q, q qd and qd qd, of each row the forces and the pairs j, k (2, pairs) of the kernel's entries."""
    branches, first, last, _ = _tree(key)
    related = _related(branches)
    found: list[list[tuple[Integers, Integers]]] = [[], [], []]
    for k, rows in enumerate(branches):
        branch, forces = np.array(rows), np.flatnonzero(related[k])
        above, up_to = branch[last[k] - first[k] + 1 :], branch[last[k] - k :]
        deep = branch[: branch.size - 1 - last[branch[-1]] + branch[-1]]  # beyond the first joint
        one, own = np.full(branch.size, k), np.full(above.size, k)
        pairs = np.stack([up_to, one[: up_to.size]])
        both = np.stack([np.concatenate([deep, own]), np.concatenate([one[: deep.size], above])])
        for part, jk in enumerate((pairs, both, pairs)):
            found[part].append((forces, jk))
    return found


@lru_cache(maxsize=64)
def _tree_pattern(key: bytes) -> Pattern:
    branches, first, last, _ = _tree(key)
    found = [[np.concatenate([np.repeat(forces, jk.shape[1])[None], np.tile(jk, forces.size)]) for forces, jk in part]
             for part in _blocks(key)]  # fmt: skip
    found.append([])
    for k, related in enumerate(_related(branches)):
        above = np.array(branches[k][last[k] - first[k] + 1 :], np.int64)
        place = {int(r): a for a, r in enumerate(above)}
        rest = [above[place.get(int(r), 0) :] for r in np.flatnonzero(related)]
        force = np.repeat(np.flatnonzero(related), [x.size for x in rest])
        found[3].append(np.stack([force, np.full(force.size, k), np.concatenate(rest)]))
    whole = [np.concatenate(x, axis=1) if x else np.zeros((3, 0), np.int64) for x in found]
    return _pattern(len(branches), whole, SecondDerivatives)


def _related(branches: list[list[int]]) -> Mask:
    """Return which rows are on one branch."""
    related = np.zeros((len(branches), len(branches)), np.bool_)
    for k, branch in enumerate(branches):
        related[k, branch] = related[branch, k] = True
    return related


@lru_cache(maxsize=64)
def _any_pattern(key: bytes, nv: int, rates: bytes | None) -> Pattern:
    """Return the pattern of all forces and coordinates that are on one branch, or coupled to such joints."""
    branches = _tree(key)[0]
    n, related = len(branches), _related(branches)
    whole = related[:, :, None] & related[:, None, :] & related
    if rates is not None:
        coupled = np.frombuffer(rates, np.bool_).reshape(n, nv).astype(np.float64)
        whole = np.einsum("ijk,ia,jb,kc->abc", whole.astype(np.float64), coupled, coupled, coupled, optimize=True) > 0.0
    i, j, k = np.argwhere(whole).T
    all_of_them = np.stack([i, j, k])
    half = all_of_them[:, j <= k]
    return _pattern(nv, [half, all_of_them, half, all_of_them[:, i <= k]], SecondDerivatives)


def _pattern(nv: int, indices: list[Integers], kind: type[Any]) -> Pattern:
    ends = np.cumsum([0] + [x.shape[1] for x in indices])
    whole = np.concatenate(indices, axis=1)
    whole.flags.writeable = False
    names = [field.name for field in fields(kind)]
    parts = {name: slice(int(a), int(b)) for name, a, b in zip(names, ends[:-1], ends[1:], strict=True)}
    return Pattern(nv, parts, whole, kind)


@dataclass(frozen=True, eq=False)
class Solving:
    """What the kernel `solved_second_derivatives` is told of forces, and of what leaves, all or what is kept."""

    pattern: Pattern
    forces: tuple[Integers, Integers, Integers]
    whole: tuple[Integers, Integers]
    kept: tuple[Integers, Integers]


@lru_cache(maxsize=64)
def _solving(key: bytes) -> Solving:
    branches, _, _, base = _tree(key)
    n, related = len(branches), _related(branches)
    width = LANES * -(-n // LANES)
    zero, moves = n * width, np.repeat(base[:, None] >= 0, n, axis=1)
    blocks: list[list[int]] = []
    forces: list[int] = []
    targets: list[int] = []
    begin = 0
    for part in _blocks(key):
        for force, (j, k) in part:
            rows, columns = len(forces), len(targets)
            forces.extend(force)
            targets.extend(j * width + k)
            targets.extend([zero + 1] * (-j.size % LANES))
            blocks.append([begin, j.size, rows, len(forces), columns])
            begin += j.size * force.size
    blocks.append([_tree_pattern(key).indices.shape[1]] + 4 * [0])
    j, k = np.indices((n, n))
    nothing, one = np.full((n, n), -1), np.where(moves, zero + 1 + k, zero)
    here, there = j * width + k, k * width + j
    pair = np.where(related, np.minimum(here, there), zero)
    runs = [(here, there), (one, np.where(related & moves, here, -1)), (pair, nothing), (one, nothing)]
    masks = _kept(related, moves)
    every = [np.ones_like(related)] * 4
    counts = [np.full((n, n), n)] * 3

    def leave(masks: list[Mask], last: Integers) -> tuple[Integers, Integers]:
        listed = [np.stack([a[mask], b[mask], c[mask]], axis=1)
                  for (a, b), c, mask in zip(runs, [*counts, last], masks, strict=True)]  # fmt: skip
        ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), *(mask.sum(axis=1) for mask in masks)]))
        return np.concatenate(listed), ends

    return Solving(
        _pattern_of_runs(n, masks),
        (np.array(blocks), width // LANES * np.array(forces, np.int64), width // LANES * np.array(targets, np.int64)),
        leave(every, counts[0]),
        leave(masks, k + 1),
    )


def _kept(related: Mask, moves: Mask) -> list[Mask]:
    """Return which pairs of coordinates a pattern of accelerations keeps, for each part."""
    half = np.triu(np.ones_like(related))
    return [half, moves, related & half, moves]


def _pattern_of_runs(n: int, masks: list[Mask]) -> Pattern:
    """Return the pattern of all accelerations for pairs of coordinates; of those along q and tau up to that of tau."""
    found = []
    for part, mask in enumerate(masks):
        j, k = np.nonzero(mask)
        counts = k + 1 if part == 3 else np.full(k.size, n)
        i = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        found.append(np.stack([i, np.repeat(j, counts), np.repeat(k, counts)]))
    return _pattern(n, found, ForwardSecondDerivatives)


def solving_of(model: Model) -> Solving:
    """Return what the kernel is told of a tree."""
    return _solving(_key(model))


def accelerations_of(model: Model) -> Pattern:
    """Return the pattern of accelerations."""
    if is_tree(model):
        return solving_of(model).pattern
    every = np.ones((model.nv, model.nv), np.bool_)
    return _pattern_of_runs(model.nv, _kept(every, every))
