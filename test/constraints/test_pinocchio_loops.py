"""Loops on real robots against Pinocchio's constraint dynamics, where it has them: welds and points."""

import numpy as np
import pytest
from support.compare import in_forces, relative
from support.pin_oracle import robot
from support.robots import PANDA, TALOS

from lie_dynamics_ros import lie_dynamics as ld

CASES = {
    "arm welded to the world": (PANDA, False, [("welded", None, "panda_link7")]),
    "arm held at a point": (PANDA, False, [("spherical", None, "panda_link6")]),
    "both feet on the ground": (TALOS, True, [("welded", None, f"leg_{side}_6_link") for side in ("left", "right")]),
    "hands holding each other": (TALOS, True, [("welded", "arm_left_7_link", "arm_right_7_link")]),
    "hand on head, feet on the ground": (
        TALOS,
        True,
        [
            ("spherical", "head_2_link", "arm_left_7_link"),
            ("welded", None, "leg_left_6_link"),
            ("spherical", None, "leg_right_6_link"),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_forward_dynamics(case, rng):
    name, floating, closings = CASES[case]
    model, oracle = robot(name, floating)
    pin = oracle.pin
    q = model.random(rng)
    world = next(frame for frame, f in model.frames.items() if f.body < 0)
    loops, theirs = [], pin.StdVec_RigidConstraintModel()
    for kind, first, second in closings:
        T2 = ld.frame_pose(model, q, second)
        T1 = np.linalg.inv(np.eye(4) if first is None else ld.frame_pose(model, q, first)) @ T2
        loops.append(ld.Loop(kind, first or world, second, first_placement=T1))
        contact = pin.ContactType.CONTACT_6D if kind == "welded" else pin.ContactType.CONTACT_3D
        joints = [0 if b is None else oracle.to_joint[model.frame(b).body] for b in (first, second)]
        theirs.append(
            pin.RigidConstraintModel(
                contact, oracle.model, joints[1], pin.SE3.Identity(), joints[0], pin.SE3(T1), pin.LOCAL
            )
        )
    constraints = ld.ConstraintSet(model, loops)
    assert np.abs(ld.constraint_error(model, constraints, q)).max() < 1e-14
    qd = ld.consistent_velocity(model, constraints, q, rng.normal(size=model.nv))
    tau = 10.0 * rng.normal(size=model.nv)
    data = pin.StdVec_RigidConstraintData()
    for one in theirs:
        data.append(one.createData())
    pin.initConstraintDynamics(oracle.model, oracle.data, theirs, data)
    settings = pin.ProximalSettings(1e-14, 0.0, 1)
    expected = oracle.from_v(
        pin.constraintDynamics(
            oracle.model, oracle.data, oracle.q(q), oracle.v(qd), oracle.v(tau), theirs, data, settings
        )
    )
    found = ld.constrained_forward_dynamics(model, constraints, q, qd, tau)
    assert found.rank == constraints.size
    assert in_forces(ld.mass_matrix(model, q), found.qdd, expected, tau) < 1e-11
    for loop, ours, other in zip(loops, found.wrenches, data, strict=True):
        force = other.contact_force
        pair = np.concatenate([force.angular, force.linear])
        if loop.kind == "spherical":
            assert relative(ours[3:], pair[3:]) < 1e-9
        else:
            assert relative(ours, pair) < 1e-9
