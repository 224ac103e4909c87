"""Park, Bobrow and Ploen: products of exponentials, factors of the mass matrix, and the closed form. Slow, no kernels.

The closed form is as printed but for (54): sums of inner products of screws, for trees of joints made of axes, where
node and coordinate are the same number. All sums run over the bodies beyond both coordinates, which in a chain are
those of the paper's limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from ..arrays import AnyArray, ArrayLike
from ..errors import InputError
from ..lie import quaternion, se3
from ..lie._arrays import as_array
from ..shown import shown
from .screw_tree import ScrewTree

Form = Literal["local", "world", "body"]


def _motions(tree: ScrewTree, q: ArrayLike, screws: tuple[AnyArray, ...] | None, frames: AnyArray) -> list[AnyArray]:
    """Return each node's motion: the exponential of its screw, or that of a ball or free joint, seen from a frame."""
    x = as_array(q, (tree.nq,), "q")
    motions = []
    for i, at in enumerate(tree.q_slices):
        if at.stop - at.start == 1:
            assert screws is not None
            motions.append(se3.exp(screws[i][:, 0] * x[..., at]))
            continue
        part = x[..., at]
        position = part[..., 4:] if at.stop - at.start == 7 else np.zeros(3)
        T = se3.from_parts(quaternion.to_matrix(part[..., :4]), position)
        motions.append(np.asarray(frames[i] @ T @ se3.inverse(frames[i])))
    return motions


def _along_paths(tree: ScrewTree, motions: list[AnyArray]) -> list[AnyArray]:
    """Return the product of the motions from the base to each node."""
    products: list[AnyArray] = []
    for parent, motion in zip(tree.parents, motions, strict=True):
        products.append(motion if parent < 0 else np.asarray(products[parent] @ motion))
    return products


def world_products(tree: ScrewTree, q: ArrayLike) -> list[AnyArray]:
    """Return P_i = exp(A_1 x_1) ... exp(A_i x_i) along the path to each node, each (..., 4, 4). PBP (13)."""
    return _along_paths(tree, _motions(tree, q, tree.screws, tree.home))


def local_transforms(tree: ScrewTree, q: ArrayLike) -> list[AnyArray]:
    """Return f_{parent, i} = M_{parent, i} exp(S_i x_i) of each node, each (..., 4, 4). PBP (23)."""
    motions = _motions(tree, q, tree.body_screws, np.broadcast_to(np.eye(4), tree.home.shape))
    found = []
    for i, parent in enumerate(tree.parents):
        M = tree.home[i] if parent < 0 else se3.inverse(tree.home[parent]) @ tree.home[i]
        found.append(np.asarray(M @ motions[i]))
    return found


def node_poses(tree: ScrewTree, q: ArrayLike, form: Form = "world") -> AnyArray:
    """Return the pose (..., n_nodes, 4, 4) of every node's frame; see `product_of_exponentials`."""
    if form == "local":  # PBP (12), with f = M e^{S x} instead of e^{P x} M
        poses = _along_paths(tree, local_transforms(tree, q))
    elif form == "world":  # PBP (13)
        poses = [P @ M for P, M in zip(world_products(tree, q), tree.home, strict=True)]
    elif form == "body":  # PBP (14), B_k = Ad_{M_i^-1} A_k for each body i of its own
        poses = []
        for i, M in enumerate(tree.home):
            T = np.broadcast_to(M, (*np.shape(q)[:-1], 4, 4))
            seen = tuple(se3.Ad(se3.inverse(M)) @ A for A in tree.screws)
            motions = _motions(tree, q, seen, se3.inverse(M) @ tree.home)
            for k in tree.path(i):
                T = T @ motions[k]
            poses.append(T)
    else:
        raise InputError(f"form: 'local', 'world' or 'body' is expected, got {form!r}", name="form", value=form)
    batch = np.shape(q)[:-1]
    return np.stack(poses, axis=-3) if poses else np.empty((*batch, 0, 4, 4))


def product_of_exponentials(tree: ScrewTree, q: ArrayLike, form: Form = "world") -> AnyArray:
    """Return the pose of every body in the world frame as a product of exponentials.

    Parameters
    ----------
    tree : ScrewTree
        Screws and home poses.
    q : array-like, shape (..., nq)
        Configuration [rad, m].
    form : {"local", "world", "body"}
        PBP (12): each exponential next to its own body; (13): all to the left of the home pose, screws seen from the
        world; (14): all to the right of it, screws seen from the body.

    Returns
    -------
    ndarray, shape (..., n_bodies, 4, 4)
        T_world_body [m].
    """
    return np.asarray(node_poses(tree, q, form)[..., list(tree.bodies), :, :])


def exponential_jacobian(
    tree: ScrewTree, q: ArrayLike, body: str | int, form: Literal["world", "body"] = "world"
) -> AnyArray:
    """Return the body Jacobian (..., 6, nv), f^-1 df/dt = J qd, from screws seen from the body (18) or world (20).

    Raises
    ------
    InputError
        For an unknown body or form.
    """
    if form not in ("world", "body"):
        raise InputError(f"form: 'world' or 'body' is expected, got {form!r}", name="form", value=form)
    node = tree.node(body)
    M = tree.home[node]
    to_body = se3.Ad(se3.inverse(M))
    J = np.zeros((*np.shape(q)[:-1], 6, tree.nv), np.result_type(np.asarray(q), np.float64))
    if form == "world":  # PBP (20): Ad_{M^-1} of the screws carried along the path
        P = world_products(tree, q)
        for k in tree.path(node):
            J[..., tree.v_slices[k]] = to_body @ transport(P, node, k) @ tree.screws[k]
        return J
    seen = tuple(to_body @ A for A in tree.screws)  # B_k
    motions = _motions(tree, q, seen, se3.inverse(M) @ tree.home)
    after: AnyArray = np.eye(4)
    for k in tree.path(node)[::-1]:  # PBP (18): e^{-B_n x_n} ... e^{-B_{k+1} x_{k+1}} B_k e^{...}
        J[..., tree.v_slices[k]] = se3.Ad(se3.inverse(after)) @ seen[k]
        after = motions[k] @ after
    return J


def transport(P: list[AnyArray], j: int, a: int) -> AnyArray:
    """Return Ad_j^{a+1} (..., 6, 6): Ad of exp(-A_j x_j) ... exp(-A_{a+1} x_{a+1}), the path from a to j. PBP (37).

    With the parent of i in place of a it is Ad_j^i; -1 stands for the base.
    """
    back = se3.inverse(P[j]) if j >= 0 else np.eye(4)
    return se3.Ad(back @ P[a] if a >= 0 else back)


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


def mass_factors(tree: ScrewTree, q: ArrayLike) -> MassFactors:
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


def mass_matrix_by_entries(tree: ScrewTree, q: ArrayLike) -> AnyArray:
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


class CarriedScrews:
    """Screws of a tree carried along its paths at one configuration, their derivatives and inner products.

    Arguments and errors are those of `ClosedForm`.
    """

    def __init__(self, tree: ScrewTree, q: ArrayLike) -> None:
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


class ClosedForm(CarriedScrews):
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


def bracket(x: AnyArray, y: AnyArray) -> AnyArray:
    """Return the Lie bracket [x, y] of two twists (..., 6). (1), (5)."""
    return np.asarray((se3.ad(x) @ y[..., None])[..., 0])
