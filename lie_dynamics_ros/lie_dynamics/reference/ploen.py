"""Ploen's global matrices, the recursion, which is that of Park, Bobrow and Ploen too, and the regressor it makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..arrays import AnyArray, ArrayLike
from ..errors import InputError
from ..lie import inertial_parameters, se3, so3
from ..lie._arrays import as_array
from ..shown import shown
from .pbp import block_diagonal, local_transforms, mass_factors
from .screw_tree import ScrewTree

_REST = np.zeros(6)  # V_0 of a base that does not move


def body_coriolis(inertia: ArrayLike, V: ArrayLike) -> AnyArray:
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


@shown
@dataclass(frozen=True, eq=False)
class PloenMatrices:
    """Block matrices of Ploen (19)-(26) and (37) at one state; N nodes.

    Attributes
    ----------
    qd : ndarray, shape (..., nv)
        Rates of the coordinates [rad/s, m/s].
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
        diag(-ad*_{V_i}), of a base at rest.
    Ct : ndarray, shape (..., 6 N, 6 N)
        diag of the skew matrices of Proposition 1.
    armature, gravity : ndarray
        Rotor inertias (nv,) and acceleration of free fall (3,).
    """

    qd: AnyArray
    S: AnyArray
    G: AnyArray
    Gamma: AnyArray
    J: AnyArray
    P0: AnyArray
    ad_Sqd: AnyArray
    ad_V: AnyArray
    Ct: AnyArray
    armature: AnyArray
    gravity: AnyArray

    @property
    def free_fall(self) -> AnyArray:
        """dV_0 = (0, -g), the acceleration of a base at rest that stands for gravity; the paper's g points up."""
        return np.concatenate([np.zeros(3), -self.gravity])

    def velocity(self, V0: ArrayLike = _REST) -> AnyArray:
        """Return V = G S qd + G P0 V_0 (..., 6 N), twists of the nodes; V_0 (6,) is the base's. Ploen (19)."""
        return _times(self.G, _times(self.S, self.qd) + _times(self.P0, V0))

    def acceleration(self, qdd: ArrayLike, V0: ArrayLike = _REST, dV0: ArrayLike | None = None) -> AnyArray:
        """Return dV/dt = G (S qdd + ad_Sqd (Gamma V + P0 V_0) + P0 dV_0/dt), (..., 6 N). Ploen (20).

        Parameters
        ----------
        qdd : array-like, shape (..., nv)
            Accelerations of the coordinates [rad/s^2, m/s^2].
        V0, dV0 : array-like, shape (6,)
            Twist of the base and its rate, in the base's frame. Gravity enters through dV0: (0, -g) when left out; with
            a base that moves, the rate of its twist plus (0, -g) with g in its axes.
        """
        carried = _times(self.Gamma, self.velocity(V0)) + _times(self.P0, V0)
        base = _times(self.P0, self.free_fall if dV0 is None else dV0)
        return _times(self.G, _times(self.S, qdd) + _times(self.ad_Sqd, carried) + base)

    def force(self, qdd: ArrayLike, V0: ArrayLike = _REST, dV0: ArrayLike | None = None) -> AnyArray:
        """Return F = G^T (J dV/dt + ad_V J V), (..., 6 N), wrenches that the joints carry. Ploen (21)."""
        V = self.velocity(V0)
        momentum = _times(self.J, V)
        turned = np.empty_like(momentum)
        for start in range(0, V.shape[-1], 6):
            b = slice(start, start + 6)
            turned[..., b] = _times(-se3.ad_dual(V[..., b]), momentum[..., b])
        return _times(_t(self.G), _times(self.J, self.acceleration(qdd, V0, dV0)) + turned)

    def torque(self, qdd: ArrayLike, V0: ArrayLike = _REST, dV0: ArrayLike | None = None) -> AnyArray:
        """Return tau = S^T F, and what the rotors take, (..., nv). Ploen (22)."""
        return np.asarray(_times(_t(self.S), self.force(qdd, V0, dV0)) + self.armature * np.asarray(qdd))

    def mass_matrix(self) -> AnyArray:
        """Return M = S^T G^T J G S. Ploen (24), (36)."""
        return np.asarray(_sandwich(self.G @ self.S, self.J) + np.diag(self.armature))

    def connection_rate(self) -> AnyArray:
        """Return dG/dt = G ad_Sqd Gamma G. Ploen (27)."""
        return np.asarray(self.G @ self.ad_Sqd @ self.Gamma @ self.G)

    def mass_matrix_rate(self) -> AnyArray:
        """Return dM/dt = S^T (dG^T/dt J G + G^T J dG/dt) S. Ploen (28)."""
        half = _t(self.G @ self.S) @ self.J @ self.connection_rate() @ self.S
        return np.asarray(half + _t(half))

    def plain_coriolis(self) -> AnyArray:
        """Return C = S^T G^T (J G ad_Sqd Gamma + ad_V J) G S: right times qd, but dM/dt - 2 C not skew. Ploen (25)."""
        return _sandwich(self.G @ self.S, self.J @ self.G @ self.ad_Sqd @ self.Gamma + self.ad_V @ self.J)

    def skew_coriolis(self) -> AnyArray:
        """Return C = S^T G^T (J G ad_Sqd Gamma + Ct) G S, with dM/dt - 2 C skew. Ploen (37)."""
        return _sandwich(self.G @ self.S, self.J @ self.G @ self.ad_Sqd @ self.Gamma + self.Ct)

    def gravity_force(self) -> AnyArray:
        """Return S^T G^T J G P0 dV_0 with dV_0 = (0, -g). Ploen (26), (38)."""
        return np.asarray(_t(self.S) @ _t(self.G) @ self.J @ self.G @ self.P0 @ self.free_fall)

    def rest_of_plain(self) -> AnyArray:
        """Return dM/dt - 2 C of the plain C, as N - N^T - 2 S^T G^T ad_V J G S. Ploen (29).

        N = S^T G^T Gamma^T ad_Sqd^T G^T J G S. N - N^T is skew; ad_V J is not, so neither is the whole.
        """
        GS = self.G @ self.S
        N = _t(GS) @ _t(self.Gamma) @ _t(self.ad_Sqd) @ _t(self.G) @ self.J @ GS
        return np.asarray(N - _t(N) - 2.0 * _sandwich(GS, self.ad_V @ self.J))


def ploen_matrices(tree: ScrewTree, q: ArrayLike, qd: ArrayLike) -> PloenMatrices:
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
        qd=rates, S=factors.S, G=factors.G, Gamma=Gamma, J=factors.J, P0=P0,
        ad_Sqd=block_diagonal([-se3.ad(own[..., b]) for b in blocks]),
        ad_V=block_diagonal([-se3.ad_dual(V[..., b]) for b in blocks]),
        Ct=block_diagonal([body_coriolis(J, V[..., b]) for J, b in zip(tree.inertias, blocks, strict=True)]),
        armature=tree.armature, gravity=tree.gravity,
    )  # fmt: skip


def _sandwich(GS: AnyArray, middle: AnyArray) -> AnyArray:
    return np.asarray(_t(GS) @ middle @ GS)


def _t(matrix: AnyArray) -> AnyArray:
    return np.swapaxes(matrix, -1, -2)


def _times(matrix: ArrayLike, vector: ArrayLike) -> AnyArray:
    return np.asarray((np.asarray(matrix) @ np.asarray(vector)[..., None])[..., 0])


def recursive_inverse_dynamics(
    tree: ScrewTree,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    reference: ArrayLike | None = None,
    form: Literal["plain", "skew"] = "plain",
) -> AnyArray:
    """Return tau (..., nv) by the recursion of PBP (22)-(27), Ploen (13)-(18), for a tree.

    Parameters
    ----------
    tree : ScrewTree
        Screws, home poses and inertias.
    q, qd, qdd : array-like, shape (..., nq), (..., nv), (..., nv)
        Motion [rad, m and rates].
    reference : array-like, shape (..., nv), optional
        q_r in tau = M qdd + C(q, qd) q_r + g, as for Slotine and Li's controller; qd when left out.
    form : {"plain", "skew"}
        The C that multiplies q_r: that of Ploen (25), or (37) with Proposition 1.

    Returns
    -------
    ndarray, shape (..., nv)
        Joint forces [N m, N].
    """
    if form not in ("plain", "skew"):
        raise InputError(f"form: 'plain' or 'skew' is expected, got {form!r}", name="form", value=form)
    rate, acceleration = as_array(qd, (tree.nv,), "qd"), as_array(qdd, (tree.nv,), "qdd")
    wanted = rate if reference is None else as_array(reference, (tree.nv,), "reference")
    f, S = local_transforms(tree, q), tree.body_screws
    V: dict[int, AnyArray] = {-1: np.zeros(6)}  # (22)
    Vr: dict[int, AnyArray] = {-1: np.zeros(6)}
    dV: dict[int, AnyArray] = {-1: np.concatenate([np.zeros(3), -tree.gravity])}
    for i, parent in enumerate(tree.parents):
        at = tree.v_slices[i]
        back = se3.inverse(f[i])  # the adjoints of (24), (25) are those of f^-1
        own, own_r, own_dd = (_times(S[i], x[..., at]) for x in (rate, wanted, acceleration))
        moved = se3.transform_twist(back, Vr[parent])
        V[i] = se3.transform_twist(back, V[parent]) + own  # (24)
        Vr[i] = moved + own_r
        dV[i] = own_dd + se3.transform_twist(back, dV[parent]) - _times(se3.ad(own), moved)  # (25), Ploen (16)
    F = {}
    for i in range(len(tree.parents)):
        J = tree.inertias[i]
        C = body_coriolis(J, V[i]) if form == "skew" else -se3.ad_dual(V[i]) @ J
        F[i] = _times(J, dV[i]) + _times(C, Vr[i])
    tau = np.zeros((*np.broadcast_shapes(*(x.shape[:-1] for x in F.values())), tree.nv))
    for i in range(len(tree.parents) - 1, -1, -1):
        at, parent = tree.v_slices[i], tree.parents[i]
        tau[..., at] = _times(S[i].T, F[i]) + tree.armature[at] * acceleration[..., at]  # (27)
        if parent >= 0:
            F[parent] = F[parent] + se3.transform_wrench(f[i], F[i])  # (26), Ad* of f^-1
    return tau


def inertial_regressor(tree: ScrewTree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> AnyArray:
    """Return Y with tau = Y pi, armature apart.

    A body's wrench J dV - ad*_V J V is linear in J, and J in its ten parameters; the joints on the body's path feel
    Ad* of it. Column 10 b + p is the torque of a robot whose only inertia is parameter p of body b.

    Parameters
    ----------
    tree : ScrewTree
        Screws and home poses; its inertias are not looked at.
    q, qd, qdd : array-like, shape (..., nq), (..., nv), (..., nv)
        Motion [rad, m and rates].

    Returns
    -------
    ndarray, shape (..., nv, 10 n_bodies)
        Y, for pi = (m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz) of each body, as `SpatialInertia.parameters`.
    """
    rate, acceleration = as_array(qd, (tree.nv,), "qd"), as_array(qdd, (tree.nv,), "qdd")
    f, S = local_transforms(tree, q), tree.body_screws
    units = inertial_parameters.generalized_inertia(np.eye(10))  # (10, 6, 6)
    V: dict[int, AnyArray] = {-1: np.zeros(6)}
    dV: dict[int, AnyArray] = {-1: np.concatenate([np.zeros(3), -tree.gravity])}
    for i, parent in enumerate(tree.parents):
        back, at = se3.inverse(f[i]), tree.v_slices[i]
        own, own_dd = rate[..., at] @ S[i].T, acceleration[..., at] @ S[i].T
        V[i] = se3.transform_twist(back, V[parent]) + own
        bent = (se3.ad(V[i]) @ own[..., None])[..., 0]
        dV[i] = se3.transform_twist(back, dV[parent]) + own_dd + bent
    batch = np.broadcast_shapes(np.shape(q)[:-1], rate.shape[:-1], acceleration.shape[:-1])
    kind = np.result_type(np.asarray(q), rate, acceleration, np.float64)
    Y = np.zeros((*batch, tree.nv, 10 * len(tree.bodies)), kind)
    for body, node in enumerate(tree.bodies):
        # Wrenches (..., 6, 10) of the ten unit inertias.
        momentum, force = (np.moveaxis((units @ x[..., None, :, None])[..., 0], -2, -1) for x in (V[node], dV[node]))
        F = force - se3.ad_dual(V[node]) @ momentum
        i = node
        while i >= 0:
            Y[..., tree.v_slices[i], 10 * body : 10 * body + 10] = S[i].T @ F
            F = se3.Ad_dual(se3.inverse(f[i])) @ F
            i = tree.parents[i]
    return Y


def parameters(tree: ScrewTree) -> AnyArray:
    """Return pi (10 n_bodies,), the inertial parameters of the bodies."""
    return inertial_parameters.from_generalized_inertia(tree.inertias[list(tree.bodies)]).ravel()
