"""The two-link arm of doc/closed_form.md: PBP (55)-(64) for two revolute joints, in symbols."""

import itertools
from functools import cached_property

import numpy as np
import pytest
from support.compare import relative

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.closed_form import ClosedForm, ScrewTree

M1, M2, L1, C1, C2, I1, I2, G = 1.3, 0.8, 0.7, 0.3, 0.25, 0.05, 0.03, 9.81


class Arm:
    """Two bodies in the plane, in symbols."""

    def __init__(self, sp):
        self.sp = sp
        self.symbols = sp.symbols("m1 m2 l1 c1 c2 I1 I2 g", positive=True)
        self.q, self.qd = sp.symbols("q1 q2", real=True), sp.symbols("qd1 qd2", real=True)
        m1, m2, l1, c1, c2, i1, i2, _ = self.symbols
        self.p = m2 * l1 * c2
        self.a, self.b = m1 * c1**2 + i1 + m2 * l1**2, m2 * c2**2 + i2
        self.x, self.h = self.p * sp.cos(self.q[1]), -self.p * sp.sin(self.q[1])

    def normal(self, x):
        """The one form of a polynomial in sines and cosines of q in which no sine has a power."""
        sp = self.sp
        sines = [sp.sin(q) for q in self.q]
        total = 0
        for powers, factor in sp.Poly(sp.expand(sp.expand_trig(x)), *sines).terms():
            for q, sine, n in zip(self.q, sines, powers, strict=True):
                factor *= (1 - sp.cos(q) ** 2) ** (n // 2) * sine ** (n % 2)
            total += factor
        return sp.expand(total)

    def is_zero(self, x):
        """Whether what is rational in sines and cosines of q is zero; a matrix: all of it."""
        if isinstance(x, self.sp.MatrixBase):
            return all(map(self.is_zero, x))
        return self.normal(self.sp.fraction(self.sp.together(x))[0]) == 0

    @cached_property
    def mass(self):
        """M from the kinetic energy of two bodies in the plane, without a screw in sight."""
        sp, (q1, q2), rates = self.sp, self.q, self.sp.Matrix(self.qd)
        m1, m2, l1, c1, c2, i1, i2, _ = self.symbols
        first = sp.Matrix([c1 * sp.cos(q1), c1 * sp.sin(q1)])
        second = sp.Matrix([l1 * sp.cos(q1) + c2 * sp.cos(q1 + q2), l1 * sp.sin(q1) + c2 * sp.sin(q1 + q2)])
        v1, v2 = (x.jacobian(self.q) * rates for x in (first, second))
        turning = i1 * self.qd[0] ** 2 + i2 * (self.qd[0] + self.qd[1]) ** 2
        return sp.hessian((m1 * v1.dot(v1) + m2 * v2.dot(v2) + turning) / 2, self.qd).applyfunc(self.normal)

    @cached_property
    def christoffel(self):
        """(52)."""
        M, q, d = self.mass, self.q, self.sp.diff
        return {
            (i, j, k): (d(M[k, j], q[i]) + d(M[k, i], q[j]) - d(M[i, j], q[k])) / 2
            for i, j, k in itertools.product(range(2), repeat=3)
        }

    @cached_property
    def curvature(self):
        """R_1212 by (66)."""
        q, gamma, inverse = self.q, self.christoffel, self.mass.inv()
        up = {(i, j, k): sum(inverse[k, h] * gamma[i, j, h] for h in range(2)) for i, j, k in gamma}
        i, j, k, m = 0, 1, 0, 1
        terms = sum(gamma[i, m, r] * up[j, k, r] - gamma[i, k, r] * up[j, m, r] for r in range(2))
        return self.sp.diff(gamma[j, m, i], q[k]) - self.sp.diff(gamma[j, k, i], q[m]) + terms

    def screws(self):
        """A_1, A_2 and the inertias D_1, D_2 about the world's origin at home, the arm along x, turning about z."""
        sp, (m1, m2, l1, c1, c2, i1, i2, _) = self.sp, self.symbols
        A, D = [sp.Matrix([0, 0, 1, 0, 0, 0]), sp.Matrix([0, 0, 1, 0, -l1, 0])], []
        for m, inertia, x in ((m1, i1, c1), (m2, i2, l1 + c2)):
            r = sp.Matrix([[0, 0, 0], [0, 0, -x], [0, x, 0]])
            top = sp.diag(0, 0, inertia) - m * r * r
            D.append(sp.BlockMatrix([[top, m * r], [-m * r, m * sp.eye(3)]]).as_explicit())
        return A, D

    def ad(self, x):
        sp = self.sp
        w = sp.Matrix([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
        v = sp.Matrix([[0, -x[5], x[4]], [x[5], 0, -x[3]], [-x[4], x[3], 0]])
        return sp.BlockMatrix([[w, sp.zeros(3)], [v, w]]).as_explicit()


@pytest.fixture(scope="module")
def arm():
    """With sympy, which is loaded by who runs these tests, not by all who collect them."""
    return Arm(pytest.importorskip("sympy"))


def test_page_by_hand(arm):
    """What the page says: one function, h = -m2 l1 c2 sin q2, is in everything."""
    a, b, x, h = arm.a, arm.b, arm.x, arm.h
    expected = dict.fromkeys(arm.christoffel, 0) | {(0, 1, 0): h, (1, 0, 0): h, (1, 1, 0): h, (0, 0, 1): -h}
    assert all(arm.is_zero(arm.christoffel[key] - expected[key]) for key in expected)
    assert arm.is_zero(arm.mass - arm.sp.Matrix([[a + b + 2 * x, b + x], [b + x, b]]))


def test_screws_give_the_same(arm):
    """(60), and (55)-(57) with h = <Ad[A_1, A_2], Ad A_1>_2; <Ad[A_1, A_2], A_2>_2 = h too."""
    sp, ad, l1, q2 = arm.sp, arm.ad, arm.symbols[2], arm.q[1]
    (A1, A2), (D1, D2) = arm.screws()
    back = (-ad(A2) * q2).exp()
    carried, bracket = back * A1, back * ad(A1) * A2  # Ad_2^2 of A_1, past the second joint, and of [A_1, A_2]
    s, c = sp.sin(q2), sp.cos(q2)
    assert ad(A1) * A2 == sp.Matrix([0, 0, 0, l1, 0, 0])
    assert arm.is_zero((carried - sp.Matrix([0, 0, 1, l1 * s, l1 * c - l1, 0])).rewrite(sp.cos))
    assert arm.is_zero((bracket - sp.Matrix([0, 0, 0, l1 * c, -l1 * s, 0])).rewrite(sp.cos))
    inner = lambda x, D, y: (x.T * D * y)[0].rewrite(sp.cos)  # noqa: E731
    assert arm.is_zero(inner(A1, D1, A1) + inner(carried, D2, carried) - arm.mass[0, 0])
    assert arm.is_zero(inner(carried, D2, A2) - arm.mass[0, 1])
    assert arm.is_zero(inner(A2, D2, A2) - arm.mass[1, 1])
    assert arm.is_zero(inner(bracket, D2, carried) - arm.h)
    assert arm.is_zero(inner(bracket, D2, A2) - arm.h)


def test_printed_coriolis_matrix(arm):
    """(61)-(64) are no matrix that multiplies the rates; read as parts of C qd they are right but for a sign."""
    sp, h, (a, b), rates = arm.sp, arm.h, arm.qd, arm.sp.Matrix(arm.qd)
    C = sp.Matrix(2, 2, lambda k, j: sum(arm.christoffel[i, j, k] * arm.qd[i] for i in range(2)))
    assert arm.is_zero(C - sp.Matrix([[h * b, h * (a + b)], [-h * a, 0]]))
    printed, force = sp.Matrix([[h * a * b, h * a * b + h * b**2], [h * a**2, 0]]), C * rates
    assert not arm.is_zero(printed * rates - force)
    assert arm.is_zero(sum(printed[0, :]) - force[0])  # the first row, added up, is (C qd)_1
    assert arm.is_zero(sum(printed[1, :]) + force[1])  # the second is -(C qd)_2: the sign of (57) is lost
    skew = sum((sp.diff(arm.mass, q) * qd for q, qd in zip(arm.q, arm.qd, strict=True)), sp.zeros(2)) - 2 * C
    assert arm.is_zero(skew + skew.T)


def test_curvature_of_the_page(arm):
    """R_1212 = x (a b - p^2) / (a b - x^2), with p = m2 l1 c2, x = p cos q2, and a, b the diagonal at x = 0."""
    a, b, p, x = arm.a, arm.b, arm.p, arm.x
    assert arm.is_zero(arm.curvature - x * (a * b - p**2) / (a * b - x**2))


def test_numbers(arm):
    """The library at the values of the page."""
    sp, place = arm.sp, np.eye(4)
    place[0, 3] = L1
    builder = ld.ModelBuilder(gravity=(0.0, -G, 0.0))
    first, second = np.diag([0.05, 0.05, I1]), np.diag([0.03, 0.03, I2])
    builder.add("1", joint=ld.joint_types.revolute(), inertia=ld.SpatialInertia(M1, [C1, 0, 0], first))
    builder.add("2", "1", ld.joint_types.revolute(), place, ld.SpatialInertia(M2, [C2, 0, 0], second))
    model, q, qd = builder.build(), [0.4, -1.1], [0.7, 1.9]
    at = dict(zip((*arm.symbols, *arm.q, *arm.qd), (M1, M2, L1, C1, C2, I1, I2, G, *q, *qd), strict=True))
    table = np.array([[[float(arm.christoffel[i, j, k].subs(at)) for k in range(2)] for j in range(2)]
                      for i in range(2)])  # fmt: skip
    assert relative(ld.mass_matrix(model, q), np.array(arm.mass.subs(at), dtype=float)) < 1e-13
    assert relative(ld.christoffel_symbols(model, q), table) < 1e-13
    assert relative(ld.coriolis_matrix(model, q, qd), np.einsum("ijk,i->kj", table, qd)) < 1e-13
    assert ld.curvature_tensor(model, q)[0, 1, 0, 1] == pytest.approx(float(arm.curvature.subs(at)), rel=1e-12)
    printed = ClosedForm(ScrewTree.from_model(model), q)
    assert relative(printed.christoffel_symbols(), table) < 1e-13
    (m1, m2, l1, c1, c2, *_, g), (q1, q2) = arm.symbols, arm.q
    height = m1 * c1 * sp.sin(q1) + m2 * (l1 * sp.sin(q1) + c2 * sp.sin(q1 + q2))
    slope = [float(sp.diff(g * height, x).subs(at)) for x in arm.q]
    assert relative(ld.gravity_force(model, q), slope) < 1e-13
