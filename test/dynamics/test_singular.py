"""Links without mass: fine where they carry something, a clear error where no finite acceleration exists."""

import numpy as np
import pytest
from support.compare import in_forces, relative
from support.sample_trees import Z, branched, to_model

from lie_dynamics_ros import lie_dynamics as ld

ROD = ld.SpatialInertia(2.0, [0.3, 0.1, 0.2], np.diag([0.02, 0.03, 0.04]))
BATCHES = [(), (1,), (11,)]


def states(model, batch, rng):
    q = np.array([model.random(rng) for _ in range(int(np.prod(batch)))]).reshape(*batch, model.nq)
    return q, *rng.normal(size=(2, *batch, model.nv))


def massless_leaf(kind):
    builder = ld.ModelBuilder().add("arm", joint=ld.joint_types.revolute(Z), inertia=ROD)
    return builder.add("tip", "arm", kind, np.eye(4)).build()


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize(
    "kind",
    [ld.joint_types.revolute([1, 2, 3]), ld.joint_types.prismatic(), ld.joint_types.spherical(), ld.joint_types.free()],
    ids=lambda kind: kind.kind,
)
def test_a_leaf_without_mass(kind, batch, rng):
    model = massless_leaf(kind)
    q, qd, tau = states(model, batch, rng)
    with pytest.raises(ld.SingularityError, match=r"joint 'tip': the articulated inertia along it vanishes") as caught:
        ld.forward_dynamics(model, q, qd, tau)
    assert caught.value.name == "tip"
    with pytest.raises(ld.SingularityError, match=r"joint 'tip'"):
        ld.solve_mass_matrix(model, q, tau)
    # With its acceleration given there is an answer, and for the inverse there always is.
    given = np.arange(model.nv) >= 1
    qdd, force = ld.hybrid_dynamics(model, q, qd, tau, tau, given)
    assert relative(ld.inverse_dynamics(model, q, qd, qdd), force) < 1e-11


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("offset", [0.0, 0.7, 1e3])
def test_two_joints_on_one_line_without_mass_between(offset, batch, rng):
    """The second takes the inertia about the line away from the first; round-off must not pass for what is left."""
    place = np.eye(4)
    place[:3, :3] = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
    along = np.eye(4)
    along[2, 3] = offset
    builder = ld.ModelBuilder().add("base", joint=ld.joint_types.revolute([1, 1, 0]), inertia=ROD)
    builder.add("between", "base", ld.joint_types.revolute(Z), place)
    model = builder.add("arm", "between", ld.joint_types.revolute(Z), along, ROD).build()
    q, qd, tau = states(model, batch, rng)
    with pytest.raises(ld.SingularityError, match=r"joint 'between'"):
        ld.forward_dynamics(model, q, qd, tau)
    given = np.array([False, True, False])
    qdd, force = ld.hybrid_dynamics(model, q, qd, tau, tau, given)
    assert relative(ld.inverse_dynamics(model, q, qd, qdd), force) < 1e-8  # the lever of 1000 m costs six digits


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("carried", ["spherical", "free"])
def test_a_link_without_mass_under_a_joint_that_lets_go(carried, batch, rng):
    """A free joint takes all inertia away from what carries it, a ball all rotation about its centre."""
    tree = branched(rng, ["revolute", "revolute", carried], [None, 0, 1], massless={1})
    if carried == "spherical":
        tree.bodies[2].placement[:3, 3] = 0.0
    model = to_model(tree)
    q, qd, tau = states(model, batch, rng)
    with pytest.raises(ld.SingularityError, match=r"joint 'joint revolute 1'"):
        ld.forward_dynamics(model, q, qd, tau)


@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_links_without_mass_that_carry_something(batch, rng):
    tree = branched(rng, ["revolute", "prismatic", "universal", "revolute", "revolute"], [None, 0, 1, 2, 1], {0, 1, 2})
    model = to_model(tree)
    q, qd, tau = states(model, batch, rng)
    qdd = ld.forward_dynamics(model, q, qd, tau).reshape(-1, tree.nv)
    for k, (x, xd, force) in enumerate(np.concatenate([q, qd, tau], axis=-1).reshape(-1, 3, tree.nv)):
        assert in_forces(tree.mass_matrix(x), qdd[k], tree.forward_dynamics(x, xd, force), force) < 1e-12


@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_light_links_are_not_singular(batch, rng):
    """A finger of a milligram on an arm of a ton is 1e-9 of it, and has an answer."""
    finger = ld.SpatialInertia(1e-6, [0.01, 0.0, 0.0], 1e-11 * np.eye(3))
    truck = ld.SpatialInertia(1e3, [1.0, 0.0, 0.0], 1e3 * np.eye(3))
    builder = ld.ModelBuilder().add("truck", joint=ld.joint_types.revolute(Z), inertia=truck)
    model = builder.add("finger", "truck", ld.joint_types.revolute([0, 1, 0]), inertia=finger).build()
    q, qd, _ = states(model, batch, rng)
    qdd = ld.forward_dynamics(model, q, qd, [10.0, 1e-9])
    back = ld.inverse_dynamics(model, q, qd, qdd)
    assert np.abs(back - [10.0, 1e-9]).max() < 1e-9


@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_armature_makes_a_leaf_without_mass_regular(batch, rng):
    builder = ld.ModelBuilder().add("arm", joint=ld.joint_types.revolute(Z), inertia=ROD, armature=0.1)
    bare = builder.add("tip", "arm", ld.joint_types.revolute([0, 1, 0]), armature=0.05).build()
    model = bare.with_joint_terms(armature=True)
    q, qd, tau = states(model, batch, rng)
    with pytest.raises(ld.SingularityError):
        ld.forward_dynamics(bare, q, qd, tau)
    qdd = ld.forward_dynamics(model, q, qd, tau)
    assert relative(qdd[..., 1], tau[..., 1] / 0.05) < 1e-13
    assert relative(ld.inverse_dynamics(model, q, qd, qdd), tau) < 1e-12
    assert np.abs(ld.mass_matrix(model, q) - ld.mass_matrix(bare, q) - np.diag([0.1, 0.05])).max() < 1e-15


def test_one_bad_state_in_a_batch_is_found():
    """Two prismatic joints at a right angle or, at q = 0, on one line."""
    builder = ld.ModelBuilder().add("turn", joint=ld.joint_types.revolute(Z), inertia=ROD)
    builder.add("slide", "turn", ld.joint_types.prismatic([1, 0, 0]))
    builder.add("twist", "slide", ld.joint_types.revolute(Z), inertia=ld.SpatialInertia(0.0, [0, 0, 0], np.eye(3)))
    model = builder.add("end", "twist", ld.joint_types.prismatic([1, 0, 0]), inertia=ROD).build()
    q = np.tile([0.1, 0.2, 0.9, 0.3], (20, 1))
    assert np.isfinite(ld.forward_dynamics(model, q, np.zeros(4), np.zeros(4))).all()
    q[13, 2] = 0.0
    with pytest.raises(ld.SingularityError, match="'slide'"):
        ld.forward_dynamics(model, q, np.zeros(4), np.zeros(4))
