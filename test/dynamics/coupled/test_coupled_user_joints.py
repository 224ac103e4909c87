"""A user-defined joint beside coupled mimics: the same hinge, written by the user, against the library's own."""

import numpy as np
import pytest
from support.compare import relative

from lie_dynamics_ros.lie_dynamics import (
    ModelBuilder,
    SpatialInertia,
    body_accelerations,
    coriolis_matrix,
    forward_dynamics,
    forward_dynamics_derivatives,
    forward_kinematics,
    hybrid_dynamics,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    jacobian_rate,
    joint_types,
    mass_matrix,
    torque_regressor,
)

BOX = SpatialInertia(1.0, [0.1, 0.2, 0.3], np.diag([0.1, 0.12, 0.15]))
ABOUT_Z = np.eye(6)[:, 2:3]


def turn(q):
    T = np.eye(4)
    T[:2, :2] = [[np.cos(q[0]), -np.sin(q[0])], [np.sin(q[0]), np.cos(q[0])]]
    return T


def build(hinge):
    """A hinge, and beyond it a finger whose tip follows it."""
    builder = ModelBuilder().add("palm", joint=hinge, inertia=BOX)
    builder.add("finger", "palm", joint_types.revolute([0, 1, 0]), None, BOX)
    builder.add("tip", "finger", joint_types.revolute([1, 0, 0]), None, BOX, mimic=("finger", 0.5, 0.1))
    return builder.build().with_coupled_mimics()


OWN = build(joint_types.custom(1, turn, lambda q: ABOUT_Z, lambda q, qd: np.zeros((6, 1))))
KNOWN = build(joint_types.revolute([0, 0, 1]))
FUNCTIONS = {
    "inverse_dynamics": inverse_dynamics,
    "forward_dynamics": forward_dynamics,
    "hybrid_dynamics": lambda model, q, qd, x: hybrid_dynamics(model, q, qd, x, x, [True, False]),
    "mass_matrix": lambda model, q, qd, x: mass_matrix(model, q),
    "coriolis_matrix": lambda model, q, qd, x: coriolis_matrix(model, q, qd),
    "forward_kinematics": lambda model, q, qd, x: forward_kinematics(model, q),
    "body_accelerations": body_accelerations,
    "jacobian_rate": lambda model, q, qd, x: jacobian_rate(model, q, qd, "tip"),
    "inverse_dynamics_derivatives": inverse_dynamics_derivatives,
    "forward_dynamics_derivatives": forward_dynamics_derivatives,
    "torque_regressor": torque_regressor,
}


@pytest.mark.parametrize("shape", [(2,), (5, 2)], ids=["single", "batch"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_agrees_with_the_same_hinge_of_the_library(name, shape, rng):
    q, qd, x = rng.normal(size=(3, *shape))
    found, expected = (FUNCTIONS[name](model, q, qd, x) for model in (OWN, KNOWN))
    found, expected = (r if isinstance(r, tuple) else (r,) for r in (found, expected))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert relative(a, b) < 1e-12
