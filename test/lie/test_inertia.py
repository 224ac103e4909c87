"""Spatial inertia: against sums over point masses, which share no code with it; physical validity."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lie_dynamics_ros.lie_dynamics.errors import InertiaError, InputError
from lie_dynamics_ros.lie_dynamics.lie import SpatialInertia, inertial_parameters, se3, so3


class PointMasses:
    """Masses at points of the body frame, the definition behind every inertia."""

    def __init__(self, rng, count=6):
        self.m = rng.uniform(0.1, 2.0, size=count)
        self.x = rng.normal(size=(count, 3))

    def inertia(self):
        com = self.m @ self.x / self.m.sum()
        d = self.x - com
        second = np.einsum("k,ki,kj->ij", self.m, d, d)
        return SpatialInertia(self.m.sum(), com, np.trace(second) * np.eye(3) - second)

    def velocities(self, V):
        return np.cross(V[:3], self.x) + V[3:]


@pytest.fixture(params=range(5))
def points(request):
    return PointMasses(np.random.default_rng(request.param))


def same(actual, expected, tolerance=1e-14):
    assert np.abs(np.asarray(actual) - expected).max() <= tolerance * max(np.abs(expected).max(), 1.0)


def test_force_is_that_of_the_point_masses(points):
    """Each point's mass times its acceleration, in the body's axes: dv + w x v."""
    rng = np.random.default_rng(2)
    V, dV = rng.normal(size=(2, 3, 6))
    found = points.inertia().force(V, dV)
    for k in range(3):
        v, rate = points.velocities(V[k]), points.velocities(dV[k])
        f = points.m[:, None] * (rate + np.cross(V[k, :3], v))
        same(found[k], np.concatenate([np.cross(points.x, f).sum(0), f.sum(0)]))
    same(points.inertia().force(V[0], dV), np.array([points.inertia().force(V[0], x) for x in dV]))


def test_energy_and_momentum_are_those_of_the_point_masses(points):
    V = np.random.default_rng(1).normal(size=6)
    v = points.velocities(V)
    body = points.inertia()
    assert body.kinetic_energy(V) == pytest.approx(0.5 * points.m @ (v * v).sum(1), rel=1e-13)
    p = points.m[:, None] * v
    same(body.momentum(V), np.concatenate([np.cross(points.x, p).sum(0), p.sum(0)]), 1e-13)
    assert body.kinetic_energy(np.zeros((4, 2, 6))).shape == (4, 2)


def test_generalized_inertia_has_the_blocks_of_kim_22(points):
    body = points.inertia()
    G, c, m = body.matrix(), so3.hat(body.com), body.mass
    same(G[:3, :3], body.inertia - m * c @ c)
    same(G[:3, 3:], m * c)
    same(G[3:, :3], -m * c)
    same(G[3:, 3:], m * np.eye(3))


def test_transformed_is_the_same_body_seen_from_another_frame(points):
    T = se3.exp(np.random.default_rng(2).normal(size=6))
    moved = PointMasses(np.random.default_rng(0))
    moved.m, moved.x = points.m, points.x @ T[:3, :3].T + T[:3, 3]
    body = points.inertia().transformed(T)
    same(body.parameters(), moved.inertia().parameters(), 1e-13)
    A = se3.Ad(se3.inverse(T))
    same(body.matrix(), A.T @ points.inertia().matrix() @ A, 1e-13)
    same(body.transformed(se3.inverse(T)).parameters(), points.inertia().parameters(), 1e-13)


def test_sum_is_the_body_of_all_point_masses(points):
    other = PointMasses(np.random.default_rng(77))
    both = PointMasses(np.random.default_rng(0))
    both.m, both.x = np.concatenate([points.m, other.m]), np.concatenate([points.x, other.x])
    total = points.inertia() + other.inertia()
    same(total.parameters(), both.inertia().parameters(), 1e-13)
    same(total.inertia, both.inertia().inertia, 1e-13)
    assert points.inertia() + SpatialInertia.zero() == points.inertia()
    assert SpatialInertia.zero() + SpatialInertia.zero() == SpatialInertia.zero()


def test_forms_convert_into_each_other(points):
    body = points.inertia()
    for again in (
        SpatialInertia.from_parameters(body.parameters()),
        SpatialInertia.from_matrix(body.matrix()),
        SpatialInertia.from_pseudo_inertia(body.pseudo_inertia()),
    ):
        same(again.parameters(), body.parameters(), 1e-13)
        same(again.com, body.com)
    h = points.m @ points.x
    second = np.einsum("k,ki,kj->ij", points.m, points.x, points.x)
    same(body.pseudo_inertia(), np.block([[second, h[:, None]], [h, points.m.sum()]]), 1e-13)
    about_origin = np.trace(second) * np.eye(3) - second
    same(body.parameters(), [points.m.sum(), *h, *about_origin[np.triu_indices(3)]], 1e-13)
    batch = np.stack([body.parameters()] * 6).reshape(2, 3, 10)
    same(inertial_parameters.generalized_inertia(batch)[1, 2], body.matrix())
    same(inertial_parameters.from_generalized_inertia(inertial_parameters.generalized_inertia(batch)), batch)
    same(inertial_parameters.from_pseudo_inertia(inertial_parameters.pseudo_inertia(batch)), batch, 1e-13)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    moments=st.tuples(*[st.floats(-1.0, 10.0)] * 3),
    mass=st.sampled_from([0.5, 3.0, 1e4]),
    seed=st.integers(0, 2**32 - 1),
)
def test_physical_means_a_positive_semidefinite_pseudo_inertia(moments, mass, seed):
    rng = np.random.default_rng(seed)
    R = so3.exp(rng.normal(size=3))
    body = SpatialInertia(mass, rng.normal(size=3), R @ np.diag(moments) @ R.T)
    low, middle, high = sorted(moments)
    margin = (low + middle - high) / max(abs(high), abs(low), 1e-9)
    if abs(margin) < 1e-6:
        return  # too close to call after rounding
    smallest = np.linalg.eigvalsh(body.pseudo_inertia())[0]
    assert body.is_physical() == (margin > 0)
    if abs(margin) > 1e-3 and mass < 1e3:
        assert (smallest > 0) == (margin > 0)
    assert body.deficit() == pytest.approx(max(high - low - middle, 0.0), abs=1e-12)


@pytest.mark.parametrize(
    "body",
    [
        SpatialInertia.zero(),
        SpatialInertia(1.0, [1, 2, 3], np.zeros((3, 3))),  # a point mass
        SpatialInertia(1.0, [0, 0, 0], np.diag([0.0, 2.0, 2.0])),  # a thin rod
        SpatialInertia(1.0, [0, 0, 0], np.diag([1.0, 1.0, 2.0])),  # a flat plate: equality
        SpatialInertia(0.0, [0, 0, 0], np.diag([1.0, 1.0, 1.0])),  # the limit of vanishing masses far away
        SpatialInertia(1.3, [0, 0, 0], [[0, 0, 2e-20], [0, 0, 0], [2e-20, 0, 0]]),  # round-off of a tool
    ],
)
def test_limits_of_bodies_are_physical(body):
    body.check()
    assert body.is_physical()


def test_what_no_body_can_have_is_refused_by_name():
    plate = SpatialInertia(1.0, [0, 0, 0], np.diag([1.0, 1.0, 2.1]))
    with pytest.raises(InertiaError, match=r"link 'forearm': .* 1, 1, 2.1 kg .* triangle inequality") as caught:
        plate.check("link 'forearm'")
    assert caught.value.name == "link 'forearm'"
    np.testing.assert_allclose(caught.value.value, [1, 1, 2.1])
    assert plate.deficit() == pytest.approx(0.1)
    plate.check(tolerance=0.05)
    plate.check(reference=2e8)
    with pytest.raises(InertiaError, match="mass -1 kg is negative"):
        SpatialInertia(-1.0, [0, 0, 0], np.eye(3)).check()
    with pytest.raises(InertiaError, match=r"-1 kg m.* is negative"):
        SpatialInertia(1.0, [0, 0, 0], np.diag([-1.0, 2.0, 2.0])).check()
    with pytest.raises(InertiaError, match="symmetric"):
        SpatialInertia(1.0, [0, 0, 0], [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]])
    with pytest.raises(InertiaError, match="first moment"):
        SpatialInertia.from_parameters([0, 1, 0, 0, 1, 0, 0, 1, 0, 1])
    for bad in ((np.nan, [0, 0, 0], np.eye(3)), (1.0, [0, 0], np.eye(3)), (1.0, [0, 0, 0], np.full((3, 3), np.inf))):
        with pytest.raises(InputError):
            SpatialInertia(*bad)


def test_is_a_value(points):
    body = points.inertia()
    with pytest.raises(AttributeError):
        body.mass = 2.0
    with pytest.raises(ValueError):
        body.com[0] = 1.0
    com = body.com.copy()
    twin = SpatialInertia(body.mass, com, body.inertia)
    com[0] = 99.0
    assert twin == body and hash(twin) == hash(body)
    assert body != SpatialInertia.zero() and body != 3
