"""The two-link arm of doc/closed_form.md: PBP (55)-(64) for two revolute joints, in symbols."""

import itertools
from functools import cache

import numpy as np
import pytest
from support.compare import relative

from lie_dynamics_ros.lie_dynamics import (
    ModelBuilder,
    SpatialInertia,
    christoffel_symbols,
    coriolis_matrix,
    curvature_tensor,
    gravity_force,
    joint_types,
    mass_matrix,
)
from lie_dynamics_ros.lie_dynamics.closed_form import ClosedForm, ScrewTree

sp = pytest.importorskip("sympy")

M1, M2, L1, C1, C2, I1, I2, G = sp.symbols("m1 m2 l1 c1 c2 I1 I2 g", positive=True)
Q = sp.symbols("q1 q2", real=True)
QD = sp.symbols("qd1 qd2", real=True)
VALUES = {M1: 1.3, M2: 0.8, L1: 0.7, C1: 0.3, C2: 0.25, I1: 0.05, I2: 0.03, G: 9.81}


@cache
def mass():
    """M from the kinetic energy of two bodies in the plane, without a screw in sight."""
    q1, q2 = Q
    first = sp.Matrix([C1 * sp.cos(q1), C1 * sp.sin(q1)])
    second = sp.Matrix([L1 * sp.cos(q1) + C2 * sp.cos(q1 + q2), L1 * sp.sin(q1) + C2 * sp.sin(q1 + q2)])
    v1, v2 = (x.jacobian(Q) * sp.Matrix(QD) for x in (first, second))
    energy = M1 * v1.dot(v1) / 2 + M2 * v2.dot(v2) / 2 + I1 * QD[0] ** 2 / 2 + I2 * (QD[0] + QD[1]) ** 2 / 2
    return sp.ImmutableMatrix(sp.simplify(sp.hessian(energy, QD)))


@cache
def symbols(M):
    """(52)."""
    d = sp.diff
    return {
        (i, j, k): sp.simplify((d(M[k, j], Q[i]) + d(M[k, i], Q[j]) - d(M[i, j], Q[k])) / 2)
        for i, j, k in itertools.product(range(2), repeat=3)
    }


def screws():
    """A_1, A_2 and the inertias D_1, D_2 about the world's origin at home, the arm along x, turning about z."""
    A = [sp.Matrix([0, 0, 1, 0, 0, 0]), sp.Matrix([0, 0, 1, 0, -L1, 0])]
    D = []
    for m, inertia, x in ((M1, I1, C1), (M2, I2, L1 + C2)):
        r = sp.Matrix([[0, 0, 0], [0, 0, -x], [0, x, 0]])
        top = sp.diag(0, 0, inertia) - m * r * r
        D.append(sp.BlockMatrix([[top, m * r], [-m * r, m * sp.eye(3)]]).as_explicit())
    return A, D


def ad(x):
    w = sp.Matrix([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
    v = sp.Matrix([[0, -x[5], x[4]], [x[5], 0, -x[3]], [-x[4], x[3], 0]])
    return sp.BlockMatrix([[w, sp.zeros(3)], [v, w]]).as_explicit()


def carried(A):
    """Ad_2^2(A_1), the first screw carried past the second joint, and Ad_2^2([A_1, A_2])."""
    back = (-ad(A[1]) * Q[1]).exp()
    return sp.simplify(back * A[0]), sp.simplify(back * ad(A[0]) * A[1])


def inner(x, D, y):
    return sp.simplify((x.T * D * y)[0])


def test_page_by_hand():
    """What the page says: one function, h = -m2 l1 c2 sin q2, is in everything."""
    M = mass()
    gamma = symbols(M)
    h = -M2 * L1 * C2 * sp.sin(Q[1])
    expected = dict.fromkeys(gamma, 0) | {(0, 1, 0): h, (1, 0, 0): h, (1, 1, 0): h, (0, 0, 1): -h}
    assert all(sp.simplify(gamma[key] - expected[key]) == 0 for key in gamma)
    x = M2 * L1 * C2 * sp.cos(Q[1])
    a, b = M1 * C1**2 + I1 + M2 * L1**2, M2 * C2**2 + I2
    assert sp.simplify(M - sp.Matrix([[a + b + 2 * x, b + x], [b + x, b]])) == sp.zeros(2)


def test_screws_give_the_same():
    """(60), and (55)-(57) with h = <Ad[A_1, A_2], Ad A_1>_2; <Ad[A_1, A_2], A_2>_2 = h too."""
    (A1, A2), (D1, D2) = screws()
    carried1, bracket = carried([A1, A2])
    M = mass()
    assert ad(A1) * A2 == sp.Matrix([0, 0, 0, L1, 0, 0])
    s, c = sp.sin(Q[1]), sp.cos(Q[1])
    assert sp.simplify(carried1 - sp.Matrix([0, 0, 1, L1 * s, L1 * c - L1, 0])) == sp.zeros(6, 1)
    assert sp.simplify(bracket - sp.Matrix([0, 0, 0, L1 * c, -L1 * s, 0])) == sp.zeros(6, 1)
    assert sp.simplify(inner(A1, D1, A1) + inner(carried1, D2, carried1) - M[0, 0]) == 0
    assert sp.simplify(inner(carried1, D2, A2) - M[0, 1]) == 0
    assert sp.simplify(inner(A2, D2, A2) - M[1, 1]) == 0
    h = -M2 * L1 * C2 * sp.sin(Q[1])
    assert sp.simplify(inner(bracket, D2, carried1) - h) == 0
    assert sp.simplify(inner(bracket, D2, A2) - h) == 0


def test_printed_coriolis_matrix():
    """(61)-(64) are no matrix that multiplies the rates; read as parts of C qd they are right but for a sign."""
    M = mass()
    gamma = symbols(M)
    C = sp.Matrix(2, 2, lambda k, j: sum(gamma[i, j, k] * QD[i] for i in range(2)))
    h = -M2 * L1 * C2 * sp.sin(Q[1])
    a, b = QD
    assert sp.simplify(C - sp.Matrix([[h * b, h * (a + b)], [-h * a, 0]])) == sp.zeros(2)
    printed = sp.Matrix([[h * a * b, h * a * b + h * b**2], [h * a**2, 0]])
    force = C * sp.Matrix(QD)
    assert sp.simplify(printed * sp.Matrix(QD) - force) != sp.zeros(2, 1)
    assert sp.simplify(sum(printed[0, :]) - force[0]) == 0  # the first row, added up, is (C qd)_1
    assert sp.simplify(sum(printed[1, :]) + force[1]) == 0  # the second is -(C qd)_2: the sign of (57) is lost
    skew = sum((sp.diff(M, Q[i]) * QD[i] for i in range(2)), sp.zeros(2)) - 2 * C
    assert sp.simplify(skew + skew.T) == sp.zeros(2)


@cache
def curvature():
    """R_1212 by (66)."""
    M = mass()
    gamma, inverse = symbols(M), M.inv()
    up = {(i, j, k): sum(inverse[k, h] * gamma[i, j, h] for h in range(2)) for i, j, k in gamma}
    i, j, k, m = 0, 1, 0, 1
    terms = sum(gamma[i, m, r] * up[j, k, r] - gamma[i, k, r] * up[j, m, r] for r in range(2))
    return sp.simplify(sp.diff(gamma[j, m, i], Q[k]) - sp.diff(gamma[j, k, i], Q[m]) + terms)


def test_curvature_of_the_page():
    """R_1212 = x (a b - p^2) / (a b - x^2), with p = m2 l1 c2, x = p cos q2, and a, b the diagonal at x = 0."""
    x = M2 * L1 * C2 * sp.cos(Q[1])
    a, b = M1 * C1**2 + I1 + M2 * L1**2, M2 * C2**2 + I2
    p = M2 * L1 * C2
    expected = x * (a * b - p**2) / (a * b - x**2)
    assert sp.simplify(curvature() - expected) == 0


def test_numbers():
    """The library at the values of the page."""
    place = np.eye(4)
    place[0, 3] = VALUES[L1]
    builder = ModelBuilder(gravity=(0.0, -VALUES[G], 0.0))
    builder.add("1", joint=joint_types.revolute(), inertia=SpatialInertia(VALUES[M1], [VALUES[C1], 0, 0],
                np.diag([0.05, 0.05, VALUES[I1]])))  # fmt: skip
    builder.add("2", "1", joint_types.revolute(), place, SpatialInertia(VALUES[M2], [VALUES[C2], 0, 0],
                np.diag([0.03, 0.03, VALUES[I2]])))  # fmt: skip
    model, q, qd = builder.build(), [0.4, -1.1], [0.7, 1.9]
    at = VALUES | dict(zip(Q, q, strict=True)) | dict(zip(QD, qd, strict=True))
    M = mass()
    gamma = symbols(M)
    number = np.array(M.subs(at), dtype=float)
    table = np.array([[[float(gamma[i, j, k].subs(at)) for k in range(2)] for j in range(2)] for i in range(2)])
    assert relative(mass_matrix(model, q), number) < 1e-13
    assert relative(christoffel_symbols(model, q), table) < 1e-13
    assert relative(coriolis_matrix(model, q, qd), np.einsum("ijk,i->kj", table, qd)) < 1e-13
    assert curvature_tensor(model, q)[0, 1, 0, 1] == pytest.approx(float(curvature().subs(at)), rel=1e-12)
    printed = ClosedForm(ScrewTree.from_model(model), q)
    assert relative(printed.christoffel_symbols(), table) < 1e-13
    height = M1 * C1 * sp.sin(Q[0]) + M2 * (L1 * sp.sin(Q[0]) + C2 * sp.sin(Q[0] + Q[1]))
    slope = [float(sp.diff(G * height, x).subs(at)) for x in Q]
    assert relative(gravity_force(model, q), slope) < 1e-13
