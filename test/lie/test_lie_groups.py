"""Group axioms and identities over group x batch shape x hard samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lie_samples import BATCHES, KINDS, rotation_vectors, twists
from scipy.linalg import expm

from lie_dynamics_ros.lie_dynamics.lie import quaternion, se3, so3

cases = given(
    kind=st.sampled_from(KINDS),
    other=st.sampled_from(KINDS),
    batch=st.sampled_from(BATCHES),
    seed=st.integers(0, 2**32 - 1),
)
many = settings(max_examples=25, deadline=None, derandomize=True)


def close(actual, expected, tolerance=1e-13):
    expected = np.asarray(expected)
    assert np.shape(actual) == expected.shape
    assert np.abs(actual - expected).max(initial=0.0) <= tolerance * np.abs(expected).max(initial=1.0)


def times(A, x):
    return np.einsum("...ij,...j->...i", A, x)


@many
@cases
def test_so3(kind, batch, seed, other):
    rng = np.random.default_rng(seed)
    phi, psi = rotation_vectors(kind, batch, rng), rotation_vectors(other, batch, rng)
    R, S = so3.exp(phi), so3.exp(psi)
    eye = np.broadcast_to(np.eye(3), (*batch, 3, 3))
    close(np.swapaxes(R, -1, -2) @ R, eye, 4e-15)
    close(np.linalg.det(R), np.ones(batch), 4e-15)
    assert so3.is_rotation(R).all()
    close(so3.exp(-phi) @ R, eye, 4e-15)
    close(so3.exp(so3.log(R @ S)), R @ S, 2e-15)
    close(R @ so3.hat(psi) @ np.swapaxes(R, -1, -2), so3.hat(times(R, psi)), 1e-14)
    close(so3.vee(so3.hat(phi)), phi, 0.0)
    close(times(so3.hat(phi), psi), np.cross(phi, psi), 1e-15)
    close(so3.left_jacobian(phi), R @ so3.right_jacobian(phi), 1e-14)
    close(so3.left_jacobian(phi) @ so3.left_jacobian_inverse(phi), eye, 1e-14)
    log = so3.log(R)
    assert (np.linalg.norm(log, axis=-1) <= np.pi * (1 + 1e-15)).all()
    if kind in ("uniform", "tangent", "near identity", "identity"):
        close(log, phi, 1e-12 if kind == "uniform" else 1e-14)  # a uniform angle may be near pi: sign of the axis
    close(so3.nearest(R + 1e-9 * rng.normal(size=R.shape)), R, 1e-8)
    close(so3.from_rpy(so3.to_rpy(R)), R, 4e-15)


@many
@cases
def test_quaternions(kind, batch, seed, other):
    rng = np.random.default_rng(seed)
    phi, psi = rotation_vectors(kind, batch, rng), rotation_vectors(other, batch, rng)
    p, q = quaternion.exp(phi), quaternion.exp(psi)
    close((p * p).sum(-1), np.ones(batch), 4e-16 * 4)
    close(quaternion.to_matrix(p), so3.exp(phi), 4e-15)
    close(quaternion.to_matrix(quaternion.multiply(p, q)), so3.exp(phi) @ so3.exp(psi), 4e-15)
    close(quaternion.multiply(p, quaternion.conjugate(p)), np.broadcast_to([0.0, 0, 0, 1], p.shape), 4e-16 * 4)
    r = so3.to_quaternion(so3.exp(phi))
    assert (r[..., 3] >= 0).all()
    assert np.minimum(np.abs(r - p).max(-1), np.abs(r + p).max(-1)).max() < 4e-15  # q and -q are one rotation
    close(so3.exp(quaternion.log(p)), so3.exp(phi), 4e-15)
    close(so3.from_quaternion(-r), so3.exp(phi), 4e-15)
    close(quaternion.slerp(r, q, 0.0), r, 4e-15)
    # the same path as on matrices, where there is one shorter way round
    unique = np.linalg.norm(so3.log(so3.exp(-phi) @ so3.exp(psi)), axis=-1) < 3.1
    step = quaternion.slerp(p, q, 0.3)[unique]
    close(so3.from_quaternion(step), so3.interpolate(so3.exp(phi), so3.exp(psi), 0.3)[unique], 1e-13)


@many
@cases
def test_se3(kind, batch, seed, other):
    rng = np.random.default_rng(seed)
    V, U = twists(kind, batch, rng), twists(other, batch, rng)
    T, S = se3.exp(V), se3.exp(U)
    eye = np.broadcast_to(np.eye(4), T.shape)
    size = max(1.0, np.abs(T).max(), np.abs(S).max())
    close(se3.inverse(T) @ T, eye, 1e-14 * size)
    close(se3.exp(-V), se3.inverse(T), 1e-14)
    close(se3.compose(T, S), T @ S)
    close(se3.exp(se3.log(T @ S)), T @ S, 1e-13)
    close(se3.vee(se3.hat(V)), V, 0.0)
    # the definitions: Ad_T V = vee(T [V] T^-1), ad_V U = vee([V][U] - [U][V]), both Kim
    conjugated = T @ se3.hat(U) @ se3.inverse(T)
    close(se3.hat(times(se3.Ad(T), U)), conjugated, 1e-13 * size)
    X, Y = se3.hat(V), se3.hat(U)
    close(se3.hat(times(se3.ad(V), U)), X @ Y - Y @ X, 1e-13)
    close(se3.Ad(T @ S), se3.Ad(T) @ se3.Ad(S), 1e-13 * size)
    close(se3.transform_twist(T, U), times(se3.Ad(T), U), 1e-14 * size)
    # power does not depend on the frame: F . V = F' . V'
    F = rng.normal(size=(*batch, 6))
    close((se3.transform_wrench(T, F) * se3.transform_twist(T, U)).sum(-1), (F * U).sum(-1), 1e-12 * size**2)
    close(times(se3.Ad_dual(T), se3.transform_wrench(T, F)), F, 1e-13 * size)
    close(times(se3.ad_dual(V), F), np.einsum("...ji,...j->...i", se3.ad(V), F), 1e-14)
    close(se3.left_jacobian(V), se3.Ad(T) @ se3.right_jacobian(V), 1e-13 * size)
    x = rng.normal(size=(*batch, 3))
    homogeneous = np.concatenate([x, np.ones((*batch, 1))], axis=-1)
    close(se3.transform_points(T, x), times(T, homogeneous)[..., :3], 1e-14)
    p, q = se3.to_position_quaternion(T)
    close(se3.from_position_quaternion(p, q), T, 4e-15)
    close(se3.interpolate(T, S, 0.0), T, 1e-13)
    close(se3.interpolate(T, S, 1.0), S, 1e-13 * size)


@pytest.mark.parametrize("function, n", [(so3.exp, 3), (quaternion.exp, 3), (se3.exp, 6)])
def test_one_parameter_subgroups(function, n):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(50, n))
    s, t = rng.uniform(-1, 1, size=(2, 50, 1))
    product = quaternion.multiply if function is quaternion.exp else np.matmul
    close(product(function(s * x), function(t * x)), function((s + t) * x), 1e-14)


def test_batch_axes_broadcast():
    rng = np.random.default_rng(4)
    R, p = so3.exp(rng.normal(size=(5, 1, 3))), rng.normal(size=(4, 3))
    T = se3.from_parts(R, p)
    assert T.shape == (5, 4, 4, 4)
    assert se3.transform_points(T, np.zeros(3)).shape == (5, 4, 3)
    assert so3.left_jacobian_derivative(np.zeros((2, 1, 3)), np.zeros((3, 3))).shape == (2, 3, 3, 3)
    assert quaternion.multiply(np.zeros((6, 1, 4)), np.zeros((2, 4))).shape == (6, 2, 4)
    assert se3.exp(np.zeros((0, 6))).shape == (0, 4, 4)
    assert se3.log(np.zeros((0, 4, 4))).shape == (0, 6)


def test_rates_in_a_moving_frame():
    """Kim's lemmas 1 and 2: what does not change in the world changes in the body by -ad_V X, or by +ad*_V Y."""
    rng = np.random.default_rng(12)
    T, h = se3.exp(rng.normal(size=6)), 1e-5
    V, X, Y = rng.normal(size=(3, 6))

    def seen(t):
        """A twist and a wrench at rest in the world, from the body at time t: by (6), and by its moment."""
        pose = T @ expm(t * se3.hat(V))
        R, p = pose[:3, :3], pose[:3, 3]
        S = np.linalg.inv(pose) @ se3.hat(X) @ pose
        moment = R.T @ (Y[:3] - np.cross(p, Y[3:]))
        return np.concatenate([[S[2, 1], S[0, 2], S[1, 0]], S[:3, 3]]), np.concatenate([moment, R.T @ Y[3:]])

    (x, y), before, after = seen(0.0), seen(-h), seen(h)
    close((after[0] - before[0]) / (2 * h), -se3.ad(V) @ x, 1e-8)
    close((after[1] - before[1]) / (2 * h), se3.ad_dual(V) @ y, 1e-8)
