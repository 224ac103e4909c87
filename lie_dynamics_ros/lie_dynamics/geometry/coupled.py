"""Curvature of a robot with coupled mimic joints, from that of the robot without the coupling."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..dynamics.kernels.mass_matrix import mass_matrix_batch
from ..model.coordinates import require_coordinates
from ..model.model import Model
from .kernels.christoffel import christoffel_batch

Array = npt.NDArray[np.float64]
_NO_MASK = np.zeros(0, np.bool_)


def uncoupled_positions(model: Model, q: Array) -> Array:
    """Return the coordinates (b, nq_full) of all joints from the independent ones (b, nq)."""
    coupling = model._coupling
    return q if coupling is None else np.ascontiguousarray(q @ coupling.positions.T + coupling.offset)


def coupled_curvature(model: Model, q: Array, full: Array) -> Array:
    """Return R (b, nv, nv, nv, nv) of the coupled robot, given that of all joints (b, n, n, n, n) at `q` (b, n).

    The coupling q = A u + c keeps the robot on a flat piece of its coordinates, which the metric sees bent: by
    II_ab = Gamma_ab less its part along the coupled rates G. By the equation of Gauss

        R_abcd = R(G_a, G_b, G_c, G_d) + <II_ac, II_bd> - <II_ad, II_bc>,

    with <II_ab, II_cd> = Gamma_ab M^-1 Gamma_cd, of all joints less that of the coupled ones.

    Raises
    ------
    DescriptionError
        For a ball or free joint; names it.
    """
    require_coordinates(model, "curvature of coupled joints")
    assert model._coupling is not None
    G, n, count = model._coupling.rates, full.shape[-1], len(q)
    none = np.empty((count, 0))
    M, symbols = np.empty((count, n * n)), np.empty((count, n**3))
    mass_matrix_batch(model._table, q, none, none, none, none, _NO_MASK, M, none)
    christoffel_batch(model._table, q, none, none, none, none, _NO_MASK, symbols, none)
    metric = M.reshape(count, n, n)
    bends = np.einsum("zijk,ia,jb->zabk", symbols.reshape(count, n, n, n), G, G)
    along = bends @ G
    normal = _gram(bends, metric) - _gram(along, G.T @ metric @ G)
    pulled = np.einsum("zijkl,ia,jb,kc,ld->zabcd", full, G, G, G, G, optimize=True)
    return np.asarray(pulled + np.einsum("zacbd->zabcd", normal) - np.einsum("zadbc->zabcd", normal))


def _gram(bends: Array, metric: Array) -> Array:
    """Return bends_ab M^-1 bends_cd."""
    return np.asarray(np.einsum("zabk,zkl,zcdl->zabcd", bends, np.linalg.inv(metric), bends, optimize=True))
