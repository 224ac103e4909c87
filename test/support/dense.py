"""Dynamics of a tree from its definition: poses differentiated in time, Jacobians, J^T F summed over the bodies.

Shares nothing with the library. Exact up to round-off, since all derivatives are those of products of exponentials;
derivatives with respect to q are complex steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .motions import hat3, inverse, product, vee


@dataclass
class Body:
    """A body: its name, its parent's (None: world), the pose of its joint in the parent, its motion and its inertia."""

    name: str
    parent: str | None
    placement: np.ndarray
    motion: object
    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    joint_type: object = None


def ad_dual(V):
    """Transpose of ad_V, for V = (w, v)."""
    out = np.zeros((6, 6), V.dtype)
    out[:3, :3] = out[3:, 3:] = -hat3(V[:3])
    out[:3, 3:] = -hat3(V[3:])
    return out


def twist_of(T, T1, T2):
    """Body twist vee(T^-1 T') and its rate."""
    back = inverse(T)
    X = back @ T1
    return vee(X), vee(back @ T2 - X @ X)


class Tree:
    """Bodies in any order in which parents come first."""

    def __init__(self, bodies, gravity=(0.0, 0.0, -9.81)):
        self.bodies, self.gravity = list(bodies), np.asarray(gravity, dtype=float)
        self.moving = [b.name for b in self.bodies if b.motion.nv]
        ends_q, ends_v = (np.cumsum([getattr(b.motion, n) for b in self.bodies]) for n in ("nq", "nv"))
        self.nq, self.nv = int(ends_q[-1]), int(ends_v[-1])
        self.parts = [
            (slice(e - b.motion.nq, e), slice(f - b.motion.nv, f))
            for b, e, f in zip(self.bodies, ends_q, ends_v, strict=True)
        ]

    def random(self, rng):
        return np.concatenate([b.motion.random(rng) for b in self.bodies if b.motion.nv])

    def generalized_inertia(self, body):
        c = hat3(body.com)
        G = np.zeros((6, 6))
        G[:3, :3] = body.inertia - body.mass * c @ c
        G[:3, 3:] = body.mass * c
        G[3:, :3] = -body.mass * c
        G[3:, 3:] = body.mass * np.eye(3)
        return G

    def series(self, q, v=None, a=None, step=None):
        """(T, dT/dt, d2T/dt2) of each body, at q moved by the tangent vector `step`."""
        v, a, step = (np.zeros(self.nv) if x is None else np.asarray(x) for x in (v, a, step))
        found = {None: (np.eye(4), np.zeros((4, 4)), np.zeros((4, 4)))}
        for body, (i, k) in zip(self.bodies, self.parts, strict=True):
            above = tuple(x @ body.placement for x in found[body.parent])
            found[body.name] = product(above, body.motion.series(q[i], v[k], a[k], step[k]))
        del found[None]
        return found

    def twists(self, q, v, a=None, step=None):
        """Body twists V = vee(T^-1 T') and their rates, by name."""
        return {name: twist_of(*series) for name, series in self.series(q, v, a, step).items()}

    def poses(self, q):
        return {name: s[0] for name, s in self.series(q).items()}

    def jacobians(self, q, step=None):
        """Body Jacobians (6, nv) by name: twists of poses that are differentiated along each coordinate."""
        step = np.zeros(self.nv) if step is None else np.asarray(step)
        found, out = {None: (np.eye(4), np.zeros((self.nv, 4, 4)))}, {}
        for body, (i, k) in zip(self.bodies, self.parts, strict=True):
            T, D = (x @ body.placement for x in found[body.parent])
            units, still = np.eye(body.motion.nv), np.zeros(body.motion.nv)
            moved = body.motion.series(q[i], still, still, step[k])[0]
            own = [T @ body.motion.series(q[i], e, still, step[k])[1] for e in units]
            T, D = T @ moved, D @ moved
            if own:
                D = D.astype(np.result_type(D, *own))
                D[k] += own
            found[body.name] = T, D
            out[body.name] = vee(np.moveaxis(inverse(T) @ D, 0, -1))
        return out

    def mass_matrix(self, q, step=None):
        J = self.jacobians(q, step)
        return sum(J[b.name].T @ self.generalized_inertia(b) @ J[b.name] for b in self.bodies)

    def inverse_dynamics(self, q, v, a, f_ext=None, step=None):
        """Tau; f_ext by body name or as rows in the order of the moving bodies."""
        if f_ext is not None and not isinstance(f_ext, dict):
            f_ext = dict(zip(self.moving, f_ext, strict=True))
        J, series = self.jacobians(q, step), self.series(q, v, a, step)
        tau = 0.0
        for body in self.bodies:
            G, (V, A) = self.generalized_inertia(body), twist_of(*series[body.name])
            lift = np.concatenate([np.zeros(3), -series[body.name][0][:3, :3].T @ self.gravity])
            F = G @ (A + lift) - ad_dual(V) @ G @ V
            if f_ext is not None and body.name in f_ext:
                F = F - f_ext[body.name]
            tau = tau + J[body.name].T @ F
        return tau

    def bias_force(self, q, v, f_ext=None):
        return self.inverse_dynamics(q, v, np.zeros(self.nv), f_ext)

    def forward_dynamics(self, q, v, tau, f_ext=None):
        return np.linalg.solve(self.mass_matrix(q), tau - self.bias_force(q, v, f_ext))

    def hybrid_dynamics(self, q, v, a, tau, given, f_ext=None):
        """Solve the equations of motion for what is not given."""
        M, b, free = self.mass_matrix(q), self.bias_force(q, v, f_ext), ~given
        a, tau = a.copy(), tau.copy()
        a[free] = np.linalg.solve(M[np.ix_(free, free)], (tau - b)[free] - M[np.ix_(free, given)] @ a[given])
        tau[given] = (M @ a + b)[given]
        return a, tau

    def mass_matrix_rate(self, q, v):
        h = 1e-30
        return self.mass_matrix(q, step=1j * h * np.asarray(v)).imag / h

    def energies(self, q, v):
        """Kinetic and potential energy."""
        motion, poses = self.twists(q, v), self.poses(q)
        kinetic = sum(0.5 * motion[b.name][0] @ self.generalized_inertia(b) @ motion[b.name][0] for b in self.bodies)
        height = sum(b.mass * (poses[b.name] @ [*b.com, 1.0])[:3] for b in self.bodies)
        return kinetic, -self.gravity @ height
