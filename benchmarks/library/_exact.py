"""Dynamics of a tree of hinges in 200-bit arithmetic, from the very numbers that a library keeps.

Textbook recursions with 6x6 matrices, angular part first: Newton-Euler outwards and inwards, articulated bodies. Shares
no code with any of the libraries that it judges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

mpmath.mp.prec = 200
Exact = Any  # arrays of mpmath numbers


def exact(x: Any) -> Exact:
    """Floats as the numbers that they are."""
    return np.vectorize(mpmath.mpf, otypes=[object])(np.asarray(x, float))


def hat(v: Exact) -> Exact:
    zero = mpmath.mpf(0)
    return np.array([[zero, -v[2], v[1]], [v[2], zero, -v[0]], [-v[1], v[0], zero]], dtype=object)


@dataclass(frozen=True)
class Link:
    """A body that turns about z of its frame, at (R, p) in its parent's; inertia about the frame's origin."""

    parent: int
    R: Exact
    p: Exact
    mass: Exact
    moment: Exact
    inertia: Exact

    @classmethod
    def about_center(cls, parent: int, R: Any, p: Any, mass: float, center: Any, inertia: Exact) -> Link:
        """The inertia is given about the centre of mass."""
        m, c = mpmath.mpf(float(mass)), exact(center)
        return cls(parent, R, exact(p), m, m * c, inertia - m * (hat(c) @ hat(c)))

    def matrix(self) -> Exact:
        h, unit = hat(self.moment), exact(np.eye(3))
        return np.block([[self.inertia, h], [-h, self.mass * unit]])


def _into(link: Link, angle: float) -> Exact:
    """The 6x6 matrix that takes twists of the parent's frame to the body's."""
    c, s, zero, one = mpmath.cos(mpmath.mpf(angle)), mpmath.sin(mpmath.mpf(angle)), mpmath.mpf(0), mpmath.mpf(1)
    R = link.R @ np.array([[c, -s, zero], [s, c, zero], [zero, zero, one]], dtype=object)
    X = exact(np.zeros((6, 6)))
    X[:3, :3] = X[3:, 3:] = R.T
    X[3:, :3] = -R.T @ hat(link.p)
    return X


def _cross(V: Exact) -> Exact:
    """The 6x6 matrix ad_V."""
    X = exact(np.zeros((6, 6)))
    X[:3, :3] = X[3:, 3:] = hat(V[:3])
    X[3:, :3] = hat(V[3:])
    return X


def _outwards(links: list[Link], q: Any, qd: Any) -> tuple[list[Exact], list[Exact], list[Exact]]:
    """Transforms, twists and the accelerations that rates alone make."""
    moves, twists, biases = [], [], []
    for link, angle, rate in zip(links, q, qd, strict=True):
        X, S = _into(link, float(angle)), exact([0, 0, 1, 0, 0, 0])
        above = twists[link.parent] if link.parent >= 0 else exact(np.zeros(6))
        carried = X @ above
        twists.append(carried + S * mpmath.mpf(float(rate)))
        biases.append(_cross(carried) @ S * mpmath.mpf(float(rate)))
        moves.append(X)
    return moves, twists, biases


def inverse_dynamics(links: list[Link], q: Any, qd: Any, qdd: Any, gravity: Any) -> Exact:
    moves, twists, biases = _outwards(links, q, qd)
    base = exact([0, 0, 0, *(-np.asarray(gravity, float))])
    motion, wrenches = [], []
    for i, link in enumerate(links):
        A = moves[i] @ (motion[link.parent] if link.parent >= 0 else base) + biases[i]
        A[2] += mpmath.mpf(float(qdd[i]))
        motion.append(A)
        G, V = link.matrix(), twists[i]
        wrenches.append(G @ A - _cross(V).T @ (G @ V))
    tau = exact(np.zeros(len(links)))
    for i in range(len(links) - 1, -1, -1):
        tau[i] = wrenches[i][2]
        if links[i].parent >= 0:
            wrenches[links[i].parent] = wrenches[links[i].parent] + moves[i].T @ wrenches[i]
    return tau


def forward_dynamics(links: list[Link], q: Any, qd: Any, tau: Any, gravity: Any) -> Exact:
    moves, twists, biases = _outwards(links, q, qd)
    inertias = [link.matrix() for link in links]
    loads = [-_cross(V).T @ (G @ V) for V, G in zip(twists, inertias, strict=True)]
    found: list[Any] = [None] * len(links)
    for i in range(len(links) - 1, -1, -1):
        G, c = inertias[i], biases[i]
        U = G[:, 2]
        u = mpmath.mpf(float(tau[i])) - loads[i][2]
        found[i] = (U, U[2], u)
        parent = links[i].parent
        if parent >= 0:
            rest = G - np.outer(U, U) / U[2]
            inertias[parent] = inertias[parent] + moves[i].T @ rest @ moves[i]
            loads[parent] = loads[parent] + moves[i].T @ (loads[i] + rest @ c + U * (u / U[2]))
    motion, qdd = [], exact(np.zeros(len(links)))
    base = exact([0, 0, 0, *(-np.asarray(gravity, float))])
    for i, link in enumerate(links):
        A = moves[i] @ (motion[link.parent] if link.parent >= 0 else base) + biases[i]
        U, d, u = found[i]
        qdd[i] = (u - U @ A) / d
        A[2] += qdd[i]
        motion.append(A)
    return qdd


def relative_error(found: Any, wanted: Exact) -> float:
    """Largest difference relative to the largest number."""
    return float(max(abs(exact(found) - wanted)) / max(abs(wanted)))
