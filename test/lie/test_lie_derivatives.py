"""Jacobians against complex-step derivatives of exp, through code that shares nothing with the Jacobians."""

import numpy as np
import pytest
from lie_samples import KINDS, rotation_vectors, twists

from lie_dynamics_ros.lie_dynamics.lie import se3, so3

H = 1e-40


def complex_step(function, x, n):
    """d function / d x, last axis the direction."""
    return np.stack([function(x + 1j * H * np.eye(n)[i]).imag / H for i in range(n)], axis=-1)


@pytest.mark.parametrize("kind", KINDS)
def test_so3_jacobians_are_derivatives_of_exp(kind):
    rng = np.random.default_rng(1)
    for phi in rotation_vectors(kind, (40,), rng):
        dR = complex_step(so3.exp, phi, 3)
        R = so3.exp(phi)
        left = np.stack([so3.vee(0.5 * (X - X.T)) for X in (dR[..., i] @ R.T for i in range(3))], axis=-1)
        right = np.stack([so3.vee(0.5 * (X - X.T)) for X in (R.T @ dR[..., i] for i in range(3))], axis=-1)
        np.testing.assert_allclose(so3.left_jacobian(phi), left, atol=1e-14)
        np.testing.assert_allclose(so3.right_jacobian(phi), right, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_se3_jacobians_are_derivatives_of_exp(kind):
    rng = np.random.default_rng(2)
    for V in twists(kind, (15,), rng):
        dT = complex_step(se3.exp, V, 6)
        inverse = se3.inverse(se3.exp(V))
        for i in range(6):
            left, right = dT[..., i] @ inverse, inverse @ dT[..., i]
            for X, column in ((left, se3.left_jacobian(V)[:, i]), (right, se3.right_jacobian(V)[:, i])):
                twist = np.array([X[2, 1] - X[1, 2], X[0, 2] - X[2, 0], X[1, 0] - X[0, 1], *(2 * X[:3, 3])]) / 2
                np.testing.assert_allclose(column, twist, atol=1e-13 * max(1.0, np.abs(V).max()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["left_jacobian", "left_jacobian_inverse", "right_jacobian", "right_jacobian_inverse"])
def test_derivatives_of_the_jacobians(kind, name):
    rng = np.random.default_rng(3)
    function, derivative = getattr(so3, name), getattr(so3, name + "_derivative")
    for phi in rotation_vectors(kind, (40,), rng):
        rate = rng.normal(size=3)
        expected = function(phi + 1j * H * rate).imag / H
        np.testing.assert_allclose(derivative(phi, rate), expected, atol=1e-14)


def test_complex_step_goes_through_the_adjoint():
    rng = np.random.default_rng(5)
    V, U = rng.normal(size=(2, 6))
    derivative = se3.Ad(se3.exp(V) @ se3.exp(1j * H * U)).imag / H
    np.testing.assert_allclose(derivative, se3.Ad(se3.exp(V)) @ se3.ad(U), atol=1e-14)


def test_log_is_the_inverse_of_exp_to_first_order():
    rng = np.random.default_rng(6)
    for V in twists("tangent", (20,), rng):
        step = 1e-6 * rng.normal(size=6)
        moved = se3.log(se3.exp(step) @ se3.exp(V)) - se3.log(se3.exp(-step) @ se3.exp(V))
        np.testing.assert_allclose(moved / 2e-6, se3.left_jacobian_inverse(V) @ step / 1e-6, rtol=1e-6, atol=1e-6)
