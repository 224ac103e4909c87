"""Loops of SDF against the same mechanisms from code: another tree, other cut joints, the same machine."""

import numpy as np
import pytest
from support.compare import relative
from support.sdf_text import as_sdf

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import MECHANISMS


def motion(made, model, constraints, q, moved, rates, torques):
    """Return the platform's pose and twist, and accelerations of motors, after the motors have moved."""
    places = [model.joint(name) for name in made.actuated]
    start = q[[joint.q_slice.start for joint in places]]
    q = ld.ClosedLoopTracker(model, constraints, q, made.actuated).update(start + moved).require().q
    qd, tau = np.zeros((2, model.nv))
    qd[[joint.v_slice.start for joint in places]] = rates
    qd = ld.consistent_velocity(model, constraints, q, qd, held=made.actuated)
    tau[[joint.v_slice.start for joint in places]] = torques
    qdd = ld.constrained_forward_dynamics(model, constraints, q, qd, tau).qdd
    platform = made.platform if made.platform in model.frames else f"{made.platform}_link"
    moving = qdd[[joint.v_slice.start for joint in places]]
    return ld.frame_pose(model, q, platform), ld.jacobian(model, q, platform) @ qd, moving


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_same_machine_as_from_code(name, turned, rng):
    made = ld.mechanism(name)
    text = as_sdf(made.model, made.constraints, made.q, turned)
    model = ld.Model.from_sdf(text, gravity=made.model.gravity)
    constraints = ld.ConstraintSet.from_sdf(model, text)
    zero = model.neutral()
    assert all(joint.kind != "free" for joint in model.joints)
    assert np.abs(ld.constraint_error(model, constraints, zero)).max() < 1e-13
    for link in made.model.body_names:
        assert relative(ld.frame_pose(model, zero, f"{link}_link"), ld.frame_pose(made.model, made.q, link)) < 1e-12
    count = len(made.actuated)
    asked = 0.01 * rng.normal(size=count), 0.1 * rng.normal(size=count), rng.normal(size=count)
    expected = motion(made, made.model, made.constraints, made.q, *asked)
    for found, wanted in zip(motion(made, model, constraints, zero, *asked), expected, strict=True):
        assert relative(found, wanted) < 1e-9
