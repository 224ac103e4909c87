"""Linear systems of a tile dealt to its states: lanes that held one state each then hold columns of one state."""

from __future__ import annotations

import numpy as np

from .helpers import COMPILED, HELPER, outline
from .lanes import LANES


def share_space(n, like):
    """Allocate `n` vectors of columns for each state of a tile like `like`; in plain Python, for all as one."""
    return np.empty((1, n, LANES, *like.shape[1:]), like.dtype)


def state_of(batch, s):
    """Return the results of state `s`."""
    return batch.T


def numbers_of(shares, s):
    """Return what state `s` was dealt as a flat array."""
    return shares[0].reshape(-1, shares.shape[-1])


def vectors_of(shares, s):
    """Return what state `s` was dealt as vectors of columns."""
    return shares[0]


def transpose_systems(related, m, r, whole, ms, sides):
    """Deal a tile's mass matrix and right hand sides, where `related` lists them, to the states.

    Of the mass matrix only the lower half, and of the third block the upper, unless `whole`.
    """
    groups = int(related[0]) - 1
    ms[0] = m.reshape(ms.shape[1:])
    vectors = r.reshape(-1, LANES, r.shape[-1])
    for c in range(groups):
        for a in range(related[c], related[c + 1], 2):
            for b in range(3):
                sides[0, 3 * ((a - related[0]) // 2) + b] = vectors[(3 * related[a] + b) * groups + c]


if COMPILED:
    from numba import njit

    from .access import aligned_numbers
    from .blocks import store_block

    #: For helpers that allocate, or hand out parts of arrays, and so count references; see `compile.inline`.
    _counting = njit(**{**HELPER, "_nrt": True})

    @_counting
    def share_space(n, like):  # noqa: D103
        return aligned_numbers(LANES * n).reshape((LANES, n, LANES))

    @_counting
    def state_of(batch, s):  # noqa: D103
        return batch[s]

    @_counting
    def numbers_of(shares, s):  # noqa: D103
        return shares[s].reshape(shares.shape[1] * shares.shape[2])

    @_counting
    def vectors_of(shares, s):  # noqa: D103
        return shares[s]

    @outline
    def transpose_systems(related, m, r, whole, ms, sides):  # noqa: D103
        origin = related[0]
        groups = origin - 1
        to_m, to_side = ms.reshape(ms.size), sides.reshape(sides.size)
        for c in range(groups):
            for a in range(related[c], related[c + 1], 2):
                k = related[a] * groups + c
                if whole or related[a] >= LANES * c:
                    store_block(m, LANES * k, to_m, LANES * k, LANES * ms.shape[1])
                for b in range(3 if whole or related[a] < LANES * (c + 1) else 2):
                    k = (3 * related[a] + b) * groups + c
                    place = 3 * ((a - origin) // 2) + b
                    store_block(r, LANES * k, to_side, LANES * place, LANES * sides.shape[1])
