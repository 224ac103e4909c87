"""The equations of motion, linear in the inertial parameters: tau = Y(q, qd, qdd) pi."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..arrays import AnyArray
from ..lie import inertial_parameters, se3
from ..lie._arrays import as_array
from .pbp_exponentials import local_transforms
from .screw_tree import ScrewTree


def inertial_regressor(tree: ScrewTree, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike) -> AnyArray:
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
