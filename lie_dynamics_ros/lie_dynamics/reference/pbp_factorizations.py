"""The mass matrix by entries and as products of block matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import AnyArray
from ..lie import se3
from ..shown import shown
from .pbp_exponentials import local_transforms, transport, world_products
from .screw_tree import ScrewTree


@shown
@dataclass(frozen=True, eq=False)
class MassFactors:
    """Factors of the mass matrix, all seen from the world at home (A, L, D) and from the bodies (S, G, J).

    M = A^T L^T D L A = S^T G^T J G S, with A = Q S, L = Q G Q^-1, D = Q^-T J Q^-1; N is the number of nodes. Armature
    comes on top, as a diagonal.

    Attributes
    ----------
    A, S : ndarray, shape (6 N, nv)
        Constant screws, block diagonal. PBP (41), (47).
    L, G : ndarray, shape (..., 6 N, 6 N)
        Block triangular, with unit diagonal; a block is zero where the column's node is not on the row's path. The only
        factors that depend on q. PBP (43), (49).
    D, J : ndarray, shape (6 N, 6 N)
        Constant inertias, block diagonal. PBP (45), (48).
    Q : ndarray, shape (6 N, 6 N)
        Ad of the home poses, block diagonal. PBP (50), where M_i is the pose in the world of (31), not that of (23).
    armature : ndarray, shape (nv,)
        Rotor inertias.
    """

    A: AnyArray
    L: AnyArray
    D: AnyArray
    S: AnyArray
    G: AnyArray
    J: AnyArray
    Q: AnyArray
    armature: AnyArray

    def world_product(self) -> AnyArray:
        """Return M (..., nv, nv) by PBP (46)."""
        LA = self.L @ self.A
        return np.asarray(np.swapaxes(LA, -1, -2) @ self.D @ LA + np.diag(self.armature))

    def body_product(self) -> AnyArray:
        """Return M (..., nv, nv) by PBP (51)."""
        GS = self.G @ self.S
        return np.asarray(np.swapaxes(GS, -1, -2) @ self.J @ GS + np.diag(self.armature))


def block_diagonal(blocks: list[AnyArray]) -> AnyArray:
    """Return the blocks (..., r_i, c_i) along the diagonal of a matrix; batch axes are broadcast."""
    rows, columns = sum(b.shape[-2] for b in blocks), sum(b.shape[-1] for b in blocks)
    batch = np.broadcast_shapes(*(b.shape[:-2] for b in blocks)) if blocks else ()
    out = np.zeros((*batch, rows, columns), np.result_type(*blocks) if blocks else np.float64)
    r = c = 0
    for b in blocks:
        out[..., r : r + b.shape[-2], c : c + b.shape[-1]] = b
        r, c = r + b.shape[-2], c + b.shape[-1]
    return out


def mass_factors(tree: ScrewTree, q: npt.ArrayLike) -> MassFactors:
    """Return both factorisations of the mass matrix at `q` (..., nq), for a tree and for ball and free joints too."""
    count = len(tree.parents)
    P, f = world_products(tree, q), local_transforms(tree, q)
    shape = (*np.shape(q)[:-1], 6 * count, 6 * count)
    kind = np.result_type(np.asarray(q), np.float64)
    L, G = np.zeros(shape, kind), np.zeros(shape, kind)
    for i in range(count):
        row, down = slice(6 * i, 6 * i + 6), np.asarray(np.eye(6))
        k = i
        while k >= 0:
            column = slice(6 * k, 6 * k + 6)
            L[..., row, column] = transport(P, i, k)
            G[..., row, column] = down
            down = down @ se3.Ad(se3.inverse(f[k]))
            k = tree.parents[k]
    Q = block_diagonal(list(se3.Ad(tree.home)))
    J = block_diagonal(list(tree.inertias))
    inverse = block_diagonal(list(se3.Ad(se3.inverse(tree.home))))
    return MassFactors(
        A=block_diagonal(list(tree.screws)), L=L, D=inverse.T @ J @ inverse,
        S=block_diagonal(list(tree.body_screws)), G=G, J=J, Q=Q, armature=tree.armature,
    )  # fmt: skip


def mass_matrix_by_entries(tree: ScrewTree, q: npt.ArrayLike) -> AnyArray:
    """Return M (..., nv, nv) entry by entry, block by block for ball and free joints. PBP (40).

    m_ij = sum over the nodes k beyond both of <Ad_k^{i+1} A_i, Ad_k^{j+1} A_j>_k, the inner product being D_k.
    """
    P = world_products(tree, q)
    home = se3.Ad(se3.inverse(tree.home))
    D = np.swapaxes(home, -1, -2) @ tree.inertias @ home
    M = np.zeros((*np.shape(q)[:-1], tree.nv, tree.nv), np.result_type(np.asarray(q), np.float64))
    for k in range(len(tree.parents)):
        path = tree.path(k)
        carried = {i: transport(P, k, i) @ tree.screws[i] for i in path}
        for i in path:
            for j in path:
                block = np.swapaxes(carried[i], -1, -2) @ D[k] @ carried[j]
                M[..., tree.v_slices[i], tree.v_slices[j]] += block
    return np.asarray(M + np.diag(tree.armature))
