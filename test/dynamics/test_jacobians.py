"""Jacobians of bodies and frames, and their rates, in three frames."""

import numpy as np
import pytest
from support.compare import relative
from support.dense_matrices import frame_jacobian
from support.pin_oracle import SWAP, pinocchio, robot
from support.robots import PANDA, PR2, TALOS
from support.sample_trees import around, each_kind, to_model

from lie_dynamics_ros import lie_dynamics as ld

FRAMES = ["body", "world", "aligned"]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", each_kind())
def test_against_the_definition(kind, frame, rng):
    tree = around(rng, kind)
    model = to_model(tree)
    q, qd = tree.random(rng), rng.normal(size=tree.nv)
    for name in tree.moving[-2:]:
        J, dJ = frame_jacobian(tree, q, qd, name, frame)
        assert relative(ld.jacobian(model, q, name, frame), J) < 1e-12
        assert relative(ld.jacobian(model, np.array([q] * 9), name, frame)[8], J) < 1e-12
        assert relative(ld.jacobian_rate(model, q, qd, name, frame), dJ) < 1e-12


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_on_bodies(frame, rng):
    """The bodies of kind "fixed" are frames; so are names welded to the world, which do not move."""
    tree = around(rng, "fixed")
    model = to_model(tree)
    q, qd = tree.random(rng), rng.normal(size=tree.nv)
    welded = [b for b in tree.bodies if not b.motion.nv]
    assert len(welded) == 2
    for body in welded:
        J, dJ = frame_jacobian(tree, q, qd, body.name, frame)
        assert relative(ld.jacobian(model, q, body.name, frame), J) < 1e-12
        assert np.abs(ld.jacobian_rate(model, q, qd, body.name, frame) - dJ).max() < 1e-12  # zero for the first of them
        assert relative(ld.frame_pose(model, q, body.name), tree.poses(q)[body.name]) < 1e-13
    assert not ld.jacobian(model, q, "world", frame).any()
    assert not ld.jacobian_rate(model, q, qd, "world", frame).any()
    assert (ld.frame_pose(model, q, "world") == np.eye(4)).all()


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", [(PANDA, False), (TALOS, True), (PR2, False)], ids=str)
def test_frames_of_robots(name, frame, rng):
    model, oracle = robot(*name)
    pin = pinocchio()
    kind = {"body": pin.LOCAL, "world": pin.WORLD, "aligned": pin.LOCAL_WORLD_ALIGNED}[frame]
    q, qd = model.random(rng), rng.normal(size=model.nv)
    pin.computeJointJacobiansTimeVariation(oracle.model, oracle.data, oracle.q(q), oracle.v(qd))
    pin.updateFramePlacements(oracle.model, oracle.data)
    for link in rng.choice(model.frame_names[1:], 10):
        at = oracle.model.getFrameId(str(link), pin.BODY)
        J = pin.getFrameJacobian(oracle.model, oracle.data, at, kind)[SWAP][:, oracle.v_map]
        dJ = pin.getFrameJacobianTimeVariation(oracle.model, oracle.data, at, kind)[SWAP][:, oracle.v_map]
        assert np.abs(ld.jacobian(model, q, str(link), frame) - J).max() < 1e-13
        assert np.abs(ld.jacobian_rate(model, q, qd, str(link), frame) - dJ).max() < 1e-12


@pytest.mark.parametrize("kind", each_kind())
def test_velocities_and_accelerations_against_the_definition(kind, rng):
    """V = vee(T^-1 dT/dt) and its rate, of poses and their derivatives in time."""
    tree = around(rng, kind)
    model = to_model(tree)
    q, (qd, qdd) = tree.random(rng), rng.normal(size=(2, tree.nv))
    twists = tree.twists(q, qd, qdd)
    V, A = np.swapaxes([twists[name] for name in tree.moving], 0, 1)
    assert relative(ld.body_velocities(model, q, qd), V) < 1e-12
    assert relative(ld.body_accelerations(model, q, qd, qdd), A) < 1e-12


def test_velocities_and_accelerations_are_those_of_the_jacobian(rng):
    tree = around(rng, "universal")
    model = to_model(tree)
    q, (qd, qdd) = tree.random(rng), rng.normal(size=(2, tree.nv))
    V, A = ld.body_velocities(model, q, qd), ld.body_accelerations(model, q, qd, qdd)
    for k, name in enumerate(model.body_names):
        J, dJ = ld.jacobian(model, q, name), ld.jacobian_rate(model, q, qd, name)
        assert relative(V[k], J @ qd) < 1e-13
        assert relative(A[k], J @ qdd + dJ @ qd) < 1e-13


def test_aligned_acceleration_is_that_of_the_origin(rng):
    """Central differences of the position, twice: 1e-6 is what they give."""
    tree = around(rng, "free")
    model = to_model(tree)
    q, qd = tree.random(rng), rng.normal(size=tree.nv)
    h, name = 1e-4, model.body_names[-1]
    path = [model.integrate(q, t * qd) for t in (-h, 0.0, h)]  # constant body twist, so qdd = 0
    before, here, after = ld.forward_kinematics(model, path)[:, -1, :3, 3]
    assert (
        relative((ld.jacobian_rate(model, q, qd, name, "aligned") @ qd)[3:], (before - 2 * here + after) / h**2) < 1e-6
    )
    assert relative((ld.jacobian(model, q, name, "aligned") @ qd)[3:], (after - before) / (2 * h)) < 1e-6


def test_index_and_name_mean_the_same_body(rng):
    model = to_model(around(rng, "revolute"))
    q = model.random(rng)
    assert (ld.jacobian(model, q, 3) == ld.jacobian(model, q, model.body_names[3])).all()


def test_refusals(rng):
    model = to_model(around(rng, "revolute"))
    q = model.random(rng)
    with pytest.raises(ld.InputError, match=r"no body or frame 'foot'.*revolute 0"):
        ld.jacobian(model, q, "foot")
    with pytest.raises(ld.InputError, match=r"no body 99.*0 to 5"):
        ld.jacobian(model, q, 99)
    with pytest.raises(ld.InputError, match=r"frame: one of \['body', 'world', 'aligned'\]"):
        ld.jacobian(model, q, 0, "local")
    with pytest.raises(ld.InputError, match=r"qd: shape"):
        ld.jacobian_rate(model, q, q[:-1], 0)
