"""Misprints of doc/papers.md: as printed the equation fails, put right it holds."""

import numpy as np
import pytest
from support.compare import relative
from support.sample_trees import chain, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.closed_form import ClosedForm, ScrewTree, ploen_matrices
from lie_dynamics_ros.lie_dynamics.lie import se3, so3
from lie_dynamics_ros.lie_dynamics.reference import kim_derivatives, kim_dynamics

WRONG = 1e-2  # what is misprinted is off by this at least, relative


@pytest.fixture
def arm(rng):
    """A chain as a `dense.Tree`, its screws and a state."""
    tree = chain(rng, ["revolute", "helical", "revolute", "prismatic", "revolute"])
    return tree, ScrewTree.from_model(to_model(tree)), tree.random(rng), rng.normal(size=tree.nv)


def carried(tree, x, first, last, B):
    """PBP (37): Ad_last^first(B), nodes counted from 0."""
    for k in range(first, last + 1):
        B = se3.Ad(se3.exp(-tree.screws[k][:, 0] * x[k])) @ B
    return B


def test_kim_34(arm, rng):
    """The block that multiplies qdd_u is M_vu."""
    tree, _, q, qd = arm
    model, tau = to_model(tree), rng.normal(size=tree.nv)
    qdd = ld.forward_dynamics(model, q, qd, tau)
    M, b = ld.mass_matrix(model, q), ld.inverse_dynamics(model, q, qd, np.zeros(tree.nv))
    u, v = [0, 1], [2, 3]
    M, b, tau = M[:4, :4], b[:4] + M[:4, 4] * qdd[4], tau[:4]  # two of each, so that the printed shapes fit
    solve = np.linalg.inv(M[np.ix_(v, v)])
    assert relative(solve @ (tau[v] - b[v] - M[np.ix_(v, u)] @ qdd[u]), qdd[v]) < 1e-9
    assert relative(solve @ (tau[v] - b[v] - M[np.ix_(u, v)] @ qdd[u]), qdd[v]) > WRONG


def test_kim_table_7(arm, rng):
    """Along an acceleration that is given, d(dV_i)/dp holds S_i dqdd_i/dp; printed S_i dqd_i/dp, which is zero."""
    tree, _, q, qd = arm
    model, e = to_model(tree), np.eye(tree.nv)[1]
    run = kim_dynamics.hybrid_dynamics(model, q, qd, rng.normal(size=tree.nv), np.zeros(tree.nv), e > 0.0)
    slopes = kim_derivatives.Slopes.none(run.robot)
    printed = kim_derivatives.hybrid_dynamics_derivative(run, slopes)
    slopes.dqdd = e
    right = kim_derivatives.hybrid_dynamics_derivative(run, slopes)
    M = ld.mass_matrix(model, q)
    expected = np.array(e)
    rest = np.flatnonzero(e == 0.0)
    expected[rest] = -np.linalg.solve(M[np.ix_(rest, rest)], M[rest, 1])  # the other forces stay
    assert relative(M @ right[0], M @ expected) < 1e-9 and relative(right[1], M @ expected) < 1e-9
    assert not printed[0].any() and not printed[1].any()


def test_kim_definition_of_s():
    """T^-1 dT/dq is a screw; T^-1 times the derivative of T^-1 is none."""
    S, h = np.array([0.6, 0.0, 0.8, 0.3, -0.2, 0.5]), 1e-30
    T = se3.exp(0.7 * S)
    ahead = se3.exp((0.7 + 1j * h) * S)
    right, printed = (se3.inverse(T) @ D.imag / h for D in (ahead, se3.inverse(ahead)))
    assert relative(right, se3.hat(S)) < 1e-13
    assert np.abs(printed[:3, :3] + printed[:3, :3].T).max() > WRONG


def test_pbp_24_to_26_and_73(arm, rng):
    """The adjoints are those of f^-1, and the bracket of (73) has V of the body before."""
    tree, _, q, qd = arm
    qdd = rng.normal(size=tree.nv)
    poses, motion = tree.poses(q), tree.twists(q, qd, qdd)
    screws = ScrewTree.from_model(to_model(tree)).body_screws
    one, two = tree.moving[1:3]
    f, S = se3.inverse(poses[one]) @ poses[two], screws[2][:, 0]
    (V1, dV1), (V2, dV2) = motion[one], motion[two]
    Ad, printed = se3.Ad(se3.inverse(f)), se3.Ad(f)
    own = S * qd[2]
    assert relative(Ad @ V1 + own, V2) < 1e-12
    assert relative(printed @ V1 + own, V2) > WRONG
    rest = S * qdd[2]
    assert relative(Ad @ dV1 + se3.ad(Ad @ V1) @ own + rest, dV2) < 1e-12
    assert relative(printed @ dV1 + se3.ad(printed @ V1) @ own + rest, dV2) > WRONG  # (25)
    assert relative(Ad @ dV1 + se3.ad(Ad @ V2) @ own + rest, dV2) > WRONG  # (73)
    F, V = rng.normal(size=(2, 6))  # (26), and the line before (80): power is the same from either frame
    power = F @ (Ad @ V)
    assert abs((Ad.T @ F) @ V - power) < 1e-12
    assert abs((printed.T @ F) @ V - power) > WRONG


def test_pbp_32_38_39(arm):
    """Energy wants its half, and twists their rates."""
    tree, screws, x, xd = arm
    n, closed = tree.nv, ClosedForm(screws, x)
    terms = [[carried(screws, x, j + 1, i, screws.screws[j][:, 0]) for j in range(i + 1)] for i in range(n)]
    V = [sum(A * rate for A, rate in zip(row, xd, strict=False)) for row in terms]
    for i, name in enumerate(tree.moving):
        seen = se3.Ad(se3.inverse(screws.home[i])) @ np.array([V[i], sum(terms[i])]).T
        expected = tree.twists(x, xd)[name][0]
        assert relative(seen[:, 0], expected) < 1e-12
        assert relative(seen[:, 1], expected) > WRONG  # (38)
    energy = tree.energies(x, xd)[0]
    by_links = sum(closed.product(i, V[i], V[i]) for i in range(n))  # (39)
    by_matrix = xd @ tree.mass_matrix(x) @ xd  # (32)
    assert [0.5 * by_links, 0.5 * by_matrix] == pytest.approx([energy, energy], rel=1e-11)


def test_pbp_54(arm, rng):
    """The two cases are printed in each other's place; (53) differentiated by a complex step tells."""
    _, tree, x, _ = arm
    A, B, h = [a[:, 0] for a in tree.screws], rng.normal(size=6), 1e-30

    def bracket(a, b):
        return se3.ad(a) @ b

    def first(x, k):  # (53)
        return carried(tree, x, k, 4, bracket(carried(tree, x, 0, k - 1, B), A[k]))

    def inner_first(a, b):
        """The second derivative in which the bracket with A_a is carried on to A_b: right for a before b."""
        inner = bracket(carried(tree, x, 0, a - 1, B), A[a])
        return carried(tree, x, b, 4, bracket(carried(tree, x, a, b - 1, inner), A[b]))

    for k, m in [(1, 3), (3, 1), (0, 2), (2, 4)]:
        expected = first(x + 1j * h * np.eye(5)[m], k).imag / h
        low, high = min(k, m), max(k, m)
        assert relative(inner_first(low, high), expected) < 1e-12
        assert relative(inner_first(high, low), expected) > WRONG  # as printed
    closed = ClosedForm(tree, x)
    B = A[0]
    expected = carried(tree, x, 3, 4, bracket(closed.derivative(2, 0, 1), A[3]))
    assert relative(closed.second_derivative(4, 0, 1, 3), expected) < 1e-12
    assert relative(closed.second_derivative(4, 0, 3, 1), expected) < 1e-12


def test_pbp_82_83(rng):
    """m [w] [r]^2 w has a minus; what the text says is equal to m [r] [w]^2 r is this term, not the second one."""
    m, square = 1.7, rng.normal(size=(3, 3))
    r, w, v, dw, dv = rng.normal(size=(5, 3))
    about_center = square @ square.T + 3.0 * np.eye(3)
    R, W = so3.hat(r), so3.hat(w)
    body = ld.SpatialInertia(m, r, about_center)
    expected = body.force(np.append(w, v), np.append(dw, dv))[:3]
    a = dv + W @ v + so3.hat(dw) @ r + W @ W @ r
    assert relative(about_center @ dw + W @ about_center @ w + m * R @ a, expected) < 1e-12  # (75)-(79)
    rest = about_center @ dw - m * R @ R @ dw + m * R @ dv + W @ about_center @ w
    rest = rest + m * W @ R @ v + m * so3.hat(v) @ W @ r
    term = m * W @ R @ R @ w
    assert relative(rest - term, expected) < 1e-12
    assert relative(rest + term, expected) > WRONG
    assert relative(-term, m * R @ W @ W @ r) < 1e-12
    assert relative(-m * R @ R @ dw, m * R @ W @ W @ r) > WRONG


def test_ploen_sign_of_gravity(arm):
    """dV_0 = (0, g) is right for a g that points up."""
    tree, screws, q, _ = arm
    p, still = ploen_matrices(screws, q, np.zeros(tree.nv)), np.zeros(tree.nv)
    expected = tree.bias_force(q, still)
    printed = np.append(np.zeros(3), tree.gravity)
    assert relative(p.torque(still), expected) < 1e-12
    assert relative(p.torque(still, dV0=printed), -expected) < 1e-12


def test_skew_matrices_of_a_tree_and_of_its_model(rng):
    """(37) depends on the frames' origins: `to_model` puts them on the axes. Both are right, and differ."""
    screws, home = rng.normal(size=(4, 6)), se3.exp(rng.normal(size=(4, 6)))
    inertias = [ld.SpatialInertia(1.0 + k, rng.normal(size=3), np.diag([0.4, 0.5, 0.6])) for k in range(4)]
    tree = ScrewTree.from_screws(screws, home, inertias, [-1, 0, 1, 0])
    model, (q, qd) = tree.to_model(), rng.normal(size=(2, 4))
    own, other = ploen_matrices(tree, q, qd), ld.coriolis_matrix(model, q, qd, "ploen")
    assert relative(other, own.skew_coriolis()) > WRONG
    assert relative(ploen_matrices(ScrewTree.from_model(model), q, qd).skew_coriolis(), other) < 1e-11
    for C in (own.skew_coriolis(), other):
        assert relative(C @ qd, own.plain_coriolis() @ qd) < 1e-11
        rest = own.mass_matrix_rate() - 2.0 * C
        assert np.abs(rest + rest.T).max() < 1e-11 * np.abs(C).max()
    symbols = ClosedForm(tree, q).christoffel_symbols()
    assert relative(ld.coriolis_matrix(model, q, qd), np.einsum("ijk,i->kj", symbols, qd)) < 1e-11  # one for both
