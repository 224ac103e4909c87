"""neutral, random, integrate and difference: what addition and subtraction do in a vector space."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation
from support.compare import relative
from support.motions import hat
from support.sample_trees import branched, to_model, zoo

from lie_dynamics_ros.lie_dynamics import ModelBuilder, SpatialInertia, forward_kinematics, joint_types

TREE = branched(np.random.default_rng(4), ["free", "revolute", "spherical", "cylindrical", "free"], [None, 0, 1, 2, 3])
MODEL = to_model(TREE)
SEEDS = st.integers(0, 2**32 - 1)
#: Sizes of steps: tiny ones, ordinary ones, and rotations close to half a turn.
SIZES = st.sampled_from([1e-12, 1e-7, 1e-3, 0.5, 3.0])


def bounded(rng, size):
    """A tangent vector whose rotations are shorter than half a turn."""
    v = rng.normal(size=MODEL.nv)
    for joint in MODEL.joints:
        if joint.kind in ("free", "spherical"):
            w = v[joint.v_slice][:3]
            w *= min(size, np.pi - 1e-6) / np.linalg.norm(w)
    return v


@settings(max_examples=20)
@given(SEEDS, SIZES)
def test_difference_undoes_integrate(seed, size):
    rng = np.random.default_rng(seed)
    q, v = MODEL.random(rng), bounded(rng, size)
    assert np.abs(MODEL.difference(q, MODEL.integrate(q, v)) - v).max() < (1e-9 if size == 3.0 else 1e-12)


@settings(max_examples=20)
@given(SEEDS)
def test_integrate_undoes_difference(seed):
    rng = np.random.default_rng(seed)
    a, b = MODEL.random(rng), MODEL.random(rng)
    c = MODEL.integrate(a, MODEL.difference(a, b))
    assert relative(forward_kinematics(MODEL, c), forward_kinematics(MODEL, b)) < 1e-12  # q and -q are one rotation


@settings(max_examples=15)
@given(SEEDS, SIZES)
def test_steps_along_one_direction_add_up(seed, size):
    rng = np.random.default_rng(seed)
    q, v = MODEL.random(rng), bounded(rng, size)
    twice = MODEL.integrate(MODEL.integrate(q, v), v)
    assert relative(forward_kinematics(MODEL, MODEL.integrate(q, 2.0 * v)), forward_kinematics(MODEL, twice)) < 1e-12
    back = MODEL.integrate(MODEL.integrate(q, v), -v)
    assert np.abs(MODEL.difference(q, back)).max() < 1e-12


@settings(max_examples=15)
@given(SEEDS, SIZES)
def test_integrate_is_the_exponential(seed, size):
    """Against the matrix exponential, joint by joint."""
    rng = np.random.default_rng(seed)
    q, v = MODEL.random(rng), bounded(rng, size)
    end = MODEL.integrate(q, v)
    for joint in MODEL.joints:
        a, b, x = q[joint.q_slice], end[joint.q_slice], v[joint.v_slice]
        if joint.kind == "free":
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = Rotation.from_quat(a[:4]).as_matrix(), a[4:]
            T = T @ expm(hat(x))
            assert relative(b[4:], T[:3, 3]) < 1e-13
        elif joint.kind == "spherical":
            T = Rotation.from_quat(a).as_matrix() @ expm(hat(np.concatenate([x, np.zeros(3)])))[:3, :3]
        else:
            assert (b == a + x).all()
            continue
        assert relative(Rotation.from_quat(b[:4]).as_matrix(), T[:3, :3]) < 1e-13
        assert abs(np.linalg.norm(b[:4]) - 1.0) < 1e-15


def test_nothing_moves_for_zero():
    rng = np.random.default_rng(0)
    q = MODEL.random(rng)
    assert np.abs(MODEL.integrate(q, np.zeros(MODEL.nv)) - q).max() < 1e-15
    assert np.abs(MODEL.difference(q, q)).max() < 1e-15


def test_differences_keep_their_digits_far_away(rng):
    builder = ModelBuilder().add("body", joint=joint_types.free(), inertia=SpatialInertia(1.0, np.zeros(3), np.eye(3)))
    model, far = builder.build(), np.array([2.0**27, -(2.0**26), 2.0**25])
    a, b = model.random(rng), model.random(rng)
    a[4:], b[4:] = np.round(a[4:] * 2**16) / 2**16, np.round(b[4:] * 2**16) / 2**16
    near = model.difference(a, b)
    a[4:] += far
    b[4:] += far
    assert np.abs(model.difference(a, b) - near).max() < 1e-14


def test_batches_broadcast(rng):
    q = np.array([MODEL.random(rng) for _ in range(6)]).reshape(2, 3, -1)
    v = rng.normal(size=(3, MODEL.nv))
    end = MODEL.integrate(q, v)
    assert end.shape == q.shape
    for i in range(2):
        for k in range(3):
            assert relative(end[i, k], MODEL.integrate(q[i, k], v[k])) < 1e-14
    assert MODEL.difference(q, q[0, 0]).shape == (2, 3, MODEL.nv)
    assert relative(MODEL.difference(q, q[0, 0])[1, 2], MODEL.difference(q[1, 2], q[0, 0])) < 1e-14


def test_round_off_does_not_pile_up(rng):
    q, v = MODEL.random(rng), 0.01 * rng.normal(size=MODEL.nv)
    for _ in range(20_000 // 20):
        q = MODEL.integrate(q, v)
    for joint in MODEL.joints:
        if joint.kind in ("free", "spherical"):
            assert abs(np.linalg.norm(q[joint.q_slice][:4]) - 1.0) < 1e-15


def test_neutral_is_where_nothing_is_turned(rng):
    tree = zoo(rng, without="custom_rail")  # whose T(0) is not the identity
    model = to_model(tree)
    q = model.neutral()
    expected = {None: np.eye(4)}
    for body in tree.bodies:
        expected[body.name] = expected[body.parent] @ body.placement
    assert relative(forward_kinematics(model, q), [expected[name] for name in model.body_names]) < 1e-13


def limited(**limits):
    builder = ModelBuilder().add("a", joint=joint_types.revolute(), **limits)
    return builder.add("b", joint=joint_types.prismatic()).build()


@pytest.mark.parametrize(
    ("limits", "low", "high"),
    [
        ({}, -np.pi, np.pi),
        ({"lower": -0.5, "upper": 0.25}, -0.5, 0.25),
        ({"lower": 5.0}, 5.0, np.inf),
        ({"upper": -7.0}, -np.inf, -7.0),
        ({"lower": 2.0, "upper": 2.0}, 2.0, 2.0),
        ({"lower": 1e300, "upper": 1e300}, 1e300, 1e300),
    ],
)
def test_random_keeps_to_the_limits(limits, low, high):
    model = limited(**limits)
    rng = np.random.default_rng(0)
    samples = np.array([model.random(rng) for _ in range(200)])
    assert (samples[:, 0] >= low).all()
    assert (samples[:, 0] <= high).all()
    assert np.ptp(samples[:, 0]) >= 0.7 * min(high - low, 2.0)
    assert np.abs(samples[:, 1]).max() < 1.0


def test_random_is_repeatable_and_its_quaternions_are_of_unit_length():
    a, b = (MODEL.random(np.random.default_rng(7)) for _ in range(2))
    assert (a == b).all()
    for joint in MODEL.joints:
        if joint.kind in ("free", "spherical"):
            assert abs(np.linalg.norm(a[joint.q_slice][:4]) - 1.0) < 1e-15


def test_a_model_without_joints(rng):
    model = ModelBuilder().add("stone").build()
    for q in (model.neutral(), model.random(rng), model.integrate([], []), model.difference([], [])):
        assert q.shape == (0,)
