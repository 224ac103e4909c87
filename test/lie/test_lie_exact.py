"""exp, log and the Jacobians against 60-digit arithmetic, at angles where closed forms lose digits."""

import numpy as np
import pytest
from lie_samples import directions, distance
from support.grids import every_run

from lie_dynamics_ros.lie_dynamics.lie import _coefficients, quaternion, se3, so3

mp = pytest.importorskip("mpmath").mp.clone()
mp.dps = 60

TINY = [10.0**-k for k in range(1, 13)] + [3.3e-5, 7.7e-3, 1e-100]
MIDDLE = [0.5, 1.0, 1.7, 1.9999999, 2.0, 2.0000001, 2.5, 3.0]
NEAR_PI = [np.pi - 10.0**-k for k in range(1, 13)] + [np.pi]
ANGLES = TINY + MIDDLE + NEAR_PI
BEYOND_PI = [np.pi + 1e-9, 4.0, 5.0, 6.0, 6.2]


def exact(x):
    return mp.matrix(np.asarray(x, dtype=float).tolist())


def as_floats(matrix):
    return np.array([[float(matrix[i, j]) for j in range(matrix.cols)] for i in range(matrix.rows)])


def skew(w):
    x, y, z = (w[i] for i in range(3))
    return mp.matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def bracket(V):
    """ad_V, 6 x 6."""
    ad = mp.zeros(6)
    W, U = skew(V[:3]), skew(V[3:])
    for i in range(3):
        for j in range(3):
            ad[i, j] = ad[i + 3, j + 3] = W[i, j]
            ad[i + 3, j] = U[i, j]
    return ad


def integral_of_exponential(A):
    """The integral of exp(s A) over s in [0, 1], by its power series."""
    total, term = mp.eye(A.rows), mp.eye(A.rows)
    for k in range(2, 400):
        term = term * A / k
        total += term
        if mp.mnorm(term, "inf") < mp.mpf(10) ** -55:
            return total
    raise AssertionError("series did not converge")


FUNCTIONS = {
    "a": lambda x: mp.sin(x) / x,
    "b": lambda x: (1 - mp.cos(x)) / x**2,
    "c": lambda x: (x - mp.sin(x)) / x**3,
    "d": lambda x: (1 - x / 2 * mp.cot(x / 2)) / x**2,
}


@pytest.mark.parametrize("angle", every_run((ANGLES + BEYOND_PI)[::2], ANGLES + BEYOND_PI))
def test_coefficients_are_exact_to_round_off(angle):
    for name, function in FUNCTIONS.items():
        # The closed forms cancel that many digits.
        with mp.workdps(60 + int(4 * abs(np.log10(angle))) if angle < 1e-10 else 60):
            t = mp.mpf(angle * angle)
            x = mp.sqrt(t)
            value = function(x)
            # How far a relative error of the angle moves the value: large only at zeros (a at pi, b at 2 pi) and poles.
            conditioning = max(1.0, float(abs(x * mp.diff(function, x) / value)))
        actual = float(getattr(_coefficients, name)(np.asarray(angle * angle)))
        assert abs(actual - float(value)) <= 1e-15 * conditioning * abs(float(value)), name


@pytest.mark.parametrize("angle", every_run(ANGLES[::2], [x for x in ANGLES if x >= 1e-12] + BEYOND_PI[:3]))
def test_slopes_are_exact_to_round_off(angle):
    for name, function in FUNCTIONS.items():
        with mp.workdps(120):
            t = mp.mpf(angle * angle)
            x = mp.sqrt(t)
            h = x * mp.mpf(10) ** -30
            slope = (function(x + h) - function(x - h)) / (2 * h) / x
        actual = float(getattr(_coefficients, "d" + name)(np.asarray(angle * angle)))
        assert abs(actual - float(slope)) <= 2e-14 * abs(float(slope)), name


@pytest.mark.parametrize("angle", ANGLES)
def test_so3_exp_log_and_jacobians(angle):
    rng = np.random.default_rng(int(angle * 1e6) % 1000)
    phi = angle * directions(rng, ())
    W = skew(exact(phi))
    J = integral_of_exponential(W)
    R, back = mp.eye(3) + W * J, J**-1
    assert np.abs(so3.exp(phi) - as_floats(R)).max() < 1e-15
    assert distance(so3.exp(phi) - np.eye(3), as_floats(R - mp.eye(3))) < (2e-16 / angle + 2e-15)
    assert distance(so3.left_jacobian(phi), as_floats(J)) < 2e-15
    assert distance(so3.right_jacobian(phi), as_floats(J.T)) < 2e-15
    assert distance(so3.left_jacobian_inverse(phi), as_floats(back)) < 4e-15
    assert distance(so3.right_jacobian_inverse(phi), as_floats(back.T)) < 4e-15
    if angle < np.pi - 1e-11:  # closer to pi, rounding R may turn the axis round
        assert distance(so3.log(as_floats(R)), phi) < 2e-15
    assert distance(quaternion.log(quaternion.exp(phi)), phi) < 2e-15


@pytest.mark.parametrize(
    "angle", every_run(TINY[:12:3] + MIDDLE[::3] + NEAR_PI[::4], TINY[:12] + MIDDLE + NEAR_PI[::3])
)
def test_se3_exp_log_and_jacobians(angle):
    rng = np.random.default_rng(int(angle * 1e6) % 1000)
    V = np.concatenate([angle * directions(rng, ()), 3.0 * rng.normal(size=3)])
    ad = bracket(exact(V))
    J, right = integral_of_exponential(ad), integral_of_exponential(-ad)
    back, W = J**-1, skew(exact(V[:3]))
    turning = integral_of_exponential(W)
    p = turning * exact(V[3:])
    assert distance(se3.exp(V)[:3, 3], as_floats(p)[:, 0]) < 2e-15
    # Ad of the exponential is the exponential of ad
    assert distance(se3.Ad(se3.exp(V)), as_floats(mp.eye(6) + ad * J)) < 4e-15
    assert distance(se3.left_jacobian(V), as_floats(J)) < 4e-15
    assert distance(se3.left_jacobian_inverse(V), as_floats(back)) < 1e-14
    assert distance(se3.right_jacobian(V), as_floats(right)) < 4e-15
    assert distance(se3.right_jacobian_inverse(V), as_floats(right**-1)) < 1e-14
    assert distance(so3.left_jacobian_derivative(V[:3], V[3:]), as_floats(J[3:, :3])) < 1e-14
    assert distance(so3.left_jacobian_inverse_derivative(V[:3], V[3:]), as_floats(back[3:, :3])) < 1e-14
    if angle < np.pi - 1e-11:
        T = se3.from_parts(as_floats(mp.eye(3) + W * turning), as_floats(p)[:, 0])
        assert distance(se3.log(T), V) < 2e-14
