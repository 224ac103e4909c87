"""Matrices of a `dense.Tree` from their definitions, with rates by complex steps."""

from __future__ import annotations

import numpy as np

from .motions import hat3

H = 1e-30


def adjoint(T):
    out = np.zeros((6, 6), T.dtype)
    out[:3, :3] = out[3:, 3:] = T[:3, :3]
    out[3:, :3] = hat3(T[:3, 3]) @ T[:3, :3]
    return out


def rate(function, v):
    """Value and rate of ``function(step)`` along the tangent vector v."""
    value = function(1j * H * np.asarray(v))
    return value.real, value.imag / H


def frame_jacobian(tree, q, qd, name, frame, placement=None):
    """Jacobian of a frame (its pose in the body, default the body's own) and its rate, in one of three frames."""
    placement = np.eye(4) if placement is None else placement

    def at(step):
        T = tree.series(q, step=step)[name][0] @ placement
        J = np.linalg.inv(adjoint(placement)) @ tree.jacobians(q, step)[name]
        if frame == "world":
            return adjoint(T) @ J
        if frame == "aligned":
            return np.kron(np.eye(2), T[:3, :3]) @ J
        return J

    return rate(at, qd)


def christoffel(tree, q, qd):
    """The textbook form, for trees whose rates are derivatives of coordinates."""
    n = tree.nv
    dM = np.array([tree.mass_matrix_rate(q, e) for e in np.eye(n)])  # dM[k, i, j] = dM_ij / dq_k
    symbols = 0.5 * (np.einsum("kij->ijk", dM) + np.einsum("jik->ijk", dM) - np.einsum("ijk->ijk", dM))
    return symbols @ qd


def particles(body):
    """Six point masses (mass, position in the body) with the body's mass, centre and inertia."""
    second = 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia
    values, vectors = np.linalg.eigh(second)
    reach = np.sqrt(3.0 * np.maximum(values, 0.0) / body.mass)
    points = [body.com + sign * r * u for r, u in zip(reach, vectors.T, strict=True) for sign in (1, -1)]
    return [(body.mass / 6.0, p) for p in points]


def of_particles(tree, q, qd):
    """The sum of m J^T dJ/dt over particles, J the Jacobian of their velocity in the world: for any kind of joint."""

    def velocities(step):
        columns = [tree.series(q, v, step=step) for v in np.eye(tree.nv)]
        return np.array(
            [
                np.sqrt(m) * np.array([(c[b.name][1] @ [*p, 1.0])[:3] for c in columns]).T
                for b in tree.bodies
                if b.mass > 0
                for m, p in particles(b)
            ]
        )

    J, dJ = rate(velocities, qd)
    return np.einsum("pai,paj->ij", J, dJ)


def ploen(tree, q, qd):
    """The sum of J^T (I dJ/dt + Ct J), with Ct of Proposition 1."""
    motion, total = tree.twists(q, qd), 0.0
    jacobians, rates = rate(lambda step: np.array(list(tree.jacobians(q, step).values())), qd)
    for body, J, dJ in zip(tree.bodies, jacobians, rates, strict=True):
        w, r = motion[body.name][0][:3], hat3(body.com)
        w = hat3(w)
        about_origin = body.inertia - body.mass * r @ r
        Ct = np.block([[w @ about_origin + about_origin @ w, body.mass * r @ w], [-body.mass * w @ r, body.mass * w]])
        total = total + J.T @ (tree.generalized_inertia(body) @ dJ + Ct @ J)
    return total


def center_of_mass(tree, q, step=None):
    poses = tree.series(q, step=step)
    mass = sum(b.mass for b in tree.bodies)
    return sum(b.mass * (poses[b.name][0] @ [*b.com, 1.0])[:3] for b in tree.bodies) / mass


def momentum(tree, q, qd, point):
    """Momentum in the world's axes, its angular part about a point."""
    motion, poses, total = tree.twists(q, qd), tree.poses(q), np.zeros(6)
    for body in tree.bodies:
        local = tree.generalized_inertia(body) @ motion[body.name][0]
        total = total + np.linalg.inv(adjoint(poses[body.name])).T @ local
    return np.concatenate([total[:3] - np.cross(point, total[3:]), total[3:]])
