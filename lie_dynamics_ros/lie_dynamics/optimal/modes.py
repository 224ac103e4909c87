"""Polynomials of time: a cubic between two states, modes that leave both of its ends as they are, and conditions.

They are exponential coordinates around one configuration, q(t) = start exp(x(t)) for ball and free joints. Coordinates
of all other joints are their own chart, x = q - start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.legendre import legvander

from ..arrays import Array
from ..lie import se3, so3
from ..model.model import Model

#: Terms of the series below; those of rotations up to two turns fall under round-off long before.
_TERMS = 80


@dataclass(frozen=True, eq=False)
class Part:
    """Maps of one ball or free joint between the chart and body rates: matrices (k, m, m), m of 3 or 6."""

    where: slice
    ad: Callable[[Array], Array]
    chart: tuple[Array, Array, Array]
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

    def jacobian(self) -> Array | None:
        """Return how (u, qd, qdd) change with (x, xd, xdd), (k, 3 nv, 3 nv); None where all joints are their own chart.

        A change dx moves the configuration by u = J dx in the body's frame, and changes the rates V = J xd by
        du/dt + ad_V u and their derivatives by d^2u/dt^2 + ad_A u + ad_V du/dt, A = dV/dt.
        """
        if not self.parts:
            return None
        k, n = self.qd.shape
        whole = np.broadcast_to(np.eye(3 * n), (k, 3 * n, 3 * n)).copy().reshape(k, 3, n, 3, n)
        for p in self.parts:
            J, V = p.jacobian, p.ad_rate
            slope = p.first + V @ J
            blocks = {
                (0, 0): J, (1, 0): slope, (1, 1): J, (2, 2): J, (2, 1): slope + p.first,
                (2, 0): p.second + p.ad_acceleration @ J + V @ p.first,
            }  # fmt: skip
            for (a, b), block in blocks.items():
                whole[:, a, p.where, b, p.where] = block
        return whole.reshape(k, 3 * n, 3 * n)

    def curvature(self, slopes: Array) -> Array:
        """Return second derivatives along (x, xd, xdd), (k, 3 nv, 3 nv), of slopes (k, 3, nv) times (u, qd, qdd).

        Along configurations they are those along exponential coordinates: exp(x + dx) = exp(x) exp(u).
        """
        k, n = self.qd.shape
        whole = np.zeros((k, 3, n, 3, n))
        for p in self.parts:
            m = p.where.stop - p.where.start
            step = 1e-30j * np.eye(3 * m).reshape(3 * m, 1, 3, m)
            x, xd, xdd = np.moveaxis(np.stack(p.chart, axis=1) + step, -2, 0)
            moved = _part(p.where, p.ad, x, xd, xdd)
            a, b, c = (slopes[:, d, None, p.where] for d in range(3))
            J, V = moved.jacobian, moved.ad_rate
            rows = (
                a @ J + b @ (moved.first + V @ J) + c @ (moved.second + moved.ad_acceleration @ J + V @ moved.first),
                b @ J + c @ (2.0 * moved.first + V @ J),
                c @ J,
            )
            found = np.stack([r[..., 0, :].imag / 1e-30 for r in rows], axis=-2)  # (3 m, k, 3, m)
            found = found.reshape(3, m, k, 3, m).transpose(2, 0, 1, 3, 4)
            part = 0.5 * (found + found.transpose(0, 3, 4, 1, 2))
            for d in range(3):
                for e in range(3):
                    whole[:, d, p.where, e, p.where] = part[:, d, :, e, :]
        return whole.reshape(k, 3 * n, 3 * n)


def charted_motion(model: Model, start: Array, x: Array, xd: Array, xdd: Array) -> ChartedMotion:
    """Return the motion start exp(x) of chart coordinates and their rates, each (k, nv)."""
    qd, qdd, parts = xd.copy(), xdd.copy(), []
    for joint in model.joints:
        if joint.kind not in ("spherical", "free"):
            continue
        s = joint.v_slice
        part = _part(s, so3.hat if joint.kind == "spherical" else se3.ad, x[:, s], xd[:, s], xdd[:, s])
        qd[:, s] = (part.jacobian @ xd[:, s, None])[..., 0]
        qdd[:, s] = (part.jacobian @ xdd[:, s, None] + part.first @ xd[:, s, None])[..., 0]
        parts.append(part)
    return ChartedMotion(model.integrate(start, x), qd, qdd, tuple(parts))


def _part(where: slice, ad: Callable[[Array], Array], x: Array, xd: Array, xdd: Array) -> Part:
    J, first, second = _rates(ad(x), ad(xd), ad(xdd))
    rate = (J @ xd[..., None])[..., 0]
    change = (J @ xdd[..., None] + first @ xd[..., None])[..., 0]
    return Part(where, ad, (x, xd, xdd), J, first, second, ad(rate), ad(change))


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


def shapes_at(s: Array, count: int) -> Array:
    """Return the polynomials at places s (k,) between 0 and 1, with three derivatives: (4, k, 4 + count).

    The first four are Hermite's cubics for x(0), x'(0), x(1), x'(1). The others are double integrals of Legendre's
    polynomials of degree 2 and more. They and their slopes vanish at both ends; their second derivatives are
    orthonormal on (0, 1), so that the Hessian of the integral of |x''|^2 is the unit matrix.
    """
    one, zero = np.ones_like(s), np.zeros_like(s)
    powers = np.stack([one, s, s**2, s**3], axis=-1)
    slopes = np.stack([zero, one, 2.0 * s, 3.0 * s**2], axis=-1)
    bends = np.stack([zero, zero, 2.0 * one, 6.0 * s], axis=-1)
    jerks = np.stack([zero, zero, zero, 6.0 * one], axis=-1)
    hermite = np.array([[1, 0, -3, 2], [0, 1, -2, 1], [0, 0, 3, -2], [0, 0, -1, 1]], dtype=np.float64).T
    P = legvander(2.0 * s - 1.0, count + 3)
    rates = np.zeros_like(P)  # of P along its own argument: P'[n + 1] = P'[n - 1] + (2 n + 1) P[n]
    rates[:, 1] = 1.0
    for k in range(1, P.shape[1] - 1):
        rates[:, k + 1] = rates[:, k - 1] + (2 * k + 1) * P[:, k]
    n = np.arange(2, count + 2)
    size = np.sqrt(2.0 * n + 1.0)
    once = (P[:, n + 1] - P[:, n - 1]) / (2.0 * size)
    twice = ((P[:, n + 2] - P[:, n]) / (2 * n + 3) - (P[:, n] - P[:, n - 2]) / (2 * n - 1)) / (4.0 * size)
    modes = np.stack([twice, once, size * P[:, n], 2.0 * size * rates[:, n]])
    return np.concatenate([np.stack([powers, slopes, bends, jerks]) @ hermite, modes], axis=-1)


def quadrature(count: int) -> tuple[Array, Array]:
    """Return places in (0, 1) and weights of Gauss's quadrature with that many points."""
    x, w = np.polynomial.legendre.leggauss(count)
    return 0.5 * (x + 1.0), 0.5 * w


#: Sums of (order, place, factor).
Terms = tuple[tuple[tuple[int, float, float], ...], ...]


@dataclass(frozen=True, eq=False)
class Conditions:
    """Equalities of a path x(s): sum of factors x^(order)(place) = fixed + duration timed."""

    terms: Terms  # the sum of each condition
    fixed: Array  # right-hand sides (m, nv)
    timed: Array  # rates along s are those along time, multiplied by the duration

    def solved(self, count: int) -> tuple[Array, Array, Array]:
        """Return coefficients base and rate (4 + count, nv), and columns (4 + count, free) that change no condition.

        Every path that meets the conditions is that of base + duration rate + columns y.
        """
        rows = np.array(
            [sum(f * shapes_at(np.array([s]), count)[d, 0] for d, s, f in terms) for terms in self.terms]
        ).reshape(len(self.terms), 4 + count)
        if len(rows) == 4 and np.array_equal(rows[:, :4], np.eye(4)) and not rows[:, 4:].any():  # both ends given
            columns = np.eye(4 + count)[:, 4:]
        else:
            _, sizes, right = np.linalg.svd(rows)
            columns = right[int((sizes > 1e-12 * sizes.max(initial=0.0)).sum()) :].T
        solve = np.linalg.pinv(rows, rcond=1e-12)
        return solve @ self.fixed, solve @ self.timed, columns
