"""Motions in exponential coordinates around one configuration: q(t) = start exp(x(t)) for ball and free joints.

Coordinates of all other joints are their own chart, x = q - start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..lie import se3, so3
from ..model.model import Model

Array = npt.NDArray[np.float64]

#: Terms of the series below; those of rotations up to two turns fall under round-off long before.
_TERMS = 80


@dataclass(frozen=True, eq=False)
class Part:
    """What one ball or free joint takes to go between the chart and body rates: matrices (k, m, m), m of 3 or 6."""

    where: slice
    jacobian: Array
    first: Array  # its rate
    second: Array  # the rate of that
    ad_rate: Array
    ad_acceleration: Array


@dataclass(frozen=True, eq=False)
class ChartedMotion:
    """States (k, ...) along a path in the chart, and how they change with it."""

    q: Array
    qd: Array
    qdd: Array
    parts: tuple[Part, ...]

    def pull_back(self, dq: Array, dqd: Array, dqdd: Array) -> tuple[Array, Array, Array]:
        """Return derivatives (k, r, nv) along x, xd and xdd for those along q (its tangent), qd and qdd.

        A change dx moves the configuration by u = J dx in the body's frame, and changes the rates V = J xd by
        du/dt + ad_V u and their derivatives by d^2u/dt^2 + ad_A u + ad_V du/dt, A = dV/dt.
        """
        if not self.parts:
            return dq, dqd, dqdd
        x, xd, xdd = dq.copy(), dqd.copy(), dqdd.copy()
        for p in self.parts:
            a, b, c = (d[..., p.where] for d in (dq, dqd, dqdd))
            J, V = p.jacobian, p.ad_rate
            x[..., p.where] = a @ J + b @ (p.first + V @ J) + c @ (p.second + p.ad_acceleration @ J + V @ p.first)
            xd[..., p.where] = b @ J + c @ (2.0 * p.first + V @ J)
            xdd[..., p.where] = c @ J
        return x, xd, xdd


def charted_motion(model: Model, start: Array, x: Array, xd: Array, xdd: Array) -> ChartedMotion:
    """Return the motion start exp(x) of chart coordinates and their rates, each (k, nv)."""
    qd, qdd, parts = xd.copy(), xdd.copy(), []
    for joint in model.joints:
        if joint.kind not in ("spherical", "free"):
            continue
        s = joint.v_slice
        ad = so3.hat if joint.kind == "spherical" else se3.ad
        J, first, second = _rates(ad(x[:, s]), ad(xd[:, s]), ad(xdd[:, s]))
        rate, change = xd[:, s, None], xdd[:, s, None]
        qd[:, s] = (J @ rate)[..., 0]
        qdd[:, s] = (J @ change + first @ rate)[..., 0]
        parts.append(Part(s, J, first, second, ad(qd[:, s]), ad(qdd[:, s])))
    return ChartedMotion(model.integrate(start, x), qd, qdd, tuple(parts))


def to_chart(model: Model, x: Array, qd: Array) -> Array:
    """Return the chart's rates xd (nv,) of body rates qd at chart coordinates x (nv,)."""
    xd = qd.copy()
    for joint in model.joints:
        if joint.kind in ("spherical", "free"):
            s = joint.v_slice
            J = (so3.right_jacobian if joint.kind == "spherical" else se3.right_jacobian)(x[s])
            xd[s] = np.linalg.solve(J, qd[s])
    return xd


def _rates(A: Array, A1: Array, A2: Array) -> tuple[Array, Array, Array]:
    """Return J = sum (-A)^k / (k + 1)! (k, m, m) and its first two rates, where A has the rates A1 and A2.

    With A = ad_x it is the right Jacobian of the exponential.
    """
    P = np.broadcast_to(np.eye(A.shape[-1]), A.shape)
    P1 = P2 = np.zeros(A.shape)
    J, J1, J2 = P.copy(), P1.copy(), P2.copy()
    for k in range(2, _TERMS):
        P, P1, P2 = (-M / k for M in (P @ A, P1 @ A + P @ A1, P2 @ A + 2.0 * P1 @ A1 + P @ A2))
        J, J1, J2 = J + P, J1 + P1, J2 + P2
        if all((np.abs(t) <= 1e-17 * np.abs(s).max(initial=0.0)).all() for t, s in ((P, J), (P1, J1), (P2, J2))):
            break
    return J, J1, J2
