"""Ploen's global matrices: the equations of motion as products of block matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..lie import se3, so3
from ..lie._arrays import as_array
from .pbp_exponentials import local_transforms
from .pbp_factorizations import block_diagonal, mass_factors
from .screw_tree import ScrewTree

Array = npt.NDArray[Any]


def body_coriolis(inertia: npt.ArrayLike, V: npt.ArrayLike) -> Array:
    """Return Ct of one body (..., 6, 6): skew, with Ct V = -ad*_V J V. Ploen, Proposition 1.

    Parameters
    ----------
    inertia : array-like, shape (..., 6, 6)
        J, generalised inertia about the body frame's origin.
    V : array-like, shape (..., 6)
        Body twist, angular part first [rad/s, m/s].
    """
    J, V = as_array(inertia, (6, 6), "inertia"), as_array(V, (6,), "V")
    w = so3.hat(V[..., :3])
    about_origin, moment, mass = J[..., :3, :3], J[..., :3, 3:], J[..., 3:, 3:]  # Ibar, m [r], m 1
    top = np.concatenate([w @ about_origin + about_origin @ w, moment @ w], axis=-1)
    return np.asarray(np.concatenate([top, np.concatenate([-w @ moment, mass @ w], axis=-1)], axis=-2))


@dataclass(frozen=True, eq=False)
class PloenMatrices:
    """Block matrices of Ploen (19)-(26) and (37) at one state; N nodes.

    Attributes
    ----------
    S : ndarray, shape (6 N, nv)
        Screws in the nodes' frames.
    G : ndarray, shape (..., 6 N, 6 N)
        (1 - Gamma)^-1 = 1 + Gamma + Gamma^2 + ...
    Gamma : ndarray, shape (..., 6 N, 6 N)
        Ad_{f^-1} in the row of a node and the column of its parent: nilpotent.
    J : ndarray, shape (6 N, 6 N)
        Inertias.
    P0 : ndarray, shape (..., 6 N, 6)
        Ad_{f^-1} of the nodes on the base, through which the base's acceleration enters.
    ad_Sqd : ndarray, shape (..., 6 N, 6 N)
        diag(-ad_{S_i qd_i}).
    ad_V : ndarray, shape (..., 6 N, 6 N)
        diag(-ad*_{V_i}).
    Ct : ndarray, shape (..., 6 N, 6 N)
        diag of the skew matrices of Proposition 1.
    armature, gravity : ndarray
        Rotor inertias (nv,) and acceleration of free fall (3,).
    """

    S: Array
    G: Array
    Gamma: Array
    J: Array
    P0: Array
    ad_Sqd: Array
    ad_V: Array
    Ct: Array
    armature: Array
    gravity: Array

    def mass_matrix(self) -> Array:
        """Return M = S^T G^T J G S. Ploen (24), (36)."""
        GS = self.G @ self.S
        return np.asarray(_t(GS) @ self.J @ GS + np.diag(self.armature))

    def connection_rate(self) -> Array:
        """Return dG/dt = G ad_Sqd Gamma G. Ploen (27)."""
        return np.asarray(self.G @ self.ad_Sqd @ self.Gamma @ self.G)

    def mass_matrix_rate(self) -> Array:
        """Return dM/dt = S^T (dG^T/dt J G + G^T J dG/dt) S. Ploen (28)."""
        half = _t(self.G @ self.S) @ self.J @ self.connection_rate() @ self.S
        return np.asarray(half + _t(half))

    def plain_coriolis(self) -> Array:
        """Return C = S^T G^T (J G ad_Sqd Gamma + ad_V J) G S: right times qd, but dM/dt - 2 C not skew. Ploen (25)."""
        return self._sandwich(self.J @ self.G @ self.ad_Sqd @ self.Gamma + self.ad_V @ self.J)

    def skew_coriolis(self) -> Array:
        """Return C = S^T G^T (J G ad_Sqd Gamma + Ct) G S, with dM/dt - 2 C skew. Ploen (37)."""
        return self._sandwich(self.J @ self.G @ self.ad_Sqd @ self.Gamma + self.Ct)

    def gravity_force(self) -> Array:
        """Return S^T G^T J G P0 dV_0 with dV_0 = (0, -g). Ploen (26), (38)."""
        base = np.concatenate([np.zeros(3), -self.gravity])
        return np.asarray(_t(self.S) @ _t(self.G) @ self.J @ self.G @ self.P0 @ base)

    def _sandwich(self, middle: Array) -> Array:
        GS = self.G @ self.S
        return np.asarray(_t(GS) @ middle @ GS)


def ploen_matrices(tree: ScrewTree, q: npt.ArrayLike, qd: npt.ArrayLike) -> PloenMatrices:
    """Return Ploen's block matrices at `q` (..., nq), `qd` (..., nv), for a tree and for ball and free joints too.

    For a joint with S constant in the frame it moves, d Ad_{f^-1}/dt = -ad_{S qd} Ad_{f^-1}, whatever the number of its
    columns; that is all the algebra asks for.
    """
    rates = as_array(qd, (tree.nv,), "qd")
    factors, f = mass_factors(tree, q), local_transforms(tree, q)
    count = len(tree.parents)
    Gamma = np.zeros_like(factors.G)
    P0 = np.zeros((*factors.G.shape[:-1], 6), factors.G.dtype)
    for i, parent in enumerate(tree.parents):
        row = slice(6 * i, 6 * i + 6)
        if parent < 0:
            P0[..., row, :] = se3.Ad(se3.inverse(f[i]))
        else:
            Gamma[..., row, 6 * parent : 6 * parent + 6] = se3.Ad(se3.inverse(f[i]))
    own = (factors.S @ rates[..., None])[..., 0]
    V = (factors.G @ own[..., None])[..., 0]
    blocks = [slice(6 * i, 6 * i + 6) for i in range(count)]
    return PloenMatrices(
        S=factors.S, G=factors.G, Gamma=Gamma, J=factors.J, P0=P0,
        ad_Sqd=block_diagonal([-se3.ad(own[..., b]) for b in blocks]),
        ad_V=block_diagonal([-se3.ad_dual(V[..., b]) for b in blocks]),
        Ct=block_diagonal([body_coriolis(J, V[..., b]) for J, b in zip(tree.inertias, blocks, strict=True)]),
        armature=tree.armature, gravity=tree.gravity,
    )  # fmt: skip


def _t(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)
