"""The recursion of PBP and Ploen, written as the papers write it."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from ..arrays import AnyArray
from ..errors import InputError
from ..lie import se3
from ..lie._arrays import as_array
from .pbp_exponentials import local_transforms
from .ploen import body_coriolis
from .screw_tree import ScrewTree


def recursive_inverse_dynamics(
    tree: ScrewTree,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    reference: npt.ArrayLike | None = None,
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
        own, own_r, own_dd = (_apply(S[i], x[..., at]) for x in (rate, wanted, acceleration))
        moved = se3.transform_twist(back, Vr[parent])
        V[i] = se3.transform_twist(back, V[parent]) + own  # (24)
        Vr[i] = moved + own_r
        dV[i] = own_dd + se3.transform_twist(back, dV[parent]) - _apply(se3.ad(own), moved)  # (25), Ploen (16)
    F = {}
    for i in range(len(tree.parents)):
        J = tree.inertias[i]
        C = body_coriolis(J, V[i]) if form == "skew" else -se3.ad_dual(V[i]) @ J
        F[i] = _apply(J, dV[i]) + _apply(C, Vr[i])
    tau = np.zeros((*np.broadcast_shapes(*(x.shape[:-1] for x in F.values())), tree.nv))
    for i in range(len(tree.parents) - 1, -1, -1):
        at, parent = tree.v_slices[i], tree.parents[i]
        tau[..., at] = _apply(S[i].T, F[i]) + tree.armature[at] * acceleration[..., at]  # (27)
        if parent >= 0:
            F[parent] = F[parent] + se3.transform_wrench(f[i], F[i])  # (26), Ad* of f^-1
    return tau


def _apply(matrix: AnyArray, vector: AnyArray) -> AnyArray:
    return np.asarray((matrix @ vector[..., None])[..., 0])
