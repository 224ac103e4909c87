"""The six solvers that the Stewart paper compares, one problem at a time: Algorithms A1 and A2 on SE(3), R^6 and R^7.

Leg lengths first, and their Lie derivatives: (16)-(17), (13), (22)-(24). All in one unit of length, the paper's is cm;
a_i and b_i are rows of (6, 3), homogeneous coordinates carry a tilde: r_i(T) = |T b~_i - a~_i|^2 - L_i^2.

Unknowns x are poses (4, 4) on SE(3); q = [x, y, z, phi, theta, psi] on R^6, R = Rz(psi) Ry(theta) Rx(phi); position and
quaternion (x, y, z, w) on R^7, with |q|^2 - 1 as a seventh residual and R of q / |q|.

Misprints corrected: lines 9 to 21 of A1 are the else branch of line 7; its line 11 goes on while not accepted; and line
13, alpha <- alpha^2, comes before line 12. A2 prints the body screw, T exp(s); only with the spatial one, exp(s) T,
does the paper's Table 3 come out. `on_se3` has both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..arrays import AnyArray
from ..lie import se3, so3

EPS = 1e-14  # eps_1, eps_2 and eps_3; the paper prints eps_2 of A2 as 1e-144
K_MAX = 200
#: Basis E_1 ... E_6 of se(3), (6, 4, 4). (A1)
E = se3.hat(np.eye(6))


def residual(a: AnyArray, b: AnyArray, L: AnyArray, T: AnyArray) -> AnyArray:
    """Return r (6,). (16), (17)."""
    l = b @ T[:3, :3].T + T[:3, 3] - a  # noqa: E741
    return np.asarray((l * l).sum(axis=1) - L**2)


def body_jacobian(a: AnyArray, b: AnyArray, T: AnyArray) -> AnyArray:
    """Return J_b (6, 6) with r(T exp(s)) = r(T) + J_b s + ... (22), (24), (25)."""
    R, p = T[:3, :3], T[:3, 3]
    J = np.zeros((6, 6), T.dtype)
    for i in range(6):
        J[i, :3] = np.cross(R.T @ a[i] - R.T @ p, b[i])
        J[i, 3:] = b[i] - R.T @ a[i] + R.T @ p
    return 2.0 * J


def spatial_jacobian(a: AnyArray, b: AnyArray, T: AnyArray) -> AnyArray:
    """Return J_r (6, 6) with r(exp(s) T) = r(T) + J_r s + ...: (23), which is printed for exp(-s) T."""
    R, p = T[:3, :3], T[:3, 3]
    J = np.zeros((6, 6), T.dtype)
    for i in range(6):
        J[i, :3] = np.cross(a[i], R @ b[i] + p)
        J[i, 3:] = R @ b[i] + p - a[i]
    return 2.0 * J


def second_derivatives(a: AnyArray, b: AnyArray, T: AnyArray) -> AnyArray:
    """Return (E_j^r E_k^r r_i)(T) as [i, j, k], (6, 6, 6): the second-order term of (13).

    d2/ds dt of |T exp(s E_j) exp(t E_k) b~ - a~|^2. Not symmetric in j and k: what is antisymmetric is the derivative
    along the bracket, and drops out of (13).
    """
    tilde_a, tilde_b = (np.concatenate([x, np.ones((6, 1))], axis=1) for x in (a, b))
    H = np.zeros((6, 6, 6), T.dtype)
    for i in range(6):
        l = T @ tilde_b[i] - tilde_a[i]  # noqa: E741
        for j in range(6):
            for k in range(6):
                H[i, j, k] = 2.0 * (T @ E[j] @ E[k] @ tilde_b[i]) @ l
                H[i, j, k] += 2.0 * (T @ E[j] @ tilde_b[i]) @ (T @ E[k] @ tilde_b[i])
    return H


@dataclass(frozen=True)
class PoseProblem:
    """Residual r(x) (m,), its Jacobian (m, n) with respect to a step, and the step itself, x' = move(x, s)."""

    residual: Callable[[AnyArray], AnyArray]
    jacobian: Callable[[AnyArray], AnyArray]
    move: Callable[[AnyArray, AnyArray], AnyArray]


def on_se3(a: AnyArray, b: AnyArray, L: AnyArray, screw: Literal["body", "spatial"]) -> PoseProblem:
    """Return the problem on SE(3): T exp(s) with (24), or exp(s) T with (23)."""
    if screw == "body":
        return PoseProblem(
            lambda T: residual(a, b, L, T),
            lambda T: body_jacobian(a, b, T),
            lambda T, s: T @ se3.exp(s),
        )
    return PoseProblem(
        lambda T: residual(a, b, L, T),
        lambda T: spatial_jacobian(a, b, T),
        lambda T, s: se3.exp(s) @ T,
    )


def on_r6(a: AnyArray, b: AnyArray, L: AnyArray) -> PoseProblem:
    """Return the problem on R^6; an angle's derivative of R is R with that factor differentiated."""

    def rotations(x: AnyArray) -> list[AnyArray]:
        """R and its derivatives along roll, pitch and yaw."""
        Rx, Ry, Rz = (so3.exp(angle * e) for angle, e in zip(x[3:], np.eye(3), strict=True))
        X, Y, Z = so3.hat(np.eye(3))
        return [Rz @ Ry @ Rx, Rz @ Ry @ Rx @ X, Rz @ Ry @ Y @ Rx, Rz @ Z @ Ry @ Rx]

    return _in_coordinates(a, b, L, rotations)


def on_r7(a: AnyArray, b: AnyArray, L: AnyArray) -> PoseProblem:
    """Return the problem on R^7. M(q) = |q|^2 R is quadratic in q, so dM/dq_k = M(q + e_k) - M(q) - M(e_k)."""

    def matrix(q: AnyArray) -> AnyArray:
        v, w = q[:3], q[3]
        return np.asarray((w * w - v @ v) * np.eye(3) + 2.0 * np.outer(v, v) + 2.0 * w * so3.hat(v))

    def rotations(x: AnyArray) -> list[AnyArray]:
        """R and its derivatives along the four components."""
        q = x[3:]
        M, square = matrix(q), q @ q
        found = [M / square]
        for k, e in enumerate(np.eye(4)):
            found.append((matrix(q + e) - M - matrix(e)) / square - 2.0 * q[k] * M / square**2)
        return found

    legs = _in_coordinates(a, b, L, rotations)
    return PoseProblem(
        lambda x: np.append(legs.residual(x), x[3:] @ x[3:] - 1.0),
        lambda x: np.vstack([legs.jacobian(x), np.append(np.zeros(3), 2.0 * x[3:])]),
        legs.move,
    )


def gauss_newton(problem: PoseProblem, x: AnyArray, alpha_0: float, k_max: int = K_MAX) -> list[AnyArray]:
    """Return the iterates of Algorithm A1, the first of them x, with its line numbers."""
    path, k = [x], 0  # 1
    r, J = problem.residual(x), problem.jacobian(x)
    found = np.abs(J.T @ r).max() <= EPS  # 2, 3
    while not found and k < k_max:  # 4
        k += 1  # 5
        s = np.linalg.solve(J.T @ J, -J.T @ r)  # 6
        if np.linalg.norm(s) <= EPS:  # 7
            break  # 8
        alpha = alpha_0  # 9
        while not (_descends(problem, x, s, alpha, r) or alpha <= EPS):  # 10, 11, 12
            alpha = alpha * alpha  # 13
        if alpha <= EPS:  # 15
            break  # 16
        x = problem.move(x, alpha * s)  # 18, (28)
        path.append(x)
        r, J = problem.residual(x), problem.jacobian(x)
        found = np.abs(J.T @ r).max() <= EPS  # 19, 20
    return path


def levenberg_marquardt(problem: PoseProblem, x: AnyArray, tau: float, k_max: int = K_MAX) -> list[AnyArray]:
    """Return the iterates of Algorithm A2 that were taken, the first of them x, with its line numbers."""
    path, k, nu = [x], 0, 2.0  # 1
    r, J = problem.residual(x), problem.jacobian(x)
    A, g = J.T @ J, J.T @ r  # 2
    found, mu = np.abs(g).max() <= EPS, tau * A.diagonal().max()  # 3
    while not found and k < k_max:  # 4
        k += 1  # 5
        s = np.linalg.solve(A + mu * np.eye(len(A)), -g)  # 6
        if np.linalg.norm(s) <= EPS:  # 7
            break  # 8
        new = problem.move(x, s)  # 10
        r_new = problem.residual(new)
        gain = 0.5 * (r @ r - r_new @ r_new) / (0.5 * s @ (mu * s - g))  # 11, the model L is quadratic
        if gain > 0.0:  # 12
            x, r, J = new, r_new, problem.jacobian(new)  # 13
            path.append(x)
            A, g = J.T @ J, J.T @ r  # 14
            found = np.abs(g).max() <= EPS  # 15
            mu, nu = mu * max(1.0 / 3.0, 1.0 - (2.0 * gain - 1.0) ** 3), 2.0  # 16
        else:
            mu, nu = mu * nu, 2.0 * nu  # 18
    return path


def _descends(problem: PoseProblem, x: AnyArray, s: AnyArray, alpha: float, r: AnyArray) -> bool:
    """Say whether |r(alpha/2)| <= |r(0)| and |r(alpha)| <= |r(alpha/2)|: A1 line 10; (27) has < there."""
    half, full = (np.linalg.norm(problem.residual(problem.move(x, f * alpha * s))) for f in (0.5, 1.0))
    return bool(half <= np.linalg.norm(r) and full <= half)


def _in_coordinates(
    a: AnyArray, b: AnyArray, L: AnyArray, rotations: Callable[[AnyArray], list[AnyArray]]
) -> PoseProblem:
    """Return the problem in coordinates x: a position, and others that `rotations` turns into R and its derivatives."""

    def legs(x: AnyArray) -> AnyArray:
        return np.asarray(b @ rotations(x)[0].T + x[:3] - a)

    def jacobian(x: AnyArray) -> AnyArray:
        l = legs(x)  # noqa: E741
        turning = [2.0 * (l * (b @ dR.T)).sum(axis=1) for dR in rotations(x)[1:]]
        return np.column_stack([2.0 * l, *turning])

    return PoseProblem(
        lambda x: np.asarray((legs(x) ** 2).sum(axis=1) - L**2), jacobian, lambda x, s: np.asarray(x + s)
    )
