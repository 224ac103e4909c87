"""Joint types beyond URDF that Pinocchio has: trees built in both libraries from the same figures."""

import pytest
from support.compare import in_forces, relative
from support.pin_oracle import PinOracle, pinocchio
from support.sample_trees import branched, to_model

from lie_dynamics_ros.lie_dynamics import forward_dynamics, forward_kinematics, inverse_dynamics, mass_matrix

KINDS = ["revolute", "prismatic", "helical", "universal", "spherical", "free", "euler_angles", "composite"]


def simple(pin, twist):
    """Pinocchio's joint of one screw."""
    w, v = twist[:3], twist[3:]
    if not w.any():
        return pin.JointModelPrismaticUnaligned(v)
    return pin.JointModelHelicalUnaligned(w, float(w @ v)) if v.any() else pin.JointModelRevoluteUnaligned(w)


def pin_joint(pin, kind, motion):
    if kind == "spherical":
        return pin.JointModelSpherical()
    if kind == "free":
        return pin.JointModelFreeFlyer()
    if kind == "universal":
        a, b = motion.twists[:, :3]
        return pin.JointModelUniversal(a, b) if abs(a @ b) < 1e-12 else composite(pin, motion)
    return simple(pin, motion.twists[0]) if motion.nv == 1 else composite(pin, motion)


def composite(pin, motion):
    joint = pin.JointModelComposite()
    for twist in motion.twists:
        joint.addJoint(simple(pin, twist))
    return joint


def both(tree, kinds):
    """The library's model and Pinocchio's, with maps between their coordinates."""
    pin, model = pinocchio(), to_model(tree)
    other, at = pin.Model(), {None: 0}
    for body, kind in zip(tree.bodies, kinds, strict=True):
        place = pin.SE3(body.placement)
        at[body.name] = other.addJoint(at[body.parent], pin_joint(pin, kind, body.motion), place, f"joint {body.name}")
        other.appendBodyToJoint(at[body.name], pin.Inertia(body.mass, body.com, body.inertia), pin.SE3.Identity())
    return model, PinOracle(other, model)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind(kind, rng):
    kinds = ["revolute", kind, "prismatic", kind, "revolute"]
    tree = branched(rng, kinds, [None, 0, 1, 1, 3])
    model, oracle = both(tree, kinds)
    for _ in range(3):
        q, (qd, qdd) = tree.random(rng), rng.normal(size=(2, tree.nv))
        f_ext = rng.normal(size=(model.n_bodies, 6))
        tau = oracle.inverse_dynamics(q, qd, qdd, f_ext)
        assert relative(inverse_dynamics(model, q, qd, qdd, f_ext), tau) < 1e-12
        M = oracle.mass_matrix(q)
        assert relative(mass_matrix(model, q), M) < 1e-12
        assert in_forces(M, forward_dynamics(model, q, qd, tau, f_ext), qdd, tau) < 1e-12
        assert relative(forward_kinematics(model, q), oracle.poses(q)) < 1e-13
