"""PBP's closed form, as printed but for (54): sums of inner products of screws. Slow, short, no kernels.

For trees of joints made of axes, where node and coordinate are the same number. All sums run over the bodies beyond
both coordinates, which in a chain are those of the paper's limits.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import AnyArray
from ..lie import se3
from .pbp_exponentials import transport, world_products
from .pbp_factorizations import mass_matrix_by_entries
from .screw_tree import ScrewTree


class ClosedForm:
    """Inner products of carried screws at one configuration, and what the paper makes of them.

    Parameters
    ----------
    tree : ScrewTree
        Screws, home poses and inertias; joints made of axes.
    q : array-like, shape (n,)
        Configuration [rad, m].

    Raises
    ------
    DescriptionError
        For a ball or free joint; names its body.
    """

    def __init__(self, tree: ScrewTree, q: npt.ArrayLike) -> None:
        tree.require_axes("the closed form with Christoffel symbols")
        self.tree = tree
        self.q = np.asarray(q)
        self.n = len(tree.parents)
        self._P = P = world_products(tree, q)
        self._transport = cache(lambda j, a: transport(P, j, a))  # of few paths, requested again and again
        self._screw = [A[:, 0] for A in tree.screws]
        home = se3.Ad(se3.inverse(tree.home))
        self._D = np.swapaxes(home, -1, -2) @ tree.inertias @ home  # (44)
        self._paths = [tree.path(i) for i in range(self.n)]

    def ad_map(self, j: int, i: int) -> AnyArray:
        """Return Ad_j^i, (6, 6), for i on the path to j; the identity for i one beyond j in a chain. (37)."""
        return self._transport(j, self.tree.parents[i])

    def carried(self, j: int, i: int) -> AnyArray:
        """Return Ad_j^{i+1}(A_i), the screw of i carried to j, for i on the path to j."""
        return np.asarray(self._transport(j, i) @ self._screw[i])

    def before(self, j: int, i: int) -> AnyArray:
        """Return Ad_{j-1}^{i+1}(A_i) for i strictly before j on its path."""
        return self.carried(self.tree.parents[j], i)

    def derivative(self, l: int, i: int, k: int) -> AnyArray:  # noqa: E741
        """Return d/dx_k of the carried screw of i at l, Ad_l^k([Ad_{k-1}^{i+1}(A_i), A_k]). (53)."""
        if k == i or i not in self._paths[k] or k not in self._paths[l]:
            return np.zeros(6)
        return np.asarray(self.ad_map(l, k) @ bracket(self.before(k, i), self._screw[k]))

    def second_derivative(self, l: int, i: int, k: int, m: int) -> AnyArray:  # noqa: E741
        """Return d2/dx_m dx_k of the carried screw of i at l. (54), whose two cases are printed in each other's place.

        The inner bracket is that of the coordinate nearer to the base.
        """
        if k not in self._paths[m]:
            k, m = m, k
        if k == i or i not in self._paths[k] or k not in self._paths[m] or m not in self._paths[l]:
            return np.zeros(6)
        above = self.tree.parents[m]
        inner = self.derivative(above, i, k) if k != m else bracket(self.before(k, i), self._screw[k])
        return np.asarray(self.ad_map(l, m) @ bracket(inner, self._screw[m]))

    def product(self, l: int, x: AnyArray, y: AnyArray) -> Any:  # noqa: E741
        """Return <x, y>_l. (36)."""
        return x @ self._D[l] @ y

    def beyond(self, *nodes: int) -> list[int]:
        """Return the nodes whose paths hold all the given ones."""
        return [i for i in range(self.n) if all(k in self._paths[i] for k in nodes)]

    def mass_matrix(self) -> AnyArray:
        """Return M (n, n). (40)."""
        return mass_matrix_by_entries(self.tree, self.q)

    def christoffel_symbols(self) -> AnyArray:
        """Return Gamma_ijk (n, n, n) by (55)-(57), the factor 1/2 over the whole sum."""
        out = np.zeros((self.n,) * 3, self._P[0].dtype if self.n else np.float64)
        for last in range(self.n):
            for i in self._paths[last]:
                for j in self._paths[last]:
                    for k in self._paths[last]:
                        if last in (i, j, k) and i <= j:
                            out[i, j, k] = out[j, i, k] = self._symbol(i, j, k)
        return out

    def _symbol(self, i: int, j: int, k: int) -> Any:
        total = 0.0
        for l in self.beyond(i, j, k):  # noqa: E741
            ki, kj, ij = self.derivative(l, k, i), self.derivative(l, k, j), self.derivative(l, i, j)
            ik, jk = self.derivative(l, i, k), self.derivative(l, j, k)
            A_i, A_j, A_k = self.carried(l, i), self.carried(l, j), self.carried(l, k)
            if k <= i:  # (55)
                terms = self.product(l, ki, A_j) + self.product(l, kj, A_i) + self.product(l, ij, A_k)
            elif k <= j:  # (56)
                terms = self.product(l, kj, A_i) + self.product(l, ij, A_k) - self.product(l, ik, A_j)
            else:  # (57)
                terms = self.product(l, ij, A_k) - self.product(l, ik, A_j) - self.product(l, jk, A_i)
            total += 0.5 * terms
        return total

    def mass_matrix_derivatives(self) -> AnyArray:
        """Return dM_ij/dx_k as [k, i, j], from (40) and (53)."""
        F, dF, _ = self._tables()
        half = np.einsum("lkia,lab,ljb->kij", dF, self._D, F)
        return np.asarray(half + np.swapaxes(half, -1, -2))

    def mass_matrix_second_derivatives(self) -> AnyArray:
        """Return d2M_ij/dx_k dx_m as [k, m, i, j], from (40), (53) and (54)."""
        F, dF, ddF = self._tables()
        bent = np.einsum("lkmia,lab,ljb->kmij", ddF, self._D, F)
        both = np.einsum("lkia,lab,lmjb->kmij", dF, self._D, dF)
        half = bent + both
        return np.asarray(half + np.swapaxes(half, -1, -2))

    def curvature_tensor(self) -> AnyArray:
        """Return R_ijkl (n, n, n, n) by (66), with dGamma/dx from the second derivatives of M."""
        d2 = self.mass_matrix_second_derivatives()  # [k, m, i, j]
        # dGamma_ijk/dx_m = (d2M_kj/dx_i dx_m + d2M_ki/dx_j dx_m - d2M_ij/dx_k dx_m) / 2, as [m, i, j, k]
        d = 0.5 * (np.einsum("imkj->mijk", d2) + np.einsum("jmki->mijk", d2) - np.einsum("kmij->mijk", d2))
        G = self.christoffel_symbols()
        raised = np.linalg.solve(self.mass_matrix(), G.reshape(-1, self.n).T).T.reshape(G.shape)
        turned = np.einsum("ilr,jkr->ijkl", G, raised) - np.einsum("ikr,jlr->ijkl", G, raised)
        return np.asarray(np.einsum("kjli->ijkl", d) - np.einsum("ljki->ijkl", d) + turned)

    def potential_energy(self) -> Any:
        """Return the potential energy, zero at the world's origin. (58), with g the acceleration of free fall."""
        total: Any = 0.0
        for i in range(self.n):
            total -= self.tree.gravity @ (self._P[i] @ self.tree.home[i] @ self._moment(i))[:3]
        return total

    def gravity_force(self) -> AnyArray:
        """Return phi (n,) by (59): the bodies beyond k, each moved by the carried screw of k."""
        phi = np.zeros(self.n, self._P[0].dtype if self.n else np.float64)
        for i in range(self.n):
            for k in self._paths[i]:
                moved = self._P[i] @ se3.hat(self.carried(i, k)) @ self.tree.home[i] @ self._moment(i)
                phi[k] -= self.tree.gravity @ moved[:3]
        return phi

    def _moment(self, i: int) -> AnyArray:
        """Return (m r, m), the mass and first moment of a body in its frame."""
        J = self.tree.inertias[i]
        return np.array([J[2, 4], J[0, 5], J[1, 3], J[3, 3]])

    def _tables(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Return the carried screws [l, i], their first [l, k, i] and second derivatives [l, k, m, i]."""
        n, kind = self.n, self._P[0].dtype if self.n else np.float64
        F, dF, ddF = np.zeros((n, n, 6), kind), np.zeros((n, n, n, 6), kind), np.zeros((n, n, n, n, 6), kind)
        for l, path in enumerate(self._paths):  # noqa: E741
            for i in path:
                F[l, i] = self.carried(l, i)
                for k in path:
                    dF[l, k, i] = self.derivative(l, i, k)
                    for m in path:
                        ddF[l, k, m, i] = self.second_derivative(l, i, k, m)
        return F, dF, ddF


def bracket(x: AnyArray, y: AnyArray) -> AnyArray:
    """Return the Lie bracket [x, y] of two twists (..., 6). (1), (5)."""
    return np.asarray((se3.ad(x) @ y[..., None])[..., 0])
