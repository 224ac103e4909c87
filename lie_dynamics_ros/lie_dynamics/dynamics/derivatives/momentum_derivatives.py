"""Derivatives of the centre of mass, of the momentum about it, and of the rate of that, in the world's axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array, ArrayLike
from ...lie import se3, so3
from ...model import layout
from ...model.arguments import validate_model
from ...model.configuration import checked
from ...model.coupling import own_joints
from ...model.model import Model
from ...model.pack import copied, get_inertia
from ..kinematics import forward_kinematics
from ..motion import body_accelerations, body_velocities, require_mass
from .inverse_derivatives import rate_derivatives, subspace_derivatives


class CenterOfMassDerivatives(NamedTuple):
    """Derivatives of the centre of mass c and of its velocity, in the world's axes.

    Attributes
    ----------
    dq : ndarray, shape (..., 3, nv)
        dc/dq along `Model.integrate`; that of the velocity along qd is the same.
    velocity_dq : ndarray, shape (..., 3, nv)
        Derivative of dc/dt along q.
    """

    dq: Array
    velocity_dq: Array


class CentroidalMomentumDerivatives(NamedTuple):
    """Derivatives of the momentum h about the centre of mass and of dh/dt, angular part first, in the world's axes.

    Attributes
    ----------
    dq, dqd : ndarray, shape (..., 6, nv)
        Those of h; the second is `centroidal_momentum_matrix`.
    rate_dq, rate_dqd, rate_dqdd : ndarray, shape (..., 6, nv)
        Those of dh/dt; the last is `centroidal_momentum_matrix`, too.
    """

    dq: Array
    dqd: Array
    rate_dq: Array
    rate_dqd: Array
    rate_dqdd: Array


@validate_model
def center_of_mass_derivatives(model: Model, q: ArrayLike, qd: ArrayLike) -> CenterOfMassDerivatives:
    """Return how the centre of mass and its velocity change along the coordinates.

    Parameters
    ----------
    model, q, qd
        As `inverse_dynamics`.

    Returns
    -------
    CenterOfMassDerivatives
        Named tuple of `dq` and `velocity_dq`, each (..., 3, nv).

    Raises
    ------
    InputError, GroupError
        As `inverse_dynamics`.
    SingularityError
        If no body has mass.
    """
    found = centroidal_momentum_derivatives(model, q, qd, model.zero_velocity)
    mass = model.rows[1:, layout.MASS].sum()
    return CenterOfMassDerivatives(found.dqd[..., 3:, :] / mass, found.dq[..., 3:, :] / mass)


@validate_model
def centroidal_momentum_derivatives(
    model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> CentroidalMomentumDerivatives:
    """Return how the momentum about the centre of mass, and its rate, change with the motion.

    A change of a coordinate displaces all that it carries along its screw; sums over what each coordinate carries give
    all columns. Armature and losses have no part in the momentum of the bodies, nor gravity in its rate.

    Parameters
    ----------
    model, q, qd
        As `center_of_mass_derivatives`.
    qdd : array-like, shape (..., nv)
        Accelerations of the coordinates [rad/s^2, m/s^2].

    Returns
    -------
    CentroidalMomentumDerivatives
        Named tuple of `dq`, `dqd`, `rate_dq`, `rate_dqd`, `rate_dqdd`, each (..., 6, nv).

    Raises
    ------
    InputError, GroupError, SingularityError
        As `center_of_mass_derivatives`.
    """
    require_mass(model)
    sizes = {"q": model.nq, "qd": model.nv, "qdd": model.nv}
    q, qd, qdd = (checked(a, sizes[name], name, model) for name, a in (("q", q), ("qd", qd), ("qdd", qdd)))
    batch = np.broadcast_shapes(*(a.shape[:-1] for a in (q, qd, qdd)))
    q, qd, qdd = (np.array(np.broadcast_to(a, (*batch, a.shape[-1]))) for a in (q, qd, qdd))
    if model.coupling is None:
        return CentroidalMomentumDerivatives(*_derivatives(model, q, qd, qdd))
    rates, coupling = model.coupling.rates, model.coupling
    parts = model.name, model.rows, own_joints(model.joints), model.frames, coupling.limits
    found = _derivatives(Model(*parts), q @ coupling.positions.T + coupling.offset, qd @ rates.T, qdd @ rates.T)
    return CentroidalMomentumDerivatives(*(a @ rates for a in found))


def _near(model: Model, q: Array) -> Model:
    """Return the model with its first body near the world's origin, so that none costs digits; changes q, too."""
    table = copied(model.table)
    roots = np.flatnonzero(model.rows[1:, layout.PARENT] == 0.0) + 1
    origin = slice(layout.ORIGIN, layout.ORIGIN + 3)
    table[roots, origin] -= model.rows[roots[0], origin]
    table[0, layout.GRAVITY : layout.GRAVITY + 3] = 0.0
    for row in range(1, model.joints[0].type.nv + 1 if len(roots) == 1 else 0):
        at = int(model.rows[row, layout.Q_INDEX])
        if model.rows[row, layout.KIND] == layout.FREE:
            q[..., at + 4 : at + 7] = 0.0
        if model.rows[row, layout.KIND] != layout.AXIS or model.rows[row, layout.AXIS_W] != 0.0:
            break  # slides before all turns only move the whole robot
        q[..., at] = 0.0
    return model.with_table(table)


def _derivatives(model: Model, q: Array, qd: Array, qdd: Array) -> list[Array]:
    """Return the fields of `CentroidalMomentumDerivatives`.

    About a point near the robot, h and F = dh/dt of all that a coordinate carries follow its screw J; seen from there,
    the velocity before the joint has turned back by ad_J V, and its acceleration by ad_J A.
    """
    model = _near(model, q)
    n = model.nv
    Ad = se3.Ad(forward_kinematics(model, q))
    units = np.moveaxis(body_velocities(model, q[..., None, :], np.eye(n)), -3, -1)  # (..., bodies, 6, nv)
    V = _times(Ad, _times(units, qd[..., None, :]))
    A = _times(Ad, body_accelerations(model, q, qd, qdd))
    G = np.array([get_inertia(model.rows[model.body_rows[k]]).matrix() for k in range(model.n_bodies)])
    back = np.linalg.inv(Ad)
    inertia = np.swapaxes(back, -1, -2) @ G @ back
    ad = se3.ad(V)
    momentum = _times(inertia, V)
    force = _times(inertia, A) - _times(np.swapaxes(ad, -1, -2), momentum)
    drag = -inertia @ ad - _dual(momentum) - np.swapaxes(ad, -1, -2) @ inertia
    owner = [joint.index for joint in model.joints for _ in range(joint.type.nv)]
    carried = _carried(model)[owner]
    inertias, h, F, B = (
        np.einsum("jb,...bk->...jk", carried, a) if a.ndim == V.ndim else np.einsum("jb,...bkl->...jkl", carried, a)
        for a in (inertia, momentum, force, drag)
    )
    J = np.stack([_times(Ad[..., i, :, :], units[..., i, :, j]) for j, i in enumerate(owner)], axis=-2)
    before, within, acceleration = _at_joints(model, J, V, A, qd, qdd)
    turn = se3.ad(J)
    back_turn, both = -np.swapaxes(turn, -1, -2), se3.ad(before + within)
    delta = -_times(turn, before)
    along = -_times(turn, acceleration) - _times(se3.ad(delta), before)
    h_q = _times(back_turn, h) + _times(inertias, delta)
    F_q = _times(back_turn, F) + _times(inertias, along) + _times(B, delta)
    F_qd = _times(inertias, _times(both, J)) + _times(B, J)
    for joint in model.custom_joints:
        T = Ad[..., joint.index, :, :]
        for k, j in enumerate(range(joint.v_slice.start, joint.v_slice.stop)):
            rate, own = qd[..., joint.v_slice], (..., j, slice(None))
            slope = subspace_derivatives(joint, q, k)
            x = _times(T, _times(slope, rate))
            y = _times(T, _times(slope, qdd[..., joint.v_slice]) + _times(rate_derivatives(joint, q, qd, k), rate))
            slopes = [subspace_derivatives(joint, q, m)[..., k] * rate[..., m, None] for m in range(joint.type.nv)]
            inertia_j = inertias[..., j, :, :]
            h_q[own] += _times(inertia_j, x)
            F_q[own] += _times(inertia_j, y + _times(both[..., j, :, :], x)) + _times(B[..., j, :, :], x)
            F_qd[own] += _times(inertia_j, x + _times(T, np.sum(slopes, axis=0)))
    h_qd = _times(inertias, J)
    mass = model.rows[1:, layout.MASS].sum()
    center = so3.vee(inertia[..., :3, 3:].sum(axis=-3)) / mass  # by poses, which are near the first tree
    moved = h_qd[..., 3:] / mass

    def about_center(columns: Array, whole: Array | None) -> Array:
        out = columns.copy()
        out[..., :3] -= np.cross(center[..., None, :], columns[..., 3:])
        if whole is not None:
            out[..., :3] -= np.cross(moved, whole[..., None, 3:])
        return np.swapaxes(out, -1, -2)

    total, pushed = momentum.sum(axis=-2), force.sum(axis=-2)
    map_of_rates = about_center(h_qd, None)
    along_q, along_qd = about_center(F_q, pushed), about_center(F_qd, None)
    return [about_center(h_q, total), map_of_rates, along_q, along_qd, map_of_rates.copy()]


def _times(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[..., None])[..., 0])


def _dual(h: Array) -> Array:
    """Return the matrix with ad_x^T h = _dual(h) x."""
    out = np.zeros((*h.shape, 6))
    out[..., :3, :3] = so3.hat(h[..., :3])
    out[..., :3, 3:] = out[..., 3:, :3] = so3.hat(h[..., 3:])
    return out


def _carried(model: Model) -> Array:
    """Return 1 where a body (row) carries another, or is it."""
    found, bodies = np.eye(model.n_bodies), {joint.body: joint.index for joint in model.joints}
    for joint in reversed(model.joints):
        if joint.parent_body in bodies:
            found[bodies[joint.parent_body]] += found[joint.index]
    return found


def _at_joints(model: Model, J: Array, V: Array, A: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array]:
    """Return the velocities before and with each coordinate's motion, and the acceleration before it (..., nv, 6)."""
    before, within, acceleration = np.zeros_like(J), np.zeros_like(J), np.zeros_like(J)
    bodies = {joint.body: joint.index for joint in model.joints}
    for joint in model.joints:
        parent = bodies.get(joint.parent_body)
        v = np.zeros_like(J[..., 0, :]) if parent is None else V[..., parent, :]
        a = np.zeros_like(v) if parent is None else A[..., parent, :]
        for j in range(joint.v_slice.start, joint.v_slice.stop):
            before[..., j, :], acceleration[..., j, :] = v, a
            if not joint.type.steps:  # all coordinates of a ball, free or user's joint move at once
                within[..., j, :] = V[..., joint.index, :]
                continue
            own = J[..., j, :] * qd[..., j, None]
            a = a + J[..., j, :] * qdd[..., j, None] + _times(se3.ad(v), own)
            v = v + own
            within[..., j, :] = v
    return before, within, acceleration
