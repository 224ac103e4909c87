"""A user-defined joint beside coupled mimics: the same hinge, written by the user, against the library's own."""

import numpy as np
import pytest
from support.compare import relative

from lie_dynamics_ros import lie_dynamics as ld

BOX = ld.SpatialInertia(1.0, [0.1, 0.2, 0.3], np.diag([0.1, 0.12, 0.15]))
ABOUT_Z = np.eye(6)[:, 2:3]


def turn(q):
    T = np.eye(4)
    T[:2, :2] = [[np.cos(q[0]), -np.sin(q[0])], [np.sin(q[0]), np.cos(q[0])]]
    return T


def build(hinge):
    """A hinge, and beyond it a finger whose tip follows it."""
    builder = ld.ModelBuilder().add("palm", joint=hinge, inertia=BOX)
    builder.add("finger", "palm", ld.joint_types.revolute([0, 1, 0]), None, BOX)
    builder.add("tip", "finger", ld.joint_types.revolute([1, 0, 0]), None, BOX, mimic=("finger", 0.5, 0.1))
    return builder.build().with_coupled_mimics()


OWN = build(ld.joint_types.custom(1, turn, lambda q: ABOUT_Z, lambda q, qd: np.zeros((6, 1))))
KNOWN = build(ld.joint_types.revolute([0, 0, 1]))
FUNCTIONS = {
    "inverse_dynamics": ld.inverse_dynamics,
    "forward_dynamics": ld.forward_dynamics,
    "hybrid_dynamics": lambda model, q, qd, x: ld.hybrid_dynamics(model, q, qd, x, x, [True, False]),
    "mass_matrix": lambda model, q, qd, x: ld.mass_matrix(model, q),
    "coriolis_matrix": lambda model, q, qd, x: ld.coriolis_matrix(model, q, qd),
    "forward_kinematics": lambda model, q, qd, x: ld.forward_kinematics(model, q),
    "body_accelerations": ld.body_accelerations,
    "jacobian_rate": lambda model, q, qd, x: ld.jacobian_rate(model, q, qd, "tip"),
    "inverse_dynamics_derivatives": ld.inverse_dynamics_derivatives,
    "forward_dynamics_derivatives": ld.forward_dynamics_derivatives,
    "torque_regressor": ld.torque_regressor,
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


def cross_axes(q):
    """Axes of a cardan joint about z, then x, in its last frame."""
    axes = np.zeros((6, 2))
    axes[1:3, 0] = np.sin(q[1]), np.cos(q[1])
    axes[0, 1] = 1.0
    return axes


def cross_rates(q, qd):
    rates = np.zeros((6, 2))
    rates[1:3, 0] = qd[1] * np.array([np.cos(q[1]), -np.sin(q[1])])
    return rates


def cross_place(q):
    tilt = np.eye(4)
    tilt[1:3, 1:3] = turn(q[1:])[:2, :2]
    return turn(q) @ tilt


def with_cross(whole):
    """An arm with a cardan joint that the user wrote as a ``whole``, or as two hinges of the library; all terms."""
    terms = {"armature": [0.3, 0.2], "damping": [0.5, 0.4], "friction": [0.6, 0.7]}
    builder = ld.ModelBuilder().add(
        "base", None, ld.joint_types.revolute([0, 1, 0]), None, BOX, armature=0.1, damping=0.2
    )
    if whole:
        builder.add("cross", "base", ld.joint_types.custom(2, cross_place, cross_axes, cross_rates), None, BOX, **terms)
    else:
        first, second = ({key: value[k] for key, value in terms.items()} for k in (0, 1))
        nothing = ld.SpatialInertia(0.0, np.zeros(3), np.zeros((3, 3)))
        builder.add("middle", "base", ld.joint_types.revolute([0, 0, 1]), None, nothing, **first)
        builder.add("cross", "middle", ld.joint_types.revolute([1, 0, 0]), None, BOX, **second)
    builder.add("tip", "cross", ld.joint_types.revolute([0, 1, 0]), None, BOX, armature=0.05)
    return builder.build().with_joint_terms(armature=True, damping=True, friction=True)


BY_BODY = {"body_accelerations", "forward_kinematics", "torque_regressor"}


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in BY_BODY])
def test_joint_terms_of_a_user_joint_are_those_of_its_hinges(name, rng):
    q, qd, x = rng.normal(size=(3, 4))
    functions = {**FUNCTIONS, "hybrid_dynamics": lambda m, *s: ld.hybrid_dynamics(m, *s, x, [True, False, True, False])}
    found, expected = (functions[name](with_cross(whole), q, qd, x) for whole in (True, False))
    for a, b in zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, expected)), strict=True):
        assert relative(a, b) < 1e-12
